"""What a classifier learned, in the words of the SVM: alpha, coef, intercept, slack."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidDataError
from qpsvm.formulations.data import BinaryTrainingSet, as_samples, feature_names
from qpsvm.formulations.intercept import Interval
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.qp._arrays import Index, Vector, freeze, restore_frozen, row_blocks
from qpsvm.qp.solution import QPSolution, Status

SUPPORT_RTOL = 1e-6
"""A sample supports the solution when ``alpha_i`` is above this share of ``alpha_unit``: an
interior-point solver leaves 1e-9 where the optimum has zero."""


@dataclass(frozen=True, eq=False)
class SVMSolution:
    """A two-class support vector machine.

    The decision function is ``f(x) = coef'x + intercept`` for the linear kernel and
    ``f(x) = sum_i expansion_i k(x_i, x) + intercept`` for the others.

    Attributes
    ----------
    alpha : array of shape (n,)
        Dual variables, one per training sample.
    expansion : array of shape (n,) or None
        Coefficients of the kernel expansion: ``s_i alpha_i`` from a dual program, the program's
        own ``beta`` from a kernel primal one; None when only ``coef`` exists.
    coef : array of shape (d,) or None
        w, for the linear kernel.
    intercept : float
    intercept_interval : Interval
        All intercepts that are equally good for these weights; more than a point when no support
        vector is free. ``intercept`` is the midpoint.
    slack : array of shape (n,)
        ``max(0, 1 - s_i f(x_i))``.
    upper : array of shape (n,)
        The box ``C_i`` (infinite for a hard margin).
    kernel : Kernel
    data : BinaryTrainingSet
    qp : QPSolution
        The solution of the program this came from.
    """

    alpha: Vector
    expansion: Vector | None
    coef: Vector | None
    intercept: float
    intercept_interval: Interval
    slack: Vector
    upper: Vector
    kernel: Kernel
    data: BinaryTrainingSet
    qp: QPSolution

    def __post_init__(self) -> None:
        # one precision for everything: what is measured must be what predicts
        for name in ("alpha", "expansion", "coef", "slack", "upper"):
            object.__setattr__(self, name, _as_float64(getattr(self, name)))
        object.__setattr__(self, "intercept", _as_float(self.intercept))
        bounds = [_as_float(end) for end in self.intercept_interval]
        object.__setattr__(self, "intercept_interval", Interval(*bounds))

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore_frozen(self, state)

    @property
    def status(self) -> Status:
        """Status of the program's solution; OPTIMAL only if the verifier said so."""
        return self.qp.status

    @cached_property
    def support(self) -> Index:
        """Indices of the support vectors: ``alpha_i > SUPPORT_RTOL * alpha_unit``."""
        indices = np.flatnonzero(self.alpha > support_threshold(self.alpha, self.upper))
        return np.asarray(freeze(indices))

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return len(self.support)

    @property
    def classes(self) -> Any:
        """The two labels, (negative, positive)."""
        return self.data.classes

    def decision_function(self, X: Any) -> Vector:
        """``f(x)`` for every row of X; positive means the second class.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (m, d)
            With a precomputed kernel: the kernel between m new and the n training samples.

        Returns
        -------
        array of shape (m,)

        Raises
        ------
        InvalidDataError
            Another number of columns than in training, other column names, NaN.
        """
        samples = as_samples(X)
        self._require_same_features(X, samples)
        if self.coef is not None:
            return np.asarray(samples @ self.coef) + self.intercept
        if self.expansion is None:
            raise InvalidDataError("This solution has neither coef nor an expansion.")
        if isinstance(self.kernel, Precomputed):
            return np.asarray(samples @ self.expansion) + self.intercept
        used = np.flatnonzero(self.expansion)
        centres, weights = self.data.X[used], self.expansion[used]
        decision = np.empty(samples.shape[0])
        for rows in row_blocks(samples.shape[0], max(1, len(used))):
            decision[rows] = self.kernel(samples[rows], centres) @ weights
        return decision + self.intercept

    def predict(self, X: Any) -> Any:
        """The label of every row of X, as the caller's own labels; shape (m,)."""
        return self.data.labels(self.decision_function(X))

    def score(self, X: Any, y: Any) -> float:
        """Fraction of rows of X whose predicted label equals y.

        Raises
        ------
        InvalidDataError
            As ``decision_function``; or y has not one label per row.
        """
        predicted = self.predict(X)
        labels = np.asarray(y)
        if labels.shape not in (predicted.shape, (len(predicted), 1)):
            raise InvalidDataError(
                f"y has shape {labels.shape} for {len(predicted)} rows of X; pass one label a row."
            )
        return float(np.mean(predicted == labels.ravel()))

    def replace(self, **changes: Any) -> SVMSolution:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def _require_same_features(self, X: Any, samples: Any) -> None:
        expected = self.data.n_features
        if samples.shape[1] != expected:
            raise InvalidDataError(
                f"X has {samples.shape[1]} columns, the model was trained on {expected}."
            )
        names = feature_names(X)
        trained = self.data.feature_names
        if names is not None and trained is not None and names != trained:
            first = next(i for i, (a, b) in enumerate(zip(names, trained, strict=True)) if a != b)
            raise InvalidDataError(
                f"X column {first} is {names[first]!r}, the model was trained with "
                f"{trained[first]!r} there; reorder the columns: X[{list(trained[:3])} ...]."
            )

    def __repr__(self) -> str:
        kind = "sparse" if sp.issparse(self.data.X) else "dense"
        return (
            f"SVMSolution({self.status.value}, {self.n_support} of {self.data.n_samples} support "
            f"vectors, {self.kernel} kernel, {kind} data)"
        )


def _as_float64(vector: Any) -> Any:
    """A read-only float64 array; complex numbers become NaN, which no verifier passes."""
    if vector is None:
        return None
    if np.iscomplexobj(vector):
        vector = np.full(np.shape(vector), np.nan)
    array = np.asarray(vector, dtype=np.float64)
    return array if not array.flags.writeable else freeze(array.copy())


def _as_float(number: Any) -> float:
    """A float; whatever is not one real number becomes NaN."""
    if number is None or np.ndim(number) != 0 or np.iscomplexobj(number):
        return math.nan
    return float(number)


def alpha_unit(alpha: Vector, upper: Vector) -> Vector:
    """What an alpha is measured in, shape (n,): its box, or the largest alpha where that is less.

    With a generous C no alpha comes near it, and a share of C would say nothing.
    """
    largest = float(np.fmax.reduce(alpha, initial=np.finfo(float).tiny))  # passes over NaN
    return np.minimum(upper, largest)


def support_threshold(alpha: Vector, upper: Vector) -> Vector:
    """The alpha above which a sample counts as a support vector, shape (n,)."""
    return SUPPORT_RTOL * alpha_unit(alpha, upper)
