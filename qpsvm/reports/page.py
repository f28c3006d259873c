"""What one page shows: reports, and perhaps a comparison of the solvers behind them."""

from __future__ import annotations

from dataclasses import dataclass, field

from qpsvm.reports.comparison import Comparison
from qpsvm.reports.report import Report


@dataclass(frozen=True, eq=False)
class Page:
    """What one page shows.

    Attributes
    ----------
    title, subtitle : str
    reports : tuple of Report
    comparison : Comparison or None
    left_out : tuple of str
        What was not compared, and why.
    """

    title: str
    subtitle: str
    reports: tuple[Report, ...]
    comparison: Comparison | None = None
    left_out: tuple[str, ...] = field(default_factory=tuple)

    @classmethod
    def of(cls, report: Report) -> Page:
        """A page about one report."""
        return cls(report.title, report.source, (report,))

    @property
    def passed(self) -> bool:
        """Every verdict on the page, and there is one."""
        compared = self.comparison is None or self.comparison.passed
        there = bool(self.reports) or self.comparison is not None
        return there and compared and all(report.passed for report in self.reports)
