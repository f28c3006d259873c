"""Coordinate descent on the dual of a linear machine: to the optimum, or to a starting point.

Rounds of passes over the variables (``native.descent``), and after each the gap. It is a sum over
the variables, of what each misses of its part of the dual objective, so that one product with all
samples measures it, and tells whether variables were shrunk that should not have been. The digits
gained so far say what the rest costs, and whether second-order steps on the undecided variables
cost less. What was reached is the starting point of these then.

A free intercept is penalised for the descent, and then put where it is best for the weights.

Source: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for
large-scale linear SVM", ICML 2008, algorithm 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.native.descent import MOST_VARIABLES, CoordinateDescent
from qpsvm.native.library import CORE
from qpsvm.native.library import Status as CallStatus
from qpsvm.numerics.arrays import Vector, default_memory_limit
from qpsvm.numerics.interrupts import NEVER, Deadline, keep_best
from qpsvm.numerics.single_precision import stored_values
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.box.polish import polish_box
from qpsvm.solvers.interior_point.factor import Factor
from qpsvm.solvers.interior_point.interior import SearchResult
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Search
from qpsvm.solvers.interior_point.termination import REACHED
from qpsvm.solvers.negligible import NEGLIGIBLE
from qpsvm.solvers.starting_points.settings import STARTS
from qpsvm.solvers.work_budget import WorkBudget


@dataclass(frozen=True, eq=False)
class Descended:
    """Point of coordinate descent: weights, intercept and dual variables.

    Attributes
    ----------
    w, y : arrays of shape (r,) and (p,)
    x : array of shape (n,) or None
        The dual variables, ``w = F'x + offset``; None where they miss the row of a free intercept.
    g : array of shape (n,)
        The gradient there, without the curvature d.
    cost : float
        Minus the dual objective: of a machine, its primal one.
    violation : float
        Largest projected gradient that the last pass met.
    n_free : int
        Number of variables between their bounds.
    """

    w: Vector
    y: Vector
    x: Vector | None
    g: Vector
    cost: float
    violation: float
    n_free: int

    def on(self, program: FactorProgram, x: Vector) -> Descended:
        """The same weights for a program of which some variables were merged or fixed."""
        g = program.gradient(self.w, self.y, np.empty(program.size))
        cost = -program.dual(x, self.y, self.w, g)
        return replace(self, x=x, g=g, cost=cost)


def _n_free(p: FactorProgram, x: Vector) -> int:
    """Return how many dual variables are strictly between their bounds."""
    return int(np.count_nonzero((x > p.lower) & (x < p.upper)))


def suits(program: FactorProgram) -> bool:
    """Return whether a program has only bounds, or these and a free intercept's row."""
    p, signs = program, program.F.selection.signs
    return bool(
        0 < p.size <= MOST_VARIABLES
        and (np.abs(signs) == 1.0).all()
        and (len(p.A) == 0 or _has_free_intercept(p))
    )


def _has_free_intercept(p: FactorProgram) -> bool:
    """Return whether the only row is ``s'x = b`` with the signs s of bounded variables."""
    return (
        len(p.A) == 1
        and not p.F.constant
        and np.array_equal(p.A[0], p.F.selection.signs)
        and not p.d.any()
        and bool((np.isfinite(p.lower) & np.isfinite(p.upper)).all())
    )


def newton_step(F: Factor, n: int) -> float:
    """Estimate the seconds of a Newton step from its number of operations."""
    k = min(n, F.rank)
    per_variable = 0.5 * k**2
    if F.is_sparse:
        entries = F.n_entries / F.selection.n_samples
        per_variable = min(per_variable, 0.5 * F.settings.pair_cost * entries**2)
    products = n * per_variable + k**3 / 3.0
    own = STARTS
    return own.seconds_per_step + n * own.seconds_per_variable + products * own.seconds_per_product


