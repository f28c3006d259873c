"""Reduction of a program to an equivalent, better-scaled one, with its inverse.

A chain of equivalent programs, each link a ``(program, inverse)`` of its own:

1. ``rewritten``, of a bare program: bounds that were rows, factors, the unit of the objective;
2. ``centre``: large offsets of columns are taken out;
3. ``scaling.equilibrate``: rows and variables of very different sizes are scaled, by powers of two.

A program that needs neither is left as it is: the very object, so that nothing changes for it.

Rewriting is for programs of a user's own: the same program may be written in many ways, and none of
them should cost time or digits:

1. rows with a single variable become bounds (``transforms``);
2. a dense Hessian that is a Gram matrix but for rounding becomes its factor (``convexity``),
   where that is much smaller;
3. an objective in a unit far from 1 is multiplied by a power of two. Solvers stop at an accuracy
   that is absolute for small objectives, and an objective times 1e-12 is the same program.

Programs of machines are built in their best form. They need the third step alone, where linear
terms are so small that solvers would stop at once.

Centring: a free intercept takes up any offset of the samples, so taking the offset out changes
nothing but the intercept. In a program this is an identity of its numbers alone, in two forms.

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

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

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
from qpsvm.qp.quadratic import DenseQuadratic
from qpsvm.qp.sample_quadratic import Selection
from qpsvm.qp.scaling import BAD_SPREAD, equilibrate, scale
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.qp.transforms import Chain, Inverse, rows_as_bounds

LARGEST_RANK = 0.5
"""Columns of a factor, as a share of the variables, up to which it replaces a dense Hessian: with
more columns products with the factor take longer than those with the matrix."""

ORDINARY = 2.0**-10, 2.0**10
"""Range of the largest linear term (of the largest curvature where there is none) in which an
objective is left in its unit: solvers have absolute tolerances."""


class Reduced(NamedTuple):
    """An equivalent program that is easier to solve.

    Attributes
    ----------
    program : QuadraticProgram
    inverse : Inverse
        The way back to the given program; ``inverse.forward`` is the way there.
    note : str
        What was done, in words; empty if nothing.
    is_scaled : bool
        Whether rows or variables differed so much that they were scaled.
    """

    program: QuadraticProgram
    inverse: Inverse
    note: str = ""
    is_scaled: bool = False

    @classmethod
    def of(
        cls, program: QuadraticProgram, bad_spread: float = BAD_SPREAD, *, is_bare: bool = False
    ) -> Reduced:
        """Reduce a program as far as it helps; ``bad_spread`` as ``equilibrate`` takes it."""
        written, way = rewritten(program) if is_bare else with_larger_linear_terms(program)
        centred, offsets = centre(written)
        scaled, scales = equilibrate(centred, bad_spread)
        notes = ["large offsets of columns taken out"] * (centred is not written)
        notes += ["rows and variables of very different sizes scaled"] * (scaled is not centred)
        chain = Chain((way, offsets, scales))
        return cls(scaled, chain, "; ".join(notes), scaled is not centred)


# --- rewriting -----------------------------------------------------------------------------------


def rewritten(program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
    """Write a bare program as solvers take it best; see the module's docstring.

    Returns
    -------
    program : QuadraticProgram
        The very program where nothing needs to be done.
    inverse : Inverse

    Examples
    --------
    >>> textbook = QuadraticProgram([[1e-9]], [-3e-9], G=[[-1.0], [1.0]], h=[0.0, 2.0])
    >>> program, _ = rewritten(textbook)
    >>> program.n_inequalities, bool(0.5 < -program.q[0] < 4.0)
    (0, True)
    """
    bounded, rows = rows_as_bounds(program)
    F = bounded.convexity.factor if isinstance(bounded.P, DenseQuadratic) else None
    is_small = F is not None and F.shape[1] <= LARGEST_RANK * len(F)
    factored = bounded.replace(P=LowRankQuadratic(F)) if is_small else bounded
    scaled, unit = _in_ordinary_unit(factored)
    return scaled, unit if bounded is program else Chain((rows, unit))


def with_larger_linear_terms(program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
    """Scale up the objective of a program whose linear terms are tiny; return the way back, too."""
    # solvers would stop at once: their tolerances are absolute
    is_tiny = 0.0 < float(np.max(np.abs(program.q), initial=0.0)) < 2.0**-30
    return _in_ordinary_unit(program) if is_tiny else (program, Chain())


def _in_ordinary_unit(program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
    unit = float(np.max(np.abs(program.q))) or float(np.max(np.abs(program.P.diagonal())))
    if unit == 0.0 or not math.isfinite(unit) or ORDINARY[0] <= unit <= ORDINARY[1]:
        return program, Chain()
    # an even exponent, at most the largest of float64: the root of the factor is exact, too
    exponent = min(-2 * (math.frexp(unit)[1] // 2), 1022)
    return scale(program, objective=math.ldexp(1.0, exponent))


# --- centring ------------------------------------------------------------------------------------


def centre(program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
    """Take large offsets out of the columns of a program; see the module's docstring.

    Returns
    -------
    program : QuadraticProgram
        The very program where no column has such an offset, or none can be taken out.
    inverse : Inverse
    """
    if isinstance(program.P, LowRankQuadratic):
        return _centre_factor(program, program.P)
    return _centre_rows(program)


class _Shift(ABC):
    """Inverse of a substitution that shifts some numbers of a solution by a function of x."""

    def __call__(self, solution: QPSolution) -> QPSolution:
        return self._shifted(solution, -1.0)

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the given program to the centred program."""
        return self._shifted(solution, 1.0)

    @abstractmethod
    def _shifted(self, solution: QPSolution, sign: float) -> QPSolution: ...


