"""Repair of Gram matrices with negative eigenvalues: clip, flip or shift.

With ``K = V diag(l) V'`` and the columns of V that belong to negative eigenvalues in ``V_-``:

======  ==========================  ======================================  =================
policy  K', the matrix to train on  what it is                            T
======  ==========================  ======================================  =================
clip    ``V diag(max(l, 0)) V'``    the nearest one, in the Frobenius norm  ``I - V_- V_-'``
flip    ``V diag(|l|) V'``          ``(K K)^(1/2)``                         ``I - 2 V_- V_-'``
shift   ``K + s I``                 with the least s, plus r (see below)    ``I``
======  ==========================  ======================================  =================

**New samples.** For coefficients beta of K' the decision function is ``sum_j k(x, x_j) (T beta)_j``
plus the intercept, with the kernel as it is. For clip and flip ``K T = K'``: a training sample that
comes back gets the decision value it had in training. For shift it does not: in training sample i
has ``(K beta)_i + s beta_i``, and an identical new sample has ``(K beta)_i``.

**Which matrices are indefinite.** Those of which ``K + r I`` with ``r = PSD_RTOL sqrt(n) max|K|``
has no Cholesky factorisation. One that runs to its end proves that no eigenvalue is below ``-r``,
up to ``n eps tr(K)``. Lanczos proves no such thing: the residual of ``(v, v'Kv)`` encloses an
eigenvalue, not the smallest.

Sources: Chen, Garcia, Gupta, Rahimi and Cazzanti, "Similarity-based classification: concepts and
algorithms", JMLR 10 (2009), on modifying the spectrum and on consistent test samples; Higham,
"Computing a nearest symmetric positive semidefinite matrix", Linear Algebra Appl. 103 (1988);
Rump, "Verification of positive definiteness", BIT 46 (2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np

from qpsvm.display import short_repr
from qpsvm.exceptions import IndefiniteKernelError, InvalidParameterError, KernelError
from qpsvm.numerics.arrays import (
    EIGENVALUE_SIZE,
    Dense,
    Index,
    Vector,
    default_memory_limit,
    freeze,
    largest_magnitude,
    require_memory,
    restore_frozen,
    row_blocks,
)
from qpsvm.numerics.interrupts import interruptible
from qpsvm.numerics.precision import EPS
from qpsvm.qp.convexity import negative_bound
from qpsvm.qp.quadratic import (
    PSD_RTOL,
    SYMMETRY_RTOL,
    DenseQuadratic,
    Quadratic,
)

Indefinite: TypeAlias = Literal["error", "clip", "flip", "shift"]
"""What to do with a kernel matrix that has negative eigenvalues."""

FACTOR = {"clip": 1.0, "flip": 2.0, "shift": 0.0}
"""Multiple of ``|l|`` that each policy adds to a negative eigenvalue l of the kernel matrix."""


@short_repr
@dataclass(frozen=True, eq=False)
class KernelRepair:
    r"""The repair of an indefinite kernel matrix K of n samples.

    Attributes
    ----------
    policy : {"clip", "flip", "shift"}
    smallest_eigenvalue, norm : float
        Of K; :math:`\lVert K \rVert_F`.
    negative_values : array of shape (m,)
        The negative eigenvalues, ascending; empty for shift, which needs only the smallest.
    negative_vectors : array of shape (n, m)
        Their unit eigenvectors ``V_-``, as columns.
    shift : float
        s; zero for clip and flip.
    """

    policy: Indefinite
    smallest_eigenvalue: float
    norm: float
    negative_values: Vector
    negative_vectors: Dense
    shift: float = 0.0

    def __post_init__(self) -> None:
        freeze(self.negative_values)
        freeze(self.negative_vectors)

    __setstate__ = restore_frozen

    @property
    def n_negative(self) -> int | None:
        """Number of negative eigenvalues; None for shift, which does not count them."""
        return None if self.policy == "shift" else len(self.negative_values)

    @property
    def frobenius_change(self) -> float:
        """Size of the change of the kernel matrix, ``|K' - K|_F`` (Frobenius norm)."""
        n = len(self.negative_vectors)
        return math.hypot(*(FACTOR[self.policy] * self.negative_values), self.shift * math.sqrt(n))

    @property
    def spectral_change(self) -> float:
        """Size of the change of the kernel matrix, ``|K' - K|_2`` (spectral norm)."""
        return max(self.shift, FACTOR[self.policy] * largest_magnitude(self.negative_values))

    @property
    def relative_change(self) -> float:
        """Size of the change of the kernel matrix, relative to its own, ``|K' - K|_F / |K|_F``."""
        return self.frobenius_change / self.norm

    def undone(self, repaired: Dense, columns: Index) -> Dense:
        """Compute columns of the indefinite kernel matrix from those of the repaired one."""
        V, own = self.negative_vectors, repaired.copy()
        own -= (V * (FACTOR[self.policy] * np.abs(self.negative_values))) @ V[columns].T
        own[columns, np.arange(len(columns))] -= self.shift
        return own

    def coefficients(self, expansion: Vector) -> Vector:
        r"""Compute the coefficients for predictions of a new sample x, ``sum_j c_j k(x, x_j)``.

        :math:`c = T \beta`: new samples do not see the repair.

        Parameters
        ----------
        expansion : array of shape (n,)
            beta, the coefficients that belong to K'.
        """
        V = self.negative_vectors
        return expansion - FACTOR[self.policy] * (V @ (V.T @ expansion))

    def __str__(self) -> str:
        smallest = f"{self.smallest_eigenvalue:.6g}"
        if self.policy == "shift":
            done = f"{self.shift:.6g} added to the diagonal for a smallest eigenvalue of {smallest}"
        else:
            verb = "set to zero" if self.policy == "clip" else "made positive"
            plural = "" if self.n_negative == 1 else "s"
            done = f"{self.n_negative} negative eigenvalue{plural} down to {smallest} {verb}"
        return f"{self.policy}: {done}; |K' - K| is {self.relative_change:.3g} |K| (Frobenius)"


