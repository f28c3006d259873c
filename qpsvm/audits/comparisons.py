"""Comparison of audited machines with the exact optima of their programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qpsvm.audits import excess, predictions
from qpsvm.audits.claims import Claim, Reading, Solution
from qpsvm.audits.machine import AuditedMachine, Optimum
from qpsvm.audits.predictions import DecisionRanges
from qpsvm.audits.rebuilt import Decisions
from qpsvm.certificates import PredictionComparison
from qpsvm.kkt_report import KKTReport
from qpsvm.numerics.arrays import Mask
from qpsvm.numerics.single_precision import Stored


def with_optimum(
    claim: Claim, own: Decisions, best: Solution, report: KKTReport, samples: Stored | None
) -> tuple[Optimum | None, DecisionRanges | None]:
    """Compare the model with the optimum; (None, None) if no optimum was found."""
    problem, proof = claim.problem, predictions.proof_of(claim.problem, best)
    if not proof.relative_gap <= report.eps:
        return None, None
    data = problem.data
    if samples is None:
        values = trained_on = predictions.ranges(problem, own[data.kept], proof, data.X)
    else:
        values = predictions.ranges(problem, own, proof, samples)
        trained_on = values[data.kept]
    above = excess.compared(report.certificate, proof, _of_coefficients(claim, own))
    return (
        Optimum(
            solution=best,
            proof=proof,
            excess=above.measured,
            least_excess=above.least,
            most_excess=above.most,
            scaled_excess=above.scaled,
            least_scaled=above.least_scaled,
            predictions=replace(
                predictions.of_machine(problem, trained_on, claim.factor),
                computed_gap=proof.relative_gap,
            ),
            decision_change=abs(claim.factor)
            * float(np.max(np.abs(trained_on.own.values - trained_on.computed))),
        ),
        values,
    )


def combined(
    reading: Reading,
    machines: Sequence[AuditedMachine],
    found: Sequence[DecisionRanges | None],
    sure: Mask | None,
) -> PredictionComparison | None:
    """Compare the predictions of all machines together; None if an optimum is missing."""
    known = [values for values in found if values is not None]
    if reading.reduction is None or len(known) < len(machines):
        return None
    taking_part = np.unique(np.concatenate([m.problem.data.kept for m in machines]))
    known = [values[taking_part] for values in known]
    together = predictions.of_votes(
        known,
        [machine.factor for machine in machines],
        reading.combine_bounds,
        None if sure is None else sure[taking_part],
    )
    # votes are counted, and what moves are the decision values of the machines
    changes = [
        predictions.of_machine(m.problem, values, m.factor).largest_change
        for m, values in zip(machines, known, strict=True)
    ]
    gaps = [m.optimum.proof.relative_gap for m in machines if m.optimum is not None]
    return replace(together, largest_change=max(changes), computed_gap=max(gaps))


def _of_coefficients(claim: Claim, own: Decisions) -> float:
    """Bound on how much rounding of the weights ``X'beta`` changes a model's objective."""
    if claim.alpha is None or claim.coef is not None or not claim.problem.model.is_linear:
        return 0.0
    model, errors = claim.problem.model, own.rounding[claim.problem.data.kept]
    c = model.conditions
    prices = np.where(np.isfinite(c.upper), c.upper, np.abs(claim.alpha))
    return float(prices @ c.row_sizes(errors)) + float(
        np.abs(model.expansion(claim.alpha)) @ errors
    )
