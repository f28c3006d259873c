"""Transforms of a program into an equivalent one, each with its inverse.

A transform is a function ``program -> (program', inverse)``; ``inverse`` is a frozen, picklable
object that maps a solution of ``program'`` to one of ``program``, multipliers included, and with
``inverse.forward`` a known solution the other way. ``Chain`` is the inverse of several transforms,
and without any that of none.

========================  ==========================================================
fold_bounds               ``lb <= x <= ub`` become rows of ``Gx <= h``
rows_as_bounds            rows of ``Gx <= h`` with a single variable become bounds
drop_infinite_rows        rows of G with ``h = inf`` leave
drop_dependent_equalities rows of A that others imply leave
========================  ==========================================================

``scaling`` and ``reductions`` have others; ``SlackRows`` writes inequalities as equalities for the
solvers that have no others.

The textbook's program has ``G = [-I; I]``; a row ``a x_j <= r`` says ``x_j <= r / a`` for a
positive a, and ``x_j >= r / a`` for a negative one. A bound is a matter of one comparison, while
the proof that hundreds of rows hold beside a point takes a factorisation. A quotient is rounded
inwards: a point within the bounds satisfies the rows in exact arithmetic. Bounds that would cross
by that stay rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector, as_dense
from qpsvm.numerics.precision import product_parts
from qpsvm.numerics.rows import entries_of, fold, take_rows
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution


class Inverse(Protocol):
    """Inverse of a transform: maps solutions back, and known ones forward."""

    def __call__(self, solution: QPSolution) -> QPSolution: ...

    def forward(self, solution: QPSolution) -> QPSolution: ...


@dataclass(frozen=True)
class Chain:
    """The inverses of several transforms, in the order of these; without any, the identity."""

    inverses: tuple[Inverse, ...] = ()

    def __call__(self, solution: QPSolution) -> QPSolution:
        for inverse in reversed(self.inverses):
            solution = inverse(solution)
        return solution

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the given program to the last program of the chain."""
        for inverse in self.inverses:
            solution = inverse.forward(solution)
        return solution


@dataclass(frozen=True)
class Reversed:
    """The inverse of a transform that undoes another one."""

    inverse: Inverse

    def __call__(self, solution: QPSolution) -> QPSolution:
        return self.inverse.forward(solution)

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the given program to the transformed one."""
        return self.inverse(solution)


# --- bounds as rows --------------------------------------------------------------------------


def fold_bounds(program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
    """Write the finite bounds as rows: ``-x_i <= -lb_i`` and ``x_i <= ub_i``.

    Parameters
    ----------
    program : QuadraticProgram
        The program to transform; it is not changed.

    Returns
    -------
    program : QuadraticProgram
        The equivalent program.
    inverse : Inverse
        The map of its solutions to solutions of the given one.

    Examples
    --------
    >>> from qpsvm.qp import QuadraticProgram
    >>> folded, _ = fold_bounds(QuadraticProgram([[1.0]], [-3.0], lb=0.0, ub=2.0))
    >>> folded.n_inequalities, folded.h
    (2, array([0., 2.]))
    """
    rows = fold(program.G, program.h, program.lb, program.ub, may_be_dense=True)
    m, n, variable = program.n_inequalities, program.n_variables, np.append(rows.lower, rows.upper)
    position = np.arange(len(variable))
    signs = np.where(position < len(rows.lower), -1.0, 1.0)
    owners = np.full((2, n), -1, dtype=np.intp)
    owners[(signs > 0.0).astype(np.intp), variable] = position
    inverse = BoundsAsRows(
        np.arange(m), m + position, variable, signs, owners[0], owners[1], np.zeros(n)
    )
    if not len(variable):
        return program, Reversed(inverse)
    return program.replace(G=rows.G, h=rows.h, lb=None, ub=None), Reversed(inverse)


# --- rows that do not bind -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RestoreRows:
    """Inverse of dropping rows: their multipliers, ``name``, are zero."""

    kept: Index
    n_rows: int
    name: str

    def __call__(self, solution: QPSolution) -> QPSolution:
        kept = getattr(solution, self.name)
        if kept is None or kept.shape != self.kept.shape:
            return solution.replace(**{self.name: None})
        full = np.zeros(self.n_rows)
        full[self.kept] = kept
        return solution.replace(**{self.name: full})

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the given program to the one without these rows."""
        full = getattr(solution, self.name)
        fits = full is not None and len(full) == self.n_rows
        return solution.replace(**{self.name: full[self.kept] if fits else None})


