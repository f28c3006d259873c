"""``qpsvm.selection.leave_one_out``: every left-out prediction, exactly and without n refits.

Three steps, each for the samples that the one before leaves:

1. *The certificate of the full machine.* Where every optimum of all samples satisfies the condition
   of a sample with room to spare, these are the optima without it.
2. *A downdate*: the machine without the sample, from the tableau of the full machine
   (``selection.tableau``). It is held against the optimum by its duality gap
   (``selection.machine_bounds``) or by the optimality conditions (``selection.proven_steps``).
3. *A refit*, where the active set is not found or the interval is too wide, with a certificate.

All of it is about the program without the sample, with its own ``C_i``: where they are divided by
sums of weights, the full machine is that of all samples with the ``C_i`` without one
(``groups_of_equal_C``).

Sources: for the downdate ``selection.tableau``; for the span estimate Vapnik and Chapelle, "Bounds
on error expectation for support vector machines", *Neural Computation* 12 (2000), section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from qpsvm.certificates.rigorous.kernels import upper_bound_error
from qpsvm.data.training_sets import RegressionTrainingSet
from qpsvm.display import Column, ColumnTable
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Precomputed
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import Labels, explains_calls
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector, freeze, require_memory
from qpsvm.numerics.duplicates import first_equal
from qpsvm.numerics.interrupts import without_solution
from qpsvm.numerics.single_precision import SinglePrecision, rows_of
from qpsvm.selection.kernel_matrix import KernelBlock
from qpsvm.selection.machine_bounds import HeldOut, feasible, held_out
from qpsvm.selection.proven_steps import lowest_eigenvalue, proven_bounds
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.subdifferential import Subdifferential
from qpsvm.selection.tableau import LeftOutMachines, Program, Tableau, by_trials
from qpsvm.solving import solve

How: TypeAlias = Literal["certificate", "downdate", "refit"]
HOW: tuple[How, ...] = get_args(How)
BY_CERTIFICATE, BY_DOWNDATE, BY_REFIT = range(3)


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOneOut(ColumnTable):
    """Left-out predictions of all samples of a training problem.

    Attributes
    ----------
    decisions : array of shape (n,)
        Decision value of every sample for a machine that is trained without it. n is the number of
        samples with a weight above zero, in the order of ``problem.data.kept``.
    radius : array of shape (n,)
        The decision value of every exact optimum without the sample differs by at most that much;
        infinite where nothing is proven.
    predictions : array of shape (n,)
        Labels, or numbers for a regression.
    decided : bool array of shape (n,)
        Whether every exact optimum without the sample predicts this label: the radius is smaller
        than the distance from zero. Of a regression, whether the radius is at most ``eps`` times
        the spread of the targets.
    how : array of int of shape (n,)
        Index into ``("certificate", "downdate", "refit")``.
    score : float
        Share of correct labels, or R^2, of the left-out predictions, decided or not.
    n_support : int
        Number of support vectors of the full machine.
    span_errors : int or None
        Classifiers: number of samples with ``alpha_i kappa_i >= s_i f(x_i)``, the span estimate of
        the number of errors. None where the tableau does not exist.
    """

    decisions: Vector
    radius: Vector
    predictions: Labels
    decided: Mask
    how: Index
    score: float
    n_support: int
    span_errors: int | None

    @property
    def support_bound(self) -> float:
        """Share of support vectors, the textbook's bound on the leave-one-out error of classifiers.

        ``errors / n <= n_support / n`` where the intercept is unique and ``C_i`` do not depend on
        the sample that leaves; Vapnik, *The Nature of Statistical Learning Theory*.
        """
        return self.n_support / len(self.decisions)

    @property
    def shares(self) -> dict[How, float]:
        """The share of samples that each step settled."""
        return {name: float(np.mean(self.how == k)) for k, name in enumerate(HOW)}

    def columns(self) -> dict[str, Column]:
        """Decision value, radius, prediction, whether it is decided, and by which step."""
        return {
            "decision": self.decisions,
            "radius": self.radius,
            "prediction": self.predictions,
            "decided": self.decided,
            "how": np.array(HOW)[self.how],
        }


@explains_calls
def leave_one_out(
    problem: SVMProblem, solution: SVMSolution | None = None, *, eps: float = 1e-6
) -> LeaveOneOut:
    """Predict every training sample by the machine that is trained without it.

    Parameters
    ----------
    problem : SVMProblem
        The dual of ``SoftMargin`` with hinge loss or of ``EpsilonRegression``, without constraints.
    solution : SVMSolution, optional
        Of this problem; where to begin.
    eps : float
        Regressions: largest radius of a decided prediction, relative to the spread of the targets.

    Returns
    -------
    LeaveOneOut
        The prediction of every sample, with what is proven of it.

    Raises
    ------
    InvalidParameterError
        Another family, a primal problem, constraints, or an indefinite kernel.
    InvalidDataError
        A single sample, or a class of a single sample: without it there is no machine.
    ArithmeticModeError
        A process whose arithmetic is not that of IEEE 754.
    MemoryLimitError
        Three matrices of all samples take more than a quarter of the memory.

    Warns
    -----
    ToleranceNotReachedWarning
        A machine is not optimal to the accuracy that was asked for.

    Notes
    -----
    Intervals hold for every optimum of the program that the same formulation makes of the other
    samples, with its own ``C_i`` (those of balanced classes change), the parameters of
    ``problem.kernel`` (of ``gamma="scale"`` the number that it is for all samples) and kernel
    values without rounding, as those of a rigorous certificate (``docs/rounding.md``).

    Examples
    --------
    >>> import qpsvm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> problem = qpsvm.SoftMargin(C=1.0).dual(X[:200] / X.max(axis=0), y[:200], kernel="rbf")
    >>> found = qpsvm.selection.leave_one_out(problem)
    >>> round(found.score, 3), bool(found.decided.all())
    (0.965, True)
    """
    loss = _require_piecewise_linear_losses(problem)
    require_others(problem)
    n = problem.data.n_samples
    require_memory(n, 3 * n, "Leaving one out", "use fewer samples, or cross-validation.")
    full = solve(problem, eps=LEAVE_ONE_OUT.eps, warm_start=solution)
    with without_solution():
        found = LeftOutValues(problem, full, eps)
        found.find(loss)
    data, tolerance = problem.data, found.tolerance(found.decisions)
    decided = found.radius <= tolerance if found.is_regression else found.radius < tolerance
    return LeaveOneOut(
        decisions=freeze(found.decisions),
        radius=freeze(found.radius),
        predictions=data.predictions(found.decisions),
        decided=freeze(decided & np.isfinite(found.radius)),
        how=freeze(found.how),
        score=float(data.score(found.decisions, data.targets)),
        n_support=full.n_support,
        span_errors=None if found.is_regression else found.span_errors,
    )


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

    def find(self, loss: Subdifferential) -> None:
        """Compute for each sample its decision value by the machine trained without the sample."""
        beta, kernel = np.asarray(self.full.expansion), KernelBlock.of_model(self.problem.model)
        for samples, own in groups_of_equal_C(self.problem, loss):
            program = program_of(self.problem, kernel, own)
            if len(samples) == 1:  # a machine of all samples with its C_i costs as much as a refit
                self.span_errors = None
            else:
                full = beta if own is loss else _solved(program, own, beta)
                self.by_certificate(program, full, samples)
                self.by_tableau(program, full, samples)
            self.by_refits(program, beta, samples)

    def by_certificate(self, program: Program, beta: Vector, samples: Index) -> None:
        """Settle samples whose condition every optimum satisfies with room to spare.

        Their losses are zero around every optimum, whose set is the same without them.
        """
        loss = program.loss
        found = enclosed(program, loss.of(None), beta[None])
        a, c = np.nextafter(loss.a, np.inf), np.nextafter(loss.c, -np.inf)  # they were rounded
        stays = (found.lower[0] > a) & (found.upper[0] < c)
        values, radius = (part[0] for part in intervals(found))
        chosen = samples[(stays & (radius <= self.tolerance(values)))[samples]]
        self._take(chosen, values[chosen], radius[chosen], BY_CERTIFICATE)

    def by_tableau(self, program: Program, beta: Vector, samples: Index) -> None:
        """Settle samples whose left-out machine follows from the tableau of a full machine."""
        tableau = None
        if np.isfinite(program.kernel.values).all():
            with np.errstate(all="ignore"):  # what overflows is not known
                tableau = Tableau.of(program, beta)
        if tableau is None:
            self.span_errors = None
            return
        if self.span_errors is not None:
            self.span_errors += tableau.span_errors(samples)
        with np.errstate(all="ignore"):
            found = [by_trials(tableau, lot) for lot in self._batches(samples)]
        if found:
            self._prove(program, LeftOutMachines.joined(found), BY_DOWNDATE)

    def by_refits(self, program: Program, full: Vector, samples: Index) -> None:
        """Solve the programs without each of the samples that are not settled, from all samples'.

        The coefficient of the sample is divided among those between their bounds.
        """
        loss, K = program.loss, program.kernel.values
        for lot in self._batches(samples):
            without = loss.without(lot)
            beta = np.array([_solved(program, without.of(k), full) for k in range(len(lot))])
            steps = loss.steps(beta, LEAVE_ONE_OUT.eps).astype(np.int8)
            machines = LeftOutMachines(lot, steps, np.zeros(len(lot)), beta)
            if program.is_free:
                off = loss.values()[steps + 2, np.arange(len(K))] - beta @ K
                vertical = machines.vertical
                with np.errstate(all="ignore"):  # where none is on a vertical step, b is not known
                    b = np.sum(off, axis=1, where=vertical) / np.sum(vertical, axis=1)
                machines = replace(machines, b=b)
            self._prove(program, machines, BY_REFIT)

    def _batches(self, samples: Index) -> list[Index]:
        left = samples[~self.is_known[samples]]
        return np.array_split(left, math.ceil(len(left) / LEAVE_ONE_OUT.lot)) if len(left) else []

    def _prove(self, program: Program, machines: LeftOutMachines, how: int) -> None:
        """Settle samples by the first bound on their machines that is tight enough."""
        lowest = lowest_eigenvalue(program, machines)
        # arrays of fewer rows stay in the cache
        n_lots = math.ceil(4 * len(machines.samples) / LEAVE_ONE_OUT.lot)
        for rows in np.array_split(np.arange(len(machines.samples)), max(1, n_lots)):
            lot = machines.of(rows)
            self._take(lot.samples, *proven_bounds(program, lot, lowest), how)
            lot = lot.of(~self.is_known[lot.samples])
            if not len(lot.samples):
                continue
            found = enclosed(program, program.loss.without(lot.samples), lot.beta, lot.samples)
            values, radius = intervals(found)
            self._take(lot.samples, values[:, 0], radius[:, 0], how)
            left = lot.of(~self.is_known[lot.samples])
            if lowest is not None and len(left.samples):
                self._take(left.samples, *proven_bounds(program, left), how)
            self.is_known[lot.samples[found.gap <= LEAVE_ONE_OUT.eps]] = True

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


def program_of(problem: SVMProblem, kernel: KernelBlock, loss: Subdifferential) -> Program:
    """Collect kernel, subdifferentials and rounding errors of a training problem."""
    data, c = problem.data, problem.model.conditions
    is_exact = c.exact_upper is not None and c.exact_upper.are_plain
    rows = data.X if problem.model.exact_kernel is not None else kernel.values
    return Program(
        kernel=kernel,
        loss=loss,
        upper_bound_error=0.0 if is_exact else upper_bound_error(data.weights, len(c)),
        is_free=c.intercept == "free",
        equals=first_equal(rows, None, [np.ones(data.n_samples)]),
    )


def enclosed(
    program: Program, loss: Subdifferential, beta: Dense, samples: Index | None = None
) -> HeldOut:
    """Bound the decision values of every optimum, from machines that are nearly optimal.

    Parameters
    ----------
    program : Program
    loss : Subdifferential
        Of the machines, by row.
    beta : array of shape (m, n)
    samples : array of int of shape (m,), optional
        The sample of each machine whose decision value is bounded, by default all.
    """
    more: Any = {"is_free": program.is_free, "upper_bound_error": program.upper_bound_error}
    beta = feasible(beta, loss, **more)
    trained = program.kernel.sums(beta, together=True)
    return held_out(
        loss, beta, trained, trained if samples is None else trained.at(samples), **more
    )


def intervals(found: HeldOut) -> tuple[Dense, Dense]:
    """Middle and half-width of intervals; the machine's own value where an end is infinite."""
    known = np.isfinite(found.lower) & np.isfinite(found.upper)
    with np.errstate(invalid="ignore"):
        middle = np.where(known, 0.5 * found.lower + 0.5 * found.upper, found.values)
        radius = np.maximum(found.upper - middle, middle - found.lower)
    return middle, np.where(known, np.nextafter(radius, np.inf), np.inf)


