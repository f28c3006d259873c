"""Coordinate descent on the dual of a linear machine: to the optimum, or to a starting point.

Rounds of passes over the variables (``native.descent``), and after each the gap. It is a sum over
the variables, of what each misses of its part of the dual objective, so that one product with all
samples measures it, and tells whether variables were shrunk that should not have been. The digits
gained so far say what the rest costs, and whether second-order steps on the undecided variables
cost less. What was reached is the starting point of these then.

A free intercept is penalised for the descent, and then put where it is best for the weights.

Seconds are those of one core. Only their ratios matter: they decide how long a starting point is
sought, by counts of operations and not by the clock, so that the same program always has the same
answer.

Source: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for
large-scale linear SVM", ICML 2008, algorithm 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.native.descent import MOST_VARIABLES, CoordinateDescent
from qpsvm.native.library import CORE, CallStatus
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.balls import UNDERFLOW
from qpsvm.numerics.interrupts import NEVER, Deadline, keep_best
from qpsvm.numerics.single_precision import stored_values
from qpsvm.qp.box_gap import ROUNDED_AWAY, best_multiplier
from qpsvm.qp.solution import Status
from qpsvm.solvers.budget import WorkBudget
from qpsvm.solvers.linear.factor import Factor
from qpsvm.solvers.linear.program import FactorProgram, Point
from qpsvm.solvers.linear.search import REACHED, Search, SearchResult, polished


def suits(program: FactorProgram) -> bool:
    """Return whether a program has only bounds, or these and a free intercept's row."""
    p, signs = program, program.F.selection.signs
    if not (0 < p.size <= MOST_VARIABLES and (np.abs(signs) == 1.0).all()):
        return False
    # the row of a free intercept is ``s'x = b`` with the signs s of bounded variables
    return len(p.A) == 0 or (
        len(p.A) == 1
        and not p.F.constant
        and np.array_equal(p.A[0], signs)
        and not p.d.any()
        and bool(np.isfinite([p.lower, p.upper]).all())
    )


def _newton_seconds(F: Factor, n: int) -> float:
    """Estimate the seconds of a Newton step from its number of operations."""
    k = min(n, F.rank)
    per_variable = 0.5 * k**2
    if F.is_sparse:
        entries = F.n_entries / F.selection.n_samples
        per_variable = min(per_variable, 0.5 * F.settings.pair_cost * entries**2)
    return 5e-4 + n * 50e-9 + (n * per_variable + k**3 / 3.0) * 5e-11


