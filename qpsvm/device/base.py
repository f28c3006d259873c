"""The interface of devices: arrays, kernel values and sums, by NumPy or by CuPy on a GPU.

Kernel values come from differences ``x - z`` and inner products as they are, one value at a time,
so that no digit cancels: ``kernels.errors`` bounds their rounding on every device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from qpsvm.numerics.arrays import Dense

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


DeviceArray: TypeAlias = Any
"""An array of the library that a device stands for: a NumPy or a CuPy array."""

Solver: TypeAlias = Callable[[DeviceArray], DeviceArray]


class Device(ABC):
    """An array library, NumPy or CuPy, with its own functions for kernel values and their sums.

    Attributes
    ----------
    xp : module
        ``numpy`` or ``cupy``.
    name : str
        The name of the machine's device, for reports.
    """

    xp: Any
    name: str

    # --- arrays ----------------------------------------------------------------------------------

    def send(self, array: Any) -> DeviceArray:
        """Copy an array to the device, row by row in memory."""
        return self.xp.asarray(np.ascontiguousarray(array))

    @abstractmethod
    def fetch(self, array: DeviceArray, *, reused: bool = False) -> Any:
        """Copy an array from the device.

        Parameters
        ----------
        array : array of the device
        reused : bool
            Into memory that the next such call overwrites, which large arrays reach sooner.
        """

    @abstractmethod
    def free_bytes(self) -> int:
        """Bytes of device memory that are free."""

    # --- kernel values ---------------------------------------------------------------------------

    @abstractmethod
    def values(self, form: ProductForm, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        """``k(z_r, x_i)`` for every row of Z and of X, shape (k, n)."""

    @abstractmethod
    def sums(
        self, form: ProductForm, X: DeviceArray, Z: DeviceArray, V: DeviceArray
    ) -> DeviceArray:
        """Compute ``sum_r k(x_i, z_r) V_r``, shape (n, p), with compensated sums.

        Parameters
        ----------
        form : ProductForm
        X, Z : arrays of shape (n, d) and (k, d)
        V : array of shape (k, p)
        """

    @abstractmethod
    def combination(
        self, rows: DeviceArray, places: DeviceArray, weights: DeviceArray
    ) -> DeviceArray:
        """Add up chosen rows times weights, ``sum_r weights_r rows[places_r]``, shape (n,)."""

    # --- systems ---------------------------------------------------------------------------------

    @abstractmethod
    def factored(self, A: DeviceArray) -> Solver | None:
        """Return the function that solves ``A Z = B`` for Z by Cholesky; None without a factor."""


def host_matrix(X: Any) -> Dense:
    """Samples as a dense float64 array in the host's memory."""
    dense = X.toarray() if hasattr(X, "toarray") else X
    return np.ascontiguousarray(np.asarray(dense, dtype=np.float64))
