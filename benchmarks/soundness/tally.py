"""What a hunt counted, and the file that keeps it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = ("qpsvm", "numpy", "scipy", "scikit-learn", "cvxopt", "osqp")
KIND = "mutation"
"""The axis that every mutant is counted on once."""
OUTCOMES = ("refused", "refused, harmless", "passed, harmless", "FALSE PASS")


@dataclass
class Tally:
    """Counts of a part of the hunt, or of all of it.

    Attributes
    ----------
    cells : Counter
        By (part of the hunt, axis, name, outcome): every mutant once on every axis of its part.
    worst : dict
        By kind: the largest true suboptimality of a mutant that passed, in units of eps.
    certificates : int
        How many certificates and audits were held against the optimum.
    problems, traits, rejected : Counter
        Problems by part of the hunt; their traits; those that are no starting points, by reason.
    suspicious : list of dict
        False passes, contradictions and errors, each in full.
    """

    cells: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)
    certificates: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    traits: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    suspicious: list[dict[str, Any]] = field(default_factory=list)

    def count(self, part: str, axes: dict[str, str], outcome: str, excess: float | None) -> None:
        """One mutant; ``axes`` has at least its kind."""
        for axis, name in axes.items():
            self.cells[part, axis, name, outcome] += 1
        if excess is not None and np.isfinite(excess):
            kind = f"{part}: {axes[KIND]}"
            self.worst[kind] = max(excess, self.worst.get(kind, -np.inf))

    def add(self, other: Tally) -> None:
        """Take in the counts of another part."""
        self.cells += other.cells
        self.rejected += other.rejected
        self.traits += other.traits
        self.certificates += other.certificates
        self.problems += other.problems
        self.suspicious += other.suspicious
        for kind, excess in other.worst.items():
            self.worst[kind] = max(excess, self.worst.get(kind, excess))

    @property
    def outcomes(self) -> Counter[str]:
        """Mutants by outcome."""
        counts = Counter[str]()
        for (_, axis, _, outcome), n in self.cells.items():
            if axis == KIND:
                counts[outcome] += n
        return counts


def as_json(tally: Tally, count: int, seed: int, seconds: float, **more: Any) -> str:
    """Everything that was counted, one line per cell."""
    head = {
        "count": count,
        "seed": seed,
        "seconds": round(seconds, 1),
        **more,
        "problems": dict(sorted(tally.problems.items())),
        "traits": dict(sorted(tally.traits.items())),
        "rejected": dict(sorted(tally.rejected.items())),
        "certificates": tally.certificates,
        "worst": {kind: float(f"{v:.6g}") for kind, v in sorted(tally.worst.items())},
        "code": code(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "digits": f"extended precision of {np.finfo(np.longdouble).precision} digits",
        "versions": {name: version(name) for name in PACKAGES},
    }
    parts = [json.dumps(head)[:-1]]
    suspicious = sorted(tally.suspicious, key=lambda row: int(row["draw"]))
    parts.append('"suspicious": [\n' + ",\n".join(map(json.dumps, suspicious)) + "]")
    cells = [json.dumps([*key, n]) for key, n in sorted(tally.cells.items())]
    parts.append('"cells": [\n' + ",\n".join(cells) + "\n]}")
    return ",\n".join(parts) + "\n"


def code() -> str:
    """A digest of the library and of the hunt: what is hunted, and with what."""
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    root = Path(__file__).parents[2]
    for folder in ("qpsvm", "benchmarks/soundness"):
        for path in sorted((root / folder).rglob("*.py")):
            if path.name not in ("report.py", "kernel_report.py"):
                yield path


def is_done(path: Path, count: int) -> bool:
    """Whether a file has the outcome of that many mutants of this very code."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(kept.get("code") == code() and kept["count"] == count)
