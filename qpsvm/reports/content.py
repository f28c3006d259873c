"""The content of a report, independent of its format.

``ReportContent`` has a solved problem and the caller's remarks. It adds only words and pictures:
every figure comes from the verifier or the certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from qpsvm.certificates import PredictionComparison
from qpsvm.certificates.reduced import ReducedReport
from qpsvm.display import short_repr
from qpsvm.plotting import Convergence, Picture, SortedViolations
from qpsvm.plotting.convergence import Event
from qpsvm.qp.kkt_residuals import Tolerances
from qpsvm.reports.assessment import (
    compared_with_optimum,
    evidence_of_machine,
    evidence_of_machines,
    evidence_of_program,
)
from qpsvm.reports.grade import Evidence, Grade, Headline
from qpsvm.reports.kinds import Kind, kind_of
from qpsvm.reports.solved import SolvedProblem
from qpsvm.verification import KKTReport


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
class ReportContent(SolvedProblem):
    """A solved problem with grade, pictures, and remarks of the caller.

    Attributes
    ----------
    machines : tuple of ReportContent
        The machines of a ReducedProblem.
    source : str
        Where the data came from, in words.
    remarks : tuple of str
        The caller's own sentences, shown first.
    facts : Facts or None
    trace : tuple of Event
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

    machines: tuple[ReportContent, ...]
    source: str
    remarks: tuple[str, ...]
    facts: Facts | None
    trace: tuple[Event, ...]
    digest: str
    versions: Mapping[str, str]
    compared: PredictionComparison | None = None
    assessed: Evidence | None = None

    # --- the grade -------------------------------------------------------------------------------

    @cached_property
    def predictions(self) -> PredictionComparison | None:
        """Comparison of training predictions with the exact optimum's; None if unknown."""
        return self.compared if self.compared is not None else compared_with_optimum(self)

    @cached_property
    def evidence(self) -> Evidence:
        """Evidence for the report's grade: gap, tolerance and compared predictions."""
        if self.assessed is not None:
            return self.assessed
        verified = self.verified
        if isinstance(verified, ReducedReport):
            parts = [machine.evidence for machine in self.machines]
            return evidence_of_machines(self, parts, self.predictions)
        if self.data is None:
            return evidence_of_program(verified)
        return evidence_of_machine(self.problem, verified, self.certificate, self.predictions)

    @property
    def grade(self) -> Grade:
        """Grade of the answer, one of five."""
        return self.evidence.grade

    @property
    def headline(self) -> Headline:
        """The grade, with its reason in one sentence."""
        return self.evidence.headline

    @property
    def title(self) -> str:
        """Title of the report: the problem and its grade."""
        what = "Quadratic program" if self.data is None else "Support vector machine"
        what = "Support vector machines" if self.n_machines else what
        return f"{what}, {self.grade.description}"

    # --- the samples -----------------------------------------------------------------------------

    @cached_property
    def kind(self) -> Kind:
        """The kind of problem, which chooses words, tables and pictures."""
        return kind_of(self.problem)

    @cached_property
    def score(self) -> float | None:
        """Score of the machine on its training samples; ``kind.score_name`` names it."""
        return self.kind.score(self, self.table)

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

    # --- pictures --------------------------------------------------------------------------------

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures of the report, each drawn only on request."""
        found: list[Picture | None] = [*self.kind.pictures(self, self.table)]
        if self.table is not None:
            tolerance = Tolerances(self.eps).of("natural")
            found.append(SortedViolations(self.table.violation, tolerance, self.kind.noun))
        own = self.verified
        if isinstance(own, KKTReport):
            last = own.residuals.primal_objective
            found.append(Convergence.of(self.trace, self.eps, last))
        return tuple(picture for picture in found if picture is not None)
