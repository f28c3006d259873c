"""Reports: their construction from a problem, its solution and the verdict, in every format."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, cast

from qpsvm.certificates import Certificate, PredictionComparison
from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.data.fingerprints import fingerprint
from qpsvm.display import one_line, wrapped
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.arguments import require_pair, takes_pair
from qpsvm.machines.problem import TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.numerics.arguments import an, explains_calls, require_kind
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.reports.content import Facts, Page, Problem, ReportContent, Solution
from qpsvm.reports.files import Formats
from qpsvm.reports.grade import Evidence
from qpsvm.reports.plain import report_dict
from qpsvm.verification import KKTReport, ReducedReport, verify
from qpsvm.verification.verdicts import is_about


@dataclass(frozen=True, eq=False, repr=False)
class Report(ReportContent, Formats):
    """A report on a solved problem with its verification; ``build`` makes one.

    Attributes
    ----------
    problem, solution, verified, certificate, name, source, remarks, facts
        As those of ``ReportContent``.
    trace, digest, versions, compared, assessed
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


@takes_pair
@explains_calls
def build(
    problem: Problem,
    solution: Solution,
    verified: KKTReport | ReducedReport | None = None,
    *,
    certificate: Certificate | ReducedCertificate | None = None,
    trace: Sequence[Any] = (),
    remarks: Sequence[str] = (),
    facts: Mapping[str, object] | None = None,
    facts_title: str = "Facts",
    source: str = "",
    eps: float = 1e-8,
    predictions: PredictionComparison | None = None,
    evidence: Evidence | None = None,
) -> Report:
    """Build a report on a problem and its solution.

    Parameters
    ----------
    problem : SVMProblem, JointProblem, ReducedProblem or QuadraticProgram
        What was solved.
    solution : SVMSolution, JointSolution, ReducedSolution or QPSolution
        As ``qpsvm.verify`` takes them.
    verified : KKTReport or ReducedReport, optional
        What ``qpsvm.verify(problem, solution)`` returned; without it, that is called.
    certificate : Certificate or ReducedCertificate, optional
        One that says more than that of ``verified``.
    trace : sequence of Progress, optional
        What ``qpsvm.solve`` told its callback: ``trace = []; solve(..., callback=trace.append)``.
    remarks : sequence of str, optional
        Sentences of your own, shown first.
    facts : mapping, optional
        Names and values for a table of your own.
    facts_title : str
        Heading of that table.
    source : str
        Where the data came from, in words.
    eps : float
        Relative accuracy, where ``verified`` is not given.
    predictions : PredictionComparison, optional
        Of the training predictions with the exact optimum's, if you know more than the certificate.
    evidence : Evidence, optional
        What the grade follows from, if you know more than the verdict says.

    Returns
    -------
    Report
        To be printed, or written in any format.

    Raises
    ------
    InvalidParameterError
        As ``qpsvm.verify``; or ``verified`` or ``certificate`` is about another problem or
        solution.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> report = build(problem, qpsvm.solve(problem), source="two numbers")
    >>> report.passed, report.to_dict()["problem"]["family"]
    (True, 'SoftMargin(C=1.0)')
    """
    require_pair("reports.build", problem, solution, programs=True, recovers=True)
    pair: Any = problem, solution  # which belong together
    found: Any = verify(*pair, eps=eps) if verified is None else verified
    expected: Any = ReducedReport if isinstance(problem, ReducedProblem) else KKTReport
    if not isinstance(found, expected):
        raise InvalidParameterError(
            f"verified is {an(found)}; pass what qpsvm.verify(problem, solution) returned."
        )
    if found.problem != one_line(problem):
        raise InvalidParameterError(
            f"verified is about {found.problem}, and the problem is {problem!r}; pass what "
            "qpsvm.verify(problem, solution) returned."
        )
    require_kind(
        certificate,
        Certificate | ReducedCertificate | None,
        "certificate",
        "what qpsvm.certify(problem, solution) returned, or None",
    )
    if isinstance(problem, TrainingProblem) and isinstance(solution, QPSolution):
        solution = problem.recover(solution)
    if not isinstance(problem, ReducedProblem | QuadraticProgram):  # of machines each is asked
        told: Any = None if verified is None else found.certificate
        asked: Any = certificate
        for name, verb, proof in (("verified", "verify", told), ("certificate", "certify", asked)):
            if not is_about(proof, problem, solution):
                raise InvalidParameterError(
                    f"{name} is about other samples or another solution than these; pass what "
                    f"qpsvm.{verb}(problem, solution) returned."
                )
    require_kind(trace, Sequence, "trace", "the list of events that the callback was given")
    require_kind(remarks, Sequence, "remarks", "a list of sentences")
    require_kind(facts, Mapping | None, "facts", "a mapping from names to values, or None")
    versions = {name: importlib.metadata.version(name) for name in ("qpsvm", "numpy", "scipy")}
    machines: list[Report] = []
    if isinstance(problem, ReducedProblem) and found.reports:  # or it belongs to another problem
        names, solutions = problem.names, problem.parts(cast("ReducedSolution", solution))
        proofs = getattr(certificate, "certificates", (None,) * len(names))
        traces = _by_machine(trace, len(names))
        for name, part, report, proof, events in zip(
            names, solutions, found.reports, proofs, traces, strict=True
        ):
            machine = build(*part, report, certificate=proof, trace=events, source=source)
            machines.append(replace(machine, name=name))
    own = certificate if certificate is not None else getattr(found, "certificate", None)
    return Report(
        problem=problem,
        solution=solution,
        verified=found,
        certificate=None if isinstance(own, ReducedCertificate) else own,
        name="",
        machines=tuple(machines),
        source=source,
        remarks=tuple(remarks),
        facts=None if facts is None else Facts(facts_title, facts),
        trace=tuple(trace),
        digest=problem.fingerprint()
        if isinstance(problem, QuadraticProgram)
        else fingerprint(problem.data),
        versions=MappingProxyType(versions | {"Python": platform.python_version()}),
        compared=predictions,
        assessed=evidence,
    )


def _by_machine(trace: Sequence[Any], n_machines: int) -> list[list[Any]]:
    """Split the events of consecutive solves, each of which ends with the stage ``"done"``."""
    groups: list[list[Any]] = [[]]
    for event in trace:
        groups[-1].append(event)
        if event.stage == "done":
            groups.append([])
    groups = [group for group in groups if group]
    # "auto" may ask a second backend: then nobody knows which events belong together
    return groups if len(groups) == n_machines else [[] for _ in range(n_machines)]
