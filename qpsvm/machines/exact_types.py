"""Checks that an object is a plain instance of its class, without hidden or extra attributes.

A verdict is about stored numbers. A subclass, or an attribute set on one instance, can make the
same object predict something else; so what is verified is of exact types, with no attribute but its
fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.intercept import Interval
from qpsvm.numerics import contents
from qpsvm.numerics.arguments import an
from qpsvm.numerics.single_precision import SinglePrecision
from qpsvm.qp.solution import QPSolution, Status

NUMBER_TYPES = (bool, int, float, np.float64, np.float32, np.int64, np.int32)
"""Types whose instances are equal where their values are."""

_NONE = type(None)
_ARRAYS = "alpha", "expansion", "coef", "slack", "upper", "constraint_multipliers"
_FIELDS: dict[str, tuple[type, ...]] = dict.fromkeys(_ARRAYS, (np.ndarray, _NONE)) | {
    "intercept": (float,),
    "intercept_interval": (Interval,),
    "width": (float,),
    "conditions": (Conditions,),
    "qp": (QPSolution, _NONE),
    "repair": (KernelRepair, _NONE),
}
"""Exact types of the fields of a solution; kernel and data have those of the problem's."""


def require_stored(solution: Any, kind: Any) -> None:
    """Refuse a solution of a subclass, or one with attributes beside its fields.

    Raises
    ------
    InvalidDataError
        A subclass, an attribute that hides one of the class, or a field of another type.
    """
    if type(solution) is not kind:
        raise InvalidDataError(
            f"The solution is {an(solution)}, not a {kind.__name__} itself: a "
            "subclass can predict with something else than the numbers that are verified; pass a "
            f"{kind.__name__} with the same fields."
        )
    vars(solution).pop("sums", None)  # prepared for predictions: anew from what is verified
    hidden = list(added_attributes(solution))
    if hidden:
        raise InvalidDataError(
            f"The solution has an attribute of its own, {hidden[0]!r}, beside its fields: it can "
            "predict with something else than the numbers that are verified; build it anew with "
            "solution.replace()."
        )
    of_several = not hasattr(solution, "intercept_interval")  # an intercept per class
    own = _FIELDS | {"intercept": (np.ndarray,)} if of_several else _FIELDS
    for field in fields(solution):
        allowed, value = own.get(field.name), getattr(solution, field.name)
        if allowed is not None:
            _require_field(field.name, value, allowed)


def require_own_properties(solution: Any) -> None:
    """Refuse a solution whose cached ``support`` or ``zero_below`` contradicts its other fields.

    Raises
    ------
    InvalidDataError
        One of them differs.
    """
    for name in ("support", "zero_below"):
        kept = vars(solution).get(name)
        if kept is None:
            continue
        fresh = _of_class(type(solution), name).func(solution)
        if type(kept) is not type(fresh) or not np.array_equal(kept, fresh, equal_nan=True):
            raise InvalidDataError(
                f"The solution's {name} is not that of its other fields; build it anew with "
                "solution.replace()."
            )


def stored_program_solution(qp: Any) -> QPSolution:
    """Return a plain QPSolution; replace any other by one of unknown status without vectors."""
    if type(qp) is not QPSolution or any(added_attributes(qp)):
        return QPSolution(Status.UNKNOWN)
    for vector in (qp.x, qp.z, qp.y, qp.z_lower, qp.z_upper):
        if type(vector) is np.ndarray and vector.dtype == np.float64:
            continue
        if vector is not None:
            return QPSolution(Status.UNKNOWN)
    return qp


def same_kernel(own: object, other: object) -> bool:
    """Return whether two kernels have the same class and parameters, and nothing added."""
    if other is own:
        return True
    if type(other) is not type(own) or not _same_attributes(own, other):
        return False
    if is_dataclass(own):
        for field in fields(own):
            mine, theirs = getattr(own, field.name), getattr(other, field.name)
            both_numbers = type(mine) in NUMBER_TYPES and type(theirs) in NUMBER_TYPES
            if type(mine) is not type(theirs) and not both_numbers:
                return False
    return (own == other) is True


def same_data(own: Any, other: Any) -> bool:
    """Return whether two training sets have the same class and values, and nothing added."""
    if other is own:
        return True
    if type(other) is not type(own) or not _same_attributes(own, other):
        return False
    if not _is_matrix(other.X):
        return False
    arrays = (name for name, value in vars(own).items() if type(value) is np.ndarray)
    if any(name != "X" and type(getattr(other, name)) is not np.ndarray for name in arrays):
        return False
    labels = getattr(own, "classes", None)
    plain = labels is None or labels.dtype.kind in "biuf"  # the `==` of others may say anything
    return bool(own.equals(other)) and (plain or contents.same(labels, other.classes))


def same_reduction(own: object, other: object) -> bool:
    """Return whether two multiclass reductions have the same class and parameters."""
    if other is own:
        return True
    return type(other) is type(own) and _same_attributes(own, other) and (own == other) is True


def added_attributes(thing: object) -> Iterator[str]:
    """Yield attributes of an instance that are neither fields nor cached properties."""
    kind = type(thing)
    known = {field.name for field in fields(kind)} if is_dataclass(kind) else set[str]()
    for name in getattr(thing, "__dict__", {}):
        if name not in known and not isinstance(_of_class(kind, name), cached_property):
            yield name


# --- small pieces -----------------------------------------------------------------------------


def _of_class(kind: type, name: str) -> Any:
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _require_field(name: str, value: object, allowed: tuple[type, ...]) -> None:
    fine = type(value) in allowed and not (type(value) is np.ndarray and not _is_float64(value))
    if fine and type(value) in (QPSolution, Conditions, KernelRepair):
        fine = not any(added_attributes(value))
    if fine and type(value) is QPSolution:
        fine = stored_program_solution(value) is value
    if not fine:
        seen = type(value).__name__
        if isinstance(value, np.ndarray):
            seen += f" of {value.dtype}"
        wanted = " or ".join(
            "an array of float64" if kind is np.ndarray else kind.__name__
            for kind in allowed
            if kind is not _NONE
        )
        raise InvalidDataError(
            f"The solution's {name} is {an(seen)} where {wanted} belongs; only stored numbers are "
            f"verified: solution.replace({name}=...) with such a value."
        )


def _is_float64(array: object) -> bool:
    return type(array) is np.ndarray and array.dtype == np.float64


def _is_matrix(X: Any) -> bool:
    """Return whether X is exactly an array, CSR array or SinglePrecision, of plain arrays."""
    if type(X) is sp.csr_array:
        return all(type(part) is np.ndarray for part in (X.data, X.indices, X.indptr))
    if type(X) is SinglePrecision:
        return type(X.values) is np.ndarray and not any(added_attributes(X))
    return type(X) is np.ndarray


def _same_attributes(own: object, other: object) -> bool:
    """Return whether two instances have the same attributes beside their fields."""
    mine, theirs = (sorted(added_attributes(thing)) for thing in (own, other))
    if mine != theirs:
        return False
    return all(contents.same(_entry(vars(own)[name]), _entry(vars(other)[name])) for name in mine)


def _entry(value: object) -> object:
    entry = np.empty(1, dtype=object)
    entry[0] = value
    return entry
