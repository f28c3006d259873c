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
from dataclasses import replace
from functools import singledispatch
from typing import Any, overload

import numpy as np

from qpsvm.certificates import Certificate
from qpsvm.certificates.certifying import CHUNKED, Chunked, certificate_of
from qpsvm.chunked import ChunkedKernelProblem, ChunkedProblem, ChunkedReport
from qpsvm.display import one_line
from qpsvm.exceptions import InvalidDataError, QPSVMError
from qpsvm.machines.arguments import require_pair, require_program_solution, takes_pair
from qpsvm.machines.consistency import require_same_values
from qpsvm.machines.exact_types import stored_program_solution
from qpsvm.machines.feasibility import missed_constraints
from qpsvm.machines.prediction import as_float64
from qpsvm.machines.problem import MachineProblem, Program
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.machines.samples import SampleTable
from qpsvm.numerics.arguments import explains_calls
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.bounds import bound
from qpsvm.qp.kkt import KnownOptimum, checked_vectors, residuals
from qpsvm.qp.kkt_residuals import Check, Residual, Tolerances, largest_of
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.verification.report import KKTReport, ReducedReport


@overload
def verify(
    problem: MachineProblem | QuadraticProgram, solution: Any, *, eps: float = ...
) -> KKTReport: ...
@overload
def verify(problem: ReducedProblem, solution: Any, *, eps: float = ...) -> ReducedReport: ...
@overload
def verify(problem: Chunked, solution: Any, *, eps: float = ...) -> ChunkedReport: ...
@takes_pair
@explains_calls
def verify(problem: Any, solution: Any, *, eps: float = 1e-8) -> Any:
    """Measure how far a solution is from optimal, without trusting its own statements.

    Parameters
    ----------
    problem : SVMProblem, JointProblem, ReducedProblem, ChunkedProblem or QuadraticProgram
        The problem that the solution is measured on; samples in chunks are read once. Or a
        ChunkedKernelProblem.
    solution : SVMSolution, JointSolution, ReducedSolution or QPSolution
        From any source. A QPSolution may also be given for an SVMProblem or JointProblem: it is
        recovered first. For a ChunkedKernelProblem a ``qpsvm.chunked.Expansion``.
    eps : float
        Relative accuracy; ``qpsvm.qp.Tolerances`` says what it means for each residual.

    Returns
    -------
    KKTReport
        Of a ReducedProblem: ReducedReport, with one for every part; on samples in chunks:
        ChunkedReport.

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
    require_pair("verify", problem, solution, programs=True, recovers=True, others=CHUNKED)
    return _verified(problem, solution, tolerances)


def verify_evaluated(problem: Program, evaluation: Any, *, eps: float = 1e-8) -> KKTReport:
    """Verify a solution that was evaluated by ``problem.evaluate``; a bare program's as it is."""
    tolerances = Tolerances(eps)
    if isinstance(problem, QuadraticProgram):
        require_program_solution("verify", evaluation)
        return _verify_program(problem, evaluation, tolerances)
    return _verify_svm(problem, evaluation.solution, evaluation, tolerances)


NUMBERS = ("alpha", "expansion", "coef", "intercept", "width")
"""Attributes of a solution that its certificate depends on."""


def is_about(proof: Certificate | None, problem: MachineProblem, solution: Any) -> bool:
    """Return whether a certificate is about this machine: about its problem and its numbers.

    None, of a machine that could not be measured, says nothing of any.
    """
    if proof is None:
        return True
    try:
        problem.model.require_own(proof.solution)
        return all(
            _same(getattr(proof.solution, name, None), getattr(solution, name, None), name)
            for name in NUMBERS
        )
    except QPSVMError:
        return False


def _same(one: Any, other: Any, name: str) -> bool:
    """Return whether two stored arrays or numbers have the same bits, or both are missing."""
    if one is None or other is None:
        return one is other
    return np.array_equal(as_float64(one, name), as_float64(other, name), equal_nan=True)


