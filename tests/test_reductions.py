"""Offsets and scales of the data, through ``qpsvm.solve``: what must not change does not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm import constraints
from qpsvm.numerics.arrays import as_dense
from qpsvm.qp import Status
from tests.tolerances import ASKED

MOVED = 10.0 * np.sqrt(ASKED)
"""Distance of weights whose objectives agree to the accuracy asked for."""

OWN = ("certified_gap", "feasibility", "rounding", "dual_repair", "sample_kkt", "slack", "weights")
"""Checks of the machine itself, beside the residuals of the program."""

FAMILIES = (
    qpsvm.SoftMargin(C=1.0),
    qpsvm.SoftMargin(C=1.0, loss="squared_hinge"),
    qpsvm.NuClassification(nu=0.4),
    qpsvm.EpsilonRegression(C=1.0, epsilon=0.1),
)


def samples(n: int = 200) -> Any:
    rng = np.random.default_rng(0)
    X = rng.integers(-64, 65, size=(n, 4)) / 32.0  # so that adding a whole number is exact
    values = X @ [1.0, -2.0, 0.5, 0.0] + 0.5 * rng.normal(size=n)
    return X, values


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("offset", [2.0**8, 2.0**14])
def test_an_offset_moves_the_intercept_and_nothing_else(
    family: Any, form: str, offset: float
) -> None:
    X, values = samples()
    y = values if isinstance(family, qpsvm.EpsilonRegression) else np.sign(values)
    plain, *moved = (
        qpsvm.solve(getattr(family, form)(X + by, y), backend=backend)
        for by, backend in [(0.0, "ipm"), (offset, "ipm"), (offset, "auto")]
    )
    assert "offsets" in moved[0].qp.statistics.note
    assert "offsets" not in plain.qp.statistics.note
    for one in moved:
        same_but_for_the_intercept(plain, one, X, offset)


def same_but_for_the_intercept(plain: Any, moved: Any, X: Any, offset: float) -> None:
    assert plain.status is moved.status is Status.OPTIMAL
    np.testing.assert_allclose(moved.coef, plain.coef, atol=MOVED)
    np.testing.assert_allclose(
        moved.decision_function(X + offset), plain.decision_function(X), atol=10.0 * MOVED
    )


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_an_offset_of_a_million_spreads_is_solved_to_eps(C: float) -> None:
    X, values = samples(400)
    problem = qpsvm.SoftMargin(C=C).dual(X + 1e6, np.sign(values))
    solution = qpsvm.solve(problem)
    assert solution.status is Status.OPTIMAL
    assert not solution.qp.statistics.escalated


def test_constraints_and_offsets_go_together() -> None:
    X, values = samples()
    rules = [
        constraints.nonnegative(1),
        constraints.LinearConstraints(G=[[1.0, 0.0, 0.0, 0.0, 0.0]], h=0.5),
    ]
    family = qpsvm.SoftMargin(C=1.0)
    plain = qpsvm.solve(family.dual(X, np.sign(values), constraints=rules))
    moved = qpsvm.solve(family.dual(X + 2.0**10, np.sign(values), constraints=rules))
    assert plain.status is moved.status is Status.OPTIMAL
    np.testing.assert_allclose(moved.coef, plain.coef, atol=MOVED)


def test_a_warm_start_is_mapped_there() -> None:
    X, values = samples()
    problem = qpsvm.SoftMargin(C=1.0).dual(X + 2.0**10, np.sign(values))
    solution = qpsvm.solve(problem)
    again = qpsvm.solve(problem, "osqp", warm_start=solution)
    cold = qpsvm.solve(problem, "osqp")
    assert again.status is Status.OPTIMAL
    assert again.qp.statistics.iterations <= cold.qp.statistics.iterations


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("size", [2.0**20, 2.0**30])
def test_a_feature_in_tiny_units_does_not_spoil_the_machine(form: str, size: float) -> None:
    """Every check of the machine itself holds, though residuals of the dual program round."""
    X, values = samples(80)
    X = X * [size, 1.0, 1.0, 1.0]
    rules = [constraints.nonnegative(1), constraints.fairness_band(2, 0.01)]
    problem = getattr(qpsvm.SoftMargin(C=1.0), form)(X, np.sign(values), constraints=rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
        solution = qpsvm.solve(problem)
    checks = {check.name: check for check in qpsvm.verify(problem, solution).checks}
    for name in OWN:
        assert checks[name].passed, checks[name]
    G, h = as_dense(problem.model.constraints.G), problem.model.constraints.h
    point = np.append(solution.coef, solution.intercept)
    # a weight that moves no decision value by more than eps counts as zero
    negligible = ASKED / np.append(np.max(np.abs(X), axis=0), 1.0)
    terms = np.abs(G) @ (np.abs(point) + negligible) + np.abs(h)
    assert (G @ point - h <= ASKED * terms).all()


def test_both_forms_of_a_badly_scaled_problem_give_one_machine() -> None:
    X, values = samples(80)
    X = X * [2.0**20, 1.0, 1.0, 1.0]
    found = []
    for form in ("dual", "primal"):
        make = getattr(qpsvm.SoftMargin(C=1.0), form)
        problem = make(X, np.sign(values), constraints=constraints.nonnegative(1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
            found.append(qpsvm.solve(problem))
    np.testing.assert_allclose(
        found[0].decision_function(X), found[1].decision_function(X), atol=10.0 * MOVED
    )


@pytest.mark.exhaustive  # half a minute of attempts before the proof
def test_contradicting_constraints_of_a_badly_scaled_problem_are_named() -> None:
    X, values = samples(80)
    X = X * [2.0**20, 1.0, 1.0, 1.0]
    rules = [constraints.bounded(1, lower=1.0), constraints.bounded(1, upper=-1.0)]
    problem = qpsvm.SoftMargin(C=1.0).dual(X, np.sign(values), constraints=rules)
    with pytest.raises(qpsvm.exceptions.ConflictingConstraintsError):
        qpsvm.solve(problem)
