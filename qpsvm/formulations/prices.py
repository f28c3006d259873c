"""Prices of slack: ``C_i = C x class weight x sample weight``."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from qpsvm.data.training_sets import (
    BinaryTrainingSet,
    MulticlassTrainingSet,
    TrainingSet,
)
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.machines.price_factors import PriceFactors
from qpsvm.numerics.arguments import VectorLike, is_real_number
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.conversion import is_rounded

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


def prices(
    C: float, data: TrainingSet, *, class_weight: ClassWeight = None, average: bool = False
) -> Vector:
    """``C_i``, shape (n,): divided by the sum of the sample weights with ``average``.

    Raises
    ------
    InvalidParameterError
        As ``class_factors``.
    InvalidDataError
        A price beyond the range of double precision.
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
    """The exact factors of ``prices``, for proofs that need prices without rounding."""
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
