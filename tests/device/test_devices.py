"""Devices: kernel values, compensated sums, combinations and factors; what is said without one."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.device import device_named
from qpsvm.exceptions import DeviceError, InvalidParameterError
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from tests.devices import DEVICES, OnNumPy, device_for, why_no_gpu

RNG = np.random.default_rng(0)
KERNELS = [
    Linear(),
    Polynomial(gamma=0.5, degree=1, coef0=1.0),
    Polynomial(gamma=0.5, degree=6, coef0=1.0),
    Polynomial(gamma=0.3, degree=11, coef0=-0.2),
    Sigmoid(gamma=0.2, coef0=-0.1),
    RBF(gamma=0.4),
]
ULPS = 1e-14


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Any:
    return device_for(request.param)


@pytest.mark.parametrize("d", [1, 5, 64, 65, 200])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_values_and_sums_are_those_of_the_kernel(device: Any, kernel: Kernel, d: int) -> None:
    X, Z = (RNG.standard_normal((m, d)) / np.sqrt(d) for m in (333, 145))
    V = RNG.standard_normal((145, 5))
    form = kernel.product_form()
    K = kernel(X, Z)
    on_device = [device.send(array) for array in (X, Z, V)]
    values = device.fetch(device.values(form, *on_device[:2]))
    np.testing.assert_allclose(values.T, K, atol=ULPS * np.max(np.abs(K)))
    sums = device.fetch(device.sums(form, *on_device))
    np.testing.assert_allclose(sums, K @ V, atol=100 * ULPS * np.max(np.abs(K)))


def test_sums_keep_the_digits_that_cancel(device: Any) -> None:
    X = RNG.standard_normal((40, 3))
    Z = np.vstack([X, X, X[:7]])
    v = 1e8 * RNG.standard_normal(40)
    small = RNG.standard_normal(7)
    V = np.concatenate([v, -v, small])[:, None]
    sums = device.fetch(device.sums(RBF(0.3).product_form(), *map(device.send, (X, Z, V))))
    np.testing.assert_allclose(sums[:, 0], RBF(0.3)(X, X[:7]) @ small, rtol=1e-13, atol=1e-13)


def test_far_samples_lose_no_digit(device: Any) -> None:
    X = RNG.standard_normal((50, 4))
    far = device.send(X + 2.0**20)
    form = RBF(0.5).product_form()
    near = device.fetch(device.values(form, far, far))
    exact = RBF(0.5)(X + 2.0**20 - 2.0**20, X + 2.0**20 - 2.0**20)
    np.testing.assert_allclose(near, exact, atol=ULPS)
    np.testing.assert_array_equal(np.diagonal(near), 1.0)


def test_combinations_and_factors(device: Any) -> None:
    rows, weights = RNG.standard_normal((30, 500)), RNG.standard_normal(4)
    places = np.array([3, 29, 0, 3])
    found = device.fetch(device.combination(*map(device.send, (rows, places, weights))))
    np.testing.assert_allclose(found, weights @ rows[places], atol=ULPS * 10)
    A = RNG.standard_normal((60, 60))
    A = A @ A.T + np.eye(60)
    for B in (RNG.standard_normal(60), RNG.standard_normal((60, 2))):
        X = device.fetch(device.factored(device.send(A))(device.send(B)))
        np.testing.assert_allclose(A @ X, B, atol=1e-10)
    assert device.factored(device.send(-A)) is None
    assert device.free_bytes() > 0


def test_a_kernel_of_ones_own_has_no_form() -> None:
    class Mine(RBF):
        def __call__(self, X: Any, Z: Any) -> Any:
            return super().__call__(X, Z) ** 2

    assert Mine(0.5).product_form() is None


def test_names_of_devices() -> None:
    assert device_named("auto") is None
    assert device_named("cpu") is None
    own = OnNumPy()
    assert device_named(own) is own
    with pytest.raises(InvalidParameterError, match="device is 'gpu'; choose 'auto', 'cpu'"):
        device_named("gpu")


def test_without_cupy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    problem = qpsvm.SoftMargin().dual([[0.0], [2.0]], [0, 1], kernel="rbf")
    with pytest.raises(DeviceError, match=r"pip install 'qpsvm\[gpu\]'"):
        qpsvm.solve(problem, device="cuda")


@pytest.mark.cuda
@pytest.mark.skipif(bool(why_no_gpu()), reason=why_no_gpu())
def test_a_gpu_is_named() -> None:
    assert "NVIDIA" in device_for("cuda").name
