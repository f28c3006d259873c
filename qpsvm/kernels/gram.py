"""Gram matrices of training samples, with the structure of their kernel."""

from __future__ import annotations

from typing import TypeAlias

from qpsvm.kernels.base import Kernel
from qpsvm.kernels.functions import Linear
from qpsvm.kernels.given import Precomputed
from qpsvm.kernels.indefinite import negative_eigenvalues_within, repair, require_symmetric
from qpsvm.kernels.kernel_repair import Indefinite, KernelRepair
from qpsvm.numerics.arrays import immutable
from qpsvm.numerics.calls import explains_calls
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.sample_gram import SampleGram

Gram: TypeAlias = LowRankQuadratic | KernelQuadratic
"""``K``, from which ``select`` and ``combine`` make the Hessian of any dual over these samples."""


@explains_calls
def gram(
    kernel: Kernel, X: Stored, *, indefinite: Indefinite = "error"
) -> tuple[Gram, KernelRepair | None]:
    """Build the Gram matrix ``K_ij = k(x_i, x_j)``, evaluated lazily; repair it if indefinite.

    Parameters
    ----------
    kernel : Kernel
        With every parameter a number.
    X : array or CSR matrix of shape (n, d); the Gram matrix itself when precomputed.
    indefinite : {"error", "clip", "flip", "shift"}
        What to do with negative eigenvalues, see ``indefinite``. Asked only of kernels whose type
        does not exclude them; these are evaluated at once.

    Returns
    -------
    LowRankQuadratic or KernelQuadratic
        ``X X'`` for the linear kernel, whose samples may stay sparse.
    KernelRepair or None

    Raises
    ------
    KernelError
        A kernel that does not guarantee it by its type returns an asymmetric matrix.
    IndefiniteKernelError
        ... or an indefinite one, with the policy "error".

    Examples
    --------
    >>> import numpy as np
    >>> from qpsvm import kernels
    >>> K, repaired = kernels.gram(kernels.Linear(), np.eye(3))
    >>> type(K).__name__, repaired
    ('LowRankQuadratic', None)
    """
    if isinstance(kernel, Linear):
        return LowRankQuadratic(X), None
    if isinstance(kernel, Precomputed):
        K = KernelQuadratic(SampleGram.of_matrix(immutable(X)))
    else:
        samples = SampleGram(kernel, X, positive_semidefinite=kernel.is_positive_semidefinite)
        K = KernelQuadratic(samples)
    if kernel.is_positive_semidefinite:
        return K, None
    require_symmetric(K)
    repaired = repair(K, indefinite, name=f"The kernel matrix of {kernel}")
    if repaired is None:
        K.gram.negative_bound = negative_eigenvalues_within(K)
        return K, None
    matrix, report = repaired
    K = KernelQuadratic(SampleGram.of_matrix(matrix))
    K.gram.negative_bound = negative_eigenvalues_within(K)
    return K, report
