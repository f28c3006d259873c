"""Solutions of quadratic programs: point, multipliers, status and statistics."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics.arrays import Vector, restore_frozen, store_fields


class Status(enum.Enum):
    """Status of a solution; the first three are set by the verifier only.

    =====================  ===================================================================
    status                 the vectors are
    =====================  ===================================================================
    OPTIMAL                a verified optimum and its multipliers
    PRIMAL_INFEASIBLE      ``z, y, z_lower, z_upper``: a verified Farkas certificate
    DUAL_INFEASIBLE        ``x``: a verified ray along which the objective falls without end
    INACCURATE             the best point found; the verifier measured more than ``eps``
    ITERATION_LIMIT        the same, stopped by the iteration limit
    TIME_LIMIT             the same, stopped by the time limit
    INTERRUPTED            the same, stopped by the caller
    FAILED                 nothing of use: the solver broke down
    UNKNOWN                whatever the solver left; it said nothing qpsvm recognises
    =====================  ===================================================================
    """

    OPTIMAL = "optimal"
    INACCURATE = "inaccurate"
    PRIMAL_INFEASIBLE = "primal infeasible"
    DUAL_INFEASIBLE = "dual infeasible"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    UNKNOWN = "unknown"


@short_repr
@dataclass(frozen=True)
class SolveStatistics:
    """Iterations, times, settings and backend of a solve.

    Attributes
    ----------
    backend, version : str
        Which solver, in which version.
    iterations : int or None
        As the solver counts them; None if it does not say.
    setup_seconds, solve_seconds : float
        Translating the program, and the solver's own work. Wall clock.
    seconds : mapping
        All seconds of a call of ``qpsvm.solve``, by the step that took them.
    asked : tuple of str
        The backends that were asked, in turn.
    polished, escalated : bool
        Whether the tolerance contract had to polish the answer, or to ask a second time.
    settings : mapping
        Every setting handed to the solver.
    note : str
        Why this backend, or what happened, in words.
    """

    backend: str = ""
    version: str = ""
    iterations: int | None = None
    setup_seconds: float = 0.0
    solve_seconds: float = 0.0
    seconds: Mapping[str, float] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    polished: bool = False
    escalated: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    note: str = ""

    @property
    def total_seconds(self) -> float:
        """All seconds of the call; of a backend alone, setup and solve. Wall clock."""
        if self.seconds:
            return math.fsum(self.seconds.values())
        return self.setup_seconds + self.solve_seconds


VECTORS = ("x", "z", "y", "z_lower", "z_upper")
"""Names of the array fields of a QPSolution: the point and its multipliers."""


@dataclass(frozen=True, eq=False)
class QPSolution:
    r"""A point and its multipliers, in the convention of ``QuadraticProgram``.

    Attributes
    ----------
    status : Status
        What the vectors mean.
    x : array of shape (n,) or None
    z, y : arrays of shape (m,) and (p,) or None
        Multipliers of :math:`G x \le h` (non-negative) and :math:`A x = b` (free).
    z_lower, z_upper : arrays of shape (n,) or None
        Multipliers of the bounds, non-negative, zero on infinite bounds.
    native_status : str
        The solver's own words, never trusted.
    statistics : SolveStatistics

    Raises
    ------
    InvalidProgramError
        A vector that is no array of numbers: text, a sparse matrix, rows of different lengths.

    Notes
    -----
    A solver may return nonsense, and this class holds it unchanged: NaN, missing vectors and wrong
    lengths are for the verifier to refuse, not for the container to hide. Complex numbers and the
    hidden entries of masked arrays become NaN.
    """

    status: Status
    x: Vector | None = None
    z: Vector | None = None
    y: Vector | None = None
    z_lower: Vector | None = None
    z_upper: Vector | None = None
    native_status: str = ""
    statistics: SolveStatistics = field(default_factory=SolveStatistics)

    def __post_init__(self) -> None:
        store_fields(self, VECTORS, "a QPSolution", InvalidProgramError)

    __setstate__ = restore_frozen

    def replace(self, **changes: Any) -> QPSolution:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def with_statistics(self, **changes: Any) -> QPSolution:
        """A copy with some fields of the statistics changed."""
        return replace(self, statistics=replace(self.statistics, **changes))

    def __repr__(self) -> str:
        size = "no point" if self.x is None else f"{self.x.shape[0]} variables"
        backend = f", {self.statistics.backend}" if self.statistics.backend else ""
        return f"QPSolution({self.status.value}, {size}{backend})"
