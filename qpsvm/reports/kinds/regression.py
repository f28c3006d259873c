"""Reports on regressions: tubes and quantiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from qpsvm.machines.samples import SampleTable
from qpsvm.numerics.arrays import Index, Mask, Vector
from qpsvm.plotting import Complementarity, Group, Histogram, Line, Picture, Targets
from qpsvm.plotting.complementarity import Condition
from qpsvm.plotting.picture import count
from qpsvm.reports.kinds.base import (
    CONDITION,
    CURVATURE_NOTE,
    ON_THE_LINE,
    SAMPLE,
    Column,
    Kind,
    scaled_alpha,
)
from qpsvm.reports.solved import SolvedProblem

DIFFERENCES = {
    "alpha": "alpha - alpha*",
    "alpha / C": "(alpha - alpha*) / C",
    "alpha d": "(alpha - alpha*) d",
}


class Regression(Kind):
    """Regressions; a tube has two rows per sample (target above, target below), a quantile one."""

    name: ClassVar[str] = "regression"
    noun: ClassVar[str] = "condition"
    support_name: ClassVar[str] = "Active conditions"
    score_name: ClassVar[str] = "R squared on the training samples"
    columns: ClassVar[tuple[Column, ...]] = (
        SAMPLE,
        Column("label", "Target"),
        Column("decision", "Predicted"),
        Column("side", "Target is", "text"),
        *CONDITION,
    )

    def score(self, solved: SolvedProblem, table: SampleTable | None) -> float | None:
        data = solved.data
        if table is None:
            return None
        return float(data.score(table.decision[: data.n_samples], data.targets))

    def further_columns(self, solved: SolvedProblem) -> Mapping[str, Vector]:
        signs = solved.problem.model.conditions.signs
        if (signs > 0.0).all():
            return {"side": np.full(len(signs), "either")}
        return {"side": np.where(signs > 0.0, "above", "below")}

    def pictures(
        self, solved: SolvedProblem, table: SampleTable | None
    ) -> Iterator[Picture | None]:
        if table is None:
            return
        data = solved.problem.data
        n, target = data.n_samples, data.values
        predicted = table.decision[:n]
        finite = np.isfinite(predicted)
        if not finite.any():
            return
        half_width = _half_width(solved)
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
        case = _case_of_samples(solved, table)
        yield Targets(target[finite], predicted[finite], case[finite], half_width)
        yield _signed_alpha(solved, table, deviation, finite, case)


def _half_width(solved: SolvedProblem) -> float:
    """Half-width epsilon of the tube: ``p - e t = s target - epsilon`` in every row."""
    c, target = solved.problem.model.conditions, solved.problem.data.values
    return float(c.signs[0] * target[0] - c.required[0] + c.width_sign * solved.solution.width)


def _case_of_samples(solved: SolvedProblem, table: SampleTable) -> Index:
    """KKT case of every sample: the higher case of the two sides of the tube."""
    samples = solved.problem.model.conditions.samples
    case = np.zeros(solved.problem.data.n_samples, dtype=np.intp)
    np.maximum.at(case, samples, table.case)
    return case


def _signed_alpha(
    solved: SolvedProblem, table: SampleTable, deviation: Vector, finite: Mask, case: Index
) -> Complementarity | None:
    """Picture of ``alpha - alpha*`` against the deviation from the target."""
    c, n = solved.problem.model.conditions, solved.problem.data.n_samples
    scaled, name, lower, upper, curvature = scaled_alpha(table.alpha, c)
    # R'a: every sample's alphas with their signs
    y = c.sample_sums(scaled)
    finite = finite & np.isfinite(y)
    if not finite.any():
        return None
    two_sided = len(c) > n
    sides = (1.0, -1.0) if two_sided else (1.0,)
    half_width = _half_width(solved)
    return Complementarity(
        heading="Alpha against deviation",
        x=deviation[finite],
        y=y[finite],
        case=case[finite],
        conditions=tuple(
            Condition(-sign * half_width, lower, upper, curvature, sign) for sign in sides
        ),
        quantity="predicted - target",
        variable=DIFFERENCES[name] if two_sided else name,
        noun="sample",
        note=CURVATURE_NOTE * name.endswith(" d"),
    )
