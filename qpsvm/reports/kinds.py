"""Kinds of problems as data: words, columns of the sample table, score and pictures of each.

What pictures draw comes from the verdict's sample table, and for the boundary in the plane from
the solution itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from qpsvm.data import (
    BinaryTrainingSet,
    MulticlassTrainingSet,
    RegressionTrainingSet,
    TrainingSet,
)
from qpsvm.exceptions import QPSVMError
from qpsvm.formulations.ranking import RankedTrainingSet
from qpsvm.kernels import Precomputed
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.numerics.arrays import Vector, as_dense
from qpsvm.plotting import Checks, Complementarity, Group, Histogram, Line, Picture, Plane, Targets
from qpsvm.plotting.samples import Condition, alpha_against, margin_of, scaled_alpha
from qpsvm.qp.program import QuadraticProgram
from qpsvm.reports.blocks import TableColumn, numbers, words
from qpsvm.reports.numbers import count, figure, residual, value

Row: TypeAlias = Mapping[str, Any]
"""A row of a report's sample table, by the keys of the JSON."""

Pictures: TypeAlias = Iterator[Picture | None]

ON_THE_LINE = 1.0 - 1e-6
"""Samples within a millionth of a margin are on it: a solver's noise must not move a count."""

BOUNDARY = Line(0.0, "the boundary", central=True)

DECISION_VALUE = "decision value f(x)"
AHEAD = "difference f(better) - f(worse)"
OVER_OTHERS = "margin over the best other class"


@dataclass(frozen=True)
class Kind:
    """A kind of problem, with its words, sample table, score and pictures.

    Attributes
    ----------
    name : str
        In the JSON.
    pictures : callable
        From a report (a ``ReportContent``) to its pictures; None for those that cannot be drawn.
    score : callable
        From a report to the score of the machine on its training samples, or None.
    score_name : str
        What ``score`` is; empty without one.
    noun : str
        What a row of the sample table is.
    columns : tuple of TableColumn
        Of the sample table; empty without one.
    further_columns : callable
        From a report to additional entries of the rows of its sample table, by key.
    support_name : str
        What ``MarginSummary.n_support`` counts.
    title : str
        What is solved: the first words of a report's title.
    """

    name: str
    pictures: Callable[[Any], Iterable[Picture | None]]
    score: Callable[[Any], float | None] = lambda _: None
    score_name: str = ""
    noun: str = "sample"
    columns: tuple[TableColumn[Row], ...] = ()
    further_columns: Callable[[Any], Mapping[str, Vector]] = lambda _: {}
    support_name: str = "Support vectors"
    title: str = "Support vector machine"


def class_sizes(data: Any) -> list[tuple[object, int]]:
    """Every class with its number of samples; empty if there are no classes."""
    classes = getattr(data, "classes", np.zeros(0))
    sizes = [int(np.count_nonzero(data.targets == label)) for label in classes]
    return list(zip(classes.tolist(), sizes, strict=True))


# --- pictures -------------------------------------------------------------------------------------


def _of_program(report: Any) -> Pictures:
    yield Checks(report.checks)


def _of_two_classes(report: Any) -> Pictures:
    """Yield pictures of two classes, for every loss."""
    data, table = report.data, report.table
    margin = margin_of(report.problem.model.conditions, report.solution.width)
    names, positive = _class_names(data), data.signs > 0.0
    inside = int(np.count_nonzero(table.margin < margin * ON_THE_LINE))
    wrong = int(np.count_nonzero(table.margin <= 0.0))
    said = (
        f"{count(inside, 'sample')} {'lies' if inside == 1 else 'lie'} inside the margin or "
        f"beyond, {wrong:,} of them on the wrong side."
    )
    decisions = (table.decision[~positive], table.decision[positive])
    groups, lines = tuple(map(Group, names, decisions)), _around(BOUNDARY, margin, "the margin")
    yield Histogram("Decision values by class", groups, lines, DECISION_VALUE, "sample", said)
    yield _alpha(report, "Alpha against margin", "margin y f(x)")
    levels = (0.0, -margin, margin) if margin > 0.0 else (0.0,)
    group = positive.astype(np.intp)
    yield _plane(report, group=group, groups=names, support=table.case, levels=levels)


