"""A machine in a model file: the numbers of its solution, and of its training set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from qpsvm.data.training_sets import (
    BinaryTrainingSet,
    MulticlassTrainingSet,
    RegressionTrainingSet,
    TrainingSet,
)
from qpsvm.exceptions import ModelFileError
from qpsvm.formulations import Ranking
from qpsvm.formulations.family import Classifier
from qpsvm.formulations.ranking import RankedTrainingSet
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.machines import Interval, SVMProblem, SVMSolution
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.prediction import KernelMachine
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Array, Dense, Index, Matrix, Vector, freeze
from qpsvm.qp.solution import VECTORS, QPSolution, Status

Numbers: TypeAlias = Mapping[str, Array]
"""The arrays of a solution by the names of its fields; those of its program begin with ``qp_``."""

OF_SOLUTION = (
    "alpha",
    "expansion",
    "coef",
    "intercept",
    "intercept_interval",
    "width",
    "slack",
    "constraint_multipliers",
)
REPAIRED = "repaired_expansion"
"""Coefficients of the kernel as it is, where an indefinite one was repaired."""
FLOATS = (*OF_SOLUTION, REPAIRED, *(f"qp_{name}" for name in VECTORS))
INTEGERS = ("kept", "support")


@dataclass(frozen=True, eq=False)
class SavedMachine(KernelMachine):
    """Machine that predicts, with only the samples that its predictions need.

    Attributes
    ----------
    coef : array of shape (d,) or (k, d), or None
    expansion : array of shape (m,) or (m, k), or None
        Coefficients of the samples in ``data``.
    intercept : float, or array of shape (k,)
    width : float
    support : array of int
        Support vectors, as rows of the caller's X.
    kernel : Kernel
    data : TrainingSet
        The m samples that predictions or support vectors need. With a precomputed kernel all n,
        whose matrix is NaN: it is not in the file.
    qp : QPSolution
        Statistics; the status is unknown until the machine is verified.
    is_ball : bool
        The decision function subtracts ``k(x, x)``.
    is_repaired : bool
        The kernel was indefinite; the expansion is the one of the kernel as it is.
    repair : None
        Nothing is left to repair.
    """

    coef: Dense | None
    expansion: Dense | None
    intercept: Any
    width: float
    support: Index
    kernel: Kernel
    data: TrainingSet
    qp: QPSolution
    is_ball: bool = False
    is_repaired: bool = False
    repair: None = None

    @property
    def has_own_values(self) -> bool:
        return self.coef is not None or self.is_repaired

    @property
    def classes(self) -> Any:
        """The labels of a classifier, sorted."""
        return self.data.classes  # type: ignore[attr-defined]


# --- solution -> numbers -------------------------------------------------------------------------


def numbers_of(solution: SVMSolution | JointSolution) -> dict[str, Array]:
    """The numbers of a solution: its arrays, the rows it is about, its program's vectors."""
    stated = {name: getattr(solution, name, None) for name in OF_SOLUTION}
    stated |= {f"qp_{name}": getattr(solution.qp, name) for name in VECTORS}
    if solution.repair is not None and solution.expansion is not None:
        stated[REPAIRED] = solution.repair.coefficients(solution.expansion)
    numbers = {
        name: np.asarray(value, dtype=np.float64)
        for name, value in stated.items()
        if value is not None
    }
    numbers["kept"] = solution.data.kept.astype(np.int64)
    numbers["support"] = solution.support.astype(np.int64)
    return numbers


def weights_of(numbers: Numbers) -> Array | None:
    """The expansion that predicts; None for a machine with coef alone."""
    return numbers.get(REPAIRED, numbers.get("expansion"))


def needed_rows(numbers: Numbers, *, support: bool) -> Index:
    """Rows of the caller's X that a machine needs to predict.

    With ``support`` also the support vectors of a linear machine, which predicts with ``coef``.
    """
    weights = weights_of(numbers)
    rows = numbers["support"] if support else np.zeros(0, dtype=np.int64)
    if weights is not None and (support or "coef" not in numbers):
        rows = np.union1d(rows, numbers["kept"][np.unique(np.nonzero(weights)[0])])
    return np.unique(rows)


# --- numbers -> machine --------------------------------------------------------------------------


def unverified(qp: QPSolution) -> QPSolution:
    """Reset the status of a loaded program solution to unknown; keep its statistics."""
    return qp.replace(status=Status.UNKNOWN)


