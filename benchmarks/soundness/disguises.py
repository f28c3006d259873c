"""Objects that store the numbers of a solution and predict something else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from qpsvm.kernels import Linear, Polynomial
from qpsvm.machines import SVMSolution

OFF = 0.5
"""What is added to predictions, in units of the largest decision value."""


class Shifted(SVMSolution):
    """A subclass whose decision values are others."""

    def _values(self, samples: Any) -> Any:
        values = super()._values(samples)
        return values + OFF * (1.0 + np.max(np.abs(values)))


class Flipped(SVMSolution):
    """A subclass with other labels and decision values."""

    def decision_function(self, X: Any) -> Any:
        return -super().decision_function(X) - 1.0

    def predict(self, X: Any) -> Any:
        return super().predict(X)[::-1]


class Doubled(Linear):
    """A kernel that says it is the linear one."""

    def __call__(self, X: Any, Z: Any) -> Any:
        return 2.0 * super().__call__(X, Z) + 1.0


class DoubledPolynomial(Polynomial):
    """A kernel that says it is polynomial."""

    def __call__(self, X: Any, Z: Any) -> Any:
        return 2.0 * super().__call__(X, Z) + 1.0


class Stretched(np.ndarray):
    """An array whose products are others than those of its numbers."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(v) if isinstance(v, Stretched) else v for v in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        return 1.5 * result + 1.0 if ufunc is np.matmul else result


def _instance(s: Any) -> Any:
    """The same class, with an attribute of its own that hides a method."""
    other = copy.copy(s)
    values = type(s)._values
    object.__setattr__(
        other, "_values", lambda X: values(s, X) + 1.0 + np.max(np.abs(values(s, X)))
    )
    return other


def _method(s: Any) -> Any:
    other = copy.copy(s)
    function = s.decision_function
    object.__setattr__(other, "decision_function", lambda X: 1.0 - 2.0 * function(X))
    return other


def _subclass(kind: type) -> Callable[[Any], Any]:
    def make(s: Any) -> Any:
        return kind(**{field.name: getattr(s, field.name) for field in fields(SVMSolution)})

    return make


def _kernel(s: Any) -> Any:
    if isinstance(s.kernel, Linear):
        return s.replace(kernel=Doubled(), coef=None, expansion=s.expansion)
    if isinstance(s.kernel, Polynomial):
        own = {field.name: getattr(s.kernel, field.name) for field in fields(s.kernel)}
        return s.replace(kernel=DoubledPolynomial(**own))
    return _subclass(Shifted)(s)


def _array(s: Any) -> Any:
    """Weights in an array that multiplies in its own way, put there after all checks."""
    other = copy.copy(s)
    name = "coef" if s.coef is not None else "expansion"
    object.__setattr__(other, name, np.array(getattr(s, name)).view(Stretched))
    return other


def _complex(s: Any) -> Any:
    name = "coef" if s.coef is not None else "expansion"
    other = copy.copy(s)
    object.__setattr__(other, name, getattr(s, name) * (1.0 + 0.5j))
    return other


def _masked(s: Any) -> Any:
    name = "coef" if s.coef is not None else "expansion"
    v = getattr(s, name)
    other = copy.copy(s)
    object.__setattr__(other, name, np.ma.array(v, mask=np.abs(v) == np.max(np.abs(v))))
    return other


def _labels(s: Any) -> Any:
    """Training data whose labels are read in another order."""
    if not hasattr(s.data, "classes"):
        return _method(s)
    return s.replace(data=replace(s.data, classes=s.data.classes[::-1]))


DISGUISES: tuple[Callable[[Any], Any], ...] = (
    _instance, _method, _subclass(Shifted), _subclass(Flipped), _kernel, _array, _complex, _masked,
    _labels,
)  # fmt: skip


def of(s: Any, rng: Any) -> Any:
    """Any of them."""
    return DISGUISES[int(rng.integers(len(DISGUISES)))](s)
