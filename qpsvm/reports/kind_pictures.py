"""Pictures of every kind of problem: functions of a problem, its solution and its verdict.

What they draw comes from the verdict's sample table, and for the boundary in the plane from the
solution itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from qpsvm.kernels import Precomputed
from qpsvm.machines.samples import SampleTable
from qpsvm.numerics.arrays import Index, Mask, Vector, as_dense
from qpsvm.plotting import Checks, Complementarity, Group, Histogram, Line, Picture, Plane, Targets
from qpsvm.plotting.complementarity import Condition, scaled_alpha
from qpsvm.plotting.histogram import ROWS
from qpsvm.plotting.picture import count

ON_THE_LINE = 1.0 - 1e-6
"""Samples within a millionth of a margin are on it: a solver's noise must not move a count."""

BOUNDARY = Line(0.0, "the boundary", central=True)

DIFFERENCES = {
    "alpha": "alpha - alpha*",
    "alpha / C": "(alpha - alpha*) / C",
    "alpha d": "(alpha - alpha*) d",
}


def program(_problem: Any, _solution: Any, verified: Any) -> Iterator[Picture | None]:
    """The picture of a bare program: its checks."""
    yield Checks(verified.checks)


def two_class(problem: Any, solution: Any, verified: Any) -> Iterator[Picture | None]:
    """Pictures of two classes, for every loss."""
    data, table, margin = problem.data, verified.samples, _margin_of(problem, solution)
    groups = _class_names(data)
    positive = data.signs > 0.0
    inside = int(np.count_nonzero(table.margin < margin * ON_THE_LINE))
    wrong = int(np.count_nonzero(table.margin <= 0.0))
    ends = (Line(-margin, "the margin"), Line(margin, "the margin")) if margin > 0.0 else ()
    yield Histogram(
        heading="Decision values by class",
        groups=(
            Group(groups[0], table.decision[~positive]),
            Group(groups[1], table.decision[positive]),
        ),
        lines=(*ends[:1], BOUNDARY, *ends[1:]),
        quantity="decision value f(x)",
        noun="sample",
        statement=(
            f"{count(inside, 'sample')} {'lies' if inside == 1 else 'lie'} inside the margin "
            f"or beyond, {wrong:,} of them on the wrong side."
        ),
    )
    yield _alpha_against("margin y f(x)", "sample", problem, solution, table)
    levels = (0.0, -margin, margin) if margin > 0.0 else (0.0,)
    yield _plane(problem, solution, positive.astype(np.intp), groups, table.case, levels)


def novelty(problem: Any, solution: Any, verified: Any) -> Iterator[Picture | None]:
    """Pictures of a one-class problem; samples with decision values of zero or more are inside."""
    table = verified.samples
    outside = int(np.count_nonzero(~is_inside(problem, table)))
    yield Histogram(
        heading="Decision values",
        groups=(Group("", table.decision),),
        lines=(BOUNDARY,),
        quantity="decision value f(x)",
        noun="sample",
        statement=(
            f"{count(outside, 'sample')} {'is' if outside == 1 else 'are'} outside by more "
            f"than {_noise(problem):.1g}."
        ),
    )
    yield _alpha_against("decision value f(x)", "sample", problem, solution, table)
    group = np.zeros(len(table), dtype=np.intp)
    yield _plane(problem, solution, group, ("",), table.case, (0.0,))


def ranking(problem: Any, solution: Any, verified: Any) -> Iterator[Picture | None]:
    """Pictures of a ranking: ``sample`` is the better sample of a pair, ``over`` the other."""
    table = verified.samples
    yield Histogram(
        heading="How far the better sample is ahead",
        groups=(Group("", table.margin),),
        lines=(Line(0.0, "a tie", central=True), Line(1.0, "the margin")),
        quantity="difference f(better) - f(worse)",
        noun="pair",
        statement=_short_of_margin(table.margin, "pair", "in the wrong order"),
    )
    quantity = "difference f(better) - f(worse)"
    yield _alpha_against(quantity, "pair", problem, solution, table)


def multiclass(problem: Any, solution: Any, verified: Any) -> Iterator[Picture | None]:
    """Pictures of several classes in one program."""
    table, data, own = verified.samples, problem.data, problem.model.own.ravel()
    margin, case = table.margin[own], table.case[own]
    labels = _class_names(data)
    order = list(range(len(labels)))
    if len(labels) > ROWS:  # those with most errors
        order.sort(key=lambda m: -np.count_nonzero(margin[data.codes == m] <= 0.0))
    yield Histogram(
        heading="Margins by class",
        groups=tuple(Group(labels[m], margin[data.codes == m]) for m in order),
        lines=(BOUNDARY, Line(1.0, "the margin")),
        quantity="margin over the best other class",
        noun="sample",
        statement=_short_of_margin(margin, "sample", "on the wrong side"),
    )
    yield Complementarity.of(
        "Alpha against margin",
        margin,
        table.alpha[own] / table.upper[own],  # tau_i,yi / C_i
        case,
        conditions=(Condition(1.0, 0.0, 1.0, 0.0),),
        quantity="margin over the best other class",
        variable="alpha / C",
        noun="sample",
    )
    yield _plane(problem, solution, data.codes, labels, case, ())


