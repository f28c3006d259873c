"""Standardisation of features, stored with the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.data.samples import as_samples
from qpsvm.display import short_repr
from qpsvm.numerics.arguments import Samples, explains_constructor
from qpsvm.numerics.arrays import Matrix, Sparse, Vector, is_sparse
from qpsvm.numerics.precision import EPS


@explains_constructor
@short_repr
@dataclass(frozen=True, eq=False)
class Scaling:
    """``(x - mean) / scale``, column by column.

    Attributes
    ----------
    mean : array of shape (d,) or None
        None for sparse data, which are scaled and not centred: centring would fill them. (Linear
        machines with a free intercept and RBF machines are the same either way.)
    scale : array of shape (d,)
        Positive; 1 for a constant column.
    """

    mean: Vector | None
    scale: Vector

    @classmethod
    def fit(cls, X: Samples) -> Scaling:
        """Mean and standard deviation (divided by n) of every column.

        Raises
        ------
        InvalidDataError
            X is not a table of finite numbers.
        """
        samples = as_samples(X)
        if is_sparse(samples):
            return cls._fit_sparse(samples)
        mean, scale = samples.mean(axis=0), samples.std(axis=0)
        return cls(mean, _usable(scale, np.abs(mean)))

    @classmethod
    def _fit_sparse(cls, samples: Sparse) -> Scaling:
        n, d = samples.shape
        columns = samples.indices
        mean = np.bincount(columns, samples.data, minlength=d) / n
        # around the mean, entries that are not stored included: a difference of sums of squares
        # would lose a small variance to rounding
        squares = np.bincount(columns, (samples.data - mean[columns]) ** 2, minlength=d)
        squares += (n - np.bincount(columns, minlength=d)) * mean**2
        return cls(None, _usable(np.sqrt(squares / n), np.abs(mean)))

    def __call__(self, X: Samples) -> Matrix:
        """The scaled samples, as an array or CSR array."""
        samples = as_samples(X)
        if is_sparse(samples):
            scaled = samples.copy()
            scaled.data = samples.data / self.scale[samples.indices]
            return scaled
        return (samples if self.mean is None else samples - self.mean) / self.scale


def _usable(scale: Vector, size: Vector) -> Vector:
    """The scale, with 1 for columns that are constant up to rounding."""
    constant = scale <= 10 * EPS * size
    return np.where(constant | (scale == 0.0), 1.0, scale)