@singledispatch
def _verified(problem: Any, solution: Any, tolerances: Tolerances) -> Any:
    """Report how far a machine, or a solution of its program, is from optimal."""
    evaluation = None
    if isinstance(solution, QPSolution):
        evaluation = problem.evaluate(solution)
        solution = evaluation.solution
    return _verify_svm(problem, solution, evaluation, tolerances, anew=True)


@_verified.register
def _(problem: ReducedProblem, solution: Any, tolerances: Tolerances) -> ReducedReport:
    eps, name = tolerances.eps, one_line(problem)
    try:
        reports = tuple(verify(*part, eps=eps) for part in problem.parts(solution))
    except InvalidDataError as error:
        return ReducedReport(eps, name, problem.names, (), (str(error),))
    return ReducedReport(eps, name, problem.names, reports)


@_verified.register(ChunkedProblem)
@_verified.register(ChunkedKernelProblem)
def _(problem: Chunked, solution: Any, tolerances: Tolerances) -> ChunkedReport:
    """Report how far a machine on samples in chunks is from optimal, by one pass over them."""
    return ChunkedReport(tolerances.eps, problem.certified(solution), one_line(problem))


@_verified.register(QuadraticProgram)
def _verify_program(
    problem: QuadraticProgram, solution: QPSolution, tolerances: Tolerances
) -> KKTReport:
    """Report how far a solution of a bare quadratic program is from optimal."""
    measured = residuals(problem, solution)
    vectors, _ = checked_vectors(problem, solution)
    problems, proof = measured.problems, None
    if vectors is not None and not problems:
        x, z, y, _, _ = vectors
        proof, pair = bound(problem, x, z, y)
        if not proof.reason and pair.left.any():  # twice: x itself rounds as much
            measured = residuals(problem, solution, contradiction=2.0 * pair.left)
        problems = (proof.reason,) if proof.reason else ()
    # the natural residual says which case a row is in; how much that matters, the bound says
    explaining = [c for c in measured.check(tolerances) if c.name != "natural"]
    gaps = (math.inf,) * 2 if proof is None else (proof.gap_upper, proof.relative_gap)
    return KKTReport(
        eps=tolerances.eps,
        checks=(*explaining, Check("certified_gap", *gaps, tolerances.eps)),
        residuals=measured,
        certificate=None,
        samples=None,
        problem=one_line(problem),
        statistics=solution.statistics,
        notes=problems,
        bound=proof,
    )


@np.errstate(all="ignore")  # overflow becomes inf or NaN, and fails closed
def _verify_svm(
    problem: MachineProblem,
    solution: Any,
    evaluation: Any,
    tolerances: Tolerances,
    *,
    anew: bool = False,
) -> KKTReport:
    """Verify a machine; with ``anew``, evaluate user-defined kernels again and compare."""
    eps, natural = tolerances.eps, tolerances.of("natural")
    claimed = stored_program_solution(solution.qp)
    certificate: Certificate | None = None
    table: SampleTable | None = None
    notes = list[str]()
    try:
        problem.model.require_own(solution)
        require_same_values(problem.model, every=anew)
        evaluation = problem.model.evaluate(solution) if evaluation is None else evaluation
        certificate = certificate_of(problem.model, evaluation, eps=eps)
        evaluation = certificate.evaluation  # some values may have more digits now
        table = problem.model.sample_table(evaluation)
        checks = [*_machine_checks(problem, certificate, table, eps, natural)]
        notes += _about_constraints(problem, solution, certificate, eps)
    except (QPSVMError, ValueError, TypeError, AttributeError, IndexError) as error:
        # not even measurable: whatever is wrong with it, it is not a solution
        notes.append(str(error))
        checks = [Check("certified_gap", math.inf, math.inf, eps)]
    product = None
    if evaluation is not None:
        product = problem.model.hessian_product(evaluation, problem.qp.P, claimed.x)
    known = KnownOptimum() if certificate is None else _known_optimum(problem, certificate)
    measured = residuals(problem.qp, claimed, product=product, known=known)
    checks = [*measured.check(tolerances), *checks]
    report = KKTReport(
        eps=eps,
        checks=tuple(checks),
        residuals=measured,
        certificate=certificate,
        samples=table,
        problem=one_line(problem),
        statistics=claimed.statistics,
        notes=(*measured.problems, *notes),
    )
    return replace(report, notes=(*report.notes, *_about_rounding(report)))


