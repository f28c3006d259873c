"""Pages: several reports, with an optional comparison of the backends behind them."""

from __future__ import annotations

import math
import re
import textwrap
from dataclasses import dataclass, field, fields
from typing import Literal, TypeAlias

from qpsvm.display import Table, short_repr
from qpsvm.machines import SVMSolution
from qpsvm.reports.content import ReportContent
from qpsvm.reports.grade import Headline, worst
from qpsvm.reports.numbers import residual
from qpsvm.verification import KKTReport

Verdict: TypeAlias = Literal["PASS", "FAIL", "skipped"]

AGREEMENT = 1e-6
"""Largest relative difference between objectives of the same SVM."""


@short_repr
@dataclass(frozen=True)
class ComparisonRow:
    """Result of one backend on one program; figures are None without an answer.

    Attributes
    ----------
    backend, kernel, form : str
    seconds : float
        Wall clock of solving, with everything the tolerance contract did.
    verdict : "PASS", "FAIL" or "skipped"
        Skipped: the backend does not take the program, or had no answer in time.
    reason : str
        Why not PASS.
    objective, relative_gap, residual : float or None
        Primal objective, certified relative gap, worst scaled KKT residual.
    n_support : int or None
    version : str
        Of the backend.
    """

    backend: str
    kernel: str
    form: str
    seconds: float
    verdict: Verdict
    reason: str = ""
    objective: float | None = None
    relative_gap: float | None = None
    residual: float | None = None
    n_support: int | None = None
    version: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        kernel: str,
        form: str,
        seconds: float,
        solution: SVMSolution,
        report: KKTReport,
    ) -> ComparisonRow:
        """Build the row of a verified answer."""
        failed = [check for check in report.checks if not check.passed]
        return cls(
            backend=name,
            kernel=kernel,
            form=form,
            seconds=seconds,
            verdict="PASS" if report.passed else "FAIL",
            reason=", ".join(
                f"{check.name} {check.scaled:.1e} (allowed {check.tolerance:.0e})"
                for check in failed
            ),
            objective=report.objective,
            relative_gap=report.relative_gap,
            residual=report.residuals.worst,
            n_support=solution.n_support,
            version=report.statistics.version,
        )


@dataclass(frozen=True, repr=False)
class Comparison(Table):
    """All rows of a comparison, with their agreement and verdict.

    Attributes
    ----------
    rows : tuple of ComparisonRow
        One for each backend and program.
    eps : float
        Relative accuracy that was asked of every backend.
    """

    rows: tuple[ComparisonRow, ...]
    eps: float

    def columns(self) -> dict[str, list[object]]:
        """One row per backend and program, with the fields of ``ComparisonRow`` as columns."""
        names = [field.name for field in fields(ComparisonRow)]
        return {name: [getattr(row, name) for row in self.rows] for name in names}

    def count(self, verdict: Verdict) -> int:
        """Number of rows with a given verdict."""
        return sum(row.verdict == verdict for row in self.rows)

    def spread(self, kernel: str) -> float:
        """``(max - min) / max(1, |min|)`` over the objectives of one SVM, primal and dual alike."""
        values = [
            row.objective
            for row in self.rows
            if row.kernel == kernel and row.verdict != "skipped" and row.objective is not None
        ]
        if not values:
            return 0.0
        if not all(map(math.isfinite, values)):
            return math.inf
        return (max(values) - min(values)) / max(1.0, abs(min(values)))

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels, in order of appearance."""
        return tuple(dict.fromkeys(row.kernel for row in self.rows))

    @property
    def largest_spread(self) -> float:
        """The largest spread over all kernels."""
        return max((self.spread(kernel) for kernel in self.kernels), default=0.0)

    @property
    def agree(self) -> bool:
        """Return whether every kernel's objectives agree within ``AGREEMENT``."""
        return self.largest_spread <= AGREEMENT

    @property
    def passed(self) -> bool:
        """Return whether something was solved, nothing failed, and all objectives agree."""
        return self.count("PASS") > 0 and self.count("FAIL") == 0 and self.agree

    def reasons(self, longest: int = 400) -> list[tuple[Verdict, str, tuple[str, ...], str]]:
        """List the reasons why backends did not pass, each with its backends and programs.

        Programs for which a backend has the same reason are merged, and then backends whose reasons
        differ in their name alone: "each" stands for the name.

        Parameters
        ----------
        longest : int
            Characters of a reason, at most; a longer one is cut at a word.
        """
        found: dict[tuple[Verdict, str, str], list[str]] = {}
        for row in self.rows:
            if row.verdict != "PASS":
                key = (row.verdict, row.backend, " ".join(row.reason.split()))
                found.setdefault(key, []).append(f"{row.kernel} {row.form}")
        alike: dict[tuple[Verdict, tuple[str, ...], str], list[tuple[str, str]]] = {}
        for (word, name, reason), where in found.items():
            of_each = re.sub(rf"(Backend )?'{re.escape(name)}'", "each", reason)
            alike.setdefault((word, tuple(where), of_each), []).append((name, reason))
        return [
            (
                word,
                ", ".join(name for name, _ in same),
                where,
                textwrap.shorten(
                    same[0][1] if len(same) == 1 else of_each, longest, placeholder=" ..."
                ),
            )
            for (word, where, of_each), same in alike.items()
        ]

    def to_dict(self) -> dict[str, object]:
        """All rows and results in plain Python types."""
        return {
            "eps": self.eps,
            "passed": self.passed,
            "agree": self.agree,
            "largest_spread": self.largest_spread,
            "rows": [vars(row).copy() for row in self.rows],
        }


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
    def verdict(self) -> str:
        """Explanation of the verdict in a sentence; empty where nothing can pass or fail."""
        if self.comparison is None:
            return "" if self.headline is None else self.headline.sentence
        c = self.comparison
        return (
            f"{c.count('PASS')} of {len(c.rows)} solves verified at a relative accuracy of "
            f"{residual(c.eps)}; {c.count('FAIL')} failed, {c.count('skipped')} skipped. "
            f"Objectives of the same machine {'agree' if c.agree else 'disagree'}: largest "
            f"relative difference {residual(c.largest_spread)}."
        )

    @property
    def passed(self) -> bool:
        """Return whether there are reports or a comparison, and all passed."""
        compared = self.comparison is None or self.comparison.passed
        there = bool(self.reports) or self.comparison is not None
        return there and compared and all(report.passed for report in self.reports)
