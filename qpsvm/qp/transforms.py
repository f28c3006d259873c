"""Transforms of a program into an equivalent one, each with its inverse.

A transform is a function ``program -> (program', inverse)``; ``inverse`` is a frozen, picklable
object that maps a solution of ``program'`` to one of ``program``, multipliers included.

========================  ==========================================================
fold_bounds               ``lb <= x <= ub`` become rows of ``Gx <= h``
drop_infinite_rows        rows of G with ``h = inf`` leave
drop_dependent_equalities rows of A that others imply leave
========================  ==========================================================

``scaling``, ``centring`` and ``equilibration`` have others, whose inverses also know the way there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Matrix, is_sparse
from qpsvm.numerics.rows import fold, take_rows
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution


class Inverse(Protocol):
    """Inverse of a transform: maps solutions back to the original program."""

    def __call__(self, solution: QPSolution) -> QPSolution: ...


class Reversible(Inverse, Protocol):
    """Inverse of a transform that can also map known solutions forward."""

    def forward(self, solution: QPSolution) -> QPSolution: ...


@dataclass(frozen=True)
class Identity:
    """The inverse of the identity transform."""

    def __call__(self, solution: QPSolution) -> QPSolution:
        return solution

    def forward(self, solution: QPSolution) -> QPSolution:
        """Return the solution unchanged."""
        return solution


@dataclass(frozen=True)
class Chain:
    """The inverses of several transforms, applied last to first."""

    inverses: tuple[Inverse, ...]

    def __call__(self, solution: QPSolution) -> QPSolution:
        for inverse in reversed(self.inverses):
            solution = inverse(solution)
        return solution


@dataclass(frozen=True)
class ReversibleChain(Chain):
    """A chain of inverses that can also map solutions forward."""

    inverses: tuple[Reversible, ...]

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the given program to the last program of the chain."""
        for inverse in self.inverses:
            solution = inverse.forward(solution)
        return solution


# --- bounds as rows --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UnfoldBounds:
    """Inverse of folding bounds: split ``z = (z_G, z_lower, z_upper)`` into its parts."""

    n_rows: int
    n_variables: int
    lower: Index
    upper: Index

    def __call__(self, solution: QPSolution) -> QPSolution:
        expected = self.n_rows + self.lower.size + self.upper.size
        if solution.z is None or solution.z.shape != (expected,):
            return solution.replace(z=None, z_lower=None, z_upper=None)
        parts = np.split(solution.z, [self.n_rows, self.n_rows + self.lower.size])
        z_lower, z_upper = np.zeros(self.n_variables), np.zeros(self.n_variables)
        z_lower[self.lower], z_upper[self.upper] = parts[1], parts[2]
        return solution.replace(z=parts[0], z_lower=z_lower, z_upper=z_upper)

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the program with bounds to the folded program."""
        if solution.z is None or solution.z_lower is None or solution.z_upper is None:
            return solution.replace(z=None, z_lower=None, z_upper=None)
        z = np.concatenate([solution.z, solution.z_lower[self.lower], solution.z_upper[self.upper]])
        none = np.zeros(self.n_variables)
        return solution.replace(z=z, z_lower=none, z_upper=none)


def fold_bounds(program: QuadraticProgram) -> tuple[QuadraticProgram, UnfoldBounds]:
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
    inverse = UnfoldBounds(program.n_inequalities, program.n_variables, rows.lower, rows.upper)
    if rows.lower.size + rows.upper.size == 0:
        return program, inverse
    return program.replace(G=rows.G, h=rows.h, lb=None, ub=None), inverse


# --- rows that do not bind -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RestoreRows:
    """Inverse of dropping rows: their multipliers are zero."""

    kept: Index
    n_rows: int
    equalities: bool = False

    def __call__(self, solution: QPSolution) -> QPSolution:
        name = "y" if self.equalities else "z"
        kept = getattr(solution, name)
        if kept is None or kept.shape != self.kept.shape:
            return solution.replace(**{name: None})
        full = np.zeros(self.n_rows)
        full[self.kept] = kept
        return solution.replace(**{name: full})


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
        return program, Identity()
    smaller = program.replace(G=take_rows(program.G, kept), h=program.h[kept])
    return smaller, RestoreRows(kept, program.n_inequalities)


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
    if rows <= 1 and (rows == 0 or _dense(program.A).any()):
        return program, Identity()
    from scipy.linalg import qr

    _, R, pivots = qr(_dense(program.A).T, mode="economic", pivoting=True)
    pivot_sizes = np.abs(np.diagonal(R))
    rank = int((pivot_sizes > rtol * pivot_sizes.max(initial=0.0)).sum())
    if rank == rows:
        return program, Identity()
    kept = np.sort(pivots[:rank])
    smaller = program.replace(A=take_rows(program.A, kept), b=program.b[kept])
    return smaller, RestoreRows(kept, rows, equalities=True)


def _dense(matrix: Matrix) -> Dense:
    return matrix.toarray() if is_sparse(matrix) else matrix
