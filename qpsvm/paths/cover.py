"""Covers of a range of C: machines that are each nearly optimal on a proven interval.

The objective of one machine (w, b) is affine in C; the optimum V(C), as a minimum of such
functions, is concave. For lower bounds ``D_1 <= V(C_1)``, ``D_2 <= V(C_2)`` and C between::

    P(C) - V(C)  <=  P(C) - ((1 - t) D_1 + t D_2),      C = (1 - t) C_1 + t C_2

The right side minus ``eps P(C)``, or minus the constant ``eps floor``, is affine in C: where it is
not positive at C_1 and at C_2, it is not positive between.

Sources: Giesen, Jaggi and Laue, "Approximating parameterized convex optimization problems", *ACM
Transactions on Algorithms* 9 (2012); Giesen, Mueller, Laue and Swiercy, "Approximating concavely
parameterized optimization problems", NIPS 2012, for optima that are concave; Giesen, Laue and
Wieschollek, "Robust and efficient kernel hyperparameter paths with guarantees", ICML 2014.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.display import Column, Table, short_repr
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import is_real_number
from qpsvm.numerics.arrays import Vector
from qpsvm.paths.training import Training

GAP_ROUNDING = 1.0 + 1e-14
"""Covers the rounding of the few operations between the bounds and a gap."""


@short_repr
@dataclass(frozen=True, eq=False)
class Witness:
    """A machine with lower and upper bounds that prove it optimal at one C.

    Attributes
    ----------
    C : float
    solution : SVMSolution
    evaluation : Evaluation
        The machine on the training samples.
    lower : float
        At most the optimum at C, the estimate of rounding taken off.
    floor : float
        The relative gap is relative to at least this.
    """

    C: float
    solution: SVMSolution
    evaluation: Evaluation
    lower: float
    floor: float

    def upper_at(self, training: Training, C: float) -> float:
        """Upper bound of the optimum at another C: the machine's objective, rounding included."""
        model: Any = training.model(C)
        primal = float(model.primal_objective(self.evaluation))
        size = max(abs(primal), self.floor)
        return primal + float(model.rounding(self.evaluation, primal)) * size


@short_repr
@dataclass(frozen=True, eq=False)
class Part:
    """A machine with an interval of C over which it is proven to be within ``eps``.

    Attributes
    ----------
    machine : Witness
    begin, end : Witness
        At the ends of the interval, with their lower bounds.
    gaps : tuple of float
        Relative gaps of the machine, rounding included: at the beginning of the interval, at its
        own C, and at the end.
    """

    machine: Witness
    begin: Witness
    end: Witness
    gaps: tuple[float, float, float]


def relative_gaps(
    training: Training, machine: Witness, begin: Witness, places: Sequence[Witness]
) -> list[float]:
    """Relative gaps of a machine at several C, one of them the left end of its interval.

    Relative to its objective there; or, where that is below the floor at the left end, to the
    floor everywhere, so that ``gap - eps size`` is affine in C.
    """
    by_objective = machine.upper_at(training, begin.C) >= machine.floor
    found = list[float]()
    for place in places:
        upper = machine.upper_at(training, place.C)
        gap = GAP_ROUNDING * max(upper - place.lower, 0.0)
        size = upper if by_objective else machine.floor
        found.append(gap / size if math.isfinite(gap) and size > 0.0 else math.inf)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedPath(Table):
    """Machines such that for every C of a range one is proven to be within ``eps``.

    Attributes
    ----------
    training : Training
    low, high : float
        The range of C.
    eps : float
        Relative gap that is proven for every C of the range.
    parts : tuple of Part
        The machines with their intervals, in ascending order of C.
    bounds : array of shape (k, 2)
        Every C that was solved for, ascending, and the lower bound on the optimum there.
    """

    training: Training
    low: float
    high: float
    eps: float
    parts: tuple[Part, ...]
    bounds: Vector

    @property
    def solutions(self) -> tuple[SVMSolution, ...]:
        """The machines, in ascending order of C."""
        return tuple(part.machine.solution for part in self.parts)

    @property
    def over(self) -> str:
        """Name of the parameter."""
        return self.training.over

    @property
    def values(self) -> Vector:
        """The C of every machine, ascending, shape (m,)."""
        return np.array([part.machine.C for part in self.parts])

    @property
    def intervals(self) -> Vector:
        """Ends of every machine's interval of C, shape (m, 2)."""
        return np.array([(part.begin.C, part.end.C) for part in self.parts])

    @property
    def is_proven(self) -> bool:
        """Return whether the intervals cover the range, with gaps of at most ``eps`` at their ends.

        Everything is evaluated anew from the machines and the lower bounds. At both ends and the
        machine's own C the gap must be within ``eps`` relative to the objective; between them it
        then is, too.
        """
        ends = self.intervals
        meets = bool((ends[1:, 0] <= ends[:-1, 1]).all() and (ends[:, 0] <= ends[:, 1]).all())
        covers = meets and ends[0, 0] <= self.low and ends[-1, 1] >= self.high
        if not covers:
            return False
        gaps = [
            relative_gaps(self.training, p.machine, p.begin, (p.begin, p.machine, p.end))
            for p in self.parts
        ]
        return bool(np.max(gaps) <= self.eps)

    def place(self, C: float) -> int:
        """Return the position of the machine that is proven to be nearly optimal at C.

        Raises
        ------
        InvalidParameterError
            C is outside the range.
        """
        if not is_real_number(C) or not self.low <= C <= self.high:
            raise InvalidParameterError(
                f"C is {C!r}, and this path covers [{self.low:g}, {self.high:g}]; choose a C "
                "there, or compute a path for a larger range."
            )
        place = int(np.searchsorted(self.intervals[:, 1], C))
        return min(place, len(self.parts) - 1)

    def solution_at(self, C: float) -> SVMSolution:
        """The machine that is within ``eps`` at C, as it was solved for its own C.

        Raises
        ------
        InvalidParameterError
            C is outside the range.
        """
        return self.parts[self.place(C)].machine.solution

    def gap_at(self, C: float) -> float:
        """Upper bound on the relative gap, at C, of the machine returned for C.

        Raises
        ------
        InvalidParameterError
            C is outside the range.
        """
        machine = self.parts[self.place(C)].machine
        lower = float(np.interp(C, self.bounds[:, 0], self.bounds[:, 1]))  # V is concave
        upper = machine.upper_at(self.training, float(C))
        size = max(upper, machine.floor)
        gap = GAP_ROUNDING * max(upper - lower, 0.0)
        return gap / size if math.isfinite(gap) and size > 0.0 else math.inf

    def problem_at(self, C: float) -> SVMProblem:
        """The dual problem at some C."""
        return self.training.problem(C)

    def columns(self) -> Mapping[str, Column]:
        """The C of every machine, its interval, and its gaps at the ends and at its own C."""
        gaps = np.array([part.gaps for part in self.parts])
        return {
            "from": self.intervals[:, 0],
            "C": self.values,
            "to": self.intervals[:, 1],
            "gap_from": gaps[:, 0],
            "gap_C": gaps[:, 1],
            "gap_to": gaps[:, 2],
            "support": [solution.n_support for solution in self.solutions],
        }

    def __repr__(self) -> str:
        return (
            f"CertifiedPath(C in [{self.low:g}, {self.high:g}], eps={self.eps:g}, "
            f"{len(self.parts)} machines, {len(self.bounds)} solves)"
        )
