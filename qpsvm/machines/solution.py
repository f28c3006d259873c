"""What a machine learned, in the words of the SVM: alpha, coef, intercept, slack."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.data.inputs import as_samples, feature_names
from qpsvm.data.training_sets import BinaryTrainingSet, TrainingSet
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.kernels.indefinite import KernelRepair
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.intercept import Interval
from qpsvm.qp._arrays import Index, Vector, freeze, restore_frozen, row_blocks
from qpsvm.qp.solution import QPSolution, Status

SUPPORT_RTOL = 1e-6
"""A sample supports the solution when ``alpha_i`` is above this share of ``alpha_unit``: an
interior-point solver leaves 1e-9 where the optimum has zero."""


@dataclass(frozen=True, eq=False)
class SVMSolution:
    """A support vector machine of any family with one decision function.

    The decision function is ``f(x) = coef'x + intercept`` for the linear kernel and
    ``f(x) = sum_i expansion_i k(x_i, x) + intercept`` for the others (``DataDescription``
    subtracts ``k(x, x)``).

    Attributes
    ----------
    alpha : array of shape (N,)
        Dual variables, one per condition: per training sample for classifiers, novelty detection
        and quantiles; ``(alpha, alpha*)`` of length 2n for the tube of a regression; one per pair
        for ``Ranking``.
    expansion : array of shape (n,) or None
        Coefficients of the kernel expansion: from a dual program ``s_i alpha_i`` (regression:
        ``alpha_i - alpha*_i``), the program's own ``beta`` from a kernel primal one; None when only
        ``coef`` exists.
    coef : array of shape (d,) or None
        w, for the linear kernel.
    intercept : float
    intercept_interval : Interval
        All intercepts that are equally good for these weights; more than a point when no support
        vector is free. ``intercept`` is the midpoint.
    width : float
        The half-width the program chose: rho of ``NuClassification``, epsilon of ``NuRegression``;
        0 for the others.
    slack : array of shape (N,)
        By how much each condition is missed: ``max(0, 1 - s_i f(x_i))`` for a classifier.
    constraint_multipliers : array of shape (m,)
        Of constraints on (w, b): inequalities (not negative), then equalities; else empty.
    conditions : Conditions
        What the training problem asks of the samples; its ``upper`` is the box ``C_i``.
    kernel : Kernel
    data : TrainingSet
    qp : QPSolution
        The solution of the program this came from.
    repair : KernelRepair or None
        How an indefinite kernel was made a kernel.
    """

    alpha: Vector
    expansion: Vector | None
    coef: Vector | None
    intercept: float
    intercept_interval: Interval
    width: float
    slack: Vector
    constraint_multipliers: Vector
    conditions: Conditions
    kernel: Kernel
    data: TrainingSet
    qp: QPSolution
    repair: KernelRepair | None = None

    def __post_init__(self) -> None:
        # one precision for everything: what is measured must be what predicts
        for name in ("alpha", "expansion", "coef", "slack", "constraint_multipliers"):
            object.__setattr__(self, name, _as_float64(getattr(self, name)))
        for name in ("intercept", "width"):
            object.__setattr__(self, name, _as_float(getattr(self, name)))
        bounds = [_as_float(end) for end in self.intercept_interval]
        object.__setattr__(self, "intercept_interval", Interval(*bounds))

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore_frozen(self, state)

    @property
    def status(self) -> Status:
        """Status of the program's solution; OPTIMAL only if the verifier said so."""
        return self.qp.status

    @property
    def upper(self) -> Vector:
        """Upper bounds of alpha, shape (N,): ``C_i``, infinite where there is none."""
        return self.conditions.upper

    @cached_property
    def support(self) -> Index:
        """Indices of the support vectors: samples with ``|alpha| > SUPPORT_RTOL * alpha_unit``."""
        used = np.abs(self.alpha) > support_threshold(self.alpha, self.conditions)
        samples = np.unique(self.conditions.rows[np.flatnonzero(used)].indices)
        return np.asarray(freeze(samples.astype(np.intp)))

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return len(self.support)

    @property
    def classes(self) -> Any:
        """The two labels of a classifier, (negative, positive)."""
        if not isinstance(self.data, BinaryTrainingSet):
            raise AttributeError("Only classifiers have classes.")
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
        samples = self._samples(X)
        if self.coef is not None:
            decision = np.asarray(samples @ self.coef)
        elif self.expansion is None:
            raise InvalidDataError("This solution has neither coef nor an expansion.")
        else:
            decision = self._expanded(samples)
        decision = decision + self.intercept
        return np.asarray(decision - self._self_similarity(samples))

    def _expanded(self, samples: Any) -> Vector:
        """``sum_i beta_i k(x_i, x)``."""
        assert self.expansion is not None
        beta = self.expansion if self.repair is None else self.repair.coefficients(self.expansion)
        if isinstance(self.kernel, Precomputed):
            return np.asarray(samples @ beta)
        used = np.flatnonzero(beta)
        centres, weights = self.data.X[used], beta[used]
        values = np.empty(samples.shape[0])
        for rows in row_blocks(samples.shape[0], max(1, len(used))):
            values[rows] = self.kernel(samples[rows], centres) @ weights
        return values

    def _self_similarity(self, samples: Any) -> Any:
        """``k(x, x)``, where the decision function subtracts it."""
        if not self.conditions.minus_self_similarity:
            return 0.0
        if isinstance(self.kernel, Precomputed):
            raise InvalidDataError(
                "The distance of a new sample from the centre needs k(x, x), which a precomputed "
                "kernel matrix does not hold; use decision_function(K) of OneClass, or a kernel "
                "function."
            )
        return self.kernel.diagonal(samples)

    def predict(self, X: Any) -> Any:
        """What the decision values predict, shape (m,).

        The caller's own labels for a classifier, the values themselves for a regression and a
        ranking, +1 (inside) or -1 (outside) for novelty detection.
        """
        return self.data.predictions(self.decision_function(X))

    def score(self, X: Any, y: Any) -> float:
        """How good the predictions for X are: share of right labels, or ``R^2`` for a regression.

        Raises
        ------
        InvalidDataError
            As ``decision_function``; or y has not one label per row.
        """
        return self.data.score(self.decision_function(X), y)

    def replace(self, **changes: Any) -> SVMSolution:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def _samples(self, X: Any) -> Any:
        """X checked, with the columns of the training data."""
        samples = as_samples(X)
        data = self.data
        if isinstance(self.kernel, Precomputed) and samples.shape[1] == data.n_given:
            # rows of weight zero have left the training data
            samples = samples if data.n_given == data.n_samples else samples[:, data.kept]
        if samples.shape[1] != data.n_features:
            raise InvalidDataError(
                f"X has {samples.shape[1]} columns, the model was trained on {data.n_features}."
            )
        names = feature_names(X)
        trained = self.data.feature_names
        if names is not None and trained is not None and names != trained:
            first = next(i for i, (a, b) in enumerate(zip(names, trained, strict=True)) if a != b)
            raise InvalidDataError(
                f"X column {first} is {names[first]!r}, the model was trained with "
                f"{trained[first]!r} there; reorder the columns: X[{list(trained[:3])} ...]."
            )
        return samples

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


def alpha_unit(alpha: Vector, conditions: Conditions) -> Vector:
    """What an alpha is measured in, shape (N,): its box, or the largest alpha where that is less.

    With a generous C no alpha comes near it, and a share of C would say nothing.
    """
    largest = float(np.fmax.reduce(np.abs(alpha), initial=np.finfo(float).tiny))  # passes over NaN
    box = np.maximum(np.abs(conditions.lower), np.abs(conditions.upper))
    return np.minimum(box, largest)


def support_threshold(alpha: Vector, conditions: Conditions) -> Vector:
    """The ``|alpha|`` above which a sample counts as a support vector, shape (N,)."""
    return SUPPORT_RTOL * alpha_unit(alpha, conditions)