def _known_optimum(problem: MachineProblem, certificate: Certificate) -> KnownOptimum:
    """State what a certificate says of the optimum of the program, which minimises."""
    is_primal = problem.form == "primal"
    objective = certificate.primal_objective if is_primal else -certificate.dual_objective
    size = max(abs(certificate.primal_objective), certificate.floor)
    distance = certificate.gap_upper + certificate.objective_rounding * size
    return KnownOptimum(objective, distance, certificate.floor)


def _about_constraints(
    problem: MachineProblem, solution: Any, certificate: Certificate, eps: float
) -> Iterator[str]:
    """Notes on the most violated constraint on (w, b), and one that blocks the upper bound."""
    if certificate.feasible is None:
        return
    is_near = certificate.infeasibility <= eps  # False for NaN
    missed = np.zeros(0) if is_near else missed_constraints(problem.model, solution)
    if not np.max(missed, initial=0.0) <= eps:
        worst = int(np.argmax(missed))
        name = problem.model.constraints.names[worst]
        yield f"constraint {name!r} is missed by {missed[worst]:.2g} of the sum of its terms"
    if certificate.feasible.blocked:
        yield f"no machine near this one satisfies {certificate.feasible.blocked}"


def _about_rounding(report: KKTReport) -> Iterator[str]:
    """Yield a note if the gap is small, but rounding of the objectives could hide a larger one."""
    certificate, eps = report.certificate, report.eps
    if certificate is None or not certificate.relative_gap <= eps < certificate.rounding:
        return
    note = f"rounding may hide {certificate.rounding:.2g} of the objective, more than eps = {eps:g}"
    if report.passes_at < math.inf:  # other checks may fail as well
        note += f": this answer passes at eps = {report.passes_at:.1g}"
    yield note


def _machine_checks(
    problem: MachineProblem,
    certificate: Certificate,
    table: SampleTable,
    eps: float,
    natural: float,
) -> Iterator[Check]:
    """Yield the checks on the machine: certificate, samples, stated and implied values."""
    size = certificate.objective_scale
    yield Check("certified_gap", certificate.gap_upper, certificate.relative_gap_upper, eps)
    if not problem.model.always_has_an_optimum:
        yield Check("feasibility", certificate.infeasibility, certificate.infeasibility, eps)
    yield Check("rounding", certificate.rounding * size, certificate.rounding, eps)
    yield Check("dual_repair", certificate.repair, certificate.repair, natural)
    violation = table.worst_violation
    yield Check("sample_kkt", violation, violation, natural)
    model, evaluation = problem.model, certificate.evaluation
    best = certificate.intercept_interval
    for name, stated, implied in model.implications(problem.form, evaluation, table, best):
        difference = _difference(stated, implied)
        yield Check(name, difference.absolute, difference.scaled, eps)
    weights = model.weights_difference(evaluation)
    yield Check("weights", weights, weights, natural)


def _difference(stated: float | Vector, implied: float | Vector) -> Residual:
    """Largest difference of two vectors, absolute and relative to ``max(1, |implied|)``."""
    given, expected = np.asarray(stated, dtype=np.float64), np.asarray(implied, dtype=np.float64)
    if given.shape != expected.shape:
        return Residual("difference", math.inf, math.inf)
    with np.errstate(all="ignore"):
        distance = np.where(given == expected, 0.0, np.abs(given - expected))  # also infinities
        scaled = distance / np.maximum(1.0, np.abs(expected))
    return Residual("difference", largest_of(distance.ravel()), largest_of(scaled.ravel()))
