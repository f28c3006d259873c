"""Intervals for the exact optimum's decision values, and the labels that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.certificates.optimum import NORM_ROUNDING, Optimum, distances
from qpsvm.certificates.rigorous import decision_enclosure, feature_norms
from qpsvm.data.training_sets import RegressionTrainingSet
from qpsvm.display import Column, Table
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.machines.joint.model import JointModel
from qpsvm.machines.model import SupportVectorModel
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Array, Dense, Mask, Vector, freeze, stored
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.single_precision import Stored

if TYPE_CHECKING:
    from qpsvm.data.training_sets import TrainingSet
    from qpsvm.machines.verifiable import VerifiableModel


@dataclass(frozen=True, eq=False, repr=False)
class DecisionBounds(Table):
    """Bounds on decision values, ``lower <= f*(x) <= upper`` for every exact optimum f*.

    Attributes
    ----------
    values : array of shape (m,), or (m, k) with one decision function per class
        What this machine says.
    lower, upper : arrays of that shape
    """

    values: Dense
    lower: Dense
    upper: Dense

    def __post_init__(self) -> None:
        for name in ("values", "lower", "upper"):
            object.__setattr__(self, name, freeze(np.asarray(getattr(self, name), np.float64)))

    @classmethod
    def side_by_side(cls, bounds: Sequence[DecisionBounds]) -> DecisionBounds:
        """Collect the bounds of k decision functions, shape (m, k)."""
        return cls(
            np.column_stack([each.values for each in bounds]),
            np.column_stack([each.lower for each in bounds]),
            np.column_stack([each.upper for each in bounds]),
        )

    def __len__(self) -> int:
        return len(self.values)

    def columns(self) -> dict[str, Column]:
        """Columns value, lower and upper, numbered if there are several decision functions."""
        names = ("values", "lower", "upper")
        if self.values.ndim == 1:
            return {name: getattr(self, name) for name in names}
        return {
            f"{name}_{k}": getattr(self, name)[:, k]
            for k in range(self.values.shape[1])
            for name in names
        }


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedPredictions(Table):
    """Labels, with a mark for those proven to be the exact optimum's.

    Attributes
    ----------
    labels : array of shape (m,)
        What this machine predicts.
    decided : array of bool of shape (m,)
        True: every exact optimum predicts the same. False: undecided at this accuracy.
    """

    labels: Array
    decided: Mask

    @property
    def fraction_decided(self) -> float:
        """Share of the labels that are proven; 1 if there are no samples."""
        return float(np.mean(self.decided)) if len(self.decided) else 1.0

    def to_list(self, undecided: object = "undecided") -> list[object]:
        """The labels in plain Python types, with ``undecided`` for those not proven."""
        pairs = zip(self.labels.tolist(), self.decided.tolist(), strict=True)
        return [label if decided else undecided for label, decided in pairs]

    def __len__(self) -> int:
        return len(self.labels)

    def columns(self) -> dict[str, Column]:
        """The labels, and a flag for each that is proven."""
        return {"label": self.labels, "decided": self.decided}

    def __repr__(self) -> str:
        return (
            f"CertifiedPredictions({len(self)} samples, {int(np.count_nonzero(self.decided))} "
            "proven to be the exact optimum's; .to_frame() has all)"
        )


def decision_bounds(
    model: VerifiableModel[Any, Any, Any],
    solution: Any,
    radius: float,
    optimum: Optimum | None,
    X: Samples,
    squares: ArrayLike | None = None,
) -> DecisionBounds:
    """Bound the optimum's decision values; see ``Certificate.decision_bounds``.

    ``radius`` is that of the ball that contains the optimal weights, ``optimum`` what else is known
    of a machine with one decision function.
    """
    if model.repair is not None:
        raise InvalidParameterError(
            "Bounds on decision values need k(x, x), which is not known for a repaired indefinite "
            "kernel; use a positive semidefinite kernel."
        )
    samples = solution.checked_samples(X)
    own = own_squares(model.kernel, samples, squares)
    given = own if isinstance(model.kernel, Precomputed) else None
    values, errors = decision_enclosure(solution, X, given)
    with np.errstate(all="ignore"):
        if optimum is not None and isinstance(model, SupportVectorModel):
            reach = NORM_ROUNDING * (
                radius * distances(model, optimum.centre, samples, own) + errors
            )
            lower = values - reach + optimum.shift.lower
            upper = values + reach + optimum.shift.upper
        else:
            constant = model.constant if isinstance(model, JointModel) else 0.0
            norms = np.sqrt(own + constant + 2.0 * model.negative_bound)
            reach = NORM_ROUNDING * (radius * norms[:, None] + errors)
            lower, upper = values - reach, values + reach
        pad = 4.0 * EPS * (np.abs(values) + reach)
    return DecisionBounds(
        values,
        np.where(np.isnan(lower), -np.inf, lower - pad),
        np.where(np.isnan(upper), np.inf, upper + pad),
    )


def certified(data: TrainingSet, bounds: DecisionBounds) -> CertifiedPredictions:
    """Labels, with a mark for those constant over all decision values within the bounds.

    Raises
    ------
    InvalidParameterError
        The machine predicts numbers, not labels.
    """
    if isinstance(data, RegressionTrainingSet):
        raise InvalidParameterError(
            "predict_certified is about labels, and this machine predicts numbers; use "
            "decision_bounds(X)."
        )
    lower, upper = bounds.lower, bounds.upper
    labels = np.asarray(data.predictions(bounds.values))
    if bounds.values.ndim == 1:
        decided = np.isfinite(lower) & np.isfinite(upper)
        for end in (lower, upper):  # an intercept that is far off leaves its value outside of both
            decided &= np.asarray(data.predictions(end)) == labels
        return CertifiedPredictions(freeze(labels), freeze(decided))
    return CertifiedPredictions(freeze(labels), freeze(wins(bounds.values, lower, upper)))


def wins(values: Dense, lower: Dense, upper: Dense) -> Mask:
    """Return whether each row's largest value stays the largest within the bounds, shape (m,)."""
    rows, winner = np.arange(len(values)), np.argmax(values, axis=1)
    others = upper.copy()
    others[rows, winner] = -np.inf
    return np.asarray(lower[rows, winner] > np.max(others, axis=1, initial=-np.inf))


def own_squares(kernel: Kernel, samples: Stored, given: ArrayLike | None = None) -> Vector:
    """Upper bounds of ``k(x, x)`` for every row.

    Raises
    ------
    InvalidDataError
        A precomputed kernel, and no numbers are given.
    """
    if not isinstance(kernel, Precomputed):
        return NORM_ROUNDING * feature_norms(kernel, samples) ** 2
    values = None if given is None else stored(given, "squares", InvalidDataError)
    if values is None or values.shape != (samples.shape[0],) or not np.isfinite(values).all():
        raise InvalidDataError(
            "Bounds on decision values need k(x, x), which a precomputed kernel matrix does not "
            f"hold: pass squares=, one finite number for each of the {samples.shape[0]} rows of X."
        )
    return values
