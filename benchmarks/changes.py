"""Differences between two runs of the benchmark: times, outcomes and rankings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.cells import Instance
from benchmarks.metrics.agreement import Agreement
from benchmarks.metrics.noise import NORMAL
from benchmarks.metrics.rankings import Ranking
from benchmarks.metrics.times import Column, Timing


@dataclass(frozen=True)
class TimeChange:
    """A contestant's time to the target on one program, in both runs.

    Attributes
    ----------
    instance : Instance
    contestant : str
    a, b : Timing
    """

    instance: Instance
    contestant: str
    a: Timing
    b: Timing

    @property
    def log_ratio(self) -> float:
        """``log(t_b / t_a)``; NaN unless both runs reached the target."""
        both = self.a.reached and self.b.reached
        return math.log(self.b.seconds / self.a.seconds) if both else math.nan

    @property
    def error(self) -> float:
        """Standard error of ``log_ratio``; NaN where a run has no repeats."""
        return math.hypot(self.a.error, self.b.error)

    @property
    def differs(self) -> bool | None:
        """Return whether the times differ by more than their uncertainty; None if unknown."""
        if self.a.reached != self.b.reached:
            return True
        if math.isnan(self.log_ratio) or math.isnan(self.error):
            return None
        return abs(self.log_ratio) > NORMAL * self.error


@dataclass(frozen=True)
class ContestantChange:
    """A contestant over all programs in both runs, of all kinds.

    Attributes
    ----------
    contestant : str
    version_a, version_b : str
    ratio : float
        Geometric mean of ``t_b / t_a`` where both runs reached the target; NaN without any.
    low, high : float
        95% interval of ``ratio``, for these programs; NaN where a run has no repeats.
    programs : int
        What ``ratio`` is a mean of.
    gained, lost : int
        Programs on which only b, or only a, reached the target.
    """

    contestant: str
    version_a: str
    version_b: str
    ratio: float
    low: float
    high: float
    programs: int
    gained: int
    lost: int


@dataclass(frozen=True)
class OutcomeChange:
    """A cell whose outcome differs between the two runs.

    Attributes
    ----------
    instance : Instance
    contestant : str
    eps : float
    before, after : str
    """

    instance: Instance
    contestant: str
    eps: float
    before: str
    after: str


@dataclass(frozen=True)
class KindAgreement:
    """The rankings on one kind of program.

    Attributes
    ----------
    kind : str
        As ``metrics.kind_of``.
    a, b : Ranking
        Of the same contestants on the same programs.
    agreement : Agreement
    """

    kind: str
    a: Ranking
    b: Ranking
    agreement: Agreement


@dataclass(frozen=True)
class Comparison:
    """All differences between two runs.

    Attributes
    ----------
    target : float
        Relative certified gap that times are taken to.
    times : tuple of TimeChange
        Of everything that both runs attempted.
    contestants : tuple of ContestantChange
    outcomes : tuple of OutcomeChange
    rankings : tuple of KindAgreement
    only_a, only_b : tuple of (Instance, str)
        Attempted in one run only.
    other_programs : tuple of Instance
        The same name for other data in the two runs: left out of everything.
    conditions : mapping of str to (value, value)
        What was not the same in both runs: what the headers say of machine, qpsvm and cells at
        once, and the threads, limits and seeds that cells in both were given. Empty if nothing.
    """

    target: float
    times: tuple[TimeChange, ...]
    contestants: tuple[ContestantChange, ...]
    outcomes: tuple[OutcomeChange, ...]
    rankings: tuple[KindAgreement, ...]
    only_a: tuple[Column, ...]
    only_b: tuple[Column, ...]
    other_programs: tuple[Instance, ...]
    conditions: Mapping[str, tuple[object, object]]

    @property
    def within(self) -> float:
        """Share of the times within their uncertainty: 0.95 if nothing changed; NaN without any."""
        known = [c.differs for c in self.times if c.a.reached and c.b.reached]
        decided = [differs for differs in known if differs is not None]
        return decided.count(False) / len(decided) if decided else math.nan

    @property
    def excess(self) -> float:
        """``sqrt(mean(z^2))`` with ``z = log ratio / error``: 1 if the uncertainty is right.

        Larger: something changed, or runs differ by more than the repeats within one.
        """
        known = [c for c in self.times if c.differs is not None and c.error > 0.0]
        squares = [(c.log_ratio / c.error) ** 2 for c in known]
        return math.sqrt(sum(squares) / len(squares)) if squares else math.nan

    @property
    def speed(self) -> float:
        """Median of ``t_b / t_a``: above 1, the second run was slower throughout."""
        ratios = [c.log_ratio for c in self.times if not math.isnan(c.log_ratio)]
        return math.exp(float(np.median(ratios))) if ratios else math.nan

    @property
    def agrees(self) -> bool | None:
        """Return whether all rankings agree within their uncertainty; None if that is unknown."""
        verdicts = {kind.agreement.agrees for kind in self.rankings if kind.agreement.pairs}
        if False in verdicts:
            return False
        return True if verdicts == {True} else None
