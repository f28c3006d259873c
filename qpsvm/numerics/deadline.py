"""Deadline of a computation, shared by all of its parts."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from qpsvm.numerics.interrupts import raise_if_left


@dataclass(frozen=True)
class Deadline:
    """Moment by which a computation has to end, shared by all of its parts.

    Attributes
    ----------
    at : float
        Reading of the clock at which the time is over; infinite without a limit.
    clock : callable
        Seconds from any origin, never falling.

    Examples
    --------
    >>> Deadline.after(None).remaining()
    inf
    >>> Deadline.after(60.0, clock=lambda: 5.0)
    Deadline(at=65.0)
    """

    at: float = math.inf
    clock: Callable[[], float] = time.perf_counter

    @classmethod
    def after(
        cls, seconds: float | None, clock: Callable[[], float] = time.perf_counter
    ) -> Deadline:
        """The deadline so many seconds from now; one that never passes for None."""
        return cls(
            math.inf if seconds is None else clock() + float(min(seconds, sys.float_info.max)),
            clock,
        )

    @property
    def is_set(self) -> bool:
        """Return whether there is a limit at all."""
        return self.at < math.inf

    def remaining(self) -> float:
        """Seconds left: zero once the deadline has passed, infinite without a limit."""
        return max(self.at - self.clock(), 0.0) if self.is_set else math.inf

    def has_passed(self) -> bool:
        """Return whether the time limit has passed; without a limit the clock is not read.

        Raises
        ------
        KeyboardInterrupt
            In a thread that works for a call that Ctrl-C has left: all loops look here.
        """
        raise_if_left()
        return self.is_set and self.clock() >= self.at

    def share(self, part: float) -> Deadline:
        """The deadline after a part of the seconds that are left."""
        return Deadline(self.clock() + part * self.remaining(), self.clock) if self.is_set else self

    def __repr__(self) -> str:
        return f"Deadline(at={self.at!r})"


NEVER = Deadline()
"""The deadline of a computation without a limit."""
