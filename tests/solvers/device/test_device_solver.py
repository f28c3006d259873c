"""Kernel duals on a device: the processor's optimum of every family, memory, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.backends import Settings
from qpsvm.backends.own_solvers import ActiveSetBackend
from qpsvm.exceptions import MemoryLimitError, UnsupportedProgramError
from qpsvm.kernels import RBF, Custom, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.qp import Status
from qpsvm.solvers.device.kernel_matrix import DeviceKernelMatrix
from qpsvm.solvers.device.settings import DeviceSettings
from tests.devices import DEVICES, OnNumPy, device_for
from tests.families import DUALS

FAMILIES = DUALS | {"large C": qpsvm.SoftMargin(C=1e4)}
KERNELS = [RBF(0.5), Polynomial(gamma=0.5, degree=3, coef0=1.0), Linear(), Sigmoid(0.1, coef0=0.1)]
BLOCKS = {"block_size": 40, "handover": 1e-9, "steps_per_variable": 1000}
NEWTON = {"block_size": 60, "handover": 0.1}
SAME = 1e-9


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Any:
    return device_for(request.param)


def problem_of(name: str, kernel: Kernel | str | None = None, n: int = 160, **more: Any) -> Any:
    """A problem of a family; classes that a curve separates for the hard margin."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    t = np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n) * (name != "hard margin")
    y = t if "regression" in name or name in ("tube", "quantile") else np.where(t > 0.3, 1, -1)
    given = (X,) if name in ("one class", "ball") else (X, y)
    return FAMILIES[name].dual(*given, kernel=RBF(0.5) if kernel is None else kernel, **more)


def on_device(device: Any, problem: Any, **options: Any) -> Any:
    """The answer of the method on a device to a problem's program."""
    return ActiveSetBackend(device).solve(problem.qp, Settings(options=options))


def assert_same_optimum(problem: Any, answer: Any) -> None:
    """The objective of the processor's solver, and a gap that says so."""
    known = qpsvm.solve(problem, "active-set", eps=1e-10).qp
    best = problem.qp.objective(known.x)
    assert answer.status is Status.OPTIMAL
    assert problem.qp.objective(answer.x) == pytest.approx(best, rel=SAME)


@pytest.mark.parametrize("options", [BLOCKS, NEWTON, {}], ids=["blocks", "newton", "whole"])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_optimum_of_every_family(device: Any, name: str, options: Any) -> None:
    problem = problem_of(name)
    assert_same_optimum(problem, on_device(device, problem, **options))


@pytest.mark.parametrize("name", ["hinge", "tube", "nu"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_optimum_of_every_kernel(device: Any, kernel: Kernel, name: str) -> None:
    more = {"indefinite": "clip"} if kernel.name == "sigmoid" else {}
    problem = problem_of(name, kernel, **more)
    assert_same_optimum(problem, on_device(device, problem, **NEWTON))


def test_a_given_matrix(device: Any) -> None:
    data = problem_of("hinge").data
    X, y = data.X, data.targets
    problem = qpsvm.SoftMargin(C=2.0).dual(RBF(0.5)(X, X), y, kernel="precomputed")
    assert_same_optimum(problem, on_device(device, problem, **NEWTON))


def test_weights_repeated_samples_and_a_warm_start(device: Any) -> None:
    data = problem_of("hinge").data
    X, y = data.X, data.targets
    twice, weights = np.vstack([X, X[:80]]), np.linspace(0.5, 2.0, 240)
    problem = qpsvm.SoftMargin(C=2.0).dual(
        twice, np.concatenate([y, y[:80]]), kernel=RBF(0.5), sample_weight=weights
    )
    answer = on_device(device, problem, **NEWTON)
    assert_same_optimum(problem, answer)
    again = ActiveSetBackend(device).solve(problem.qp, Settings(warm_start=answer))
    assert again.statistics.iterations <= 2
    assert_same_optimum(problem, again)


@pytest.mark.parametrize("limit", [10**9, 1_400_000, 1_200_000])
def test_columns_are_kept_within_the_limit_and_evaluated_again(device: Any, limit: int) -> None:
    problem = problem_of("hinge", n=300)
    options = {"block_size": 60, "cached_from": 1, "memory_limit": limit, "largest_set": 60}
    settings = DeviceSettings(**options)
    kernel = DeviceKernelMatrix(problem.qp.P, device, settings)
    n = 300
    assert 8 * (kernel.capacity * n + 3 * kernel.largest_set**2) < limit
    v = device.send(np.linspace(-1.0, 1.0, 200))
    K = RBF(0.5)(problem.data.X, problem.data.X)
    for begin in (0, 50, 100, 0):
        samples = np.arange(begin, begin + 200)
        found = device.fetch(kernel.product(samples, v))
        np.testing.assert_allclose(found, K[:, samples] @ device.fetch(v), atol=1e-11)
    assert_same_optimum(problem, on_device(device, problem, **options))


def test_what_does_not_fit_names_the_limit(device: Any) -> None:
    with pytest.raises(MemoryLimitError, match="raise options=") as caught:
        on_device(device, problem_of("hinge", n=300), memory_limit=1000)
    assert caught.value.limit_bytes == 1000


def test_a_kernel_that_python_alone_knows_is_refused_where_it_is_not_stored() -> None:
    class Mine(RBF):
        def __call__(self, X: Any, Z: Any) -> Any:
            return super().__call__(X, Z)

    problem = problem_of("hinge", Mine(0.5), n=4200)
    with pytest.raises(UnsupportedProgramError, match="Pass device='cpu', or the matrix with"):
        on_device(OnNumPy(), problem)
    stored = problem_of("hinge", Custom(lambda X, Z: np.exp(-np.abs(X[:, None] - Z).sum(axis=2))))
    assert_same_optimum(stored, on_device(OnNumPy(), stored))


def test_programs_of_other_kinds_are_refused() -> None:
    program = qpsvm.qp.QuadraticProgram(np.eye(2), np.ones(2), lb=0.0)
    with pytest.raises(UnsupportedProgramError, match="duals of kernel machines"):
        ActiveSetBackend(OnNumPy()).solve(program, Settings())


def test_ctrl_c_gives_the_best_point(device: Any) -> None:
    problem, seen = problem_of("hinge"), list[int]()

    def interrupt(progress: Any) -> None:
        seen.append(progress.iteration)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        qpsvm.solve(problem, device=device, callback=interrupt, options=BLOCKS)
    solution = caught.value.solution  # type: ignore[attr-defined]
    proof = qpsvm.certify(problem, solution)
    assert 0.0 < proof.relative_gap < 1.0


def test_a_callback_can_stop_it_and_a_time_limit_does(device: Any) -> None:
    problem = problem_of("hinge")
    answer = ActiveSetBackend(device).solve(
        problem.qp, Settings(options=BLOCKS, callback=lambda progress: progress.iteration < 3)
    )
    assert answer.status is Status.INTERRUPTED
    limited = ActiveSetBackend(device).solve(problem.qp, Settings(options=BLOCKS, max_iterations=2))
    assert limited.status is Status.ITERATION_LIMIT


def test_classes_that_cannot_be_separated_end(device: Any) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((200, 2)), rng.choice([-1, 1], 200)
    problem = qpsvm.HardMargin().dual(X, y, kernel=Polynomial(gamma=1.0, degree=2))
    answer = on_device(device, problem, **NEWTON)
    assert answer.status is not Status.OPTIMAL
    assert answer.statistics.iterations < 2000
