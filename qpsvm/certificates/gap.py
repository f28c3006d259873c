"""The certificate: bounds on the optimum from both sides, computed outside every solver.

For *any* (w, b) the primal objective is at least the optimum; for *any* dual feasible alpha the
dual objective is at most the optimum. So whatever a solver claims::

    dual objective  <=  optimum  <=  primal objective,      gap = primal - dual

The multipliers need not be feasible as they come: they are clipped to their box and balanced
(``HingeModel.feasible_dual``) before the dual objective is evaluated.

The figures are evaluated in float64. ``rounding`` estimates what that can hide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.exceptions import InvalidDataError
from qpsvm.formulations.intercept import Interval, best_intercepts
from qpsvm.formulations.problem import SVMProblem
from qpsvm.formulations.solution import SVMSolution, alpha_unit


@dataclass(frozen=True)
class Certificate:
    """How far from optimal a classifier can be at most.

    Attributes
    ----------
    primal_objective : float
        Objective of (w, b) exactly as it predicts: an upper bound on the optimum.
    dual_objective : float
        Objective of the repaired alpha: a lower bound on the optimum.
    repair : float
        Largest change the repair made to an alpha, relative to ``alpha_unit`` (zero: feasible).
    infeasibility : float
        Hard margin only: ``max(0, 1 - smallest margin)``; the primal objective is then that of
        (w, b) scaled up until it is feasible.
    intercept_interval : Interval
        Intercepts that are best for these weights.
    rounding : float
        Estimate of what rounding can add to the primal objective, relative to it: sums that cancel
        in the decision values, times C. A gap below it says nothing.
    """

    primal_objective: float
    dual_objective: float
    repair: float
    infeasibility: float
    intercept_interval: Interval
    rounding: float

    @property
    def gap(self) -> float:
        """``primal - dual``: the objective is at most this far above the optimum."""
        return self.primal_objective - self.dual_objective

    @property
    def relative_gap(self) -> float:
        """``|gap| / |primal objective|``; infinite when it cannot be computed.

        There is no ``max(1, ...)`` below: the optimum of an SVM is above zero, and with large
        features or a small C it is far below one. An absolute gap would then prove nothing.
        """
        if not math.isfinite(self.gap):
            return math.inf
        return abs(self.gap) / max(abs(self.primal_objective), float(np.finfo(float).tiny))

    @property
    def weight_error(self) -> float:
        """``|w - w*| <= sqrt(2 gap)``: the primal objective is strongly convex in w.

        An infeasible (w, b) of a hard margin adds its distance ``infeasibility * |w'|`` from the
        feasible multiple w' that the gap is about.
        """
        if not math.isfinite(self.gap):
            return math.inf
        scaling = self.infeasibility * math.sqrt(2.0 * max(self.primal_objective, 0.0))
        return math.sqrt(2.0 * max(self.gap, 0.0)) + scaling

    def passed(self, eps: float) -> bool:
        """True when relative gap, infeasibility and rounding are at most ``eps``; NaN is not."""
        return self.relative_gap <= eps and self.infeasibility <= eps and self.rounding <= eps

    def to_dict(self) -> dict[str, Any]:
        """The figures by name, for JSON (infinities as they are)."""
        return {
            "primal_objective": self.primal_objective,
            "dual_objective": self.dual_objective,
            "gap": self.gap,
            "relative_gap": self.relative_gap,
            "repair": self.repair,
            "infeasibility": self.infeasibility,
            "intercept_interval": list(self.intercept_interval),
            "rounding": self.rounding,
            "weight_error": self.weight_error,
        }


def certify(problem: SVMProblem, solution: SVMSolution) -> Certificate:
    """Bound the distance of any solution from the exact optimum of ``problem``.

    Parameters
    ----------
    problem : SVMProblem
    solution : SVMSolution
        From any source; nothing it says about itself is believed. Its decision function (coef or
        expansion, and intercept) gives the upper bound, its alpha the lower one.

    Returns
    -------
    Certificate

    Raises
    ------
    InvalidDataError
        The solution belongs to another problem: other sizes, data, or kernel.

    Notes
    -----
    Weak duality: Boyd and Vandenberghe, *Convex Optimization*, section 5.2.2. The bound on w:
    the objective minus ``1/2 |w|^2`` is convex, so it grows at least like ``1/2 |w - w*|^2``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> proof = qpsvm.certify(problem, qpsvm.solve(problem))
    >>> proof.relative_gap < 1e-8
    True
    """
    model = problem.model
    _require_same_problem(problem, solution)
    with np.errstate(all="ignore"):  # overflow becomes inf or NaN, and fails closed
        scores, norm_squared = model.scores_and_norm(solution)
        margins = model.data.signs * (scores + solution.intercept)
        feasible = model.feasible_dual(solution.alpha)
        unit = alpha_unit(solution.alpha, model.C)
        interval = (
            best_intercepts(scores, model.data.signs, model.C)
            if model.intercept == "free"
            else Interval(solution.intercept, solution.intercept)
        )
        primal = model.primal_objective(scores, norm_squared, solution.intercept)
        return Certificate(
            primal_objective=primal,
            dual_objective=model.dual_objective(feasible),
            repair=_largest((feasible - solution.alpha) / unit),
            infeasibility=max(0.0, 1.0 - float(np.min(margins))) if model.is_hard else 0.0,
            intercept_interval=interval,
            rounding=model.rounding(solution, margins, primal),
        )


def _require_same_problem(problem: SVMProblem, solution: SVMSolution) -> None:
    """What is certified must be what predicts: ``decision_function`` uses kernel and data."""
    n, d = problem.data.n_samples, problem.data.n_features
    if solution.alpha is None:
        raise InvalidDataError("The solution has no alpha: there is no lower bound to certify.")
    for name, expected in (("alpha", n), ("expansion", n), ("coef", d)):
        vector = getattr(solution, name)
        if vector is not None and np.shape(vector) != (expected,):
            raise InvalidDataError(
                f"The solution's {name} has shape {np.shape(vector)}, the problem needs "
                f"({expected},); it belongs to another problem."
            )
    if solution.coef is None and solution.expansion is None:
        raise InvalidDataError("The solution has neither coef nor expansion: nothing to certify.")
    if solution.kernel != problem.kernel:
        raise InvalidDataError(
            f"The solution predicts with the {solution.kernel} kernel, the problem has "
            f"{problem.kernel}; it belongs to another problem."
        )
    if not solution.data.equals(problem.data):
        raise InvalidDataError(
            "The solution predicts with other training data than the problem's (samples, labels "
            "or their order); it belongs to another problem."
        )
    if not np.array_equal(solution.upper, problem.model.C):
        raise InvalidDataError(
            "The solution's box (upper) is not the problem's C; it belongs to another problem."
        )
    if solution.coef is not None and not problem.model.is_linear:
        raise InvalidDataError(
            f"The solution has a coef, but a {problem.kernel} kernel has no explicit weights; it "
            "belongs to another problem."
        )


def _largest(values: Any) -> float:
    return float(np.max(np.abs(values), initial=0.0))
