"""Left-out decision values, by the three steps of ``selection.leave_one_out``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from qpsvm.certificates.rigorous.kernels import price_error
from qpsvm.data.training_sets import RegressionTrainingSet
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Precomputed
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Index, Vector, freeze
from qpsvm.numerics.duplicates import first_equal
from qpsvm.numerics.single_precision import SinglePrecision, rows_of
from qpsvm.selection.kernel_matrix import KernelMatrix
from qpsvm.selection.machine_bounds import HeldOut, feasible, held_out
from qpsvm.selection.proven_steps import lowest_eigenvalue, proven_bounds
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import Staircase
from qpsvm.selection.tableau import Program
from qpsvm.selection.trials import Machines, by_trials, full_tableau
from qpsvm.selection.warm_starts import solved_from

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

    def find(self, stair: Staircase) -> None:
        """Find the left-out decision values of all samples, from the staircases of the problem."""
        beta, kernel = np.asarray(self.full.expansion), KernelMatrix.of_model(self.problem.model)
        for samples, own in price_groups(self.problem, stair):
            program = program_of(self.problem, kernel, own)
            if len(samples) < LEAVE_ONE_OUT.smallest_group:
                self.span_errors = None
            else:
                full = beta if own is stair else _solved(program, own, beta)
                self.by_certificate(program, full, samples)
                self.by_tableau(program, full, samples)
            self.by_refits(program, beta, samples)

    def by_certificate(self, program: Program, beta: Vector, samples: Index) -> None:
        """Settle samples whose condition every optimum satisfies with room to spare.

        Their losses are zero around every optimum, whose set is the same without them.
        """
        stair = program.stair
        found = enclosed(program, stair.of(None), beta[None])
        a, c = np.nextafter(stair.a, np.inf), np.nextafter(stair.c, -np.inf)  # they were rounded
        stays = (found.lower[0] > a) & (found.upper[0] < c)
        values, radius = (part[0] for part in intervals(found))
        chosen = samples[(stays & (radius <= self.tolerance(values)))[samples]]
        self._take(chosen, values[chosen], radius[chosen], BY_CERTIFICATE)

    def by_tableau(self, program: Program, beta: Vector, samples: Index) -> None:
        """Settle samples whose left-out machine follows from the tableau of a full machine."""
        tableau = None
        if np.isfinite(program.kernel.values).all():
            with np.errstate(all="ignore"):  # what overflows is not known
                tableau = full_tableau(program, beta)
        if tableau is None:
            self.span_errors = None
            return
        if self.span_errors is not None:
            self.span_errors += tableau.span_errors(samples)
        with np.errstate(all="ignore"):
            found = [by_trials(tableau, lot) for lot in self._lots(samples)]
        if found:
            self._prove(program, Machines.joined(found), BY_DOWNDATE)

    def by_refits(self, program: Program, full: Vector, samples: Index) -> None:
        """Solve the programs without each of the samples that are not settled, from all samples'.

        The coefficient of the sample is divided among those between their bounds.
        """
        stair, K = program.stair, program.kernel.values
        for lot in self._lots(samples):
            without = stair.without(lot)
            beta = np.array([_solved(program, without.of(k), full) for k in range(len(lot))])
            steps = stair.steps(beta, LEAVE_ONE_OUT.end_of_step).astype(np.int8)
            machines = Machines(lot, steps, np.zeros(len(lot)), beta)
            if program.is_free:
                off = stair.values()[steps + 2, np.arange(len(K))] - beta @ K
                vertical = machines.vertical
                with np.errstate(all="ignore"):  # where none is on a vertical step, b is not known
                    b = np.sum(off, axis=1, where=vertical) / np.sum(vertical, axis=1)
                machines = replace(machines, b=b)
            self._prove(program, machines, BY_REFIT)

    def _lots(self, samples: Index) -> list[Index]:
        left = samples[~self.is_known[samples]]
        return np.array_split(left, math.ceil(len(left) / LEAVE_ONE_OUT.lot)) if len(left) else []

    def _prove(self, program: Program, machines: Machines, how: int) -> None:
        """Settle samples by the first bound on their machines that is tight enough."""
        lowest = lowest_eigenvalue(program, machines)
        n_lots = math.ceil(len(machines.samples) / LEAVE_ONE_OUT.lot)
        for rows in np.array_split(np.arange(len(machines.samples)), max(1, n_lots)):
            lot = machines.of(rows)
            self._take(lot.samples, *proven_bounds(program, lot, lowest), how)
            lot = lot.of(~self.is_known[lot.samples])
            if not len(lot.samples):
                continue
            found = enclosed(program, program.stair.without(lot.samples), lot.beta, lot.samples)
            values, radius = intervals(found)
            self._take(lot.samples, values[:, 0], radius[:, 0], how)
            left = lot.of(~self.is_known[lot.samples])
            if lowest is not None and len(left.samples):
                self._take(left.samples, *proven_bounds(program, left), how)
            self.is_known[lot.samples[found.gap <= LEAVE_ONE_OUT.refit_eps]] = True

    def _take(self, samples: Index, values: Vector, radius: Vector, how: int) -> None:
        """Keep bounds that are tighter than those known; settle samples by those tight enough."""
        taken = (radius < self.radius[samples]) | np.isnan(self.decisions[samples])
        samples, values, radius = samples[taken], values[taken], radius[taken]
        self.decisions[samples], self.radius[samples] = values, radius
        self.how[samples] = how
        self.is_known[samples] |= radius <= self.tolerance(values)

    def tolerance(self, decisions: Vector) -> Vector:
        """Radius below which a decision value settles its sample, so that no refit is needed."""
        if self.is_regression:
            return np.full(len(decisions), self.eps * float(np.ptp(self.problem.data.targets)))
        return np.abs(decisions)


def program_of(problem: SVMProblem, kernel: KernelMatrix, stair: Staircase) -> Program:
    """Collect kernel, staircases and rounding errors of a training problem."""
    data, c = problem.data, problem.model.conditions
    is_exact = c.price_factors is not None and c.price_factors.are_plain
    rows = data.X if problem.model.exact_kernel is not None else kernel.values
    equals = first_equal(rows, None, [np.ones(data.n_samples)])
    return Program(
        kernel=kernel,
        stair=stair,
        price_error=0.0 if is_exact else price_error(data.weights, len(c)),
        is_free=c.intercept == "free",
        equals=np.arange(data.n_samples) if equals is None else equals,
    )


def enclosed(
    program: Program, stair: Staircase, beta: Dense, samples: Index | None = None
) -> HeldOut:
    """Bound the decision values of every optimum, from machines that are nearly optimal.

    Parameters
    ----------
    program : Program
    stair : Staircase
        Of the machines, by row.
    beta : array of shape (m, n)
    samples : array of int of shape (m,), optional
        The sample of each machine whose decision value is bounded, by default all.
    """
    more: Any = {"is_free": program.is_free, "price_error": program.price_error}
    beta = feasible(beta, stair, **more)
    trained = program.kernel.sums(beta, together=True)
    return held_out(
        stair, beta, trained, trained if samples is None else trained.at(samples), **more
    )


def intervals(found: HeldOut) -> tuple[Dense, Dense]:
    """Middle and half-width of intervals; the machine's own value where an end is infinite."""
    known = np.isfinite(found.lower) & np.isfinite(found.upper)
    with np.errstate(invalid="ignore"):
        middle = np.where(known, 0.5 * found.lower + 0.5 * found.upper, found.values)
        radius = np.maximum(found.upper - middle, middle - found.lower)
    return middle, np.where(known, np.nextafter(radius, np.inf), np.inf)


