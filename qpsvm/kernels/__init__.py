"""Kernel functions and their Gram matrices.

Examples
--------
>>> from qpsvm import kernels
>>> str(kernels.RBF(gamma=0.5))
'rbf(gamma=0.5)'
"""

from qpsvm.kernels.base import Kernel
from qpsvm.kernels.by_name import KernelArgument, as_kernel
from qpsvm.kernels.functions import RBF, Gamma, Linear, Polynomial, Sigmoid
from qpsvm.kernels.given import Custom, Precomputed
from qpsvm.kernels.gram import Gram, gram
from qpsvm.kernels.kernel_repair import KernelRepair

__all__ = [
    "RBF",
    "Custom",
    "Gamma",
    "Gram",
    "Kernel",
    "KernelArgument",
    "KernelRepair",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "as_kernel",
    "gram",
]
