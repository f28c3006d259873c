"""Equal programs, equal answers: however a program is written, it has one status and objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.preprocessing import scale

import qpsvm
from qpsvm.exceptions import ToleranceNotReachedWarning
from qpsvm.qp import Check, LowRankQuadratic, QuadraticProgram, Status

N = 100
"""Samples of the textbook's program."""


def textbook(scaled: bool) -> tuple[np.ndarray, np.ndarray]:
    """Signed samples of breast cancer, ``y_i x_i``, and the labels."""
    X, y = load_breast_cancer(return_X_y=True)
    s = 2.0 * y[:N] - 1.0
    return (scale(X) if scaled else X)[:N] * s[:, None], s


def as_rows(F: np.ndarray, s: np.ndarray, C: float) -> QuadraticProgram:
    """The dual of the textbook: ``P = yy' o K``, ``G = [-I; I]``."""
    n = len(s)
    G, h = np.vstack([-np.eye(n), np.eye(n)]), np.concatenate([np.zeros(n), np.full(n, C)])
    return QuadraticProgram(F @ F.T, -np.ones(n), G, h, s[None], [0.0])


def as_bounds(F: np.ndarray, s: np.ndarray, C: float) -> QuadraticProgram:
    return QuadraticProgram(F @ F.T, -np.ones(len(s)), A=s[None], b=[0.0], lb=0.0, ub=C)


def as_factor(F: np.ndarray, s: np.ndarray, C: float) -> QuadraticProgram:
    P = LowRankQuadratic(F.copy())
    return QuadraticProgram(P, -np.ones(len(s)), A=s[None], b=[0.0], lb=0.0, ub=C)


Build = Callable[[np.ndarray, np.ndarray, float], QuadraticProgram]


@pytest.mark.parametrize("scaled", [True, False], ids=["scaled", "raw"])
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("build", [as_rows, as_bounds, as_factor])
def test_the_textbook_program_is_solved_however_it_is_written(
    build: Build, C: float, scaled: bool
) -> None:
    F, s = textbook(scaled)
    program = build(F, s, C)
    found = qpsvm.solve(program)
    assert found.status is Status.OPTIMAL
    assert found.statistics.asked == ("ipm",)
    machine = qpsvm.solve(qpsvm.SoftMargin(C=C).dual(F * s[:, None], s))
    assert found.x is not None
    assert -program.objective(found.x) == pytest.approx(
        qpsvm.certify(qpsvm.SoftMargin(C=C).dual(F * s[:, None], s), machine).dual_objective,
        rel=3e-8,
    )


@pytest.mark.parametrize("factor", [1e-12, 1e-5, 1e5, 1e12])
@pytest.mark.parametrize("build", [as_rows, as_bounds, as_factor])
def test_a_factor_of_the_objective_changes_nothing(build: Build, factor: float) -> None:
    F, s = textbook(scaled=True)
    unit = build(F, s, 10.0)
    # P and q times the factor; the factor F times its root
    P = LowRankQuadratic(F * np.sqrt(factor)) if build is as_factor else (F @ F.T) * factor
    found = qpsvm.solve(unit.replace(P=P, q=unit.q * factor))
    expected = qpsvm.solve(unit)
    assert found.status is expected.status is Status.OPTIMAL
    assert unit.objective(found.x) == pytest.approx(unit.objective(expected.x), rel=2e-8)


@pytest.mark.parametrize("unit", [1e-310, 1e300])
def test_an_objective_in_a_denormal_unit_is_no_error(unit: float) -> None:
    program = QuadraticProgram([[unit]], [-3.0 * unit], lb=0.0, ub=2.0)
    assert qpsvm.solve(program).x == pytest.approx(2.0)


def test_an_objective_of_the_smallest_doubles_is_left_open() -> None:
    """Products of these lose all of their digits: no verdict to 1e-8 can be proven."""
    program = QuadraticProgram([[1e-323]], [-3e-323], lb=0.0, ub=2.0)
    with pytest.warns(ToleranceNotReachedWarning, match="Rounding may hide"):
        found = qpsvm.solve(program)
    assert found.status is Status.INACCURATE
    assert not qpsvm.verify(program, found).passed


def test_rows_that_are_bounds_are_no_rows_for_the_verifier() -> None:
    F, s = textbook(scaled=True)
    rows, bounds = as_rows(F, s, 1.0), as_bounds(F, s, 1.0)
    of_bounds = qpsvm.solve(bounds)
    assert of_bounds.z_lower is not None
    assert of_bounds.z_upper is not None
    of_rows = of_bounds.replace(
        z=np.concatenate([of_bounds.z_lower, of_bounds.z_upper]),
        z_lower=np.zeros(N),
        z_upper=np.zeros(N),
    )
    one, other = qpsvm.verify(rows, of_rows), qpsvm.verify(bounds, of_bounds)
    assert one.passed
    assert one.bound is not None
    assert other.bound is not None
    assert one.bound.lower == pytest.approx(other.bound.lower, rel=1e-13)


