"""Prediction: from parameters to decision values, and from decision values to labels.

A row of the sums ``sum_i beta_i k(x_i, x)`` of decision functions has the same bits whether it is
asked for alone or among others: products are added up in one order (``native.products_by_row``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from qpsvm.data.objects import as_objects
from qpsvm.data.samples import as_samples, feature_names
from qpsvm.data.training_sets import TrainingSet
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.machines.settings import MACHINES
from qpsvm.native import products_by_row
from qpsvm.numerics.arguments import Samples, Targets
from qpsvm.numerics.arrays import Array, Dense, Index, Vector, is_sparse, restore_frozen, stored
from qpsvm.numerics.single_precision import Stored
from qpsvm.numerics.threads import for_each, kernel_blocks, one_blas_thread
from qpsvm.qp.sample_gram import products_elsewhere
from qpsvm.qp.solution import QPSolution, Status


class KernelSums:
    """The function ``sum_i beta_i k(x_i, x)``, prepared once for training samples and coefficients.

    Parameters
    ----------
    kernel : Kernel
    X : array, CSR matrix or objects of shape (n, ...)
    beta : array of shape (n,), or (n, p) for p sums over the same kernel values
    """

    def __init__(self, kernel: Kernel, X: Stored, beta: Dense) -> None:
        used: Index = np.flatnonzero(beta if beta.ndim == 1 else beta.any(axis=1))
        self.kernel, self.columns = kernel, len(used)
        self.shape = beta.shape[1:]
        weights = beta[used] if beta.ndim > 1 else beta[used, None]
        self._weights = np.ascontiguousarray(weights)
        self._centres = X[used]
        self._values = kernel.beside(self._centres)

    def __call__(self, samples: Stored) -> Dense:
        """Evaluate the sums for every row of samples, shape (m,) or (m, p)."""
        m, elsewhere = samples.shape[0], products_elsewhere()
        if elsewhere is not None and self.columns and m:
            found = elsewhere.expansion(self.kernel, samples, self._centres, self._weights)
            if found is not None:
                return found.reshape(m, *self.shape)
        values = np.empty((m, self._weights.shape[1]))

        def evaluate(rows: slice) -> None:
            products_by_row(self._values(samples[rows]), self._weights, values[rows])

        blocks = kernel_blocks(m, max(1, self.columns))
        if self.kernel.runs_in_threads and len(blocks) > 1:
            with one_blas_thread():
                for_each(evaluate, blocks)
        else:
            for rows in blocks:
                evaluate(rows)
        return values.reshape(m, *self.shape)


def linear_values(samples: Stored, coef: Dense) -> Dense:
    """``w'x`` for every row x of samples, shape (m,), or (m, k) for weights of shape (k, d)."""
    if is_sparse(samples):
        return np.asarray(samples @ coef.T)
    weights = np.ascontiguousarray(np.atleast_2d(coef).T)
    rows = np.ascontiguousarray(samples, dtype=np.float64)
    return products_by_row(rows, weights).reshape(len(rows), *coef.shape[:-1])


class BaseMachine(ABC):
    """Base class of machines with decision values; their training data turn these into predictions.

    Attributes
    ----------
    data : TrainingSet
    """

    data: TrainingSet

    @property
    def zero_below(self) -> float:
        """Size up to which a decision value counts as zero: on the boundary, which is inside.

        Zero unless the training data have no labels.
        """
        return 0.0

    @abstractmethod
    def decision_function(self, X: Samples) -> Dense:
        """The decision values of every row of X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (m, d)
            With a precomputed kernel: the kernel between m new and the n training samples.

        Returns
        -------
        array of shape (m,), or (m, k) with one value per class

        Raises
        ------
        InvalidDataError
            Another number of columns than in training, other column names, NaN.
        """

    def checked_values(self, samples: Stored) -> Dense:
        """``f(x)`` for every row x of samples, without a check of their columns and storage."""
        return self.decision_function(samples)

    def predict(self, X: Samples) -> Array:
        """Predict a label or number for every row of X, shape (m,); see ``predictions``."""
        return self.predictions(self.decision_function(X))

    def predictions(self, decision: Dense) -> Array:
        """Convert decision values to predicted labels or numbers, shape (m,).

        By ``data.predictions``; a value that counts as zero (``zero_below``) is not negative. Every
        prediction of a machine follows this rule.
        """
        return self.data.predictions(np.asarray(decision) + self.zero_below)

    def score(self, X: Samples, y: Targets) -> float:
        """Score the predictions for X against y, by ``data.score``.

        Raises
        ------
        InvalidDataError
            As ``decision_function``; or y has not one label per row.
        """
        return self.data.score(self.decision_function(X) + self.zero_below, y)

    def replace(self, **changes: object) -> Self:
        """A copy with some fields changed."""
        return replace(self, **changes)  # type: ignore[type-var]


