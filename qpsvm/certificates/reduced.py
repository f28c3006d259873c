"""Certificates and reports of reductions; the worst machine decides.

What a single certificate and a single report look like is not known here, only what they are asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.certificates.predictions import CertifiedPredictions, DecisionBounds, certified
from qpsvm.data.training_sets import MulticlassTrainingSet
from qpsvm.display import LINES, first_lines
from qpsvm.machines.reduced import CombinationRule, ReducedSolution
from qpsvm.numerics.arguments import Samples

MACHINES = 18
"""Machines that are printed: a screen has room for them and a few notes."""


class Proof(Protocol):
    """Protocol of the certificate of one machine of a reduction."""

    @property
    def solution(self) -> Any: ...
    @property
    def relative_gap(self) -> float: ...
    def passed(self, eps: float) -> bool: ...
    def decision_bounds(
        self, X: Samples, *, squares: ArrayLike | None = None
    ) -> DecisionBounds: ...
    def to_dict(self) -> dict[str, object]: ...


class Verdict(Protocol):
    """Protocol of the report on one machine of a reduction."""

    @property
    def passed(self) -> bool: ...
    @property
    def relative_gap(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def worst(self) -> float: ...
    def to_dict(self) -> dict[str, object]: ...


AnyProof = TypeVar("AnyProof", bound=Proof)
AnyVerdict = TypeVar("AnyVerdict", bound=Verdict)


@dataclass(frozen=True, eq=False)
class ReducedCertificate(Generic[AnyProof]):
    """The certificates of a reduction's two-class machines.

    Attributes
    ----------
    names : tuple of str
    certificates : tuple of Certificate
    reduction : OneVsRest or OneVsOne
    data : MulticlassTrainingSet
    """

    names: tuple[str, ...]
    certificates: tuple[AnyProof, ...]
    reduction: CombinationRule
    data: MulticlassTrainingSet

    @property
    def relative_gap(self) -> float:
        """The largest relative gap of the machines."""
        return max(proof.relative_gap for proof in self.certificates)

    def __str__(self) -> str:
        width = max(len(name) for name in ("machine", *self.names))
        worst_first = sorted(
            zip(self.names, self.certificates, strict=True), key=lambda part: -part[1].relative_gap
        )
        rows = [f"  {name:<{width}} {proof.relative_gap:>12.2e}" for name, proof in worst_first]
        lines = [f"relative gap {self.relative_gap:.2e}, the largest of {len(rows)} machines"]
        lines.append(f"  {'machine':<{width}} {'relative gap':>12}")
        more = "machines with smaller gaps: .names and .certificates"
        return "\n".join(lines + first_lines(rows, MACHINES, more))

    def __repr__(self) -> str:
        return (
            f"ReducedCertificate(relative gap {self.relative_gap:.2e} of {len(self.names)} "
            "machines; print it for each, .to_dict() has all)"
        )

    def passed(self, eps: float) -> bool:
        """Return whether every certificate passes at ``eps``."""
        return all(proof.passed(eps) for proof in self.certificates)

    def decision_bounds(self, X: Samples, *, squares: ArrayLike | None = None) -> DecisionBounds:
        """Bound one value per class, shape (m, k); see ``Certificate.decision_bounds``."""
        return self.combined([p.decision_bounds(X, squares=squares) for p in self.certificates])

    def combined(self, bounds: Sequence[DecisionBounds]) -> DecisionBounds:
        """Combine bounds of pairwise machines to one decision value per class, shape (m, k)."""
        found, k = DecisionBounds.side_by_side(bounds), len(self.data.classes)
        with np.errstate(all="ignore"):
            ends = self.reduction.combine_bounds(found.lower, found.upper, k)
            return DecisionBounds(self.reduction.combine(found.values, k), *ends)

    def predict_certified(
        self, X: Samples, *, squares: ArrayLike | None = None
    ) -> CertifiedPredictions:
        """Predict labels and mark the proven ones; see ``Certificate.predict_certified``."""
        parts = tuple(proof.solution for proof in self.certificates)
        machine = ReducedSolution(parts, self.data, self.reduction)
        bounds = self.decision_bounds(X, squares=squares)
        return certified(machine, bounds, machine.predict(X))

    def to_dict(self) -> dict[str, object]:
        """The figures of every machine by its name, for JSON (infinities as they are)."""
        parts = zip(self.names, self.certificates, strict=True)
        return {
            "relative_gap": self.relative_gap,
            "certificates": [{"name": name} | proof.to_dict() for name, proof in parts],
        }


@dataclass(frozen=True, eq=False)
class ReducedReport(Generic[AnyVerdict]):
    """The reports on a reduction's two-class machines, and errors in their combination.

    Attributes
    ----------
    eps : float
        The relative accuracy asked for.
    problem : str
        All of it in one line.
    names : tuple of str
    reports : tuple of KKTReport
        Empty where the solution belongs to another problem.
    notes : tuple of str
        Why it does; each of them fails the verdict.
    """

    eps: float
    problem: str
    names: tuple[str, ...]
    reports: tuple[AnyVerdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Return whether there are reports, all pass, and the machines belong together."""
        return bool(self.reports) and not self.notes and all(r.passed for r in self.reports)

    @property
    def relative_gap(self) -> float:
        """The largest relative gap of the machines; infinite if there are none."""
        return max((report.relative_gap for report in self.reports), default=math.inf)

    @property
    def worst(self) -> float:
        """The worst check of all machines, in the units of ``KKTReport.worst``."""
        return max((report.worst for report in self.reports), default=math.inf)

    def to_dict(self) -> dict[str, object]:
        """The reports by the names of their machines, in plain Python types, for JSON."""
        parts = zip(self.names, self.reports, strict=False)
        return {
            "problem": self.problem,
            "passed": self.passed,
            "eps": self.eps,
            "relative_gap": self.relative_gap,
            "reports": [{"name": name} | report.to_dict() for name, report in parts],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        width = max(len(name) for name in ("machine", *self.names))
        lines = [
            f"{'PASS' if self.passed else 'FAIL'} at eps={self.eps:g}: {self.problem}",
            f"  {'machine':<{width}} {'objective':>14} {'relative gap':>12} {'worst check':>11}",
        ]
        parts = list(zip(self.names, self.reports, strict=False))
        if len(parts) > MACHINES:
            parts.sort(key=lambda part: (part[1].passed, -part[1].worst))
        rows = [
            f"  {name:<{width}} {report.objective:>14.8g} {report.relative_gap:>12.2e} "
            f"{report.worst:>11.2e}" + ("" if report.passed else "  FAIL")
            for name, report in parts
        ]
        lines += first_lines(rows, MACHINES, "machines that are no worse: .names and .reports")
        notes = [f"  note: {note}" for note in self.notes]
        return "\n".join(lines + first_lines(notes, LINES - len(lines), "further notes: .notes"))

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "failed"
        gap = f"relative gap {self.relative_gap:.2e}"
        return f"ReducedReport({verdict} at eps={self.eps:g}, {gap}; print it for every machine)"