@dataclass
class DualDescent:
    """Search for the optimum of a program over a box by rounds of coordinate descent.

    Attributes
    ----------
    search : Search
    deadline : Deadline
    guess : Point or None
        The last point, where another method goes on.
    """

    search: Search
    deadline: Deadline = NEVER
    guess: Point | None = None

    def found(self) -> SearchResult | None:
        """Run coordinate descent to the solution; None where another method should go on."""
        p, search, own = self.search.program, self.search, self.search.program.settings
        # with two variables for a sample, passes take longer than proximal steps on tall data
        is_tall = p.size > max(p.F.rank, own.small_size)
        is_tall_tube = is_tall and p.F.selection.index is not None
        if not suits(p) or len(p.A) or is_tall_tube:
            return None
        descent, spent, tol = self._begun(p.F.root), 0.0, 0.0
        at_start, least = float(np.sum(p.missed(descent.a, p.q))), UNDERFLOW
        while search.may_continue:
            passes = descent.passes
            status = self._run(descent, max(int(1.5 * passes), own.first_passes), tol)
            at, gap, cost, excess, of_shrunk = self._measured(descent)
            if status not in (CallStatus.DONE, CallStatus.LIMIT) or not np.isfinite(excess):
                break  # not finite, or without end: others say which
            self.guess = at
            found = self._checked(at) if excess <= 1.0 else None
            if found is not None:
                return found
            spent += (descent.passes - passes) * self._pass_seconds(descent.n_active)
            needed = np.log(max(excess, 1.0))
            gained = np.log(max(at_start, least) / max(gap, least))
            if not spent * needed <= self._second_order_seconds(at) * gained:
                break
            if of_shrunk > 0.5 and descent.n_active < p.size:
                self._run(descent, 1, np.inf)  # all variables are active again
            missing = max(gap / (search.eps * max(cost, least)), np.sqrt(excess), 1.0)
            tol = 0.7 * descent.violation / missing  # aims a little below eps
        if self.guess is not None and not search.may_continue:
            search.record(self._result(self.guess.x))
        return None

    def with_penalized_intercept(self) -> Point | None:
        """Descend with a penalised intercept in place of a free one; return the point found.

        None where the program has no free intercept, or is small.
        """
        p, own = self.search.program, self.search.program.settings
        is_wide = p.F.rank > p.size
        smallest = own.wide_size if is_wide else own.small_size
        if p.size <= smallest or not len(p.A) or not suits(p):
            return None
        descent = self._begun(1.0)
        # with more weights than variables, working sets need a nearly exact point
        status = self._run(descent, 300 if is_wide else 6, 1e-5)
        if status not in (CallStatus.DONE, CallStatus.LIMIT):
            return None
        w = self._weights(descent)
        g = p.gradient(w, np.zeros(1))
        y = best_multiplier(p.A[0], float(p.b[0]), g, p.lower, p.upper)
        return Point.of(p, np.clip(descent.a, p.lower, p.upper), np.array([y]), w)

    # --- rounds -----------------------------------------------------------------------------------

    def _begun(self, constant: float) -> CoordinateDescent:
        p = self.search.program
        F, index = p.F, p.F.selection.index
        return CoordinateDescent(
            stored_values(F.samples) if not F.is_sparse else F.samples,
            linear=p.costs,
            lower=p.lower,
            upper=p.upper,
            signs=F.selection.signs,
            added=p.d if p.d.any() else None,
            rows=None if index is None else index.astype(np.int64, copy=False),
            constant=constant,
            seed=0,
        )

    def _run(self, descent: CoordinateDescent, passes: int, tol: float) -> CallStatus:
        """Run coordinate descent until a tolerance, a number of passes, or the deadline."""
        p = self.search.program
        slice_ = max(1, CORE.entries_per_call // max(p.F.n_entries, p.size))
        status, end = CallStatus.LIMIT, descent.passes + passes
        try:
            while status is CallStatus.LIMIT and descent.passes < end:
                status = descent.run(min(slice_, end - descent.passes), tol)
                if self.deadline.has_passed():
                    break
        except KeyboardInterrupt as error:
            if not len(p.A):
                keep_best(error, lambda: self._result(descent.a))
            raise
        return status

    def _weights(self, descent: CoordinateDescent) -> Vector:
        p = self.search.program
        return (descent.w if p.F.constant else descent.w[:-1]) + p.offset

    def _measured(self, descent: CoordinateDescent) -> tuple[Point, float, float, float, float]:
        """Measure the present point: gap, cost, accuracy, and the gap's share at bounds.

        The cost is minus the dual objective: of a machine, its primal one.
        """
        p, x = self.search.program, descent.a.copy()
        at = Point.of(p, x, np.zeros(0), self._weights(descent))
        objective, gap = p.gap(at)
        self.search.report(objective, gap)
        missed = p.missed(x, at.g)
        total = float(np.sum(missed))
        at_bound = float(np.sum(missed[~p.is_free(x)])) / (total or 1.0)
        return at, total, total - objective, self.search.excess(at, gap), at_bound

    # --- results ----------------------------------------------------------------------------------

    def _result(self, x: Vector) -> SearchResult:
        at, _, gap = self.search.measured(x, np.zeros(0))
        return self.search.result(at, gap)

    def _checked(self, at: Point) -> SearchResult | None:
        """Measure a point anew and return it as a solution; None if it is not accurate enough."""
        p, search = self.search.program, self.search
        at, _, gap = search.measured(at.x, at.y)
        if search.excess(at, gap) > 1.0:
            search.record(search.result(at, gap))
            return None
        found = search.record(search.result(at, gap, Status.OPTIMAL, REACHED))
        return self._with_last_digits(found) if p.size <= p.settings.small_size else found

    def _with_last_digits(self, found: SearchResult) -> SearchResult:
        """The solution of a small program to rounding, by Newton steps on its free variables.

        A gap of eps leaves half as many digits of the weights, and which ones depends on the order
        of the samples. Passes for more digits are many.
        """
        search = self.search
        better = polished(search.program, found.x, found.y, WorkBudget())
        last = self._result(np.array(better.x))
        # a gap of rounding says nothing about which of two points is nearer
        if not last.gap <= max(found.gap, ROUNDED_AWAY):
            return found
        return search.record(replace(last, status=found.status, reason=found.reason))

    # --- costs ------------------------------------------------------------------------------------

    def _second_order_seconds(self, at: Point) -> float:
        """Estimate the seconds of second-order methods from their number of operations."""
        p, own = self.search.program, self.search.program.settings
        n_free = int(np.count_nonzero(p.is_free(at.x)))
        if p.F.rank > p.size > own.wide_size:
            return 10.0 * _newton_seconds(p.F, n_free)  # factorisations of working sets
        n_open = max(own.open_per_free * n_free, own.open_per_weight * p.F.rank)
        return 20.0 * self._pass_seconds(p.size) + 40.0 * _newton_seconds(p.F, min(n_open, p.size))

    def _pass_seconds(self, n_active: int) -> float:
        """Estimate the seconds of a pass of coordinate descent from its number of operations."""
        F = self.search.program.F
        each = 7e-9 if F.is_sparse else 1e-9
        return n_active * (1e-7 + each * F.n_entries / F.selection.n_samples)
