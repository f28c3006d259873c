"""Certificates of reductions; the worst machine decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.certificates.gap import Certificate
from qpsvm.certificates.predictions import CertifiedPredictions, DecisionBounds, certified
from qpsvm.data.training_sets import MulticlassTrainingSet
from qpsvm.display import first_lines
from qpsvm.machines.reduced import CombinationRule, ReducedSolution
from qpsvm.numerics.arguments import Samples

MACHINES = 18
"""Machines that are printed: a screen has room for them and a few notes."""


@dataclass(frozen=True, eq=False)
class ReducedCertificate:
    """The certificates of a reduction's two-class machines.

    Attributes
    ----------
    names : tuple of str
    certificates : tuple of Certificate
    reduction : OneVsRest or OneVsOne
    data : MulticlassTrainingSet
    """

    names: tuple[str, ...]
    certificates: tuple[Certificate, ...]
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