def regression(problem: Any, solution: Any, verified: Any) -> Iterator[Picture | None]:
    """Pictures of tubes and quantiles."""
    table, data, c = verified.samples, problem.data, problem.model.conditions
    n, target = data.n_samples, data.values
    predicted = table.decision[:n]
    finite = np.isfinite(predicted)
    if not finite.any():
        return
    # half-width epsilon of the tube: p - e t = s target - epsilon in every row
    half_width = float(c.signs[0] * target[0] - c.required[0] + c.width_sign * solution.width)
    deviation = predicted - target
    outside = int(np.count_nonzero(np.abs(deviation[finite]) > half_width / ON_THE_LINE))
    ends = (-half_width, half_width) if half_width > 0.0 else ()
    edges = tuple(Line(end, "an edge of the tube") for end in ends)
    yield Histogram(
        heading="Deviations",
        groups=(Group("", deviation),),
        lines=(*edges[:1], Line(0.0, "the target", central=True), *edges[1:]),
        quantity="predicted - target",
        noun="sample",
        statement=(
            f"{count(outside, 'sample')} outside the tube of half-width {half_width:.4g}."
            if half_width > 0.0
            else f"{int(np.count_nonzero(deviation > 0.0)):,} are predicted too high."
        ),
    )
    # of every sample: the higher case of the two sides of the tube, and R'a, its signed alphas
    case = np.zeros(n, dtype=np.intp)
    np.maximum.at(case, c.samples, table.case)
    yield Targets(target[finite], predicted[finite], case[finite], half_width)
    scaled, variable, lower, upper, curvature = scaled_alpha(table.alpha, c)
    sides = (1.0, -1.0) if len(c) > n else (1.0,)
    yield Complementarity.of(
        "Alpha against deviation",
        deviation,
        c.sample_sums(scaled),
        case,
        conditions=tuple(
            Condition(-sign * half_width, float(lower[0]), float(upper[0]), curvature, sign)
            for sign in sides
        ),
        quantity="predicted - target",
        variable=DIFFERENCES[variable] if len(sides) > 1 else variable,
        noun="sample",
    )


def reduced(problem: Any, solution: Any, verified: Any) -> Iterator[Picture | None]:
    """The plane of all machines together; each two-class machine has its own pictures."""
    data, tables = problem.data, [report.samples for report in verified.reports]
    if not tables or None in tables:
        return
    case = np.zeros(data.n_given, dtype=np.intp)
    for table in tables:
        np.maximum.at(case, table.sample, table.case)
    yield _plane(problem, solution, data.codes, _class_names(data), case[data.kept], ())


# --- pieces that several kinds share -------------------------------------------------------------


def is_inside(problem: Any, table: SampleTable) -> Mask:
    """Mask of samples with decision values of zero or more, up to a solver's accuracy."""
    return table.decision >= -_noise(problem)


def _noise(problem: Any) -> float:
    return float((1.0 - ON_THE_LINE) * problem.model.unit)


def _class_names(data: Any) -> tuple[str, ...]:
    return tuple(f"class {label}" for label in data.classes.tolist())


def _short_of_margin(margin: Vector, noun: str, where: str) -> str:
    short = int(np.count_nonzero(margin < ON_THE_LINE))
    wrong = int(np.count_nonzero(margin <= 0.0))
    misses = "misses" if short == 1 else "miss"
    return f"{count(short, noun)} {misses} the margin of 1, {wrong:,} of them {where}."


def _margin_of(problem: Any, solution: Any) -> float:
    """The margin that every sample must reach, ``p - e t``."""
    c = problem.model.conditions
    if c.minus_self_similarity:  # of a ball: p is k(x, x), which decision values have subtracted
        return 0.0
    return float(c.required[0] - c.width_sign * solution.width)


def _alpha_against(
    quantity: str, noun: str, problem: Any, solution: Any, table: SampleTable
) -> Complementarity | None:
    """Picture of alpha against the value of each condition, for one-sided conditions."""
    y, variable, lower, upper, curvature = scaled_alpha(table.alpha, problem.model.conditions)
    corner = _margin_of(problem, solution)
    if not np.isfinite(corner):
        return None
    return Complementarity.of(
        f"Alpha against {quantity.partition(' f(')[0].removesuffix(' y')}",
        table.margin,
        y,
        table.case,
        conditions=(Condition(corner, float(lower[0]), float(upper[0]), curvature),),
        quantity=quantity,
        variable=variable,
        noun=noun,
    )


def _plane(
    problem: Any,
    solution: Any,
    group: Index,
    groups: tuple[str, ...],
    case: Index,
    levels: tuple[float, ...],
) -> Plane | None:
    """Picture of the decision boundary of two-feature samples; None for other samples."""
    data = problem.data
    if data.n_features != 2 or data.storage == "objects":
        return None
    if isinstance(getattr(problem, "kernel", None), Precomputed) or not _predicts(solution):
        return None
    features = data.feature_names or ("feature 0", "feature 1")
    function = solution.decision_function
    return Plane(as_dense(data.X), group, groups, case, function, levels, features)


def _predicts(solution: Any) -> bool:
    """Return whether every machine of a solution has finite weights and intercepts."""
    for machine in getattr(solution, "solutions", (solution,)):
        weights = machine.expansion if machine.coef is None else machine.coef
        if weights is None or not np.isfinite(weights).all():
            return False
        if not np.isfinite(machine.intercept).all():
            return False
    return True
