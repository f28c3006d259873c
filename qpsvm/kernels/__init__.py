"""Kernel functions and their Gram matrices.

Examples
--------
>>> from qpsvm import kernels
>>> str(kernels.RBF(gamma=0.5))
'rbf(gamma=0.5)'
"""

from qpsvm.kernels.functions import RBF, Gamma, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.kernels.gram import Custom, Gram, KernelArgument, Precomputed, as_kernel, gram
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
