"""Kinds of problems: one module per kind with its words, tables and pictures."""

from __future__ import annotations

from qpsvm.data import (
    BinaryTrainingSet,
    MulticlassTrainingSet,
    RegressionTrainingSet,
    TrainingSet,
)
from qpsvm.formulations.ranking import RankedTrainingSet
from qpsvm.machines.problem import TrainingProblem
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.reports.kinds.base import Column, Kind
from qpsvm.reports.kinds.joint import Joint
from qpsvm.reports.kinds.novelty import Novelty
from qpsvm.reports.kinds.program import Program
from qpsvm.reports.kinds.ranking import Ranks
from qpsvm.reports.kinds.reduced import Reduced
from qpsvm.reports.kinds.regression import Regression
from qpsvm.reports.kinds.two_class import TwoClass

__all__ = ["Column", "Kind", "kind_of"]

# the first that fits: a ranked training set is one of a regression, too
_BY_DATA: tuple[tuple[type[TrainingSet], type[Kind]], ...] = (
    (RankedTrainingSet, Ranks),
    (RegressionTrainingSet, Regression),
    (MulticlassTrainingSet, Joint),
    (BinaryTrainingSet, TwoClass),
    (TrainingSet, Novelty),
)


def kind_of(problem: object) -> Kind:
    """Return the kind of a problem."""
    if isinstance(problem, ReducedProblem):
        return Reduced()
    if not isinstance(problem, TrainingProblem):
        return Program()
    return next(kind for data, kind in _BY_DATA if isinstance(problem.data, data))()