# --- machines -----------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["free", "penalized"])
@pytest.mark.parametrize("C", [1e4, 1e5])
def test_the_dual_of_unscaled_data_passes_as_the_primal_does(C: float, intercept: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    family = qpsvm.SoftMargin(C=C, intercept=intercept)
    dual = family.dual(X, y)
    assert qpsvm.solve(dual).status is Status.OPTIMAL  # the short way
    found = qpsvm.solve(dual, time_limit=600.0)
    assert found.status is Status.OPTIMAL
    assert set(found.qp.statistics.asked) == {"ipm"}  # of its dual program, or of its primal one
    # the weights stand beside alpha: they are near those that alpha implies, not equal to them
    implied = X.T @ found.expansion
    assert 0.0 < np.linalg.norm(found.coef - implied) < 1e-4 * np.linalg.norm(implied)


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize("C", [1e3, 1e5])
def test_weights_that_a_rounded_alpha_does_not_determine_bound_the_optimum(
    C: float, pair: tuple[int, int]
) -> None:
    X, y = load_wine(return_X_y=True)
    chosen = np.isin(y, pair)
    problem = qpsvm.SoftMargin(C=C).dual(X[chosen], y[chosen])
    assert qpsvm.solve(problem).status is Status.OPTIMAL


def test_corrected_weights_are_those_that_predict() -> None:
    X, y = load_wine(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    found = qpsvm.solve(qpsvm.SoftMargin(C=1e3, intercept="penalized").dual(X, y))
    assert found.status is Status.OPTIMAL
    np.testing.assert_allclose(
        found.decision_function(X), X @ found.coef + found.intercept, rtol=1e-9, atol=1e-9
    )


# --- nothing in vain ----------------------------------------------------------------------------


def unscaled_regression() -> qpsvm.SVMProblem:
    """A polynomial kernel of degree 4 on unscaled data, whose decision values are rounding."""
    X, t = load_diabetes(return_X_y=True, scaled=False)
    kernel = qpsvm.kernels.Polynomial(gamma=0.01, degree=4)
    return qpsvm.EpsilonRegression(C=10.0).dual(X[:150], t[:150], kernel=kernel)


@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
def test_nothing_is_tried_where_rounding_decides() -> None:
    found = qpsvm.solve(unscaled_regression())
    assert found.status is Status.INACCURATE
    assert found.qp.statistics.asked == ("active-set",)
    assert not {"polish", "second attempt", "second backend"} & set(found.qp.statistics.seconds)


def test_the_warning_names_an_eps_that_passes_and_the_remedy() -> None:
    problem = unscaled_regression()
    with pytest.warns(qpsvm.exceptions.ToleranceNotReachedWarning, match="scale the") as told:
        found = qpsvm.solve(problem)
    eps = float(str(told[0].message).split("passes at eps=")[1].split()[0].rstrip("."))
    assert qpsvm.verify(problem, found, eps=eps).passed


def test_a_dual_program_whose_alpha_is_too_rounded_ends_as_its_primal_does() -> None:
    """By the weights of the primal program: it ended at the iteration limit after seconds."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(40, 6)) * [1.0, 10.0, 100.0, 1e5, 1.0, 1.0] + [0, 0, 300, 3e5, 0, 0]
    y = np.where(rng.random(40) < 0.5, 1, -1)
    formulation = qpsvm.SoftMargin(1e5, intercept="penalized")
    objectives = []
    for build in (formulation.primal, formulation.dual):
        problem = build(X, y)
        for limit in (None, 600.0):  # without a limit the dual program goes the short way
            solution = qpsvm.solve(problem, time_limit=limit)
            assert solution.status is Status.OPTIMAL
            objectives.append(qpsvm.verify(problem, solution).objective)
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-8)
    assert "the primal program is solved" in solution.qp.statistics.note


def test_residuals_whose_squares_overflow_are_no_error() -> None:
    problem = qpsvm.SoftMargin().dual([[0.0], [2.0]], [-1, 1])
    report = qpsvm.verify(problem, qpsvm.solve(problem))
    far = replace(report, checks=(Check("natural", 1e200, 1e200, 1e-4),))
    assert far.passes_at == np.inf
