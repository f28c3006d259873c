"""Programs whose columns share a large offset, rewritten with centred columns.

A free intercept takes up any offset of the samples, so taking the offset out changes nothing but
the intercept. In a program this is an identity of its numbers alone, and it has two forms.

With one equality row ``a'x = beta`` and ``P = F F' + diag(d)`` (the dual of a linear machine),
for any vector c::

    F~ = F - a c',    q~ = q + beta F~ c,    y = y~ - (c'F~'x + beta |c|^2)

because ``F'x = F~'x + beta c`` wherever the row holds; x and all other multipliers are the same.

With a free variable x_k that has no curvature and the column a in ``M = [G; A]`` (the intercept of
a primal program), substitute ``x_k = x~_k - c'x_J``::

    M~_J = M_J - a c',    q~_J = q_J - q_k c

and all multipliers are the same.

Here c is the least-squares coefficient of every column on a: for samples with labels, their mean.
A column takes part where its offset exceeds ``OFFSET_RATIO`` times what is left of it. Entries that
are within a factor of two of the offset lose no digit by the subtraction (Sterbenz).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import (
    IN_CACHE,
    Index,
    Matrix,
    Vector,
    as_dense,
    default_memory_limit,
    is_sparse,
    row_blocks,
)
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import OFFSET_RATIO
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.sample_quadratic import Selection
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.qp.transforms import Identity, Reversible

_NO_OPTIMUM = (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE)


def centre(program: QuadraticProgram) -> tuple[QuadraticProgram, Reversible]:
    """Take large offsets out of the columns of a program; see the module's docstring.

    Returns
    -------
    program : QuadraticProgram
        The very program where no column has such an offset, or none can be taken out.
    inverse : Reversible
    """
    if isinstance(program.P, LowRankQuadratic):
        return _centre_factor(program, program.P)
    return _centre_rows(program)


# --- the factor of P -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RestoreOffset:
    """Inverse of centring a factor: ``y = y~ - c'F'x``; certificates of infeasibility are kept.

    With ``F'x`` as the given program rounds it: the gradient ``F (F'x) + a y`` of a verifier then
    has the error of ``F'x`` times the centred rows, and not times the offset.

    Attributes
    ----------
    given : LowRankQuadratic
        With the offset.
    c : array of shape (r,)
    """

    given: LowRankQuadratic
    c: Vector

    def __call__(self, solution: QPSolution) -> QPSolution:
        return self._shifted(solution, -1.0)

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the given program to the centred program."""
        return self._shifted(solution, 1.0)

    def _shifted(self, solution: QPSolution, sign: float) -> QPSolution:
        x, y = solution.x, solution.y
        if solution.status in _NO_OPTIMUM or y is None:
            return solution
        if y.shape != (1,) or x is None or x.shape != (self.given.size,):
            return solution.replace(y=None)
        with np.errstate(over="ignore", invalid="ignore"):  # of a solver's nonsense
            return solution.replace(y=y + sign * (self.c @ self.given.weights(x)))


def _centre_factor(
    program: QuadraticProgram, P: LowRankQuadratic
) -> tuple[QuadraticProgram, Reversible]:
    samples, R = P.samples, P.selection
    if program.n_equalities != 1 or P.constant:
        return program, Identity()
    a, beta = as_dense(program.A)[0], float(program.b[0])
    c = _offsets(
        np.asarray(samples.T @ R.gather(a)),
        float(a @ a),
        _column_squares(samples, _gathered_squares(R)),
    )
    if not c.any() or 8 * samples.shape[0] * samples.shape[1] > default_memory_limit():
        return program, Identity()
    of_samples = _per_sample(a, R)
    if of_samples is None:
        centred = LowRankQuadratic(_minus(P.factor, a, c), P.diag)
    else:
        signs, index = R.signs, R.index
        centred = LowRankQuadratic(_minus(samples, of_samples, c), P.diag, signs=signs, index=index)
    q = program.q + beta * _times_factor(centred, c) if beta else program.q
    return program.replace(P=centred, q=q), RestoreOffset(P, c)


def _times_factor(P: LowRankQuadratic, c: Vector) -> Vector:
    """``F c``."""
    return P.selection.spread(np.asarray(P.samples @ c))


