"""Kinds of problems as data: words, columns of the sample table, score and pictures of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
from qpsvm.machines.problem import TrainingProblem
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.machines.samples import SampleTable
from qpsvm.numerics.arrays import Vector
from qpsvm.plotting import Picture
from qpsvm.reports import kind_pictures
from qpsvm.reports.blocks import Cell
from qpsvm.reports.columns import TableColumn, cells, words
from qpsvm.reports.numbers import figure, residual, value

Row: TypeAlias = Mapping[str, object]
"""A row of a report's sample table, by the keys of the JSON."""


def _text(key: str, title: str) -> TableColumn[Row]:
    return words(title, lambda row: value(row[key]))


def _number(key: str, title: str, written: Callable[[float], str] = figure) -> TableColumn[Row]:
    def entry(row: Row) -> Cell:
        found = row[key]
        if isinstance(found, float):
            return Cell(written(found), found)
        return Cell(str(found), found) if isinstance(found, int) else Cell(value(found))

    return cells(title, entry, numeric=True)


SAMPLE, LABEL = _number("sample", "Sample"), _text("label", "Label")
DECISION, MARGIN = _number("decision", "Decision value"), _number("margin", "Margin")
CONDITION = (
    _number("alpha", "alpha"),
    _number("C", "C"),
    _number("slack", "Slack"),
    _text("case", "Case"),
    _number("violation", "Violation", residual),
)
"""What is common to all tables: the dual variable, its bound, and how the condition is met."""


@dataclass(frozen=True)
class Kind:
    """A kind of problem, with its words, sample table, score and pictures.

    Attributes
    ----------
    name : str
        In the JSON.
    pictures : callable
        From a problem, its solution and its verdict to pictures; None for those that cannot be
        drawn.
    score : callable
        From the same three to the score of the machine on its training samples, or None.
    score_name : str
        What ``score`` is; empty without one.
    noun : str
        What a row of the sample table is.
    columns : tuple of TableColumn
        Of the sample table; empty without one.
    further_columns : callable
        From a problem and its sample table to additional entries of the rows, by key.
    margin_decides : bool
        The sign of a row's margin is what the machine predicts.
    support_name : str
        What ``MarginSummary.n_support`` counts.
    """

    name: str
    pictures: Callable[[Any, Any, Any], Iterable[Picture | None]]
    score: Callable[[Any, Any, Any], float | None]
    score_name: str = ""
    noun: str = "sample"
    columns: tuple[TableColumn[Row], ...] = ()
    further_columns: Callable[[Any, SampleTable], Mapping[str, Vector]] = lambda _p, _t: {}
    margin_decides: bool = False
    support_name: str = "Support vectors"


def class_sizes(data: object) -> list[tuple[object, int]]:
    """Every class with its number of samples; empty if there are no classes."""
    if isinstance(data, MulticlassTrainingSet):
        codes = data.codes
    elif isinstance(data, BinaryTrainingSet):
        codes = (data.signs > 0.0).astype(np.intp)
    else:
        return []
    counts = np.bincount(codes, minlength=len(data.classes))
    return list(zip(data.classes.tolist(), counts.tolist(), strict=True))


# --- scores --------------------------------------------------------------------------------------


def _of_samples(problem: Any, _solution: Any, verified: Any) -> float:
    data = problem.data  # a tube has two rows per sample
    return float(data.score(verified.samples.decision[: data.n_samples], data.targets))


def _of_one_program(problem: Any, _solution: Any, verified: Any) -> float:
    data, shape = problem.data, problem.model.own.shape
    return float(data.score(verified.samples.decision.reshape(shape), data.targets))


def _of_machines(problem: Any, solution: Any, _verified: Any) -> float | None:
    try:
        return float(solution.score(problem.data.X, problem.data.targets))
    except (QPSVMError, ValueError, AttributeError):
        return None  # not a machine that predicts


def _share_inside(problem: Any, _solution: Any, verified: Any) -> float:
    return float(np.mean(kind_pictures.is_inside(problem, verified.samples)))


def _share_in_order(_problem: Any, _solution: Any, verified: Any) -> float:
    return float(np.mean(verified.samples.margin > 0.0))


# --- further entries of rows ---------------------------------------------------------------------


def _sides(problem: Any, _table: SampleTable) -> Mapping[str, Vector]:
    signs = problem.model.conditions.signs
    if (signs > 0.0).all():
        return {"side": np.full(len(signs), "either")}
    return {"side": np.where(signs > 0.0, "above", "below")}


def _pairs(problem: Any, table: SampleTable) -> Mapping[str, Vector]:
    data = problem.data
    better, worse = data.pairs.T
    # the table is about the sample that comes first: f(better) = f(worse) + margin
    decision = table.decision + np.where(better < worse, 0.0, table.margin)
    return {
        "sample": data.kept[better],
        "over": data.kept[worse],
        "label": data.values[better],
        "decision": decision,
    }


# --- the kinds -----------------------------------------------------------------------------------

PROGRAM = Kind("program", kind_pictures.program, lambda _p, _s, _v: None)
REDUCED = Kind("reduced", kind_pictures.reduced, _of_machines, "training accuracy")

# the first that fits: a ranked training set is one of a regression, too
_BY_DATA: Mapping[type[TrainingSet], Kind] = {
    RankedTrainingSet: Kind(
        "ranking",
        kind_pictures.ranking,
        _share_in_order,
        "share of pairs in order",
        noun="pair",
        columns=(
            SAMPLE,
            _number("over", "Over sample"),
            _text("label", "Relevance"),
            _number("margin", "f(x) ahead by"),
            *CONDITION,
        ),
        further_columns=_pairs,
        margin_decides=True,
        support_name="Active pairs",
    ),
    # a tube has two rows per sample (target above, target below), a quantile one
    RegressionTrainingSet: Kind(
        "regression",
        kind_pictures.regression,
        _of_samples,
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
        kind_pictures.multiclass,
        _of_one_program,
        "training accuracy",
        noun="row",
        columns=(
            SAMPLE,
            LABEL,
            _text("against", "Against"),
            DECISION,
            MARGIN,
            *CONDITION,
        ),
    ),
    BinaryTrainingSet: Kind(
        "two-class",
        kind_pictures.two_class,
        _of_samples,
        "training accuracy",
        columns=(SAMPLE, LABEL, DECISION, MARGIN, *CONDITION),
        margin_decides=True,
    ),
    TrainingSet: Kind(
        "novelty",
        kind_pictures.novelty,
        _share_inside,
        "share of the training samples inside or on the boundary",
        columns=(SAMPLE, DECISION, *CONDITION),
        margin_decides=True,
    ),
}


def kind_of(problem: object) -> Kind:
    """Return the kind of a problem."""
    if isinstance(problem, ReducedProblem):
        return REDUCED
    if not isinstance(problem, TrainingProblem):
        return PROGRAM
    return next(kind for data, kind in _BY_DATA.items() if isinstance(problem.data, data))
