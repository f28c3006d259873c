"""Break one thing in a certified classifier: every field must trip, never a false PASS."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import qpsvm
from qpsvm.machines import Interval, SVMProblem, SVMSolution
from tests.strategies import examples, grid

EPS = 1e-8
CASES = [
    (family, form, kernel, intercept)
    for family in ("soft", "hard")
    for form in ("dual", "primal")
    for kernel in ("linear", "rbf")
    for intercept in ("free", "penalized", "none")
]


@cache
def certified(
    family: str, form: str, kernel: str, intercept: Any
) -> tuple[SVMProblem, SVMSolution]:
    X, y = make_blobs(30, centers=[[-2, -2], [2, 2]], cluster_std=1.0, random_state=3)
    if family == "soft":
        X = 0.5 * X  # classes that touch: some samples at C, some free, some at zero
    formulation: Any = (
        qpsvm.SoftMargin(C=0.7, intercept=intercept)
        if family == "soft"
        else qpsvm.HardMargin(intercept=intercept)
    )
    problem = getattr(formulation, form)(X, y, kernel=kernel)
    return problem, qpsvm.solve(problem, "cvxopt", eps=EPS)


@grid("case", CASES)
def test_the_truth_passes(case: tuple[str, str, str, str]) -> None:
    problem, solution = certified(*case)
    assert qpsvm.verify(problem, solution, eps=EPS).passed


@grid("case", CASES)
def test_every_field_of_a_solution_trips_the_verifier(case: tuple[str, str, str, str]) -> None:
    problem, solution = certified(*case)
    rng = np.random.default_rng(0)
    mutants: dict[str, SVMSolution] = {}
    for name in ("alpha", "expansion", "coef", "slack"):
        vector = getattr(solution, name)
        if vector is None:
            continue
        for i in rng.permutation(len(vector))[:10]:
            for change in (1e-2, -1e-2, np.nan, np.inf):
                mutants[f"{name}[{i}] + {change}"] = solution.replace(
                    **{name: _bumped(vector, i, change)}
                )
        mutants[f"{name} scaled"] = solution.replace(**{name: 1.01 * vector})
        mutants[f"{name} negated"] = solution.replace(**{name: -vector})
        mutants[f"{name} reversed"] = solution.replace(**{name: vector[::-1]})
        mutants[f"{name} short"] = solution.replace(**{name: vector[:-1]})
        if name != "coef" or solution.expansion is None:
            mutants[f"{name} missing"] = solution.replace(**{name: None})
    for change in (1e-3, -1e-3, np.nan, np.inf):
        mutants[f"intercept + {change}"] = solution.replace(intercept=solution.intercept + change)
    lower, upper = solution.intercept_interval
    mutants["interval wider"] = solution.replace(intercept_interval=Interval(lower - 1, upper + 1))
    mutants["interval nan"] = solution.replace(intercept_interval=Interval(np.nan, np.nan))
    for name, value in {"upper": 3.0, "lower": -3.0, "required": 2.0, "curvature": 0.1}.items():
        other = replace(solution.conditions, **{name: np.full(1, value)})
        mutants[f"conditions.{name}"] = solution.replace(conditions=other)
    mutants["kernel"] = solution.replace(kernel=qpsvm.kernels.RBF(gamma=7.0))
    data = solution.data
    mutants["other labels"] = solution.replace(data=replace(data, classes=data.classes[::-1]))
    mutants["other signs"] = solution.replace(data=replace(data, signs=-data.signs))
    mutants["other samples"] = solution.replace(data=replace(data, X=data.X + 1e-3))
    for name in ("x", "z", "y", "z_lower", "z_upper"):
        vector = getattr(solution.qp, name)
        if vector.size == 0:
            continue
        i = int(rng.integers(len(vector)))
        for change in (1e-2, np.nan):
            mutants[f"qp.{name}[{i}] + {change}"] = solution.replace(
                qp=solution.qp.replace(**{name: _bumped(vector, i, change)})
            )
        mutants[f"qp.{name} missing"] = solution.replace(qp=solution.qp.replace(**{name: None}))
    false_passes = [
        name
        for name, mutant in mutants.items()
        if qpsvm.verify(problem, mutant, eps=EPS).passed and not _harmless(name, mutant, solution)
    ]
    assert false_passes == []
    assert len(mutants) > 40


def _harmless(name: str, mutant: SVMSolution, solution: SVMSolution) -> bool:
    """Reversing, negating or scaling a vector of zeros changes nothing."""
    field = re.split(r"[\[ ]", name, maxsplit=1)[0]
    if field not in ("alpha", "expansion", "coef", "slack"):
        return False
    before, after = getattr(solution, field), getattr(mutant, field)
    return (
        after is not None
        and after.shape == before.shape
        and bool(np.allclose(after, before, rtol=0, atol=EPS))
    )


@given(
    st.sampled_from(CASES), st.sampled_from(["alpha", "intercept", "coef", "expansion"]), st.data()
)
@settings(max_examples=examples(300))
def test_no_change_that_moves_the_gap_beyond_eps_passes(
    case: tuple[str, str, str, str], name: str, data: st.DataObject
) -> None:
    problem, solution = certified(*case)
    value = getattr(solution, name)
    if value is None:
        return
    change = data.draw(st.floats(-10, 10, allow_nan=False)) * 10.0 ** data.draw(st.integers(-9, 0))
    if name == "intercept":
        mutant = solution.replace(intercept=value + change)
    else:
        index = data.draw(st.integers(0, len(value) - 1))
        mutant = solution.replace(**{name: _bumped(value, index, change)})
    report = qpsvm.verify(problem, mutant, eps=EPS)
    if qpsvm.certify(problem, mutant).relative_gap > EPS:
        assert not report.passed


@pytest.mark.parametrize("case", CASES[:6], ids="-".join)
def test_the_solution_of_another_problem_does_not_pass(case: tuple[str, str, str, str]) -> None:
    problem, _ = certified(*case)
    for other in CASES:
        if other != case:
            _, solution = certified(*other)
            report = qpsvm.verify(problem, solution, eps=EPS)
            assert not report.passed


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("intercept", ["free", "penalized"])
@pytest.mark.parametrize("share", [1e-3, 0.2])
def test_a_hard_margin_pays_for_samples_inside_it(
    kernel: str, intercept: str, share: float
) -> None:
    problem, solution = certified("hard", "dual", kernel, intercept)
    best = qpsvm.certify(problem, solution).primal_objective
    moved = qpsvm.certify(problem, solution.replace(intercept=solution.intercept + share))
    # scaled up until no sample is inside
    excess = moved.primal_objective - best
    assert excess > share * best
    assert moved.gap_upper >= excess * (1.0 - 1e-6)


def _bumped(vector: Any, index: int, change: float) -> Any:
    copy = np.array(vector)
    copy[index] += change
    return copy
