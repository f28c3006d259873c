"""Upper bounds ``C_i = C x class weight x sample weight``, and checks of C and class weights."""

from __future__ import annotations

import functools
import sys
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from qpsvm.data.training_sets import BinaryTrainingSet, MulticlassTrainingSet, TrainingSet
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.machines.conditions import InterceptKind, PriceFactors, require_intercept_kind
from qpsvm.numerics.arguments import VectorLike, is_real_number, require_choice, require_flag
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
    C: float, data: TrainingSet, *, class_weight: ClassWeight = None, average: bool = False
) -> Vector:
    """``C_i``, shape (n,): divided by the sum of the sample weights with ``average``.

    Raises
    ------
    InvalidParameterError
        As ``class_factors``.
    InvalidDataError
        A ``C_i`` beyond the range of double precision.
    """
    factors: list[VectorLike] = [C, data.weights]
    with np.errstate(all="ignore"):
        if isinstance(data, BinaryTrainingSet | MulticlassTrainingSet):
            factors.append(class_factors(class_weight, data))
        total = np.sum(data.weights) if average else 1.0
    return in_range(scaled_product(factors, total))


def price_factors(
    scale: float | Fraction,
    data: TrainingSet,
    *,
    class_weight: ClassWeight = None,
    average: bool = False,
    above: Fraction = Fraction(1),
    below: Fraction = Fraction(0),
) -> PriceFactors:
    """Factors of each sample's upper bound ``C_i``, unrounded: C, sample weight, class weight."""
    codes = weights = None
    if class_weight is not None:
        classes, codes = np.unique(data.targets, return_inverse=True)
        if not isinstance(class_weight, str):
            weights = [float(class_weight.get(label, 1.0)) for label in classes.tolist()]
    exact = scale if isinstance(scale, Fraction) else Fraction(float(scale))
    return PriceFactors(exact, data.weights, average, codes, weights, above, below)


def scaled_product(factors: list[VectorLike], divisor: float | np.floating = 1.0) -> Vector:
    """Product of up to five non-negative numbers or arrays, over a divisor.

    Significands and exponents are multiplied apart: only the result can leave the range of double
    precision. A product that underflows on its way to an ordinary number would lose its digits.
    """
    with np.errstate(all="ignore"):
        significand, exponent = np.frexp(np.asarray(factors[0], dtype=np.float64))
        for factor in factors[1:]:
            m, e = np.frexp(np.asarray(factor, dtype=np.float64))
            significand, exponent = significand * m, exponent + e
        m, e = np.frexp(np.float64(divisor))
        return np.asarray(np.ldexp(significand / m, exponent - e))


def in_range(C: Vector) -> Vector:
    """Return C, or raise if an entry or its inverse overflows.

    Raises
    ------
    InvalidDataError
        One is not: too large, too small, or NaN.
    """
    with np.errstate(all="ignore"):
        bad = np.flatnonzero(~(np.isfinite(C) & np.isfinite(1.0 / C)))
    if bad.size:
        raise InvalidDataError(
            f"C times the weights of sample {bad[0]} is {C[bad[0]]} ({bad.size} such samples), "
            "beyond the range of double precision (its inverse counts, too); scale C or "
            "sample_weight."
        )
    return C


def class_factors(
    class_weight: ClassWeight, data: BinaryTrainingSet | MulticlassTrainingSet
) -> Vector:
    """The weight of every sample's class, shape (n,).

    ``"balanced"`` gives class c the weight ``W / (k W_c)`` with the sum W_c of its sample weights
    and ``W = sum_c W_c``: n / (k n_c) without sample weights, as in scikit-learn.

    Raises
    ------
    InvalidParameterError
        A label that is not in the data; a weight that is not a finite number above 0.
    """
    if class_weight is None:
        return np.ones(data.n_samples)
    labels = data.targets
    classes, codes = np.unique(labels, return_inverse=True)
    if isinstance(class_weight, str) and class_weight == "balanced":
        sums = np.bincount(codes, data.weights)
        return np.asarray((float(np.sum(sums)) / (len(classes) * sums))[codes])
    factors = factors_by_label(class_weight, classes.tolist())
    return np.asarray(factors[codes])


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