class KernelMachine(BaseMachine):
    r"""A machine whose parameters come from a quadratic program.

    :math:`f(x) = \mathrm{coef}^\top x + \mathrm{intercept}` for the linear kernel, and :math:`f(x)
    = \sum_i \mathrm{expansion}_i k(x_i, x) + \mathrm{intercept}` for the others; with a row of coef
    and a column of expansion for every class if there are several decision functions.
    """

    coef: Dense | None
    expansion: Dense | None
    intercept: Any
    kernel: Kernel
    qp: QPSolution
    repair: KernelRepair | None

    __setstate__ = restore_frozen

    @property
    def status(self) -> Status:
        """Status of the program's solution; OPTIMAL only after verification."""
        return self.qp.status if isinstance(self.qp, QPSolution) else Status.UNKNOWN

    @property
    def is_ball(self) -> bool:
        """Return whether ``k(x, x)`` is subtracted from decision values (``DataDescription``)."""
        return False

    @cached_property
    def zero_below(self) -> float:
        is_repaired = self.coef is None and self.has_own_values
        if type(self.data) is not TrainingSet or (self.is_ball and is_repaired):
            return 0.0
        offset = squared_radius(self) if self.is_ball else self.intercept
        return MACHINES.on_boundary * abs(float(offset))

    @property
    def has_own_values(self) -> bool:
        """Return whether kernel values of other machines are of no use: weights, or a repair."""
        return self.coef is not None or self.repair is not None

    def decision_function(self, X: Samples) -> Dense:
        return np.asarray(self._values(self.checked_samples(X)))

    def checked_values(self, samples: Stored) -> Dense:
        is_linear = self.coef is not None and not self.is_ball
        return self._values(samples) if is_linear else self.decision_function(samples)

    def _values(self, samples: Stored) -> Dense:
        """``f(x)`` for every row x of samples."""
        values: Dense
        if self.coef is not None:
            values = linear_values(samples, self.coef) + self.intercept
        elif self.expansion is not None:
            values = self.sums(samples) + self.intercept
        else:
            raise InvalidDataError("This solution has neither coef nor an expansion.")
        return values - self_similarity(self.kernel, samples) if self.is_ball else values

    @cached_property
    def sums(self) -> Callable[[Stored], Dense]:
        """``sum_i beta_i k(x_i, x)`` as a function of samples; of a repaired kernel if it is."""
        beta = self.expansion
        assert beta is not None  # else there are weights
        if self.repair is not None:
            beta = self.repair.coefficients(beta)
        if isinstance(self.kernel, Precomputed):
            return partial(linear_values, coef=beta.T)
        return KernelSums(self.kernel, self.data.X, beta)

    def checked_samples(self, X: Samples) -> Stored:
        """Check X against the columns of the training data; see ``checked_samples``."""
        return checked_samples(X, self.data, self.kernel)


def checked_samples(X: Samples, data: TrainingSet, kernel: Kernel) -> Stored:
    """Check samples against the columns of the training data and convert their storage.

    Raises
    ------
    InvalidDataError
        As ``decision_function``.
    """
    if data.storage == "objects":
        samples = as_objects(X, one_each=data.X.ndim == 1)
        if samples.ndim != data.X.ndim:
            raise InvalidDataError(
                f"X has shape {samples.shape}, the model was trained on samples of shape "
                f"{data.X.shape}; pass a list with a sample in each entry, or rows of a table, "
                "as those came."
            )
    else:
        is_gram = isinstance(kernel, Precomputed)
        samples = as_samples(X, keep_single=True, borrow=True, squared=not is_gram)
    if isinstance(kernel, Precomputed) and samples.shape[1] == data.n_given:
        samples = samples[:, data.kept]  # rows of weight zero have left the training data
    if samples.ndim == 2 and samples.shape[1] != data.n_features:
        raise InvalidDataError(
            f"X has {samples.shape[1]} columns, the model was trained on {data.n_features}."
        )
    names, trained = feature_names(X), data.feature_names
    if names is not None and trained is not None and names != trained:
        first = next(i for i, (a, b) in enumerate(zip(names, trained, strict=True)) if a != b)
        raise InvalidDataError(
            f"X column {first} is {names[first]!r}, the model was trained with "
            f"{trained[first]!r} there; reorder the columns: X[{list(trained[:3])} ...]."
        )
    return samples


def squared_radius(machine: KernelMachine) -> float:
    """Squared radius ``R^2 = b + |w|^2 / 4`` of a ball's machine ``w'phi(x) + b - k(x, x)``.

    Raises
    ------
    InvalidDataError
        It has neither coef nor an expansion.
    """
    beta = machine.expansion
    if machine.coef is not None:
        square = float(machine.coef @ machine.coef)
    elif beta is not None:
        used = np.flatnonzero(beta)
        square = float(beta[used] @ machine.sums(machine.data.X[used]))
    else:
        raise InvalidDataError("This solution has neither coef nor an expansion.")
    return float(machine.intercept) + 0.25 * square


def self_similarity(kernel: Kernel, samples: Stored) -> Vector:
    """``k(x, x)`` for every row x of samples, which a ball's decision function subtracts.

    Raises
    ------
    InvalidDataError
        A precomputed kernel matrix does not hold it.
    """
    if isinstance(kernel, Precomputed):
        raise InvalidDataError(
            "The distance of a new sample from the centre needs k(x, x), which a precomputed "
            "kernel matrix does not hold; use decision_function(K) of OneClass, or a kernel "
            "function."
        )
    return kernel.diagonal(samples)


def as_float64(array: Any, name: str) -> Any:
    """A read-only float64 array, or None; NaN for entries that are not real numbers.

    Raises
    ------
    InvalidDataError
        Not an array of numbers.
    """
    return stored(array, f"{name} of a solution", InvalidDataError)
