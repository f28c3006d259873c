"""``qpsvm.verify``: measure a solution and decide whether it is optimal.

The verdict is a bound: a finite certified distance of the objective from the optimum, at most eps.
For a bare program ``qpsvm.qp.bounds`` has it, and the KKT residuals of ``qpsvm.qp.kkt`` explain it.
For an SVM three independent views must agree, and one failing is enough to fail:

1. the program's own solution ``solution.qp`` satisfies the KKT conditions of the program;
2. the classifier as it predicts (coef or expansion, intercept) and its alpha have a small
   certified gap (``certify``), constraints on (w, b) that are missed being paid for;
3. every single sample is in its KKT case, and what else the solution states (slack, expansion,
   intercept interval) is what its weights imply.

And it must be a solution of *this* problem (same kernel, data and box): ``certify`` refuses others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from qpsvm.certificates import Certificate, certify
from qpsvm.certificates.reduced import ReducedReport
from qpsvm.display import LINES, data_frame, first_lines, one_line
from qpsvm.exceptions import InvalidDataError, InvalidParameterError, QPSVMError
from qpsvm.machines.arguments import require_pair
from qpsvm.machines.exact_types import stored_program_solution
from qpsvm.machines.feasibility import missed_constraints
from qpsvm.machines.problem import Solution, TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.samples import MarginSummary, SampleTable
from qpsvm.qp.bounds import ProgramBound, bound
from qpsvm.qp.kkt import (
    Check,
    KKTResiduals,
    Residual,
    Tolerances,
    checked_vectors,
    residuals,
)
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics


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
    summary : MarginSummary or None
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
    summary: MarginSummary | None
    problem: str
    statistics: SolveStatistics
    notes: tuple[str, ...] = ()
    bound: ProgramBound | None = None

    @property
    def passed(self) -> bool:
        """Return whether there are checks and all passed."""
        return bool(self.checks) and all(check.passed for check in self.checks)

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
        return self.eps * max(check.scaled / check.tolerance for check in self.checks)

    @property
    def objective(self) -> float:
        """Primal objective of the SVM, or of the program without an SVM."""
        if self.certificate is not None:
            return self.certificate.primal_objective
        return self.residuals.primal_objective

    def to_dict(self) -> dict[str, Any]:
        """All fields except the sample table, in plain Python types, for JSON."""
        return {
            "problem": self.problem,
            "passed": self.passed,
            "eps": self.eps,
            "relative_gap": self.relative_gap,
            "objective": self.objective,
            "backend": self.statistics.backend,
            "checks": [
                {
                    "name": check.name,
                    "absolute": check.absolute,
                    "scaled": check.scaled,
                    "tolerance": check.tolerance,
                    "passed": check.passed,
                }
                for check in self.checks
            ],
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

    def to_frame(self) -> Any:
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


@overload
def verify(
    problem: TrainingProblem[Any, Solution], solution: Solution | QPSolution, *, eps: float = ...
) -> KKTReport: ...
@overload
def verify(
    problem: ReducedProblem, solution: ReducedSolution, *, eps: float = ...
) -> ReducedReport[KKTReport]: ...
@overload
def verify(problem: QuadraticProgram, solution: QPSolution, *, eps: float = ...) -> KKTReport: ...
def verify(problem: Any, solution: Any, *, eps: float = 1e-8) -> Any:
    """Measure how far a solution is from optimal, without trusting its own statements.

    Parameters
    ----------
    problem : SVMProblem, JointProblem, ReducedProblem or QuadraticProgram
    solution : SVMSolution, JointSolution, ReducedSolution or QPSolution
        From any source. A QPSolution may also be given for an SVMProblem or JointProblem: it is
        recovered first.
    eps : float
        Relative accuracy; ``qpsvm.qp.Tolerances`` says what it means for each residual.

    Returns
    -------
    KKTReport
        Of a ReducedProblem: ReducedReport, with one for every part.

    Raises
    ------
    InvalidParameterError
        eps out of (0, 1), or arguments of the wrong kind.

    Notes
    -----
    What a solution claims about itself (``status``, ``native_status``) is not looked at.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> solution = qpsvm.solve(problem)
    >>> qpsvm.verify(problem, solution).passed
    True
    >>> qpsvm.verify(problem, solution.replace(intercept=0.0)).passed
    False
    """
    tolerances = Tolerances(eps)
    require_pair("verify", problem, solution, programs=True, recovers=True)
    if isinstance(problem, QuadraticProgram) and isinstance(solution, QPSolution):
        return _verify_program(problem, solution, tolerances)
    if isinstance(problem, ReducedProblem) and isinstance(solution, ReducedSolution):
        return _verify_parts(problem, solution, eps)
    if isinstance(problem, TrainingProblem):
        if isinstance(solution, QPSolution):
            solution = problem.recover(solution)
        if isinstance(solution, problem.solution_type):
            with np.errstate(all="ignore"):  # overflow becomes inf or NaN, and fails closed
                return _verify_svm(problem, solution, tolerances)
    raise InvalidParameterError(
        "verify takes (SVMProblem, SVMSolution) or (QuadraticProgram, QPSolution), got "
        f"({type(problem).__name__}, {type(solution).__name__})."
    )


def _verify_program(
    program: QuadraticProgram, solution: QPSolution, tolerances: Tolerances
) -> KKTReport:
    measured = residuals(program, solution)
    vectors, _ = checked_vectors(program, solution)
    problems, proof = measured.problems, None
    if vectors is not None and not problems:
        x, z, y, _, _ = vectors
        proof, pair = bound(program, x, z, y)
        if not proof.reason and pair.left.any():  # twice: x itself rounds as much
            measured = residuals(program, solution, contradiction=2.0 * pair.left)
        problems = (proof.reason,) if proof.reason else ()
    # the natural residual says which case a row is in; how much that matters, the bound says
    explaining = [c for c in measured.check(tolerances) if c.name != "natural"]
    gap = Check("certified_gap", math.inf, math.inf, tolerances.eps)
    if proof is not None:
        gap = replace(gap, absolute=proof.gap_upper, scaled=proof.relative_gap)
    return KKTReport(
        eps=tolerances.eps,
        checks=(*explaining, gap),
        residuals=measured,
        certificate=None,
        samples=None,
        summary=None,
        problem=one_line(program),
        statistics=solution.statistics,
        notes=problems,
        bound=proof,
    )


def _verify_parts(
    problem: ReducedProblem, solution: ReducedSolution, eps: float
) -> ReducedReport[KKTReport]:
    try:
        reports = tuple(verify(*part, eps=eps) for part in problem.parts(solution))
    except InvalidDataError as error:
        return ReducedReport(eps, one_line(problem), problem.names, (), (str(error),))
    return ReducedReport(eps, one_line(problem), problem.names, reports)


def _verify_svm(
    problem: TrainingProblem[Any, Any], solution: Any, tolerances: Tolerances
) -> KKTReport:
    eps, natural = tolerances.eps, tolerances.of("natural")
    claimed = stored_program_solution(solution.qp)
    certificate: Certificate | None = None
    table: SampleTable | None = None
    summary: MarginSummary | None = None
    notes = list[str]()
    try:
        certificate = certify(problem, solution)
        table = problem.model.sample_table(solution)
        summary = problem.model.summary(solution, table)
        checks = [*_machine_checks(problem, solution, certificate, table, eps, natural)]
        notes += _about_constraints(problem, solution, certificate, eps)
    except (QPSVMError, ValueError, TypeError, AttributeError, IndexError) as error:
        # not even measurable: whatever is wrong with it, it is not a solution
        notes.append(str(error))
        checks = [Check("certified_gap", math.inf, math.inf, eps)]
    measured = residuals(problem.qp, claimed, known_convex=True)
    checks = [*measured.check(tolerances), *checks]
    notes = [*measured.problems, *notes]
    return KKTReport(
        eps=eps,
        checks=tuple(checks),
        residuals=measured,
        certificate=certificate,
        samples=table,
        summary=summary,
        problem=one_line(problem),
        statistics=claimed.statistics,
        notes=tuple(notes),
    )


def _about_constraints(
    problem: TrainingProblem[Any, Any], solution: Any, certificate: Certificate, eps: float
) -> Iterator[str]:
    """Notes on the most violated constraint on (w, b), and on one that blocks a bound."""
    if certificate.feasible is None:
        return
    missed = missed_constraints(problem.model, solution)
    if not np.max(missed, initial=0.0) <= eps:
        worst = int(np.argmax(missed))
        name = problem.model.constraints.names[worst]
        yield f"constraint {name!r} is missed by {missed[worst]:.2g} of the sum of its terms"
    if certificate.feasible.blocked:
        yield f"no machine near this one satisfies {certificate.feasible.blocked}"


def _machine_checks(
    problem: TrainingProblem[Any, Any],
    solution: Any,
    certificate: Certificate,
    table: SampleTable,
    eps: float,
    natural: float,
) -> Iterator[Check]:
    """Yield the checks on the machine: certificate, samples, stated and implied values."""
    size = max(abs(certificate.primal_objective), certificate.floor)
    yield Check("certified_gap", certificate.gap_upper, certificate.relative_gap_upper, eps)
    if not problem.model.always_has_an_optimum:
        yield Check("feasibility", certificate.infeasibility, certificate.infeasibility, eps)
    yield Check("rounding", certificate.rounding * size, certificate.rounding, eps)
    yield Check("dual_repair", certificate.repair, certificate.repair, natural)
    yield Check("sample_kkt", table.worst_violation, table.worst_violation, natural)
    model = problem.model
    best = certificate.intercept_interval
    for name, stated, implied in model.implications(problem.form, solution, table, best):
        difference = _difference(stated, implied)
        yield Check(name, difference.absolute, difference.scaled, eps)
    weights = model.weights_difference(solution)
    yield Check("weights", weights, weights, natural)


def _difference(stated: Any, implied: Any) -> Residual:
    """Largest difference of two vectors, absolute and relative to ``max(1, |implied|)``."""
    given, expected = np.asarray(stated, dtype=np.float64), np.asarray(implied, dtype=np.float64)
    if given.shape != expected.shape:
        return Residual("difference", math.inf, math.inf)
    with np.errstate(all="ignore"):
        distance = np.where(given == expected, 0.0, np.abs(given - expected))  # also infinities
        scaled = distance / np.maximum(1.0, np.abs(expected))
        largest = [float(np.max(values, initial=0.0)) for values in (distance, scaled)]
    return Residual("difference", *(v if math.isfinite(v) else math.inf for v in largest))
