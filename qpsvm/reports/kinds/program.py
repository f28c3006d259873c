"""A quadratic program by itself: residuals and no samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from qpsvm.machines.samples import SampleTable
from qpsvm.plotting import Checks, Picture
from qpsvm.reports.kinds.base import Kind

if TYPE_CHECKING:
    from qpsvm.reports.report import Report


class Program(Kind):
    """Nothing but numbers."""

    name: ClassVar[str] = "program"

    def score(self, report: Report, table: SampleTable | None) -> float | None:
        del report, table
        return None

    def pictures(self, report: Report, table: SampleTable | None) -> Iterator[Picture | None]:
        del table
        yield Checks(report.checks)
