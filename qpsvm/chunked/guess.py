"""The first guess: machines trained on rows that were chosen at random.

Two halves of the sample give two machines. Their mean is the guess, and half their distance, in
decision values divided by the roots of leverages, is an estimate of its error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.chunked.conditions import Open, RowConditions, between
from qpsvm.chunked.machine import Leverage, Machine
from qpsvm.chunked.newton import QuadraticModel
from qpsvm.chunked.open_problem import SolveProgram, open_conditions, solve_open
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.settings import PassSettings
from qpsvm.chunked.sums import Decided
from qpsvm.machines.intercept import offsets_of_conditions
from qpsvm.numerics.arrays import Dense, Vector


@dataclass(frozen=True, eq=False)
class RowSample:
    """The rows that the first pass chose, with the conditions on them.

    Attributes
    ----------
    own : RowConditions
        Weights are multiplied by the shares.
    shares : array of shape (n,)
        For how many rows each one stands.
    is_all : bool
        The sample has all rows.
    """

    own: RowConditions
    shares: Vector
    is_all: bool

    @classmethod
    def of(cls, problem: ChunkedProblem) -> RowSample:
        """The sample that the first pass chose."""
        totals, rows = problem.totals, problem.totals.sample
        contents = replace(rows, weights=rows.weights * totals.shares)
        own = RowConditions.of(contents, problem.template)
        return cls(own, totals.shares, len(totals.shares) == totals.n_rows)

    def distance(self, one: Machine, other: Machine, roots: Vector) -> float:
        """Root mean square of the difference between the violations of two machines, over roots."""
        apart = (self.own.violations(one) - self.own.violations(other)) / roots
        return float(np.sqrt(np.average((apart * apart).mean(axis=0), weights=self.shares)))

    def roots(self, leverage: Leverage) -> Vector:
        """The root of the leverage of every row."""
        return leverage.roots(self.own.contents.X)

    def normalised(self, leverage: Leverage) -> Leverage:
        """Leverages whose root mean square over all rows is 1."""
        roots = self.roots(leverage)
        return leverage.divided(float(np.sqrt(np.average(roots * roots, weights=self.shares))))


def band_of(distance: Dense, shares: Vector, n_open: float, beyond: float) -> float:
    """Estimate the width of a band around kinks that holds about ``n_open`` conditions.

    It ends between two conditions: their distances have other last bits on other processors.

    Parameters
    ----------
    distance : array of shape (s, n)
        Of conditions from the middle of the band.
    shares : array of shape (n,)
        For how many rows each row stands.
    n_open : float
    beyond : float
        Share of its width that the band may extend beyond the last condition in it, twice.
    """
    order = np.argsort(distance, axis=None, kind="stable")
    within = np.cumsum(np.broadcast_to(shares, distance.shape).ravel()[order]) <= n_open
    count = int(np.count_nonzero(within))
    last = float(distance.ravel()[order[count - 1]]) if count else 0.0
    if not last > 0.0:
        return last
    following = float(np.min(distance[distance > last], initial=np.inf))
    return between(last, min(following, (1.0 + beyond) * last))


def first_guess(
    problem: ChunkedProblem, sample: RowSample, settings: PassSettings, solve_program: SolveProgram
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
    d = problem.totals.n_features
    nothing, none = Machine(np.zeros(d), 0.0, 0.0), Decided.empty(d)

    def trained(found: Open) -> Machine:
        eps = settings.guess_eps
        answer = solve_open(problem.template, found, none, nothing, eps, solve_program)
        return nothing if answer is None else answer.machine

    rows = np.arange(len(sample.shares))
    if sample.is_all:
        machine = trained(sample.own.open(np.ones(sample.own.terms.signs.shape, dtype=bool)))
        return with_best_offsets(sample.own, machine), 0.0, Leverage.equal()
    halves = list[Machine]()
    for first in (0, 1):
        which = np.broadcast_to(rows % 2 == first, sample.own.terms.signs.shape)
        found = sample.own.open(which)
        _, _, lower, upper, curvature = found.terms
        # each row stands for twice as many
        doubled = {"lower": 2.0 * lower, "upper": 2.0 * upper, "curvature": 0.5 * curvature}
        halves.append(trained(Open(found.X, found.terms._replace(**doubled))))
    mean = Machine.of(0.5 * (halves[0].vector + halves[1].vector))
    mean, one, other = (with_best_offsets(sample.own, m) for m in (mean, *halves))
    return _with_leverage(sample, mean, (one, other), settings)


def _with_leverage(
    sample: RowSample, mean: Machine, halves: tuple[Machine, Machine], settings: PassSettings
) -> tuple[Machine, float, Leverage]:
    """Estimate the error of the mean of two machines, and leverages by the Hessian there.

    Kinks are rounded off in proportion to the error, which is measured by leverages: each is
    computed from the other, a few times in turn.
    """
    own, leverage = sample.own, Leverage.equal()
    roots = sample.roots(leverage)
    error = 0.5 * sample.distance(*halves, roots)
    if not settings.has_leverages(own.form.is_curved, own.contents.n_features):
        return mean, error, leverage
    v = own.violations(mean)
    for _ in range(settings.leverage_rounds):
        smoothing = max(settings.smoothing * error, settings.least(v))
        if not smoothing > 0.0:
            break
        losses = own.derivatives(v, smoothing * roots, majorised=False)
        found = QuadraticModel.of(own.form, mean, losses).leverage(settings.leverage_ridge)
        if found is None:
            break
        leverage = sample.normalised(found)
        roots = sample.roots(leverage)
        error = 0.5 * sample.distance(*halves, roots)
    return mean, error, leverage


def with_best_offsets(own: RowConditions, machine: Machine) -> Machine:
    """The machine with the best intercept and width for its weights, if its family has a width.

    The multipliers of a program on half of a sample may be no guide to these: classes that are not
    as large in the sample as they should be leave it no feasible point.
    """
    form = own.form
    if not form.width_sign:
        return machine
    c = open_conditions(form, own.terms.at(own.terms.signs != 0.0), Decided.empty(0))
    is_free = form.intercept == "free"
    if is_free and len(np.unique(c.signs)) < 2:  # no row of a rare class was chosen
        return machine
    b = machine.intercept if form.intercept == "penalized" else 0.0
    targets = own.violations(Machine(machine.coef, b, 0.0)).ravel()
    interval, t = offsets_of_conditions(c, targets, b, is_free=is_free)
    if not (np.isfinite(t) and np.isfinite(interval.midpoint)):
        return machine
    return Machine(machine.coef, interval.midpoint, t)
