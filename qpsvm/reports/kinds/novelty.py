"""No labels: most of the samples are to be inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qpsvm.machines.samples import SampleTable
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

if TYPE_CHECKING:
    from qpsvm.reports.report import Report


class Novelty(Kind):
    """Decision values of zero or more are inside."""

    name: ClassVar[str] = "novelty"
    margin_decides: ClassVar[bool] = True
    score_name: ClassVar[str] = "share of the training samples inside or on the boundary"
    columns: ClassVar[tuple[Column, ...]] = (SAMPLE, DECISION, *CONDITION)

    def score(self, report: Report, table: SampleTable | None) -> float | None:
        return None if table is None else float(np.mean(_inside(report, table)))

    def pictures(self, report: Report, table: SampleTable | None) -> Iterator[Picture | None]:
        if table is None:
            return
        outside = int(np.count_nonzero(~_inside(report, table)))
        yield Histogram(
            heading="Decision values",
            groups=(Group("", table.decision),),
            lines=(Line(0.0, "the boundary", central=True),),
            quantity="decision value f(x)",
            noun="sample",
            statement=(
                f"{count(outside, 'sample')} {'is' if outside == 1 else 'are'} outside by more "
                f"than {_noise(report):.1g}."
            ),
        )
        yield alpha_against("decision value f(x)", "sample", report, table)
        group = np.zeros(len(table), dtype=np.intp)
        yield plane(report, group, ("",), table.case, (0.0,))


def _inside(report: Report, table: SampleTable) -> Any:
    """Decision values of zero or more, and those that only a solver's noise keeps below."""
    return table.decision >= -_noise(report)


def _noise(report: Report) -> float:
    return float((1.0 - ON_THE_LINE) * report.problem.model.unit)
