"""The polish: from a rough answer to machine precision, and never to a worse one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import qpsvm
from qpsvm.qp import QPSolution, QuadraticProgram, Status, residuals
from qpsvm.solvers.polish import polish
from tests.strategies import examples, manufactured_program
from tests.tolerances import POLISHED


@given(manufactured_program(), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(200))
def test_a_perturbed_optimum_is_polished_back(
    made: tuple[QuadraticProgram, QPSolution], seed: int
) -> None:
    program, exact = made
    rough = _perturbed(exact, 1e-3, seed)
    assert residuals(program, polish(program, rough)).worst < POLISHED


@given(manufactured_program(strict=False), st.floats(1e-6, 10.0), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(200))
def test_the_result_is_never_worse(
    made: tuple[QuadraticProgram, QPSolution], size: float, seed: int
) -> None:
    program, exact = made
    rough = _perturbed(exact, size, seed)
    assert residuals(program, polish(program, rough)).worst <= residuals(program, rough).worst


@pytest.mark.parametrize("name", ["x", "z", "y", "z_lower", "z_upper"])
def test_what_cannot_be_used_comes_back_unchanged(name: str) -> None:
    program = QuadraticProgram(np.eye(2), [1.0, 1.0], G=[[1.0, 0.0]], h=[0.0], lb=-5.0)
    vectors = {"x": [0.0, 0.0], "z": [0.0], "y": [], "z_lower": [0.0] * 2, "z_upper": [0.0] * 2}
    for broken in (None, [np.nan] * len(vectors[name]) or None):
        solution = QPSolution(Status.UNKNOWN, **{**vectors, name: broken})  # type: ignore[arg-type]
        assert polish(program, solution) is solution


def test_singular_hessians_with_duplicate_variables_do_no_harm() -> None:
    # a duplicated sample makes P singular: the optimum is a segment, any of its points will do
    rng = np.random.default_rng(0)
    F = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    program = QuadraticProgram(F @ F.T, -np.ones(40), lb=0.0, ub=1.0)
    x = np.full(40, 0.3)
    gradient = F @ (F.T @ x) - 1.0
    rough = QPSolution(
        Status.UNKNOWN, x=x, z=[], y=[], z_lower=np.maximum(gradient, 0.0),
        z_upper=np.maximum(-gradient, 0.0),
    )  # fmt: skip
    polished = polish(program, rough)
    assert residuals(program, polished).worst < residuals(program, rough).worst


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_a_rough_answer_is_enough(form: str, kernel: str, C: float) -> None:
    """Two digits from a first-order method; more free variables than the kernel has rank, and
    duplicate samples: the plain active-set iteration cycles here."""
    X, y = make_blobs(120, centers=2, cluster_std=2.5, random_state=0)
    problem = getattr(qpsvm.SoftMargin(C=C), form)(
        np.r_[X, X[:20]], np.r_[y, y[:20]], kernel=kernel
    )
    settings = qpsvm.backends.Settings(eps=1e-2, max_iterations=2000)
    rough = qpsvm.backends.get("osqp").solve(problem.qp, settings)
    polished = polish(problem.qp, rough)
    assert residuals(problem.qp, polished).worst < POLISHED


def _perturbed(solution: QPSolution, size: float, seed: int) -> QPSolution:
    rng = np.random.default_rng(seed)
    changes: dict[str, Any] = {}
    for name in ("x", "z", "y", "z_lower", "z_upper"):
        vector = np.asarray(getattr(solution, name))
        noisy = vector + size * rng.uniform(-1, 1, vector.shape)
        changes[name] = noisy if name in ("x", "y") else np.where(vector > 0, noisy, vector)
    return solution.replace(**changes)
