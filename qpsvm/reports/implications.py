"""Sentences about the consequences of the certified gap."""

from __future__ import annotations

import math
from collections.abc import Iterator

from qpsvm.certificates import Certificate
from qpsvm.plotting.picture import count
from qpsvm.reports.content import ReportContent
from qpsvm.reports.grade import prediction_clauses
from qpsvm.reports.numbers import at_most, between, figure, residual
from qpsvm.verification import KKTReport

NO_BOUND = "No bound on the distance from the optimum could be computed."
NO_UPPER_BOUND = (
    "Nothing bounds how far this machine is from the best possible one: a condition that must hold "
    "is missed, or a figure is not finite."
)


def implications(report: ReportContent) -> tuple[str, ...]:
    """State the consequences of a report's gap, the most important sentence first."""
    if report.machines:
        return (_of_machines(report),)
    if report.data is None:
        return (_of_program(report.verified),)
    certificate = report.certificate
    if certificate is None or not math.isfinite(certificate.gap):
        return (NO_BOUND,)
    return (
        *_about_objective(certificate),
        *_about_machine(report, certificate),
        *_about_samples(report, certificate),
    )


def _of_machines(report: ReportContent) -> str:
    gap = residual(report.relative_gap)
    if not math.isfinite(report.evidence.gap_upper):
        return "Not every machine has a bound on its distance from the best possible one."
    return (
        "Every machine's objective is within its certified gap of the best possible one, up to "
        f"rounding; the largest relative gap of the {len(report.machines)} is {gap}."
    )


def _of_program(verified: KKTReport) -> str:
    found = verified.bound
    if found is None:
        return "The objectives cannot be evaluated: something is missing or not a number."
    if not math.isfinite(found.gap_upper):
        return f"{NO_BOUND[:-1]}: {found.reason or 'a figure is not finite'}."
    lower, upper = found.lower - found.rounding, found.upper + found.rounding
    return (
        f"The optimum lies {between(lower, upper)}, up to rounding that is estimated: the "
        f"objective {found.objective:.12g} is within {at_most(found.gap_upper)} of it (relative "
        f"gap {residual(found.relative_gap)})."
    )


# --- one machine ---------------------------------------------------------------------------------


def _about_objective(certificate: Certificate) -> Iterator[str]:
    """Yield sentences about the optimal objective, and what the bounds on it rest on."""
    if not math.isfinite(certificate.gap_upper):
        yield NO_UPPER_BOUND
    else:
        above = (
            f"this machine's objective is at most {at_most(certificate.gap_upper)} above the best "
            f"possible one (relative gap {residual(certificate.relative_gap)})"
        )
        basis = (
            "This holds in exact arithmetic on these numbers: rounding errors are bounded "
            "rigorously."
            if certificate.rigorous
            else "Here and below, rounding error is estimated, not rigorously bounded."
        )
        ends = _ends(certificate)
        if ends is None:
            yield f"{above[:1].upper()}{above[1:]}. {basis}"
        else:
            yield f"The exact optimum lies {between(*ends)}: {above}. {basis}"
    if certificate.infeasibility > 0.0:
        missed = f"A condition that must hold is missed by {at_most(certificate.infeasibility)}"
        consequence = "this machine's own objective may be below the best one that is allowed"
        if certificate.model.is_hard and not certificate.model.n_constraints:
            consequence = "the objective is that of this machine scaled up until it holds"
        yield f"{missed}: {consequence}."
    hidden = certificate.rounding * max(abs(certificate.primal_objective), certificate.floor)
    if not certificate.rigorous and hidden > abs(certificate.gap):
        yield (
            f"Errors of kernel values and rounding may add up to {at_most(hidden)} to the gap, "
            "more than the gap itself."
        )


def _ends(certificate: Certificate) -> tuple[float, float] | None:
    """Bounds on the optimal objective, rounding included; None unless both are finite."""
    enclosure = certificate.enclosure
    if enclosure is not None:
        ends = enclosure.dual_lower, enclosure.primal_upper
    else:
        # of a machine that is allowed: one that is not bounds nothing from above
        primal, dual = certificate.feasible_objective, certificate.dual_objective
        room = certificate.objective_rounding * certificate.objective_scale
        ends = min(dual, primal) - room, max(dual, primal) + room
    return ends if all(map(math.isfinite, ends)) else None


def _about_machine(report: ReportContent, certificate: Certificate) -> Iterator[str]:
    """Yield sentences about weights, predictions and intercept."""
    if math.isfinite(certificate.gap_upper):
        if math.isfinite(certificate.weight_error):
            yield (
                f"The weights w are within {at_most(certificate.weight_error)} of the optimal "
                "ones, in the norm of the feature space."
            )
        else:
            yield "The gap bounds the objective; the weights of the optimum need not be unique."
    evidence = report.evidence
    if evidence.predictions is not None:
        words = "; ".join(prediction_clauses(evidence.predictions, evidence.noun))
        yield f"{words[:1].upper()}{words[1:]}."
    bounds, summary = certificate.intercept_bounds, report.summary
    is_free = certificate.model.intercept == "free"
    if is_free and bounds is not None and all(map(math.isfinite, bounds)):
        where = f"The intercept of every exact optimum lies {between(*bounds, digits=9)}"
        unique = certificate.intercept_is_unique
        if unique is None:
            yield f"{where}; whether it is unique is undecided at this accuracy."
        else:
            yield f"{where}; it is {'unique' if unique else 'not unique'}."
    # a sample that lies on the margin fixes the intercept
    is_fixed = summary is None or summary.n_free or certificate.screening.count("free")
    if is_free and certificate.intercept_interval is not None and not is_fixed:
        lower, upper = map(figure, certificate.intercept_interval)
        if lower != upper:  # or a point, up to rounding
            yield (
                f"With these weights every intercept from about {lower} to {upper} gives the same "
                "objective."
            )


def _about_samples(report: ReportContent, certificate: Certificate) -> Iterator[str]:
    """Yield sentences about what is proven of the samples at the optimum."""
    screening, noun = certificate.screening, report.kind.noun
    known = screening.counts
    n, undecided = sum(known.values()), known["undecided"]
    if undecided < n:
        left = f"; {undecided:,} are undecided at this accuracy." if undecided else "."
        yield (
            f"Proven for the exact optimum: {known['zero']:,} of {count(n, noun)} "
            f"{'is not a support vector' if known['zero'] == 1 else 'are not support vectors'} "
            f"(alpha = 0), {known['free']:,} have alpha strictly between its bounds, and "
            f"{known['bound']:,} at a bound{left}"
        )
    n_degenerate = len(screening.degenerate)
    if screening.strictly_complementary:
        yield f"No {noun} is degenerate: strict complementarity is proven."
    elif n_degenerate and certificate.relative_gap <= report.eps:
        # otherwise "as far as this accuracy shows" would be nothing
        yield (
            f"{count(n_degenerate, noun)} {'looks' if n_degenerate == 1 else 'look'} degenerate: "
            "met exactly, with alpha at a bound, as far as this accuracy shows."
        )
