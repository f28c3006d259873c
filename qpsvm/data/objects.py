"""Samples that are not rows of numbers (text, sequences, graphs), for kernels that take them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics import contents
from qpsvm.numerics.arrays import Array, freeze
from qpsvm.numerics.single_precision import SinglePrecision, Stored

NUMERIC = "biufc"
"""Kinds of NumPy dtypes that are numbers."""


def is_numeric(X: object) -> bool:
    """Return whether all entries of X are numbers or missing values."""
    if sp.issparse(X) or isinstance(X, SinglePrecision):
        return True
    dtypes = getattr(X, "dtypes", None)
    if dtypes is not None and hasattr(X, "columns"):
        return all(kind_of(dtype) in NUMERIC for dtype in dtypes)
    entries = X if isinstance(X, np.ndarray) else _table(X)
    if entries.dtype != object:
        return entries.dtype.kind in NUMERIC
    return all(_is_number(entry) for entry in entries.flat)


def kind_of(dtype: Any) -> str:
    """Return the kind of a table column's dtype as NumPy's letter, for pandas and polars."""
    if hasattr(dtype, "kind"):
        return str(dtype.kind)
    is_number = getattr(dtype, "is_numeric", None)
    return "f" if str(dtype) == "Boolean" or (is_number is not None and is_number()) else "O"


def reads_as_number(value: Any) -> bool:
    """Return whether ``float(value)`` succeeds, as it does for the text "1.5"."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def text_remedy(entries: Iterable[object]) -> str:
    """Return the remedy for features that are texts: numbers, decimal commas, or words."""
    texts = [entry for entry in entries if isinstance(entry, str | bytes)]
    text = next((text for text in texts if not reads_as_number(text)), None)
    if texts and text is None:
        return f"convert texts such as {texts[0]!r} to numbers, for instance with astype(float)"
    if isinstance(text, str) and reads_as_number(text.replace(",", ".")):
        return f"with decimal commas such as {text!r}, read the file with decimal=','"
    return "encode text and categories first, for instance with sklearn.preprocessing.OneHotEncoder"


def as_objects(X: object, *, one_each: bool = False) -> Stored:
    """Convert X to a read-only array of one object per sample (n,), or a table (n, d).

    A list of samples is one with an entry for each, as it came: a number among words stays one. A
    list of rows that are equally long is a table, unless there shall be ``one_each``. Lists, sets,
    dictionaries and arrays are copied; other objects must not change as long as they are in use.

    Raises
    ------
    InvalidDataError
        Empty; neither one nor two dimensions; missing values (None, NaN, NA, masked), with their
        row.
    """
    require_unmasked(X, "X")
    samples = _table(X, one_each=one_each)
    if samples.ndim not in (1, 2):
        raise InvalidDataError(
            f"X has shape {samples.shape}; samples that are no numbers come as a list, an "
            "array with one in each entry, or a table."
        )
    if samples.size == 0:
        raise InvalidDataError(f"X is empty: shape {samples.shape}; pass at least one sample.")
    if samples.dtype == object:
        _own(samples)
    if samples.dtype.kind in "OmMV":
        missing = np.array([_has_missing(entry) for entry in samples.flat]).reshape(samples.shape)
        if missing.any():
            where = tuple(int(i) for i in np.argwhere(missing)[0])
            column = f", column {where[1]}" if len(where) == 2 else ""
            rows = int(missing.reshape(len(samples), -1).any(axis=1).sum())
            such = f"{rows} such row{'' if rows == 1 else 's'}"
            raise InvalidDataError(
                f"X has {samples[where]!r} in row {where[0]}{column} ({such}); put a value there "
                "that the kernel knows, or drop the rows."
            )
    return freeze(samples)


def require_unmasked(values: object, name: str) -> None:
    """Raise InvalidDataError for masked arrays, whose masks NumPy would silently drop."""
    if np.ma.is_masked(values):
        hidden = int(np.sum(np.ma.getmaskarray(np.ma.asarray(values))))
        raise InvalidDataError(
            f"{name} is a masked array with {hidden} hidden entries; fill them "
            f"({name}.filled(...)) or drop those rows."
        )


def _table(X: object, *, one_each: bool = False) -> Array:
    """Copy X to an object array; no entry changes its type."""
    if not isinstance(X, list | tuple):
        array = np.array(X)
        return array.astype(object) if array.dtype.kind == "T" else array
    if X and not one_each and all(isinstance(sample, list | tuple | np.ndarray) for sample in X):
        try:
            return np.array(X, dtype=object)
        except ValueError:  # shapes that agree only in part: no table
            pass
    samples = np.empty(len(X), dtype=object)
    for i, sample in enumerate(X):
        samples[i] = sample
    return samples


def _own(samples: Array) -> None:
    for place, sample in np.ndenumerate(samples):
        with suppress(RecursionError):  # so deep that nobody compares it either
            samples[place] = contents.own_copy(sample)


def _has_missing(entry: object) -> bool:
    if isinstance(entry, np.void):  # a record
        return entry.dtype.names is not None and any(map(is_missing, entry.item()))
    return is_missing(entry)


def _is_number(entry: object) -> bool:
    return isinstance(entry, Number | np.number | np.bool_) or is_missing(entry)


def is_missing(entry: object) -> bool:
    """Return whether an entry is None, NaN, NaT or pandas' NA."""
    if entry is None or (isinstance(entry, float | np.floating) and math.isnan(entry)):
        return True
    if isinstance(entry, np.datetime64 | np.timedelta64):
        return bool(np.isnat(entry))
    return type(entry).__name__ in ("NAType", "NaTType")
