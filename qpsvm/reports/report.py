"""One solved problem, gathered for every way of showing it.

A ``Report`` holds what was solved, the answer and the verdict, and computes nothing about them but
words and pictures: every figure is the verifier's or the certificate's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from qpsvm.certificates import Certificate, PredictionComparison
from qpsvm.certificates.reduced import ReducedReport
from qpsvm.display import short_repr, wrapped
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.machines.samples import MarginSummary, SampleTable
from qpsvm.plotting import Convergence, Picture, SortedViolations
from qpsvm.plotting.convergence import Event
from qpsvm.qp.kkt import Check, Tolerances
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics
from qpsvm.reports.assessment import compared_with_optimum, evidence_of
from qpsvm.reports.grade import Evidence, Grade, Headline
from qpsvm.reports.kinds import Kind, kind_of
from qpsvm.verification import KKTReport


@short_repr
@dataclass(frozen=True)
class Facts:
    """A small table of the caller's own.

    Attributes
    ----------
    title : str
    values : mapping of str to number, text, bool, None or a sequence of these
    """

    title: str
    values: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))


@dataclass(frozen=True, eq=False)
class Report:
    """What was solved, by whom, and what the verifier says. ``build`` makes one.

    Attributes
    ----------
    problem : SVMProblem, JointProblem, ReducedProblem or QuadraticProgram
    solution : SVMSolution, JointSolution, ReducedSolution or QPSolution
    verified : KKTReport or ReducedReport
    certificate : Certificate, ReducedCertificate or None
        What is said about the gap; None for a bare program and where nothing could be measured.
    source : str
        Where the data came from, in words.
    name : str
        Of a machine that is one of several.
    remarks : tuple of str
        The caller's own sentences, shown first.
    facts : Facts or None
    trace : tuple of Event
        What the solve said on its way.
    machines : tuple of Report
        The machines of a ReducedProblem.
    digest : str
        SHA-256 of the training data (of the numbers of a bare program).
    versions : mapping
    compared : PredictionComparison or None
        Of the training predictions with the exact optimum's, by whoever knows more than the
        certificate says.
    assessed : Evidence or None
        For the grade, by whoever knows more than the verdict says.
    """

    problem: Any
    solution: Any
    verified: KKTReport | ReducedReport[KKTReport]
    certificate: Certificate | None
    source: str
    name: str
    remarks: tuple[str, ...]
    facts: Facts | None
    trace: tuple[Event, ...]
    machines: tuple[Report, ...]
    digest: str
    versions: Mapping[str, str]
    compared: PredictionComparison | None = None
    assessed: Evidence | None = None

    # --- the verdict -----------------------------------------------------------------------------

    @property
    def passed(self) -> bool:
        """The verifier's verdict."""
        return self.verified.passed

    @property
    def eps(self) -> float:
        """The relative accuracy that was asked for."""
        return self.verified.eps

    @property
    def relative_gap(self) -> float:
        """The certified relative gap; of several machines the largest."""
        return self.verified.relative_gap

    @property
    def worst(self) -> float:
        """The worst check, in units of eps: see ``KKTReport.worst``."""
        return self.verified.worst

    @property
    def checks(self) -> tuple[Check, ...]:
        """Residuals against their tolerances; empty for several machines, which have their own."""
        return self.verified.checks if isinstance(self.verified, KKTReport) else ()

    @property
    def objective(self) -> float | None:
        """Primal objective; None for several machines."""
        return self.verified.objective if isinstance(self.verified, KKTReport) else None

    @cached_property
    def predictions(self) -> PredictionComparison | None:
        """How many training predictions are proven to be the exact optimum's; None: not known."""
        return self.compared if self.compared is not None else compared_with_optimum(self)

    @cached_property
    def evidence(self) -> Evidence:
        """What the grade follows from."""
        return self.assessed if self.assessed is not None else evidence_of(self)

    @property
    def grade(self) -> Grade:
        """How good the answer is proven to be, in one of five grades."""
        return self.evidence.grade

    @property
    def headline(self) -> Headline:
        """The grade, and what it follows from in one sentence."""
        return self.evidence.headline

    # --- what was solved -------------------------------------------------------------------------

    @cached_property
    def kind(self) -> Kind:
        """How to speak about problems like this one."""
        return kind_of(self.problem)

    @property
    def family(self) -> str:
        """The formulation with its parameters."""
        if isinstance(self.problem, ReducedProblem):
            two_class = self.problem.problems[0].family
            return f"{type(self.problem.reduction).__name__}({two_class})"
        return "QuadraticProgram" if self.data is None else self.problem.family

    @property
    def form(self) -> str | None:
        """Primal or dual; None for a bare program."""
        return None if self.data is None else self.problem.form

    @property
    def kernel(self) -> str | None:
        """Name and parameters; None for a bare program."""
        if self.data is None:
            return None
        first = self.problem.problems[0] if self.n_machines else self.problem
        return str(first.kernel)

    @property
    def n_machines(self) -> int:
        """How many two-class machines the problem consists of; 0 if it is one program."""
        return len(self.problem.problems) if isinstance(self.problem, ReducedProblem) else 0

    @property
    def data(self) -> Any:
        """The training set, None for a bare program."""
        return getattr(self.problem, "data", None)

    @property
    def program(self) -> QuadraticProgram | None:
        """What the solver was given; None for several machines."""
        if isinstance(self.problem, QuadraticProgram):
            return self.problem
        return getattr(self.problem, "qp", None)

    @property
    def title(self) -> str:
        """What it is and its grade."""
        what = "Quadratic program" if self.data is None else "Support vector machine"
        what = "Support vector machines" if self.n_machines else what
        return f"{what}, {self.grade.description}"

    @property
    def constraints(self) -> list[tuple[str, str, float]]:
        """Name, kind and multiplier of the caller's constraints on (w, b)."""
        model = getattr(self.problem, "model", None)
        rules = getattr(model, "constraints", None)
        if rules is None:
            return []
        kinds = ["inequality"] * len(rules.h) + ["equality"] * len(rules.b)
        multipliers = self.solution.constraint_multipliers
        if len(multipliers) != len(kinds):
            return []  # of another problem
        return list(zip(rules.names, kinds, multipliers.tolist(), strict=True))

    # --- the solve -------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """The verified status, of several machines the worst."""
        return str(self.solution.status.value)

    @property
    def qp_solution(self) -> QPSolution | None:
        """The program's own solution; None for several machines, or where there is none."""
        own = self.solution if self.data is None else getattr(self.solution, "qp", None)
        return own if isinstance(own, QPSolution) else None

    @property
    def statistics(self) -> SolveStatistics:
        """Who solved it, and how; of several machines all together."""
        own = self.qp_solution
        if own is not None:
            return own.statistics
        return _together([machine.statistics for machine in self.machines])

    # --- the samples -----------------------------------------------------------------------------

    @property
    def table(self) -> SampleTable | None:
        """Every condition and its KKT case."""
        return self.verified.samples if isinstance(self.verified, KKTReport) else None

    @property
    def summary(self) -> MarginSummary | None:
        """The textbook figures of one machine."""
        return self.verified.summary if isinstance(self.verified, KKTReport) else None

    @cached_property
    def score(self) -> float | None:
        """``kind.score_name``: how well the machine does on its training samples."""
        return self.kind.score(self, self.table)

    def samples(self, limit: int | None = None) -> list[dict[str, Any]]:
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

    # --- pictures --------------------------------------------------------------------------------

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """What there is to see; nothing is drawn before it is asked for."""
        found: list[Picture | None] = [*self.kind.pictures(self, self.table)]
        if self.table is not None:
            tolerance = Tolerances(self.eps).of("natural")
            found.append(SortedViolations(self.table.violation, tolerance, self.kind.noun))
        own = self.verified
        if isinstance(own, KKTReport):
            last = own.residuals.primal_objective
            found.append(Convergence.of(self.trace, self.eps, last))
        return tuple(picture for picture in found if picture is not None)

    # --- ways of showing it ----------------------------------------------------------------------

    def to_dict(self, *, samples: bool = False) -> dict[str, Any]:
        """Everything in plain Python types: strict JSON, by the schema of ``docs/report.md``.

        Parameters
        ----------
        samples : bool
            Include the table of training samples, worst violation first.

        Notes
        -----
        NaN and infinities, which JSON lacks, are the strings ``"NaN"``, ``"Infinity"`` and
        ``"-Infinity"``; Python's ``float`` reads them.
        """
        from qpsvm.reports.dictionary import report_dict

        return report_dict(self, samples=samples)

    def to_json(self) -> str:
        """``to_dict`` with every sample, as text."""
        return self._shown("json")

    def to_text(self) -> str:
        """For a terminal or a log: plain text."""
        return self._shown("txt")

    def to_html(self) -> str:
        """One page that needs nothing else.

        Raises
        ------
        MissingPackageError
            Jinja2 or Matplotlib, the extra ``qpsvm[report]``, is not installed.
        """
        return self._shown("html")

    def to_markdown(self) -> str:
        """GitHub's Markdown; errors as ``to_html``."""
        return self._shown("md")

    def to_latex(self) -> str:
        """A complete LaTeX document with tables; errors as ``to_html``."""
        return self._shown("tex")

    def _shown(self, suffix: str) -> str:
        from qpsvm.reports.files import text_of
        from qpsvm.reports.page import Page

        return text_of(Page.of(self), suffix)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "failed"
        return wrapped(f"Report({self.family}, {verdict} at eps={self.eps:g}; print it to read it)")


def _together(parts: Sequence[SolveStatistics]) -> SolveStatistics:
    """The sum of several solves; settings are those of the first."""
    if not parts:
        return SolveStatistics()
    iterations = [part.iterations for part in parts if part.iterations is not None]
    return SolveStatistics(
        backend=", ".join(dict.fromkeys(part.backend for part in parts)),
        version=", ".join(dict.fromkeys(part.version for part in parts)),
        iterations=sum(iterations) if len(iterations) == len(parts) else None,
        setup_seconds=sum(part.setup_seconds for part in parts),
        solve_seconds=sum(part.solve_seconds for part in parts),
        polished=any(part.polished for part in parts),
        escalated=any(part.escalated for part in parts),
        settings=parts[0].settings,
        note=parts[0].note,
    )
