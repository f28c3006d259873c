"""Programs over undecided conditions, and the first guess, made from two such programs.

With the dual variables of some conditions fixed, ``u = X'R'a`` and ``s = 1'R'a`` over these, the
dual problem is one over the undecided conditions, with rows ``r_i x_i`` in F::

    minimize    1/(2 kappa) |F'a + u|^2 + 1/2 a'diag(d) a - p'a
    subject to  r'a = price_b - s,   e 1'a <= price_t - e (sum over fixed),   lower <= a <= upper

The sum u enters as one more row of F whose variable is fixed at 1, not as ``F u`` in the linear
costs: u is large and ``F'a + u`` is not, and the objective of the program would be the difference
of two numbers that have many more digits in common. Its optimum, put together with the fixed
variables, is a feasible dual point of the whole problem, and its multipliers are the machine that
is optimal if every decision was right.

For the guess, two halves of the rows that were chosen at random give two machines, with no
condition fixed. Their mean is the guess, and half their distance, in decision values divided by
the roots of leverages, is an estimate of its error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.chunked.certificate import DualBound, FixedSums, dual_bound, rounding_unit, summed
from qpsvm.chunked.contents import CHUNKS, stacked
from qpsvm.chunked.evaluation import Derivatives, RowConditions, Undecided
from qpsvm.chunked.machine import Leverage, Machine
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.template import Template, Terms
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.repair import with_sum, with_width
from qpsvm.numerics.arrays import IN_CACHE, Dense, Vector, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.sample_quadratic import Selection
from qpsvm.qp.solution import QPSolution

SolveProgram = Callable[[QuadraticProgram, float], QPSolution]
"""Solves a program to a relative accuracy."""


def solve_undecided(
    form: Template,
    found: Undecided,
    fixed: FixedSums,
    centre: Machine,
    eps: float,
    solve_program: SolveProgram,
    most_added: int = 0,
) -> tuple[Machine, Vector, DualBound] | None:
    """Solve for the undecided conditions; None if the fixed ones leave no feasible dual point.

    Parameters
    ----------
    form : Template
    found : Undecided
    fixed : FixedSums
        Over all other conditions; not changed.
    centre : Machine
        Gives the intercept where no multiplier does.
    eps : float
        Relative accuracy of the program.
    solve_program : callable
    most_added : int
        Conditions that a pass adds up at a time, where they are more than here.

    Returns
    -------
    Machine
    array of shape (m,)
        Dual variables of the undecided conditions.
    DualBound
        Of the whole problem.
    """
    c = undecided_conditions(form, found.terms, fixed)
    if not found.size or not _is_feasible(c):
        return None
    program = _program(form, found, fixed, c)
    answer = solve_program(program, eps)
    if answer.x is None or not np.isfinite(answer.x).all():
        return None
    blocks = row_blocks(len(c), found.X.shape[1], IN_CACHE)
    within = np.clip(answer.x[: len(c)], c.lower, c.upper)
    alpha = _with_sums(within, c, form, fixed, max(blocks[0].stop, most_added))
    # the weights are those of the solver's point: what moves alpha to its sums would move them, too
    sums, w = summed([fixed]), fixed.weights.value.sum(axis=0)
    for rows in blocks:
        block = found.X[rows]
        sums.add(block, found.terms.at((None, rows)), alpha[None, rows], row_squares(block))
        w += (c.signs[rows] * within[rows]) @ block
    w, b, t = w / form.norm_weight, centre.intercept, centre.width
    if form.intercept == "penalized":
        b = float(fixed.signed.value.sum() + c.signs @ within) - form.intercept_price
    elif form.intercept == "none":
        b = 0.0
    elif answer.y is not None and np.isfinite(answer.y).all():
        b = float(answer.y[0])
    if form.width_sign and answer.z is not None and np.isfinite(answer.z).all():
        t = max(0.0, float(answer.z[0]))
    return Machine(w, b, t), alpha, dual_bound(form, sums)


def _with_sums(
    alpha: Vector, c: Conditions, form: Template, fixed: FixedSums, block: int
) -> Vector:
    """Move dual variables so that the sums of the dual program hold, in spite of rounding.

    Where a sum has to be large, it becomes larger than it has to be by a multiple of what rounding
    hides: the bound on the optimum takes what is too much off again.
    """
    d = fixed.weights.value.shape[1]
    hidden = float(fixed.rounding.value[0])
    hidden += rounding_unit(block, d) * float(np.sum(np.abs(alpha)))
    margin = 4.0 * hidden + 64.0 * EPS * (abs(form.intercept_price) + abs(form.width_price))
    if c.width_sign:
        within = replace(c, width_price=c.width_price - margin)
        return with_width(alpha, within, c.intercept_price)
    if form.intercept == "free":
        above = margin if form.intercept_price > 0.0 else 0.0
        return with_sum(alpha, c.lower, c.upper, c.signs, c.intercept_price + above)
    return alpha


def _program(form: Template, found: Undecided, fixed: FixedSums, c: Conditions) -> QuadraticProgram:
    """The program over undecided conditions, and over variables fixed at 1 for the others."""
    u = fixed.weights.value.sum(axis=0)
    sums, signs = [u], [1.0]
    if form.intercept == "penalized":  # the constant feature adds 1 to the row of u
        sums.append(np.zeros(len(u)))
        signs.append(float(fixed.signed.value.sum()) - form.intercept_price - 1.0)
    rows = stacked([found.X if is_sparse(found.X) else found.X[:], np.stack(sums)])
    nothing, ones = np.zeros(len(sums)), np.ones(len(sums))
    balance = np.concatenate([c.signs, nothing])
    return QuadraticProgram(
        LowRankQuadratic(
            rows,
            np.concatenate([c.curvature, nothing]),
            signs=np.concatenate([c.signs, signs]) / np.sqrt(c.norm_weight),
            constant=float(form.intercept == "penalized"),
        ),
        np.concatenate([-c.required, nothing]),
        G=c.width_sign * np.concatenate([np.ones(len(c)), nothing])[None] if c.width_sign else None,
        h=np.array([c.width_price]) if c.width_sign else None,
        A=balance[None, :] if form.intercept == "free" else None,
        b=np.array([c.intercept_price]) if form.intercept == "free" else None,
        lb=np.concatenate([c.lower, ones]),
        ub=np.concatenate([c.upper, ones]),
    )


def undecided_conditions(form: Template, terms: Terms, fixed: FixedSums) -> Conditions:
    """Restriction to the undecided conditions; the fixed ones enter the sums as constants."""
    return Conditions(
        Selection(len(terms.signs), terms.signs),
        terms.required,
        terms.lower,
        terms.upper,
        terms.curvature,
        intercept=form.intercept,
        intercept_price=form.intercept_price - float(fixed.signed.value.sum()),
        width_sign=form.width_sign,
        width_price=form.width_price - form.width_sign * float(fixed.total.value.sum()),
        norm_weight=form.norm_weight,
    )


def _is_feasible(c: Conditions) -> bool:
    """Return whether the bounds of undecided variables allow the sums that are asked for."""
    if c.intercept == "free":
        ends = np.stack([c.signs * c.lower, c.signs * c.upper])
        low, high = float(np.min(ends, axis=0).sum()), float(np.max(ends, axis=0).sum())
        if not low <= c.intercept_price <= high:
            return False
    if c.width_sign:
        least = c.width_sign * float(np.sum(c.upper if c.width_sign < 0.0 else c.lower))
        return least <= c.width_price
    return True


# --- the first guess -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowSample:
    """The rows that the first pass chose, with the conditions on them.

    Attributes
    ----------
    own : RowConditions
        Weights are multiplied by the shares.
    shares : array of shape (n,)
        For how many rows each one stands.
    """

    own: RowConditions
    shares: Vector

    @classmethod
    def of(cls, problem: ChunkedProblem) -> RowSample:
        """The sample that the first pass chose."""
        totals, rows = problem.totals, problem.totals.sample
        contents = replace(rows, weights=rows.weights * totals.shares)
        own = RowConditions.of(contents, problem.template)
        return cls(own, totals.shares)

    def distance(self, one: Machine, other: Machine, roots: Vector) -> float:
        """Root mean square of the difference between the violations of two machines, over roots."""
        delta = (self.own.violations(one) - self.own.violations(other)) / roots
        return float(np.sqrt(np.average((delta * delta).mean(axis=0), weights=self.shares)))

    def normalised(self, leverage: Leverage) -> Leverage:
        """Leverages whose root mean square over all rows is 1."""
        roots = leverage.roots(self.own.contents.X)
        return leverage.divided(float(np.sqrt(np.average(roots * roots, weights=self.shares))))


def band_of(distance: Dense, shares: Vector, n_open: float) -> float:
    """Estimate the width of a band around kinks that holds about ``n_open`` conditions.

    Parameters
    ----------
    distance : array of shape (s, n)
        Of conditions from the middle of the band.
    shares : array of shape (n,)
        For how many rows each row stands.
    n_open : float
    """
    order = np.argsort(distance, axis=None, kind="stable")
    within = np.cumsum(np.broadcast_to(shares, distance.shape).ravel()[order]) <= n_open
    count = int(np.count_nonzero(within))
    return float(distance.ravel()[order[count - 1]]) if count else 0.0


def first_guess(
    problem: ChunkedProblem, sample: RowSample, solve_program: SolveProgram
) -> tuple[Machine, float, Leverage]:
    """The mean of two machines, each trained on half of the sample.

    Where the sample has all rows, the machine trained on all of them.

    Returns
    -------
    Machine
    float
        Root mean square error of its decision values over the roots of leverages; zero if it was
        trained on all rows.
    Leverage
        The root mean square of its roots is 1.
    """
    own, d = sample.own, problem.totals.n_features
    nothing, none = Machine(np.zeros(d), 0.0, 0.0), FixedSums.empty(d)

    def trained(found: Undecided) -> Machine:
        # the error of sampling is far larger than this eps
        answer = solve_undecided(problem.template, found, none, nothing, 1e-6, solve_program)
        return nothing if answer is None else answer[0]

    shape = own.terms.signs.shape
    if len(sample.shares) == problem.totals.n_rows:  # the sample has all rows
        return trained(own.undecided(np.arange(own.terms.signs.size))), 0.0, Leverage.equal()
    halves = list[Machine]()
    for first in (0, 1):
        of_half = np.broadcast_to(np.arange(shape[1]) % 2 == first, shape)
        X, (signs, required, lower, upper, curvature) = own.undecided(np.flatnonzero(of_half))
        # each row stands for twice as many
        doubled = Terms(signs, required, 2.0 * lower, 2.0 * upper, 0.5 * curvature)
        halves.append(trained(Undecided(X, doubled)))
    one, other = halves
    mean = Machine.of(0.5 * (one.vector + other.vector))
    leverage, v, equal = Leverage.equal(), own.violations(mean), np.ones(shape[1])
    error = 0.5 * sample.distance(one, other, equal)
    smoothing = max(CHUNKS.smoothing * error, least_band(v))
    if has_leverages(own.form, d) and smoothing > 0.0:
        losses = own.derivatives(v, smoothing * equal)
        found = leverage_of(own.form, losses)
        if found is not None:
            leverage = sample.normalised(found)
            error = 0.5 * sample.distance(one, other, leverage.roots(own.contents.X))
    return mean, error, leverage


def has_leverages(form: Template, n_features: int) -> bool:
    """Return whether samples have leverages of their own."""
    return not form.is_curved and n_features <= CHUNKS.leverage_features


def leverage_of(form: Template, losses: Derivatives) -> Leverage | None:
    """Compute leverages from the derivatives of all losses; None if their Hessian is singular."""
    H = losses.hessian.value[:-1, :-1] + np.diag(penalties(form, losses)[:-1])
    return Leverage.of_hessian(H, 1e-10, has_intercept=form.intercept != "none")


def penalties(form: Template, losses: Derivatives) -> Vector:
    """The second derivatives of the regularisation in (w, b, t)."""
    penalty = np.full(losses.gradients.value.shape[1], form.norm_weight)
    penalty[-2:] = (float(form.intercept == "penalized"), 0.0)
    return penalty


def least_band(violations: Dense) -> float:
    """The smallest band, as a share of the median violation on a sample of rows."""
    return 1e-4 * float(np.median(np.abs(violations)))
