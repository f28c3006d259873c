"""The block of times that a comparison is about: every contestant on the same programs.

Contestants that were compared on different programs were not compared. Where some did not take
part everywhere, the block with the most times is taken (contestants are added one by one, whoever
leaves the most programs in common first), and what it leaves out is said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.benchmark.cells import Instance
from qpsvm.benchmark.metrics.times import Times
from qpsvm.qp._arrays import Dense, Vector, freeze


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
        What a time that was not reached counts as: the time limit, or the longest time of anybody
        who did reach the gap, as no failure is better than a success.
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
        """Whether every time that was reached has a standard error."""
        return not bool(np.isnan(self.errors).any())


def table_of(times: Times, contestants: Sequence[str] | None = None) -> Table:
    """The common block of ``times``.

    Parameters
    ----------
    times : mapping of (Instance, contestant) to Timing
    contestants : sequence of str, optional
        Exactly these, on the programs that all of them attempted.

    Returns
    -------
    Table
        Empty if there is nothing in common.
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
    limits = [max(max(t.limit, t.seconds if t.reached else 0.0) for t in row) for row in block]
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
    """Contestants with the most times in common; in the order they came."""
    left = [who for who, seen in attempted.items() if seen]
    chosen: list[str] = []
    common: set[Instance] | None = None
    best: tuple[int, tuple[str, ...]] = (0, ())
    while left:
        seen = {who: attempted[who] if common is None else attempted[who] & common for who in left}
        who = max(left, key=lambda w: len(seen[w]))  # the first of equals
        common = seen[who]
        left.remove(who)
        chosen.append(who)
        # of two blocks of the same size, the one with more contestants
        best = max(
            best, (len(common) * len(chosen), tuple(chosen)), key=lambda b: (b[0], len(b[1]))
        )
    return tuple(who for who in attempted if who in best[1])


def _why(times: Times, who: str, seen: int, total: int) -> str:
    if not seen:
        outcomes = {timing.outcome for (_, name), timing in times.items() if name == who}
        return ", ".join(sorted(outcomes))
    return f"took part in {seen} of {total} programs"


def penalised(table: Table, penalty: float | None = None) -> Dense:
    """``seconds`` with what was not reached at ``penalty`` seconds, or at ``limits``."""
    limits = table.limits[:, None] if penalty is None else penalty
    return np.where(table.seconds < math.inf, table.seconds, limits)
