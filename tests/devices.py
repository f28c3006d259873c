"""Devices that tests run on: NumPy always, a GPU where there is one."""

from __future__ import annotations

import os
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.distance import cdist

from qpsvm.device import Device, DeviceArray, OnCuda, ProductForm, Solver
from qpsvm.exceptions import DeviceError
from qpsvm.numerics.arrays import default_memory_limit, row_blocks
from qpsvm.numerics.compensated import Total

AT_A_TIME = 512
"""Terms of a sum that are evaluated at a time."""


class OnNumPy(Device):
    """NumPy in the place of a GPU's array module: the whole solver runs on it without a GPU."""

    xp = np
    name = f"NumPy on {os.uname().machine if hasattr(os, 'uname') else 'this machine'}"

    def fetch(self, array: DeviceArray, *, reused: bool = False) -> Any:
        del reused
        return np.array(array)

    def free_bytes(self) -> int:
        return default_memory_limit()

    def values(self, form: ProductForm, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        if form.kind == "exponential":
            return np.exp(-form.gamma * cdist(Z, X, "sqeuclidean"))
        products = Z @ X.T
        if form.kind == "product":
            return products
        products *= form.gamma
        products += form.coef0
        if form.kind == "tanh":
            return np.tanh(products)
        base, power = products, products.copy()
        for bit in f"{form.degree:b}"[1:]:  # from the second leading bit on
            power *= power
            if bit == "1":
                power *= base
        return power

    def sums(
        self, form: ProductForm, X: DeviceArray, Z: DeviceArray, V: DeviceArray
    ) -> DeviceArray:
        total = Total((len(X), V.shape[1]))
        for some in row_blocks(len(Z), 1, 8 * AT_A_TIME):
            total.add(np.ascontiguousarray(self.values(form, X, Z[some]).T), V[some])
        return total.value

    def combination(
        self, rows: DeviceArray, places: DeviceArray, weights: DeviceArray
    ) -> DeviceArray:
        result = np.zeros(rows.shape[1])
        for some in row_blocks(len(places), 1, 8 * AT_A_TIME):
            result += weights[some] @ rows[places[some]]
        return result

    def factored(self, A: DeviceArray) -> Solver | None:
        try:
            factor = scipy.linalg.cho_factor(A, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        return partial(scipy.linalg.cho_solve, factor, check_finite=False)


@cache
def why_no_gpu() -> str:
    """The reason why there is no GPU; empty where there is one."""
    try:
        OnCuda()
    except DeviceError as error:
        return str(error)
    return ""


DEVICES = [
    "numpy",
    pytest.param(
        "cuda",
        marks=[pytest.mark.cuda, pytest.mark.skipif(bool(why_no_gpu()), reason=why_no_gpu())],
    ),
]
"""Names for ``device_for``; the GPU's tests skip with the reason where there is none."""


def device_for(name: str) -> Device:
    """The device of a name in ``DEVICES``."""
    return OnNumPy() if name == "numpy" else OnCuda()
