"""The hunt among random problems of every family, judged in extended precision."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import qpsvm
from benchmarks.soundness.fields import Field, find_field
from benchmarks.soundness.judge import EPS
from benchmarks.soundness.mutations import mutate
from benchmarks.soundness.specs import REDUCED
from benchmarks.soundness.tally import KIND, Tally
from qpsvm.exceptions import QPSVMError

PART = "families"
DRAWS = 100
"""Mutants of one problem: solving it costs as much as judging that many."""

# --- mutants -------------------------------------------------------------------------------------


def make_mutant(found: Field, seed: int, number: int) -> tuple[str, Any, int]:
    """(kind of mutation, the mutant, which of the machines it concerns)."""
    rng = np.random.default_rng([seed, 1, number])
    which = int(rng.integers(len(found.grounds)))
    if found.spec.name in REDUCED and rng.random() < 0.1:
        machines = list(found.solution.solutions)
        other = (which + 1) % len(machines)
        if rng.random() < 0.2:
            machines.pop()
        else:
            machines[which], machines[other] = machines[other], machines[which]
        return "machines exchanged", found.solution.replace(solutions=tuple(machines)), which
    kind, mutant = mutate(found.grounds[which], rng)
    if found.spec.name in REDUCED:
        machines = list(found.solution.solutions)
        machines[which] = mutant
        mutant = found.solution.replace(solutions=tuple(machines))
    return kind, mutant, which


@dataclass(frozen=True)
class Finding:
    """What became of one mutant."""

    outcome: str
    excess: float | None
    certificates: int
    why: list[str]
    false: list[str]


def examine(found: Field, mutant: Any, eps: float = EPS) -> Finding:
    """What verifier (at ``eps``) and certificates say, beside what the judge says."""
    try:
        report = qpsvm.verify(found.problem, mutant, eps=eps)
    except Exception as error:  # noqa: BLE001 - whatever it is, a verifier must not raise it
        return Finding("refused", None, 0, [], [f"verify raised {error!r}"])
    reports = getattr(report, "reports", (report,))
    machines = getattr(mutant, "solutions", (mutant,))
    why: list[str] = []
    false: list[str] = []
    excesses = []
    certificates = 0
    complete = len(reports) == len(machines) == len(found.grounds)
    if not complete:
        why.append("not as many machines as there should be")
    for ground, single, machine in zip(found.grounds, reports, machines, strict=False):
        proof = single.certificate
        if proof is None:
            why.append("cannot be measured")
            continue
        if machine is ground.start:
            continue
        try:
            why += ground.judge.harm(machine, proof)
            excesses.append(float(ground.judge.suboptimality(machine) / EPS))
        except (QPSVMError, ValueError, TypeError, AttributeError, IndexError) as error:
            why.append(f"cannot be judged: {error}")
            continue
        certificates += 1
        false += ground.judge.contradictions(machine, proof)
    if report.passed:
        outcome = "FALSE PASS" if why else "passed, harmless"
    else:
        outcome = "refused" if why else "refused, harmless"
    worst = max(excesses, default=None) if report.passed else None
    return Finding(outcome, worst, certificates, why, false)


# --- a block of them -----------------------------------------------------------------------------


def hunt_one(found: Field, seed: int, number: int, tally: Tally) -> None:
    """Make, examine and count one mutant."""
    spec = found.spec
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind, mutant, which = make_mutant(found, seed, number)
        finding = examine(found, mutant)
    axes = {KIND: kind, "family": spec.name, "form": spec.form, "kernel": spec.kernel_name}
    tally.count(PART, axes, finding.outcome, finding.excess)
    tally.certificates += finding.certificates
    if finding.outcome == "FALSE PASS" or finding.false:
        tally.suspicious.append(
            {
                "draw": number,
                "seed": seed,
                "problem": repr(found.problem),
                "machine": which,
                "kind": kind,
                "outcome": finding.outcome,
                "harm": finding.why,
                "contradictions": finding.false,
            }
        )


def hunt_block(seed: int, index: int, numbers: range, tally: Tally) -> None:
    """Draws of one problem."""
    found = find_field(seed, index, tally.rejected)
    tally.problems[PART] += 1
    tally.traits.update(found.spec.traits())
    for number in numbers:
        hunt_one(found, seed, number, tally)


def show(seed: int, index: int, number: int) -> None:
    """One draw again, with everything there is to know about it."""
    found = find_field(seed, index)
    kind, mutant, which = make_mutant(found, seed, number)
    finding = examine(found, mutant)
    print(f"draw {number} of seed {seed}: {kind}, machine {which} of {found.problem!r}")
    print(qpsvm.verify(found.problem, mutant, eps=EPS))
    print(finding)
