"""Solution by coordinate descent alone, of programs on which it converges fast.

Where the upper bounds are low, and on text, whose rows are nearly orthogonal, a run of LIBLINEAR
to the right tolerance takes less time than anything else, even without a presolve. LIBLINEAR takes
no start, so the tolerance is chosen so that one run is enough, or two: the gap of a point is about
proportional to the tolerance and to the sum of the upper bounds of its free variables,

    gap = 0.003 to 0.05 x tolerance x sum of u_i over the free i

on all sets that were measured. A first run says how many variables are free, and how many digits a
pass gains; if the others need too many passes, its weights are a starting point for another method.

What is accepted is measured: the gap of the whole program, and the violation of every condition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.deadline import NEVER, Deadline
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.interior import SearchResult
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Search
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.termination import REACHED
from qpsvm.solvers.starting_points import coordinate_descent
from qpsvm.solvers.starting_points.coordinate_descent import Descended
from qpsvm.solvers.starting_points.settings import STARTS


@dataclass(frozen=True, eq=False)
class Run:
    """Result of a run of coordinate descent, measured.

    Attributes
    ----------
    descended : Descended
    found : SearchResult
    passes : int
        That it was allowed.
    objective : float
        Minus the objective of its point, at least the smallest one that counts.
    of_free : float
        Sum of the upper bounds of the free variables.
    violation : float
        Largest violation of a condition.
    """

    descended: Descended
    found: SearchResult
    passes: int
    objective: float
    of_free: float
    violation: float


@dataclass
class ConvergingDescent:
    """Search for the optimum of a linear machine's dual by one run of coordinate descent, or two.

    Attributes
    ----------
    search : Search
    deadline : Deadline
        A run cannot be stopped, so the second one is given the passes that fit.
    last : Run or None
    """

    search: Search
    deadline: Deadline = NEVER
    last: Run | None = None

    @property
    def program(self) -> FactorProgram:
        """The whole program."""
        return self.search.program

    @property
    def settings(self) -> InteriorPointSettings:
        """The settings of the search."""
        return self.search.settings

    @property
    def guess(self) -> Descended | None:
        """The last point, where the method that comes next would not begin with a better one."""
        if self.last is None or (self._is_wide and self.last.passes < self.settings.easy_passes):
            return None
        return self.last.descended

    def found(self) -> SearchResult | None:
        """Search for the solution; return None where coordinate descent is not the way."""
        p, own = self.program, self.settings
        if not self._is_large() or len(p.A):
            return None
        if not coordinate_descent.suits(p):
            return None
        mean = float(np.mean(p.upper)) * p.unit
        is_easy = self._is_easy(mean)
        if not (is_easy or self._is_wide):
            return None
        passes = own.easy_passes if is_easy else own.trial_passes
        began = self.deadline.clock()
        run = self.run(max(1, min(passes, self._in_time())), self._first_tolerance())
        a_pass = (self.deadline.clock() - began) / run.passes if self.deadline.is_set else 0.0
        if self._ends(run):
            return run.found
        most = self._affordable_passes(run)
        if self.deadline.is_set:
            a_pass = max(a_pass, STARTS.seconds_per_entry)
            most = min(most, int(self.deadline.remaining() / a_pass))
        if not own.forecast_factor * self._forecast(run) <= most:
            return None
        run = self.run(most, self._next_tolerance(run))
        return run.found if self._ends(run) else None

    def _ends(self, run: Run) -> bool:
        return run.found.status is Status.OPTIMAL or self.search.stopped is not None

    def _is_easy(self, mean: float) -> bool:
        """Return whether the first run is expected to be the last one, and the cheapest way."""
        own = self.settings
        if self._is_wide:
            return mean <= own.low_bounds
        needed = own.trial_passes + own.needed_per_bound * mean
        if needed * np.sqrt(own.needed_at_eps / self.search.eps) > own.most_expected_passes:
            return False
        whole_passes = own.passes_always + own.passes_per_bound * mean
        return whole_passes <= own.descent_share * coordinate_descent.affordable(self.program)

    def _in_time(self) -> int:
        """Passes that the time limit allows."""
        seconds = STARTS.seconds_per_copied_entry * self.program.F.n_entries
        return int(min(self.deadline.remaining() / seconds, self.settings.most_passes))

    @property
    def _is_wide(self) -> bool:
        """Return whether a matrix of the size of the weights costs more than any descent."""
        p = self.program
        return p.F.rank > p.size or coordinate_descent.affordable(p) > self.settings.most_passes

    def _is_large(self) -> bool:
        """Return whether the program is too large to iterate on all variables at once."""
        own = self.settings
        return self.program.size > (own.wide_dense_size if self._is_wide else own.guess_above)

    def run(self, passes: int, tolerance: float) -> Run:
        """Run coordinate descent and measure its point."""
        search, p = self.search, self.program
        x, has_converged = coordinate_descent.dual_variables(p, passes, tolerance)
        u, y, w = p.upper, np.zeros(0), p.F.transposed(x)
        g = p.gradient(w, y, np.empty(p.size))
        objective, cost = 0.5 * float(w @ w) + float(p.q @ x), -p.dual(x, y, w, g)
        size = max(abs(objective), p.floor(x))
        gap = abs(objective + cost) / size
        share = np.divide(x, u, out=np.zeros(p.size), where=u > 0.0)
        violation = float(np.max(np.abs(share - np.clip(share - g, 0.0, 1.0))))
        search.report(objective, gap)
        found = SearchResult(x, y, w, gap, Status.UNKNOWN, "", search.iterations)
        if gap <= search.eps and violation <= np.sqrt(search.eps):
            found = replace(found, status=Status.OPTIMAL, reason=REACHED)
        at = Descended(w, y, x, g, cost, tolerance if has_converged else None)
        of_free = float(np.sum(u[(x > 0.0) & (x < u)]))
        self.last = Run(at, search.record(found), passes, size, of_free, violation)
        return self.last

    def _first_tolerance(self) -> float:
        """Tolerance of the first run, before anything is known of the free variables.

        The objective is at most that of the weights that vote for the larger class, and there are
        about as many free variables as weights.
        """
        p = self.program
        n, total = p.size, float(np.sum(p.upper))
        of_one = float(np.sum(p.upper[p.F.selection.signs > 0.0]))
        objective = 0.5 * min(total, 2.0 * min(of_one, total - of_one))
        free = min(max(4.0 * p.F.rank, n / 500.0), 0.25 * n) * total / n
        return self._tolerance(objective, free)

    def _next_tolerance(self, run: Run) -> float:
        """Tolerance at which the gap should be small enough, by what a run left."""
        own, tolerance = self.settings, run.descended.tolerance
        # the optimum is between the two objectives
        optimum = run.objective * np.sqrt(1.0 + min(run.found.gap, 1e3))
        wanted = self._tolerance(optimum, run.of_free)
        if tolerance is None:
            return wanted
        by_gap = tolerance * own.aimed_share * self.search.eps / max(run.found.gap, 1e-300)
        by_violation = own.aimed_share**2 * np.sqrt(self.search.eps)
        return float(min(wanted, 0.5 * tolerance, max(by_gap, 0.01 * wanted), by_violation))

    def _tolerance(self, objective: float, of_free: float) -> float:
        own, eps = self.settings, self.search.eps
        by_gap = own.aimed_share * eps * objective / (own.gap_per_tolerance * max(of_free, 1e-300))
        return float(min(by_gap, own.aimed_share * np.sqrt(eps)))

    def _forecast(self, run: Run) -> float:
        """Passes that the whole takes, at the digits a pass that the first run gained: too few."""
        eps, gap = self.search.eps, run.found.gap
        if run.passes > self.settings.easy_passes and run.descended.tolerance is None:
            return np.inf
        at_zero = float(np.sum(self.program.upper)) / run.objective
        gained = np.log(at_zero / max(gap, 1e-300))
        if not gained > 0.0:
            return np.inf
        return float(run.passes * max(1.0, np.log(at_zero / eps) / gained))

    def _affordable_passes(self, run: Run) -> int:
        """Estimate how many passes take as long as the method that follows coordinate descent."""
        p, own, x = self.program, self.settings, run.found.x
        share = float(np.mean((x > 0.0) & (x < p.upper)))
        products = STARTS.newton_steps * (share * p.size) ** 3 / 3.0
        seconds = STARTS.seconds_per_product * products
        if not self._is_wide:
            n_open = own.open_per_weight * p.F.rank
            seconds = STARTS.newton_steps * coordinate_descent.newton_step(n_open, p.F.rank)
        passes = seconds / (STARTS.seconds_per_entry * p.F.n_entries)
        most = own.descent_share * max(passes, own.easy_passes if self._is_wide else 0.0)
        return int(min(most, own.most_passes))
