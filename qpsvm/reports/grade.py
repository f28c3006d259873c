"""Grades of an answer, five of them, each with a sentence that gives the reason.

========================  ======================================================================
``OPTIMAL``               every check passed and the distance from the optimum is bounded: the
                          objective is proven to be the best possible one, to ``eps``
``SAME_PREDICTIONS``      not proven optimal, but every training prediction is the optimum's
``BOUNDED``               neither of these, but the objective is proven to be within a gap of the
                          optimum; the labels that this leaves undecided are counted
``UNPROVEN``              there is no bound on the distance from the optimum
``WRONG``                 labels are proven to differ from the optimum's, the objective is far above
                          that of a computed optimum, a hard condition or constraint is violated,
                          or it is the answer to another problem
========================  ======================================================================

A grade depends only on proofs, so it is never better than the evidence. ``passed`` is the
verifier's verdict: only ``OPTIMAL`` passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.certificates import Certificate, PredictionComparison
from qpsvm.certificates.comparison import from_bounds, from_table
from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.data import RegressionTrainingSet
from qpsvm.display import short_repr
from qpsvm.exceptions import QPSVMError
from qpsvm.formulations.ranking import RankedTrainingSet
from qpsvm.kernels import Precomputed
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.problem import MachineProblem
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import Stored, stored_values
from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports.numbers import at_most, residual
from qpsvm.verification import KKTReport
from qpsvm.verification.report import ReducedReport

Tone: TypeAlias = Literal["good", "neutral", "bad"]


class Grade(Enum):
    """The proven quality of an answer, the best grade first; values are used in the JSON.

    Attributes
    ----------
    title : str
        The grade in one or two words, for headlines.
    description : str
        The grade as a phrase that completes a title, such as "the same predictions as ...".
    tone : "good", "neutral" or "bad"
        Tone of the grade (good or bad news), by which formats choose colours.
    """

    title: str
    description: str
    tone: Tone

    OPTIMAL = "optimal", "OPTIMAL", "optimal", "good"
    SAME_PREDICTIONS = (
        "same_predictions",
        "SAME PREDICTIONS",
        "same predictions as the optimum",
        "good",
    )
    BOUNDED = "bounded", "WITHIN A BOUND", "within a bound of the optimum", "neutral"
    UNPROVEN = "unproven", "NOT PROVEN", "nothing proven", "bad"
    WRONG = "wrong", "WRONG", "wrong", "bad"

    def __new__(cls, value: str, title: str, description: str, tone: Tone) -> Grade:
        grade = object.__new__(cls)
        grade._value_ = value
        grade.title, grade.description, grade.tone = title, description, tone
        return grade


WORDS: dict[str, Tone] = {"PASS": "good", "FAIL": "bad"}
WORDS |= {grade.title: grade.tone for grade in Grade}


def tone_of(word: str) -> Tone:
    """Tone of a grade's title, of PASS or of FAIL; neutral for any other word."""
    return WORDS.get(word, "neutral")


@short_repr
@dataclass(frozen=True)
class Headline:
    """The headline of a report: the grade, and one sentence about it."""

    grade: Grade
    sentence: str


def worst(headlines: Sequence[Headline]) -> Headline:
    """The first headline with the worst grade."""
    return max(headlines, key=lambda headline: list(Grade).index(headline.grade))


