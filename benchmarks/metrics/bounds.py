"""Equal certified gap: every answer to a program is measured against the same lower bound.

The multipliers of any answer bound the optimum from below (``certificates/gap.py``), whoever found
them. The best of these bounds serves everybody, so that a peer without multipliers has a gap too::

    D*  =  max over all answers of D,        D* <= optimum <= P
    suboptimality  =  |P - D*| / size + missing,    size = max(|P|, floor)

It is a proof as the answer's own gap is one, and never larger. As for that, a machine must meet
its constraints, and rounding must not hide more than what is stated. An objective below D* by more
than rounding proves nothing but that one of the two is wrong. Where nobody has a bound, no answer
can be measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmarks.cells import Instance
from benchmarks.rows import Row
from qpsvm.exceptions import StoreError

REFERENCE = "reference"
"""The contestant that bounds the optimum for the others and is not compared."""

NO_ANSWER = frozenset(
    {
        "infeasible",
        "unproven infeasible",
        "false infeasible",
        "memory limit",
        "crash",
        "error",
        "not measured",
        "unsupported",
        "not installed",
        "not run",
    }
)
"""Outcomes without a machine: nothing that such a row says can be an optimum."""

ROUNDING = 1e-9
"""Relative size of a contradiction between two bounds that double precision explains, and of an
infeasibility that is none."""

SOLVED = frozenset({"optimal", "unclaimed optimal"})
"""Outcomes that the verifier confirms to be an optimum."""


@dataclass(frozen=True)
class Contradiction:
    """An objective below a lower bound of the same optimum: one of them is wrong.

    A proof that no point is feasible, or that there is no optimum otherwise, is a lower bound of
    infinity here.

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
    """Return whether a contestant takes part only for its bounds.

    Parameters
    ----------
    contestant : str
        Its name, with its arguments in brackets if it has any.

    Returns
    -------
    bool
        True for ``reference`` with any arguments.

    Examples
    --------
    >>> is_reference("reference"), is_reference("reference(x=1)"), is_reference("reference_qp")
    (True, True, False)
    """
    return contestant.partition("(")[0] == REFERENCE


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

    Examples
    --------
    >>> from benchmarks.cells import Cell
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> rows = [Row(cell, "optimal", dual=dual) for dual in (1.0, 1.5)]
    >>> list(best_dual(rows).values())
    [1.5]
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
    """Bound on an answer's relative distance from the optimum, ``|P - D*| / size + missing``.

    Parameters
    ----------
    row : Row
        A row of a store.
    best : mapping of Instance to float
        Of ``best_dual``.

    Returns
    -------
    float
        At least the infeasibility and the rounding that the verifier found, as a certificate holds
        to eps only if all three do. Infinite without an answer or a bound, for an objective that
        contradicts the bound, and for anything that is not a number.

    Examples
    --------
    >>> from benchmarks.cells import Cell
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6)
    >>> row = Row(cell, "above eps", primal=2.0, dual=1.0, size=2.0)
    >>> suboptimality(row, {row.instance: 1.5})
    0.25
    """
    bound = best.get(row.instance, math.nan)
    if row.outcome in NO_ANSWER or not row.size > 0.0 or _contradicts(row, bound):
        return math.inf
    # an infeasible answer may be below the bound, and is no better for it
    distance = abs(row.primal - bound) / row.size + _missing(row)
    parts = (distance, *(row.residuals.get(name, 0.0) for name in ("feasibility", "rounding")))
    return max(parts) if all(map(math.isfinite, parts)) else math.inf


def is_unmeasurable(row: Row, best: Mapping[Instance, float]) -> bool:
    """Return whether a row has an answer whose program has no lower bound to compare with."""
    own = {row.instance: row.primal}  # the best bound there can be
    return row.instance not in best and math.isfinite(suboptimality(row, own))


def without_bound(rows: Iterable[Row], best: Mapping[Instance, float]) -> tuple[Instance, ...]:
    """Select the programs of a benchmark for which no answer gives a finite lower bound.

    Parameters
    ----------
    rows : iterable of Row
        Rows of a store, references included.
    best : mapping of Instance to float
        Of ``best_dual``.

    Returns
    -------
    tuple of Instance
        In the order of their first rows.

    Examples
    --------
    >>> from benchmarks.cells import Cell
    >>> row = Row(Cell(Instance("SoftMargin(C=1.0)", "iris"), "cvxopt", eps=1e-6), "time limit")
    >>> [instance.data for instance in without_bound([row], best={})]
    ['iris']
    """
    rows = tuple(rows)
    known = {*best, *(row.instance for row in rows if row.outcome == "infeasible")}
    return tuple(dict.fromkeys(row.instance for row in rows if row.instance not in known))


def contradictions(rows: Iterable[Row]) -> tuple[Contradiction, ...]:
    """Feasible answers whose objective is below another's lower bound by more than rounding.

    An optimum that was verified, of a program that was proven to have none, is one too. There are
    none if the judge is right.

    Parameters
    ----------
    rows : iterable of Row
        Rows of a store, references included.

    Returns
    -------
    tuple of Contradiction
        Each of them once, in the order of the rows.

    Examples
    --------
    >>> from benchmarks.cells import Cell
    >>> program = Instance("SoftMargin(C=1.0)", "iris")
    >>> first = Row(Cell(program, "a", eps=1e-6), "optimal", primal=1.0, dual=1.0, size=1.0)
    >>> second = Row(Cell(program, "b", eps=1e-6), "optimal", primal=2.0, dual=2.0, size=2.0)
    >>> [(found.upper, found.lower) for found in contradictions([first, second])]
    [('a', 'b')]
    """
    rows = tuple(rows)
    best = best_dual(rows)
    holder = {row.instance: row.contestant for row in rows if row.dual == best.get(row.instance)}
    prover = {row.instance: row.contestant for row in rows if row.outcome == "infeasible"}
    found = []
    for row in rows:
        bound = best.get(row.instance, -math.inf)
        if row.outcome in SOLVED and row.instance in prover:
            lower, bound = prover[row.instance], math.inf
        elif row.outcome not in NO_ANSWER and _contradicts(row, bound):
            lower = holder[row.instance]
        else:
            continue
        found.append(Contradiction(row.instance, row.contestant, lower, row.primal, bound))
    return tuple(dict.fromkeys(found))


def _contradicts(row: Row, bound: float) -> bool:
    """Return whether a feasible answer's objective is below D* by more than rounding."""
    rounding = max(ROUNDING, 2.0 * row.residuals.get("rounding", 0.0))
    feasible = not row.residuals.get("feasibility", 0.0) > ROUNDING
    return feasible and row.primal < bound - row.size * (rounding + _missing(row))


def _missing(row: Row) -> float:
    """Relative price of missed constraints: the answer's own gap without ``P - D``."""
    if not math.isfinite(row.gap):
        return 0.0
    return max(row.gap - abs(row.primal - row.dual) / row.size, 0.0)
