"""The first guess: machines trained on rows that were chosen at random.

Two halves of the sample give two machines. Their mean is the guess, and half their distance, in
decision values divided by the roots of leverages, is an estimate of its error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.chunked.contents import Contents
from qpsvm.chunked.derivatives import Derivatives
from qpsvm.chunked.leverage import Leverage
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.open_conditions import Open, all_conditions, between, taken
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.sums import Decided
from qpsvm.chunked.template import Template
from qpsvm.machines.intercept import best_shifts
from qpsvm.numerics.arrays import IN_CACHE, Vector, row_blocks
from qpsvm.passes.newton import QuadraticModel
from qpsvm.passes.open_problem import SolveProgram, solve_open, together
from qpsvm.passes.settings import PassSettings


@dataclass(frozen=True, eq=False)
class RowSample:
    """Conditions on a sample of the rows, each standing for several.

    Attributes
    ----------
    found : Open
        Their losses are multiplied by the shares.
    shares : array of shape (m,)
        For how many conditions each one stands.
    is_all : bool
        The sample has all rows.
    """

    found: Open
    shares: Vector
    is_all: bool

    @classmethod
    def of(cls, problem: ChunkedProblem) -> RowSample:
        """The sample that the first pass chose."""
        totals = problem.totals
        parts, shares = list[Open](), list[Vector]()
        for contents, share in zip(totals.sample, totals.shares, strict=True):
            own = _all_conditions(problem, contents, share)
            parts.append(own)
            n_sides = len(own) // max(1, len(share))
            shares += [np.tile(share[rows], n_sides) for rows, _ in contents.blocks()]
        is_all = sum(map(len, totals.shares)) == totals.n_rows
        return cls(together(parts), np.concatenate(shares), is_all)

    def violations(self, problem: ChunkedProblem, machine: Machine) -> Vector:
        """Violations of the conditions by a machine."""
        terms = self.found.terms
        f = np.asarray(self.found.X @ machine.coef) + machine.intercept
        width = problem.template.width_sign * machine.width
        return np.asarray(terms.required - terms.signs * f - width)

    def band_of(self, distance: Vector, n_open: float, beyond: float) -> float:
        """Estimate the width of a band around kinks that holds about ``n_open`` conditions.

        It ends between two conditions: their distances have other last bits on other processors.
        """
        order = np.argsort(distance, kind="stable")
        within = np.cumsum(self.shares[order]) <= n_open
        count = int(np.count_nonzero(within))
        last = float(distance[order[count - 1]]) if count else 0.0
        if not last > 0.0:
            return last
        following = float(np.min(distance[distance > last], initial=np.inf))
        return between(last, min(following, (1.0 + beyond) * last))

    def distance(
        self, problem: ChunkedProblem, one: Machine, other: Machine, roots: Vector
    ) -> float:
        """Root mean square of the difference between the violations of two machines, over roots."""
        apart = (self.violations(problem, one) - self.violations(problem, other)) / roots
        return float(np.sqrt(np.average(apart * apart, weights=self.shares)))

    def roots(self, leverage: Leverage) -> Vector:
        """The root of the leverage of every condition's sample."""
        X = self.found.X
        blocks = row_blocks(X.shape[0], X.shape[1], IN_CACHE)
        return np.concatenate([np.zeros(0), *(leverage.roots(X[rows]) for rows in blocks)])

    def normalised(self, leverage: Leverage) -> Leverage:
        """Leverages whose root mean square over all conditions is 1."""
        roots = self.roots(leverage)
        return leverage.divided(float(np.sqrt(np.average(roots * roots, weights=self.shares))))

    def model(self, form: Template, machine: Machine, smoothing: Vector) -> QuadraticModel:
        """The quadratic model of the objective at a machine, as the sample has it.

        Parameters
        ----------
        form : Template
        machine : Machine
        smoothing : array of shape (m,)
            A kink is rounded off over ``|v| <= smoothing``.
        """
        X, terms, d = self.found.X, self.found.terms, self.found.X.shape[1]
        found = Derivatives.empty(d, majorised=False)
        for rows in row_blocks(X.shape[0], d, IN_CACHE):
            block, own = X[rows], taken(terms, np.arange(rows.start, rows.stop))
            f = np.asarray(block @ machine.coef) + machine.intercept
            v = own.required - own.signs * f - form.width_sign * machine.width
            found.add(block, own, v, form, smoothing[rows])
        return QuadraticModel.of(form, machine, [found])


@dataclass(frozen=True, eq=False)
class Guess:
    """A machine, the estimated error of its decision values, and leverages of samples.

    Attributes
    ----------
    machine : Machine
    error : float
        Root mean square error of decision values over the roots of leverages; zero if the machine
        was trained on all rows.
    leverage : Leverage
        Their root mean square is 1.
    """

    machine: Machine
    error: float
    leverage: Leverage


