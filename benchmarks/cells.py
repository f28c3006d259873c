"""Measurements to be made: one contestant, one program, one accuracy."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, order=True)
class Instance:
    """One program of the benchmark, in any form. All fields are calls (``calls.py``).

    Attributes
    ----------
    family : str
        ``SoftMargin(C=1.0)``: a formulation with its parameters. Another kind of intercept is
        another program, and never shares a column with this one.
    data : str
        ``a9a``, ``synthetic(d=50, n=100000, seed=0)``.
    kernel : str
        ``linear``, ``rbf(gamma='scale')``.
    """

    family: str
    data: str
    kernel: str = "linear"

    def __str__(self) -> str:
        return f"{self.family}, {self.data}, {self.kernel}"


@dataclass(frozen=True, order=True)
class Cell:
    """One measurement to be made; equal cells are the same measurement.

    Attributes
    ----------
    instance : Instance
    contestant : str
        ``sklearn:SVC``, ``qpsolvers:piqp(form='primal')``.
    eps : float
        Relative accuracy asked for; what a peer calls its tolerance.
    repeat : int
        0, 1, ...
    seed : int
        Handed to contestants that draw random numbers.
    threads : int
        What BLAS and OpenMP are given.
    time_limit, memory_limit : float
        Seconds of wall clock and bytes; a cell that needs more becomes a row that says so.
    """

    instance: Instance
    contestant: str
    eps: float
    repeat: int = 0
    seed: int = 0
    threads: int = 1
    time_limit: float = 60.0
    memory_limit: float = 8e9

    @property
    def key(self) -> str:
        """A short name of the measurement, the same in every run and on every machine."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def sweep(self) -> Cell:
        """The cell without accuracy and repeat: the same for all cells of a sweep."""
        return replace(self, eps=math.inf, repeat=0)

    def to_dict(self) -> dict[str, object]:
        """Return JSON values, read back by ``from_dict``."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Cell:
        """Return the cell that ``to_dict`` wrote."""
        return cls(**{**values, "instance": Instance(**values["instance"])})
