"""Base class of the kinds of problems: sample table, score and pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from qpsvm.data.training_sets import MulticlassTrainingSet
from qpsvm.kernels import Precomputed
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.samples import SampleTable
from qpsvm.numerics.arrays import Index, Vector, as_dense
from qpsvm.plotting import Complementarity, Picture, Plane
from qpsvm.plotting.complementarity import Condition
from qpsvm.reports.solved import SolvedProblem


@dataclass(frozen=True)
class Column:
    """A column of a report's sample table.

    Attributes
    ----------
    key : str
        Of the row in the JSON.
    title : str
    form : "text", "figure" or "residual"
        How its entries are written.
    """

    key: str
    title: str
    form: Literal["text", "figure", "residual"] = "figure"


SAMPLE, LABEL = Column("sample", "Sample"), Column("label", "Label", "text")
DECISION, MARGIN = Column("decision", "Decision value"), Column("margin", "Margin")
CONDITION = (
    Column("alpha", "alpha"),
    Column("C", "C"),
    Column("slack", "Slack"),
    Column("case", "Case", "text"),
    Column("violation", "Violation", "residual"),
)
"""What is common to all tables: the dual variable, its bound, and how the condition is met."""


ON_THE_LINE = 1.0 - 1e-6
"""Samples within a millionth of a margin are on it: a solver's noise must not move a count."""


class Kind(ABC):
    """A kind of problem, with its words, sample table, score and pictures.

    Attributes
    ----------
    name : str
        In the JSON.
    noun : str
        What a row of the sample table is.
    score_name : str
        What ``score`` is; empty without one.
    columns : tuple of Column
        Of the sample table.
    margin_decides : bool
        The sign of a row's margin is what the machine predicts.
    support_name : str
        What ``MarginSummary.n_support`` counts.
    """

    name: ClassVar[str]
    noun: ClassVar[str] = "sample"
    score_name: ClassVar[str] = ""
    columns: ClassVar[tuple[Column, ...]] = ()
    margin_decides: ClassVar[bool] = False
    support_name: ClassVar[str] = "Support vectors"

    def score(self, solved: SolvedProblem, table: SampleTable | None) -> float | None:
        """Score of the machine on its training samples; None if it is not known."""
        data = solved.data
        return None if table is None else float(data.score(table.decision, data.targets))

    def further_columns(self, solved: SolvedProblem) -> Mapping[str, Vector]:
        """Additional entries of the sample table's rows, by key."""
        del solved
        return {}

    def classes(self, solved: SolvedProblem) -> list[tuple[object, int]]:
        """Every class with its number of samples; empty if there are no classes."""
        del solved
        return []

    @abstractmethod
    def pictures(
        self, solved: SolvedProblem, table: SampleTable | None
    ) -> Iterator[Picture | None]:
        """Yield the pictures of a problem, None for any that cannot be drawn."""


# --- pictures that several kinds share -----------------------------------------------------------


def class_sizes(data: MulticlassTrainingSet) -> list[tuple[object, int]]:
    """Labels of several classes with their numbers of samples."""
    counts = np.bincount(data.codes, minlength=len(data.classes))
    return list(zip(data.classes.tolist(), counts.tolist(), strict=True))


def margin_of(solved: SolvedProblem) -> float:
    """The margin that every sample must reach, ``p - e t``."""
    c = solved.problem.model.conditions
    if c.minus_self_similarity:  # of a ball: p is k(x, x), which decision values have subtracted
        return 0.0
    return float(c.required[0] - c.width_sign * solved.solution.width)


def alpha_against(
    quantity: str, noun: str, solved: SolvedProblem, table: SampleTable
) -> Complementarity | None:
    """Picture of alpha against the value of each condition, for one-sided conditions."""
    scaled = scaled_alpha(table.alpha, solved.problem.model.conditions)
    y, variable, lower, upper, curvature = scaled
    finite = np.isfinite(table.margin) & np.isfinite(y)
    corner = margin_of(solved)
    if not finite.any() or not np.isfinite(corner):
        return None
    return Complementarity(
        heading=f"Alpha against {quantity.partition(' f(')[0].removesuffix(' y')}",
        x=table.margin[finite],
        y=y[finite],
        case=table.case[finite],
        conditions=(Condition(corner, lower, upper, curvature),),
        quantity=quantity,
        variable=variable,
        noun=noun,
        note=CURVATURE_NOTE * variable.endswith(" d"),
    )


CURVATURE_NOTE = "d is the curvature of a sample's loss."


def scaled_alpha(alpha: Vector, c: Conditions) -> tuple[Vector, str, float, float, float]:
    """Alpha in units that are comparable between samples; its name, bounds and curvature.

    Where C differs from sample to sample, shares of it; where the curvature d does, d alpha, which
    at the optimum is the violation itself.
    """
    d, box = c.curvature, c.upper
    if d.any() and np.ptp(d) > 0.0:
        return alpha * d, "alpha d", *_ends(c.lower * d, c.upper * d), 1.0
    if not d.any() and np.isfinite(box).all() and np.ptp(box) > 0.0:
        return alpha / box, "alpha / C", *_ends(c.lower / box, np.ones(len(c))), 0.0
    return alpha, "alpha", *_ends(c.lower, c.upper), float(d[0])


def _ends(lower: Vector, upper: Vector) -> tuple[float, float]:
    return float(lower[0]), float(upper[0])


def plane(
    solved: SolvedProblem,
    group: Index,
    groups: tuple[str, ...],
    case: Index,
    levels: tuple[float, ...],
) -> Plane | None:
    """Picture of the decision boundary of two-feature samples; None for other samples."""
    data, solution = solved.problem.data, solved.solution
    kernel = getattr(solved.problem, "kernel", None)
    if data.n_features != 2 or data.storage == "objects":
        return None
    if isinstance(kernel, Precomputed) or not predicts(solution):
        return None
    X = as_dense(data.X)
    features = data.feature_names or ("feature 0", "feature 1")
    return Plane(X, group, groups, case, solution.decision_function, levels, features)


def predicts(solution: Any) -> bool:
    """Return whether every machine of a solution has finite weights and intercepts."""
    for machine in getattr(solution, "solutions", (solution,)):
        weights = machine.expansion if machine.coef is None else machine.coef
        if weights is None or not np.isfinite(weights).all():
            return False
        if not np.isfinite(machine.intercept).all():
            return False
    return True