def drop_infinite_rows(program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
    """Drop the rows of G whose right-hand side is ``+inf``.

    Parameters
    ----------
    program : QuadraticProgram
        The program to transform; it is not changed.

    Returns
    -------
    program : QuadraticProgram
        The equivalent program.
    inverse : Inverse
        The map of its solutions to solutions of the given one.

    Examples
    --------
    >>> from qpsvm.qp import QuadraticProgram
    >>> program = QuadraticProgram([[1.0]], [0.0], G=[[1.0], [2.0]], h=[np.inf, 1.0])
    >>> drop_infinite_rows(program)[0].n_inequalities
    1
    """
    kept = np.flatnonzero(np.isfinite(program.h))
    if kept.size == program.n_inequalities:
        return program, Chain()
    smaller = program.replace(G=take_rows(program.G, kept), h=program.h[kept])
    return smaller, RestoreRows(kept, program.n_inequalities, "z")


def drop_dependent_equalities(
    program: QuadraticProgram, rtol: float = 1e-11
) -> tuple[QuadraticProgram, Inverse]:
    r"""Keep a largest independent set of rows of A (QR with column pivoting of A').

    Interior-point solvers factor :math:`A H A^\top` and break down when rows depend on each other.
    The rows that leave are implied by those that stay only if the system is consistent: a solution
    of the smaller program must therefore still be checked against the full one.

    Parameters
    ----------
    program : QuadraticProgram
        The program to transform; it is not changed.
    rtol : float
        Pivots below ``rtol`` times the largest count as zero.

    Returns
    -------
    program : QuadraticProgram
        The equivalent program.
    inverse : Inverse
        The map of its solutions to solutions of the given one.

    Examples
    --------
    >>> from qpsvm.qp import QuadraticProgram
    >>> program = QuadraticProgram([[1.0]], [0.0], A=[[1.0], [2.0]], b=[1.0, 2.0])
    >>> drop_dependent_equalities(program)[0].n_equalities
    1
    """
    rows = program.n_equalities
    if rows <= 1 and (rows == 0 or as_dense(program.A).any()):
        return program, Chain()
    from scipy.linalg import qr

    _, R, pivots = qr(as_dense(program.A).T, mode="economic", pivoting=True)
    pivot_sizes = np.abs(np.diagonal(R))
    rank = int((pivot_sizes > rtol * pivot_sizes.max(initial=0.0)).sum())
    if rank == rows:
        return program, Chain()
    kept = np.sort(pivots[:rank])
    smaller = program.replace(A=take_rows(program.A, kept), b=program.b[kept])
    return smaller, RestoreRows(kept, rows, "y")


# --- rows as bounds ---------------------------------------------------------------------------

SAFE = 2.0**-400, 2.0**400
"""Range of the numbers of a row whose quotient and products neither overflow nor underflow; other
rows stay rows."""


@dataclass(frozen=True, eq=False)
class BoundsAsRows:
    """Inverse of ``rows_as_bounds``: multipliers of bounds that were rows, as those of the rows.

    Attributes
    ----------
    kept : array of int
        The rows that are no bounds.
    row, variable : arrays of int of shape (k,)
        The rows that are bounds, and their variables.
    entry : array of shape (k,)
        The numbers a.
    lower, upper : arrays of int of shape (n,)
        Position among those rows of the one that gives the bound of each variable; -1 where the
        program's own bound is tighter.
    inexact : array of shape (n,)
        How far the tighter bound of a variable may lie from its exact quotient.
    """

    kept: Index
    row: Index
    variable: Index
    entry: Vector
    lower: Index
    upper: Index
    inexact: Vector

    def __call__(self, solution: QPSolution) -> QPSolution:
        z, z_lower, z_upper = solution.z, solution.z_lower, solution.z_upper
        n = len(self.lower)
        fits = z is not None and z.shape == self.kept.shape
        if not fits or z_lower is None or z_upper is None or len(z_lower) != n or len(z_upper) != n:
            return solution.replace(z=None, z_lower=None, z_upper=None)
        full = np.zeros(len(self.kept) + len(self.row))
        full[self.kept] = z
        remaining = []
        for owner, multipliers in ((self.lower, z_lower), (self.upper, z_upper)):
            owned = owner >= 0
            position = owner[owned]
            full[self.row[position]] = multipliers[owned] / np.abs(self.entry[position])
            remaining.append(np.where(owned, 0.0, multipliers))
        return solution.replace(z=full, z_lower=remaining[0], z_upper=remaining[1])

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the program with rows to the one with bounds.

        Multipliers of bounds that are missing count as zero.
        """
        z, n = solution.z, len(self.lower)
        if z is None or z.shape != (len(self.kept) + len(self.row),):
            return solution.replace(z=None, z_lower=None, z_upper=None)
        own = (solution.z_lower, solution.z_upper)
        z_lower, z_upper = (np.zeros(n) if part is None else part.copy() for part in own)
        pressed, is_upper = z[self.row] * np.abs(self.entry), self.entry > 0.0
        np.add.at(z_lower, self.variable[~is_upper], pressed[~is_upper])
        np.add.at(z_upper, self.variable[is_upper], pressed[is_upper])
        return solution.replace(z=z[self.kept], z_lower=z_lower, z_upper=z_upper)


def rows_as_bounds(program: QuadraticProgram) -> tuple[QuadraticProgram, BoundsAsRows]:
    """Write rows with a single variable as bounds; see the module's docstring.

    Returns
    -------
    program : QuadraticProgram
        The very program where no row is a bound.
    inverse : BoundsAsRows

    Examples
    --------
    >>> textbook = QuadraticProgram([[1.0]], [-3.0], G=[[-1.0], [2.0]], h=[0.0, 4.0])
    >>> program, _ = rows_as_bounds(textbook)
    >>> program.n_inequalities, program.lb, program.ub
    (0, array([0.]), array([2.]))
    """
    row, variable, entry = _single_entries(program)
    n, none = program.n_variables, np.full(program.n_variables, -1, dtype=np.intp)
    if not len(row):
        kept = np.arange(program.n_inequalities)
        return program, BoundsAsRows(kept, row, variable, entry, none, none, np.zeros(n))
    quotient, inexact = _bounds_rounded_inwards(entry, program.h[row])
    is_upper = entry > 0.0
    lb, lower = _tightest(program.lb, variable, np.where(is_upper, -np.inf, quotient), +1.0)
    ub, upper = _tightest(program.ub, variable, np.where(is_upper, quotient, np.inf), -1.0)
    crossing = lb > ub  # rows that contradict each other, or an equation in two rows
    lb, ub = np.where(crossing, program.lb, lb + 0.0), np.where(crossing, program.ub, ub + 0.0)
    is_bound = ~crossing[variable]
    position = np.where(is_bound, np.cumsum(is_bound) - 1, -1)
    lower, upper = (
        np.where((owner >= 0) & ~crossing, np.append(position, -1)[owner], -1)
        for owner in (lower, upper)
    )
    row, variable, entry = row[is_bound], variable[is_bound], entry[is_bound]
    margin = np.zeros(n)
    np.maximum.at(margin, variable, inexact[is_bound])
    kept = np.setdiff1d(np.arange(program.n_inequalities), row)
    inverse = BoundsAsRows(kept, row, variable, entry, lower, upper, margin)
    if not len(row):
        return program, inverse
    G, h = take_rows(program.G, kept), program.h[kept]
    return program.replace(G=G, h=h, lb=lb, ub=ub), inverse


def _single_entries(program: QuadraticProgram) -> tuple[Index, Index, Vector]:
    """Rows with one entry and numbers of ordinary size: their indices, variables and entries."""
    row, variable, entry = entries_of(program.G)
    single = np.bincount(row, minlength=program.n_inequalities)[row] == 1
    sizes, right = np.abs(entry), np.abs(program.h[row])
    is_safe = (sizes >= SAFE[0]) & (sizes <= SAFE[1]) & (right <= SAFE[1])
    single &= is_safe & ((right >= SAFE[0]) | (right == 0.0))
    order = np.flatnonzero(single)[np.argsort(row[single], kind="stable")]
    return row[order].astype(np.intp), variable[order].astype(np.intp), entry[order]


def _bounds_rounded_inwards(entry: Vector, right: Vector) -> tuple[Vector, Vector]:
    """The bounds ``right / entry``, rounded inwards, and how far the exact ones may be."""
    quotient = right / entry + 0.0  # no negative zero
    product, rest = product_parts(entry, quotient)
    beyond = (product - right) + rest  # exact in sign: the two first terms differ by an ulp at most
    inside = np.where(entry > 0.0, -np.inf, np.inf)
    rounded = np.where(beyond > 0.0, np.nextafter(quotient, inside), quotient)
    return rounded, np.where(beyond == 0.0, 0.0, 2.0 * np.spacing(np.abs(quotient)))


def _tightest(bound: Vector, variable: Index, values: Vector, sign: float) -> tuple[Vector, Index]:
    """Combine bounds with those that single-variable rows imply; return bounds and their rows."""
    tightest, owner = sign * bound, np.full(len(bound), -1, dtype=np.intp)
    order = np.argsort(sign * values, kind="stable")  # the last one written is the tightest
    ordered = order[sign * values[order] > tightest[variable[order]]]
    tightest[variable[ordered]] = sign * values[ordered]
    owner[variable[ordered]] = ordered
    return sign * tightest, owner


# --- rows with slack variables -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SlackRows:
    """``Ax = b`` and ``Gx <= h`` as ``M (x, s) = right`` with a slack ``s >= 0`` per inequality.

    Attributes
    ----------
    matrix : array of shape (p + m, n + m)
        M, its rows divided by ``scales``.
    right : array of shape (p + m,)
    scales : array of shape (p + m,)
        The largest entry of every row of A and G; 1 where that is zero.
    n_slack : int
        m, the number of inequalities, which come last.
    """

    matrix: Dense
    right: Vector
    scales: Vector
    n_slack: int

    @classmethod
    def of(cls, A: Matrix, b: Vector, G: Matrix, h: Vector) -> SlackRows:
        """Add the slack variables and scale the rows to a largest entry of 1."""
        p, m = len(b), len(h)
        rows = np.vstack([as_dense(A), as_dense(G)]) if m else as_dense(A)
        scales = np.max(np.abs(rows), axis=1, initial=0.0)
        scales[scales == 0.0] = 1.0
        if (scales != 1.0).any():
            rows = rows / scales[:, None]
        if m:
            rows = np.hstack([rows, np.vstack([np.zeros((p, m)), np.eye(m)])])
        return cls(rows, np.concatenate([b, h]) / scales, scales, m)

    @property
    def n_equalities(self) -> int:
        """Number of equalities p."""
        return len(self.right) - self.n_slack

    def extended(self, v: Vector, slack: Vector | float = 0.0) -> Vector:
        """Append the entries of the slack variables to a vector of x."""
        return np.append(v, np.broadcast_to(slack, self.n_slack)) if self.n_slack else v

    def slack(self, x: Vector) -> Vector:
        """Compute the slacks ``h - Gx`` of inequalities, rows scaled to a largest entry of 1."""
        own = slice(self.n_equalities, None)
        return np.asarray(self.right[own] - self.matrix[own, : len(x)] @ x)

    def multipliers(self, y: Vector) -> tuple[Vector, Vector]:
        """Convert multipliers of the scaled rows to those of ``Ax = b`` and ``Gx <= h``."""
        of_rows, p = y / self.scales, self.n_equalities
        return of_rows[:p], np.maximum(of_rows[p:], 0.0)
