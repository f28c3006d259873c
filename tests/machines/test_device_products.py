"""Sums that a device returns: within their bounds, proven, and refused when anything is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.backends import Settings
from qpsvm.backends.own_solvers import ActiveSetBackend
from qpsvm.exceptions import DeviceResultError
from qpsvm.kernels import RBF, Kernel, Polynomial
from qpsvm.machines.device_products import DeviceProducts
from qpsvm.qp.sample_gram import products_by
from tests.devices import DEVICES, OnNumPy, device_for

SEEDS = range(6)
N = 700
KERNELS = [RBF(0.3), Polynomial(gamma=0.3, degree=3, coef0=1.0)]


def problem_of(kernel: Kernel = KERNELS[0], n: int = N) -> Any:
    """A classification problem whose kernel matrix is not stored."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, 4))
    y = np.sign(np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n))
    return qpsvm.SoftMargin(C=3.0).dual(X, y, kernel=kernel)


class Broken(OnNumPy):
    """A device whose sums a fault changes where a certificate asks for them.

    The fault is told which of the two passes it is: 1, or 0 for the one in the opposite order.
    """

    def __init__(self, fault: Callable[[Any, int], Any], **changed: float) -> None:
        self.fault, self.changed, self.passes = fault, changed, 0

    def sums(self, form: Any, X: Any, Z: Any, V: Any) -> Any:
        if V.shape[1] == 1:  # of the method, whose answer has to pass the verdict
            return super().sums(form, X, Z, V)
        self.passes += 1
        return self.fault(super().sums(replace(form, **self.changed), X, Z, V), self.passes % 2)


def entry(size: float) -> Callable[[Any, int], Any]:
    """A fault of one entry of the first pass."""

    def fault(sums: Any, number: int) -> Any:
        if number == 1:
            sums[137, 0] += size
        return sums

    return fault


def rows(change: Callable[[Any], Any], which: slice) -> Callable[[Any, int], Any]:
    """A fault of some rows of the first pass."""

    def fault(sums: Any, number: int) -> Any:
        if number == 1:
            sums[which] = change(sums[which])
        return sums

    return fault


def stale() -> Callable[[Any, int], Any]:
    """A buffer that nothing was written to since an earlier pass."""
    rng = np.random.default_rng(5)

    def fault(sums: Any, number: int) -> Any:
        return rng.standard_normal(sums.shape) if number == 1 else sums

    return fault


def every(change: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
    """A fault of all passes."""

    def fault(sums: Any, number: int) -> Any:
        del number
        return change(sums)

    return fault


FAULTS: dict[str, Callable[[], Broken]] = {
    "one entry": lambda: Broken(entry(1e-3)),
    "one entry by little": lambda: Broken(entry(1e-6)),
    "one sign": lambda: Broken(rows(np.negative, slice(20, 21))),
    "NaN": lambda: Broken(entry(np.nan)),
    "infinity": lambda: Broken(entry(np.inf)),
    "a tile of zeros": lambda: Broken(rows(np.zeros_like, slice(128, 256))),
    "a tile twice": lambda: Broken(rows(lambda sums: sums[::-1], slice(0, 128))),
    "all zeros": lambda: Broken(every(np.zeros_like)),
    "a stale buffer": lambda: Broken(stale()),
    "columns exchanged": lambda: Broken(rows(lambda sums: sums[:, ::-1], slice(None))),
    "rows exchanged": lambda: Broken(rows(lambda sums: np.roll(sums, 1, axis=0), slice(None))),
    "a biased exponential": lambda: Broken(every(lambda sums: sums * (1.0 + 1e-11))),
    "another width": lambda: Broken(every(np.array), gamma=0.3 * (1.0 + 1e-9)),
    "single precision": lambda: Broken(every(lambda sums: sums.astype(np.float32).astype(float))),
    "an offset": lambda: Broken(every(lambda sums: sums + 1e-9)),
    "a shape": lambda: Broken(every(lambda sums: sums[:-1])),
}


def products(device: Any, problem: Any, seed: int = 0) -> Any:
    """``K V`` and ``K W`` as a certificate asks for them."""
    rng = np.random.default_rng(3)
    v = rng.standard_normal(N) * (rng.random(N) < 0.4)
    gram = problem.model.gram.gram
    with np.errstate(all="ignore"):
        return DeviceProducts(device, seed=seed)(gram, v[:, None], np.abs(v)[:, None])


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("seed", SEEDS)
def test_sound_sums_pass(name: str, kernel: Kernel, seed: int) -> None:
    problem = problem_of(kernel)
    found = products(device_for(name), problem, seed)
    rng = np.random.default_rng(3)
    v = rng.standard_normal(N) * (rng.random(N) < 0.4)
    known = problem.model.gram.gram.products_and_sizes(v[:, None], np.abs(v)[:, None])
    for one, other in zip(found, known, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * np.max(np.abs(other)))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_fault_is_refused(fault: str, seed: int) -> None:
    with pytest.raises(DeviceResultError, match="not verified"):
        products(FAULTS[fault](), problem_of(), seed)


@pytest.mark.parametrize("fault", FAULTS)
def test_no_solve_returns_an_answer_of_a_faulty_device(fault: str) -> None:
    with pytest.raises(DeviceResultError), np.errstate(all="ignore"):
        qpsvm.solve(problem_of(n=900), device=FAULTS[fault]())


def test_a_method_whose_gradient_is_wrong_is_not_called_optimal() -> None:
    class WrongGradient(OnNumPy):
        def sums(self, form: Any, X: Any, Z: Any, V: Any) -> Any:
            return super().sums(form, X, Z, V) * (1.01 if V.shape[1] == 1 else 1.0)

    problem = problem_of(n=300)
    answer = ActiveSetBackend(WrongGradient()).solve(problem.qp, Settings())
    assert not qpsvm.verify(problem, problem.recover(answer)).passed


def test_the_processor_multiplies_outside_a_solve_and_where_nothing_is_known() -> None:
    problem = problem_of()
    gram, v = problem.model.gram.gram, np.ones((N, 1))
    with products_by(DeviceProducts(FAULTS["all zeros"]())), pytest.raises(DeviceResultError):
        gram.products(v)
    gram.products(v)
    matrix = qpsvm.qp.SampleGram.of_matrix(np.eye(3), positive_semidefinite=True)
    assert DeviceProducts(OnNumPy())(matrix, np.ones((3, 1)), np.ones((3, 0))) is None
    assert DeviceProducts(OnNumPy())(gram, np.zeros((N, 1)), np.ones((N, 0))) is None
