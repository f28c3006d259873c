"""Predictions of Dask collections: the method of an estimator on each block, when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from qpsvm.chunked import is_dask
from qpsvm.numerics.arrays import Array

Method = TypeVar("Method", bound=Callable[..., object])


def block_by_block(method: Method) -> Method:
    """Let a method of one argument take Dask collections, and return a lazy Dask array then."""

    @wraps(method)
    def either(self: Any, X: Any) -> Any:
        if not is_dask(X):
            return method(self, X)
        from dask import array
        from dask.delayed import delayed

        da: Any = array
        names = getattr(self, "feature_names_in_", None)
        example = np.zeros((1, self.n_features_in_))
        if names is not None:
            import pandas as pd

            example = pd.DataFrame(example, columns=names)
        result = np.asarray(method(self, example))
        if hasattr(X, "columns"):
            apply: Any = delayed(method, pure=True)
            shape = (np.nan, *result.shape[1:])
            parts = [apply(self, part) for part in X.to_delayed()]
            return da.concatenate([da.from_delayed(p, shape, dtype=result.dtype) for p in parts])
        X = X.rechunk({1: -1})
        if result.ndim == 1:
            return X.map_blocks(_applied, method, self, dtype=result.dtype, drop_axis=1)
        chunks = (X.chunks[0], (result.shape[1],))
        return X.map_blocks(_applied, method, self, dtype=result.dtype, chunks=chunks)

    return either  # type: ignore[return-value]


def _applied(block: object, method: Callable[..., Array], estimator: object) -> Array:
    return method(estimator, block)
