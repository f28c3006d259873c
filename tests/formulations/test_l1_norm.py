"""The 1-norm machine with both losses and all kinds of intercept, beside LIBLINEAR and itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets, svm
from sklearn.feature_selection import SelectFromModel
from sklearn.preprocessing import scale

import qpsvm
from qpsvm.constraints import LinearConstraints, nonnegative
from qpsvm.estimators import LinearSVC
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.norms import ABSOLUTE

X, y = datasets.load_breast_cancer(return_X_y=True)
X = scale(X)[:200, :12]
y = y[:200]
LOSSES, INTERCEPTS = ("hinge", "squared_hinge"), ("free", "penalized", "none")
ON_ALL = [nonnegative(0), LinearConstraints(G=[[0.0] * 12 + [1.0]], h=[-0.05])]
"""A rule on a weight, and one on the intercept."""


def objective(machine: Any, C: float, squared: bool, on_b: bool) -> float:
    """``|w|_1 [+ |b|] + C sum of losses`` of a fitted classifier, as the textbook has it."""
    w, b = machine.coef_.ravel(), float(np.ravel(machine.intercept_)[0])
    missed = np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * (X @ w + b))
    cost = float(np.sum(missed**2 if squared else missed))
    return float(np.sum(np.abs(w))) + on_b * abs(b) + C * cost


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
def test_it_minimises_what_liblinear_minimises(C: float, fit_intercept: bool) -> None:
    given: Any = {"penalty": "l1", "C": C, "fit_intercept": fit_intercept, "dual": False}
    ours = LinearSVC(**given).fit(X, y)
    theirs = svm.LinearSVC(**given, tol=1e-9, max_iter=10**6).fit(X, y)
    own, other = (objective(m, C, True, fit_intercept) for m in (ours, theirs))
    assert own <= other * (1.0 + 1e-9)
    assert own == pytest.approx(other, rel=1e-6)
    assert ours.certificate_.primal_objective == pytest.approx(own, rel=1e-12)
    # not small numbers: zeros
    np.testing.assert_array_equal(ours.coef_ == 0.0, theirs.coef_ == 0.0)


def test_features_are_selected_as_by_the_original() -> None:
    many, of_three = datasets.load_iris(return_X_y=True)
    given: Any = {"C": 0.01, "penalty": "l1", "dual": False, "max_iter": 10**5}
    chosen = [
        SelectFromModel(kind(**given)).fit(many, of_three).get_support()
        for kind in (LinearSVC, svm.LinearSVC)
    ]
    np.testing.assert_array_equal(*chosen)
    assert not chosen[0].all()


@pytest.mark.parametrize("rules", [None, ON_ALL], ids=["free", "with constraints"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_both_forms_have_one_certified_optimum(loss: Any, intercept: Any, rules: Any) -> None:
    family = qpsvm.L1Norm(0.5, intercept, loss)
    rules = rules[:1] if rules and intercept == "none" else rules
    found = []
    for samples in (X, sp.csr_array(X)):
        for form in ("primal", "dual"):
            problem = getattr(family, form)(samples, y, constraints=rules)
            solution = qpsvm.solve(problem)
            assert qpsvm.verify(problem, solution).passed
            rigorous = qpsvm.certify(problem, solution, rigorous=True)
            assert rigorous.relative_gap <= 1e-8
            assert str(qpsvm.verify(problem, solution))
            found.append(rigorous.primal_objective)
    np.testing.assert_allclose(found, found[0], rtol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", ["linear", qpsvm.kernels.RBF(0.1)])
def test_a_penalised_intercept_is_the_weight_of_a_constant_feature(loss: Any, kernel: Any) -> None:
    if kernel == "linear":
        own, other = (X, "penalized"), (np.column_stack([X, np.ones(len(X))]), "none")
    else:  # another kernel's weights are the coefficients of its columns: the loss is the check
        own, other = (X, "penalized"), (X, "penalized")
    problems = [qpsvm.L1Norm(0.3, kind, loss).dual(Z, y, kernel=kernel) for Z, kind in (own, other)]
    first, second = (qpsvm.solve(problem) for problem in problems)
    assert qpsvm.verify(problems[0], first).passed
    proofs = [qpsvm.certify(p, s) for p, s in zip(problems, (first, second), strict=True)]
    assert proofs[0].primal_objective == pytest.approx(proofs[1].primal_objective, rel=1e-7)
    if kernel == "linear":
        assert first.intercept == pytest.approx(float(second.coef[-1]), abs=1e-4)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_squared_hinge_obeys_weights_as_repetitions(intercept: Any) -> None:
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    family = qpsvm.L1Norm(0.5, intercept, "squared_hinge")
    weighted = family.dual(X, y, sample_weight=weights.astype(float))
    repeated = family.dual(X[rows], y[rows])
    values = [qpsvm.certify(p, qpsvm.solve(p)).primal_objective for p in (weighted, repeated)]
    assert values[0] == pytest.approx(values[1], rel=1e-7)


@pytest.mark.parametrize("change", ["b", "w", "alpha"])
@pytest.mark.parametrize("intercept", ["free", "penalized"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_changed_machine_does_not_pass(loss: Any, intercept: Any, change: str) -> None:
    problem = qpsvm.L1Norm(0.5, intercept, loss).dual(X, y)
    solution: Any = qpsvm.solve(problem)
    if change == "b":
        wrong = solution.replace(intercept=solution.intercept + 1e-2)
    elif change == "w":
        wrong = solution.replace(coef=solution.coef * 1.01)
    else:
        wrong = solution.replace(alpha=solution.alpha * 1.01)
    assert not qpsvm.verify(problem, wrong).passed


def test_an_unknown_loss_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="loss is 'log'"):
        qpsvm.L1Norm(loss="log")  # type: ignore[arg-type]


@pytest.mark.parametrize(("largest", "b"), [(0.5, 2.0), (2.0, 0.5), (0.5, 0.5)])
def test_a_lower_bound_is_that_of_a_feasible_multiple(largest: float, b: float) -> None:
    squares = np.array([0.25, 0.5])
    bound = ABSOLUTE.dual_lower(4.0, largest, 1.0, b, squares)
    scale = max(1.0, largest, b)
    assert bound <= 4.0 / scale - 0.5 * float(np.sum(squares)) / scale**2
    assert bound == pytest.approx(4.0 / scale - 0.5 * float(np.sum(squares)), rel=1e-12)
