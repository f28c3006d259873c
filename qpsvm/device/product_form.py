"""Kernels that are functions of inner products or distances, as data for a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["product", "power", "tanh", "exponential"]
"""``x'z``; ``(gamma x'z + coef0)^degree``; ``tanh(gamma x'z + coef0)``;
``exp(-gamma |x - z|^2)``."""


@dataclass(frozen=True)
class ProductForm:
    """A kernel function that a device evaluates, by its kind and its numbers.

    Attributes
    ----------
    kind : {"product", "power", "tanh", "exponential"}
    gamma, coef0 : float
    degree : int
    """

    kind: Kind
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1
