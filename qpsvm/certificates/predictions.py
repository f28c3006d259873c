"""Intervals for the exact optimum's decision values, and the labels that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.certificates.optimum import OptimumBounds, distances
from qpsvm.certificates.rigorous import decision_enclosure, feature_norms
from qpsvm.data.training_sets import RegressionTrainingSet
from qpsvm.display import Column, ColumnTable
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.machines.intercept import Interval
from qpsvm.machines.prediction import BaseMachine
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Array, Dense, Mask, Vector, freeze, stored
from qpsvm.numerics.balls import SUM_ROUNDING
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.single_precision import Stored


@dataclass(frozen=True, eq=False, repr=False)
class DecisionBounds(ColumnTable):
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

    def divided(self, divisor: float, optimum: Interval) -> DecisionBounds:
        """Bounds on ``f*(x) / t*`` for a positive t* in an interval; ``divisor`` is this machine's.

        Nothing is known where the interval does not exclude zero.
        """
        if not optimum.lower > 0.0:
            unknown = np.full(self.values.shape, np.inf)
            return DecisionBounds(self.values, -unknown, unknown)
        with np.errstate(all="ignore"):
            low, high = (
                (end / optimum.lower, end / optimum.upper) for end in (self.lower, self.upper)
            )
            return DecisionBounds(
                self.values / divisor,
                np.nextafter(np.minimum(*low), -np.inf),
                np.nextafter(np.maximum(*high), np.inf),
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
class CertifiedPredictions(ColumnTable):
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
    model: Any,
    solution: Any,
    radius: float,
    optimum: OptimumBounds | None,
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
        # a ball with a given matrix does not predict: it lacks k(x, x)
        said = values if given is not None and solution.is_ball else solution.decision_function(X)
        errors = 2.0 * errors  # sums are rounded in another order in every batch of samples
        if optimum is not None:
            distance = distances(model, optimum.centre, samples, own)
            bound = SUM_ROUNDING * (radius * distance + errors)
            lower = values - bound + optimum.shift.lower
            upper = values + bound + optimum.shift.upper
        else:
            norms = np.sqrt(own + model.constant + 2.0 * model.negative_bound)
            bound = SUM_ROUNDING * (radius * norms[:, None] + errors)
            lower, upper = values - bound, values + bound
        pad = 4.0 * EPS * (np.abs(values) + bound)
    return DecisionBounds(
        said,
        np.where(np.isnan(lower), -np.inf, lower - pad),
        np.where(np.isnan(upper), np.inf, upper + pad),
    )


def certified(
    machine: BaseMachine, bounds: DecisionBounds, labels: Array | None = None
) -> CertifiedPredictions:
    """Mark the labels that are the same for all decision values within the bounds.

    Parameters
    ----------
    machine : BaseMachine
        By whose rule decision values become labels.
    bounds : DecisionBounds
        Bounds of values of which the largest wins, or whose sign decides. A sign is decided beyond
        twice ``machine.zero_below``: an optimum's own tolerance may be larger.
    labels : array of shape (m,), optional
        What is predicted; by default ``machine.predictions(bounds.values)``.

    Raises
    ------
    InvalidParameterError
        The machine predicts numbers, not labels.
    """
    if isinstance(machine.data, RegressionTrainingSet):
        raise InvalidParameterError(
            "predict_certified is about labels, and this machine predicts numbers; use "
            "decision_bounds(X)."
        )
    lower, upper = bounds.lower, bounds.upper
    own = np.asarray(machine.predictions(bounds.values))
    labels = own if labels is None else np.asarray(labels)
    if bounds.values.ndim == 1:
        zero = 2.0 * machine.zero_below
        decided = np.isfinite(lower) & np.isfinite(upper) & ((lower > zero) | (upper < -zero))
        for end in (lower, upper):  # an intercept that is far off leaves its value outside of both
            decided &= np.asarray(machine.predictions(end)) == labels
    else:
        decided = wins(bounds.values, lower, upper) & (labels == own)
    return CertifiedPredictions(freeze(labels), freeze(decided))


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
        return SUM_ROUNDING * feature_norms(kernel, samples) ** 2
    values = None if given is None else stored(given, "squares", InvalidDataError)
    if values is None or values.shape != (samples.shape[0],) or not np.isfinite(values).all():
        raise InvalidDataError(
            "Bounds on decision values need k(x, x), which a precomputed kernel matrix does not "
            f"hold: pass squares=, one finite number for each of the {samples.shape[0]} rows of X."
        )
    return values