def _of_novelties(report: Any) -> Pictures:
    """Yield pictures of a one-class problem; a decision value of zero or more is inside."""
    table = report.table
    outside = int(np.count_nonzero(~_is_inside(report)))
    said = (
        f"{count(outside, 'sample')} {'is' if outside == 1 else 'are'} outside by more than "
        f"{_noise(report):.1g}."
    )
    groups = (Group("", table.decision),)
    yield Histogram("Decision values", groups, (BOUNDARY,), DECISION_VALUE, "sample", said)
    yield _alpha(report, "Alpha against decision value", DECISION_VALUE)
    group = np.zeros(len(table), dtype=np.intp)
    yield _plane(report, group=group, groups=("",), support=table.case, levels=(0.0,))


def _of_ranking(report: Any) -> Pictures:
    """Yield pictures of a ranking, about the pairs."""
    table, heading = report.table, "How far the better sample is ahead"
    lines = (Line(0.0, "a tie", central=True), Line(1.0, "the margin"))
    said = _short_of_margin(table.margin, "pair", "in the wrong order")
    yield Histogram(heading, (Group("", table.margin),), lines, AHEAD, "pair", said)
    yield _alpha(report, "Alpha against difference", AHEAD)


def _of_classes(report: Any) -> Pictures:
    """Yield pictures of several classes in one program."""
    table, data, own = report.table, report.data, report.problem.model.own.ravel()
    margin, case, labels = table.margin[own], table.case[own], _class_names(data)
    order = list(range(len(labels)))
    if len(labels) > Histogram.rows:  # those with most errors
        order.sort(key=lambda m: -np.count_nonzero(margin[data.codes == m] <= 0.0))
    groups = tuple(Group(labels[m], margin[data.codes == m]) for m in order)
    lines = (BOUNDARY, Line(1.0, "the margin"))
    said = _short_of_margin(margin, "sample", "on the wrong side")
    yield Histogram("Margins by class", groups, lines, OVER_OTHERS, "sample", said)
    share = table.alpha[own] / table.upper[own]  # tau_i,yi / C_i
    axes = {"quantity": OVER_OTHERS, "variable": "alpha / C", "noun": "sample"}
    line = (Condition(1.0, 0.0, 1.0, 0.0),)
    yield Complementarity.of("Alpha against margin", margin, share, case, conditions=line, **axes)
    yield _plane(report, group=data.codes, groups=labels, support=case, levels=())


def _of_regression(report: Any) -> Pictures:
    """Yield pictures of tubes and quantiles."""
    table, data, c = report.table, report.data, report.problem.model.conditions
    n, target = data.n_samples, data.values
    predicted = table.decision[:n]
    finite = np.isfinite(predicted)
    if not finite.any():
        return
    # half-width epsilon of the tube: p - e t = s target - epsilon in every row
    half_width = float(
        c.signs[0] * target[0] - c.required[0] + c.width_sign * report.solution.width
    )
    deviation = predicted - target
    outside = int(np.count_nonzero(np.abs(deviation[finite]) > half_width / ON_THE_LINE))
    too_high = int(np.count_nonzero(deviation > 0.0))
    target_line = Line(0.0, "the target", central=True)
    lines = _around(target_line, half_width, "an edge of the tube")
    said = f"{count(outside, 'sample')} outside the tube of half-width {half_width:.4g}."
    said = said if half_width > 0.0 else f"{too_high:,} are predicted too high."
    groups, quantity = (Group("", deviation),), "predicted - target"
    yield Histogram("Deviations", groups, lines, quantity, "sample", said)
    # of every sample: the higher case of the two sides of the tube, and R'a, its signed alphas
    case = np.zeros(n, dtype=np.intp)
    np.maximum.at(case, c.samples, table.case)
    yield Targets(target[finite], predicted[finite], case[finite], half_width)
    scaled, variable, lower, upper, curvature = scaled_alpha(table.alpha, c)
    sides = (1.0, -1.0) if len(c) > n else (1.0,)
    if len(sides) > 1:
        _, _, unit = variable.partition(" ")
        variable = f"(alpha - alpha*) {unit}" if unit else "alpha - alpha*"
    bounds = (float(lower[0]), float(upper[0]), curvature)
    conditions = tuple(Condition(-side * half_width, *bounds, side) for side in sides)
    axes = {"quantity": quantity, "variable": variable, "noun": "sample"}
    y, heading = c.sample_sums(scaled), "Alpha against deviation"
    yield Complementarity.of(heading, deviation, y, case, conditions=conditions, **axes)


