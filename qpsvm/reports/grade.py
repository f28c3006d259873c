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
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

from qpsvm.certificates import PredictionComparison
from qpsvm.display import short_repr
from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports.numbers import at_most, residual
from qpsvm.reports.predictions import prediction_clauses

Tone: TypeAlias = Literal["good", "neutral", "bad"]

WRONG_EXCESS = 0.01
"""Share of the objective: proven to be more than this above the optimum, an answer is wrong.
Users who round their results to two digits see such a difference; smaller ones are bounded."""


class Grade(Enum):
    """The proven quality of an answer, the best grade first; values are used in the JSON."""

    OPTIMAL = "optimal"
    SAME_PREDICTIONS = "same_predictions"
    BOUNDED = "bounded"
    UNPROVEN = "unproven"
    WRONG = "wrong"

    @property
    def title(self) -> str:
        """The grade in one or two words, for headlines."""
        return _TITLES[self]

    @property
    def description(self) -> str:
        """The grade as a phrase that completes a title, such as "the same predictions as ..."."""
        return _DESCRIPTIONS[self]

    @property
    def tone(self) -> Tone:
        """Tone of the grade (good or bad news), by which formats choose colours."""
        return _TONES[self]


_TITLES = {
    Grade.OPTIMAL: "OPTIMAL",
    Grade.SAME_PREDICTIONS: "SAME PREDICTIONS",
    Grade.BOUNDED: "WITHIN A BOUND",
    Grade.WRONG: "WRONG",
    Grade.UNPROVEN: "NOT PROVEN",
}
_DESCRIPTIONS = {
    Grade.OPTIMAL: "optimal",
    Grade.SAME_PREDICTIONS: "same predictions as the optimum",
    Grade.BOUNDED: "within a bound of the optimum",
    Grade.UNPROVEN: "nothing proven",
    Grade.WRONG: "wrong",
}
_TONES: dict[Grade, Tone] = {
    Grade.OPTIMAL: "good",
    Grade.SAME_PREDICTIONS: "good",
    Grade.BOUNDED: "neutral",
    Grade.WRONG: "bad",
    Grade.UNPROVEN: "bad",
}


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


def whose(name: str, n_machines: int) -> str:
    """Phrase that names the machine of a headline; empty for a single machine."""
    return f" of {name!r}, the worst of {n_machines} machines," if n_machines > 1 else ""


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
        return (
            Grade.WRONG if self.excess is not None and self.excess > WRONG_EXCESS else Grade.BOUNDED
        )

    @property
    def headline(self) -> Headline:
        """The grade, and one sentence with its reason, the most important clause first."""
        return Headline(self.grade, "; ".join(_CLAUSES[self.grade](self)) + ".")

    # --- its parts -------------------------------------------------------------------------------

    @property
    def _not_optimal(self) -> str:
        """Begin a sentence about a failed answer: not optimal, or not proven optimal."""
        proven = "" if self.excess is not None else "proven "
        return f"Not {proven}optimal to {self.eps:g}"

    def _compared(self) -> tuple[str, ...]:
        return () if self.predictions is None else prediction_clauses(self.predictions, self.noun)

    def _distance(self) -> str:
        """Clause about the distance from the optimum, or about the failed check."""
        gap, whose = residual(self.relative_gap), self.whose
        if self.relative_gap <= self.eps and self.failed is not None:
            check = self.failed
            return (
                f"the {self.gap_name}{whose} is {gap}, but {check.name.replace('_', ' ')} "
                f"is {residual(check.scaled)} (allowed {residual(check.tolerance)})"
            )
        name, allowed = self.gap_name, f"allowed {self.eps:g}"
        if self.above:
            above = f"the objective{whose} exceeds the optimum by {self.above}"
            return f"{above} ({name} {gap}, {allowed})"
        return f"the {name}{whose} is {gap} ({allowed})"


def _optimal(evidence: Evidence) -> tuple[str, ...]:
    gap = residual(evidence.relative_gap)
    what = f"the {evidence.gap_name}{evidence.whose} is {gap}"
    first = f"Optimal: {what} (allowed {evidence.eps:g})"
    return (first, *evidence._compared())


def _same_predictions(evidence: Evidence) -> tuple[str, ...]:
    first, *more = evidence._compared()
    return (
        f"{evidence._not_optimal}, but {first}",
        *more,
        evidence._distance(),
        *evidence.reasons,
    )


def _bounded(evidence: Evidence) -> tuple[str, ...]:
    first = f"{evidence._not_optimal}: {evidence._distance()}"
    return (first, *evidence.reasons, *evidence._compared())


def _wrong(evidence: Evidence) -> tuple[str, ...]:
    if evidence.refused:
        return (f"Not an answer to this problem: {evidence.refused.rstrip('.')}",)
    if evidence.finding:
        return (evidence.finding.rstrip("."), f"for its stored numbers {evidence._distance()}")
    if evidence.infeasibility > evidence.eps:
        missed = at_most(evidence.infeasibility)
        first = f"Not feasible: a condition that must hold is missed by {missed} of its size"
        return (first, *evidence._compared())
    compared, distance = evidence.predictions, evidence._distance()
    if compared is not None and compared.n_different:
        labels = f"training {evidence.noun}{'s' if compared.n_samples != 1 else ''}"
        differ = f"{compared.n_different:,} of {compared.n_samples:,} {labels} proven to differ"
        first = f"Not optimal: {differ} from the exact optimum's"
        return (first, distance, *evidence.reasons, *evidence._compared())
    return (f"Not optimal: {distance}", *evidence.reasons, *evidence._compared())


def _unproven(evidence: Evidence) -> tuple[str, ...]:
    first = "Not proven: no bound on the distance from the optimum could be computed"
    if evidence.failed is not None:
        check = evidence.failed
        name, scaled = check.name.replace("_", " "), residual(check.scaled)
        first += f" ({name} is {scaled}, allowed {residual(check.tolerance)})"
    return (first, *evidence.reasons)


_CLAUSES = {
    Grade.OPTIMAL: _optimal,
    Grade.SAME_PREDICTIONS: _same_predictions,
    Grade.BOUNDED: _bounded,
    Grade.WRONG: _wrong,
    Grade.UNPROVEN: _unproven,
}
