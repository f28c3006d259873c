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
from scipy.linalg.lapack import dpotrf, dpotrs

from qpsvm.native.descent import MOST_VARIABLES, CoordinateDescent
from qpsvm.native.library import CORE, CallStatus
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.interrupts import NEVER, Deadline, keep_best
from qpsvm.numerics.single_precision import stored_values
from qpsvm.qp.solution import Status
from qpsvm.solvers.common import LARGEST_SET, ROUNDED_AWAY, SMALLEST_DIVISOR, WorkBudget
from qpsvm.solvers.interior_point.factor import Factor
from qpsvm.solvers.interior_point.interior import REACHED, SearchResult
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Search, polished


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
        g = program.gradient(self.w, self.y)
        return replace(self, x=x, g=g, cost=-program.dual(x, self.y, self.w, g))

    def point(self, program: FactorProgram) -> Vector:
        """Construct x in the box with ``F'x`` near the weights, if it is not known.

        With B at the bounds that the gradient says, and the free variables W those whose gradient
        nearly vanishes: ``x_W = argmin |F_W'x_W - (w - F_B'x_B - offset)|^2``.
        """
        p = program
        if self.x is not None:
            return np.clip(self.x, p.lower, p.upper)
        g = p.gradient(self.w, self.y)
        x = np.where(g > 0.0, p.lower, p.upper)
        free = np.flatnonzero(np.abs(g) <= max(self.violation, 0.05))  # in margins
        if len(free) > LARGEST_SET:
            free = np.sort(np.argpartition(np.abs(g), LARGEST_SET)[:LARGEST_SET])
        if len(free):
            x[free] = 0.0
            missing = self.w - p.offset - p.F.transposed(x)
            M = np.asfortranarray(p.F.block(free, free))
            # rows of F may depend on each other
            M[np.diag_indices(len(free))] += 1e-10 * float(np.trace(M)) / len(free)
            upper, info = dpotrf(M, overwrite_a=1)
            if info == 0:
                x[free] = dpotrs(upper, p.F.times(missing, np.empty(p.size))[free])[0]
        return np.clip(x, p.lower, p.upper)