def _of_machines(report: Any) -> Pictures:
    """Yield the plane of all machines together; each machine has its own pictures."""
    data, tables = report.data, [machine.samples for machine in report.verified.reports]
    if not tables or None in tables:
        return
    case = np.zeros(data.n_given, dtype=np.intp)
    for table in tables:
        np.maximum.at(case, table.sample, table.case)
    samples = {"group": data.codes, "groups": _class_names(data), "support": case[data.kept]}
    yield _plane(report, **samples, levels=())


def _around(central: Line, distance: float, name: str) -> tuple[Line, ...]:
    """A line between two others, if there is a distance."""
    ends = [Line(end, name) for end in (-distance, distance) if distance > 0.0]
    return (*ends[:1], central, *ends[1:])


def _is_inside(report: Any) -> Any:
    """Mask of samples with decision values of zero or more, up to a solver's accuracy."""
    return report.table.decision >= -_noise(report)


def _noise(report: Any) -> float:
    return float((1.0 - ON_THE_LINE) * report.problem.model.unit)


def _class_names(data: Any) -> tuple[str, ...]:
    return tuple(f"class {label}" for label in data.classes.tolist())


def _short_of_margin(margin: Vector, noun: str, where: str) -> str:
    short = int(np.count_nonzero(margin < ON_THE_LINE))
    wrong = int(np.count_nonzero(margin <= 0.0))
    misses = "misses" if short == 1 else "miss"
    return f"{count(short, noun)} {misses} the margin of 1, {wrong:,} of them {where}."


def _alpha(report: Any, heading: str, quantity: str) -> Picture | None:
    """Picture of alpha against the value of each condition, for one-sided conditions."""
    table, c = report.table, report.problem.model.conditions
    corner = margin_of(c, report.solution.width)
    if not np.isfinite(corner):
        return None
    points = (table.margin, table.alpha, table.case, c)
    return alpha_against(heading, *points, corner, quantity=quantity, noun=report.kind.noun)


def _plane(report: Any, **drawn: Any) -> Plane | None:
    """Picture of the decision boundary of two-feature samples; None for other samples."""
    data, solution = report.data, report.solution
    if data.n_features != 2 or data.storage == "objects":
        return None
    if isinstance(getattr(report.problem, "kernel", None), Precomputed) or not _predicts(solution):
        return None
    features, values = data.feature_names or ("feature 0", "feature 1"), solution.decision_function
    return Plane(points=as_dense(data.X), values=values, features=features, **drawn)


def _predicts(solution: Any) -> bool:
    """Return whether every machine of a solution has finite weights and intercepts."""
    parts = getattr(solution, "solutions", (solution,))
    weights = [part.expansion if part.coef is None else part.coef for part in parts]
    numbers = [*weights, *(part.intercept for part in parts)]
    return all(number is not None and np.isfinite(number).all() for number in numbers)


# --- scores ---------------------------------------------------------------------------------------


def _score_of_samples(report: Any) -> float:
    data = report.data
    decision = report.table.decision[: data.n_samples]  # a tube has two rows each
    return float(data.score(decision, data.targets))


def _score_of_classes(report: Any) -> float:
    decision = report.table.decision.reshape(report.problem.model.own.shape)
    return float(report.data.score(decision, report.data.targets))


