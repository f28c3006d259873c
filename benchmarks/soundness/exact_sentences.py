"""Whether the sentences and counts of an audit are true, beside exact programs.

Every clause of a verdict has to be one that is known here; an unknown one is reported as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.soundness.exact_models import ExactClaim
from benchmarks.soundness.rational import ZERO

EPS = Fraction(1e-8)
HALF_DIGIT = Fraction(6, 100)
"""A figure with two digits may be rounded by so much of itself."""

COUNT = r"([\d,]+)"
NUMBER = r"([-\d.e+]+|infinite)"
NOUN = r"training (?:prediction|pair order)s?"
ESTIMATED = r"(?: \(rounding is estimated, not enclosed\))?"
CLAUSES = {
    name: re.compile(text)
    for name, text in {
        "optimal": rf"Optimal: the certified relative gap(?: of .*)? is {NUMBER} \(allowed .*\)",
        "all": rf"(?:Not (?:proven )?optimal to 1e-08, but )?all {COUNT} {NOUN} are proven to be "
        rf"those of the exact optimum{ESTIMATED}",
        "differ": rf"Not optimal: {COUNT} of {COUNT} {NOUN} proven to differ from the exact "
        r"optimum's",
        "counts": rf"{COUNT} of {COUNT} {NOUN} proven to be those of the exact optimum, {COUNT} "
        rf"proven to differ, {COUNT} undecided at this accuracy(?: \({COUNT} of these differ from "
        rf"an optimum computed(?: to a relative gap of {NUMBER})?\))?{ESTIMATED}",
        "change": r"no training (?:sample's decision value|prediction) is farther than "
        rf"{NUMBER} from the exact optimum's{ESTIMATED}",
        "unknown change": r"how far training predictions are from the exact optimum's is not known"
        rf"{ESTIMATED}",
        "excess": r"(?:Not (?:proven )?optimal(?: to 1e-08)?: |for its stored numbers )?"
        rf"the objective(?: of '(.*)', the worst of \d+ machines,)? exceeds the optimum by "
        rf"(at least )?(.+?) \(certified relative gap {NUMBER}, allowed 1e-08\)",
        "gap": r"(?:Not (proven )?optimal(?: to 1e-08)?: |for its stored numbers )?"
        rf"the certified relative gap(?: of '(.*)', the worst of \d+ machines,)? is {NUMBER} "
        r"\(allowed 1e-08\)",
        "check": r"(?:Not (?:proven )?optimal(?: to 1e-08)?: |for its stored numbers )?"
        rf"the certified relative gap(?: of .*)? is {NUMBER}, but .* is {NUMBER} \(allowed .*\)",
        "own labels": r"The model's own predictions differ from those of its stored numbers for "
        rf"{COUNT} of {COUNT} training samples",
        "own values": r"The model's own decision values differ from those of its stored numbers "
        rf"by up to {NUMBER}",
        "explained": r"(LIBSVM)'s float32 kernel cache explains the gap",
        "accused": r"(\S+) ended at its .*: the model was fitted to other data, weights or "
        r"parameters than these, or changed after the fit",
        "digits": rf"rounding of its own kernel values \(up to {NUMBER} of the largest\) and of "
        rf"their sums can leave a gap of {NUMBER} on these samples: subtract the mean of every "
        r"feature and scale it before the fit",
        "all digits": r"its own kernel values may have no correct digit on these samples: "
        r"subtract the mean of every feature and scale it before the fit",
        "ended": r"(LIBSVM|LIBLINEAR|scikit-learn's SGD) ended at its (stopping tolerance of "
        r"\S+|iteration limit of \S+)",
        "float32": r"float32 kernel values account for (none|\d+%) of the gap",
        "unproven": r"Not proven: .*",
    }.items()
}


def clauses(verdict: str) -> list[tuple[str, Any]]:
    """(name, match) of every clause of a verdict; the name is empty for an unknown one."""
    found = []
    for text in verdict.removesuffix(".").split("; "):
        for name, pattern in CLAUSES.items():
            if match := pattern.fullmatch(text):
                found.append((name, match))
                break
        else:
            found.append(("", text))
    return found


@dataclass(frozen=True, eq=False)
class Facts:
    """What is so of a model.

    Attributes
    ----------
    claims : its programs
    predicted : what ``predict`` says of every sample
    decided : ``decision_function``, or ``predict`` of a regression
    right : the labels that optima give every sample, several where a tie leaves it open; None for
        a regression
    untouched : the model is as ``fit`` left it, on the data and parameters of the audit
    taking_part : samples of positive weight
    library_error : of kernel values as LIBSVM computes them, over the largest of them
    """

    claims: Sequence[ExactClaim]
    predicted: Any
    decided: Any
    right: list[set[Any]] | None
    untouched: bool
    taking_part: list[int]
    library_error: float = 0.0

    @property
    def same(self) -> int:
        assert self.right is not None
        return sum(self.right[i] == {self.predicted[i]} for i in self.taking_part)

    @property
    def different(self) -> int:
        assert self.right is not None
        return sum(self.predicted[i] not in self.right[i] for i in self.taking_part)


def lies(facts: Facts, found: Any) -> Iterator[str]:
    """Sentences and counts of an audit that are not so."""
    verdict = str(found.verdict)
    for name, match in clauses(verdict):
        if not name:
            yield f"unknown clause {match!r}"
            continue
        for lie in _lies(name, match, facts, found):
            yield f"{lie} | {match[0]}"
    yield from _figures(facts, found)


def _lies(name: str, match: Any, facts: Facts, found: Any) -> Iterator[str]:
    if name in ("all", "differ", "counts"):
        yield from _counts(name, match, facts)
    elif name == "change":
        yield from _too_far(facts, Fraction(match[1]))
    elif name == "excess":
        yield from _excess(match, facts, found)
    elif name in ("gap", "optimal"):
        yield from _gap(name, match, facts, found)
    elif name in ("own labels", "own values", "accused") and facts.untouched:
        yield "of an untouched model"
    elif name == "digits" and Fraction(match[1]) < facts.library_error:
        yield f"where one is off by {facts.library_error:.3g}"


def _counts(name: str, match: Any, facts: Facts) -> Iterator[str]:
    n, numbers = len(facts.taking_part), [_count(text) for text in match.groups()[:5] if text]
    if name == "all":
        if numbers != [n] or facts.same != n:
            yield f"where {facts.same} of {n} are"
        return
    if numbers[1] != n:
        yield f"of {n} samples"
    if name == "differ":
        if numbers[0] > facts.different:
            yield f"where {facts.different} do"
        return
    same, _, different, undecided, *apart = numbers
    if same + different + undecided != n:
        yield f"counts that do not add up to {n}"
    if same > facts.same or different > facts.different:
        yield f"where {facts.same} are and {facts.different} differ"
    if apart and apart[0] > undecided:
        yield "more than are undecided"


def _figures(facts: Facts, found: Any) -> Iterator[str]:
    """The numbers of ``found.to_dict()``."""
    content = found.to_dict()
    said = content["predictions"] or {}
    if said.get("same") is not None:
        same, different = said["same"], said["different"]
        if same > facts.same or different > facts.different:
            yield f"{same} same, {different} different where {facts.same}, {facts.different} are"
    change = said.get("largest_change")
    if change is not None and np.isfinite(change) and len(facts.claims) == 1:
        yield from _too_far(facts, Fraction(change))
    for claim, machine in zip(facts.claims, content["machines"], strict=True):
        best = machine["optimum"]
        if claim.best is None or not best or not claim.is_allowed:
            continue
        excess = claim.objective - claim.best.value
        least = best["least_excess"]
        if not np.isfinite(least):  # relative to an optimum of zero
            is_true = claim.best.value == 0 and excess > 0
        else:
            is_true = Fraction(least) * abs(claim.best.value) <= excess + ZERO
        if not is_true:
            yield f"least excess {best['least_excess']!r} where it is {float(excess)!r} absolute"


def _worst(name: str | None, facts: Facts, found: Any) -> ExactClaim | None:
    if not name:
        return facts.claims[0] if len(facts.claims) == 1 else None
    names = [machine.name for machine in found.machines]
    return facts.claims[names.index(name)]


def _excess(match: Any, facts: Facts, found: Any) -> Iterator[str]:
    claim = _worst(match[1], facts, found)
    if claim is None or claim.best is None or not claim.is_allowed:
        return
    above = claim.objective - claim.best.value
    if claim.best.value == 0:
        if above <= 0:
            yield "which it does not"
        yield "where the optimum is zero"
        return
    share = above / abs(claim.best.value)
    stated = _share(match[3])
    if share < stated * (1 - (ZERO if match[2] else HALF_DIGIT)):
        yield f"where it is {float(share):.4g} of it"
    if not match[2] and share > stated * (1 + HALF_DIGIT):
        yield f"where it is {float(share):.4g} of it"


def _gap(name: str, match: Any, facts: Facts, found: Any) -> Iterator[str]:
    which, stated = (None, match[1]) if name == "optimal" else (match[2], match[3])
    claim = _worst(which, facts, found)
    if claim is None or claim.best is None or stated == "infinite" or not claim.is_allowed:
        return
    floor = Fraction(float(found.worst.certificate.floor))
    size = max(abs(claim.objective), floor, Fraction(2.0**-1022))
    share = abs(claim.objective - claim.best.value) / size
    if share > Fraction(stated) * (1 + HALF_DIGIT) + claim.scaling / size:
        yield f"where the objective is {float(share):.4g} above"
    if name == "optimal" and share > EPS * (1 + Fraction(1, 10**6)):
        yield f"where the objective is {float(share):.4g} above"
    says_not = name == "gap" and match[0].startswith("Not optimal")
    if says_not and share <= EPS and not match[1]:
        yield f"where the objective is {float(share):.4g} above"


def _too_far(facts: Facts, bound: Fraction) -> Iterator[str]:
    if len(facts.claims) > 1 or not np.isfinite(float(bound)):
        return
    claim = facts.claims[0]
    if claim.best is None:
        return
    for i in facts.taking_part:
        apart = abs(Fraction(float(np.ravel(facts.decided)[i])) - claim.truth[i])
        if apart > bound:
            yield f"where one is {float(apart)!r} away"
            return


def _count(text: str) -> int:
    return int(text.replace(",", ""))


def _share(text: str) -> Fraction:
    if text.endswith("%"):
        return Fraction(text[:-1]) / 100
    return Fraction(text.split(" ", maxsplit=1)[0])