def _n_free(p: FactorProgram, x: Vector) -> int:
    """Return how many dual variables are strictly between their bounds."""
    return int(np.count_nonzero((x > p.lower) & (x < p.upper)))


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
        and p.n_bounds == 2 * p.size
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
    guess : Descended or None
        The last point, where another method goes on.
    """

    search: Search
    deadline: Deadline = NEVER
    guess: Descended | None = None

    def found(self) -> SearchResult | None:
        """Run coordinate descent to the solution; None where another method should go on."""
        p, search, own = self.search.program, self.search, self.search.program.settings
        # with two variables for a sample, passes take longer than smoothing where that is possible
        is_tall = p.size > max(p.F.rank, own.guess_above)
        is_tall_tube = is_tall and p.F.selection.index is not None
        if not suits(p) or len(p.A) or is_tall_tube:
            return None
        descent, spent, tol = self._begun(p.F.root), 0.0, 0.0
        at_start, least = float(np.sum(p.missed(descent.a, p.q))), SMALLEST_DIVISOR
        while search.may_continue:
            passes = descent.passes
            status = self._run(descent, max(int(1.5 * passes), own.first_passes), tol)
            at, gap, excess, of_shrunk = self._measured(descent)
            if status not in (CallStatus.DONE, CallStatus.LIMIT) or not np.isfinite(excess):
                break  # not finite, or without end: others say which
            self.guess = at
            found = self._checked(at) if excess <= 1.0 else None
            if found is not None:
                return found
            spent += (descent.passes - passes) * self._pass_seconds(descent.n_active)
            needed = np.log(max(excess, 1.0))
            gained = np.log(max(at_start, least) / max(gap, least))
            if not spent * needed <= self._second_order_seconds(at, gap) * gained:
                break
            if of_shrunk > 0.5 and descent.n_active < p.size:
                self._run(descent, 1, np.inf)  # all variables are active again
            missing = max(gap / (search.eps * max(at.cost, least)), np.sqrt(excess), 1.0)
            tol = 0.7 * descent.violation / missing  # aims a little below eps
        if self.guess is not None and not search.may_continue:
            search.record(self._result(self.guess.x))
        return None

    def with_penalized_intercept(self) -> Descended | None:
        """Descend with a penalised intercept in place of a free one; return the weights found.

        None where the program has no free intercept, or is small enough to iterate on all
        variables.
        """
        p, own = self.search.program, self.search.program.settings
        is_wide = p.F.rank > p.size
        smallest = own.wide_dense_size if is_wide else own.guess_above
        if p.size <= smallest or not len(p.A) or not suits(p):
            return None
        descent = self._begun(1.0)
        # with more weights than variables, working sets need a nearly exact point
        status = self._run(descent, 300 if is_wide else 6, 1e-5)
        if status not in (CallStatus.DONE, CallStatus.LIMIT):
            return None
        w, n_free = self._weights(descent), _n_free(p, descent.a)
        y = _best_intercept(p, w)
        g = p.gradient(w, y)
        return Descended(w, y, None, g, -p.dual(descent.a, y, w, g), descent.violation, n_free)

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

    def _measured(self, descent: CoordinateDescent) -> tuple[Descended, float, float, float]:
        """Measure the present point: its duality gap, accuracy, and the gap's share at bounds."""
        p, x, y = self.search.program, descent.a.copy(), np.zeros(0)
        w = self._weights(descent)
        g = p.gradient(w, y)
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

    # --- results ----------------------------------------------------------------------------------

    def _result(self, x: Vector | None) -> SearchResult:
        assert x is not None
        return self.search.result(x, np.zeros(0))

    def _checked(self, at: Descended) -> SearchResult | None:
        """Measure a point anew and return it as a solution; None if it is not accurate enough."""
        p, search = self.search.program, self.search
        found = search.record(self._result(at.x))
        if self._excess(found.x, p.gradient(found.w, found.y), found.gap) > 1.0:
            return None
        found = replace(found, status=Status.OPTIMAL, reason=REACHED)
        return self._with_last_digits(found) if p.size <= p.settings.guess_above else found

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

    def _second_order_seconds(self, at: Descended, gap: float) -> float:
        """Estimate the seconds of second-order methods from their number of operations."""
        p, own = self.search.program, self.search.program.settings
        n, n_free = p.size, at.n_free
        presolve = 4.0 * self._pass_seconds(n)
        if p.F.rank > n > own.wide_dense_size:
            return presolve + 10.0 * _newton_seconds(p.F, n_free)  # factorisations of working sets
        steps = 0.0
        if p.F.rank <= n and n > own.guess_above:
            if gap > own.easy_gap * at.cost:
                steps = _newton_seconds(p.F, n)  # of smoothing
            n = min(max(n_free, own.open_per_weight * p.F.rank), n)
        return presolve + 20.0 * (steps + _newton_seconds(p.F, n))

    def _pass_seconds(self, n_active: int) -> float:
        """Estimate the seconds of a pass of coordinate descent from its number of operations."""
        F = self.search.program.F
        each = 7e-9 if F.is_sparse else 1e-9
        return n_active * (1e-7 + each * F.n_entries / F.selection.n_samples)


def _best_intercept(p: FactorProgram, w: Vector) -> Vector:
    """Multiplier y that minimises the primal objective for given weights.

    Its slope is ``b - A x`` with every ``x_i`` at the bound that the sign of ``g_i = g0_i + A_i y``
    says. It grows by ``|A_i| (u_i - l_i)`` where that sign changes.
    """
    a = p.A[0]
    zeros = -p.gradient(w, np.zeros(1)) / a
    order = np.argsort(zeros)
    first = float(np.sum(np.where(a > 0.0, a * p.upper, a * p.lower))) - float(p.b[0])
    slopes = np.cumsum((np.abs(a) * (p.upper - p.lower))[order]) - first
    crossing = order[min(int(np.searchsorted(slopes, 0.0)), p.size - 1)]
    return np.array([zeros[crossing]])
