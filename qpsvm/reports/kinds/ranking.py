"""Reports on ranking problems: pairs of samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from qpsvm.machines.samples import SampleTable
from qpsvm.numerics.arrays import Vector
from qpsvm.plotting import Group, Histogram, Line, Picture
from qpsvm.plotting.picture import count
from qpsvm.reports.kinds.base import CONDITION, ON_THE_LINE, SAMPLE, Column, Kind, alpha_against
from qpsvm.reports.solved import SolvedProblem


class Ranks(Kind):
    """Ranking problems; ``sample`` is the better sample of a pair, ``over`` the other."""

    name: ClassVar[str] = "ranking"
    noun: ClassVar[str] = "pair"
    margin_decides: ClassVar[bool] = True
    support_name: ClassVar[str] = "Active pairs"
    score_name: ClassVar[str] = "share of pairs in order"
    columns: ClassVar[tuple[Column, ...]] = (
        SAMPLE,
        Column("over", "Over sample"),
        Column("label", "Relevance", "text"),
        Column("margin", "f(x) ahead by"),
        *CONDITION,
    )

    def score(self, solved: SolvedProblem, table: SampleTable | None) -> float | None:
        del solved
        return None if table is None else float(np.mean(table.margin > 0.0))

    def further_columns(self, solved: SolvedProblem) -> Mapping[str, Vector]:
        data, table = solved.problem.data, solved.table
        better, worse = data.pairs.T
        if table is None:
            return {}
        # the table is about the sample that comes first: f(better) = f(worse) + margin
        decision = table.decision + np.where(better < worse, 0.0, table.margin)
        return {
            "sample": data.kept[better],
            "over": data.kept[worse],
            "label": data.values[better],
            "decision": decision,
        }

    def pictures(
        self, solved: SolvedProblem, table: SampleTable | None
    ) -> Iterator[Picture | None]:
        if table is None:
            return
        short = int(np.count_nonzero(table.margin < ON_THE_LINE))
        wrong = int(np.count_nonzero(table.margin <= 0.0))
        yield Histogram(
            heading="How far the better sample is ahead",
            groups=(Group("", table.margin),),
            lines=(Line(0.0, "a tie", central=True), Line(1.0, "the margin")),
            quantity="difference f(better) - f(worse)",
            noun="pair",
            statement=(
                f"{count(short, 'pair')} {'misses' if short == 1 else 'miss'} the margin of 1, "
                f"{wrong:,} of them in the wrong order."
            ),
        )
        yield alpha_against("difference f(better) - f(worse)", "pair", solved, table)
