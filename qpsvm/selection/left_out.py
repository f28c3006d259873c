"""Left-out decision values, by the three steps of ``selection.leave_one_out``."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from qpsvm.certificates import Certificate, certify
from qpsvm.certificates.predictions import DecisionBounds
from qpsvm.certificates.rigorous.figures import price_error
from qpsvm.data.training_sets import RegressionTrainingSet
from qpsvm.kernels import Precomputed
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.score_errors import exact_kernel
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Index, Vector
from qpsvm.numerics.duplicates import first_equal
from qpsvm.selection.bounds import LeftOutBounds, Program, left_out_bounds
from qpsvm.selection.downdates import downdates, full_tableau
from qpsvm.selection.kernel_sums import KernelSums
from qpsvm.selection.proven_steps import proven_bounds
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import Staircase
from qpsvm.selection.tableau import Tableau
from qpsvm.selection.without import PriceGroup, refit
from qpsvm.solving import solve

How: TypeAlias = Literal["certificate", "downdate", "refit"]
HOW: tuple[How, ...] = get_args(How)
BY_CERTIFICATE, BY_DOWNDATE, BY_REFIT = range(3)


class LeftOutValues:
    """Left-out decision values found so far.

    Parameters
    ----------
    problem : SVMProblem
    full : SVMSolution
        Of this problem.
    eps : float
        Largest radius that settles a prediction of a regression, relative to the spread of the
        targets.
    """

    def __init__(self, problem: SVMProblem, full: SVMSolution, eps: float) -> None:
        self.problem, self.full, self.eps = problem, full, eps
        data, n = problem.data, problem.data.n_samples
        self.is_regression = isinstance(data, RegressionTrainingSet)
        self.decisions, self.radius = np.full(n, np.nan), np.full(n, np.inf)
        self.how, self.is_known = np.full(n, BY_REFIT), np.zeros(n, dtype=bool)
        self.span_errors: int | None = 0

    def by_group(self, group: PriceGroup, sums: KernelSums) -> None:
        """Settle samples without which prices are the same, by one machine of all samples."""
        problem, full, samples = group.problem, self.full, group.samples
        if problem is None:
            self.span_errors = None
            return
        stair = Staircase.of(problem.model.conditions, problem.data.n_samples)
        assert stair is not None
        if problem is not self.problem:
            full = solve(problem, eps=LEAVE_ONE_OUT.full_eps, warm_start=full)
        proof = certify(problem, full, rigorous=True)
        self.by_certificate(problem, proof, stair, samples)
        with np.errstate(all="ignore"):  # what overflows is not known
            self.by_tableau(_program(problem, sums, stair), full, samples)

    def by_tableau(self, program: Program, full: SVMSolution, samples: Index) -> None:
        """Settle samples by downdates of a machine of all samples, if it has a tableau."""
        K, beta = program.sums.K, np.asarray(full.expansion)
        tableau = None
        if np.isfinite(K).all():
            tableau = full_tableau(K, program.stair, beta, has_intercept=program.balanced)
        if tableau is None:
            self.span_errors = None
            return
        if self.span_errors is not None:
            self.span_errors += tableau.span_errors(samples)
        self.by_downdates(program, tableau, samples)

    def by_certificate(
        self, problem: SVMProblem, proof: Certificate, stair: Staircase, samples: Index
    ) -> None:
        """Settle samples whose condition every optimum satisfies with room to spare.

        Their losses are zero around every optimum, whose set is the same without them.
        """
        X = problem.data.X
        given = np.diagonal(X) if isinstance(problem.kernel, Precomputed) else None
        bounds = proof.decision_bounds(X, squares=given)
        a, c = np.nextafter(stair.a, np.inf), np.nextafter(stair.c, -np.inf)  # they were rounded
        stays = (bounds.lower > a) & (bounds.upper < c)
        values, radius = _interval(bounds)
        settled = stays & (radius <= self.tolerance(values))
        chosen = samples[settled[samples]]
        self._settle(chosen, values[chosen], radius[chosen], BY_CERTIFICATE)

    def by_downdates(self, program: Program, tableau: Tableau, samples: Index) -> None:
        """Settle samples whose left-out machine follows from the tableau."""
        left = samples[~self.is_known[samples]]
        n_lots = math.ceil(len(left) / LEAVE_ONE_OUT.lot)
        for lot in np.array_split(left, n_lots) if n_lots else ():
            machines = downdates(tableau, lot)
            self._take(machines.samples, left_out_bounds(program, machines))
            known = self.radius[machines.samples] <= self.tolerance(
                self.decisions[machines.samples]
            )
            if not known.all():
                unknown = machines.of(~known)
                self._take(unknown.samples, proven_bounds(program, unknown))

    def _take(self, samples: Index, bounds: LeftOutBounds) -> None:
        """Settle samples by bounds tighter than those known and those of a refit."""
        taken = (bounds.radius < self.radius[samples]) & (
            (bounds.relative_gap <= LEAVE_ONE_OUT.refit_eps)
            | (bounds.radius <= self.tolerance(bounds.values))
        )
        self._settle(samples[taken], bounds.values[taken], bounds.radius[taken], BY_DOWNDATE)

    def by_refits(self) -> None:
        """Refit the machine for every sample that is not settled."""
        for i in np.flatnonzero(~self.is_known).tolist():
            self._settle(np.array([i]), *_interval(refit(self.problem, self.full, i)), BY_REFIT)

    def _settle(self, samples: Index, values: Vector, radius: Vector, how: int) -> None:
        self.decisions[samples], self.radius[samples] = values, radius
        self.how[samples], self.is_known[samples] = how, True

    def tolerance(self, decisions: Vector) -> Vector:
        """Radius below which a decision value settles its sample, so that no refit is needed."""
        if self.is_regression:
            return np.full(len(decisions), self.eps * float(np.ptp(self.problem.data.targets)))
        return np.abs(decisions)


def _interval(bounds: DecisionBounds) -> tuple[Vector, Vector]:
    """Middle and half-width of intervals; the machine's own value where an end is infinite."""
    known = np.isfinite(bounds.lower) & np.isfinite(bounds.upper)
    with np.errstate(invalid="ignore"):
        middle = np.where(known, 0.5 * bounds.lower + 0.5 * bounds.upper, bounds.values)
        radius = np.maximum(bounds.upper - middle, middle - bounds.lower)
    return middle, np.where(known, np.nextafter(radius, np.inf), np.inf)


def _program(problem: SVMProblem, sums: KernelSums, stair: Staircase) -> Program:
    """Collect kernel, staircases and rounding errors of a training problem."""
    data, c = problem.data, problem.model.conditions
    targets = getattr(data, "signs", getattr(data, "values", None))
    is_exact = c.price_factors is not None and c.price_factors.are_plain
    rows = data.X if exact_kernel(problem.model) is not None else sums.K
    equals = first_equal(rows, None, [np.asarray(targets)])
    return Program(
        sums=sums,
        stair=stair,
        price_error=0.0 if is_exact else price_error(data.weights, len(c)),
        balanced=c.intercept == "free",
        equals=np.arange(data.n_samples) if equals is None else equals,
    )
