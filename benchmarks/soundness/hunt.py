"""The hunt for a false PASS: random mutations of certified solutions, judged without the verifier.

Usage, from the root of the repository::

    python -m benchmarks.soundness.hunt --count 100000 --seed 0 --jobs 2
    python -m benchmarks.soundness.hunt --seed 0 --only 1234      # one draw again, with its report

Each draw takes a random training problem (``specs``) with a solution certified to 1e-10, changes
that solution at random (``mutations``), and holds what ``qpsvm.verify`` at 1e-8 and
``qpsvm.certify`` say of it against the textbook's formulas in extended precision (``judge``). The
outcome goes to ``results/seed-<seed>.json`` when all is done; ``report.py`` makes
``docs/soundness.md`` from those files alone. Draw number and seed determine a mutant: another seed
is another hunt.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from threadpoolctl import threadpool_limits

import qpsvm
from benchmarks.soundness.fields import CERTIFIED, Field, find_field
from benchmarks.soundness.judge import EPS
from benchmarks.soundness.mutations import mutate
from benchmarks.soundness.specs import REDUCED
from qpsvm.exceptions import QPSVMError
from qpsvm.files.atomic import write_text

RESULTS = Path(__file__).with_name("results")
DRAWS = 50
"""Mutants of one problem: solving it costs as much as judging that many."""
PACKAGES = ("qpsvm", "numpy", "scipy", "scikit-learn", "cvxopt", "osqp")


@dataclass
class Tally:
    """Counts of a part of the hunt, or of all of it.

    Attributes
    ----------
    outcomes : Counter
        By (family, form, kernel, kind of mutation, outcome).
    worst : dict
        By kind: the largest true suboptimality of a mutant that passed, in units of eps.
    certificates : int
        How many of them were held against the optimum.
    problems : int
    traits : Counter
        Of the problems.
    rejected : Counter
        Problems that were drawn and are no starting points, by reason.
    suspicious : list of dict
        False passes, contradictions and errors, each in full.
    """

    outcomes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)
    certificates: int = 0
    problems: int = 0
    traits: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    suspicious: list[dict[str, Any]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in the counts of another part."""
        self.outcomes += other.outcomes
        self.rejected += other.rejected
        self.traits += other.traits
        self.certificates += other.certificates
        self.problems += other.problems
        self.suspicious += other.suspicious
        for kind, excess in other.worst.items():
            self.worst[kind] = max(excess, self.worst.get(kind, excess))


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


def hunt_one(found: Field, seed: int, number: int, tally: Tally) -> None:
    """Make, examine and count one mutant."""
    spec = found.spec
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind, mutant, which = make_mutant(found, seed, number)
        finding = examine(found, mutant)
    tally.outcomes[spec.name, spec.form, spec.kernel_name, kind, finding.outcome] += 1
    tally.certificates += finding.certificates
    if finding.excess is not None and np.isfinite(finding.excess):
        tally.worst[kind] = max(finding.excess, tally.worst.get(kind, -np.inf))
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


def hunt_in(task: tuple[int, int, int]) -> Tally:
    """All draws of one problem: (seed, number of the problem, number of draws)."""
    seed, index, draws = task
    tally = Tally()
    with threadpool_limits(1):
        number = index * DRAWS
        try:
            found = find_field(seed, index, tally.rejected)
            tally.problems += 1
            tally.traits.update(found.spec.traits())
            for number in range(index * DRAWS, index * DRAWS + draws):
                hunt_one(found, seed, number, tally)
        except Exception:  # noqa: BLE001 - a hunt of an hour is not lost, and does not end well
            row = {"draw": number, "seed": seed, "error": traceback.format_exc()}
            tally.suspicious.append(row)
    return tally


def hunt(count: int, seed: int, jobs: int = 1) -> Iterator[Tally]:
    """The tallies of all problems, as they are done."""
    tasks = [
        (seed, index, min(DRAWS, count - index * DRAWS)) for index in range(-(-count // DRAWS))
    ]
    if jobs == 1:
        yield from map(hunt_in, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(hunt_in, tasks)


# --- results -------------------------------------------------------------------------------------


def as_json(tally: Tally, count: int, seed: int, seconds: float) -> str:
    """Everything that was counted, one line per cell."""
    head = {
        "count": count,
        "seed": seed,
        "eps": EPS,
        "certified": CERTIFIED,
        "seconds": round(seconds, 1),
        "problems": tally.problems,
        "traits": dict(sorted(tally.traits.items())),
        "rejected": dict(sorted(tally.rejected.items())),
        "certificates": tally.certificates,
        "worst": {kind: float(f"{v:.6g}") for kind, v in sorted(tally.worst.items())},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "digits": f"extended precision of {np.finfo(np.longdouble).precision} digits",
        "versions": {name: version(name) for name in PACKAGES},
    }
    parts = [json.dumps(head)[:-1]]
    suspicious = sorted(tally.suspicious, key=lambda row: int(row["draw"]))
    parts.append('"suspicious": [\n' + ",\n".join(map(json.dumps, suspicious)) + "]")
    cells = [json.dumps([*key, n]) for key, n in sorted(tally.outcomes.items())]
    parts.append('"cells": [\n' + ",\n".join(cells) + "\n]}")
    return ",\n".join(parts) + "\n"


def show(seed: int, number: int) -> None:
    """One draw again, with everything there is to know about it."""
    found = find_field(seed, number // DRAWS)
    kind, mutant, which = make_mutant(found, seed, number)
    finding = examine(found, mutant)
    print(f"draw {number} of seed {seed}: {kind}, machine {which} of {found.problem!r}")
    print(qpsvm.verify(found.problem, mutant, eps=EPS))
    print(finding)


def main() -> None:
    """Hunt, or look at one draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100_000, help="mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", type=int, help="number of the only draw to be made")
    parser.add_argument("--output", type=Path, help="default: results/seed-<seed>.json")
    options = parser.parse_args()
    if options.only is not None:
        show(options.seed, options.only)
        return
    total, began = Tally(), time.perf_counter()
    parts = hunt(options.count, options.seed, options.jobs)
    for part in track(parts, "hunting", total=-(-options.count // DRAWS)):
        for row in part.suspicious:
            print(json.dumps(row), flush=True)
        total.add(part)
    path = options.output or RESULTS / f"seed-{options.seed}.json"
    path.parent.mkdir(exist_ok=True)
    seconds = time.perf_counter() - began
    write_text(path, as_json(total, options.count, options.seed, seconds))
    counts = Counter[str]()
    for key, n in total.outcomes.items():
        counts[key[-1]] += n
    print(dict(counts), f"{len(total.suspicious)} suspicious, {seconds:.0f} s, {path}")
    if total.suspicious:
        sys.exit(1)


if __name__ == "__main__":
    main()