def first_guess(
    problem: ChunkedProblem, sample: RowSample, settings: PassSettings, solve_program: SolveProgram
) -> Guess:
    """The mean of two machines, each trained on half of the sample.

    Where the sample has all rows, the machine trained on all of them.
    """
    eps = settings.guess_eps
    nothing = Machine(np.zeros(problem.totals.n_features), 0.0, 0.0)
    if sample.is_all:
        whole = _trained(problem, sample.found, eps, solve_program)
        machine = with_best_offsets(problem.template, sample.found, whole or nothing)
        return Guess(machine, 0.0, Leverage.equal())
    halves = list[Machine]()
    for first in (0, 1):
        parts = [
            _all_conditions(problem, _every_second(contents, first), 2.0 * share[first::2])
            for contents, share in zip(problem.totals.sample, problem.totals.shares, strict=True)
        ]
        halves.append(_trained(problem, together(parts), eps, solve_program) or nothing)
    mean = Machine.of(0.5 * (halves[0].vector + halves[1].vector))
    machines = [with_best_offsets(problem.template, sample.found, m) for m in (mean, *halves)]
    return _with_leverage(problem, sample, tuple(machines), settings)


def _with_leverage(
    problem: ChunkedProblem,
    sample: RowSample,
    machines: tuple[Machine, ...],
    settings: PassSettings,
) -> Guess:
    """Estimate the error of the mean of two machines, and leverages by the Hessian there.

    Kinks are rounded off in proportion to the error, which is measured by leverages: each is
    computed from the other, a few times in turn.
    """
    form, (mean, one, other) = problem.template, machines
    leverage = Leverage.equal()
    roots = sample.roots(leverage)
    error = 0.5 * sample.distance(problem, one, other, roots)
    if not settings.has_leverages(form.is_curved, problem.totals.n_features):
        return Guess(mean, error, leverage)
    least = settings.least_band * float(np.median(np.abs(sample.violations(problem, mean))))
    for _ in range(settings.leverage_rounds):
        smoothing = max(settings.smoothing * error, least)
        if not smoothing > 0.0:
            break
        found = sample.model(form, mean, smoothing * roots).leverage(form, settings.leverage_ridge)
        if found is None:
            break
        leverage = sample.normalised(found)
        roots = sample.roots(leverage)
        error = 0.5 * sample.distance(problem, one, other, roots)
    return Guess(mean, error, leverage)


def with_best_offsets(form: Template, found: Open, machine: Machine) -> Machine:
    """The machine with the best intercept and width for its weights, if its family has a width.

    The multipliers of a program on half of a sample may be no guide to these: classes that are not
    as large in the sample as they should be leave it no feasible point.
    """
    if not form.width_sign:
        return machine
    terms, b = found.terms, machine.intercept if form.intercept == "penalized" else 0.0
    targets = terms.required - terms.signs * (np.asarray(found.X @ machine.coef) + b)
    everything = np.ones(len(targets), dtype=bool)
    is_free = form.intercept == "free"
    groups = [terms.signs > 0.0, terms.signs < 0.0] if is_free else [everything]
    price = form.width_sign * form.width_price / len(groups)
    if not all(own.any() for own in groups):  # no row of a rare class was chosen
        return machine
    shifts = [
        best_shifts(
            targets[own], terms.lower[own], terms.upper[own], terms.curvature[own], price
        ).midpoint
        for own in groups
    ]
    # rows of either sign see one unknown each, b + e t and -b + e t
    t = form.width_sign * sum(shifts) / len(shifts)
    if not np.isfinite(t):
        return machine
    free = 0.5 * (shifts[0] - shifts[1]) if is_free else b
    return Machine(machine.coef, float(free), max(0.0, float(t)))


def _trained(
    problem: ChunkedProblem, found: Open, eps: float, solve_program: SolveProgram
) -> Machine | None:
    d = problem.totals.n_features
    centre = Machine(np.zeros(d), 0.0, 0.0)
    answer = solve_open(problem.template, found, Decided.empty(d), centre, eps, solve_program)
    return None if answer is None else answer.machine


def _every_second(contents: Contents, first: int) -> Contents:
    return contents.taken(slice(first, None, 2))


def _all_conditions(problem: ChunkedProblem, contents: Contents, share: Vector) -> Open:
    """Build the conditions on a sample of rows, each weighted by the rows that it stands for."""
    weighted = Contents(contents.X, contents.y, contents.weights * share, has_weights=True)
    return all_conditions(weighted, problem.request(()), "of the sample")