def _solved(program: Program, loss: Subdifferential, beta: Vector) -> Vector:
    """Solve for the coefficients of one machine, from those of another or on few features."""
    eps, features = LEAVE_ONE_OUT.eps, program.kernel.features
    if features is not None and program.has_few_features:
        found = loss.solved_on_features(features, eps, is_free=program.is_free)
        if found is not None:
            return found
    start = np.clip(beta, loss.lowest, loss.upper)
    if program.is_free:  # first those between their bounds make up for the missing sum
        for chosen in ((start > loss.lowest) & (start < loss.upper), np.ones(len(start), bool)):
            missed = float(np.sum(start))
            room = np.where(missed > 0.0, start - loss.lowest, loss.upper - start) * chosen
            total = float(np.sum(room))
            if total > 0.0:
                start = start - min(1.0, abs(missed) / total) * np.sign(missed) * room
        start = feasible(start[None], loss)[0]
    return loss.solved(program.kernel.values, start, eps, is_free=program.is_free)


def groups_of_equal_C(
    problem: SVMProblem, loss: Subdifferential
) -> Iterator[tuple[Index, Subdifferential]]:
    """Divide the samples by the ``C_i`` of the others when they are left out.

    ``C_i`` that are divided by sums of weights (``average_loss``, balanced classes) change with the
    class and the weight of the sample that leaves; others do not change.

    Yields
    ------
    samples : array of int of shape (m,)
    loss : Subdifferential
        Of all samples, with the ``C_i`` without any of these.
    """
    data: Any = problem.data
    factors, formulation = problem.model.conditions.exact_upper, problem.formulation
    if factors is not None and not factors.are_relative:
        yield np.arange(data.n_samples), loss
        return
    signs = getattr(data, "signs", np.zeros(data.n_samples))
    _, group = np.unique(np.column_stack([signs, data.weights]), axis=0, return_inverse=True)
    for g in range(int(np.max(group)) + 1):
        samples = np.flatnonzero(group.ravel() == g)
        first = int(samples[0])
        left_out = formulation.conditions(without(problem, first), problem.model.gram)
        C = np.insert(left_out.upper[: data.n_samples - 1], first, 0.0)
        C[first] = C[samples[-1]]  # of one class and one weight
        upper, lowest = (np.where(side != 0.0, C, 0.0) for side in (loss.upper, loss.lowest))
        yield samples, replace(loss, upper=upper, lowest=-lowest)


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


def _require_piecewise_linear_losses(problem: SVMProblem) -> Subdifferential:
    """Build the subdifferentials of a problem whose losses are piecewise linear.

    Raises
    ------
    InvalidParameterError
        The losses are others, or there are constraints.
    """
    model = getattr(problem, "model", None)
    loss = None
    if isinstance(problem, SVMProblem) and model is not None:
        plain = model.constraints is None and model.repair is None and problem.form == "dual"
        plain = plain and model.norm_curvature > 0.0  # not of a 1-norm
        loss = (
            Subdifferential.of_conditions(model.conditions, problem.data.n_samples)
            if plain
            else None
        )
    if loss is None:
        raise InvalidParameterError(
            f"leave_one_out takes the dual problem of SoftMargin (hinge loss) or EpsilonRegression "
            f"without constraints and with a positive semidefinite kernel, got {problem!r}."
        )
    return loss
