"""A report in every format: text, JSON, HTML, Markdown and LaTeX."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.display import wrapped
from qpsvm.reports.content import ReportContent
from qpsvm.reports.dictionary import report_dict
from qpsvm.reports.formats import Formats
from qpsvm.reports.page import Page


@dataclass(frozen=True, eq=False, repr=False)
class Report(ReportContent, Formats):
    """A report on a solved problem with its verification; ``build`` makes one.

    Attributes
    ----------
    problem, solution, verified, certificate, name
        As those of ``SolvedProblem``.
    source, remarks, facts, trace, digest, versions, compared, assessed
        As those of ``ReportContent``.
    machines : tuple of Report
        The machines of a ReducedProblem.
    """

    machines: tuple[Report, ...]

    to_dict = report_dict

    def as_page(self) -> Page:
        return Page.of(self)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "failed"
        return wrapped(f"Report({self.family}, {verdict} at eps={self.eps:g}; print it to read it)")
