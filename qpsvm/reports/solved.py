"""A solved problem with its verdict, and the figures derived from both.

Every figure comes from the verifier or the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from qpsvm.certificates import Certificate
from qpsvm.certificates.reduced import ReducedReport
from qpsvm.machines import ReducedSolution, SVMSolution
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.problem import MachineProblem
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.machines.samples import MarginSummary, SampleTable
from qpsvm.qp.kkt_residuals import Check
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics
from qpsvm.verification import KKTReport

Machine: TypeAlias = MachineProblem
"""A problem that is one program of a machine, of whatever family."""

Problem: TypeAlias = Machine | ReducedProblem | QuadraticProgram
"""What can be solved and reported."""

Solution: TypeAlias = SVMSolution | JointSolution | ReducedSolution | QPSolution
"""The answer to a problem."""


@dataclass(frozen=True, eq=False)
class SolvedProblem:
    """A problem, its solution, and the verifier's report.

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
    machines : tuple of SolvedProblem
        The machines of a ReducedProblem.
    """

    problem: Any  # what reads them knows, by the kind of report, which one it is
    solution: Any
    verified: KKTReport | ReducedReport[KKTReport]
    certificate: Certificate | None
    name: str
    machines: tuple[SolvedProblem, ...]

    # --- the verdict -----------------------------------------------------------------------------

    @property
    def passed(self) -> bool:
        """Return whether the verifier's report passed."""
        return self.verified.passed

    @property
    def eps(self) -> float:
        """The relative accuracy that the verifier required."""
        return self.verified.eps

    @property
    def relative_gap(self) -> float:
        """The certified relative gap; of several machines, the largest."""
        return self.verified.relative_gap

    @property
    def worst(self) -> float:
        """The worst check, in units of eps: see ``KKTReport.worst``."""
        return self.verified.worst

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of the verifier's report; empty for a reduction."""
        return self.verified.checks if isinstance(self.verified, KKTReport) else ()

    @property
    def objective(self) -> float | None:
        """Primal objective; None for a reduction."""
        return self.verified.objective if isinstance(self.verified, KKTReport) else None

    # --- what was solved -------------------------------------------------------------------------

    @property
    def family(self) -> str:
        """Name of the formulation with its parameters."""
        if isinstance(self.problem, ReducedProblem):
            two_class = self.problem.problems[0].family
            return f"{type(self.problem.reduction).__name__}({two_class})"
        return "QuadraticProgram" if self.data is None else self.problem.family

    @property
    def form(self) -> str | None:
        """Form of the program, "primal" or "dual"; None for a bare program."""
        return None if self.data is None else self.problem.form

    @property
    def kernel(self) -> str | None:
        """Name and parameters of the kernel; None for a bare program."""
        if self.data is None:
            return None
        first = self.problem.problems[0] if self.n_machines else self.problem
        return str(first.kernel)

    @property
    def n_machines(self) -> int:
        """Number of two-class machines of a reduction; 0 for a single program."""
        return len(self.problem.problems) if isinstance(self.problem, ReducedProblem) else 0

    @property
    def data(self) -> Any:
        """The training set; None for a bare program."""
        return getattr(self.problem, "data", None)

    @property
    def program(self) -> QuadraticProgram | None:
        """The solver's program; None for a reduction."""
        if isinstance(self.problem, QuadraticProgram):
            return self.problem
        return getattr(self.problem, "qp", None)

    @property
    def constraints(self) -> list[tuple[str, str, float]]:
        """Name, kind and multiplier of each of the caller's constraints on (w, b)."""
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
        """Verified status; of several machines, the worst."""
        return str(self.solution.status.value)

    @property
    def qp_solution(self) -> QPSolution | None:
        """The solution of the program; None for a reduction or without a solution."""
        own = self.solution if self.data is None else getattr(self.solution, "qp", None)
        return own if isinstance(own, QPSolution) else None

    @property
    def statistics(self) -> SolveStatistics:
        """Statistics of the solve; of several machines, their sum."""
        own = self.qp_solution
        if own is not None:
            return own.statistics
        return _together([machine.statistics for machine in self.machines])

    # --- the samples -----------------------------------------------------------------------------

    @property
    def table(self) -> SampleTable | None:
        """The sample table: every condition with its KKT case."""
        return self.verified.samples if isinstance(self.verified, KKTReport) else None

    @property
    def summary(self) -> MarginSummary | None:
        """The textbook figures of a single machine."""
        return self.verified.summary if isinstance(self.verified, KKTReport) else None


def _together(parts: Sequence[SolveStatistics]) -> SolveStatistics:
    """Add the statistics of several solves; settings are those of the first."""
    if not parts:
        return SolveStatistics()
    iterations = [part.iterations for part in parts if part.iterations is not None]
    return SolveStatistics(
        backend=", ".join(dict.fromkeys(part.backend for part in parts)),
        version=", ".join(dict.fromkeys(part.version for part in parts)),
        iterations=sum(iterations) if len(iterations) == len(parts) else None,
        setup_seconds=sum(part.setup_seconds for part in parts),
        solve_seconds=sum(part.solve_seconds for part in parts),
        seconds=_added([part.seconds for part in parts]),
        asked=tuple(dict.fromkeys(name for part in parts for name in part.asked)),
        polished=any(part.polished for part in parts),
        escalated=any(part.escalated for part in parts),
        settings=parts[0].settings,
        note=parts[0].note,
    )


def _added(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The seconds of several solves, step by step."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: math.fsum(part.get(name, 0.0) for part in parts) for name in names}