@dataclass
class DualDescent:
    """Search for the optimum of a program over a box by rounds of coordinate descent.

    Attributes
    ----------
    search : Search
    deadline : Deadline
    guess : Descended or None
        The last point, where another method goes on.
    """

    search: Search
    deadline: Deadline = NEVER
    guess: Descended | None = None

    def found(self) -> SearchResult | None:
        """Run coordinate descent to the solution; None where another method should go on."""
        p, own = self.search.program, self.search.settings
        if not suits(p) or len(p.A) or self._is_tall_tube():
            return None
        descent, spent, tol = self._begun(p.F.root), 0.0, 0.0
        at_start, least = float(np.sum(p.missed(descent.a, p.q))), NEGLIGIBLE.smallest_divisor
        while self.search.may_continue:
            passes = descent.passes
            more = max(int((own.growth - 1.0) * passes), own.first_passes)
            status = self._run(descent, more, tol)
            at, gap, excess, of_shrunk = self._measured(descent)
            if status not in (CallStatus.DONE, CallStatus.LIMIT) or not np.isfinite(excess):
                break  # not finite, or without end: others say which
            self.guess = at
            found = self._checked(at) if excess <= 1.0 else None
            if found is not None:
                return found
            spent += (descent.passes - passes) * self._pass_seconds(descent.n_active)
            needed, gained = (
                np.log(max(excess, 1.0)),
                np.log(max(at_start, least) / max(gap, least)),
            )
            if not spent * needed <= self._second_order_seconds(at, gap) * gained:
                break
            if of_shrunk > 0.5 and descent.n_active < p.size:
                self._run(descent, 1, np.inf)  # all variables are active again
            missing = max(gap / (self.search.eps * max(at.cost, least)), np.sqrt(excess), 1.0)
            tol = own.aimed_share * descent.violation / missing
        if self.guess is not None and not self.search.may_continue:
            self.search.record(self._result(self.guess.x))
        return None

    def _is_tall_tube(self) -> bool:
        """Return whether there are two variables for a sample, and fewer weights than variables.

        Passes over both take longer than smoothing where that is possible.
        """
        p, own = self.search.program, self.search.settings
        is_tall = p.size > max(p.F.rank, own.guess_above)
        return is_tall and p.F.selection.index is not None

    def _second_order_seconds(self, at: Descended, gap: float) -> float:
        """Estimate the seconds of second-order methods from their number of operations."""
        p, own = self.search.program, self.search.settings
        n, n_free = p.size, at.n_free
        presolve = STARTS.presolve_passes * self._pass_seconds(n)
        if p.F.rank > n > own.wide_dense_size:
            return presolve + STARTS.factorizations * newton_step(p.F, n_free)
        steps = 0.0
        if p.F.rank <= n and n > own.guess_above:
            if gap > own.easy_gap * at.cost:
                steps = newton_step(p.F, n)  # of smoothing
            n = min(max(n_free, own.open_per_weight * p.F.rank), n)
        return presolve + STARTS.newton_steps * (steps + newton_step(p.F, n))

    def _pass_seconds(self, n_active: int) -> float:
        """Estimate the seconds of a pass of coordinate descent from its number of operations."""
        F = self.search.program.F
        each = STARTS.seconds_per_sparse_entry if F.is_sparse else STARTS.seconds_per_dense_entry
        return n_active * (STARTS.seconds_per_visit + each * F.n_entries / F.selection.n_samples)

    def _begun(self, constant: float) -> CoordinateDescent:
        p = self.search.program
        F, index = p.F, p.F.selection.index
        q = p.q if not p.offset.any() else p.q + F.times(p.offset, np.empty(p.size))
        return CoordinateDescent(
            stored_values(F.samples) if not F.is_sparse else F.samples,
            linear=q,
            lower=p.lower,
            upper=p.upper,
            signs=F.selection.signs,
            added=p.d if p.d.any() else None,
            rows=None if index is None else index.astype(np.int64, copy=False),
            constant=constant,
            seed=STARTS.seed,
        )

    def _run(self, descent: CoordinateDescent, passes: int, tol: float) -> CallStatus:
        """Run coordinate descent until a tolerance, a number of passes, or the deadline."""
        entries = max(self.search.program.F.n_entries, self.search.program.size)
        slice_ = max(1, CORE.entries_per_call // entries)
        status, end = CallStatus.LIMIT, descent.passes + passes
        try:
            while status is CallStatus.LIMIT and descent.passes < end:
                status = descent.run(min(slice_, end - descent.passes), tol)
                if self.deadline.has_passed():
                    break
        except KeyboardInterrupt as error:
            if not len(self.search.program.A):
                keep_best(error, lambda: self._result(descent.a))
            raise
        return status

    def _weights(self, descent: CoordinateDescent) -> Vector:
        p = self.search.program
        w = descent.w if p.F.constant else descent.w[:-1]
        return w + p.offset

    def _measured(self, descent: CoordinateDescent) -> tuple[Descended, float, float, float]:
        """Measure the present point: its duality gap, accuracy, and the gap's share at bounds."""
        p, x, y = self.search.program, descent.a.copy(), np.zeros(0)
        w = self._weights(descent)
        g = p.gradient(w, y, np.empty(p.size))
        missed = p.missed(x, g)
        objective = 0.5 * float(w @ w) + float(x @ (p.q + 0.5 * p.d * x)) + p.constant
        total = float(np.sum(missed))
        gap = total / max(abs(objective), p.floor(x))
        self.search.report(objective, gap)
        at_bound = float(np.sum(missed[(x == p.lower) | (x == p.upper)]))
        at = Descended(w, y, x, g, total - objective, descent.violation, _n_free(p, x))
        return at, total, self._excess(x, g, gap), at_bound / (total or 1.0)

    def _excess(self, x: Vector, g: Vector, gap: float) -> float:
        """Return the larger of gap and violation over their tolerances: at most 1 if solved.

        The gap; and the square, as of this order is the gap, of the largest violation. A gradient
        may be of the size of the root of eps or its variable as near to its bound; without a
        bound, the gradient itself has to be as small as eps.
        """
        p, eps = self.search.program, self.search.eps
        h = g + p.d * x
        room, size = np.where(h > 0.0, x - p.lower, p.upper - x), np.abs(h)
        width = p.upper - p.lower
        is_box = np.isfinite(width) & (width > 0.0)
        share = np.divide(room, width, out=np.where(width > 0.0, room, 0.0), where=is_box)
        unit = min(1.0, float(np.max(np.abs(p.q)))) or 1.0
        allowed = np.where(np.isinf(room), eps * unit, np.sqrt(eps))
        violation = float(np.max(np.minimum(size, share) / allowed))
        return max(gap / eps, violation**2)

    def _checked(self, at: Descended) -> SearchResult | None:
        """Measure a point anew and return it as a solution; None if it is not accurate enough."""
        p, search = self.search.program, self.search
        found = search.record(self._result(at.x))
        g = p.gradient(found.w, found.y, np.empty(p.size))
        if self._excess(found.x, g, found.gap) > 1.0:
            return None
        found = replace(found, status=Status.OPTIMAL, reason=REACHED)
        return self._with_last_digits(found) if p.size <= search.settings.guess_above else found

    def _with_last_digits(self, found: SearchResult) -> SearchResult:
        """The solution of a small program to rounding, by Newton steps on its free variables.

        A gap of eps leaves half as many digits of the weights, and which ones depends on the order
        of the samples. Passes for more digits are many.
        """
        search = self.search
        start = QPSolution(Status.UNKNOWN, x=found.x, y=found.y)
        limit, budget = min(STARTS.working_set_bytes, default_memory_limit()), WorkBudget()
        better = polish_box(search.program.quadratic(), start, memory_limit=limit, budget=budget)
        last = self._result(np.array(better.x))
        # a gap of rounding says nothing about which of two points is nearer
        if not last.gap <= max(found.gap, NEGLIGIBLE.curvature_share):
            return found
        return search.record(replace(last, status=found.status, reason=found.reason))

    def _result(self, x: Vector | None) -> SearchResult:
        search, y = self.search, np.zeros(0)
        assert x is not None
        w, _, _, gap = search.measured(x, y)
        return SearchResult(x, y, w, gap, Status.UNKNOWN, "", search.iterations)

    def with_penalized_intercept(self) -> Descended | None:
        """Descend with a penalised intercept in place of a free one; return the weights found.

        None where the program has no free intercept, or is small enough to iterate on all
        variables.
        """
        p, own = self.search.program, self.search.settings
        is_wide = p.F.rank > p.size
        smallest = own.wide_dense_size if is_wide else own.guess_above
        if p.size <= smallest or not len(p.A) or not suits(p):
            return None
        descent = self._begun(1.0)
        passes = own.easy_passes if is_wide else own.free_passes
        status = self._run(descent, passes, own.descent_tolerance)
        if status not in (CallStatus.DONE, CallStatus.LIMIT):
            return None
        w, n_free = self._weights(descent), _n_free(p, descent.a)
        y = _best_intercept(p, w)
        g = p.gradient(w, y, np.empty(p.size))
        return Descended(w, y, None, g, -p.dual(descent.a, y, w, g), descent.violation, n_free)


def _best_intercept(p: FactorProgram, w: Vector) -> Vector:
    """Multiplier y that minimises the primal objective for given weights.

    Its slope is ``b - A x`` with every ``x_i`` at the bound that the sign of ``g_i = g0_i + A_i y``
    says. It grows by ``|A_i| (u_i - l_i)`` where that sign changes.
    """
    a = p.A[0]
    zeros = -p.gradient(w, np.zeros(1), np.empty(p.size)) / a
    order = np.argsort(zeros)
    first = float(np.sum(np.where(a > 0.0, a * p.upper, a * p.lower))) - float(p.b[0])
    slopes = np.cumsum((np.abs(a) * (p.upper - p.lower))[order]) - first
    crossing = order[min(int(np.searchsorted(slopes, 0.0)), p.size - 1)]
    return np.array([zeros[crossing]])
