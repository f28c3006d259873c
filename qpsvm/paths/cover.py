"""``certified_path``: the fewest machines that cover a range of C, each on a proven interval.

The objective of one machine (w, b) is affine in C; the optimum V(C), as a minimum of such
functions, is concave. For lower bounds ``D_1 <= V(C_1)``, ``D_2 <= V(C_2)`` and C between::

    P(C) - V(C)  <=  P(C) - ((1 - t) D_1 + t D_2),      C = (1 - t) C_1 + t C_2

The right side minus ``eps P(C)``, or minus the constant ``eps floor``, is affine in C: where it is
not positive at C_1 and at C_2, it is not positive between.

The cover is greedy: the machine is the largest C that is within ``eps`` at the left end of what is
not covered yet, and its interval ends at the largest C where it still is. Both are found by
solving: an optimum at the end of the interval bounds the optimum there from below.

Sources: Giesen, Jaggi and Laue, "Approximating parameterized convex optimization problems", *ACM
Transactions on Algorithms* 9 (2012); Giesen, Mueller, Laue and Swiercy, "Approximating concavely
parameterized optimization problems", NIPS 2012, for optima that are concave; Giesen, Laue and
Wieschollek, "Robust and efficient kernel hyperparameter paths with guarantees", ICML 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.certificates import certify
from qpsvm.display import Column, ColumnTable, short_repr
from qpsvm.exceptions import InvalidParameterError, ToleranceNotReachedError
from qpsvm.formulations.family import Family
from qpsvm.formulations.parameters import require_C
from qpsvm.kernels import KernelArgument
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import Samples, Targets, Weights, explains_calls, is_real_number
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.balls import SUM_ROUNDING
from qpsvm.numerics.interrupts import without_solution
from qpsvm.paths.training import (
    DEFAULTS,
    PathSettings,
    Training,
    require_arguments,
    solved,
)


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
        model: Any = training.problem(C).model
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
        gap = SUM_ROUNDING * max(upper - place.lower, 0.0)
        size = upper if by_objective else machine.floor
        found.append(gap / size if math.isfinite(gap) and size > 0.0 else math.inf)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedPath(ColumnTable):
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
        gap = SUM_ROUNDING * max(upper - lower, 0.0)
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


@explains_calls
def certified_path(
    X: Samples,
    y: Targets | None = None,
    *,
    C: tuple[float, float],
    kernel: KernelArgument = "rbf",
    formulation: Family | None = None,
    sample_weight: Weights | None = None,
    indefinite: Indefinite = "error",
    eps: float = 1e-3,
    callback: Callable[[Part], object] | None = None,
    settings: PathSettings = DEFAULTS,
) -> CertifiedPath:
    r"""Few machines such that for every C in a range one of them is within ``eps``, proven.

    .. math::

        P_k(C) - V(C) \le \mathrm{eps} \cdot \max(P_k(C), \mathrm{floor}) \quad \text{for every } C
        \text{ in the interval of machine } k

    P_k is the objective of machine k, affine in C; V is the optimum, concave in C. Lower bounds on
    V at both ends of an interval bound it between, so that finitely many numbers prove the
    statement for every C; ``CertifiedPath.is_proven`` evaluates them again.

    Parameters
    ----------
    X, y, kernel, sample_weight, indefinite
        As for ``SoftMargin.primal``.
    C : (float, float)
        The range, :math:`0 < \mathrm{low} \le \mathrm{high}`.
    formulation : Family, optional
        Any with one decision function and a parameter C. None: ``SoftMargin``.
    eps : float
        Relative gap to prove, in (0, 1).
    callback : callable, optional
        Receives every ``Part`` as it is found.
    settings : PathSettings
        Numbers that tune the search, none of which weakens a proof.

    Returns
    -------
    CertifiedPath
        The machines, each with its certificate.

    Raises
    ------
    InvalidParameterError
        A range that is none, eps outside (0, 1), or a formulation without C.
    ToleranceNotReachedError
        A machine at some C could not be solved to a fraction of eps; or more machines than
        ``settings.max_machines`` would be needed.
    InvalidDataError, KernelError, IndefiniteKernelError, MemoryLimitError
        As ``SoftMargin.dual``.

    Notes
    -----
    How many machines: every interval but the last is used up to 0.8 eps at both ends
    (``settings.narrowest_gap``), as far as searches end within ``settings.reach_solves`` solves. A
    greedy cover with exact machines has the fewest intervals, so no cover of the range by exact
    optima within 0.8 eps has fewer. Source: Giesen, Jaggi and Laue, *ACM Transactions on
    Algorithms* 9 (2012).

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1]
    >>> path = qpsvm.paths.certified_path(X, y, C=(0.01, 100.0), kernel="linear", eps=0.1)
    >>> path.is_proven, bool(path.gap_at(0.3) <= 0.1)
    (True, True)
    """
    low, high = _range(C)
    require_arguments(eps, callback, settings)
    training = Training.of(X, y, kernel, "C", formulation, sample_weight, indefinite)
    search = _Search(training, eps, settings)
    with without_solution():
        parts = _covered(search, low, high, callback)
    bounds = np.array(sorted((w.C, w.lower) for w in search.known.values()))
    return CertifiedPath(training, low, high, eps, tuple(parts), bounds)


def _covered(
    search: _Search, low: float, high: float, callback: Callable[[Part], object] | None
) -> list[Part]:
    """Cover a range of C from below, part by part."""
    settings, eps = search.settings, search.eps
    parts, begin = list[Part](), search.witness(low)
    while not parts or high > parts[-1].end.C:
        if len(parts) == settings.max_machines:
            raise ToleranceNotReachedError(
                f"{len(parts)} machines cover C from {low:g} to {begin.C:g} only, and "
                f"settings.max_machines allows no more to {high:g}; choose a larger eps (it is "
                f"{eps:g}) or a smaller range."
            )
        parts.append(search.part(begin, high))
        begin = parts[-1].end
        if callback is not None:
            callback(parts[-1])
    return parts


def _range(C: object) -> tuple[float, float]:
    if not isinstance(C, tuple | list | np.ndarray) or len(C) != 2:
        raise InvalidParameterError(f"C is {C!r}; pass a range (low, high).")
    low, high = C
    for end in (low, high):
        require_C(end)
    if not (is_real_number(low) and is_real_number(high) and low <= high):
        raise InvalidParameterError(f"C is {C!r}; pass (low, high) with low <= high.")
    return float(low), float(high)


class _Search:
    """State of the search for a cover: machines solved so far, and the next C.

    Parameters
    ----------
    training : Training
    eps : float
    settings : PathSettings
    """

    def __init__(self, training: Training, eps: float, settings: PathSettings) -> None:
        self.training, self.eps, self.settings = training, eps, settings
        self.known: dict[float, Witness] = {}
        self._last_step = math.sqrt(eps)

    def witness(self, C: float) -> Witness:
        """Solve for the machine at C, from the nearest one known, with its bounds."""
        if C in self.known:
            return self.known[C]
        nearest = min(self.known, key=lambda other: abs(math.log(other / C)), default=None)
        start = None if nearest is None else self.known[nearest].solution
        problem = self.training.problem(C)
        eps = max(self.settings.cover_share * self.eps, self.settings.tightest)
        solution = solved(problem, eps, start)
        proof = certify(problem, solution)
        size = max(abs(proof.primal_objective), proof.floor)
        lower = proof.dual_objective - proof.objective_rounding * size
        found = Witness(C, solution, proof.evaluation, lower, proof.floor)
        own = relative_gaps(self.training, found, found, [found])[0]
        if not own <= 0.5 * self.eps:
            raise ToleranceNotReachedError(
                f"The machine at C={C:g} has a certified relative gap of {own:.2e}, and a path "
                f"within eps={self.eps:g} needs less than half of that; choose a larger eps, or "
                "scale the features."
            )
        self.known[C] = found
        return found

    def part(self, begin: Witness, high: float) -> Part:
        """Find the next machine and the interval of C that it covers."""
        training = self.training
        machine = self.farthest(
            begin, high, lambda w: relative_gaps(training, w, begin, [begin])[0]
        )
        end = self.farthest(
            machine, high, lambda w: relative_gaps(training, machine, begin, [w])[0]
        )
        first, own, last = relative_gaps(training, machine, begin, (begin, machine, end))
        part = Part(machine, begin, end, (first, own, last))
        stands_still = begin.C >= end.C and high > end.C
        if stands_still or not max(part.gaps) <= self.eps:
            raise ToleranceNotReachedError(
                f"No machine was found to be within eps={self.eps:g} beyond C={begin.C:g}; choose "
                "a larger eps."
            )
        return part

    def farthest(self, begin: Witness, high: float, gap: Callable[[Witness], float]) -> Witness:
        """Find the machine with the largest C whose gap is at most ``eps``.

        The root of the gap grows about linearly with log C, near ``begin``: the next guess is in
        the middle of the shares of ``eps`` that end the search, but at most four times as far. One
        outside what is known of the end is replaced by the middle of it.
        """
        s, best, least, most = self.settings, begin, 0.0, math.inf
        aim = 0.5 * (s.narrowest_gap + 1.0)
        whole = math.log(high / begin.C)
        step = min(self._last_step, whole)
        for _ in range(s.reach_solves):
            if step <= 0.0:
                break
            C = high if step >= whole else begin.C * math.exp(step)
            found = self.witness(C)
            share = gap(found) / self.eps
            if share <= 1.0:
                best, least = found, step
                if step >= whole or share >= s.narrowest_gap:
                    break
            else:
                most = step
            guess = step * math.sqrt(aim / max(share, aim / 16.0))
            if not least < guess < most:
                guess = 0.5 * (least + most)
            step = min(guess, whole)
        self._last_step = least or self._last_step
        return best
