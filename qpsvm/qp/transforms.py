"""Transforms of a program into an equivalent one, each with its inverse.

A transform is a function ``program -> (program', inverse)``; ``inverse`` is a frozen, picklable
object that maps a solution of ``program'`` to one of ``program``, multipliers included.

========================  ==========================================================
fold_bounds               ``lb <= x <= ub`` become rows of ``Gx <= h``
drop_infinite_rows        rows of G with ``h = inf`` leave
drop_dependent_equalities rows of A that others imply leave
scale                     ``x = D x'``, rows and objective rescaled
========================  ==========================================================

``centring`` and ``equilibration`` have two more, whose inverses also know the way there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector, as_vector, is_sparse
from qpsvm.numerics.rows import fold, take_rows
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution
from qpsvm.qp.stored_quadratic import DenseQuadratic, SparseQuadratic


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
class ReversibleChain:
    """A chain of inverses that can also map solutions forward."""

    links: tuple[Reversible, ...]

    def __call__(self, solution: QPSolution) -> QPSolution:
        for link in reversed(self.links):
            solution = link(solution)
        return solution

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the given program to the last program of the chain."""
        for link in self.links:
            solution = link.forward(solution)
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
    """Write the finite bounds as rows: ``-x_i <= -lb_i`` and ``x_i <= ub_i``."""
    rows = fold(program.G, program.h, program.lb, program.ub)
    inverse = UnfoldBounds(program.n_inequalities, program.n_variables, rows.lower, rows.upper)
    if rows.lower.size + rows.upper.size == 0:
        return program, inverse
    folded = QuadraticProgram(
        program.P, program.q, rows.G, rows.h, program.A, program.b, names=program.names
    )
    return folded, inverse


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
    """Leave out the rows of G whose right-hand side is ``+inf``."""
    kept = np.flatnonzero(np.isfinite(program.h))
    if kept.size == program.n_inequalities:
        return program, Identity()
    smaller = QuadraticProgram(
        program.P,
        program.q,
        take_rows(program.G, kept),
        program.h[kept],
        program.A,
        program.b,
        program.lb,
        program.ub,
        names=program.names,
    )
    return smaller, RestoreRows(kept, program.n_inequalities)


def drop_dependent_equalities(
    program: QuadraticProgram, rtol: float = 1e-11
) -> tuple[QuadraticProgram, Inverse]:
    """Keep a largest independent set of rows of A (QR with column pivoting of A').

    Interior-point solvers factor ``A H A'`` and break down when rows depend on each other. The
    rows that leave are implied by those that stay only if the system is consistent: a solution
    of the smaller program must therefore still be checked against the full one.

    Parameters
    ----------
    rtol : float
        Pivots below ``rtol`` times the largest count as zero.
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
    smaller = QuadraticProgram(
        program.P,
        program.q,
        program.G,
        program.h,
        take_rows(program.A, kept),
        program.b[kept],
        program.lb,
        program.ub,
        names=program.names,
    )
    return smaller, RestoreRows(kept, rows, equalities=True)


def _dense(matrix: Matrix) -> Dense:
    return matrix.toarray() if is_sparse(matrix) else matrix


# --- scaling -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Unscale:
    """Inverse of ``scale``: ``x = D x'``, ``z = E_G z'/c``, ``y = E_A y'/c``; see ``scale``."""

    variables: Vector
    inequalities: Vector
    equalities: Vector
    objective: float

    def __call__(self, solution: QPSolution) -> QPSolution:
        factors = {
            "x": self.variables,
            "z": self.inequalities / self.objective,
            "y": self.equalities / self.objective,
            "z_lower": 1.0 / (self.variables * self.objective),
            "z_upper": 1.0 / (self.variables * self.objective),
        }
        changes = {}
        for name, factor in factors.items():
            value = getattr(solution, name)
            fits = value is not None and value.shape == factor.shape
            changes[name] = value * factor if fits else None
        return solution.replace(**changes)

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the given program to the scaled program."""
        way_there = Unscale(
            1.0 / self.variables,
            1.0 / self.inequalities,
            1.0 / self.equalities,
            1.0 / self.objective,
        )
        return way_there(solution)


def scale(
    program: QuadraticProgram,
    variables: Vector | None = None,
    inequalities: Vector | None = None,
    equalities: Vector | None = None,
    objective: float = 1.0,
) -> tuple[QuadraticProgram, Unscale]:
    """Substitute ``x = D x'``, multiply rows of G and A by positive factors, the objective by c.

    Parameters
    ----------
    variables, inequalities, equalities : arrays of shape (n,), (m,), (p,), optional
        The diagonals of D, E_G and E_A, all positive; ones if None.
    objective : float
        c, positive.

    Raises
    ------
    InvalidProgramError
        A factor that is not positive and finite.
    """
    D = as_vector(variables, "variables", program.n_variables, fill=1.0)
    E = as_vector(inequalities, "inequalities", program.n_inequalities, fill=1.0)
    F = as_vector(equalities, "equalities", program.n_equalities, fill=1.0)
    for name, factor in (("variables", D), ("inequalities", E), ("equalities", F)):
        if not (np.isfinite(factor) & (factor > 0)).all():
            raise InvalidProgramError(f"Scaling factors for {name} must be positive and finite.")
    if not (np.isfinite(objective) and objective > 0):
        raise InvalidProgramError(f"The objective's factor must be positive, got {objective}.")
    scaled = QuadraticProgram(
        _scaled_hessian(program.P, D, objective),
        objective * D * program.q,
        _scaled_rows(program.G, E, D),
        E * program.h,
        _scaled_rows(program.A, F, D),
        F * program.b,
        program.lb / D,
        program.ub / D,
        names=program.names,
    )
    return scaled, Unscale(D, E, F, objective)


def _scaled_hessian(P: Quadratic, D: Vector, objective: float) -> Quadratic:
    if isinstance(P, LowRankQuadratic):
        signs, index = P.selection.signs * D * np.sqrt(objective), P.selection.index
        return P.select(signs, index, objective * D * D * P.diag)
    if P.prefers_sparse:
        diagonal = sp.dia_array((D[None], [0]), shape=(D.size, D.size))
        return SparseQuadratic(sp.csc_array(objective * (diagonal @ P.to_sparse() @ diagonal)))
    return DenseQuadratic(objective * D[:, None] * P.to_dense() * D)


def _scaled_rows(matrix: Matrix, rows: Vector, columns: Vector) -> Matrix:
    if is_sparse(matrix):
        return sp.csc_array(matrix.multiply(rows[:, None]).multiply(columns[None, :]))
    return rows[:, None] * matrix * columns
