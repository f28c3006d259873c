"""Solutions of plain numbers, and what is read of models without auditing them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

import qpsvm
from qpsvm.audits import read_claims, solution_of
from qpsvm.exceptions import InvalidDataError
from tests.tolerances import ROUNDING

RNG = np.random.default_rng(7)
X = RNG.standard_normal((40, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(40) > 0.0, 1, -1)
T = X @ [1.0, -2.0, 0.5] + 0.1 * RNG.standard_normal(40)
RBF = qpsvm.kernels.RBF(gamma=0.5)

PROBLEMS = {
    "linear": qpsvm.SoftMargin(C=2.0).dual(X, Y),
    "primal": qpsvm.SoftMargin(C=2.0).primal(X, Y),
    "rbf": qpsvm.SoftMargin(C=2.0).dual(X, Y, kernel=RBF),
    "tube": qpsvm.EpsilonRegression(C=2.0, epsilon=0.1).dual(X, T, kernel=RBF),
    "nu": qpsvm.NuClassification(nu=0.3).dual(X, Y, kernel=RBF),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_the_numbers_of_an_optimum_are_an_optimum(problem) -> None:
    best = qpsvm.solve(problem, eps=1e-9)
    again = solution_of(problem, alpha=best.alpha, intercept=best.intercept)
    assert qpsvm.verify(problem, again, eps=1e-8).passed


def test_the_difference_of_both_sides_of_a_tube_is_enough() -> None:
    problem = PROBLEMS["tube"]
    alpha = qpsvm.solve(problem, eps=1e-9).alpha
    difference = alpha[: len(T)] - alpha[len(T) :]
    found = solution_of(problem, alpha=difference, intercept=0.0)
    assert found.alpha.shape == alpha.shape
    assert found.alpha == pytest.approx(alpha, abs=1e-12 * alpha.max())


def test_numbers_of_another_machine_do_not_pass() -> None:
    problem = PROBLEMS["rbf"]
    best = qpsvm.solve(problem, eps=1e-9)
    moved = solution_of(problem, alpha=best.alpha, intercept=best.intercept + 0.01)
    assert not qpsvm.verify(problem, moved, eps=1e-8).passed


def test_weights_alone_bound_the_optimum_from_above() -> None:
    problem = PROBLEMS["linear"]
    best = qpsvm.certify(problem, qpsvm.solve(problem, eps=1e-9))
    for scale in (0.5, 1.0, 2.0):
        coef = scale * best.solution.coef
        found = qpsvm.certify(
            problem, solution_of(problem, coef=coef, intercept=best.solution.intercept)
        )
        margins = Y * (X @ coef + best.solution.intercept)
        direct = 0.5 * coef @ coef + 2.0 * np.maximum(0.0, 1.0 - margins).sum()
        assert found.primal_objective == pytest.approx(direct, rel=ROUNDING)
        assert found.primal_objective >= best.dual_objective
        assert found.dual_objective <= best.dual_objective  # zero multipliers prove nothing


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({}, "neither alpha nor coef"),
        ({"coef": [1.0, 2.0]}, r"coef has shape \(2,\), the program needs \(3,\)"),
        ({"alpha": np.ones(39)}, r"alpha has shape \(39,\), the program needs \(40,\)"),
        ({"alpha": np.full(40, np.nan)}, "alpha has 40 NaN"),
        ({"alpha": np.ones(40), "intercept": np.inf}, "intercept is inf"),
        ({"alpha": np.ones(40), "intercept": [1.0]}, "must be a finite number"),
        ({"alpha": np.ones(40), "width": np.nan}, "width is nan"),
    ],
)
def test_numbers_that_cannot_be_a_solution_are_refused(numbers, words) -> None:
    with pytest.raises(InvalidDataError, match=words):
        solution_of(PROBLEMS["linear"], **numbers)


def test_weights_of_a_kernel_and_machines_of_several_functions_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="of a linear kernel"):
        solution_of(PROBLEMS["rbf"], coef=np.ones(3))
    several = qpsvm.CrammerSinger(C=1.0).dual(X, np.arange(40) % 3)
    with pytest.raises(InvalidDataError, match="CrammerSinger"):
        solution_of(several, alpha=np.ones(40))


def test_weights_that_may_violate_constraints_are_refused() -> None:
    bound = qpsvm.constraints.nonnegative(0)
    problem = qpsvm.SoftMargin(C=1.0).dual(X, Y, constraints=bound)
    with pytest.raises(InvalidDataError, match="pass alpha, too"):
        solution_of(problem, coef=np.ones(3))


def test_what_is_read_of_a_model_is_what_its_audit_verifies() -> None:
    model = SVC(C=2.0, gamma=0.5).fit(X, Y)
    (claim,) = read_claims(model, X, Y)
    assert claim.problem.formulation == qpsvm.SoftMargin(C=2.0)
    found = solution_of(claim.problem, alpha=claim.alpha, intercept=claim.intercept)
    own = qpsvm.verify(claim.problem, found).relative_gap
    audited = qpsvm.audit(model, X, Y, optimum=False).machines[0].report.relative_gap
    assert own == pytest.approx(audited, rel=ROUNDING)


def test_models_of_several_machines_are_several_claims() -> None:
    classes = np.arange(40) % 3
    assert len(read_claims(SVC().fit(X, classes), X, classes)) == 3
    (claim,) = read_claims(LinearSVC().fit(X, Y), X, Y)
    assert claim.alpha is None
    assert claim.coef.shape == (3,)
