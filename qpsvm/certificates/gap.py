"""The certificate: bounds on the optimum from both sides, computed outside every solver.

For *any* (w, b) the primal objective is at least the optimum; for *any* dual feasible alpha the
dual objective is at most the optimum. So whatever a solver claims::

    dual objective  <=  optimum  <=  primal objective,      gap = primal - dual

The multipliers need not be feasible as they come: they are clipped to their box and balanced
(``SupportVectorModel.feasible_dual``) before the dual objective is evaluated.

The figures are evaluated in float64. ``rounding`` estimates what that can hide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.machines.intercept import Interval
from qpsvm.machines.problem import Solution, TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution


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
        By how much a hard margin (``max(0, 1 - smallest margin)``) or a constraint is missed. The
        primal objective of a hard margin is that of (w, b) scaled up until it is feasible.
    intercept_interval : Interval or None
        Intercepts that are best for these weights; None for a machine with one per class.
    rounding : float
        Estimate of what rounding can add to the primal objective, relative to it: sums that cancel
        in the decision values, times C. A gap below it says nothing.
    floor : float
        The gap is relative to the objective, but to no less than this: above zero where the
        optimum can be zero (a regression whose targets all fit into the tube).
    curvature : float
        The objective minus ``curvature/2 |w|^2`` is convex; 0 where w is not determined (L1-norm).
    """

    primal_objective: float
    dual_objective: float
    repair: float
    infeasibility: float
    intercept_interval: Interval | None
    rounding: float
    floor: float = 0.0
    curvature: float = 1.0

    @property
    def gap(self) -> float:
        """``primal - dual``: the objective is at most this far above the optimum."""
        return self.primal_objective - self.dual_objective

    @property
    def relative_gap(self) -> float:
        """``|gap| / max(|primal objective|, floor)``; infinite when it cannot be computed.

        There is no ``max(1, ...)`` below: the optimum of a classifier is above zero, and with large
        features or a small C it is far below one. An absolute gap would then prove nothing.
        """
        if not math.isfinite(self.gap):
            return math.inf
        size = max(abs(self.primal_objective), self.floor, float(np.finfo(float).tiny))
        return abs(self.gap) / size

    @property
    def weight_error(self) -> float:
        """``|w - w*| <= sqrt(2 gap / kappa)``: the primal objective is strongly convex in w.

        An infeasible (w, b) of a hard margin adds its distance ``infeasibility * |w'|`` from the
        feasible multiple w' that the gap is about.
        """
        if not math.isfinite(self.gap) or not self.curvature > 0.0:
            return math.inf
        scaling = self.infeasibility * math.sqrt(2.0 * max(self.primal_objective, 0.0))
        return math.sqrt(2.0 * max(self.gap, 0.0) / self.curvature) + scaling

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
            "intercept_interval": self.intercept_interval and list(self.intercept_interval),
            "rounding": self.rounding,
            "weight_error": self.weight_error,
        }


@overload
def certify(problem: TrainingProblem[Any, Solution], solution: Solution) -> Certificate: ...
@overload
def certify(
    problem: ReducedProblem, solution: ReducedSolution
) -> ReducedCertificate[Certificate]: ...
def certify(problem: Any, solution: Any) -> Any:
    """Bound the distance of any solution from the exact optimum of ``problem``.

    Parameters
    ----------
    problem : SVMProblem, JointProblem or ReducedProblem
    solution : SVMSolution, JointSolution or ReducedSolution
        From any source; nothing it says about itself is believed. Its decision function (coef or
        expansion, and intercept) gives the upper bound, its alpha the lower one.

    Returns
    -------
    Certificate
        Of a ReducedProblem: ReducedCertificate, with one for every part.

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
    if isinstance(problem, ReducedProblem):
        proofs = tuple(certify(*part) for part in problem.parts(solution))
        return ReducedCertificate(problem.names, proofs)
    model = problem.model
    model.require_own(solution)
    with np.errstate(all="ignore"):  # overflow becomes inf or NaN, and fails closed
        feasible = model.feasible_dual(solution.alpha, solution.constraint_multipliers)
        primal = model.primal_objective(solution)
        return Certificate(
            primal_objective=primal,
            dual_objective=model.dual_objective(feasible),
            repair=model.repair_size(solution.alpha, feasible),
            infeasibility=model.infeasibility(solution),
            intercept_interval=model.best_intercepts(solution),
            rounding=model.rounding(solution, primal),
            floor=model.objective_floor,
            curvature=model.norm_curvature,
        )
