"""Equal certified gap: every answer to a program is measured against the same lower bound.

The multipliers of any answer bound the optimum from below (``certificates/gap.py``), whoever found
them. The best of these bounds serves everybody, so that a peer without multipliers has a gap too::

    D*  =  max over all answers of D,        D* <= optimum <= P
    suboptimality  =  |P - D*| / size + missing,    size = max(|P|, floor)

It is a proof as the answer's own gap is one, and never larger. As for that, a machine must meet
its constraints, and rounding must not hide more than what is stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from qpsvm.benchmark.cells import Instance
from qpsvm.benchmark.rows import Row
from qpsvm.exceptions import StoreError

REFERENCE = "reference"
"""Contestants whose names begin like this bound the optimum for the others and are not compared."""

NO_ANSWER = frozenset(
    {
        "infeasible",
        "unproven infeasible",
        "false infeasible",
        "memory limit",
        "crash",
        "error",
        "unsupported",
        "not installed",
        "not run",
    }
)
"""Outcomes without a machine: nothing that such a row says can be an optimum."""

ROUNDING = 1e-9
"""Relative size of a contradiction between two bounds that double precision explains."""


@dataclass(frozen=True)
class Contradiction:
    """An objective below a lower bound of the same optimum: one of them is wrong.

    Attributes
    ----------
    instance : Instance
    upper, lower : str
        The contestants whose bounds these are.
    primal, dual : float
    """

    instance: Instance
    upper: str
    lower: str
    primal: float
    dual: float


def is_reference(contestant: str) -> bool:
    """Whether it takes part for its bounds alone."""
    return contestant.startswith(REFERENCE)


def best_dual(rows: Iterable[Row]) -> dict[Instance, float]:
    """``D* = max D``: the best lower bound of every program that has one.

    Parameters
    ----------
    rows : iterable of Row
        References included.

    Returns
    -------
    dict of Instance to float
        Programs without any finite bound are left out.

    Raises
    ------
    StoreError
        Two programs under one name: data, or what a name means, changed between rows.
    """
    best: dict[Instance, float] = {}
    hashes: dict[Instance, str] = {}
    for row in rows:
        seen = hashes.setdefault(row.instance, row.problem_hash) if row.problem_hash else ""
        if seen != row.problem_hash:
            raise StoreError(
                f"Two programs are called {row.instance}: their hashes are {seen} and "
                f"{row.problem_hash}, so data or parameters changed between rows. Measure into a "
                "new store."
            )
        if math.isfinite(row.dual):
            best[row.instance] = max(best.get(row.instance, -math.inf), row.dual)
    return best


def suboptimality(row: Row, best: Mapping[Instance, float]) -> float:
    """``|P - D*| / size + missing``: the answer is certainly no further from the optimum.

    Parameters
    ----------
    row : Row
    best : mapping of Instance to float
        Of ``best_dual``.

    Returns
    -------
    float
        At least the infeasibility and the rounding that the verifier found, as a certificate holds
        to eps only if all three do. Infinite without an answer or a bound, and for anything that is
        not a number.
    """
    bound = best.get(row.instance, math.nan)
    if row.outcome in NO_ANSWER or not row.size > 0.0:
        return math.inf
    distance = abs(row.primal - bound) / row.size  # not max(.., 0): that would hide a wrong bound
    if math.isfinite(row.gap):
        # what the answer's own gap holds besides P - D: the price of constraints that are missed
        distance += max(row.gap - abs(row.primal - row.dual) / row.size, 0.0)
    parts = (distance, *(row.residuals.get(name, 0.0) for name in ("feasibility", "rounding")))
    return max(parts) if all(map(math.isfinite, parts)) else math.inf


def contradictions(rows: Iterable[Row]) -> tuple[Contradiction, ...]:
    """Feasible answers whose objective is below another's lower bound by more than rounding.

    There are none if the judge is right.
    """
    rows = tuple(rows)
    best = best_dual(rows)
    holder = {row.instance: row.contestant for row in rows if row.dual == best.get(row.instance)}
    found = []
    for row in rows:
        bound = best.get(row.instance, -math.inf)
        allowed = row.size * max(ROUNDING, 2.0 * row.residuals.get("rounding", 0.0))
        if row.residuals.get("feasibility", 0.0) > 0.0 or row.outcome in NO_ANSWER:
            continue
        if row.primal < bound - allowed:
            found.append(
                Contradiction(row.instance, row.contestant, holder[row.instance], row.primal, bound)
            )
    return tuple(found)
