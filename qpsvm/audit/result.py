"""What an audit found."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qpsvm.audit.claims import Library, Problem, Solution
from qpsvm.audit.own_predictions import OwnPredictions
from qpsvm.audit.presentation import page, text
from qpsvm.audit.rounding import KernelRounding
from qpsvm.audit.verdict import sentence
from qpsvm.certificates import Certificate
from qpsvm.qp.kkt import Check
from qpsvm.verification import KKTReport

if TYPE_CHECKING:
    from qpsvm.reports import Page


@dataclass(frozen=True, eq=False)
class Optimum:
    """The exact optimum of a program, and how far a model is from it.

    Attributes
    ----------
    solution : SVMSolution or JointSolution
        Solved to a tenth of the audit's eps.
    excess : float
        ``(P - P*) / max(|P*|, floor)``: by how much the model's primal objective is above it.
    predictions_differ : int or None
        Training samples whose predicted label is another one. Samples that the optimum has on the
        boundary, up to sqrt(eps), count for neither side. None for a regression.
    decision_change : float
        Largest difference of the decision values of a training sample, in the model's own scale.
    """

    solution: Solution
    excess: float
    predictions_differ: int | None
    decision_change: float


@dataclass(frozen=True, eq=False)
class AuditedMachine:
    """One program of a model.

    Attributes
    ----------
    name : str
        What it tells apart; empty if the model is one machine.
    problem, solution : SVMProblem, SVMSolution (JointProblem, JointSolution)
        The program, and the model's solution in its scale.
    factor : float
        The model's own decision values are ``factor`` times those of the solution.
    report : KKTReport
        The verifier's report, with the certificate.
    optimum : Optimum or None
        None if it was not asked for.
    rounding : KernelRounding or None
        For libraries that keep the kernel in single precision.
    has_multipliers : bool
        Whether the model has dual variables of its own. If not, ``solution.alpha`` and
        ``solution.qp`` are those of the optimum: the model's weights are held against them.
    remarks : tuple of str
        What has to be known to read the report.
    """

    name: str
    problem: Problem
    solution: Solution
    factor: float
    report: KKTReport
    optimum: Optimum | None = None
    rounding: KernelRounding | None = None
    has_multipliers: bool = True
    remarks: tuple[str, ...] = ()

    def with_check(self, check: Check) -> AuditedMachine:
        """The same machine with one more check in its report."""
        report = replace(self.report, checks=(*self.report.checks, check))
        return replace(self, report=report)

    @property
    def passed(self) -> bool:
        """The verifier's verdict."""
        return self.report.passed

    @property
    def certificate(self) -> Certificate | None:
        """Bounds on the optimum; None if the model's numbers allow none."""
        return self.report.certificate

    @property
    def relative_gap(self) -> float:
        """The certified relative gap."""
        return self.report.relative_gap

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays, in plain Python types, for JSON."""
        best, rounding = self.optimum, self.rounding
        return {
            "name": self.name,
            "factor": self.factor,
            "has_multipliers": self.has_multipliers,
            **self.report.to_dict(),
            "optimum": best
            and {
                "status": best.solution.status.value,
                "excess": best.excess,
                "predictions_differ": best.predictions_differ,
                "decision_change": best.decision_change,
            },
            "rounding": rounding
            and {
                "gap": rounding.gap,
                "rounded_gap": rounding.rounded_gap,
                "share": rounding.share,
            },
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True, eq=False)
class Audit:
    """What ``qpsvm.audit`` found.

    Attributes
    ----------
    model : str
        What was audited, in words.
    library : Library
        Who fitted it.
    eps : float
        The relative accuracy asked for.
    machines : tuple of AuditedMachine
        One per program; several for a model of several classes.
    predictions_differ : int or None
        Training samples for which the whole model predicts another label than the exact optima of
        its programs do. None for a regression, and where no optimum was asked for.
    remarks : tuple of str
        What was assumed about the model.
    own_predictions : OwnPredictions or None
        What the model's own ``predict`` says of the training data, beside its stored numbers; None
        for what has no ``predict``.
    """

    model: str
    library: Library
    eps: float
    machines: tuple[AuditedMachine, ...]
    predictions_differ: int | None = None
    remarks: tuple[str, ...] = ()
    own_predictions: OwnPredictions | None = None

    @property
    def passed(self) -> bool:
        """Every machine passed, and there were some."""
        return bool(self.machines) and all(machine.passed for machine in self.machines)

    @property
    def relative_gap(self) -> float:
        """The largest certified relative gap of all machines."""
        return max((machine.relative_gap for machine in self.machines), default=math.inf)

    @property
    def worst(self) -> AuditedMachine:
        """The machine that decides the verdict."""
        return max(self.machines, key=lambda m: (not m.passed, m.relative_gap, m.report.worst))

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return max(machine.problem.data.n_given for machine in self.machines)

    @property
    def verdict(self) -> str:
        """What was found, why, and what follows for predictions, in one sentence."""
        return sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays, in plain Python types, for JSON."""
        own = self.own_predictions
        return {
            "model": self.model,
            "library": vars(self.library).copy(),
            "passed": self.passed,
            "verdict": self.verdict,
            "eps": self.eps,
            "relative_gap": self.relative_gap,
            "predictions_differ": self.predictions_differ,
            "own_predictions": own and own.to_dict(),
            "machines": [machine.to_dict() for machine in self.machines],
            "remarks": list(self.remarks),
        }

    def report(self, source: str = "") -> Page:
        """A page with one report per machine, for ``qpsvm.reports.write``.

        Parameters
        ----------
        source : str
            Where the data came from, in words.
        """
        return page(self, source)

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "failed"
        return (
            f"Audit({verdict} at eps={self.eps:g}, {self.model}, relative gap "
            f"{self.relative_gap:.2e})"
        )
