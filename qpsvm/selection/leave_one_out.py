"""``qpsvm.selection.leave_one_out``: every left-out prediction, exactly and without n refits.

Three steps, each for the samples that the one before leaves:

1. *The certificate of the full machine.* A sample whose dual variable is proven to be zero changes
   nothing when it leaves. Of two classes, a sample that the exact optimum misclassifies is
   misclassified without it, too: its loss can only grow.
2. *A downdate*: the machine without the sample, from the tableau of the full machine
   (``selection.tableau``). It is held against the optimum by its own duality gap.
3. *A refit*, where the active set is not found or the gap is too large.

The bound on the distance of a downdated machine's decision value from the exact optimum's follows
from weak duality alone (``selection.bounds``).

Sources: for the downdate ``selection.tableau``; for the span estimate Vapnik and Chapelle, "Bounds
on error expectation for support vector machines", *Neural Computation* 12 (2000), section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from qpsvm.certificates import Certificate, certify
from qpsvm.certificates.screening import ZERO
from qpsvm.data.training_sets import BinaryTrainingSet, RegressionTrainingSet
from qpsvm.display import Column, Table
from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels import Precomputed
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector, freeze, require_memory
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.selection.bounds import LeftOutBounds
from qpsvm.selection.downdates import downdates, full_tableau
from qpsvm.selection.refinement import machine_bounds, refined_bounds
from qpsvm.selection.refit import refit
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import Staircase
from qpsvm.selection.tableau import Tableau
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
        Decision value of every sample for the machine that is trained without it. Where the label
        of a misclassified sample follows from the certificate alone, the full machine's.
    radius : array of shape (n,)
        The exact optimum's differ by at most that much; infinite where only the label is known.
    predictions : array of shape (n,)
        Labels, or numbers for a regression.
    decided : bool array of shape (n,)
        Whether every exact optimum without the sample predicts the same label; of a regression,
        whether the radius is at most ``eps`` times the spread of the targets.
    how : array of int of shape (n,)
        Index into ``("certificate", "downdate", "refit")``.
    score : float
        Share of correct labels, or R^2, of the left-out predictions.
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
        """Share of support vectors, an upper bound on the leave-one-out error of classifiers.

        ``errors / n <= n_support / n``; Vapnik, *The Nature of Statistical Learning Theory*.
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
    MemoryLimitError
        Three matrices of all samples take more than a quarter of the memory.

    Warns
    -----
    ToleranceNotReachedWarning
        A machine is not optimal to the accuracy that was asked for.

    Notes
    -----
    The figures hold up to the rounding of their sums, as those of a certificate that is not
    rigorous. A left-out sample that leaves one class only is an error of its refit.

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
    stair = _require_staircase(problem)
    n = problem.data.n_samples
    require_memory(n, 3 * n, "Leaving one out", "use fewer samples, or cross-validation.")
    K = _kernel_matrix(problem)
    full = solve(problem, eps=LEAVE_ONE_OUT.full_eps, warm_start=solution)
    proof = certify(problem, full)
    found = _Found.by_certificate(problem, proof, np.diagonal(K))
    has_intercept = problem.model.conditions.intercept == "free"
    tableau = full_tableau(K, stair, np.asarray(full.expansion), has_intercept=has_intercept)
    if tableau is not None:
        found.by_downdates(K, tableau)
    found.by_refits(problem, full, K)
    return found.result(full, None if tableau is None else tableau.span_errors(), eps)


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


def _kernel_matrix(problem: SVMProblem) -> Dense:
    """``K + constant``, shape (n, n)."""
    gram = problem.model.gram
    K = gram.gram.dense if isinstance(gram, KernelQuadratic) else gram.select(None).to_dense()
    constant = problem.model.constant
    return np.asarray(K + constant) if constant else np.asarray(K)


