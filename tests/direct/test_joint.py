"""Machines with one decision function per class on the short way."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qpsvm
from qpsvm import kernels
from qpsvm.backends import Settings
from qpsvm.direct.joint import solved_jointly
from qpsvm.estimators import SVC
from qpsvm.exceptions import ToleranceNotReachedError, ToleranceNotReachedWarning
from qpsvm.qp import Status
from tests.strategies import examples

KERNELS = {
    "linear": kernels.Linear(),
    "rbf": kernels.RBF(0.5),
    "narrow": kernels.RBF(30.0),
    "polynomial": kernels.Polynomial(0.5, 3, 1.0),
}


def problem(rng: Any, kernel: str) -> Any:
    """A random problem of two to five classes: ties, equal samples, weights, prices."""
    k = int(rng.integers(2, 6))
    n, d = int(rng.integers(k, 40)), int(rng.integers(1, 6))
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1) + y[:, None] * rng.random()
    if rng.random() < 0.3:
        X = np.round(X)
    if rng.random() < 0.3:
        X[: n // 2] = X[n // 2 : n // 2 * 2]
    weights = rng.choice([0.5, 1.0, 3.0], n) if rng.random() < 0.3 else None
    intercept: Any = ("none", "penalized")[rng.integers(2)]
    formulation = qpsvm.CrammerSinger(C=10.0 ** rng.uniform(-3, 3), intercept=intercept)
    return formulation.dual(X, y, kernel=KERNELS[kernel], sample_weight=weights)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=examples(60))
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-4, 1e-8]))
def test_what_is_certified_passes_the_verifier(kernel: str, seed: int, eps: float) -> None:
    made = problem(np.random.default_rng(seed), kernel)
    solution = solved_jointly(made, Settings(eps=eps))
    if solution is None or solution.status is not Status.OPTIMAL:
        return
    report = qpsvm.verify(made, solution, eps=eps)
    assert report.passed, [c for c in report.checks if not c.passed]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the other misses eps, its gap counts
        other = qpsvm.certify(made, qpsvm.solve(made, "cvxopt", eps=eps))
    own = qpsvm.certify(made, solution)
    apart = abs(own.primal_objective - other.primal_objective)
    assert apart <= own.gap_upper + other.gap_upper


def test_ordinary_machines_are_certified_there() -> None:
    """Most of them; equal samples of two classes and kernels without digits are not."""
    for kernel in KERNELS:
        made = [problem(np.random.default_rng(seed), kernel) for seed in range(30)]
        found = [solved_jointly(each, Settings()) for each in made]
        assert sum(each is not None for each in found) >= (20 if kernel == "polynomial" else 28)


def test_where_only_rounding_is_in_the_way_the_machine_is_returned_with_a_warning() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.standard_normal((60, 2)), 1e5 + rng.standard_normal(60)])
    made = qpsvm.CrammerSinger(C=100.0).dual(X, rng.integers(0, 3, 60), kernel=kernels.RBF(1.0))
    with pytest.warns(ToleranceNotReachedWarning, match="ounding"):
        solution = qpsvm.solve(made, eps=1e-12)
    assert solution.status is Status.INACCURATE
    assert qpsvm.certify(made, solution).gap <= 1e-9 * float(np.sum(solution.slack) + 1.0)
    with pytest.raises(ToleranceNotReachedError, match="ounding"):
        qpsvm.solve(made, eps=1e-12, strict=True)


def test_no_option_is_ignored() -> None:
    made = problem(np.random.default_rng(1), "rbf")
    for settings_ in (Settings(max_iterations=5), Settings(time_limit=1.0), Settings(verbose=True)):
        assert solved_jointly(made, settings_) is None


def test_the_estimator_takes_it() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 3))
    y = np.argmax(X, axis=1)
    machine = SVC(multi_class="crammer_singer", C=10.0).fit(X, y)
    assert machine.score(X, y) > 0.9
    assert machine.certificate_.relative_gap <= 1e-8
    assert "short way" in machine.solution_.qp.statistics.seconds