def _gathered_squares(R: Selection) -> Vector:
    """For every sample, the sum of its squared factors over the rows of F."""
    squares = R.signs * R.signs
    if R.index is None:
        return squares
    return np.bincount(R.index, squares, R.n_samples).astype(np.float64)


def _per_sample(a: Vector, R: Selection) -> Vector | None:
    """Find T with ``a = R t``; None if variables of one sample disagree."""
    used = R.signs != 0.0
    t = np.zeros(R.n_samples)
    t[R.samples(np.flatnonzero(used))] = a[used] / R.signs[used]
    close = np.allclose(R.spread(t), a, rtol=4.0 * EPS, atol=0.0)
    return t if close else None


# --- the rows of a program with a free variable --------------------------------------------------


@dataclass(frozen=True, eq=False)
class RestoreVariable:
    """Inverse of centring columns: ``x_k = x~_k - c'x_J``.

    Attributes
    ----------
    k : int
    c : array of shape (n,)
        Zero outside of J.
    """

    k: int
    c: Vector

    def __call__(self, solution: QPSolution) -> QPSolution:
        return self._moved(solution, -1.0)

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the given program to the centred program."""
        return self._moved(solution, 1.0)

    def _moved(self, solution: QPSolution, sign: float) -> QPSolution:
        if solution.x is None or solution.x.shape != self.c.shape:
            return solution
        x = solution.x.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            x[self.k] += sign * (self.c @ x)
        return solution.replace(x=x)


def _centre_rows(program: QuadraticProgram) -> tuple[QuadraticProgram, Reversible]:
    is_free = np.isinf(program.lb) & np.isinf(program.ub)
    if not is_free.any():
        return program, Identity()
    free = np.flatnonzero(is_free & (program.P.diagonal() == 0.0))
    if len(free) != 1 or not program.n_inequalities + program.n_equalities:
        return program, Identity()
    k = int(free[0])
    parts = program.G, program.A
    a = [as_dense(M[:, [k]]).ravel() for M in parts]
    square = sum(float(v @ v) for v in a)
    if not square:
        return program, Identity()
    none = np.zeros(program.n_variables)
    products = sum((np.asarray(M.T @ v) for M, v in zip(parts, a, strict=True)), start=none)
    squares = sum((_column_squares(M, np.ones(M.shape[0])) for M in parts), start=none)
    c = _offsets(products, square, squares)
    c[k] = 0.0
    if not c.any():
        return program, Identity()
    G, A = (_minus(M, v, c) for M, v in zip(parts, a, strict=True))
    q = program.q - program.q[k] * c
    return program.replace(q=q, G=G, A=A), RestoreVariable(k, c)


# --- small pieces --------------------------------------------------------------------------------


def _offsets(products: Vector, square: float, squares: Vector) -> Vector:
    """The offsets c of columns with large offsets, 0 for the others.

    Parameters
    ----------
    products, squares : arrays of shape (r,)
        ``M'a`` and the squared norms of the columns of M.
    square : float
        ``a'a``.
    """
    with np.errstate(all="ignore"):
        c = products / square if square else np.zeros(len(products))
        offset = c * c * square
        left = np.maximum(squares - offset, 0.0)
        large = np.isfinite(offset) & (offset > OFFSET_RATIO**2 * left)
    return np.where(large, c, 0.0)


def _column_squares(X: Stored, weights: Vector) -> Vector:
    """``sum_i weights_i X_ij^2`` of dense, sparse or single-precision rows."""
    if is_sparse(X):
        squared = type(X)((X.data * X.data, X.indices, X.indptr), shape=X.shape)
        return np.asarray(squared.T @ weights)
    total = np.zeros(X.shape[1])
    for rows in row_blocks(X.shape[0], X.shape[1], IN_CACHE):
        block = X[rows]
        total += np.einsum("ij,ij,i->j", block, block, weights[rows])
    return total


def _minus(M: Stored, a: Vector, c: Vector) -> Matrix:
    """``M - a c'``; sparse M stays sparse, with entries in columns where c is not zero."""
    if is_sparse(M):
        columns: Index = np.flatnonzero(c)
        outer = sp.coo_array(np.outer(a, c[columns]))
        placed = sp.coo_array((outer.data, (outer.row, columns[outer.col])), shape=M.shape)
        return type(M)(M - placed.tocsr())
    return np.asarray(M) - (c if (a == 1.0).all() else np.outer(a, c))
