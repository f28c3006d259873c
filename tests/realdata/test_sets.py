"""Every set is solved and verified at the default accuracy.

The sets of scikit-learn are always there; the others are looked for in the folder ``QPSVM_DATA``
(default: ``../shared/data`` from the project's root), whose ``load.py`` reads them.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import qpsvm
from qpsvm import HardMargin, SoftMargin
from qpsvm.qp import Status
from tests.realdata.folder import loader, needs_data
from tests.reference import bundled
from tests.tolerances import SAME_DECISION, SAME_OBJECTIVE

EPS = 1e-8
SETS = (
    "heart_scale",
    "sonar_scale",
    "ionosphere_scale",
    "diabetes_scale",
    "fourclass",
    "splice",
    "leukemia_allaml",
)
KERNELS = pytest.mark.parametrize("kernel", ["linear", "rbf"])
PRICES = pytest.mark.parametrize("C", [1.0, 100.0])


@cache
def stored(name):
    """Samples and labels of a set in the folder."""
    return loader().binary(name)


def solved_and_verified(problem, backend):
    """A solve that would raise a warning, and so fail, if the verifier were not satisfied."""
    solution = qpsvm.solve(problem, backend, eps=EPS, strict=True)
    assert solution.status is Status.OPTIMAL
    report = qpsvm.verify(problem, solution, eps=EPS)
    assert report.passed, str(report)
    assert report.relative_gap <= EPS
    return solution, report


@needs_data
@PRICES
@KERNELS
@pytest.mark.parametrize("name", SETS)
def test_the_dual_of_every_stored_set_is_verified(name, kernel, C):
    X, y = stored(name)
    problem = SoftMargin(C).dual(X, y, kernel=kernel)
    solution, report = solved_and_verified(problem, "cvxopt")
    assert report.summary.n_support == solution.n_support >= 2
    assert solution.score(X, y) > np.mean(y == np.sign(y.sum()))  # better than the larger class


@needs_data
@PRICES
@pytest.mark.parametrize("name", [name for name in SETS if name != "leukemia_allaml"])
def test_primal_and_dual_of_every_stored_set_agree(name, C):
    X, y = stored(name)
    primal, of_primal = solved_and_verified(SoftMargin(C).primal(X, y), "cvxpy:CLARABEL")
    dual, of_dual = solved_and_verified(SoftMargin(C).dual(X, y), "cvxopt")
    assert of_primal.objective == pytest.approx(of_dual.objective, rel=SAME_OBJECTIVE)
    # |w - w*|^2 <= 2 gap, with the relative gap at 1e-8 of these objectives
    bound = np.sqrt(2 * EPS * of_dual.objective) + SAME_DECISION
    assert np.linalg.norm(primal.coef - dual.coef) <= 2 * bound


@needs_data
@pytest.mark.parametrize("name", ["heart_scale", "sonar_scale", "ionosphere_scale"])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_first_order_solver_is_verified_just_as_strictly(name, form):
    X, y = stored(name)
    solved_and_verified(getattr(SoftMargin(1.0), form)(X, y), "osqp")


@needs_data
@pytest.mark.parametrize("backend", ["cvxopt", "osqp", "cvxpy:CLARABEL"])
def test_more_features_than_samples_have_a_hard_margin(backend):
    X, y = stored("leukemia_allaml")
    assert X.shape[1] > 50 * X.shape[0]
    solution, report = solved_and_verified(HardMargin().dual(X, y), backend)
    assert report.summary.training_errors == 0
    assert (y * solution.decision_function(X)).min() == pytest.approx(1.0, abs=1e-7)


@PRICES
@KERNELS
@pytest.mark.parametrize("name", bundled.SETS)
def test_the_dual_of_every_bundled_set_is_verified(name, kernel, C):
    problem = SoftMargin(C).dual(*bundled.bundled(name), kernel=kernel)
    solved_and_verified(problem, "cvxopt")


@PRICES
@pytest.mark.parametrize("backend", ["osqp", "cvxpy:CLARABEL"])
@pytest.mark.parametrize("name", bundled.SETS)
def test_the_primal_of_every_bundled_set_is_verified(name, backend, C):
    problem = SoftMargin(C).primal(*bundled.bundled(name))
    solved_and_verified(problem, backend)
