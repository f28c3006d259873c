"""The content of a report and of a page of reports, independent of their format.

``ReportContent`` has a solved problem with its verdict and the caller's remarks. It adds only words
and pictures: every figure comes from the verifier or the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

from qpsvm.certificates import Certificate, PredictionComparison
from qpsvm.display import short_repr
from qpsvm.machines import ReducedSolution, SVMSolution
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.problem import MachineProblem
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.machines.samples import MarginSummary, SampleTable
from qpsvm.plotting import Convergence, Picture, SortedViolations
from qpsvm.qp.kkt_residuals import Check, Tolerances
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics
from qpsvm.reports import grade as grades
from qpsvm.reports.comparison import Comparison
from qpsvm.reports.kinds import Kind, kind_of

Problem: TypeAlias = MachineProblem | ReducedProblem | QuadraticProgram
"""What can be solved and reported."""

Solution: TypeAlias = SVMSolution | JointSolution | ReducedSolution | QPSolution
"""The answer to a problem."""


@short_repr
@dataclass(frozen=True)
class Facts:
    """A small table of names and values that the caller adds.

    Attributes
    ----------
    title : str
    values : mapping of str to number, text, bool, None or a sequence of these
    """

    title: str
    values: Mapping[str, object]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))


@dataclass(frozen=True, eq=False)
class ReportContent:
    """A solved problem with its verdict, grade and pictures, and remarks of the caller.

    Attributes
    ----------
    problem : SVMProblem, JointProblem, ReducedProblem or QuadraticProgram
    solution : SVMSolution, JointSolution, ReducedSolution or QPSolution
    verified : KKTReport or ReducedReport
    certificate : Certificate or None
        What is said about the gap; None for a bare program, for several machines, which have their
        own, and where nothing could be measured.
    name : str
        Of a machine that is one of several.
    machines : tuple of ReportContent
        The machines of a ReducedProblem.
    source : str
        Where the data came from, in words.
    remarks : tuple of str
        The caller's own sentences, shown first.
    facts : Facts or None
    trace : tuple of Progress
        What the solve said on its way.
    digest : str
        SHA-256 of the training data (of the numbers of a bare program).
    versions : mapping
    compared : PredictionComparison or None
        Of the training predictions with the exact optimum's, by whoever knows more than the
        certificate says.
    assessed : Evidence or None
        For the grade, by whoever knows more than the verdict says.
    """

    problem: Any  # what reads them knows, by the kind of report, which one it is
    solution: Any
    verified: Any
    certificate: Certificate | None
    name: str
    machines: tuple[ReportContent, ...]
    source: str
    remarks: tuple[str, ...]
    facts: Facts | None
    trace: tuple[Any, ...]
    digest: str
    versions: Mapping[str, str]
    compared: PredictionComparison | None = None
    assessed: grades.Evidence | None = None

    # --- the verdict -----------------------------------------------------------------------------

    @property
    def passed(self) -> bool:
        """Return whether the verifier's report passed."""
        return bool(self.verified.passed)

    @property
    def eps(self) -> float:
        """The relative accuracy that the verifier required."""
        return float(self.verified.eps)

    @property
    def relative_gap(self) -> float:
        """The certified relative gap; of several machines, the largest."""
        return float(self.verified.relative_gap)

    @property
    def worst(self) -> float:
        """The worst check, in units of eps: see ``KKTReport.worst``."""
        return float(self.verified.worst)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of the verifier's report; empty for a reduction."""
        return getattr(self.verified, "checks", ())

    @property
    def objective(self) -> float | None:
        """Primal objective; None for a reduction."""
        return getattr(self.verified, "objective", None)

    @cached_property
    def predictions(self) -> PredictionComparison | None:
        """Comparison of training predictions with the exact optimum's; None if unknown."""
        if self.compared is not None:
            return self.compared
        if not self.n_machines:
            return grades.predictions_of_machine(self.problem, self.verified, self.certificate)
        proofs = [machine.certificate for machine in self.machines]
        return grades.predictions_of_machines(self.problem, self.verified, proofs)

    @cached_property
    def evidence(self) -> grades.Evidence:
        """Evidence for the report's grade: gap, tolerance and compared predictions."""
        if self.assessed is not None:
            return self.assessed
        if self.n_machines:
            parts = [machine.evidence for machine in self.machines]
            return grades.evidence_of_machines(self.verified, parts, self.predictions)
        if self.data is None:
            return grades.evidence_of_program(self.verified)
        known = self.problem, self.verified, self.certificate, self.predictions
        return grades.evidence_of_machine(*known)

    @property
    def grade(self) -> grades.Grade:
        """Grade of the answer, one of five."""
        return self.evidence.grade

    @property
    def headline(self) -> grades.Headline:
        """The grade, with its reason in one sentence."""
        return self.evidence.headline

    # --- what was solved -------------------------------------------------------------------------

    @cached_property
    def kind(self) -> Kind:
        """The kind of problem, which chooses words, tables and pictures."""
        return kind_of(self.problem)

    @property
    def title(self) -> str:
        """Title of the report: the problem and its grade."""
        return f"{self.kind.title}, {self.grade.description}"

    @property
    def family(self) -> str:
        """Name of the formulation with its parameters."""
        if self.n_machines:
            two_class = self.problem.problems[0].family
            return f"{type(self.problem.reduction).__name__}({two_class})"
        return "QuadraticProgram" if self.data is None else str(self.problem.family)

    @property
    def form(self) -> str | None:
        """Form of the program, "primal" or "dual"; None for a bare program."""
        return getattr(self.problem, "form", None)

    @property
    def kernel(self) -> str | None:
        """Name and parameters of the kernel; None for a bare program."""
        first = self.problem.problems[0] if self.n_machines else self.problem
        return None if self.data is None else str(first.kernel)

    @property
    def n_machines(self) -> int:
        """Number of two-class machines of a reduction; 0 for a single program."""
        return len(getattr(self.problem, "problems", ()))

    @property
    def data(self) -> Any:
        """The training set; None for a bare program."""
        return getattr(self.problem, "data", None)

    @property
    def program(self) -> QuadraticProgram | None:
        """The solver's program; None for a reduction."""
        return self.problem if self.data is None else getattr(self.problem, "qp", None)

    @property
    def constraints(self) -> list[tuple[str, str, float]]:
        """Name, kind and multiplier of each of the caller's constraints on (w, b)."""
        rules = getattr(getattr(self.problem, "model", None), "constraints", None)
        if rules is None:
            return []
        kinds = ["inequality"] * len(rules.h) + ["equality"] * len(rules.b)
        multipliers = self.solution.constraint_multipliers.tolist()
        if len(multipliers) != len(kinds):
            return []  # of another problem
        return list(zip(rules.names, kinds, multipliers, strict=True))

    # --- the solve -------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """Verified status; of several machines, the worst."""
        return str(self.solution.status.value)

    @property
    def qp_solution(self) -> QPSolution | None:
        """The solution of the program; None for a reduction or without a solution."""
        return self.solution if self.data is None else getattr(self.solution, "qp", None)

    @property
    def statistics(self) -> SolveStatistics:
        """Statistics of the solve; of several machines, their sum and the first settings."""
        own, parts = self.qp_solution, [machine.statistics for machine in self.machines]
        if own is not None:
            return own.statistics
        if not parts:
            return SolveStatistics()
        iterations = [part.iterations for part in parts if part.iterations is not None]
        steps = dict.fromkeys(step for part in parts for step in part.seconds)
        return SolveStatistics(
            backend=", ".join(dict.fromkeys(part.backend for part in parts)),
            version=", ".join(dict.fromkeys(part.version for part in parts)),
            iterations=sum(iterations) if len(iterations) == len(parts) else None,
            setup_seconds=sum(part.setup_seconds for part in parts),
            solve_seconds=sum(part.solve_seconds for part in parts),
            seconds={step: math.fsum(p.seconds.get(step, 0.0) for p in parts) for step in steps},
            asked=tuple(dict.fromkeys(name for part in parts for name in part.asked)),
            polished=any(part.polished for part in parts),
            escalated=any(part.escalated for part in parts),
            settings=parts[0].settings,
            note=parts[0].note,
        )

    # --- samples and pictures --------------------------------------------------------------------

    @property
    def table(self) -> SampleTable | None:
        """The sample table: every condition with its KKT case."""
        return getattr(self.verified, "samples", None)

    @property
    def summary(self) -> MarginSummary | None:
        """The textbook figures of a single machine."""
        return getattr(self.verified, "summary", None)

    def samples(self, limit: int | None = None) -> list[dict[str, object]]:
        """One row per condition, worst violation first; the keys are in ``docs/report.md``.

        Parameters
        ----------
        limit : int, optional
            Only so many of the worst.
        """
        table = self.table
        if table is None:
            return []
        further = self.kind.further_columns(self)
        return [
            table.row(i) | {key: column[i].item() for key, column in further.items()}
            for i in table.worst_first()[:limit].tolist()
        ]

    @property
    def _has_samples(self) -> bool:
        """Return whether the samples are known, where the kind of problem has any of its own."""
        return self.table is not None or not self.kind.columns

    @cached_property
    def score(self) -> float | None:
        """Score of the machine on its training samples; ``kind.score_name`` names it."""
        return self.kind.score(self) if self._has_samples else None

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures of the report, each drawn only on request."""
        found: list[Picture | None] = []
        if self._has_samples:
            found += self.kind.pictures(self)
        if self.table is not None:
            tolerance = Tolerances(self.eps).of("natural")
            found.append(SortedViolations(self.table.violation, tolerance, self.kind.noun))
        if not self.n_machines:
            last = self.verified.residuals.primal_objective
            found.append(Convergence.of(self.trace, self.eps, last))
        return tuple(picture for picture in found if picture is not None)


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
    left_out: tuple[str, ...] = ()
    assessed: grades.Headline | None = None

    @classmethod
    def of(cls, report: ReportContent) -> Page:
        """Build a page about one report."""
        return cls(report.title, report.source, (report,))

    @property
    def headline(self) -> grades.Headline | None:
        """The headline of all reports together; None for a comparison."""
        if self.comparison is not None or not self.reports:
            return None
        return self.assessed or grades.worst([report.headline for report in self.reports])

    @property
    def verdict(self) -> str:
        """Explanation of the verdict in a sentence; empty where nothing can pass or fail."""
        if self.comparison is not None:
            return self.comparison.verdict
        return "" if self.headline is None else self.headline.sentence

    @property
    def passed(self) -> bool:
        """Return whether there are reports or a comparison, and all passed."""
        compared = (self.comparison.passed,) if self.comparison is not None else ()
        found = (*compared, *(report.passed for report in self.reports))
        return bool(found) and all(found)