@short_repr
@dataclass(frozen=True)
class Evidence:
    """The measured facts from which a grade follows.

    Attributes
    ----------
    passed : bool
        The verifier's verdict.
    eps : float
        The relative accuracy asked for.
    relative_gap : float
        Certified; of several machines the largest. Infinite where it is not known.
    gap_upper : float
        ``Certificate.gap_upper``; of several machines the largest. Infinite: nothing is proven.
    infeasibility : float
        By how much a condition or constraint that must hold is missed, relative.
    predictions : PredictionComparison or None
        Of the training samples with the exact optimum; None where they were not compared.
    excess : float or None
        How far the objective is above the optimum, in the scale of the gap; None where no optimum
        was computed, or where it is not proven to be more than eps above.
    above : str
        The same in words, relative to the optimum: "17%"; empty where that may be zero.
    failed : Check or None
        The worst check, if one failed.
    refused : str
        Why this is no answer to this problem at all; empty if it may be one.
    finding : str
        What the model does that its stored numbers do not say; empty if nothing is known.
    whose : str
        The machine that gap and excess are about, if there are several: ``" of '0 against 1'"``.
    gap_name : str
        What ``relative_gap`` is.
    noun : str
        What the counts of ``predictions`` are about.
    reasons : tuple of str
        What the gap is due to, where that is known.
    wrong_excess : float
        Proven to be more than this share above the optimum, an objective is wrong: users who round
        their results to two digits see the difference. Smaller ones are bounded.
    """

    passed: bool
    eps: float
    relative_gap: float
    gap_upper: float
    infeasibility: float = 0.0
    predictions: PredictionComparison | None = None
    excess: float | None = None
    above: str = ""
    failed: Check | None = None
    refused: str = ""
    finding: str = ""
    whose: str = ""
    gap_name: str = "certified relative gap"
    noun: str = "prediction"
    reasons: tuple[str, ...] = ()
    wrong_excess: float = 0.01

    @property
    def grade(self) -> Grade:
        """The best grade that the evidence allows."""
        compared = self.predictions
        if self.refused or self.finding or self.infeasibility > self.eps:
            return Grade.WRONG
        if not (math.isfinite(self.gap_upper) and self.infeasibility <= self.eps):
            return Grade.UNPROVEN  # also where something is not a number
        if self.passed:
            return Grade.OPTIMAL
        if compared is not None and compared.n_different:
            return Grade.WRONG
        if compared is not None and compared.all_same:
            return Grade.SAME_PREDICTIONS
        is_far = self.excess is not None and self.excess > self.wrong_excess
        return Grade.WRONG if is_far else Grade.BOUNDED

    @property
    def headline(self) -> Headline:
        """The grade, and one sentence with its reason, the most important clause first."""
        compared: tuple[str, ...] = ()
        if self.predictions is not None:
            compared = prediction_clauses(self.predictions, self.noun)
        grade, proven = self.grade, "" if self.excess is not None else "proven "
        not_optimal = f"Not {proven}optimal to {self.eps:g}"
        clauses: tuple[str, ...]
        match grade:
            case Grade.OPTIMAL:
                what = f"the {self.gap_name}{self.whose} is {residual(self.relative_gap)}"
                clauses = (f"Optimal: {what} (allowed {self.eps:g})", *compared)
            case Grade.SAME_PREDICTIONS:
                first, *more = compared
                first = f"{not_optimal}, but {first}"
                clauses = (first, *more, self._distance(), *self.reasons)
            case Grade.BOUNDED:
                clauses = (f"{not_optimal}: {self._distance()}", *self.reasons, *compared)
            case Grade.UNPROVEN:
                first = "Not proven: no bound on the distance from the optimum could be computed"
                if self.failed is not None:
                    first += f" ({_missed(self.failed, ', ')})"
                clauses = (first, *self.reasons)
            case Grade.WRONG:
                clauses = self._wrong(compared)
        return Headline(grade, "; ".join(clauses) + ".")

    def _wrong(self, compared: tuple[str, ...]) -> tuple[str, ...]:
        if self.refused:
            return (f"Not an answer to this problem: {self.refused.rstrip('.')}",)
        if self.finding:
            distance = replace(self, failed=None)._distance()  # which is what was found
            return (self.finding.rstrip("."), f"for its stored numbers {distance}")
        if self.infeasibility > self.eps:
            missed = at_most(self.infeasibility)
            first = f"Not feasible: a condition that must hold is missed by {missed} of its size"
            return (first, *compared)
        found, distance = self.predictions, self._distance()
        if found is not None and found.n_different:
            labels = f"training {self.noun}{'s' if found.n_samples != 1 else ''}"
            differ = f"{found.n_different:,} of {found.n_samples:,} {labels} proven to differ"
            first = f"Not optimal: {differ} from the exact optimum's"
            return (first, distance, *self.reasons, *compared)
        return (f"Not optimal: {distance}", *self.reasons, *compared)

    def _distance(self) -> str:
        """Clause about the distance from the optimum, or about the failed check."""
        gap, name = residual(self.relative_gap), f"the {self.gap_name}"
        if self.relative_gap <= self.eps and self.failed is not None:
            return f"{name}{self.whose} is {gap}, but {_missed(self.failed, ' (')})"
        allowed = f"allowed {self.eps:g}"
        if self.above:
            above = f"the objective{self.whose} exceeds the optimum by {self.above}"
            return f"{above} ({self.gap_name} {gap}, {allowed})"
        return f"{name}{self.whose} is {gap} ({allowed})"


