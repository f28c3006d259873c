"""Largest table of times in which all compared contestants have the same programs.

Contestants that were compared on different programs were not compared. Where some did not take
part everywhere, a block with many times is taken, and what it leaves out is said. It is found
greedily: from each contestant in turn, others are added one by one, whoever leaves the most
programs in common first; the largest block on the way counts, and need not be the largest there is.

The uncertainty of a figure of such a table comes from a seeded bootstrap. Two questions have two
answers. *Another run* on the same machine measures the same programs with
other noise (parametric bootstrap)::

    log t*_ps  =  log t_ps + e_ps Z_ps,        Z standard normal

*Other programs* of the same sort: in addition the programs are drawn with replacement, all
contestants' times of a program together, as programs are easy or hard for everybody.

Intervals are the 2.5% and 97.5% quantiles of the draws (Efron and Tibshirani, *An Introduction to
the Bootstrap*, 1993, section 6.5 and chapter 13).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.cells import Instance
from benchmarks.metrics.noise import LEVEL
from benchmarks.metrics.times import Times

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

DRAWS = 1000
"""Bootstrap draws of a figure."""

FEWEST_PROGRAMS = 6
"""Fewer programs give no interval: not even the range of n of them covers a median with 95%,
``1 - 2^(1-n) < 0.95``."""

Statistic = Callable[[Array, Index], Array]
"""A function of seconds, shape (m, K), and of the rows of the table that they belong to."""


@dataclass(frozen=True, eq=False)
class Table:
    """Times of K contestants on m programs.

    Attributes
    ----------
    contestants : tuple of str
    instances : tuple of Instance
    seconds : array of shape (m, K)
        inf: the gap was not reached.
    errors : array of shape (m, K)
        Standard errors of ``log(seconds)``; NaN where unknown, zero where not reached.
    limits : array of shape (m,)
        What a time that was not reached counts as: the time limit, the longest of those that
        contestants were given, as no failure is better than a success.
    left_out : mapping of str to str
        Contestants that are not in the table, and why.
    seen : int
        Programs there are times of, in the table or not.
    """

    contestants: tuple[str, ...]
    instances: tuple[Instance, ...]
    seconds: Array
    errors: Array
    limits: Array
    left_out: Mapping[str, str]
    seen: int

    @property
    def noise_is_known(self) -> bool:
        """Return whether every time that was reached has a standard error."""
        return not bool(np.isnan(self.errors).any())


def table_of(times: Times, contestants: Sequence[str] | None = None) -> Table:
    """Select the programs and contestants of ``times`` that can be compared.

    Parameters
    ----------
    times : mapping of (Instance, contestant) to Timing
        Times to a gap, as ``times_to`` returns them.
    contestants : sequence of str, optional
        Exactly these, on the programs that all of them attempted.

    Returns
    -------
    Table
        Empty if there is nothing in common.

    Examples
    --------
    >>> from benchmarks.cells import Cell, Instance
    >>> from benchmarks.metrics.times import times_to
    >>> from benchmarks.rows import Row
    >>> program = Instance("SoftMargin(C=1.0)", "iris")
    >>> known = {"primal": 1.0, "dual": 1.0, "size": 1.0}
    >>> rows = [
    ...     Row(Cell(program, name, eps=1e-6), "optimal", **known, total_seconds=seconds)
    ...     for name, seconds in [("slow", 0.4), ("fast", 0.1)]
    ... ]
    >>> times = times_to(rows, 1e-3)
    >>> table = table_of(times)
    >>> table.contestants, table.seconds
    (('slow', 'fast'), array([[0.4, 0.1]]))
    """
    attempted: dict[str, set[Instance]] = {}
    for (instance, who), timing in times.items():
        attempted.setdefault(who, set()).update({instance} if timing.attempted else ())
    instances = tuple(dict.fromkeys(instance for instance, _ in times))
    chosen = _largest_block(attempted) if contestants is None else tuple(contestants)
    common = set(instances).intersection(*(attempted.get(who, set()) for who in chosen))
    rows = tuple(instance for instance in instances if chosen and instance in common)
    block = [[times[instance, who] for who in chosen] for instance in rows]
    shape = (len(rows), len(chosen))
    seconds = np.array([[t.seconds for t in row] for row in block]).reshape(shape)
    errors = np.array([[t.error if t.reached else 0.0 for t in row] for row in block])
    limits = [max(t.limit for t in row) for row in block]
    return Table(
        contestants=chosen,
        instances=rows,
        seconds=seconds,
        errors=errors.reshape(shape),
        limits=np.array(limits, dtype=np.float64),
        left_out={
            who: _why(times, who, len(seen), len(instances))
            for who, seen in attempted.items()
            if who not in chosen
        },
        seen=len(instances),
    )


def _largest_block(attempted: Mapping[str, set[Instance]]) -> tuple[str, ...]:
    """Return contestants that share many solved programs, by a greedy choice, in their order."""
    blocks = (block for first in attempted for block in _growing(attempted, first))
    # of two blocks of the same size, the one with more contestants; the first of equals
    _, best = max(blocks, key=lambda block: (block[0], len(block[1])), default=(0, ()))
    return tuple(who for who in attempted if who in best)


def _growing(
    attempted: Mapping[str, set[Instance]], first: str
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield blocks of times with ever more contestants, while they share programs."""
    chosen, common = [first], attempted[first]
    left = [who for who in attempted if who != first]
    while common:
        yield len(common) * len(chosen), tuple(chosen)
        if not left:
            return
        who = max(left, key=lambda w: len(attempted[w] & common))  # the first of equals
        common = common & attempted[who]
        left.remove(who)
        chosen.append(who)