def machine_of(
    numbers: Numbers, qp: QPSolution, kernel: Kernel, whole: TrainingSet, *, is_ball: bool
) -> SavedMachine:
    """Build the machine that predicts with these numbers.

    Parameters
    ----------
    numbers : mapping
    qp : QPSolution
    kernel : Kernel
    whole : TrainingSet
        The samples in the file; for several machines those of all.
    is_ball : bool
        The decision function subtracts ``k(x, x)``.

    Raises
    ------
    ModelFileError
        The file lacks samples that the machine needs.
    """
    kept, weights = numbers["kept"], weights_of(numbers)
    data, rows = whole, np.flatnonzero(np.isin(whole.kept, kept))
    if len(rows) < whole.n_samples:
        X = unknown_matrix(len(rows)) if isinstance(kernel, Precomputed) else whole.X[rows]
        ones = freeze(np.ones(len(rows)))
        own = freeze(whole.kept[rows])
        data = TrainingSet(freeze(X), ones, own, whole.n_given, whole.feature_names)
    if weights is not None:
        used = np.isin(kept, data.kept)
        if "coef" not in numbers and weights[~used].any():
            raise ModelFileError("it lacks support vectors that the expansion has.")
        weights = weights[used]
    intercept = numbers["intercept"]
    return SavedMachine(
        coef=numbers.get("coef"),
        expansion=weights,
        intercept=intercept if intercept.ndim else float(intercept),
        width=float(numbers.get("width", 0.0)),
        support=numbers["support"],
        kernel=kernel,
        data=data,
        qp=unverified(qp),
        is_ball=is_ball,
        is_repaired=REPAIRED in numbers,
    )


def unknown_matrix(n: int) -> Matrix:
    """A read-only n x n matrix of NaN that takes no memory."""
    return np.broadcast_to(np.nan, (n, n))


# --- numbers -> solution -------------------------------------------------------------------------


def solution_of(problem: Any, numbers: Numbers, qp: QPSolution) -> SVMSolution | JointSolution:
    """Build the solution of a problem that these numbers claim."""
    model = problem.model
    vectors = {name: numbers.get(f"qp_{name}") for name in VECTORS}
    known = {
        "alpha": numbers["alpha"],
        "expansion": numbers.get("expansion"),
        "coef": numbers.get("coef"),
        "slack": numbers["slack"],
        "kernel": problem.kernel,
        "data": problem.data,
        "qp": unverified(qp).replace(**vectors),
        "repair": model.repair,
    }
    if not isinstance(problem, SVMProblem):
        return JointSolution(**known, intercept=numbers["intercept"], upper=model.box)
    lower, upper = numbers["intercept_interval"].tolist()
    return SVMSolution(
        **known,
        intercept=float(numbers["intercept"]),
        intercept_interval=Interval(lower, upper),
        width=float(numbers["width"]),
        constraint_multipliers=numbers["constraint_multipliers"],
        conditions=model.conditions,
    )


# --- the training set ---------------------------------------------------------------------------


def targets_of(data: TrainingSet) -> Array | None:
    """Targets of a training set, or places of its labels among the classes; None without any."""
    classes, values = getattr(data, "classes", None), getattr(data, "values", None)
    return values if classes is None else np.searchsorted(classes, data.targets).astype(np.int64)


def sample_weight_of(data: TrainingSet) -> Vector | None:
    """Sample weights of the caller's rows; None if all are 1."""
    if data.n_given == data.n_samples and (data.weights == 1.0).all():
        return None
    weights = np.zeros(data.n_given)
    weights[data.kept] = data.weights
    return weights


def training_set(
    formulation: object, targets: Array | None, classes: Labels | None, **samples: Any
) -> TrainingSet:
    """Build the training set of some samples, of the kind that a formulation has.

    Parameters
    ----------
    formulation : object
    targets : array of shape (m,) or None
        Targets of the samples, or places of their labels among the classes.
    classes : array of shape (k,) or None
    **samples
        The fields that every training set has.
    """
    if targets is None:
        return TrainingSet(**samples)
    if classes is None:
        values = freeze(targets)
        if isinstance(formulation, Ranking):
            pairs = freeze(np.zeros((0, 2), dtype=np.intp))
            return RankedTrainingSet(**samples, values=values, pairs=pairs)
        return RegressionTrainingSet(**samples, values=values)
    if isinstance(formulation, Classifier):
        signs = freeze(np.where(targets > 0, 1.0, -1.0))
        return BinaryTrainingSet(**samples, signs=signs, classes=classes)
    return MulticlassTrainingSet(**samples, codes=freeze(targets), classes=classes)
