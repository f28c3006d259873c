"""Errors and warnings of ``qpsvm.solve``: problems without optimum, answers that miss ``eps``."""

from __future__ import annotations

import math
from typing import Any

from qpsvm.backends.base import Settings
from qpsvm.backends.own_solvers import BY_ROUNDING
from qpsvm.certificates import certify_infeasible, conflict, not_separable, without_constraints
from qpsvm.chunked import ChunkedKernelProblem, ChunkedSolution
from qpsvm.exceptions import (
    InfeasibleProgramError,
    InvalidParameterError,
    NoOptimumError,
    UnboundedProgramError,
)
from qpsvm.kernels import Custom, Precomputed
from qpsvm.machines import SVMProblem
from qpsvm.machines.problem import Program
from qpsvm.qp.certificate_search import find_farkas_certificate
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solving.attempts import POLICY
from qpsvm.verification import KKTReport


def no_machine(problem: SVMProblem, solution: QPSolution, settings: Settings) -> NoOptimumError:
    """Build the error for a problem without optimum: inseparable classes or conflicts."""
    proof = certify_infeasible(problem, solution)
    deadline = settings.deadline
    is_asked = problem.model.constraints is not None and problem.model.is_hard
    if is_asked and not deadline.has_passed():
        # rules that take part in a proof may still be innocent: the samples alone come first
        free = without_constraints(problem)
        seconds = min(POLICY.search_seconds, deadline.remaining())
        certificate = find_farkas_certificate(free.qp, seconds)
        alone = None if certificate is None else certify_infeasible(free, certificate)
        if alone is not None and alone.passed:
            problem, proof = free, alone
    if proof.hulls is not None:
        return not_separable(problem, proof.hulls).with_certificate(proof)
    error = conflict(problem, solution) or no_optimum(solution)
    return error.with_certificate(proof)


def no_optimum(solution: QPSolution) -> NoOptimumError:
    """Build the error for a program without optimum, from the solution with the certificate."""
    if solution.status is Status.PRIMAL_INFEASIBLE:
        return InfeasibleProgramError(
            "The constraints contradict each other: the multipliers z, y, z_lower, z_upper of the "
            "solution returned without strict=True are a verified Farkas certificate. Relax the "
            "rows with a positive multiplier."
        )
    return UnboundedProgramError(
        "The objective falls without end along the verified direction in x of the solution "
        "returned without strict=True; add bounds, or check the sign of q."
    )


def interrupted(solution: Any) -> str:
    """Write the message for a solve that Ctrl-C ended and that returns its best point."""
    status: Status = solution.status
    return (
        f"The solve was {status.value} by Ctrl-C, and on_interrupt='return' asks for the best "
        "point so far: it is not optimal to eps. qpsvm.certify says how far it may be off; it can "
        "be the warm_start of another solve."
    )


def shortfall(problem: Program, solution: QPSolution, report: KKTReport, eps: float) -> str:
    """Write the message for a solution that does not reach ``eps``, with the checks that fail."""
    failed = [check for check in report.checks if not check.passed]
    figures = ", ".join(f"{c.name} {c.scaled:.2e} (allowed {c.tolerance:.0e})" for c in failed)
    backend = solution.statistics.backend
    why = "".join(f"Note: {note}. " for note in report.notes)
    if report.passes_at < math.inf and "passes at" not in why:
        why += f"This answer passes at eps={report.passes_at:.1g}. "
    return (
        f"Backend {backend!r} did not reach eps={eps:g}: {figures or 'no figures'}. Status "
        f"{solution.status.value!r}, solver's own: {solution.native_status!r}. {why}"
        f"{_remedy(problem, solution, report, eps)}"
    )


def _remedy(problem: Program, solution: QPSolution, report: KKTReport, eps: float) -> str:
    """Say what helps against the cause for which an answer misses ``eps``."""
    bound, certificate = report.bound, report.certificate
    if bound is not None and bound.floor > eps:
        share = f"{bound.floor:.1g} of the objective, whatever the answer"
        if bound.curvature > bound.rounding:
            return (
                f"Rounding of P hides negative curvature that may cost {share}: pass P by its "
                "factor (qpsvm.qp.LowRankQuadratic), or tighter bounds, or take a larger eps."
            )
        return (
            f"Rounding may hide {share}: scale the variables (a machine's features), or take a "
            "larger eps; another backend rounds as much."
        )
    is_at_rounding = str(solution.native_status).startswith(BY_ROUNDING)
    if is_at_rounding or (certificate is not None and certificate.rounding > eps):
        if isinstance(getattr(problem, "kernel", None), Precomputed | Custom):
            return (
                "The kernel values are taken as given, and what rounding does to sums of so large "
                "numbers keeps every answer from more digits: if they are inner products, pass the "
                "samples with kernel='linear', which has more digits; or scale the features before "
                "the kernel is evaluated, take a smaller C, or a larger eps; another backend "
                "rounds as much."
            )
        return (
            "Rounding of decision values keeps every answer in double precision from more digits: "
            "scale the features, take a smaller C or degree, or a larger eps; another backend "
            "rounds as much."
        )
    return "Try another backend, a larger eps, or scale the features."


def shortfall_of_passes(solution: ChunkedSolution, eps: float) -> str:
    """Write the message for a machine on samples in chunks that does not reach ``eps``."""
    return (
        f"{solution.statistics.passes} passes did not reach eps={eps:g}: the certified gap is "
        f"{solution.certificate.relative_gap_upper:.2e} (status {solution.status.value!r}). Allow "
        "more passes (max_iterations) or memory (options={'memory_limit': bytes}), or take a "
        "larger eps."
    )


def not_trained_in_chunks(problem: ChunkedKernelProblem) -> InvalidParameterError:
    """Build the error for a kernel problem on samples in chunks, which cannot be solved."""
    return InvalidParameterError(
        f"A machine with the {problem.kernel} kernel cannot be trained on samples in chunks, "
        "because training evaluates pairs of samples; verify and certify judge one that was "
        "trained elsewhere. Train on arrays that fit into memory, or a linear machine on "
        "transformed features, for instance of sklearn.kernel_approximation.Nystroem."
    )
