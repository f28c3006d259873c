"""A machine on samples in chunks is the machine on all of them, for every family."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import ChunkedSolution, chunked
from qpsvm.qp import Status
from tests.chunked.cases import BY_NAME, IN_CHUNKS, arguments, in_chunks, settings
from tests.strategies import grid

EPS = 1e-10
SAME = 1e-9
"""Relative difference of two objectives, each certified to 1e-10, with room for their roundings."""


@cache
def in_memory(name: str, intercept: str) -> float:
    case = BY_NAME[name]
    X, y = arguments(case)
    problem = case.with_intercept(intercept).dual(X, y)
    return float(qpsvm.certify(problem, qpsvm.solve(problem, eps=EPS)).primal_objective)


@cache
def solved(name: str, intercept: str) -> tuple[Any, Any]:
    case = BY_NAME[name]
    problem = in_chunks(case.with_intercept(intercept), *arguments(case))
    return problem, qpsvm.solve(problem, eps=EPS)


def objective(problem: Any, eps: float = EPS) -> float:
    solution = qpsvm.solve(problem, eps=eps)
    assert solution.status is Status.OPTIMAL
    return float(solution.certificate.primal_objective)


@pytest.mark.parametrize(("name", "intercept"), list(settings()))
def test_the_objective_is_that_of_the_engine_in_memory(name: str, intercept: str) -> None:
    problem, solution = solved(name, intercept)
    assert type(solution) is ChunkedSolution
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.relative_gap_upper <= EPS
    expected = in_memory(name, intercept)
    assert solution.certificate.primal_objective == pytest.approx(expected, rel=SAME)
    report = qpsvm.verify(problem, solution, eps=1.01 * EPS)
    assert report.passed
    assert report.relative_gap <= 1.01 * EPS
    assert "PASS" in str(report)


@pytest.mark.parametrize("name", [case.name for case in IN_CHUNKS])
def test_the_cost_is_the_textbook_s(name: str) -> None:
    """By the formula in ``tests.families``, which shares nothing with the rooms."""
    case = BY_NAME[name]
    intercept = case.intercepts[0]
    _, s = solved(name, intercept)
    from tests.families import Machine

    X = case.data.X
    f = X @ s.coef + s.intercept
    square = float(s.coef @ s.coef)
    machine = Machine(square, f, s.intercept, s.width, np.sum(X * X, axis=1))
    if name == "ball":  # its w is twice the centre, and its radius follows from b
        cost = case.cost(case.family, case.data, np.ones(len(X)), machine)
    else:
        cost = case.cost(case.with_intercept(intercept), case.data, np.ones(len(X)), machine)
    assert cost == pytest.approx(s.certificate.primal_objective, rel=1e-9)


@grid("name, intercept", list(settings()))
def test_a_weight_of_two_is_a_repeated_row_and_of_zero_a_missing_one(
    name: str, intercept: str
) -> None:
    case = BY_NAME[name]
    family, (X, y) = case.with_intercept(intercept), arguments(case)
    weights = np.resize([2.0, 0.0, 1.0, 1.0, 1.0], len(X))
    rows = np.repeat(np.arange(len(X)), weights.astype(int))
    if name == "ball":
        family = replace(family, C=0.3)
    repeated = in_chunks(family, X[rows], None if y is None else y[rows])
    weighted = in_chunks(family, X, y, weights)
    assert weighted.totals.n_rows == np.count_nonzero(weights)
    assert objective(weighted) == pytest.approx(objective(repeated), rel=SAME)


@pytest.mark.parametrize("name", ["hinge", "weighted nu classification", "tube", "one class"])
@pytest.mark.parametrize("rows", [1, 7, 100])
def test_chunks_of_any_size_give_the_same_optimum(name: str, rows: int) -> None:
    case = BY_NAME[name]
    intercept = case.intercepts[0]
    problem = in_chunks(case.with_intercept(intercept), *arguments(case), rows=rows)
    assert objective(problem) == pytest.approx(in_memory(name, intercept), rel=SAME)


@pytest.mark.parametrize("name", ["average hinge", "quantile"])
def test_the_order_of_chunks_does_not_matter(name: str) -> None:
    case = BY_NAME[name]
    X, y = arguments(case)
    order = np.random.default_rng(0).permutation(len(X))
    problem = in_chunks(case.with_intercept("free"), X[order], y[order])
    assert objective(problem) == pytest.approx(in_memory(name, "free"), rel=SAME)


def test_a_chunk_may_lack_a_class() -> None:
    """Sorted by class, with one class alone in the first chunks, and chunks of weight zero."""
    case = BY_NAME["average hinge"]
    X, y = arguments(case)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    expected = case.with_intercept("free").dual(X[4:], y[4:])
    weights = np.where(np.arange(len(X)) < 4, 0.0, 1.0)
    problem = in_chunks(case.with_intercept("free"), X, y, weights, rows=2)
    found = qpsvm.solve(problem, eps=EPS)
    whole = qpsvm.certify(expected, qpsvm.solve(expected, eps=EPS)).primal_objective
    assert found.certificate.primal_objective == pytest.approx(whole, rel=SAME)
    assert qpsvm.verify(problem, found, eps=1.01 * EPS).passed


@pytest.mark.parametrize("name", ["hinge", "squared hinge", "nu regression", "ball"])
def test_predictions_are_those_in_memory(name: str) -> None:
    case = BY_NAME[name]
    intercept = case.intercepts[0]
    X, y = arguments(case)
    _, solution = solved(name, intercept)
    whole = qpsvm.solve(case.with_intercept(intercept).dual(X, y), eps=EPS)
    values = solution.decision_function(X)
    assert values == pytest.approx(whole.decision_function(X), abs=1e-4)
    clear = np.abs(values) > 1e-3
    predicted, expected = solution.predict(X), whole.predict(X)
    if case.kind == "targets":
        assert predicted == pytest.approx(expected, abs=1e-4)
    else:
        assert (predicted[clear] == expected[clear]).all()
        assert predicted.dtype.kind == expected.dtype.kind


def test_labels_of_any_kind_are_predicted_as_they_came() -> None:
    """The first chunk has a shorter label than the second, and one class only."""
    X = np.array([[0.0], [0.5], [3.0], [4.0]])
    for labels in (["no", "no", "maybe", "maybe"], [False, False, True, True], [3, 3, 700, 700]):
        # as files would hold them: each in the smallest type that suffices
        kinds = [np.min_scalar_type(v) if isinstance(v, int) else None for v in labels[1:3]]
        halves = [np.array(labels[:2], kinds[0]), np.array(labels[2:], kinds[1])]
        parts = [chunked(X[2 * k : 2 * k + 2], halves[k]) for k in (0, 1)]
        samples = replace(parts[0], chunks=(*parts[0].chunks, *parts[1].chunks))
        problem = qpsvm.SoftMargin(C=10.0).dual(samples)
        solution = qpsvm.solve(problem)
        assert solution.predict(X).tolist() == labels


def test_a_second_solve_has_the_same_bits() -> None:
    case = BY_NAME["hinge"]
    first, second = (
        qpsvm.solve(in_chunks(case.with_intercept("free"), *arguments(case)), eps=EPS)
        for _ in range(2)
    )
    assert first.coef.tobytes() == second.coef.tobytes()
    assert first.certificate == second.certificate
