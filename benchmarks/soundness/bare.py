"""A bare quadratic program, its exact optimum, and whether a point of it may pass.

The judge is ``exact_programs``: rational numbers from the floats of the program on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.soundness.exact_programs import OPTIMAL, Answer, ExactProgram
from benchmarks.soundness.rational import Row, exact

PARTS = ("P", "q", "G", "h", "A", "b", "lb", "ub")
EPS = 1e-8
BAND = 1 + Fraction(1, 10**6)
"""A figure within this factor of its tolerance is on it: the verifier computes in float64."""
ALLOWED = Fraction(EPS) * BAND
UNIT = Fraction(1, 2**53)
NOTHING = Fraction(1, 10**150)
"""Entries that are smaller may as well be zero: no coefficient makes up for that."""
ROUNDINGS = 32
"""Roundings of a sum's terms that a miss or an objective may be off beyond its tolerance."""


@dataclass(frozen=True, eq=False)
class BareProgram:
    """A program as floats, and the same exactly.

    Attributes
    ----------
    P, q, G, h, A, b, lb, ub : arrays
    trait : str
        What makes it hard.
    next_to : dict of arrays, optional
        Optimum of a program beside this one, where this one has none.
    """

    P: Any
    q: Any
    G: Any
    h: Any
    A: Any
    b: Any
    lb: Any
    ub: Any
    trait: str = ""
    next_to: dict[str, Any] | None = None

    @cached_property
    def exact(self) -> ExactProgram:
        """The same in rational numbers."""
        return ExactProgram.of(*(getattr(self, name) for name in PARTS))

    @property
    def answer(self) -> Answer:
        """The exact optimum."""
        return self.exact.answer

    def arguments(self) -> dict[str, Any]:
        """What ``QuadraticProgram`` takes."""
        return {name: getattr(self, name) for name in PARTS}

    def harm(self, x: Any) -> Iterator[str]:
        """Why a point may not pass as the optimum at ``EPS``; nothing if it may."""
        if self.answer.status != OPTIMAL:
            yield f"the program is {self.answer.status}"
            return
        if x is None or np.shape(x) != np.shape(self.q) or not np.all(np.isfinite(x)):
            yield "no point of the program"
            return
        point = exact(np.asarray(x, dtype=np.float64))
        wrong = list(self._wrong(point))
        clipped = self.exact.clipped(point)
        if wrong and clipped is not point and self._is_beside(point, clipped):
            # bounds that are missed by next to nothing: what if they held?
            wrong = [why for why in wrong if "bound" not in why] + list(self._wrong(clipped))
        if wrong and any(0 < abs(v) < NOTHING for v in point):
            flushed = [v if abs(v) >= NOTHING else Fraction(0) for v in point]
            wrong = wrong if list(self._wrong(flushed)) else []
        yield from wrong

    def _wrong(self, point: Row) -> Iterator[str]:
        program = self.exact
        room = ALLOWED + ROUNDINGS * UNIT
        for miss in program.misses(point):
            if miss.amount > room * miss.terms:
                yield f"misses {miss.name} by {_ratio(miss.amount, miss.terms):.2e} of its terms"
        value = program.objective(point)
        off = value - self.answer.value
        scale = program.objective_scale(point)
        allowed = ALLOWED * scale + ROUNDINGS * UNIT * program.terms(point)
        if abs(off) > allowed:
            where = "above" if off > 0 else "below"
            yield f"objective {_ratio(abs(off), scale):.2e} {where} the optimum"

    @staticmethod
    def _is_beside(point: Row, other: Row) -> bool:
        """Whether no number is farther than ``EPS`` from the other, in units of 1 or of itself."""
        return all(
            abs(v - u) <= ALLOWED * max(1, abs(u)) for v, u in zip(point, other, strict=True)
        )

    def excess(self, x: Any) -> float:
        """How far the objective is from the optimum, in units of ``EPS``."""
        point = exact(np.asarray(x, dtype=np.float64))
        off = abs(self.exact.objective(point) - self.answer.value)
        return _ratio(off, self.exact.objective_scale(point)) / EPS


def _ratio(a: Fraction, b: Any) -> float:
    try:
        return float(a / b) if b else np.inf
    except OverflowError:
        return np.inf
