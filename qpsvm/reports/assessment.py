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
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import Stored, stored_values
from qpsvm.qp.kkt_residuals import Check
from qpsvm.reports.grade import Evidence, whose
from qpsvm.reports.kinds import kind_of
from qpsvm.reports.solved import Machine, SolvedProblem
from qpsvm.verification import KKTReport

FEASIBILITY = ("inequality", "equality", "lower_bound", "upper_bound")
"""The checks of a bare program that are about its own rows and bounds."""


def evidence_of_machine(
    problem: Machine,
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
    eps = verified.eps
    if proof is None:
        notes = verified.notes or ("its numbers cannot be evaluated",)
        return Evidence(verified.passed, eps, math.inf, math.inf, refused=notes[-1])
    return Evidence(
        passed=verified.passed,
        eps=eps,
        relative_gap=proof.relative_gap_upper,
        gap_upper=proof.gap_upper,
        infeasibility=proof.infeasibility,
        predictions=predictions,
        failed=_worst_failed(verified.checks),
        noun="pair order" if kind_of(problem).noun == "pair" else "prediction",
    )


def evidence_of_program(verified: KKTReport) -> Evidence:
    """Collect the evidence about a bare program."""
    found, eps = verified.bound, verified.eps
    if found is None:
        notes = verified.notes or ("its objectives are not finite numbers",)
        return Evidence(verified.passed, eps, math.inf, math.inf, refused=notes[0])
    missed = [c.scaled for c in verified.checks if c.name in FEASIBILITY and not c.passed]
    return Evidence(
        passed=verified.passed,
        eps=eps,
        relative_gap=found.relative_gap,
        gap_upper=found.gap_upper,
        infeasibility=max(missed, default=0.0),
        failed=_worst_failed(verified.checks),
    )


def evidence_of_machines(
    several: SolvedProblem, parts: Sequence[Evidence], predictions: PredictionComparison | None
) -> Evidence:
    """Collect the evidence about several machines together.

    Parameters
    ----------
    several : SolvedProblem
        Of a ReducedProblem.
    parts : sequence of Evidence
        That about each of its machines.
    predictions : PredictionComparison or None
        Of all machines together.
    """
    machines = several.machines
    if not machines:
        notes = several.verified.notes or ("there is no machine",)
        return Evidence(several.passed, several.eps, math.inf, math.inf, refused=notes[0])
    pairs = list(zip(machines, parts, strict=True))
    refused = [f"{machine.name}: {part.refused}" for machine, part in pairs if part.refused]
    worst, of_worst = max(pairs, key=lambda pair: (pair[0].relative_gap, pair[0].worst))
    return Evidence(
        passed=several.passed,
        eps=several.eps,
        relative_gap=several.relative_gap,
        gap_upper=float(np.max([part.gap_upper for part in parts])),
        infeasibility=float(np.max([part.infeasibility for part in parts])),
        predictions=predictions,
        failed=of_worst.failed,
        refused=refused[0] if refused else "",
        whose=whose(worst.name, len(machines)),
    )


def predictions_of_machine(
    problem: Machine,
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
    if isinstance(proof.model, SupportVectorModel):
        if verified.samples is None:
            return None
        has_labels = kind_of(problem).margin_decides
        found = from_table(
            proof.model, proof, verified.samples, has_labels=has_labels, rounding=rounding
        )
        if found is None or has_labels:
            return found
        return replace(found, n_samples=problem.data.n_samples)
    return None if verified.passed else _from_bounds(proof, problem, problem.data.X)


def compared_with_optimum(solved: SolvedProblem) -> PredictionComparison | None:
    """Compare a problem's training predictions with the exact optimum's; None if unknown.

    Of several machines together, at the cost of a pass over the kernel matrix for each, only where
    the verdict leaves something to be said.
    """
    if isinstance(solved.verified, KKTReport):
        return predictions_of_machine(solved.problem, solved.verified, solved.certificate)
    proofs = [machine.certificate for machine in solved.machines]
    known = tuple(proof for proof in proofs if proof is not None)
    if solved.passed or not known or len(known) < len(proofs):
        return None
    problem = solved.problem
    several = ReducedCertificate(problem.names, known, problem.reduction, problem.data)
    return _from_bounds(several, problem.problems[0], problem.data.X)


# --- small pieces --------------------------------------------------------------------------------


def _worst_failed(checks: tuple[Check, ...]) -> Check | None:
    failed = [check for check in checks if not check.passed]
    return max(failed, key=lambda c: c.scaled / c.tolerance) if failed else None


def _from_bounds(
    proof: Certificate | ReducedCertificate[Certificate],
    problem: Machine,
    X: Stored,
) -> PredictionComparison | None:
    precomputed = isinstance(problem.kernel, Precomputed)
    is_gram = precomputed and X.shape[0] == X.shape[1]
    squares = stored_values(X).diagonal().astype(np.float64) if is_gram else None
    try:
        return from_bounds(proof, X, squares)
    except (QPSVMError, ValueError):  # k(x, x) is not known, or the numbers are of no use
        return None
