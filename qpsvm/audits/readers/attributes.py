"""Checked access to the attributes of a fitted estimator.

In Python, attributes can be set to anything, and the libraries' own predictions read past the end
of an array that is too short. So readers access every attribute through these functions.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import AuditRefusedError
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Dense, Index, Matrix, stored
from qpsvm.numerics.conversion import require_sound

Estimator: TypeAlias = Any
"""A fitted model of another library; their attributes have no types to rely on."""

REMEDY = "it was changed after the fit, or comes from elsewhere: fit it again"


def refuse(model: Estimator, problem: str) -> NoReturn:
    """Raise AuditRefusedError with a message about a model.

    Raises
    ------
    AuditRefusedError
        Always.
    """
    raise AuditRefusedError(f"This {type(model).__name__} {problem}; {REMEDY}.")


def attribute(model: Estimator, name: str) -> Any:
    """Return the attribute of that name; refuse a model that lacks it.

    Raises
    ------
    AuditRefusedError
        There is none.
    """
    try:
        return getattr(model, name)
    except AttributeError as error:
        refuse(model, f"has no {name} ({error})")


def number(model: Estimator, name: str) -> float:
    """Return an attribute that must be one finite real number.

    Raises
    ------
    AuditRefusedError
        It is missing or something else.
    """
    value = attribute(model, name)
    array = real_numbers(model, name, value)
    if array.size != 1 or not np.isfinite(array).all():
        refuse(model, f"has {name} = {_shown(value)}, which must be one finite number")
    return float(array.reshape(()))


def numbers(model: Estimator, name: str, n_dimensions: int | None = None) -> Dense:
    """Return an attribute that must be an array of finite real numbers, as float64.

    Raises
    ------
    AuditRefusedError
        It is missing, of another kind or number of dimensions, or holds NaN or infinite numbers.
    """
    value = attribute(model, name)
    array = real_numbers(model, name, value)
    if not np.isfinite(array).all():
        raise AuditRefusedError(
            f"{name} of this {type(model).__name__} holds NaN or infinite numbers; it predicts "
            "nothing: fit it again."
        )
    if n_dimensions is not None and array.ndim != n_dimensions:
        refuse(model, f"has {name} of shape {array.shape}, which must have {n_dimensions} axes")
    return array


def matrix(model: Estimator, name: str) -> Matrix:
    """Return an attribute that must be a finite real matrix, as a float64 array or CSR array.

    Raises
    ------
    AuditRefusedError
        It is missing, of another kind or number of dimensions, or holds NaN or infinite numbers.
    """
    value = attribute(model, name)
    if not sp.issparse(value):
        return numbers(model, name, 2)
    try:
        require_sound(value)
        rows = sp.csr_array(value)
    except (TypeError, ValueError, IndexError) as error:
        refuse(model, f"has no matrix as {name} ({error})")
    entries = real_numbers(model, name, rows.data)
    if rows.ndim != 2 or not np.isfinite(entries).all():
        refuse(model, f"has {name} of shape {rows.shape}, which must be a matrix without NaN")
    return sp.csr_array((entries, rows.indices, rows.indptr), shape=rows.shape)


def real_numbers(model: Estimator, name: str, value: Any) -> Dense:
    """Convert a value to float64 if nothing is lost: no complex part, mask or text.

    Raises
    ------
    AuditRefusedError
        Something would be.
    """
    if np.ma.is_masked(value):
        hidden = int(np.sum(np.ma.getmaskarray(value)))
        refuse(model, f"has a masked array as {name}, with {hidden} hidden entries")
    try:
        array = value.toarray() if sp.issparse(value) else np.asarray(value)
        if array.dtype.kind == "O" and not _holds_reals(array):
            raise TypeError("its entries are not all numbers")
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its dtype is {array.dtype}")
        return stored(array, name, TypeError)
    except (TypeError, ValueError, OverflowError) as error:
        refuse(model, f"has {name} = {_shown(value)}, which must hold real numbers ({error})")


def whole_numbers(model: Estimator, name: str) -> Index:
    """Return an attribute that must be a vector of integers.

    Raises
    ------
    AuditRefusedError
        It is missing or something else.
    """
    value = attribute(model, name)
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "iu" or np.ma.is_masked(value):
        refuse(model, f"has {name} = {_shown(value)}, which must be a vector of integers")
    return array.astype(np.intp)


def classes(model: Estimator) -> Labels:
    """Return ``classes_``, which must be a vector of at least two distinct labels.

    Raises
    ------
    AuditRefusedError
        It is missing or something else.
    """
    value = attribute(model, "classes_")
    array = np.asarray(value)
    if array.ndim != 1 or len(array) < 2 or np.ma.is_masked(value):
        refuse(model, f"has classes_ = {_shown(value)}, which must be two or more labels")
    try:
        different = len(set(array.tolist()))
    except TypeError:
        different = 0
    if different != len(array):
        refuse(model, f"has classes_ = {_shown(value)}, which must all be different")
    return array


def require_shape(
    model: Estimator, name: str, array: Matrix, shape: tuple[int, ...], why: str
) -> None:
    """Refuse an array whose shape does not fit the rest of the model.

    Raises
    ------
    AuditRefusedError
        Another shape.
    """
    if array.shape != shape:
        refuse(model, f"has {name} of shape {array.shape}, {why} need {shape}")


# --- small pieces -----------------------------------------------------------------------------


def _holds_reals(array: Matrix) -> bool:
    reals = (bool, int, float, np.bool_, np.integer, np.floating)
    return all(isinstance(entry, reals) for entry in array.flat)


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