def require_policy(policy: object) -> None:
    """Refuse a name that is no way to treat an indefinite kernel: error, clip, flip or shift."""
    policies = get_args(Indefinite)
    if not isinstance(policy, str) or policy not in policies:
        raise InvalidParameterError(
            f"indefinite is {policy!r}; pass one of {', '.join(map(repr, policies))}."
        )


def repair(
    gram: Quadratic, policy: Indefinite, name: str = "The kernel matrix"
) -> tuple[Dense, KernelRepair] | None:
    """Repair K by a policy of the table above; None if K is positive semidefinite.

    Parameters
    ----------
    gram : Quadratic
        K, symmetric up to rounding.
    policy : {"error", "clip", "flip", "shift"}
    name : str
        What the error calls K.

    Returns
    -------
    array of shape (n, n)
        K', symmetric to the last bit, positive semidefinite up to rounding.
    KernelRepair

    Raises
    ------
    IndefiniteKernelError
        K is indefinite and the policy is "error".
    MemoryLimitError
        K, or the eigenvectors that clip and flip need, would not fit.
    InvalidParameterError
        No such policy.

    Examples
    --------
    >>> K = DenseQuadratic([[0.0, 2.0], [2.0, 0.0]])  # eigenvalues 2 and -2
    >>> matrix, report = repair(K, "clip")
    >>> matrix.round(12)
    array([[1., 1.],
           [1., 1.]])
    >>> print(report)
    clip: 1 negative eigenvalue down to -2 set to zero; |K' - K| is 0.707 |K| (Frobenius)
    """
    require_policy(policy)
    if gram.is_psd_by_construction:
        return None
    K = _symmetric(gram)
    if K.is_positive_semidefinite():
        return None
    if policy == "error":
        raise _refusal(K, name)
    return _shifted(K) if policy == "shift" else _with_other_spectrum(K, policy)


def smallest_eigenvalue(gram: Quadratic) -> float:
    """Smallest eigenvalue of K, to about ``PSD_RTOL sqrt(n)`` of the largest entry.

    For large n Lanczos bounds it from above, by ``v'Kv`` of a unit vector v, and a Cholesky
    factorisation of ``K - v'Kv I`` plus the tolerance from below. Without one, Lanczos has missed
    the smallest eigenvalue or is lost in a cluster: then LAPACK computes all of them.

    Examples
    --------
    >>> round(smallest_eigenvalue(DenseQuadratic([[0.0, 2.0], [2.0, 1.0]])), 4)
    -1.5616
    """
    K = _symmetric(gram)
    value = K.smallest_eigenvalue()
    if K.size > EIGENVALUE_SIZE:
        rest = DenseQuadratic.own(_plus_identity(K.matrix, _rounding(K.matrix) - value))
        if not rest.is_positive_semidefinite():
            value = float(interruptible(partial(np.linalg.eigvalsh, K.matrix))[0])
    return value


