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

from dataclasses import dataclass

import numpy as np

from qpsvm.display import Column, Table
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import Labels, explains_calls
from qpsvm.numerics.arrays import Index, Mask, Vector, freeze, require_memory
from qpsvm.numerics.interrupts import without_solution
from qpsvm.selection.left_out import HOW, How, LeftOutValues, require_others
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import Staircase
from qpsvm.solving import solve


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
    stair = _require_staircase(problem)
    require_others(problem)
    n = problem.data.n_samples
    require_memory(n, 3 * n, "Leaving one out", "use fewer samples, or cross-validation.")
    full = solve(problem, eps=LEAVE_ONE_OUT.full_eps, warm_start=solution)
    with without_solution():
        found = LeftOutValues(problem, full, eps)
        found.find(stair)
    return _result(found)


def _require_staircase(problem: SVMProblem) -> Staircase:
    """Check that the conditions of a problem are the staircases of its samples.

    Raises
    ------
    InvalidParameterError
        They are not.
    """
    model = getattr(problem, "model", None)
    stair = None
    if isinstance(problem, SVMProblem) and model is not None:
        plain = model.constraints is None and model.repair is None and problem.form == "dual"
        plain = plain and model.norm_curvature > 0.0  # not of a 1-norm
        stair = Staircase.of_conditions(model.conditions, problem.data.n_samples) if plain else None
    if stair is None:
        raise InvalidParameterError(
            f"leave_one_out takes the dual problem of SoftMargin (hinge loss) or EpsilonRegression "
            f"without constraints and with a positive semidefinite kernel, got {problem!r}."
        )
    return stair


def _result(found: LeftOutValues) -> LeaveOneOut:
    """Build the table of left-out predictions."""
    data, tolerance = found.problem.data, found.tolerance(found.decisions)
    decided = found.radius <= tolerance if found.is_regression else found.radius < tolerance
    return LeaveOneOut(
        decisions=freeze(found.decisions),
        radius=freeze(found.radius),
        predictions=data.predictions(found.decisions),
        decided=freeze(decided & np.isfinite(found.radius)),
        how=freeze(found.how),
        score=float(data.score(found.decisions, data.targets)),
        n_support=found.full.n_support,
        span_errors=None if found.is_regression else found.span_errors,
    )
