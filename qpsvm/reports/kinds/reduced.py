"""Several classes by several two-class machines: what they say together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qpsvm.exceptions import QPSVMError
from qpsvm.machines.samples import SampleTable
from qpsvm.plotting import Picture
from qpsvm.reports.kinds.base import Kind, plane

if TYPE_CHECKING:
    from qpsvm.reports.report import Report


class Reduced(Kind):
    """The machines have sections, tables and pictures of their own."""

    name: ClassVar[str] = "reduced"
    score_name: ClassVar[str] = "training accuracy"

    def score(self, report: Report, table: SampleTable | None) -> float | None:
        del table
        try:
            return float(report.solution.score(report.data.X, report.data.targets))
        except (QPSVMError, ValueError, AttributeError):
            return None  # not a machine that predicts

    def classes(self, report: Report) -> list[tuple[Any, int]]:
        data = report.problem.data
        counts = np.bincount(data.codes, minlength=len(data.classes))
        return list(zip(data.classes.tolist(), counts.tolist(), strict=True))

    def pictures(self, report: Report, table: SampleTable | None) -> Iterator[Picture | None]:
        del table
        data = report.problem.data
        case = np.zeros(data.n_given, dtype=np.intp)
        for machine in report.machines:
            own = machine.table
            if own is None:
                return
            np.maximum.at(case, own.sample, own.case)
        labels = tuple(f"class {label}" for label in data.classes.tolist())
        if report.machines:
            yield plane(report, data.codes, labels, case[data.kept], ())
