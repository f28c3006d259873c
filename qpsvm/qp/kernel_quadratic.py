"""The Hessian of kernel SVM duals, evaluated on demand."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Sparse, Vector, freeze, require_memory
from qpsvm.qp.sample_gram import Combinations, SampleGram
from qpsvm.qp.sample_quadratic import SampleQuadratic, Selection, checked_diagonal


class KernelQuadratic(SampleQuadratic):
    """``P_ij = s_i s_j (k(x_{c(i)}, x_{c(j)}) + constant) + d_i [i = j]``, evaluated on demand.

    The index map c lets several variables share a sample: a C-SVC dual has one variable per
    sample, a support vector regression two.

    Parameters
    ----------
    gram : SampleGram
        The kernel and its samples.
    signs : array of shape (n,) or None
        s, ones if None.
    index : array of int of shape (n,) or None
        c; the identity if None.
    diag : array of shape (n,) or None
        d, zero if None.
    constant : float
        1 for a penalised intercept, which is an extra feature of ones.

    Raises
    ------
    InvalidProgramError
        Lengths that differ, or a negative d.

    Examples
    --------
    >>> gram = SampleGram(lambda X, Z: X @ Z.T, np.array([[1.0], [2.0]]))
    >>> P = KernelQuadratic(gram, signs=np.array([1.0, -1.0]))
    >>> P.matvec(np.array([1.0, 1.0]))
    array([-1.,  2.])
    >>> P.to_dense()
    array([[ 1., -2.],
           [-2.,  4.]])
    """

    def __init__(
        self,
        gram: SampleGram,
        signs: Vector | None = None,
        index: Index | None = None,
        diag: Vector | None = None,
        *,
        constant: float = 0.0,
    ) -> None:
        self.gram = gram
        self.selection = Selection(gram.size, signs, index)
        self.diag = checked_diagonal(diag, self.selection.size)
        self.constant = constant

    def select(
        self,
        signs: Vector | None,
        index: Index | None = None,
        diag: Vector | None = None,
        *,
        constant: float = 0.0,
    ) -> KernelQuadratic:
        """``R (K + constant) R' + diag(d)`` over the same samples; an evaluated K is shared."""
        return KernelQuadratic(self.gram, signs, index, diag, constant=constant)

    def combine(self, rows: Sparse, diag: Vector | None = None) -> KernelQuadratic:
        """``R K R' + diag(d)`` for any CSR matrix R with one column per sample."""
        combined = SampleGram(
            Combinations(self.gram), rows, positive_semidefinite=self.gram.positive_semidefinite
        )
        return KernelQuadratic(combined, diag=diag)

    def of_samples(
        self, samples: Index | None, selection: Selection, diag: Vector
    ) -> KernelQuadratic:
        gram = self.gram if samples is None else self.gram.of_samples(samples)
        return KernelQuadratic(gram, selection.signs, selection.index, diag, constant=self.constant)

    def parts(self) -> tuple[object, ...]:
        return (*self.gram.parts(), *self.selection.parts(), self.diag, self.constant)

    def matvec(self, x: Vector) -> Vector:
        return self.from_product(x, self.gram.product(self.selection.gather(x)))

    def products(self, X: Dense) -> Dense:
        sums = np.column_stack([self.selection.gather(x) for x in X.T])
        known = zip(X.T, self.gram.products(sums).T, strict=True)
        return np.column_stack([self.from_product(x, product) for x, product in known])

    def gram_block(self, rows: Index, columns: Index) -> Dense:
        return self.gram.block(rows, columns)

    def gram_diagonal(self) -> Vector:
        return self.gram.diagonal

    def to_dense(self, memory_limit: int | None = None) -> Dense:
        require_memory(
            *self.shape,
            "The kernel matrix",
            "use fewer samples, or raise memory_limit if the machine can take it.",
            memory_limit,
        )
        R, K = self.selection, self.gram.dense
        if R.is_identity and not self.constant and not self.diag.any():
            return K
        every = np.arange(self.size)
        return np.asarray(freeze(self.block(every, every)))

    @property
    def is_psd_by_construction(self) -> bool:
        return self.gram.positive_semidefinite and self.constant >= 0.0