@dataclass(frozen=True, eq=False)
class RestoreOffset(_Shift):
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

    def _shifted(self, solution: QPSolution, sign: float) -> QPSolution:
        x, y = solution.x, solution.y
        if solution.status in (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE) or y is None:
            return solution
        if y.shape != (1,) or x is None or x.shape != (self.given.size,):
            return solution.replace(y=None)
        with np.errstate(over="ignore", invalid="ignore"):  # of a solver's nonsense
            return solution.replace(y=y + sign * (self.c @ self.given.weights(x)))


def _centre_factor(
    program: QuadraticProgram, P: LowRankQuadratic
) -> tuple[QuadraticProgram, Inverse]:
    samples, R = P.samples, P.selection
    if program.n_equalities != 1 or P.constant:
        return program, Chain()
    a, beta = as_dense(program.A)[0], float(program.b[0])
    c = _offsets(
        np.asarray(samples.T @ R.gather(a)),
        float(a @ a),
        _column_squares(
            samples, Selection(R.n_samples, R.signs**2, R.index).gather(np.ones(R.size))
        ),
    )
    if not c.any() or 8 * samples.shape[0] * samples.shape[1] > default_memory_limit():
        return program, Chain()
    of_samples = _per_sample(a, R)
    if of_samples is None:
        centred = LowRankQuadratic(_minus(P.factor, a, c), P.diag)
    else:
        signs, index = R.signs, R.index
        centred = LowRankQuadratic(_minus(samples, of_samples, c), P.diag, signs=signs, index=index)
    q = (
        program.q + beta * centred.selection.spread(np.asarray(centred.samples @ c))
        if beta
        else program.q
    )
    return program.replace(P=centred, q=q), RestoreOffset(P, c)


def _per_sample(a: Vector, R: Selection) -> Vector | None:
    """Find the t with ``a = R t``; None if variables of one sample disagree."""
    used = R.signs != 0.0
    t = np.zeros(R.n_samples)
    t[R.samples(np.flatnonzero(used))] = a[used] / R.signs[used]
    close = np.allclose(R.spread(t), a, rtol=4.0 * EPS, atol=0.0)
    return t if close else None


# --- the rows of a program with a free variable --------------------------------------------------


@dataclass(frozen=True, eq=False)
class RestoreVariable(_Shift):
    """Inverse of centring columns: ``x_k = x~_k - c'x_J``.

    Attributes
    ----------
    k : int
    c : array of shape (n,)
        Zero outside of J.
    """

    k: int
    c: Vector

    def _shifted(self, solution: QPSolution, sign: float) -> QPSolution:
        if solution.x is None or solution.x.shape != self.c.shape:
            return solution
        x = solution.x.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            x[self.k] += sign * (self.c @ x)
        return solution.replace(x=x)


def _centre_rows(program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
    is_free = np.isinf(program.lb) & np.isinf(program.ub)
    if not is_free.any():
        return program, Chain()
    free = np.flatnonzero(is_free & (program.P.diagonal() == 0.0))
    if len(free) != 1 or not program.n_inequalities + program.n_equalities:
        return program, Chain()
    k = int(free[0])
    parts = program.G, program.A
    a = [as_dense(M[:, [k]]).ravel() for M in parts]
    square = sum(float(v @ v) for v in a)
    if not square:
        return program, Chain()
    none = np.zeros(program.n_variables)
    products = sum((np.asarray(M.T @ v) for M, v in zip(parts, a, strict=True)), start=none)
    squares = sum((_column_squares(M, np.ones(M.shape[0])) for M in parts), start=none)
    c = _offsets(products, square, squares)
    c[k] = 0.0
    if not c.any():
        return program, Chain()
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
    """Weighted sums of the squares of every column, ``sum_i weights_i X_ij^2``."""
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
