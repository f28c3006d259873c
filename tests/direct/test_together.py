"""Machines of a reduction solved on one kernel matrix, and what is built when it is read."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qpsvm
from qpsvm import kernels
from qpsvm.backends import Settings
from qpsvm.direct.together import solved_together
from qpsvm.estimators import SVC, LinearSVC
from tests.strategies import examples

REDUCTIONS = {
    "pairs": qpsvm.OneVsOne,
    "rest": qpsvm.OneVsRest,
    "unweighted rest": lambda formulation: qpsvm.OneVsRest(formulation, weigh_rest=False),
}
KERNELS = {"rbf": kernels.RBF(0.5), "linear": kernels.Linear(), "poly": kernels.Polynomial(1.0, 2)}


def drawn(rng: Any, *, loss: str, reduction: str, kernel: str) -> Any:
    """A random problem of three to five classes in any order, weighted or not."""
    k, n, d = int(rng.integers(3, 6)), int(rng.integers(15, 40)), int(rng.integers(1, 5))
    codes = np.append(np.arange(k), rng.integers(0, k, n - k))
    rng.shuffle(codes)
    X = rng.standard_normal((n, d)) + codes[:, None] * rng.random()
    labels = np.array(["e", "b", "d", "a", "c"])[codes]
    weights = rng.choice([0.0, 1.0, 2.0], n) if rng.random() < 0.3 else None
    if weights is not None:
        weights[:k] = 1.0
    by_class = {"a": 2.0, "b": 0.5} if k == 5 and weights is None else None
    formulation = qpsvm.SoftMargin(
        C=10.0 ** rng.uniform(-2, 2),
        loss=loss,  # type: ignore[arg-type]
        intercept=("free", "penalized", "none")[rng.integers(3)],  # type: ignore[arg-type]
        class_weight=by_class,
    )
    made: Any = REDUCTIONS[reduction](formulation)
    return made.dual(X, labels, kernel=KERNELS[kernel], sample_weight=weights), X


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@settings(max_examples=examples(20))
@given(seed=st.integers(0, 2**32 - 1))
def test_machines_solved_together_are_those_of_their_problems(
    loss: str, reduction: str, kernel: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    problem, X = drawn(rng, loss=loss, reduction=reduction, kernel=kernel)
    solution = solved_together(problem, Settings(eps=1e-9))
    if solution is None:
        return
    assert "solutions" not in vars(solution)  # none was built
    assert solution.n_machines == len(problem.names)
    before, values = solution.predict(X), solution.machine_values(X)
    report = qpsvm.verify(problem, solution, eps=1e-9)
    assert report.passed
    assert "solutions" in vars(solution)
    assert np.array_equal(solution.machine_values(X), values)
    assert np.array_equal(solution.predict(X), before)
    for part, one in zip(problem.problems, solution.solutions, strict=True):
        own = qpsvm.certify(part, one)
        other = qpsvm.certify(part, qpsvm.solve(part, "active-set", eps=1e-9))
        apart = abs(own.primal_objective - other.primal_objective)
        assert apart <= own.gap_upper + other.gap_upper
    again = pickle.loads(pickle.dumps(solution))
    assert np.array_equal(again.predict(X), before)
    assert again.status is qpsvm.qp.Status.OPTIMAL


def test_replaced_machines_are_those_that_predict() -> None:
    problem, X = drawn(np.random.default_rng(3), loss="hinge", reduction="pairs", kernel="rbf")
    solution = qpsvm.solve(problem)
    others = tuple(s.replace(intercept=s.intercept + 100.0) for s in solution.solutions)
    moved = solution.replace(solutions=others)
    np.testing.assert_allclose(moved.machine_values(X), solution.machine_values(X) + 100.0)
    assert not qpsvm.verify(problem, moved).passed


def test_prepared_sums_are_not_what_is_believed() -> None:
    """Sums that belong to other coefficients are forgotten by the verifier."""
    problem, X = drawn(np.random.default_rng(4), loss="hinge", reduction="pairs", kernel="rbf")
    solution = qpsvm.solve(problem)
    honest = solution.machine_values(X)
    vars(solution)["sums"] = lambda samples: np.zeros((len(samples), solution.n_machines))
    assert qpsvm.verify(problem, solution).passed
    assert np.array_equal(solution.machine_values(X), honest)
    one, part = solution.solutions[0], problem.problems[0]
    honest = one.decision_function(X)
    vars(one)["sums"] = lambda samples: np.zeros(len(samples))
    assert qpsvm.verify(part, one).passed
    assert np.array_equal(one.decision_function(X), honest)


@pytest.mark.parametrize(
    "machine", [SVC(), SVC(kernel="linear"), SVC(kernel="poly"), LinearSVC()], ids=str
)
@pytest.mark.parametrize("classes", [2, 4])
def test_one_sample_and_many_have_the_same_bits(machine: Any, classes: int) -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((120, 7))
    machine.fit(X, np.arange(120) % classes)
    new = rng.standard_normal((333, 7))
    many = machine.decision_function(new)
    for size in (1, 2, 3, 17):
        some = machine.decision_function(new[:size])
        assert np.array_equal(some, many[:size])
    for i in (5, 100, 332):
        assert np.array_equal(machine.decision_function(new[i : i + 1])[0], many[i])
