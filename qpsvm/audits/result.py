"""What an audit found."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from qpsvm.audits.claims import Library, Problem, Solution
from qpsvm.audits.own_predictions import NAME as OWN_PREDICTIONS
from qpsvm.audits.own_predictions import OwnPredictions
from qpsvm.audits.presentation import page, text
from qpsvm.audits.rounding import KernelRounding
from qpsvm.audits.verdict import evidence_of_machine, evidence_of_model
from qpsvm.certificates import Certificate, PredictionComparison
from qpsvm.display import short_repr, wrapped
from qpsvm.qp.kkt import Check
from qpsvm.reports.assessment import predictions_of_machine
from qpsvm.reports.grade import Evidence, Grade
from qpsvm.verification import KKTReport

if TYPE_CHECKING:
    from qpsvm.reports import Page


@short_repr
@dataclass(frozen=True, eq=False)
class Optimum:
    """The exact optimum of a program, and how far a model is from it.

    Attributes
    ----------
    solution : SVMSolution or JointSolution
        Solved to a tenth of the audit's eps.
    proof : Certificate
        Of that solution: it bounds every figure of the exact optimum. Rigorous where that is
        affordable.
    excess : float
        ``(P - P^) / max(|P^|, floor)``: by how much the model's primal objective is above that of
        the solution.
    least_excess : float
        The model's objective is at least that far above the exact optimum, with what rounding may
        hide taken off. Zero where nothing is proven.
    predictions : PredictionComparison
        Of the model's training predictions with those of the *exact* optimum, sample by sample.
    decision_change : float
        Largest difference of the decision values of a training sample from those of the solution,
        in the model's own scale. ``predictions.largest_change`` bounds that from the exact optimum.
    """

    solution: Solution
    proof: Certificate
    excess: float
    least_excess: float
    predictions: PredictionComparison
    decision_change: float

    @property
    def predictions_differ(self) -> int | None:
        """Training labels that are proven to be others than the exact optimum's."""
        return self.predictions.n_different


@short_repr
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

    @cached_property
    def predictions(self) -> PredictionComparison | None:
        """How many training predictions of this program are proven to be the exact optimum's.

        Without ``optimum`` the model's own certificate says what is known; None if it says nothing.
        """
        if any(check.name == OWN_PREDICTIONS and not check.passed for check in self.report.checks):
            return None  # what is compared are predictions of the stored numbers
        if self.optimum is not None:
            return self.optimum.predictions
        return predictions_of_machine(self.problem, self.report, self.certificate)

    @cached_property
    def evidence(self) -> Evidence:
        """What the grade follows from."""
        return evidence_of_machine(self)

    @property
    def grade(self) -> Grade:
        """How good the model's answer to this program is proven to be."""
        return self.evidence.grade

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays, in plain Python types, for JSON."""
        best, rounding = self.optimum, self.rounding
        return {
            "name": self.name,
            "factor": self.factor,
            "has_multipliers": self.has_multipliers,
            "grade": self.grade.value,
            **self.report.to_dict(),
            "predictions": self.predictions and self.predictions.to_dict(),
            "optimum": best
            and {
                "status": best.solution.status.value,
                "excess": best.excess,
                "relative_gap": best.proof.relative_gap,
                "least_excess": best.least_excess,
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
    combined : PredictionComparison or None
        Of the training predictions of all machines together; None for a single machine, and where
        no optimum was asked for.
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
    combined: PredictionComparison | None = None
    remarks: tuple[str, ...] = ()
    own_predictions: OwnPredictions | None = None

    @property
    def passed(self) -> bool:
        """Every machine passed, and there were some."""
        return bool(self.machines) and all(machine.passed for machine in self.machines)

    @property
    def predictions(self) -> PredictionComparison | None:
        """How many training predictions of the whole model are proven to be the exact optimum's."""
        if self.own_predictions is not None and not self.own_predictions.passed:
            return None  # what is compared are predictions of the stored numbers
        return self.machines[0].predictions if len(self.machines) == 1 else self.combined

    @property
    def predictions_differ(self) -> int | None:
        """Training labels that are proven to be others than the exact optimum's.

        None for a regression, and where nothing is known.
        """
        return None if self.predictions is None else self.predictions.n_different

    @cached_property
    def evidence(self) -> Evidence:
        """What the grade follows from."""
        return evidence_of_model(self)

    @property
    def grade(self) -> Grade:
        """How good the model is proven to be, in one of five grades."""
        return self.evidence.grade

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
        """The headline: what was found, why, and what is proven of predictions, in one sentence."""
        return self.evidence.headline.sentence

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays, in plain Python types, for JSON."""
        own = self.own_predictions
        return {
            "model": self.model,
            "library": vars(self.library).copy(),
            "passed": self.passed,
            "grade": self.grade.value,
            "verdict": self.verdict,
            "eps": self.eps,
            "relative_gap": self.relative_gap,
            "predictions": self.predictions and self.predictions.to_dict(),
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
        return wrapped(
            f"Audit({verdict} at eps={self.eps:g}, {self.grade.value}, {self.model}, relative gap "
            f"{self.relative_gap:.2e}; print it for every machine)"
        )
