"""Pages: one or several reports, with an optional comparison of backends."""

from __future__ import annotations

from dataclasses import dataclass, field

from qpsvm.display import short_repr
from qpsvm.reports.comparison import Comparison
from qpsvm.reports.content import ReportContent
from qpsvm.reports.grade import Headline, worst


@short_repr
@dataclass(frozen=True, eq=False)
class Page:
    """A page of reports, with an optional comparison of the backends behind them.

    Attributes
    ----------
    title, subtitle : str
    reports : tuple of Report
    comparison : Comparison or None
    left_out : tuple of str
        What was not compared, and why.
    assessed : Headline or None
        What is said of all reports together, by whoever knows more than each of them says.
    """

    title: str
    subtitle: str
    reports: tuple[ReportContent, ...]
    comparison: Comparison | None = None
    left_out: tuple[str, ...] = field(default_factory=tuple)
    assessed: Headline | None = None

    @classmethod
    def of(cls, report: ReportContent) -> Page:
        """Build a page about one report."""
        return cls(report.title, report.source, (report,))

    @property
    def headline(self) -> Headline | None:
        """The headline of all reports together; None for a comparison."""
        if self.comparison is not None or not self.reports:
            return None
        return self.assessed or worst([report.headline for report in self.reports])

    @property
    def passed(self) -> bool:
        """Return whether there are reports or a comparison, and all passed."""
        compared = self.comparison is None or self.comparison.passed
        there = bool(self.reports) or self.comparison is not None
        return there and compared and all(report.passed for report in self.reports)