def _missed(check: Check, separator: str) -> str:
    name, scaled = check.name.replace("_", " "), residual(check.scaled)
    return f"{name} is {scaled}{separator}allowed {residual(check.tolerance)}"


# --- the clauses about predictions ---------------------------------------------------------------

ESTIMATED = " (rounding is estimated, not enclosed)"
"""What a claim that is not rigorous has to say."""


SUBJECTS = {
    "prediction": "no training sample's decision value",
    "pair order": "no training pair's difference of decision values",
}
"""What ``largest_change`` is about, by what is predicted."""


def prediction_clauses(compared: PredictionComparison, noun: str = "prediction") -> tuple[str, ...]:
    """Clauses that count proven predictions and bound the change of decision values.

    Parameters
    ----------
    compared : PredictionComparison
    noun : "prediction" or "pair order"
        What the counts are about.

    Examples
    --------
    >>> prediction_clauses(PredictionComparison(3, 3, 0, 0.5, rigorous=True))
    ('all 3 training predictions are proven to be those of the exact optimum',)
    """
    basis, n = "" if compared.rigorous else ESTIMATED, compared.n_samples
    change = compared.largest_change
    moves = ""
    if math.isfinite(change):
        subject = "no training prediction" if compared.n_same is None else SUBJECTS[noun]
        moves = f"{subject} is farther than {at_most(change)} from the exact optimum's"
    if compared.n_same is None:
        unknown = "how far training predictions are from the exact optimum's is not known"
        return (moves + basis if moves else unknown,)
    if compared.all_same:
        rows = f"all {n:,} training {noun}s are" if n > 1 else f"the training {noun} is"
        those = "those" if n > 1 else "that"
        return (f"{rows} proven to be {those} of the exact optimum{basis}",)
    counts = (
        f"{compared.n_same:,} of {n:,} training {noun}s proven to be those of the exact optimum, "
        f"{compared.n_different:,} proven to differ, {compared.n_undecided:,} undecided at this "
        "accuracy"
    )
    apart = compared.n_computed_differ
    if apart:
        gap = compared.computed_gap
        within = "" if gap is None else f" to a relative gap of {residual(gap)}"
        counts += f" ({apart:,} of these differ from an optimum computed{within})"
    return (counts + basis, moves) if moves else (counts + basis,)


# --- the evidence ---------------------------------------------------------------------------------

FEASIBILITY = ("inequality", "equality", "lower_bound", "upper_bound")
"""The checks of a bare program that are about its own rows and bounds."""


OF_FILES = "predictions"
"""Name of the check that a model file predicts by the solution that it states."""

CHANGED = "The file predicts with other numbers than those it states as its solution"


def _finding(verified: KKTReport | ReducedReport) -> str:
    """Report that a model file predicts otherwise than its stored solution; else empty."""
    if isinstance(verified, KKTReport):
        changed = any(c.name == OF_FILES and not c.passed for c in verified.checks)
        return CHANGED if changed else ""
    note = verified.notes[0] if verified.reports and verified.notes else ""
    return f"{note[:1].upper()}{note[1:]}"


def evidence_of_machine(
    problem: MachineProblem,
    verified: KKTReport,
    proof: Certificate | None,
    predictions: PredictionComparison | None,
) -> Evidence:
    """Collect the evidence about one machine.

    Parameters
    ----------
    problem : SVMProblem or JointProblem
    verified : KKTReport
    proof : Certificate or None
        None: nothing could be measured.
    predictions : PredictionComparison or None
    """
    if proof is None:
        return _refused(verified, ("its numbers cannot be evaluated", *verified.notes)[-1])
    return Evidence(
        verified.passed,
        verified.eps,
        proof.relative_gap_upper,
        proof.gap_upper,
        proof.infeasibility,
        predictions,
        failed=_worst_failed(verified.checks),
        finding=_finding(verified),
        noun="pair order" if isinstance(problem.data, RankedTrainingSet) else "prediction",
    )


def evidence_of_program(verified: KKTReport) -> Evidence:
    """Collect the evidence about a bare program."""
    found = verified.bound
    if found is None:
        return _refused(verified, (*verified.notes, "its objectives are not finite numbers")[0])
    missed = [c.scaled for c in verified.checks if c.name in FEASIBILITY and not c.passed]
    gap, infeasibility = (found.relative_gap, found.gap_upper), max(missed, default=0.0)
    failed = _worst_failed(verified.checks)
    return Evidence(verified.passed, verified.eps, *gap, infeasibility, failed=failed)