class _Found:
    """Left-out decision values found so far."""

    def __init__(self, data: Any, decisions: Vector) -> None:
        n = len(decisions)
        self.data, self.decisions = data, decisions.copy()
        self.radius, self.how = np.full(n, np.inf), np.full(n, BY_REFIT)
        self.is_known = np.zeros(n, dtype=bool)

    @classmethod
    def by_certificate(cls, problem: SVMProblem, proof: Certificate, squares: Vector) -> _Found:
        """Settle samples for which the full machine's certificate suffices."""
        data, conditions = problem.data, problem.model.conditions
        given = squares if isinstance(problem.kernel, Precomputed) else None
        bounds = proof.decision_bounds(data.X, squares=given)
        found = cls(data, bounds.values)
        is_zero = proof.screening.status == ZERO
        stays = np.bincount(conditions.rows.indices, ~is_zero, minlength=data.n_samples) == 0.0
        reach = np.maximum(bounds.upper - bounds.values, bounds.values - bounds.lower)
        found.radius[stays] = reach[stays]
        settled = stays & (reach <= found.tolerance(np.zeros(data.n_samples)))
        if isinstance(data, BinaryTrainingSet):
            ends = np.maximum(data.signs * bounds.lower, data.signs * bounds.upper)
            settled = stays | (ends < 0.0)
        found.how[settled], found.is_known[settled] = BY_CERTIFICATE, True
        return found

    def by_downdates(self, K: Dense, tableau: Tableau) -> None:
        """Settle samples whose left-out machine follows from the tableau."""
        left = np.flatnonzero(~self.is_known)
        for lot in np.array_split(left, math.ceil(len(left) / LEAVE_ONE_OUT.lot)):
            machines = downdates(tableau, lot)
            self._take(machines.samples, machine_bounds(K, tableau, machines))
            known = self.radius[machines.samples] <= self.tolerance(
                self.decisions[machines.samples]
            )
            if not known.all():
                unknown = machines.of(~known)
                self._take(unknown.samples, refined_bounds(K, tableau, unknown))

    def _take(self, samples: Index, bounds: LeftOutBounds) -> None:
        """Settle samples by bounds tighter than those known and those of a refit."""
        taken = (bounds.radius < self.radius[samples]) & (
            (bounds.relative_gap <= LEAVE_ONE_OUT.refit_eps)
            | (bounds.radius <= self.tolerance(bounds.values))
        )
        chosen = samples[taken]
        self.decisions[chosen] = bounds.values[taken]
        self.radius[chosen] = bounds.radius[taken]
        self.how[chosen], self.is_known[chosen] = BY_DOWNDATE, True

    def tolerance(self, decisions: Vector) -> Vector:
        """Radius below which a decision value settles its sample, so that no refit is needed."""
        if isinstance(self.data, BinaryTrainingSet):
            return np.abs(decisions)
        known = 1e-6 * float(np.ptp(self.data.values)) if self.data.n_samples > 1 else np.inf
        return np.full(len(decisions), known)

    def by_refits(self, problem: SVMProblem, full: SVMSolution, K: Dense) -> None:
        """Refit the machine for every sample that is not settled."""
        for i in np.flatnonzero(~self.is_known).tolist():
            self.decisions[i], self.radius[i] = refit(problem, full, i, float(K[i, i]))
            self.how[i], self.is_known[i] = BY_REFIT, True

    def result(self, full: SVMSolution, span_errors: int | None, eps: float) -> LeaveOneOut:
        """Build the table of left-out predictions."""
        data = self.data
        if isinstance(data, RegressionTrainingSet):
            decided = self.radius <= eps * float(np.ptp(data.values))
            span_errors = None
        else:
            decided = (self.radius < np.abs(self.decisions)) | (self.how == BY_CERTIFICATE)
        return LeaveOneOut(
            decisions=freeze(self.decisions),
            radius=freeze(self.radius),
            predictions=data.predictions(self.decisions),
            decided=freeze(decided),
            how=freeze(self.how),
            score=float(data.score(self.decisions, data.targets)),
            n_support=full.n_support,
            span_errors=span_errors,
        )
