"""Programs with scaled variables, rows and objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics.arrays import Matrix, Vector, as_vector, is_sparse
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution
from qpsvm.qp.stored_quadratic import DenseQuadratic, SparseQuadratic


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
    program : QuadraticProgram
        The program to transform; it is not changed.
    variables, inequalities, equalities : arrays of shape (n,), (m,), (p,), optional
        The diagonals of D, E_G and E_A, all positive; ones if None.
    objective : float
        c, positive.

    Returns
    -------
    program : QuadraticProgram
        The equivalent program.
    inverse : Unscale
        The map of its solutions to solutions of the given one.

    Raises
    ------
    InvalidProgramError
        A factor that is not positive and finite.

    Examples
    --------
    >>> from qpsvm.qp import QuadraticProgram
    >>> scaled, inverse = scale(QuadraticProgram([[4.0]], [-4.0]), variables=np.array([0.5]))
    >>> scaled.P.to_dense(), scaled.q
    (array([[1.]]), array([-2.]))
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
