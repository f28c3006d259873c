"""How often the evaluation of a linear machine multiplies by its samples, and that it is right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import common_offset, sample_products, sum_of_rows
from qpsvm.numerics.single_precision import SinglePrecision
from qpsvm.qp.low_rank import HessianProduct, LowRankQuadratic
from tests.families import BY_NAME, CASES, Data
from tests.strategies import grid


@contextmanager
def counted(X: Any) -> Iterator[list[str]]:
    """Record every product with the entries of sparse samples: "X" or "|X|", either way round."""
    found = list[str]()
    entries, sizes = np.sort(X.data), np.sort(np.abs(X.data))

    def recording(multiply: Any) -> Any:
        def matmul(self: Any, other: Any) -> Any:
            data = np.sort(self.data)
            if np.array_equal(data, entries):
                found.append("X")
            elif np.array_equal(data, sizes):
                found.append("|X|")
            return multiply(self, other)

        return matmul

    with pytest.MonkeyPatch.context() as patch:
        for kind in (sp.csr_array, sp.csc_array):
            patch.setattr(kind, "__matmul__", recording(kind.__matmul__))
        yield found


def sparse_case(name: str, form: str) -> tuple[Any, Any, Any]:
    """A problem over sparse samples with its solution, and the samples."""
    case = BY_NAME[name]
    X = sp.csr_array(case.data.X)
    data = Data(X, case.data.y, case.data.groups)
    problem = case.build(form, data=data, intercept=case.intercepts[0])
    return problem, qpsvm.solve(problem, backend="ipm"), problem.data.X  # alpha is kept as it is


# X w of the machine, X'beta of its dual variables, and the sums of the absolute terms of both
ONE_EVALUATION = ["X", "X", "|X|", "|X|"]
SOFT = ["hinge", "average hinge", "nu classification", "quantile", "one class"]


@grid("name, form", product(SOFT, ["primal", "dual"]))
def test_a_verification_multiplies_by_the_samples_once_each_way(name: str, form: str) -> None:
    problem, solution, X = sparse_case(name, form)
    with counted(X) as products:
        report = qpsvm.verify(problem, solution)
    assert report.passed
    assert sorted(products) == ONE_EVALUATION


@pytest.mark.parametrize("name", ["hard margin", "squared hinge", "least squares"])
def test_the_best_multiple_of_dual_variables_takes_one_product_more(name: str) -> None:
    problem, solution, X = sparse_case(name, "primal")
    with counted(X) as products:
        assert qpsvm.verify(problem, solution).passed
    assert sorted(products) == sorted(["X", *ONE_EVALUATION])


def test_weights_that_alpha_does_not_imply_have_their_own_product() -> None:
    """The residuals of x are about ``X w(alpha)``, whatever the machine predicts."""
    problem, solution, X = sparse_case("hinge", "dual")
    nearby = solution.replace(coef=solution.coef * (1.0 + 1e-12))
    with counted(X) as products:
        assert qpsvm.verify(problem, nearby).passed
    assert sorted(products) == sorted(["X", *ONE_EVALUATION])
    far = qpsvm.verify(problem, solution.replace(coef=solution.coef * 1.1))
    assert not far.passed
    assert far.residuals.stationarity.scaled <= 1e-8  # the program's own solution is right


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_known_products_are_those_of_the_hessian(name: str, storage: str) -> None:
    case = BY_NAME[name]
    data = Data(sp.csr_array(case.data.X), case.data.y, case.data.groups)
    data = case.data if storage == "dense" else data
    problem = case.build("dual", data=data, intercept=case.intercepts[-1])
    solution = qpsvm.solve(problem)
    P, x = problem.qp.P, solution.qp.x
    known = problem.model.hessian_product(problem.evaluate(solution), P, x)
    if known is None:  # P is of combinations of samples
        assert name in ("ball", "ranking", "average squared ranking")
        return
    direct = HessianProduct.of(P, x)
    np.testing.assert_allclose(known.value, direct.value, rtol=0.0, atol=8 * EPS * direct.size)
    np.testing.assert_allclose(known.sizes, direct.sizes, rtol=1e-13)
    np.testing.assert_allclose(known.size, direct.size, rtol=1e-13)
    other = problem.model.hessian_product(problem.evaluate(solution), P, 2.0 * x + 1.0)
    assert other is None


@pytest.mark.parametrize("storage", ["dense", "sparse", "single"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_products_in_one_pass_are_those_of_exact_arithmetic(storage: str, offset: float) -> None:
    rng = np.random.default_rng(5)
    dense = np.float32(rng.normal(size=(40, 3)) + offset).astype(np.float64)
    X: Any = {
        "dense": dense,
        "sparse": sp.csr_array(dense),
        "single": SinglePrecision(np.float32(dense)),
    }[storage]
    w, vectors = rng.normal(size=3), [rng.normal(size=40), np.ones(40) - 2.0 * (np.arange(40) % 2)]
    common = common_offset(X)
    assert (common is None) == (storage == "sparse" or offset == 0.0)
    terms = [np.abs(vectors[0]), np.abs(vectors[1]) + 0.5]
    found = sample_products(X, w, vectors, terms, common)
    shift = np.zeros(3) if common is None else common
    for row, found_score, size in zip(dense, found.scores, found.score_sizes, strict=True):
        exact = sum((Fraction(a) * Fraction(b) for a, b in zip(row, w, strict=True)), Fraction(0))
        assert abs(Fraction(found_score) - exact) <= 8 * EPS * size
    for k, v in enumerate(vectors):
        of_offset = np.abs(shift) * abs(np.sum(v))
        for j in range(3):
            pairs = zip(dense[:, j], v, strict=True)
            exact = sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
            size = found.centred_sizes[k][j] + of_offset[j]
            assert abs(Fraction(found.sums[k][j]) - exact) <= 64 * EPS * size
        np.testing.assert_allclose(found.term_sizes[k], np.abs(dense).T @ terms[k], rtol=1e-13)
        centred = np.abs(dense - shift).T @ terms[k]
        np.testing.assert_allclose(found.centred_sizes[k], centred, rtol=1e-13)
        np.testing.assert_array_equal(found.sums[k], sum_of_rows(X, v, common))
        np.testing.assert_allclose(found.column_sizes[k], np.abs(dense).T @ np.abs(v), rtol=1e-13)


def test_vectors_that_are_not_finite_give_no_number() -> None:
    X = np.random.default_rng(0).normal(size=(5, 2)) + 1e6
    v = np.array([1.0, np.inf, -np.inf, 0.0, 1.0])
    with np.errstate(all="ignore"):
        found = sample_products(X, None, [v], [np.abs(v)], common_offset(X))
        large = np.full(5, 1.7e308)
        overflowing = sample_products(X, None, [large], [large], common_offset(X))
    assert not np.isfinite(found.sums[0]).any()
    assert not np.isfinite(found.column_sizes[0]).any()
    assert not np.isfinite(overflowing.sums[0]).any()


def test_a_hessian_over_other_samples_is_multiplied() -> None:
    problem, solution, _ = sparse_case("hinge", "dual")
    P = problem.qp.P
    twice = LowRankQuadratic(
        2.0 * P.samples, P.diag, signs=P.selection.signs, index=P.selection.index
    )
    evaluation = problem.evaluate(solution)
    assert problem.model.hessian_product(evaluation, twice, solution.qp.x) is None


@pytest.mark.parametrize("intercept", ["none", "penalized"])
def test_one_decision_function_per_class_multiplies_once_each_way(intercept: str) -> None:
    rng = np.random.default_rng(2)
    labels = np.arange(60) % 3
    X = sp.csr_array(rng.normal(size=(60, 4)) + 2.0 * np.eye(4)[labels])
    problem = qpsvm.CrammerSinger(C=1.0, intercept=intercept).dual(X, labels)
    solution = qpsvm.solve(problem)
    with counted(problem.data.X) as products:
        report = qpsvm.verify(problem, solution)
    assert report.passed
    assert sorted(set(products)) == ["X", "|X|"]
    # each of the three classes has its own sizes of terms of P x
    assert products.count("X") == 2
    assert products.count("|X|") <= 2 + 2 * 3
    known = problem.model.hessian_product(problem.evaluate(solution), problem.qp.P, solution.qp.x)
    direct = HessianProduct.of(problem.qp.P, solution.qp.x)
    np.testing.assert_allclose(known.value, direct.value, rtol=0.0, atol=8 * EPS * direct.size)
    other = solution.qp.x + 1.0
    assert problem.model.hessian_product(problem.evaluate(solution), problem.qp.P, other) is None
