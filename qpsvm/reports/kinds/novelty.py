"""Reports on one-class problems (novelty detection)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from qpsvm.machines.samples import SampleTable
from qpsvm.numerics.arrays import Mask
from qpsvm.plotting import Group, Histogram, Line, Picture
from qpsvm.plotting.picture import count
from qpsvm.reports.kinds.base import (
    CONDITION,
    DECISION,
    ON_THE_LINE,
    SAMPLE,
    Column,
    Kind,
    alpha_against,
    plane,
)
from qpsvm.reports.solved import SolvedProblem


class Novelty(Kind):
    """One-class problems; samples with decision values of zero or more are inside."""

    name: ClassVar[str] = "novelty"
    margin_decides: ClassVar[bool] = True
    score_name: ClassVar[str] = "share of the training samples inside or on the boundary"
    columns: ClassVar[tuple[Column, ...]] = (SAMPLE, DECISION, *CONDITION)

    def score(self, solved: SolvedProblem, table: SampleTable | None) -> float | None:
        return None if table is None else float(np.mean(_inside(solved, table)))

    def pictures(
        self, solved: SolvedProblem, table: SampleTable | None
    ) -> Iterator[Picture | None]:
        if table is None:
            return
        outside = int(np.count_nonzero(~_inside(solved, table)))
        yield Histogram(
            heading="Decision values",
            groups=(Group("", table.decision),),
            lines=(Line(0.0, "the boundary", central=True),),
            quantity="decision value f(x)",
            noun="sample",
            statement=(
                f"{count(outside, 'sample')} {'is' if outside == 1 else 'are'} outside by more "
                f"than {_noise(solved):.1g}."
            ),
        )
        yield alpha_against("decision value f(x)", "sample", solved, table)
        group = np.zeros(len(table), dtype=np.intp)
        yield plane(solved, group, ("",), table.case, (0.0,))


def _inside(solved: SolvedProblem, table: SampleTable) -> Mask:
    """Mask of samples with decision values of zero or more, up to a solver's accuracy."""
    return table.decision >= -_noise(solved)


def _noise(solved: SolvedProblem) -> float:
    return float((1.0 - ON_THE_LINE) * solved.problem.model.unit)