def _why(times: Times, who: str, seen: int, total: int) -> str:
    if not seen:
        outcomes = {timing.outcome for (_, name), timing in times.items() if name == who}
        return ", ".join(sorted(outcomes))
    return f"took part in {seen} of {total} programs"


def penalised(table: Table, penalty: float | None = None) -> Array:
    """Seconds of every time, with a penalty or the time limit where the gap was not reached."""
    limits = table.limits[:, None] if penalty is None else penalty
    return np.where(table.seconds < math.inf, table.seconds, limits)


# --- bootstrap ------------------------------------------------------------------------------------


def other_runs(table: Table, statistic: Statistic, draws: int = DRAWS, seed: int = 0) -> Array:
    """Values of a statistic on noisy copies of the times; NaN if the noise is unknown.

    Returns
    -------
    array of shape (draws, ...)
    """
    rng = np.random.default_rng(seed)
    rows = np.arange(len(table.instances))
    if not table.noise_is_known:
        return np.full((draws, *statistic(table.seconds, rows).shape), math.nan)
    return np.array([statistic(_noisy(table, rng), rows) for _ in range(draws)])


def other_programs(table: Table, statistic: Statistic, draws: int = DRAWS, seed: int = 0) -> Array:
    """Values of a statistic on resampled programs; NaN if there are few of them.

    Where the noise is unknown, the programs alone are drawn.
    """
    rng = np.random.default_rng(seed)
    m = len(table.instances)
    found = []
    for _ in range(draws):
        rows = rng.integers(m, size=m)
        seconds = _noisy(table, rng) if table.noise_is_known else table.seconds
        found.append(statistic(seconds[rows], rows))
    values = np.array(found)
    return values if m >= FEWEST_PROGRAMS else np.full_like(values, math.nan)


def quantiles(draws: Array) -> tuple[Array, Array]:
    """The interval of every statistic, from draws of shape (draws, ...)."""
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    return low, high


def _noisy(table: Table, rng: np.random.Generator) -> Array:
    noise: Array = np.exp(table.errors * rng.standard_normal(table.seconds.shape))
    return table.seconds * noise