def evidence_of_machines(
    verified: ReducedReport,
    parts: Sequence[Evidence],
    predictions: PredictionComparison | None,
) -> Evidence:
    """Collect the evidence about several machines together.

    Parameters
    ----------
    verified : ReducedReport
    parts : sequence of Evidence
        That about each of the machines.
    predictions : PredictionComparison or None
        Of all machines together.
    """
    if not parts:
        return _refused(verified, (*verified.notes, "there is no machine")[0])
    found = evidence_together(verified.names, verified.reports, parts, predictions)
    finding = _finding(verified)
    return replace(
        found, passed=verified.passed, relative_gap=verified.relative_gap, finding=finding
    )


def evidence_together(
    names: Sequence[str],
    reports: Sequence[KKTReport],
    parts: Sequence[Evidence],
    predictions: PredictionComparison | None,
) -> Evidence:
    """Collect the evidence about machines: that of the worst one, with the largest bounds of all.

    Parameters
    ----------
    names : sequence of str
    reports : sequence of KKTReport
    parts : sequence of Evidence
        About each machine.
    predictions : PredictionComparison or None
        Of all machines together.
    """

    def badness(i: int) -> tuple[bool, float, float]:
        return not reports[i].passed, reports[i].relative_gap, reports[i].worst

    worst = max(range(len(parts)), key=badness)
    named = zip(names, parts, strict=True)
    refused = [f"{name}: {part.refused}".removeprefix(": ") for name, part in named if part.refused]
    whose = f" of {names[worst]!r}, the worst of {len(parts)} machines,"
    return replace(
        parts[worst],
        passed=all(report.passed for report in reports),
        gap_upper=float(np.max([part.gap_upper for part in parts])),
        infeasibility=float(np.max([part.infeasibility for part in parts])),
        predictions=predictions,
        refused=refused[0] if refused else "",
        whose=whose if len(parts) > 1 else "",
    )


def predictions_of_machine(
    problem: MachineProblem,
    verified: KKTReport,
    proof: Certificate | None,
    rounding: Vector | None = None,
) -> PredictionComparison | None:
    """Compare one machine's training predictions with the exact optimum's.

    Machines with one decision function cost nothing more. Those with one per class cost another
    pass over the kernel matrix, which is spent only where the verdict leaves something to be said.
    ``rounding`` is that of the decision values where another library computes them.
    """
    if proof is None or _finding(verified):
        return None
    if not isinstance(proof.model, SupportVectorModel):
        return None if verified.passed else _from_bounds(proof, problem, problem.data.X)
    table, data = verified.samples, problem.data
    if table is None:
        return None
    has_labels = isinstance(data, RankedTrainingSet) or not isinstance(data, RegressionTrainingSet)
    found = from_table(proof.model, proof, table, has_labels=has_labels, rounding=rounding)
    if found is None or has_labels:
        return found
    return replace(found, n_samples=problem.data.n_samples)


def predictions_of_machines(
    problem: ReducedProblem,
    verified: ReducedReport,
    proofs: Sequence[Certificate | None],
) -> PredictionComparison | None:
    """Compare the labels of a multi-class model with the exact optimum's; None if unknown.

    This takes a pass over the kernel matrix for each machine, which is spent only where the verdict
    leaves something to be said.
    """
    known = tuple(proof for proof in proofs if proof is not None)
    if verified.passed or _finding(verified) or not known or len(known) < len(proofs):
        return None
    several = ReducedCertificate(problem.names, known, problem.reduction, problem.data)
    return _from_bounds(several, problem.problems[0], problem.data.X)


def _refused(verified: KKTReport | ReducedReport, reason: str) -> Evidence:
    return Evidence(verified.passed, verified.eps, math.inf, math.inf, refused=reason)


def _worst_failed(checks: tuple[Check, ...]) -> Check | None:
    failed = [check for check in checks if not check.passed]
    return max(failed, key=lambda c: c.scaled / c.tolerance) if failed else None


def _from_bounds(
    proof: Certificate | ReducedCertificate,
    problem: MachineProblem,
    X: Stored,
) -> PredictionComparison | None:
    precomputed = isinstance(problem.kernel, Precomputed)
    is_gram = precomputed and X.shape[0] == X.shape[1]
    squares = stored_values(X).diagonal().astype(np.float64) if is_gram else None
    try:
        return from_bounds(proof, X, squares)
    except (QPSVMError, ValueError):  # k(x, x) is not known, or the numbers are of no use
        return None
