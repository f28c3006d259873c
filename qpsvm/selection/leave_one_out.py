"""``qpsvm.selection.leave_one_out``: every left-out prediction, exactly and without n refits.

Three steps, each for the samples that the one before leaves:

1. *The certificate of the full machine.* Where every optimum of all samples satisfies the condition
   of a sample with room to spare, these are the optima without it.
2. *A downdate*: the machine without the sample, from the tableau of the full machine
   (``selection.tableau``). It is held against the optimum by its duality gap
   (``selection.bounds``) or by the optimality conditions (``selection.proven_steps``).
3. *A refit*, where the active set is not found or the interval is too wide, with a certificate.

All of it is about the program without the sample, with its own prices: where they are divided by
sums of weights, the full machine is that of all samples at the prices without one
(``selection.without``).

Sources: for the downdate ``selection.tableau``; for the span estimate Vapnik and Chapelle, "Bounds
on error expectation for support vector machines", *Neural Computation* 12 (2000), section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from qpsvm.certificates import Certificate, certify
from qpsvm.certificates.predictions import DecisionBounds
from qpsvm.certificates.rigorous.figures import price_error
from qpsvm.data.training_sets import RegressionTrainingSet
from qpsvm.display import Column, Table
from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels import Precomputed
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Index, Mask, Vector, freeze, require_memory
from qpsvm.selection.bounds import LeftOutBounds, Program, left_out_bounds
from qpsvm.selection.downdates import downdates, full_tableau
from qpsvm.selection.kernel_sums import KernelSums
from qpsvm.selection.proven_steps import proven_bounds
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import Staircase
from qpsvm.selection.tableau import Tableau
from qpsvm.selection.without import price_groups, refit, require_two_of_each_class
from qpsvm.solving import solve

How: TypeAlias = Literal["certificate", "downdate", "refit"]
HOW: tuple[How, ...] = get_args(How)
BY_CERTIFICATE, BY_DOWNDATE, BY_REFIT = range(3)


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOneOut(Table):
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

        ``errors / n <= n_support / n`` where the intercept is unique and prices do not depend on
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

    Raises
    ------
    InvalidParameterError
        Another family, a primal problem, constraints, or an indefinite kernel.
    InvalidDataError
        A class with one sample: without it there is no machine.
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
    samples, with its own prices (those of balanced classes change), the parameters of
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
    _require_staircase(problem)
    require_two_of_each_class(problem)
    n = problem.data.n_samples
    require_memory(n, 3 * n, "Leaving one out", "use fewer samples, or cross-validation.")
    sums = KernelSums.of(problem.model)
    full = solve(problem, eps=LEAVE_ONE_OUT.full_eps, warm_start=solution)
    found = _Found(problem.data, eps)
    for group in price_groups(problem):
        if group.problem is not None:
            found.by_machine(group.problem, full, sums, group.samples)
    found.by_refits(problem, full)
    return found.result(full)


def _require_staircase(problem: SVMProblem) -> Staircase:
    """The staircases of a problem's samples.

    Raises
    ------
    InvalidParameterError
        It has none.
    """
    model = getattr(problem, "model", None)
    stair = None
    if isinstance(problem, SVMProblem) and model is not None:
        plain = model.constraints is None and model.repair is None and problem.form == "dual"
        stair = Staircase.of(model.conditions, problem.data.n_samples) if plain else None
    if stair is None:
        raise InvalidParameterError(
            f"leave_one_out takes the dual problem of SoftMargin (hinge loss) or EpsilonRegression "
            f"without constraints and with a positive semidefinite kernel, got {problem!r}."
        )
    return stair


class _Found:
    """Left-out decision values found so far.

    Parameters
    ----------
    data : TrainingSet
    eps : float
        Largest radius that settles a prediction of a regression, relative to the spread of the
        targets.
    """

    def __init__(self, data: Any, eps: float) -> None:
        n = data.n_samples
        self.data, self.eps = data, eps
        self.decisions, self.radius = np.full(n, np.nan), np.full(n, np.inf)
        self.how, self.is_known = np.full(n, BY_REFIT), np.zeros(n, dtype=bool)
        self.span_errors: int | None = 0

    def by_machine(
        self, problem: SVMProblem, start: SVMSolution, sums: KernelSums, samples: Index
    ) -> None:
        """Settle some samples by one machine of all of them.

        Parameters
        ----------
        problem : SVMProblem
            Of all samples, at the prices of the programs without one of these.
        start : SVMSolution
        sums : KernelSums
        samples : array of int of shape (m,)
        """
        stair = _require_staircase(problem)
        full = solve(problem, eps=LEAVE_ONE_OUT.full_eps, warm_start=start)
        proof = certify(problem, full, rigorous=True)
        self.by_certificate(problem, proof, stair, samples)
        balanced = problem.model.conditions.intercept == "free"
        program = Program(sums, stair, _price_error(problem), balanced)
        tableau = full_tableau(sums.K, stair, np.asarray(full.expansion), has_intercept=balanced)
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
        for lot in np.array_split(left, math.ceil(len(left) / LEAVE_ONE_OUT.lot)):
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

    def by_refits(self, problem: SVMProblem, full: SVMSolution) -> None:
        """Refit the machine for every sample that is not settled."""
        for i in np.flatnonzero(~self.is_known).tolist():
            self._settle(np.array([i]), *_interval(refit(problem, full, i)), BY_REFIT)

    def _settle(self, samples: Index, values: Vector, radius: Vector, how: int) -> None:
        self.decisions[samples], self.radius[samples] = values, radius
        self.how[samples], self.is_known[samples] = how, True

    def tolerance(self, decisions: Vector) -> Vector:
        """Radius below which a decision value settles its sample, so that no refit is needed."""
        if isinstance(self.data, RegressionTrainingSet):
            return np.full(len(decisions), self.eps * float(np.ptp(self.data.values)))
        return np.abs(decisions)

    def result(self, full: SVMSolution) -> LeaveOneOut:
        """Build the table of left-out predictions."""
        data, is_regression = self.data, isinstance(self.data, RegressionTrainingSet)
        tolerance = self.tolerance(self.decisions)
        decided = self.radius <= tolerance if is_regression else self.radius < tolerance
        return LeaveOneOut(
            decisions=freeze(self.decisions),
            radius=freeze(self.radius),
            predictions=data.predictions(self.decisions),
            decided=freeze(decided & np.isfinite(self.radius)),
            how=freeze(self.how),
            score=float(data.score(self.decisions, data.targets)),
            n_support=full.n_support,
            span_errors=None if is_regression else self.span_errors,
        )


def _interval(bounds: DecisionBounds) -> tuple[Vector, Vector]:
    """Middle and half-width of intervals; the machine's own value where an end is infinite."""
    known = np.isfinite(bounds.lower) & np.isfinite(bounds.upper)
    with np.errstate(invalid="ignore"):
        middle = np.where(known, 0.5 * bounds.lower + 0.5 * bounds.upper, bounds.values)
        radius = np.maximum(bounds.upper - middle, middle - bounds.lower)
    return middle, np.where(known, np.nextafter(radius, np.inf), np.inf)


def _price_error(problem: SVMProblem) -> float:
    """Bound on the relative error of the prices."""
    c = problem.model.conditions
    is_exact = c.price_factors is not None and c.price_factors.are_plain
    return 0.0 if is_exact else price_error(problem.data.weights, len(c))
