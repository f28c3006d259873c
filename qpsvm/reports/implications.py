"""What the gap implies: one sentence for everything that follows from a certificate.

A new figure of ``Certificate`` becomes a sentence by one function here, and its name in
``SENTENCES``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from qpsvm.certificates import Certificate
from qpsvm.plotting.picture import count
from qpsvm.qp.kkt import KKTResiduals
from qpsvm.reports.numbers import figure, residual
from qpsvm.verification import KKTReport

if TYPE_CHECKING:
    from qpsvm.reports.report import Report

NO_BOUND = "No bound on the distance from the optimum could be computed."


def implications(report: Report) -> tuple[str, ...]:
    """What the gap of a report implies, the most important sentence first."""
    if report.machines:
        return (_of_machines(report),)
    if report.data is None and isinstance(report.verified, KKTReport):
        return (_of_program(report.verified.residuals),)
    certificate = report.certificate
    if certificate is None or not math.isfinite(certificate.gap):
        return (NO_BOUND,)
    sentences = (sentence(report, certificate) for sentence in SENTENCES)
    return tuple(words for words in sentences if words)


def _of_machines(report: Report) -> str:
    return (
        "Every machine's objective is within its certified gap of the best possible one; the "
        f"largest relative gap of the {len(report.machines)} is {residual(report.relative_gap)}."
    )


def _of_program(residuals: KKTResiduals) -> str:
    primal, dual = residuals.primal_objective, residuals.dual_objective
    if not (math.isfinite(primal) and math.isfinite(dual)):
        return "The objectives cannot be evaluated: something is missing or not a number."
    return (
        f"The primal objective is {primal:.12g}, the dual one {dual:.12g} (relative gap "
        f"{residual(residuals.relative_gap)}): up to the residuals of the constraints the optimum "
        "lies between them."
    )


# --- one sentence each ---------------------------------------------------------------------------


def _optimum(report: Report, certificate: Certificate) -> str:
    del report
    bounds = (
        "Whatever the solver claims, the exact optimum lies between "
        f"{certificate.dual_objective:.12g} and {certificate.primal_objective:.12g}"
    )
    if certificate.rigorous:
        return (
            f"{bounds}, up to rounding. In exact arithmetic on these numbers, every rounding "
            f"enclosed, this machine's objective is at most {residual(certificate.gap_upper)} "
            f"above the best possible one (relative gap {residual(certificate.relative_gap)})."
        )
    return (
        f"{bounds}: this machine's objective is at most {residual(max(certificate.gap, 0.0))} "
        f"above the best possible one (relative gap {residual(certificate.relative_gap)}), up to "
        "rounding."
    )


def _infeasible(report: Report, certificate: Certificate) -> str:
    del report
    if not certificate.infeasibility > 0.0:
        return ""
    return (
        f"A condition that must hold is missed by {residual(certificate.infeasibility)}: the "
        "objective of a machine that meets it is higher."
    )


def _rounding(report: Report, certificate: Certificate) -> str:
    del report
    size = max(abs(certificate.primal_objective), certificate.floor)
    hidden = certificate.rounding * size
    if certificate.rigorous or not hidden > abs(certificate.gap):
        return ""
    return (
        f"Rounding in double precision can hide up to {residual(hidden)} of the objective, more "
        "than the gap."
    )


def _weights(report: Report, certificate: Certificate) -> str:
    del report
    if not math.isfinite(certificate.weight_error):
        return "The gap bounds the objective; the weights of the optimum need not be unique."
    return (
        f"The weights w are within {residual(certificate.weight_error)} of the optimal ones, in "
        "the norm of the feature space."
    )


def _predictions(report: Report, certificate: Certificate) -> str:
    """``m* = p - e t* - v*`` with ``low <= v* <= high`` is surely above or below zero."""
    optimum, table = certificate.optimum, report.table
    if optimum is None or table is None or not report.kind.margin_decides:
        return ""
    if optimum.intercept_moves or not math.isfinite(certificate.weight_error):
        return ""  # the bounds are not about every optimum, or say nothing
    e = report.problem.model.conditions.width
    p = table.required + e * report.solution.width
    narrow, wide = sorted(e * end for end in optimum.width)
    surely = (p - wide - optimum.high > 0.0) | (p - narrow - optimum.low < 0.0)
    decided, rows = int(np.count_nonzero(surely)), count(len(table), f"training {report.kind.noun}")
    which = f"all {rows}" if decided == len(table) else f"{decided:,} of {rows}"
    return f"The predictions for {which} are provably those of every exact optimum."


def _intercept(report: Report, certificate: Certificate) -> str:
    bounds = certificate.intercept_bounds
    if bounds is None or not all(map(math.isfinite, bounds)):
        return ""
    if report.problem.model.intercept != "free":
        return ""
    lower, upper = (figure(end, 9) for end in bounds)
    where = f"The intercept of every exact optimum lies between {lower} and {upper}"
    unique = certificate.intercept_is_unique
    if unique is None:
        return f"{where}; whether there is only one is undecided at this accuracy."
    return f"{where}; there is only one." if unique else f"{where}; there are many: none is fixed."


def _interval(report: Report, certificate: Certificate) -> str:
    del report
    interval = certificate.intercept_interval
    if interval is None:
        return ""
    lower, upper = map(figure, interval)
    if lower == upper:  # a point, up to rounding
        return ""
    return (
        f"No sample fixes the intercept of these weights: every value from {lower} to {upper} is "
        "equally good."
    )


def _statuses(report: Report, certificate: Certificate) -> str:
    known, noun = certificate.screening.counts, report.kind.noun
    n = sum(known.values())
    if known["undecided"] == n:
        return ""
    words = (
        f"Proven of the exact optimum: of {count(n, noun)}, {known['zero']:,} could be left out "
        f"(alpha = 0), {known['free']:,} have alpha strictly between its bounds, "
        f"{known['bound']:,} at its upper bound"
    )
    left = (
        f"; {known['undecided']:,} are undecided at this accuracy." if known["undecided"] else "."
    )
    return words + left


def _degenerate(report: Report, certificate: Certificate) -> str:
    screening, noun = certificate.screening, report.kind.noun
    if screening.strictly_complementary:
        return f"No {noun} is degenerate: strict complementarity is proven."
    n = len(screening.degenerate)
    if not n:
        return ""
    return (
        f"{count(n, noun)} {'looks' if n == 1 else 'look'} degenerate: met exactly, with alpha at "
        "a bound, as far as this accuracy shows."
    )


SENTENCES: tuple[Callable[[Report, Certificate], str], ...] = (
    _optimum,
    _infeasible,
    _rounding,
    _weights,
    _predictions,
    _intercept,
    _interval,
    _statuses,
    _degenerate,
)
