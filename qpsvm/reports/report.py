"""A report in every format: text, JSON, HTML, Markdown and LaTeX."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.reports.content import ReportContent
from qpsvm.reports.dictionary import report_dict
from qpsvm.reports.files import text_of


@dataclass(frozen=True, eq=False, repr=False)
class Report(ReportContent):
    """What was solved, by whom, and what the verifier says. ``build`` makes one.

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

    def to_json(self) -> str:
        """``to_dict`` with every sample, as text."""
        return text_of(self, "json")

    def to_text(self) -> str:
        """For a terminal or a log: plain text."""
        return text_of(self, "txt")

    def to_html(self) -> str:
        """One page that needs nothing else.

        Raises
        ------
        MissingPackageError
            Jinja2 or Matplotlib, the extra ``qpsvm[report]``, is not installed.
        """
        return text_of(self, "html")

    def to_markdown(self) -> str:
        """GitHub's Markdown; errors as ``to_html``."""
        return text_of(self, "md")

    def to_latex(self) -> str:
        """A complete LaTeX document with tables; errors as ``to_html``."""
        return text_of(self, "tex")

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "failed"
        return f"Report({self.family}, {verdict} at eps={self.eps:g})"
