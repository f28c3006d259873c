"""Summary of a store, from which every format of a report is written."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.cells import Instance
from benchmarks.metrics.bounds import Contradiction, best_dual, contradictions, without_bound
from benchmarks.metrics.outcomes import FalseClaim, OutcomeTable, false_claims, outcome_table
from benchmarks.metrics.profiles import Profile, Wins, performance_profile, win_matrix
from benchmarks.metrics.rankings import Ranking, ranking
from benchmarks.metrics.scaling import Fit, scaling_fits
from benchmarks.metrics.times import Times, by_kind, times_to
from benchmarks.store import Results
from benchmarks.suite import Suite, loose_first
from qpsvm.exceptions import StoreError


@dataclass(frozen=True)
class Loss:
    """The program on which a contestant is furthest behind the fastest.

    Attributes
    ----------
    factor : float
        Of the fastest time; inf if it did not reach the gap and somebody did.
    instance : Instance
    winner : str
    outcome : str
        What its own last measurement there was.
    """

    factor: float
    instance: Instance
    winner: str
    outcome: str


@dataclass(frozen=True, eq=False)
class Standing:
    """Results of all contestants on programs of one kind, at one certified gap.

    Attributes
    ----------
    kind : str
        Family, intercept and kernel.
    target : float
        Certified relative gap.
    times : mapping of (Instance, contestant) to Timing
        Times to a gap, as ``times_to`` returns them.
    ranking : Ranking
        Places and means, the fastest first.
    profile : Profile
    wins : Wins
        Everybody, in pairs.
    losses : mapping of str to Loss
        Contestants that are fastest on every program they attempted have none.
    """

    kind: str
    target: float
    times: Times
    ranking: Ranking
    profile: Profile
    wins: Wins
    losses: dict[str, Loss]

    @property
    def contestants(self) -> tuple[str, ...]:
        """Contestants that take such programs: the ranked by rank, then the others."""
        ranked = self.ranking.contestants
        return (*ranked, *(who for who in self.wins.contestants if who not in ranked))

    @property
    def instances(self) -> tuple[Instance, ...]:
        """Programs of this kind."""
        return tuple(dict.fromkeys(instance for instance, _ in self.times))


@dataclass(frozen=True, eq=False)
class Summary:
    """All results of a store.

    Attributes
    ----------
    results : Results
    targets : tuple of float
        Certified relative gaps, from loose to tight.
    best : mapping of Instance to float
        The best lower bound of each program.
    outcomes : OutcomeTable
    claims : tuple of FalseClaim
        The furthest from what it claims first.
    contradictions : tuple of Contradiction
    without_bound : tuple of Instance
        Programs that nobody has a lower bound of: answers to them cannot be measured.
    standings : tuple of Standing
        Target by target, kind by kind.
    fits : mapping of float to tuple of Fit
        How times grow with the samples, by target.
    """

    results: Results
    targets: tuple[float, ...]
    best: dict[Instance, float]
    outcomes: OutcomeTable
    claims: tuple[FalseClaim, ...]
    contradictions: tuple[Contradiction, ...]
    without_bound: tuple[Instance, ...]
    standings: tuple[Standing, ...]
    fits: dict[float, tuple[Fit, ...]]

    @property
    def name(self) -> str:
        """Name of the suite."""
        return str(self.results.header.get("suite", {}).get("name", "")) or "unnamed"

    @property
    def missing(self) -> int:
        """Cells of the suite without a row, because the run ended before them.

        The suite is that of the last run into this store, the only one that ``store.read`` hands
        out: after a run of a part of a larger suite, cells of the rest are not missed.
        """
        cells = {row.cell for row in self.results.rows if row.cell.repeat == 0}
        return max(int(self.results.header.get("suite", {}).get("cells", 0)) - len(cells), 0)

    def at(self, target: float) -> tuple[Standing, ...]:
        """The standings at a target, kind by kind."""
        return tuple(standing for standing in self.standings if standing.target == target)


def summarize(results: Results) -> Summary:
    """Summarise a store for a report.

    Parameters
    ----------
    results : Results
        Of ``benchmarks.store.read``.

    Returns
    -------
    Summary
        At every target of the suite, kind by kind of program.

    Raises
    ------
    StoreError
        There is no row, or two programs have the same name.

    Examples
    --------
    >>> from benchmarks.cells import Cell, Instance
    >>> from benchmarks.rows import Row
    >>> cell = Cell(Instance("SoftMargin(C=1.0)", "iris"), "liar", eps=1e-6)
    >>> row = Row(cell, "false optimal", primal=2.0, dual=1.0, size=2.0, total_seconds=0.1)
    >>> summarize(Results({}, (row,))).claims[0].gap
    0.5
    """
    rows = results.rows
    if not rows:
        raise StoreError("The store holds no rows; run a suite first: python -m benchmarks run.")
    targets = targets_of(results)
    best = best_dual(rows)
    return Summary(
        results=results,
        targets=targets,
        best=best,
        outcomes=outcome_table(rows),
        claims=false_claims(rows),
        contradictions=contradictions(rows),
        without_bound=without_bound(rows, best),
        standings=tuple(
            _standing(kind, target, times)
            for target in targets
            for kind, times in by_kind(times_to(rows, target, best)).items()
        ),
        fits={target: scaling_fits(rows, target, best=best) for target in targets},
    )


def targets_of(results: Results) -> tuple[float, ...]:
    """The certified gaps that a store's suite asks for, from loose to tight.

    Parameters
    ----------
    results : Results
        Of ``benchmarks.store.read``.

    Returns
    -------
    tuple of float
        Those of ``Suite`` by default, where the store does not say.

    Examples
    --------
    >>> targets_of(Results({"suite": {"targets": [1e-6, 1e-3]}}, ()))
    (0.001, 1e-06)
    """
    suite = results.header.get("suite", {})
    return loose_first(suite.get("targets", Suite.targets))


def _standing(kind: str, target: float, times: Times) -> Standing:
    return Standing(
        kind=kind,
        target=target,
        times=times,
        ranking=ranking(times),
        profile=performance_profile(times),
        wins=win_matrix(times),
        losses=_losses(times),
    )


def _losses(times: Times) -> dict[str, Loss]:
    """Largest ratio to the fastest time of every contestant, and its program."""
    fastest: dict[Instance, tuple[float, str]] = {}
    for (instance, who), timing in times.items():
        if timing.reached:
            own = (timing.seconds, who)
            fastest[instance] = min(fastest.get(instance, own), own)
    worst: dict[str, Loss] = {}
    for (instance, who), timing in times.items():
        seconds, winner = fastest.get(instance, (math.nan, ""))
        factor = timing.seconds / seconds  # NaN where nobody was
        if timing.attempted and factor > max(1.0, worst[who].factor if who in worst else 1.0):
            worst[who] = Loss(factor, instance, winner, timing.outcome)
    return worst
