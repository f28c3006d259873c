"""Reports on two-class problems, for every loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from qpsvm.machines.samples import SampleTable
from qpsvm.plotting import Group, Histogram, Line, Picture
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
    alpha_against,
    margin_of,
    plane,
)
from qpsvm.reports.solved import SolvedProblem


class TwoClass(Kind):
    """Two-class problems; a positive decision value means the second class."""

    name: ClassVar[str] = "two-class"
    margin_decides: ClassVar[bool] = True
    score_name: ClassVar[str] = "training accuracy"
    columns: ClassVar[tuple[Column, ...]] = (SAMPLE, LABEL, DECISION, MARGIN, *CONDITION)

    def classes(self, solved: SolvedProblem) -> list[tuple[object, int]]:
        data = solved.problem.data
        counts = [int(np.count_nonzero(data.signs == sign)) for sign in (-1.0, 1.0)]
        return list(zip(data.classes.tolist(), counts, strict=True))

    def pictures(
        self, solved: SolvedProblem, table: SampleTable | None
    ) -> Iterator[Picture | None]:
        if table is None:
            return
        data, margin = solved.problem.data, margin_of(solved)
        groups = tuple(f"class {label}" for label in data.classes.tolist())
        positive = data.signs > 0.0
        inside = int(np.count_nonzero(table.margin < margin * ON_THE_LINE))
        wrong = int(np.count_nonzero(table.margin <= 0.0))
        ends = (Line(-margin, "the margin"), Line(margin, "the margin")) if margin > 0.0 else ()
        boundary = Line(0.0, "the boundary", central=True)
        yield Histogram(
            heading="Decision values by class",
            groups=(
                Group(groups[0], table.decision[~positive]),
                Group(groups[1], table.decision[positive]),
            ),
            lines=(*ends[:1], boundary, *ends[1:]),
            quantity="decision value f(x)",
            noun="sample",
            statement=(
                f"{count(inside, 'sample')} {'lies' if inside == 1 else 'lie'} inside the margin "
                f"or beyond, {wrong:,} of them on the wrong side."
            ),
        )
        yield alpha_against("margin y f(x)", "sample", solved, table)
        levels = (0.0, -margin, margin) if margin > 0.0 else (0.0,)
        yield plane(solved, positive.astype(np.intp), groups, table.case, levels)