def _score_of_machines(report: Any) -> float | None:
    try:
        return float(report.solution.score(report.data.X, report.data.targets))
    except (QPSVMError, ValueError, AttributeError):
        return None  # not a machine that predicts


# --- tables of samples ----------------------------------------------------------------------------


def _sides(report: Any) -> Mapping[str, Vector]:
    signs = report.problem.model.conditions.signs
    above = "either" if (signs > 0.0).all() else "above"
    return {"side": np.where(signs > 0.0, above, "below")}


def _pairs(report: Any) -> Mapping[str, Vector]:
    data, table = report.data, report.table
    better, worse = data.pairs.T
    # the table is about the sample that comes first: f(better) = f(worse) + margin
    decision = table.decision + np.where(better < worse, 0.0, table.margin)
    return {
        "sample": data.kept[better],
        "over": data.kept[worse],
        "label": data.values[better],
        "decision": decision,
    }


def _text(key: str, title: str) -> TableColumn[Row]:
    return words(title, lambda row: value(row[key]))


def _number(key: str, title: str, written: Callable[[float], str] = figure) -> TableColumn[Row]:
    return numbers(title, lambda row: row[key], written)


SAMPLE, LABEL = _number("sample", "Sample", str), _text("label", "Label")
DECISION, MARGIN = _number("decision", "Decision value"), _number("margin", "Margin")
CONDITION = (
    _number("alpha", "alpha"),
    _number("C", "C"),
    _number("slack", "Slack"),
    _text("case", "Case"),
    _number("violation", "Violation", residual),
)
"""What is common to all tables: the dual variable, its bound, and how the condition is met."""


# --- the kinds ------------------------------------------------------------------------------------

KINDS: Mapping[type, Kind] = {
    QuadraticProgram: Kind("program", _of_program, title="Quadratic program"),
    ReducedProblem: Kind(
        "reduced",
        _of_machines,
        _score_of_machines,
        "training accuracy",
        title="Support vector machines",
    ),
    RankedTrainingSet: Kind(
        "ranking",
        _of_ranking,
        lambda report: float(np.mean(report.table.margin > 0.0)),
        "share of pairs in order",
        noun="pair",
        columns=(
            SAMPLE,
            _number("over", "Over sample", str),
            _text("label", "Relevance"),
            _number("margin", "f(x) ahead by"),
            *CONDITION,
        ),
        further_columns=_pairs,
        support_name="Active pairs",
    ),
    # a tube has two rows per sample (target above, target below), a quantile one
    RegressionTrainingSet: Kind(
        "regression",
        _of_regression,
        _score_of_samples,
        "R squared on the training samples",
        noun="condition",
        columns=(
            SAMPLE,
            _number("label", "Target"),
            _number("decision", "Predicted"),
            _text("side", "Target is"),
            *CONDITION,
        ),
        further_columns=_sides,
        support_name="Active conditions",
    ),
    MulticlassTrainingSet: Kind(
        "multiclass",
        _of_classes,
        _score_of_classes,
        "training accuracy",
        noun="row",
        columns=(SAMPLE, LABEL, _text("against", "Against"), DECISION, MARGIN, *CONDITION),
    ),
    BinaryTrainingSet: Kind(
        "two-class",
        _of_two_classes,
        _score_of_samples,
        "training accuracy",
        columns=(SAMPLE, LABEL, DECISION, MARGIN, *CONDITION),
    ),
    TrainingSet: Kind(
        "novelty",
        _of_novelties,
        lambda report: float(np.mean(_is_inside(report))),
        "share of the training samples inside or on the boundary",
        columns=(SAMPLE, DECISION, *CONDITION),
    ),
}
"""Kinds by the type of the problem, or of its training set."""


def kind_of(problem: object) -> Kind:
    """Return the kind of a problem, which is that of its data if its type does not say."""
    types = (*type(problem).__mro__, *type(getattr(problem, "data", None)).__mro__)
    return next(KINDS[each] for each in types if each in KINDS)
