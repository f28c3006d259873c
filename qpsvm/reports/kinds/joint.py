"""Reports on problems with several classes in one program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from qpsvm.machines.samples import SampleTable
from qpsvm.numerics.arrays import Mask
from qpsvm.plotting import Complementarity, Group, Histogram, Line, Picture
from qpsvm.plotting.complementarity import Condition
from qpsvm.plotting.histogram import ROWS
from qpsvm.plotting.picture import count
from qpsvm.reports.kinds.base import (
    CONDITION,
    DECISION,
    LABEL,
    MARGIN,
    ON_THE_LINE,
    SAMPLE,
    Column,
    Kind,
    class_sizes,
    plane,
)
from qpsvm.reports.solved import SolvedProblem


class Joint(Kind):
    """Report texts for Crammer-Singer problems, which learn all classes in one program."""

    name: ClassVar[str] = "multiclass"
    noun: ClassVar[str] = "row"
    score_name: ClassVar[str] = "training accuracy"
    columns: ClassVar[tuple[Column, ...]] = (
        SAMPLE,
        LABEL,
        Column("against", "Against", "text"),
        DECISION,
        MARGIN,
        *CONDITION,
    )

    def score(self, solved: SolvedProblem, table: SampleTable | None) -> float | None:
        data, (n, k) = solved.data, solved.problem.model.own.shape
        if table is None:
            return None
        return float(data.score(table.decision.reshape(n, k), data.targets))

    def classes(self, solved: SolvedProblem) -> list[tuple[object, int]]:
        return class_sizes(solved.problem.data)

    def pictures(
        self, solved: SolvedProblem, table: SampleTable | None
    ) -> Iterator[Picture | None]:
        if table is None:
            return
        model = solved.problem.model
        data, own = model.data, model.own.ravel()
        margin, case = table.margin[own], table.case[own]
        labels = tuple(f"class {label}" for label in data.classes.tolist())
        order = list(range(len(labels)))
        if len(labels) > ROWS:  # those with most errors
            order.sort(key=lambda m: -np.count_nonzero(margin[data.codes == m] <= 0.0))
        short = int(np.count_nonzero(margin < ON_THE_LINE))
        wrong = int(np.count_nonzero(margin <= 0.0))
        yield Histogram(
            heading="Margins by class",
            groups=tuple(Group(labels[m], margin[data.codes == m]) for m in order),
            lines=(Line(0.0, "the boundary", central=True), Line(1.0, "the margin")),
            quantity="margin over the best other class",
            noun="sample",
            statement=(
                f"{count(short, 'sample')} {'misses' if short == 1 else 'miss'} the margin of 1, "
                f"{wrong:,} of them on the wrong side."
            ),
        )
        yield _own_alpha(table, own)
        yield plane(solved, data.codes, labels, case, ())


def _own_alpha(table: SampleTable, own: Mask) -> Complementarity | None:
    """Picture of ``tau_i,yi / C_i`` against the smallest margin of every sample."""
    x, y = table.margin[own], table.alpha[own] / table.upper[own]
    finite = np.isfinite(x) & np.isfinite(y)
    if not finite.any():
        return None
    return Complementarity(
        heading="Alpha against margin",
        x=x[finite],
        y=y[finite],
        case=table.case[own][finite],
        conditions=(Condition(1.0, 0.0, 1.0, 0.0),),
        quantity="margin over the best other class",
        variable="alpha / C",
        noun="sample",
    )
