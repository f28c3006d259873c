"""Upper bounds ``C_i = C x class weight x sample weight``, and checks of C and class weights."""

from __future__ import annotations

import functools
import sys
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from qpsvm.data.training_sets import TrainingSet
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.conditions import InterceptKind, require_intercept_kind
from qpsvm.machines.upper_bounds import ExactUpperBounds
from qpsvm.numerics.arguments import is_real_number, require_choice, require_flag
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.conversion import is_rounded

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None  # keys are invariant
"""Factors of C: by label, in inverse proportion to the classes' weights, or all 1."""


class ClassWeights(Mapping[Hashable, float]):
    """An immutable dict from label to weight, which a formulation can be hashed with.

    Examples
    --------
    >>> ClassWeights({"ham": 1.0, "spam": 5.0})
    {'ham': 1.0, 'spam': 5.0}
    """

    def __init__(self, weights: Mapping[Any, float]) -> None:
        self._weights = dict(weights)

    def __getitem__(self, label: Hashable) -> float:
        return float(self._weights[label])

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    def __hash__(self) -> int:
        return hash(frozenset(self._weights.items()))

    def __repr__(self) -> str:
        return repr(self._weights)


def as_class_weight(class_weight: object) -> ClassWeight:
    """None, "balanced", or an immutable copy of a mapping from label to a number above zero.

    Raises
    ------
    InvalidParameterError
        Anything else.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return "balanced"
    if not isinstance(class_weight, Mapping):
        raise InvalidParameterError(
            f"class_weight is {class_weight!r}; pass None, 'balanced' or a dict from label to "
            "weight."
        )
    for label, weight in class_weight.items():
        if not is_real_number(weight) or not 0 < weight < np.inf:
            raise InvalidParameterError(
                f"class_weight[{label!r}] is {weight!r}; it must be a finite number above 0."
            )
        if is_rounded(weight):
            raise InvalidParameterError(
                f"class_weight[{label!r}] is {weight!r}, an integer that float64 rounds; pass a "
                "float, the nearest one."
            )
    return ClassWeights(class_weight)


def per_sample_C(
    C: float | Fraction,
    data: TrainingSet,
    *,
    class_weight: ClassWeight = None,
    average: bool = False,
) -> ExactUpperBounds:
    """``C_i`` of every sample, as its exact factors and ``rounded``.

    Parameters
    ----------
    C : float or Fraction
    data : TrainingSet
    class_weight : dict, "balanced" or None
        Factors of C by label.
    average : bool
        Divide by the sum of the sample weights.

    Raises
    ------
    InvalidParameterError
        A label that is not in the data.
    """
    codes = factors = None
    if class_weight is not None:
        classes, codes = np.unique(data.targets, return_inverse=True)
        if not isinstance(class_weight, str):
            factors = factors_by_label(class_weight, classes.tolist())
    scale = C if isinstance(C, Fraction) else Fraction(float(C))
    return ExactUpperBounds(scale, data.weights, average, codes, factors)


def factors_by_label(class_weight: Mapping[Any, float], labels: list[Any]) -> Vector:
    """The weight of every class, shape (k,): 1 where ``class_weight`` does not name the label.

    Raises
    ------
    InvalidParameterError
        A label that is not among those of the data.
    """
    for label in class_weight:
        if label not in labels:
            raise InvalidParameterError(
                f"class_weight names the class {label!r}, the data have {labels}; use their labels."
            )
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])


# --- checks of parameters ------------------------------------------------------------------------


def check_parameters(formulation: DataclassInstance) -> None:
    """Check the parameters that several formulations have, by their names and types.

    Raises
    ------
    InvalidParameterError
        A C, share nu, flag or class weight that is none; a word that its type does not list.
    """
    hints = _hints(type(formulation))
    for field in fields(formulation):
        name = field.name
        value, hint = getattr(formulation, name), hints[name]
        if isinstance(value, np.floating | np.integer):  # a float32 would reduce precision
            value = float(value) if isinstance(value, np.floating) else int(value)
            object.__setattr__(formulation, name, value)
        if name == "C":
            require_C(value)
        elif name == "nu":
            require_share(value)
        elif name == "class_weight":
            object.__setattr__(formulation, name, as_class_weight(value))
        elif hint is bool:
            require_flag(value, name)
        elif hint == InterceptKind:
            require_intercept_kind(value)
        elif get_origin(hint) is Literal:
            require_choice(value, get_args(hint), name)


@functools.cache
def _hints(kind: type) -> dict[str, object]:
    """The types of a class's fields; reading them takes longer than checking values."""
    return get_type_hints(kind)


def require_C(C: object, hint: str = "") -> None:
    """Raise InvalidParameterError unless C is a finite number above zero."""
    if not is_real_number(C) or not 0 < C <= sys.float_info.max:
        raise InvalidParameterError(f"C is {C!r}; it must be a finite number above 0{hint}.")


def require_share(nu: object, name: str = "nu", *, closed: bool = True) -> None:
    """Raise InvalidParameterError unless 0 < nu <= 1 (below 1, if not closed)."""
    if not is_real_number(nu) or not (0 < nu < 1 or (closed and nu == 1)):
        end = "]" if closed else ")"
        raise InvalidParameterError(f"{name} is {nu!r}; it must be a number in (0, 1{end}.")
