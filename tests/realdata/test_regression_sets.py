"""Real regression sets, features and targets standardised: solved and verified at 1e-8."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler, scale

import qpsvm
from qpsvm import (
    DataDescription,
    EpsilonRegression,
    NuRegression,
    OneClass,
    QuantileRegression,
)
from qpsvm.qp import Status
from tests.realdata.folder import loader, needs_data
from tests.tolerances import SAME_OBJECTIVE

pytestmark = needs_data
EPS = 1e-8
SHAPES = {
    "housing_scale": (506, 13),
    "abalone": (4177, 8),
    "cpusmall": (8192, 12),
    "cadata": (3000, 8),  # of 20640
}
NAMES = pytest.mark.parametrize("name", SHAPES)
BACKENDS = pytest.mark.parametrize("backend", ["cvxpy:CLARABEL", "qpsolvers:piqp"])
EDGE = 1e-6
"""Targets closer to an edge than this are on it."""


@cache
def stored(name, rows=None):
    """Standardised samples and targets; a seeded choice of the rows where there are more."""
    data = loader().load(name)
    X, t = data["X"], data["y"]
    X = X.toarray() if sp.issparse(X) else X
    wanted = min(SHAPES[name][0], rows or len(X))
    if wanted < len(X):
        chosen = np.random.default_rng(0).permutation(len(X))[:wanted]
        X, t = X[chosen], t[chosen]
    return StandardScaler().fit_transform(X), scale(t)


def solved_and_verified(problem, backend="auto"):
    solution = qpsvm.solve(problem, backend, eps=EPS, strict=True)
    assert solution.status is Status.OPTIMAL
    report = qpsvm.verify(problem, solution, eps=EPS)
    assert report.passed, str(report)
    return solution, report


def formulations(n):
    return {
        "tube": EpsilonRegression(1.0, 0.1),
        "squared tube": EpsilonRegression(1.0, 0.1, loss="squared_epsilon_insensitive"),
        "nu": NuRegression(0.3, C=float(n)),
        "upper quantile": QuantileRegression(0.9, C=1.0),
    }


FAMILIES = pytest.mark.parametrize("family", formulations(1))


def assert_sensible(family, solution, X, t):
    """What its parameters promise of the machine, apart from being optimal."""
    residual = t - solution.decision_function(X)
    if family == "upper quantile":
        assert np.mean(residual < -EDGE) <= 0.9
        assert np.mean(residual > EDGE) <= 0.1
        assert np.mean(residual < EDGE) >= 0.9
    elif family == "nu":
        assert solution.width > 0.05
        assert np.mean(np.abs(residual) > solution.width + EDGE) <= 0.3
        assert np.mean(np.abs(residual) > solution.width - EDGE) >= 0.3
    else:
        assert solution.score(X, t) > 0.3


@BACKENDS
@FAMILIES
@NAMES
def test_the_linear_primal_with_all_rows(name, family, backend):
    X, t = stored(name)
    assert X.shape == SHAPES[name]
    problem = formulations(len(X))[family].primal(X, t)
    solution, _ = solved_and_verified(problem, backend)
    assert_sensible(family, solution, X, t)


@FAMILIES
@NAMES
def test_the_rbf_dual_with_some_rows(name, family):
    X, t = stored(name, 400)
    problem = formulations(len(X))[family].dual(X, t, kernel="rbf")
    solution, report = solved_and_verified(problem)
    assert_sensible(family, solution, X, t)
    flat = 0.5 * np.sum(np.square(t))  # what the mean of the targets costs with squares
    if family == "squared tube":
        assert report.objective < flat


@FAMILIES
def test_primal_and_dual_agree(family):
    X, t = stored("housing_scale")
    formulation = formulations(len(X))[family]
    primal, of_primal = solved_and_verified(formulation.primal(X, t), "cvxpy:CLARABEL")
    dual, of_dual = solved_and_verified(formulation.dual(X, t), "cvxopt")
    assert of_primal.objective == pytest.approx(of_dual.objective, rel=SAME_OBJECTIVE)
    bound = np.sqrt(2 * EPS * of_dual.objective)  # |w - w*| of either
    assert np.linalg.norm(primal.coef - dual.coef) <= 2 * bound


def test_a_generous_price():
    X, t = stored("cadata", 400)
    for formulation in (EpsilonRegression(100.0, 0.1), NuRegression(0.3, C=100.0 * len(X))):
        solution, _ = solved_and_verified(formulation.dual(X, t, kernel="rbf"))
        assert solution.score(X, t) > 0.7


def test_quantiles_are_in_order_on_average():
    X, t = stored("abalone")
    means = [
        solved_and_verified(QuantileRegression(tau).primal(X, t), "qpsolvers:piqp")[0]
        .decision_function(X)
        .mean()
        for tau in (0.1, 0.5, 0.9)
    ]
    assert means[0] < means[1] < means[2]


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5])
def test_novelty_detection(nu):
    X, _ = stored("cpusmall", 600)
    n = len(X)
    plane, _ = solved_and_verified(OneClass(nu).dual(X, kernel="rbf"))
    for solution in (
        plane,
        solved_and_verified(DataDescription(1.0 / (nu * n)).dual(X, kernel="rbf"))[0],
        solved_and_verified(DataDescription(1.0 / (nu * n)).dual(X))[0],
        solved_and_verified(DataDescription(1.0 / (nu * n)).primal(X), "cvxpy:CLARABEL")[0],
    ):
        decision = solution.decision_function(X)
        edge = EDGE * np.abs(decision).max()
        assert np.mean(decision < -edge) <= nu
        assert np.mean(decision < edge) >= nu
        assert solution.n_support >= nu * n
