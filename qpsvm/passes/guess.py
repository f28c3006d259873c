"""The first guess: machines trained on rows that were chosen at random.

Two halves of the sample give two machines. Their mean is the guess, and half their distance, in
decision values, is an estimate of its error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.chunked.contents import Contents, rows_of_contents
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.open_conditions import Open, all_conditions
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.sums import Decided
from qpsvm.chunked.template import Template
from qpsvm.machines.intercept import best_shifts
from qpsvm.numerics.arrays import Vector
from qpsvm.passes.open_problem import SolveProgram, solve_open, together


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
            shares.append(np.full(len(own), share))
        return cls(together(parts), np.concatenate(shares), max(totals.shares) == 1.0)

    def violations(self, problem: ChunkedProblem, machine: Machine) -> Vector:
        """Violations of the conditions by a machine."""
        terms = self.found.terms
        f = np.asarray(self.found.X @ machine.coef) + machine.intercept
        width = problem.template.width_sign * machine.width
        return np.asarray(terms.required - terms.signs * f - width)

    def band_of(self, distance: Vector, n_open: float) -> float:
        """The widest band that holds about ``n_open`` conditions of all chunks."""
        order = np.argsort(distance, kind="stable")
        within = np.cumsum(self.shares[order]) <= n_open
        count = int(np.count_nonzero(within))
        return float(distance[order[count - 1]]) if count else 0.0

    def distance(self, problem: ChunkedProblem, one: Machine, other: Machine) -> float:
        """Root mean square of the difference between the violations of two machines."""
        apart = self.violations(problem, one) - self.violations(problem, other)
        return float(np.sqrt(np.average(apart * apart, weights=self.shares)))


def first_guess(
    problem: ChunkedProblem, sample: RowSample, eps: float, solve_program: SolveProgram
) -> tuple[Machine, float]:
    """The mean of two machines, each trained on half of the sample, and its estimated error.

    Where the sample has all rows, the machine trained on all of them, and zero.
    """
    nothing = Machine(np.zeros(problem.totals.n_features), 0.0, 0.0)
    if sample.is_all:
        whole = _trained(problem, sample.found, eps, solve_program)
        return with_best_offsets(problem.template, sample.found, whole or nothing), 0.0
    halves = list[Machine]()
    for first in (0, 1):
        parts = [
            _all_conditions(problem, _every_second(contents, first), 2.0 * share)
            for contents, share in zip(problem.totals.sample, problem.totals.shares, strict=True)
        ]
        halves.append(_trained(problem, together(parts), eps, solve_program) or nothing)
    mean = Machine.of(0.5 * (halves[0].vector + halves[1].vector))
    machines = [with_best_offsets(problem.template, sample.found, m) for m in (mean, *halves)]
    return machines[0], 0.5 * sample.distance(problem, *machines[1:])


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
    return rows_of_contents(contents, np.arange(first, contents.n_rows, 2))


def _all_conditions(problem: ChunkedProblem, contents: Contents, share: float) -> Open:
    """All conditions on some rows, with losses multiplied by a share."""
    weighted = Contents(contents.X, contents.y, contents.weights * share, has_weights=True)
    return all_conditions(weighted, problem.request(()), "of the sample")
