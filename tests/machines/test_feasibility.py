"""Machines under constraints: what is missed is measured by row, and paid for."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm import constraints as rules
from qpsvm.machines.feasibility import feasible_machine, missed_constraints
from qpsvm.qp import Status

SPREADS = [1e0, 1e4, 1e8, 1e12]


def data(spread: float, seed: int = 0) -> tuple[Any, Any, Any]:
    """Eighty samples, one feature of size ``spread``, and a sensitive value that labels follow."""
    rng = np.random.default_rng(seed)
    sensitive = (rng.random(80) < 0.5).astype(float)
    X = np.column_stack([spread * rng.normal(size=80), rng.normal(size=80) + sensitive])
    y = np.where(X[:, 1] + 0.5 * rng.normal(size=80) > 0.5, 1, -1)
    return X, y, sensitive


def builders(X: Any, sensitive: Any) -> dict[str, Any]:
    """One rule of every kind, which the unconstrained machine misses."""
    return {
        "fairness band": rules.fairness_band(sensitive, 1e-3),
        "sum": rules.sum_of(0, 1, at_most=0.1),
        "fixed": rules.fixed(1, 0.1),
        "bounded": rules.bounded(1, lower=-0.1, upper=0.1),
        "sign": rules.nonpositive(1),
        "ordered": rules.ordered(1, 0),
        "rows": rules.LinearConstraints(G=[[1e9 / np.max(X[:, 0]), 1.0, 0.0]], h=-1.0),
    }


CASES = list(builders(*data(1.0)[::2]))


@cache
def unconstrained(spread: float) -> Any:
    """The machine without any rule; at large spreads as good as rounding allows."""
    X, y, _ = data(spread)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
        return qpsvm.solve(qpsvm.SoftMargin(C=1.0).primal(X, y))


def unconstrained_as_an_answer(problem: Any, spread: float) -> Any:
    """The machine without the rules, with no multiplier for them."""
    free = unconstrained(spread)
    multipliers = np.zeros(problem.model.n_constraints)
    draft = free.replace(constraint_multipliers=multipliers, conditions=problem.model.conditions)
    own = problem.recover(problem.to_qp(draft)).replace(
        coef=free.coef,
        intercept=free.intercept,
        intercept_interval=free.intercept_interval,
        slack=free.slack,
    )
    return own.replace(qp=problem.to_qp(own))


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
def test_the_unconstrained_machine_never_passes(name: str, spread: float, form: str) -> None:
    X, y, sensitive = data(spread)
    rule = builders(X, sensitive)[name]
    problem = getattr(qpsvm.SoftMargin(C=1.0), form)(X, y, constraints=rule)
    answer = unconstrained_as_an_answer(problem, spread)
    assert missed_constraints(problem.model, answer).max() > 1e-6
    report = qpsvm.verify(problem, answer)
    assert not report.passed
    assert any("is missed by" in note for note in report.notes)


@pytest.mark.parametrize("spread", SPREADS[:3])
@pytest.mark.parametrize("name", CASES)
def test_what_solve_calls_optimal_satisfies_every_row(name: str, spread: float) -> None:
    X, y, sensitive = data(spread)
    problem = qpsvm.SoftMargin(C=1.0).dual(X, y, constraints=builders(X, sensitive)[name])
    solution = qpsvm.solve(problem)
    assert solution.status is Status.OPTIMAL
    assert missed_constraints(problem.model, solution).max() <= 1e-8
    assert qpsvm.certify(problem, solution).gap_upper < np.inf


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("exponent", [-12, -8, -4, 0])
def test_the_bound_covers_the_optimum_however_far_the_machine_is(name: str, exponent: int) -> None:
    X, y, sensitive = data(1.0)
    problem = qpsvm.SoftMargin(C=1.0).dual(X, y, constraints=builders(X, sensitive)[name])
    exact = qpsvm.solve(problem, eps=1e-10)
    best = qpsvm.certify(problem, exact).dual_objective
    rng = np.random.default_rng(exponent + 99)
    for _ in range(5):
        moved = exact.replace(coef=exact.coef + 10.0**exponent * rng.normal(size=2))
        proof = qpsvm.certify(problem, moved)
        noise = 1e-12 * best + proof.rounding * abs(best)
        assert proof.feasible_objective >= best - noise
        assert abs(proof.primal_objective - best) <= proof.gap_upper + noise
        apart = float(np.linalg.norm(moved.coef - exact.coef))
        assert apart <= proof.weight_error + 1e-4


def test_the_feasible_machine_is_the_machine_itself_where_that_is_feasible() -> None:
    X, y, _ = data(1.0)
    problem = qpsvm.SoftMargin(C=1.0).dual(X, y, constraints=rules.bounded(1, upper=0.1))
    solution = qpsvm.solve(problem).replace(coef=np.array([0.01, 0.05]))
    found = feasible_machine(problem.model, solution)
    assert found is not None
    assert found.distance == 0.0
    assert found.objective == problem.model.primal_objective(
        problem.model.decision_values(solution)
    )


def test_rules_that_contradict_each_other_are_named() -> None:
    X, y, _ = data(1.0)
    both = [rules.bounded(1, upper=0.1), rules.bounded(1, lower=0.2)]
    problem = qpsvm.SoftMargin(C=1.0).dual(X, y, constraints=both)
    free = unconstrained_as_an_answer(problem, 1.0)
    found = feasible_machine(problem.model, free)
    assert found is not None
    assert found.blocked.startswith("constraint ")
    assert qpsvm.certify(problem, free).gap_upper == np.inf
    assert any("no machine near" in note for note in qpsvm.verify(problem, free).notes)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("size", [1e0, 1e6, 1e9, 1e12, 1e13])
def test_multipliers_of_rows_that_contradict_each_other_by_rounding_hide_no_gap(
    size: float, sign: float
) -> None:
    """Opposite multipliers of two such rows raise the dual objective; the gap gets no smaller.

    ``w_1 = 0.1`` and ``3 w_1 = 0.3 (1 + u)`` differ by 0.3 u, so that ``y = (3 s, -s)`` adds
    0.3 u s to the dual objective of any point, or takes it off.
    """
    X, y, _ = data(1.0)
    apart = 120.0 * np.finfo(float).eps
    twice = rules.LinearConstraints(
        A=[[0.0, 1.0, 0.0], [0.0, 3.0, 0.0]], b=[0.1, 0.3 * (1.0 + apart)]
    )
    problem = qpsvm.SoftMargin(C=1.0).dual(X, y, constraints=twice)
    exact = qpsvm.solve(problem)
    draft = exact.replace(alpha=0.9 * exact.alpha)
    more = exact.constraint_multipliers + sign * size * np.array([3.0, -1.0])
    proof = qpsvm.certify(problem, draft.replace(constraint_multipliers=more))
    assert proof.gap_upper >= 0.9999999 * qpsvm.certify(problem, draft).gap_upper


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_slack_and_tiny_rules_make_no_false_certificate(form: str) -> None:
    """``w_2 >= 1000`` is missed; two rules that hold anyway change nothing about that."""
    X, y = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], [1, 1, -1, -1]
    free = qpsvm.solve(qpsvm.SoftMargin(C=10.0).primal(X, y))
    rows = [[0.0, -1.0, 0.0], [1e9, 1e-9, 0.0], [0.0, -1e-310, 0.0]]
    rule = rules.LinearConstraints(G=rows, h=[-1000.0, 1e12, 1e-310])
    problem = getattr(qpsvm.SoftMargin(C=10.0), form)(X, y, constraints=rule)
    answer = free.replace(
        constraint_multipliers=np.zeros(3),
        conditions=problem.model.conditions,
        data=problem.data,
    )
    proof = qpsvm.certify(problem, answer)
    assert proof.gap_upper > 1e5
    assert not proof.predict_certified(X).decided.any()


def test_a_rule_counts_however_small_its_numbers_are() -> None:
    """``1e-200 w <= 0`` forbids the weights of size 1e-130 that samples of size 1e130 ask for."""
    X, y = np.array([[1e130], [-1e130]]), [1, -1]
    free = qpsvm.solve(qpsvm.SoftMargin(C=1e-260).dual(X, y))
    rule = rules.LinearConstraints(G=[[1e-200, 0.0]], h=[0.0])
    problem = qpsvm.SoftMargin(C=1e-260).dual(X, y, constraints=rule)
    answer = free.replace(
        constraint_multipliers=np.zeros(1),
        conditions=problem.model.conditions,
        data=problem.data,
    )
    assert missed_constraints(problem.model, answer)[0] == 1.0
    assert not qpsvm.verify(problem, answer).passed
    assert not qpsvm.certify(problem, answer).predict_certified(X).decided.any()
