"""The certificate: bounds on the optimal objective, computed without any solver.

For *any* (w, b) the primal objective is at least the optimum; for *any* dual feasible alpha the
dual objective is at most the optimum. So whatever a solver claims::

    dual objective  <=  optimum  <=  primal objective,      gap = primal - dual

The multipliers need not be feasible as they come: they are clipped to their box and balanced
(``PrimalDualPair.feasible_dual``) before the dual objective is evaluated.

The verdict is about the kernel function on the float64 samples as they are given: ``gap_upper``
includes bounds on the errors of all kernel values and sums. Where these errors alone would refuse a
machine, its decisive kernel values are evaluated with more digits (``machines.complementarity``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.certificates.optimum import OptimumBounds, locate
from qpsvm.certificates.predictions import (
    CertifiedPredictions,
    DecisionBounds,
    certified,
    decision_bounds,
)
from qpsvm.certificates.rigorous import Enclosure
from qpsvm.certificates.screening import Screening, fixes_intercept, screen, screen_classes
from qpsvm.machines.feasibility import FeasibleMachine
from qpsvm.machines.intercept import Interval
from qpsvm.machines.model import SupportVectorModel
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.balls import SUM_ROUNDING, UNDERFLOW
from qpsvm.numerics.precision import TINY


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bounds on a solution's distance from the optimum, and what follows from them.

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
        Bound on what errors of kernel values and rounding can add to the gap, relative to the
        largest of the primal objective, ``floor`` and the smallest normal double. It is the
        rounding level; a smaller gap is not meaningful.
    objective_rounding : float
        Bound on what they change either objective itself, on the same scale. Larger than
        ``rounding``, because most of it is the same in both.
    smallest_scale : float
        Lower bound of the scale, above zero: the exact objective may be smaller than the computed
        one, but not smaller than a lower bound on the optimum.
    excess_upper : float
        Upper bound on the objective minus the optimum, errors of kernel values and rounding
        included. Infinite where nothing is known.
    model : VerifiableModel
        Of the problem that the certificate is about.
    evaluation : Evaluation
        The solution that the certificate is about, on the training samples.
    enclosure : Enclosure or None
        With ``rigorous=True``: bounds on both objectives that hold in exact arithmetic.
    feasible : FeasibleMachine or None
        For constraints on (w, b): the nearest machine found that satisfies all of them, whose
        objective is at least the optimum. None without constraints.
    """

    primal_objective: float
    dual_objective: float
    repair: float
    infeasibility: float
    intercept_interval: Interval | None
    rounding: float
    objective_rounding: float
    smallest_scale: float
    excess_upper: float
    model: Any
    evaluation: Any
    enclosure: Enclosure | None = None
    feasible: FeasibleMachine | None = None

    @property
    def solution(self) -> Any:
        """The SVMSolution or JointSolution that the certificate is about."""
        return self.evaluation.solution

    # --- the gap ---------------------------------------------------------------------------------

    @property
    def gap(self) -> float:
        """Duality gap ``primal - dual``, which bounds the objective minus the optimum.

        Where nothing is rounded at all it is not negative.
        """
        return self.primal_objective - self.dual_objective

    @property
    def floor(self) -> float:
        """Smallest scale of the relative gap: it is relative to the larger of objective and floor.

        Above zero where the optimum can be zero (a regression whose targets all fit into the tube).
        Zero under constraints on (w, b), unless w = 0 is allowed and known to be optimal.
        """
        return float(self.model.objective_floor)

    @property
    def feasible_objective(self) -> float:
        """Objective of a machine that satisfies every constraint: an upper bound on the optimum.

        ``primal_objective`` where there are none, or where this machine satisfies them; infinite
        where no such machine was found.
        """
        return self.primal_objective if self.feasible is None else self.feasible.objective

    @property
    def distance(self) -> float:
        """Bound on the distance between objective and optimum, rounding excepted.

        The optimum is between ``dual_objective`` and ``feasible_objective``. ``primal_objective``
        need not be, if a constraint is missed.
        """
        return float(np.maximum(self.spread, abs(self.gap)))  # NaN stays NaN

    @property
    def spread(self) -> float:
        """Range of the three objectives that bound the optimum, largest minus smallest."""
        highest = np.maximum(self.primal_objective, self.feasible_objective)
        return float(highest - np.minimum(self.primal_objective, self.dual_objective))

    @property
    def relative_gap(self) -> float:
        """``distance / max(|primal objective|, floor)``; infinite if not computable.

        There is no ``max(1, ...)`` below: the optimum of a classifier is above zero, and with large
        features or a small C it is far below one. An absolute gap would then prove nothing. Where
        digits of the objectives cancel, ``gap_upper`` may be the smaller distance, and counts.
        """
        if not math.isfinite(self.distance):
            return math.inf
        return min(self.distance, self.gap_upper) / self.objective_scale

    @property
    def rigorous(self) -> bool:
        """Return whether ``gap_upper`` holds in exact arithmetic."""
        return self.enclosure is not None

    @property
    def gap_upper(self) -> float:
        """Upper bound on the objective minus the optimum, rounding included.

        Infinite where nothing is proved. With ``rigorous=True`` all of its own arithmetic is
        rounded outwards as well. A machine that misses constraints pays for the way to one that
        satisfies them; in exact arithmetic missing a constraint by however little leaves the
        optimum above the objective.
        """
        if self.enclosure is not None:
            return self.enclosure.gap_upper
        upper = SUM_ROUNDING * self.excess_upper + UNDERFLOW
        return upper if math.isfinite(upper) else math.inf

    @property
    def objective_scale(self) -> float:
        """Scale that duality gaps are relative to: the larger of abs(primal) and the floor."""
        return max(abs(self.primal_objective), self.floor, TINY)

    def passed(self, eps: float) -> bool:
        """Return whether ``relative_gap_upper`` and infeasibility are at most ``eps``."""
        return self.relative_gap_upper <= eps and self.infeasibility <= eps

    @property
    def relative_gap_upper(self) -> float:
        """``gap_upper / smallest_scale``, the gap that decides the verdict."""
        return self.gap_upper / self.smallest_scale if math.isfinite(self.gap_upper) else math.inf

    # --- the ball --------------------------------------------------------------------------------

    @property
    def weight_error(self) -> float:
        r"""Bound ``sqrt(2 gap / kappa)`` on the distance ``|w - w*|`` from the optimal weights.

        With a penalised intercept that of (w, b) together. An infeasible (w, b) of a hard margin
        adds its distance ``infeasibility * |w'|`` from the feasible multiple w' that the gap is
        about. Infinite where w is not determined (L1-norm). Where a given kernel matrix K has
        eigenvalues down to ``-delta``, w and w* are those of :math:`K + 2 \delta I`
        (``machines.accuracy``).
        """
        curvature = self.model.norm_curvature
        if not math.isfinite(self.gap_upper) or not curvature > 0.0:
            return math.inf
        scaling = 0.0
        if self.model.is_hard:
            hidden = self.objective_rounding
            upper = self.primal_objective + hidden * self.objective_scale
            short = self.infeasibility + hidden
            if self.enclosure is not None:
                upper, short = self.enclosure.primal_upper, 1.0 - self.enclosure.margin
            scaling = short * math.sqrt(2.0 * max(upper, 0.0) / curvature)
        if self.enclosure is None and self.feasible is not None:
            scaling = self.feasible.distance
        square = 2.0 * self.gap_upper / curvature + self.model.indefinite_term_bound(
            self.evaluation
        )
        return SUM_ROUNDING * (math.sqrt(square) + scaling)

    def decision_bounds(self, X: Samples, *, squares: ArrayLike | None = None) -> DecisionBounds:
        r"""Bound the decision values of the exact optimum from below and above, for every row of X.

        .. math::

            \lvert f^*(x) - f(x) \rvert \le \delta\, \lVert \phi(x) - c \rVert + \lvert b^* - b
            \rvert

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (m, d)
            What ``solution.decision_function`` takes.
        squares : array of shape (m,), optional
            ``k(x, x)``, which a precomputed kernel matrix does not hold.

        Returns
        -------
        DecisionBounds

        Raises
        ------
        InvalidDataError
            As ``decision_function``; or a precomputed kernel without ``squares``.
        InvalidParameterError
            An indefinite kernel that was repaired: k(x, x) of what it became is not known.
        """
        known = (self.weight_error, self.optimum)
        return decision_bounds(self.model, self.solution, *known, X, squares)

    def predict_certified(
        self, X: Samples, *, squares: ArrayLike | None = None
    ) -> CertifiedPredictions:
        """Predict the label of every row of X, and mark those proven to be the exact optimum's.

        Parameters
        ----------
        X, squares
            As for ``decision_bounds``.

        Returns
        -------
        CertifiedPredictions
            ``labels``, ``decided``, ``fraction_decided``.

        Raises
        ------
        InvalidParameterError
            The machine predicts numbers, not labels; or as ``decision_bounds``.
        InvalidDataError
            As ``decision_bounds``.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
        >>> proof = qpsvm.certify(problem, qpsvm.solve(problem))
        >>> proof.predict_certified([[-3.0], [1.0], [2.5]]).to_list()
        [-1, 'undecided', 1]
        """
        return certified(self.solution, self.decision_bounds(X, squares=squares))

    # --- what is known of the optimum ------------------------------------------------------------

    @cached_property
    def optimum(self) -> OptimumBounds | None:
        """Bounds on the optimal machine; None for one decision function per class."""
        if not isinstance(self.model, SupportVectorModel):
            return None
        with np.errstate(all="ignore"):
            return locate(self.model, self.evaluation, self.weight_error, rigorous=self.rigorous)

    @cached_property
    def screening(self) -> Screening:
        """The proven status of every dual variable: zero, free, at its bound, or undecided."""
        with np.errstate(all="ignore"):
            if self.optimum is None:
                return screen_classes(self.model, self.evaluation, self.weight_error)
            hidden = self.objective_rounding * self.objective_scale
            upper = max(self.gap_upper + self.dual_objective, self.primal_objective) + hidden
            if self.enclosure is not None:
                upper = self.enclosure.primal_upper
            return screen(self.model, self.evaluation, self.optimum, upper, self.relative_gap)

    @property
    def intercept_bounds(self) -> Interval | None:
        """Interval of all optimal intercepts; None for one decision function per class."""
        return None if self.optimum is None else self.optimum.intercept

    @property
    def intercept_is_unique(self) -> bool | None:
        """True if the optimal intercept is proven to be unique; False if not; None if unknown.

        True: it is in the objective, or a condition is proven to be met exactly (with a width, one
        of either sign). False: every condition is proven to be strictly on one side, and b can
        move, for the ``C_i`` as they are rounded and for those of the parameters.
        """
        if self.optimum is None or self.model.intercept != "free":
            return True
        if self.optimum.intercept_moves:
            return False
        if self.model.n_constraints:
            return None
        return True if fixes_intercept(self.model, self.screening) else None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        """Yield the lines that ``print(certificate)`` shows, the relative gap first."""
        how = "enclosed: the gap holds in exact arithmetic" if self.rigorous else "estimated"
        yield f"relative gap {self.relative_gap:.2e}"
        ends = self.dual_objective, self.feasible_objective
        if all(map(math.isfinite, ends)):
            yield f"  optimum in [{ends[0]:.12g}, {ends[1]:.12g}], up to rounding"
        else:
            yield "  optimum without bounds: an objective is not finite"
        yield (
            f"  objective {self.primal_objective:.12g}, at most {self.gap_upper:.1e} above the "
            "optimum, rounding included"
        )
        yield f"  rounding of the gap {self.rounding:.1e}, relative; {how}"
        if self.infeasibility > 0.0:
            yield f"  constraints are missed by {self.infeasibility:.1e}"
        if math.isfinite(self.weight_error):
            yield f"  weights within {self.weight_error:.1e} of the optimal ones"
        bounds = self.intercept_bounds
        if bounds is not None and all(map(math.isfinite, bounds)):
            lower, upper = bounds
            yield f"  intercept of every optimum in [{lower:.9g}, {upper:.9g}]"
        yield "  further: .screening, .decision_bounds(X), .to_dict()"

    def __repr__(self) -> str:
        return (
            f"Certificate(relative gap {self.relative_gap:.2e}; print it for the bounds, "
            ".to_dict() has all figures)"
        )

    def to_dict(self) -> dict[str, object]:
        """The figures by name, for JSON (infinities as they are)."""
        bounds = self.intercept_bounds
        return {
            "primal_objective": self.primal_objective,
            "dual_objective": self.dual_objective,
            "gap": self.gap,
            "gap_upper": self.gap_upper,
            "feasible_objective": self.feasible_objective,
            "rigorous": self.rigorous,
            "relative_gap": self.relative_gap,
            "repair": self.repair,
            "infeasibility": self.infeasibility,
            "intercept_interval": self.intercept_interval and list(self.intercept_interval),
            "intercept_bounds": bounds and list(bounds),
            "intercept_is_unique": self.intercept_is_unique,
            "rounding": self.rounding,
            "objective_rounding": self.objective_rounding,
            "weight_error": self.weight_error,
            "proven": self.screening.counts,
            "strictly_complementary": self.screening.strictly_complementary,
            "n_degenerate": len(self.screening.degenerate),
        }
