"""Largest table of times in which all compared contestants have the same programs.

Contestants that were compared on different programs were not compared. Where some did not take
part everywhere, a block with many times is taken, and what it leaves out is said. It is found
greedily: from each contestant in turn, others are added one by one, whoever leaves the most
programs in common first; the largest block on the way counts, and need not be the largest there is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.arrays import Dense, Vector, freeze
from benchmarks.cells import Instance
from benchmarks.metrics.times import Times


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
    seconds: Dense
    errors: Dense
    limits: Vector
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
    >>> from benchmarks.metrics import times_to
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
        seconds=freeze(seconds),
        errors=freeze(errors.reshape(shape)),
        limits=freeze(np.array(limits, dtype=np.float64)),
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


def penalised(table: Table, penalty: float | None = None) -> Dense:
    """Seconds of every time, with a penalty or the time limit where the gap was not reached."""
    limits = table.limits[:, None] if penalty is None else penalty
    return np.where(table.seconds < math.inf, table.seconds, limits)