def _solved(program: Program, stair: Staircase, beta: Vector) -> Vector:
    """Solve for the coefficients of one machine, from those of another."""
    start = np.clip(beta, stair.lowest, stair.upper)
    if program.is_free:  # first those between their bounds make up for the missing sum
        for chosen in ((start > stair.lowest) & (start < stair.upper), np.ones(len(start), bool)):
            missed = float(np.sum(start))
            room = np.where(missed > 0.0, start - stair.lowest, stair.upper - start) * chosen
            total = float(np.sum(room))
            if total > 0.0:
                start = start - min(1.0, abs(missed) / total) * np.sign(missed) * room
        start = feasible(start[None], stair)[0]
    eps = LEAVE_ONE_OUT.refit_eps
    return solved_from(program.kernel.values, stair, start, eps, is_free=program.is_free)


def price_groups(problem: SVMProblem, stair: Staircase) -> Iterator[tuple[Index, Staircase]]:
    """Divide the samples by the prices of the others when they are left out.

    Prices that are divided by sums of weights (``average_loss``, balanced classes) change with the
    class and the weight of the sample that leaves; others do not change.

    Yields
    ------
    samples : array of int of shape (m,)
    stair : Staircase
        Of all samples, at the prices without any of these.
    """
    data: Any = problem.data
    factors, formulation = problem.model.conditions.price_factors, problem.formulation
    if factors is not None and not factors.are_relative:
        yield np.arange(data.n_samples), stair
        return
    signs = getattr(data, "signs", np.zeros(data.n_samples))
    _, group = np.unique(np.column_stack([signs, data.weights]), axis=0, return_inverse=True)
    for g in range(int(np.max(group)) + 1):
        samples = np.flatnonzero(group.ravel() == g)
        first = int(samples[0])
        left_out = formulation.conditions(without(problem, first), problem.model.gram)
        prices = np.insert(left_out.upper[: data.n_samples - 1], first, 0.0)
        prices[first] = prices[samples[-1]]  # of one class and one weight
        upper, lowest = (np.where(side != 0.0, prices, 0.0) for side in (stair.upper, stair.lowest))
        yield samples, replace(stair, upper=upper, lowest=-lowest)


def without(problem: SVMProblem, i: int) -> Any:
    """The training set without sample i."""
    data: Any = problem.data
    others = np.delete(np.arange(data.n_samples), i)
    given = isinstance(problem.kernel, Precomputed)
    X = data.X[np.ix_(others, others)] if given else rows_of(data.X, others)
    parts = {
        name: freeze(getattr(data, name)[others])
        for name in ("weights", "kept", "signs", "values")
        if hasattr(data, name)
    }
    return replace(data, X=X if isinstance(X, SinglePrecision) else freeze(X), **parts)


def require_others(problem: SVMProblem) -> None:
    """Check that there is a training problem without any one sample.

    Raises
    ------
    InvalidDataError
        A single sample, or a class of a single sample.
    """
    data = problem.data
    if data.n_samples < 2:
        raise InvalidDataError("Leave-one-out needs two samples with a weight above 0, got one.")
    for label in np.unique(data.targets) if hasattr(data, "signs") else ():
        members = np.flatnonzero(data.targets == label)
        if len(members) == 1:
            raise InvalidDataError(
                f"Without sample {data.kept[members[0]]} there is only one class, as no other has "
                f"the label {label!r}; leave-one-out needs two samples of each class."
            )