def negative_eigenvalues_within(gram: Quadratic) -> float:
    """Bound on how far eigenvalues of an accepted or repaired K are below zero; 0 where proven."""
    K = _symmetric(gram).matrix
    return negative_bound(K, _rounding(K))


def require_symmetric(gram: Quadratic) -> None:
    """Raise KernelError unless ``max|K - K'| <= SYMMETRY_RTOL max|K|``.

    Every pair is compared, block by block: a matrix that does not fit is never formed.
    """
    if 8 * gram.size**2 <= default_memory_limit():
        gram.to_dense()  # a kernel is evaluated once and kept: the blocks are then copies
    tiles = [np.arange(gram.size)[rows] for rows in row_blocks(gram.size, 2048)]
    scale = asymmetry = np.float64(0.0)
    for i, rows in enumerate(tiles):
        for columns in tiles[i:]:
            block, mirrored = gram.block(rows, columns), gram.block(columns, rows).T
            scale = np.max([scale, largest_magnitude(block), largest_magnitude(mirrored)])
            asymmetry = np.maximum(asymmetry, largest_magnitude(block - mirrored))
    if not asymmetry <= SYMMETRY_RTOL * scale:  # NaN is no symmetry either
        raise KernelError(
            f"The kernel matrix is not symmetric: max|K - K'| is {asymmetry:.6g} beside "
            f"entries up to {scale:.6g}; a kernel satisfies k(x, z) = k(z, x)."
        )


# --- the policies --------------------------------------------------------------------------------


def _refusal(K: DenseQuadratic, name: str) -> IndefiniteKernelError:
    smallest = smallest_eigenvalue(K)
    return IndefiniteKernelError(
        f"{name} is indefinite: its smallest eigenvalue is {smallest:.6g} beside entries up to "
        f"{largest_magnitude(K.matrix):.6g}, so the SVM is not a convex program and has no "
        "certified optimum; use a positive semidefinite kernel (linear, polynomial with "
        "coef0 >= 0, RBF), or instead of indefinite='error' pass 'clip' (set negative eigenvalues "
        f"to zero), 'flip' (make them positive) or 'shift' (add {-smallest:.3g} to its diagonal).",
        smallest,
    )


def _shifted(K: DenseQuadratic) -> tuple[Dense, KernelRepair]:
    smallest = smallest_eigenvalue(K)
    s = _rounding(K.matrix) - smallest  # r is what the eigenvalue is known to
    scale = largest_magnitude(K.matrix)  # without it squares leave the range of doubles
    norm = scale * float(np.linalg.norm(K.matrix / scale))
    none = np.zeros(0), np.zeros((K.size, 0))
    report = KernelRepair("shift", smallest, norm, *none, shift=s)
    return _plus_identity(K.matrix, s), report


def _with_other_spectrum(K: DenseQuadratic, policy: Indefinite) -> tuple[Dense, KernelRepair]:
    require_memory(
        K.size,
        3 * K.size,
        f"The eigendecomposition for indefinite={policy!r}",
        "use indefinite='shift', which needs the smallest eigenvalue only.",
    )
    values, vectors = interruptible(partial(np.linalg.eigh, K.matrix))
    # Eigenvalues that are zero come out of either sign. They are clipped or flipped as well, but
    # not counted, and their vectors, for which K T = K' holds anyway, are not kept.
    noise = K.size * EPS * np.max(np.abs(values))
    m = int(np.searchsorted(values, -min(noise, _rounding(K.matrix))))
    negative, V = values[:m].copy(), vectors[:, :m].copy()
    report = KernelRepair(policy, float(values[0]), math.hypot(*values), negative, V)
    # K' = F F': symmetric to the last bit, and semidefinite in its own size, not only in K's
    vectors *= np.sqrt(np.maximum(values, 0.0) if policy == "clip" else np.abs(values))
    return vectors @ vectors.T, report


# --- matrices ------------------------------------------------------------------------------------


def _symmetric(gram: Quadratic) -> DenseQuadratic:
    """K as a dense matrix that equals its transpose exactly."""
    K = gram.to_dense()
    return DenseQuadratic.own(K if np.array_equal(K, K.T) else 0.5 * K + 0.5 * K.T)


def _plus_identity(K: Dense, shift: float) -> Dense:
    """``K + shift I``, as a copy."""
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += shift
    return shifted


def _rounding(K: Dense) -> float:
    """Tolerance on negative eigenvalues of K: ``PSD_RTOL sqrt(n)`` times its largest entry."""
    return PSD_RTOL * math.sqrt(len(K)) * max(float(K.max()), -float(K.min()))
