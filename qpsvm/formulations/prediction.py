"""From a machine's parameters to its values at new samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.exceptions import InvalidDataError
from qpsvm.formulations.data import as_samples, feature_names
from qpsvm.formulations.training_sets import TrainingSet
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.kernels.indefinite import KernelRepair
from qpsvm.qp._arrays import freeze, row_blocks


def new_samples(X: Any, data: TrainingSet, kernel: Kernel) -> Any:
    """X checked, with the columns of the training data.

    Raises
    ------
    InvalidDataError
        Another number of columns than in training, other column names, NaN.
    """
    samples = as_samples(X)
    if isinstance(kernel, Precomputed) and samples.shape[1] == data.n_given:
        samples = samples[:, data.kept]  # rows of weight zero have left the training data
    if samples.shape[1] != data.n_features:
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


def expanded(
    samples: Any, beta: Any, data: TrainingSet, kernel: Kernel, repair: KernelRepair | None
) -> Any:
    """``sum_i beta_i k(x_i, x)`` for every row x of samples.

    Parameters
    ----------
    samples : array or CSR array of shape (m, d)
        From ``new_samples``.
    beta : array of shape (n,) or (n, k)
        Coefficients of one expansion, or of k.

    Returns
    -------
    array of shape (m,) or (m, k)
    """
    if repair is not None:
        beta = np.apply_along_axis(repair.coefficients, 0, beta)
    if isinstance(kernel, Precomputed):
        return np.asarray(samples @ beta)
    used = np.unique(np.nonzero(beta)[0])
    centres, weights = data.X[used], beta[used]
    values = np.empty((samples.shape[0], *beta.shape[1:]))
    for rows in row_blocks(samples.shape[0], max(1, len(used))):
        values[rows] = kernel(samples[rows], centres) @ weights
    return values


def as_float64(array: Any) -> Any:
    """A read-only float64 array; complex numbers become NaN, which no verifier passes."""
    if array is None:
        return None
    if np.iscomplexobj(array):
        array = np.full(np.shape(array), np.nan)
    converted = np.asarray(array, dtype=np.float64)
    return converted if not converted.flags.writeable else freeze(converted.copy())
