"""The verdict on a solution, with every check; of several machines the worst decides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from qpsvm.certificates import Certificate
from qpsvm.certificates.reduced import MACHINES
from qpsvm.display import LINES, data_frame, first_lines
from qpsvm.machines.samples import MarginSummary, SampleTable
from qpsvm.qp.bounds import ProgramBound
from qpsvm.qp.kkt_residuals import Check, KKTResiduals
from qpsvm.qp.solution import SolveStatistics

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class KKTReport:
    """The verdict on a solution, with every check, bound and note that it is based on.

    Attributes
    ----------
    passed : bool
        True when every check is within its tolerance. NaN, a missing or misshapen vector: False.
    eps : float
        The relative accuracy asked for.
    checks : tuple of Check
        Each residual with its absolute value, scaled value, tolerance and verdict.
    residuals : KKTResiduals
        Of the program's solution.
    certificate : Certificate or None
        For SVM problems.
    samples : SampleTable or None
        For SVM problems: every training sample and its KKT case.
    problem : str
        The program or SVM problem in one line.
    statistics : SolveStatistics
        Who solved it, as the solution says.
    notes : tuple of str
        What was missing or not a number, and why there is no bound on the optimum.
    bound : ProgramBound or None
        For bare programs: bounds on the optimum, which the verdict rests on.
    """

    eps: float
    checks: tuple[Check, ...]
    residuals: KKTResiduals
    certificate: Certificate | None
    samples: SampleTable | None
    problem: str
    statistics: SolveStatistics
    notes: tuple[str, ...] = ()
    bound: ProgramBound | None = None

    @cached_property
    def passed(self) -> bool:
        """Return whether there are checks and all passed."""
        failed = [check for check in self.checks if not check.scaled <= check.tolerance]  # or NaN
        return bool(self.checks) and not failed

    @cached_property
    def summary(self) -> MarginSummary | None:
        """Support vectors, margin and errors of the machine; None where it was not measured."""
        proof, table = self.certificate, self.samples
        if proof is None or table is None:
            return None

        def n_possible() -> int:
            return len(table) - proof.screening.count("zero")

        found: MarginSummary = proof.model.summary(proof.evaluation, table, n_possible)
        return found

    @property
    def relative_gap(self) -> float:
        """The certified relative gap."""
        if self.certificate is not None:
            return self.certificate.relative_gap
        return math.inf if self.bound is None else self.bound.relative_gap

    @property
    def worst(self) -> float:
        """The worst check in units of its tolerance, times eps.

        ``eps * max(scaled / tolerance)``: at most ``eps`` exactly when the report passed.
        """
        return self.eps * max([check.scaled / check.tolerance for check in self.checks])

    @property
    def passes_at(self) -> float:
        """An eps at which the same figures pass, with a margin of a half; infinite if none does."""
        needed = (c.scaled if c.tolerance == self.eps else c.scaled * c.scaled for c in self.checks)
        worst = 1.5 * max(needed, default=math.inf)
        return worst if worst < 0.9 else math.inf  # below 1 with one digit, too

    @property
    def objective(self) -> float:
        """Primal objective of the SVM, or of the program without an SVM."""
        if self.certificate is not None:
            return self.certificate.primal_objective
        return self.residuals.primal_objective

    def to_dict(self) -> dict[str, object]:
        """All fields except the sample table, in plain Python types, for JSON."""
        return {
            "problem": self.problem,
            "passed": self.passed,
            "eps": self.eps,
            "relative_gap": self.relative_gap,
            "objective": self.objective,
            "backend": self.statistics.backend,
            "checks": [check.to_dict() for check in self.checks],
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "bound": None if self.bound is None else self.bound.to_dict(),
            "summary": None if self.summary is None else vars(self.summary).copy(),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [
            f"{'PASS' if self.passed else 'FAIL'} at eps={self.eps:g}: {self.problem}",
            f"  {'check':<18} {'absolute':>10} {'scaled':>10} {'tolerance':>10}",
        ]
        lines += [
            f"  {c.name:<18} {c.absolute:>10.2e} {c.scaled:>10.2e} {c.tolerance:>10.0e}"
            + ("" if c.passed else "  FAIL")
            for c in self.checks
        ]
        ends = self._optimum_between()
        if ends is not None:
            lines.append(f"  optimum in [{ends[0]:.12g}, {ends[1]:.12g}], up to rounding")
        if self.summary is not None:
            lines.append(f"  {self.summary}")
        notes = [f"  note: {note}" for note in self.notes]
        return "\n".join(lines + first_lines(notes, LINES - len(lines), "further notes: .notes"))

    def to_frame(self) -> pd.DataFrame:
        """The checks as a pandas DataFrame, one per row.

        Raises
        ------
        MissingPackageError
            pandas, the extra ``qpsvm[pandas]``, is not installed.
        """
        names = ("name", "absolute", "scaled", "tolerance", "passed")
        columns = {name: [getattr(check, name) for check in self.checks] for name in names}
        return data_frame(columns, "KKTReport.to_frame()")

    def _optimum_between(self) -> tuple[float, float] | None:
        """Bounds on the optimal objective; None unless both are finite."""
        if self.certificate is not None:
            ends = self.certificate.dual_objective, self.certificate.feasible_objective
        elif self.bound is not None:
            ends = self.bound.lower, self.bound.upper
        else:
            return None
        return ends if all(map(math.isfinite, ends)) else None

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "failed"
        gap = f"relative gap {self.relative_gap:.2e}"
        return f"KKTReport({verdict} at eps={self.eps:g}, {gap}; print it for every check)"


@dataclass(frozen=True, eq=False)
class ReducedReport:
    """The reports on a reduction's two-class machines, and errors in their combination.

    Attributes
    ----------
    eps : float
        The relative accuracy asked for.
    problem : str
        All of it in one line.
    names : tuple of str
    reports : tuple of KKTReport
        Empty where the solution belongs to another problem.
    notes : tuple of str
        Why it does; each of them fails the verdict.
    """

    eps: float
    problem: str
    names: tuple[str, ...]
    reports: tuple[KKTReport, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Return whether there are reports, all pass, and the machines belong together."""
        return bool(self.reports) and not self.notes and all(r.passed for r in self.reports)

    @property
    def relative_gap(self) -> float:
        """The largest relative gap of the machines; infinite if there are none."""
        return max((report.relative_gap for report in self.reports), default=math.inf)

    @property
    def worst(self) -> float:
        """The worst check of all machines, in the units of ``KKTReport.worst``."""
        return max((report.worst for report in self.reports), default=math.inf)

    def to_dict(self) -> dict[str, object]:
        """The reports by the names of their machines, in plain Python types, for JSON."""
        parts = zip(self.names, self.reports, strict=False)
        return {
            "problem": self.problem,
            "passed": self.passed,
            "eps": self.eps,
            "relative_gap": self.relative_gap,
            "reports": [{"name": name} | report.to_dict() for name, report in parts],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        width = max(len(name) for name in ("machine", *self.names))
        lines = [
            f"{'PASS' if self.passed else 'FAIL'} at eps={self.eps:g}: {self.problem}",
            f"  {'machine':<{width}} {'objective':>14} {'relative gap':>12} {'worst check':>11}",
        ]
        parts = list(zip(self.names, self.reports, strict=False))
        if len(parts) > MACHINES:
            parts.sort(key=lambda part: (part[1].passed, -part[1].worst))
        rows = [
            f"  {name:<{width}} {report.objective:>14.8g} {report.relative_gap:>12.2e} "
            f"{report.worst:>11.2e}" + ("" if report.passed else "  FAIL")
            for name, report in parts
        ]
        lines += first_lines(rows, MACHINES, "machines that are no worse: .names and .reports")
        notes = [f"  note: {note}" for note in self.notes]
        return "\n".join(lines + first_lines(notes, LINES - len(lines), "further notes: .notes"))

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "failed"
        gap = f"relative gap {self.relative_gap:.2e}"
        return f"ReducedReport({verdict} at eps={self.eps:g}, {gap}; print it for every machine)"
