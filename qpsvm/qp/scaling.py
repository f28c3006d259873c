"""Programs with scaled variables, rows and objective.

Programs whose variables or rows differ by many orders of magnitude are scaled to like sizes:
substituting ``x = D x'`` and multiplying rows by E changes no optimum. D and E are those of Ruiz:
every row and column of ::

    [ P  M' ]
    [ M  0  ]     with M = [G; A]

is divided by the square root of its largest entry, again and again, until all are near one. The
factors are rounded to powers of two, so that the way there and the way back round nothing.

Source: Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices",
RAL-TR-2001-034, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics.arrays import Sparse, Vector, as_vector
from qpsvm.numerics.rows import largest_in_columns, largest_in_rows, scaled_columns, scaled_rows
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import DenseQuadratic, Quadratic, SparseQuadratic
from qpsvm.qp.solution import QPSolution
from qpsvm.qp.transforms import Chain, Inverse


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
        scaled_columns(scaled_rows(E, program.G), D),
        E * program.h,
        scaled_columns(scaled_rows(F, program.A), D),
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
        return SparseQuadratic(objective * scaled_columns(scaled_rows(D, P.to_sparse()), D))
    return DenseQuadratic(objective * D[:, None] * P.to_dense() * D)


# --- equilibration ------------------------------------------------------------------------------

BAD_SPREAD = 1e6
"""Ratio of the largest to the smallest column, or row, of the constraints from which a program is
scaled. Below it solvers that scale for themselves keep digits enough, and ordinary data (unscaled
features of sizes 1e-2 to 1e3) are left as they are."""

LARGEST_EXPONENT = 300
"""Of a factor, as a power of two: products of two factors stay far from overflow."""


def equilibrate(
    program: QuadraticProgram, bad_spread: float = BAD_SPREAD
) -> tuple[QuadraticProgram, Inverse]:
    """Scale badly scaled rows and variables of a program; return well-scaled programs as they are.

    Parameters
    ----------
    program : QuadraticProgram
        Scaled only if P is sparse: the columns of the factor of a structured P are no variables.
    bad_spread : float
        Ratio of sizes from which rows or variables count as badly scaled.
    """
    if not (len(program.h) + len(program.b) and isinstance(program.P, SparseQuadratic)):
        return program, Chain()
    M = abs(sp.csr_array(sp.vstack([sp.csr_array(program.G), sp.csr_array(program.A)])))
    if max(_spread(largest_in_columns(M)), _spread(largest_in_rows(M))) < bad_spread:
        return program, Chain()
    D, E = _factors(abs(sp.csr_array(program.P.to_sparse())), M)
    m = program.n_inequalities
    return scale(program, D, E[:m], E[m:])


def _factors(P: Sparse, M: Sparse) -> tuple[Vector, Vector]:
    """Scaling factors of variables and rows, powers of two."""
    D, E = np.ones(M.shape[1]), np.ones(M.shape[0])
    # each halves the exponents that are left
    for _ in range(20):
        scaled = scaled_columns(scaled_rows(E, M), D)
        of_P = largest_in_columns(scaled_columns(scaled_rows(D, P), D))
        D = _divided(D, np.maximum(largest_in_columns(scaled), of_P))
        E = _divided(E, largest_in_rows(scaled))
    D, E = (np.ldexp(1.0, np.rint(np.log2(factors)).astype(int)) for factors in (D, E))
    return D, E


def _divided(factors: Vector, sizes: Vector) -> Vector:
    """Divide factors by roots of sizes; rows of denormal numbers would need larger ones."""
    divided = factors / np.sqrt(np.where(sizes > 0.0, sizes, 1.0))
    return np.clip(divided, 2.0**-LARGEST_EXPONENT, 2.0**LARGEST_EXPONENT)


def _spread(sizes: Vector) -> float:
    used = sizes[sizes > 0.0]
    with np.errstate(over="ignore"):  # of denormal numbers: infinitely far apart
        return float(np.max(used) / np.min(used)) if len(used) else 1.0
