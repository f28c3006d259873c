"""Evidence for a report's grade, taken from the verifier's report and the certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qpsvm.certificates import Certificate, PredictionComparison
from qpsvm.certificates.comparison import from_bounds, from_table
from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.exceptions import QPSVMError
from qpsvm.kernels import Precomputed
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.problem import MachineProblem
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import Stored, stored_values
from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports.grade import Evidence, whose
from qpsvm.reports.kinds import kind_of
from qpsvm.verification import KKTReport, ReducedReport

FEASIBILITY = ("inequality", "equality", "lower_bound", "upper_bound")
"""The checks of a bare program that are about its own rows and bounds."""


def evidence_of_machine(
    problem: MachineProblem,
    verified: KKTReport,
    proof: Certificate | None,
    predictions: PredictionComparison | None,
) -> Evidence:
    """Collect the evidence about one machine.

    Parameters
    ----------
    problem : SVMProblem or JointProblem
    verified : KKTReport
    proof : Certificate or None
        None: nothing could be measured.
    predictions : PredictionComparison or None
    """
    if proof is None:
        notes = verified.notes or ("its numbers cannot be evaluated",)
        return _refused(verified, notes[-1])
    return Evidence(
        passed=verified.passed,
        eps=verified.eps,
        relative_gap=proof.relative_gap_upper,
        gap_upper=proof.gap_upper,
        infeasibility=proof.infeasibility,
        predictions=predictions,
        failed=_worst_failed(verified.checks),
        noun="pair order" if kind_of(problem).noun == "pair" else "prediction",
    )


def evidence_of_program(verified: KKTReport) -> Evidence:
    """Collect the evidence about a bare program."""
    found = verified.bound
    if found is None:
        notes = verified.notes or ("its objectives are not finite numbers",)
        return _refused(verified, notes[0])
    missed = [c.scaled for c in verified.checks if c.name in FEASIBILITY and not c.passed]
    return Evidence(
        passed=verified.passed,
        eps=verified.eps,
        relative_gap=found.relative_gap,
        gap_upper=found.gap_upper,
        infeasibility=max(missed, default=0.0),
        failed=_worst_failed(verified.checks),
    )


def evidence_of_machines(
    verified: ReducedReport,
    parts: Sequence[Evidence],
    predictions: PredictionComparison | None,
) -> Evidence:
    """Collect the evidence about several machines together.

    Parameters
    ----------
    verified : ReducedReport
    parts : sequence of Evidence
        That about each of the machines.
    predictions : PredictionComparison or None
        Of all machines together.
    """
    if not parts:
        notes = verified.notes or ("there is no machine",)
        return _refused(verified, notes[0])
    found = evidence_together(verified.names, verified.reports, parts, predictions)
    return replace(found, passed=verified.passed, relative_gap=verified.relative_gap)


def evidence_together(
    names: Sequence[str],
    reports: Sequence[KKTReport],
    parts: Sequence[Evidence],
    predictions: PredictionComparison | None,
) -> Evidence:
    """Collect the evidence about machines: that of the worst one, with the largest bounds of all.

    Parameters
    ----------
    names : sequence of str
    reports : sequence of KKTReport
    parts : sequence of Evidence
        About each machine.
    predictions : PredictionComparison or None
        Of all machines together.
    """

    def badness(i: int) -> tuple[bool, float, float]:
        return not reports[i].passed, reports[i].relative_gap, reports[i].worst

    worst = max(range(len(parts)), key=badness)
    named = zip(names, parts, strict=True)
    refused = [f"{name}: {part.refused}".removeprefix(": ") for name, part in named if part.refused]
    return replace(
        parts[worst],
        passed=all(report.passed for report in reports),
        gap_upper=float(np.max([part.gap_upper for part in parts])),
        infeasibility=float(np.max([part.infeasibility for part in parts])),
        predictions=predictions,
        refused=refused[0] if refused else "",
        whose=whose(names[worst], len(parts)),
    )


def predictions_of_machine(
    problem: MachineProblem,
    verified: KKTReport,
    proof: Certificate | None,
    rounding: Vector | None = None,
) -> PredictionComparison | None:
    """Compare one machine's training predictions with the exact optimum's.

    Machines with one decision function cost nothing more. Those with one per class cost another
    pass over the kernel matrix, which is spent only where the verdict leaves something to be said.
    ``rounding`` is that of the decision values where another library computes them.
    """
    if proof is None:
        return None
    if not isinstance(proof.model, SupportVectorModel):
        return None if verified.passed else _from_bounds(proof, problem, problem.data.X)
    if verified.samples is None:
        return None
    has_labels = kind_of(problem).margin_decides
    found = from_table(
        proof.model, proof, verified.samples, has_labels=has_labels, rounding=rounding
    )
    if found is None or has_labels:
        return found
    return replace(found, n_samples=problem.data.n_samples)


def predictions_of_machines(
    problem: ReducedProblem,
    verified: ReducedReport,
    proofs: Sequence[Certificate | None],
) -> PredictionComparison | None:
    """Compare the training predictions of several machines together; None if unknown.

    This takes a pass over the kernel matrix for each machine, which is spent only where the verdict
    leaves something to be said.
    """
    known = tuple(proof for proof in proofs if proof is not None)
    if verified.passed or not known or len(known) < len(proofs):
        return None
    several = ReducedCertificate(problem.names, known, problem.reduction, problem.data)
    return _from_bounds(several, problem.problems[0], problem.data.X)


# --- small pieces --------------------------------------------------------------------------------


def _refused(verified: KKTReport | ReducedReport, reason: str) -> Evidence:
    return Evidence(verified.passed, verified.eps, math.inf, math.inf, refused=reason)


def _worst_failed(checks: tuple[Check, ...]) -> Check | None:
    failed = [check for check in checks if not check.passed]
    return max(failed, key=lambda c: c.scaled / c.tolerance) if failed else None


def _from_bounds(
    proof: Certificate | ReducedCertificate,
    problem: MachineProblem,
    X: Stored,
) -> PredictionComparison | None:
    precomputed = isinstance(problem.kernel, Precomputed)
    is_gram = precomputed and X.shape[0] == X.shape[1]
    squares = stored_values(X).diagonal().astype(np.float64) if is_gram else None
    try:
        return from_bounds(proof, X, squares)
    except (QPSVMError, ValueError):  # k(x, x) is not known, or the numbers are of no use
        return None
