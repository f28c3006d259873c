"""Bounds on the optimum of a problem on samples in chunks, and the verdict on a machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.chunked.dual_bound import DualBound
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.sums import Losses, Sum
from qpsvm.chunked.template import Template
from qpsvm.chunked.totals import Totals
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.balls import UNDERFLOW
from qpsvm.numerics.precision import EPS, TINY


@dataclass(frozen=True)
class ChunkedCertificate:
    """Bounds on the optimum of a problem on samples in chunks.

    The optimum is between ``dual_objective`` and ``primal_objective``, up to ``rounding``.

    Attributes
    ----------
    primal_objective : float
        Of the machine.
    dual_objective : float
        Of a feasible dual point; minus infinity if there is none.
    rounding : float
        Bound on the rounding of both, absolute.
    floor : float
        Smallest scale of the relative gap.
    norm_weight : float
        kappa.
    """

    primal_objective: float
    dual_objective: float
    rounding: float
    floor: float
    norm_weight: float

    @classmethod
    def of(
        cls, form: Template, totals: Totals, primal: float, rounding: float, dual: DualBound
    ) -> ChunkedCertificate:
        """The certificate of two objectives with their roundings."""
        floor = _floor(form, totals)
        return cls(primal, dual.objective, rounding + dual.rounding, floor, form.norm_weight)

    @property
    def gap(self) -> float:
        """Primal objective minus dual objective."""
        return self.primal_objective - self.dual_objective

    @property
    def gap_upper(self) -> float:
        """Upper bound on the objective minus the optimum, rounding and underflow included."""
        upper = abs(self.gap) + self.rounding + UNDERFLOW
        return upper if math.isfinite(upper) else math.inf

    @property
    def scale(self) -> float:
        """Scale that gaps are relative to: the larger of objective (its magnitude) and floor."""
        return max(abs(self.primal_objective), self.floor, TINY)

    @property
    def relative_gap(self) -> float:
        """The relative duality gap, without its rounding."""
        gap = abs(self.gap) / self.scale
        return gap if math.isfinite(gap) else math.inf

    @property
    def relative_gap_upper(self) -> float:
        """Upper bound on the relative duality gap, rounding included: it decides the verdict."""
        return self.gap_upper / self.scale

    @property
    def weight_error(self) -> float:
        """Bound ``sqrt(2 gap / kappa)`` on the distance from the optimal weights."""
        return math.sqrt(2.0 * self.gap_upper / self.norm_weight)

    def passed(self, eps: float) -> bool:
        """Return whether ``relative_gap_upper`` is at most ``eps``."""
        return bool(self.relative_gap_upper <= eps)

    def __str__(self) -> str:
        return "\n".join(
            [
                f"relative gap {self.relative_gap_upper:.2e}, rounding included",
                f"  optimum in [{self.dual_objective:.12g}, {self.primal_objective:.12g}], up to "
                f"{self.rounding:.1e} of rounding",
                f"  weights within {self.weight_error:.1e} of the optimal ones",
            ]
        )

    def to_dict(self) -> dict[str, object]:
        """All figures by name, for JSON; infinities stay infinities."""
        return {
            "primal_objective": self.primal_objective,
            "dual_objective": self.dual_objective,
            "gap": self.gap,
            "gap_upper": self.gap_upper,
            "relative_gap": self.relative_gap,
            "relative_gap_upper": self.relative_gap_upper,
            "rounding": self.rounding,
            "weight_error": self.weight_error,
        }


@dataclass(frozen=True)
class ChunkedReport:
    """The verdict on a machine on samples in chunks.

    Attributes
    ----------
    eps : float
    certificate : ChunkedCertificate
    problem : str
        In one line.
    """

    eps: float
    certificate: ChunkedCertificate
    problem: str

    @property
    def passed(self) -> bool:
        """Return whether the machine is proven to be optimal to a relative gap of ``eps``."""
        return self.certificate.passed(self.eps)

    @property
    def relative_gap(self) -> float:
        """The certified relative gap."""
        return self.certificate.relative_gap

    def to_dict(self) -> dict[str, object]:
        """The report as a dictionary of plain Python types, for JSON."""
        return {
            "problem": self.problem,
            "passed": self.passed,
            "eps": self.eps,
            "certificate": self.certificate.to_dict(),
        }

    def __str__(self) -> str:
        c = self.certificate
        return "\n".join(
            [
                f"{'PASS' if self.passed else 'FAIL'} at eps={self.eps:g}: {self.problem}",
                f"  certified gap {c.gap_upper:.2e}, relative {c.relative_gap_upper:.2e}",
                f"  optimum in [{c.dual_objective:.12g}, {c.primal_objective:.12g}], up to "
                f"{c.rounding:.1e} of rounding",
            ]
        )


def primal_objective(
    form: Template, machine: Machine, results: Sequence[Losses], which: int = 0
) -> tuple[float, float]:
    """The primal objective of a machine from the losses of all chunks, and its rounding.

    The bound is of the first machine.
    """
    total = Sum(())
    for result in results:
        total.add(result.losses[which])
    w, b, t = machine.coef, machine.intercept, machine.width
    penalty = 0.5 * form.norm_weight * float(w @ w)
    if form.intercept == "penalized":
        penalty += 0.5 * b * b
    own = penalty + form.intercept_price * b + form.width_price * t
    objective = float(own + total.value)
    sizes = penalty + abs(form.intercept_price * b) + abs(form.width_price * t) + abs(objective)
    rounding = sum(result.loss_rounding for result in results)
    return objective, float(rounding + (len(w) + len(results) + 16) * EPS * sizes)


def _floor(form: Template, totals: Totals) -> float:
    """Smallest scale of a gap, above zero where w = 0 may be optimal.

    As ``PrimalDualPair.objective_floor`` in ``qpsvm.machines.primal_dual``, with the spread of the
    sample of the rows, which is that of all rows or smaller, about.
    """
    if form.relative_to_spread:
        unit = form.unit * totals.squared_spread
        return min(1.0, 0.5 * MACHINES.smallest_weights**2 * form.unit * unit)
    if form.task != "regression":
        return 0.0
    half = 0.5 * (totals.largest_target - totals.smallest_target)
    if form.intercept != "free":
        half = max(abs(totals.largest_target), abs(totals.smallest_target))
    if half > -float(np.max(form.offsets)):
        return 0.0
    largest = max(totals.largest_square, TINY)
    return min(1.0, 0.5 * form.norm_weight * (MACHINES.least_change * form.unit) ** 2 / largest)
