"""Kernel functions and their Gram matrices.

Examples
--------
>>> from qpsvm import kernels
>>> str(kernels.RBF(gamma=0.5))
'rbf(gamma=0.5)'
"""

from qpsvm.kernels.base import Kernel
from qpsvm.kernels.functions import (
    RBF,
    Custom,
    Gamma,
    Linear,
    PlusConstant,
    Polynomial,
    Precomputed,
    Sigmoid,
    as_kernel,
)
from qpsvm.kernels.gram import gram_quadratic

__all__ = [
    "RBF",
    "Custom",
    "Gamma",
    "Kernel",
    "Linear",
    "PlusConstant",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "as_kernel",
    "gram_quadratic",
]
