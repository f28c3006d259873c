"""Comparison of backends that solved the same programs."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from dataclasses import dataclass, fields
from functools import partial
from typing import Literal, TypeAlias

from qpsvm.display import ColumnTable, short_repr
from qpsvm.machines import SVMSolution
from qpsvm.reports.blocks import (
    Block,
    Cell,
    Section,
    Sentences,
    Table,
    TableColumn,
    numbers,
    words,
)
from qpsvm.reports.numbers import figure, residual
from qpsvm.verification import KKTReport

Verdict: TypeAlias = Literal["PASS", "FAIL", "skipped"]


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
        failed = [
            f"{check.name} {check.scaled:.1e} (allowed {check.tolerance:.0e})"
            for check in report.checks
            if not check.passed
        ]
        return cls(
            name,
            kernel,
            form,
            seconds,
            verdict="PASS" if report.passed else "FAIL",
            reason=", ".join(failed),
            objective=report.objective,
            relative_gap=report.relative_gap,
            residual=report.residuals.worst,
            n_support=solution.n_support,
            version=report.statistics.version,
        )


@dataclass(frozen=True, repr=False)
class Comparison(ColumnTable):
    """All rows of a comparison, with their agreement and verdict.

    Attributes
    ----------
    rows : tuple of ComparisonRow
        One for each backend and program.
    eps : float
        Relative accuracy that was asked of every backend.
    agreement : float
        Largest relative difference between objectives of the same SVM that counts as agreement.
    """

    rows: tuple[ComparisonRow, ...]
    eps: float
    agreement: float = 1e-6

    def columns(self) -> dict[str, list[object]]:
        """One row per backend and program, with the fields of ``ComparisonRow`` as columns."""
        names = [field.name for field in fields(ComparisonRow)]
        return {name: [getattr(row, name) for row in self.rows] for name in names}

    def count(self, verdict: Verdict) -> int:
        """Number of rows with a given verdict."""
        return sum(row.verdict == verdict for row in self.rows)

    def spread(self, kernel: str) -> float:
        """``(max - min) / max(1, |min|)`` over the objectives of one SVM, primal and dual alike."""
        answers = [row for row in self.rows if row.kernel == kernel and row.verdict != "skipped"]
        values = [row.objective for row in answers if row.objective is not None]
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
        """Return whether every kernel's objectives agree within ``agreement``."""
        return self.largest_spread <= self.agreement

    @property
    def passed(self) -> bool:
        """Return whether something was solved, nothing failed, and all objectives agree."""
        return self.count("PASS") > 0 and self.count("FAIL") == 0 and self.agree

    @property
    def verdict(self) -> str:
        """The result in two sentences."""
        return (
            f"{self.count('PASS')} of {len(self.rows)} solves verified at a relative accuracy of "
            f"{residual(self.eps)}; {self.count('FAIL')} failed, {self.count('skipped')} skipped. "
            f"Objectives of the same machine {'agree' if self.agree else 'disagree'}: largest "
            f"relative difference {residual(self.largest_spread)}."
        )

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
        reasons = []
        for (word, programs, of_each), same in alike.items():
            reason = same[0][1] if len(same) == 1 else of_each
            short = textwrap.shorten(reason, longest, placeholder=" ...")
            reasons.append((word, ", ".join(name for name, _ in same), programs, short))
        return reasons

    def to_dict(self) -> dict[str, object]:
        """All rows and results in plain Python types."""
        return {
            "eps": self.eps,
            "passed": self.passed,
            "agree": self.agree,
            "largest_spread": self.largest_spread,
            "rows": [vars(row).copy() for row in self.rows],
        }


def comparison_section(comparison: Comparison, left_out: tuple[str, ...]) -> Section:
    """Build the section of a page's comparison of backends."""
    columns: tuple[TableColumn[ComparisonRow], ...] = (
        words("Backend", lambda row: row.backend),
        TableColumn("Verdict", lambda row: Cell(row.verdict, verdict=row.verdict)),
        words("Kernel", lambda row: row.kernel),
        words("Form", lambda row: row.form),
        numbers("Objective", lambda row: row.objective, partial(figure, digits=9)),
        numbers("Certified gap", lambda row: row.relative_gap, residual),
        numbers("KKT residual", lambda row: row.residual, residual),
        numbers("Support vectors", lambda row: row.n_support),
        numbers("Seconds", lambda row: row.seconds, "{:.2f}".format),
    )
    groups = itertools.groupby(comparison.rows, lambda row: (row.kernel, row.form))
    meaning = (
        "The primal and the dual form give a solver different quadratic programs of the same "
        "machine. The verifier measures objective, gap and residual after the solve; none of "
        "these figures is the solver's own."
    )
    caption = f"Backends, relative accuracy {residual(comparison.eps)}"
    rows = [tuple(same) for _, same in groups]
    table = Table(rows, columns, key="comparison-table", caption=caption, sortable=False)
    reasons = [
        f"{word}: {name}, {', '.join(programs)}: {reason}"
        for word, name, programs, reason in comparison.reasons()
    ]
    if left_out:
        reasons.append(f"not run: {', '.join(left_out)}")
    blocks: list[Block] = [Sentences("meaning", "", (meaning,)), table]
    if reasons:
        blocks.append(Sentences("notes", "Left out or not passed, and why", tuple(reasons)))
    return Section("comparison", "Every backend on every program", None, tuple(blocks))
