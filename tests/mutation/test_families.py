"""Break one thing in a certified machine of every family: never a false PASS.

Whether a change was harmless is judged by the textbook formulas of ``tests.families`` and by the
program's own dense matrices, in extended precision; nothing of the verifier is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import qpsvm
from qpsvm.machines import SVMProblem, SVMSolution
from tests.families import BY_NAME, KERNELS, cost_of, machine_of, settings
from tests.mutation.mutants import QP_VECTORS, VECTORS, mutants, strangers
from tests.strategies import PARTS, examples, grid
from tests.tolerances import HARMLESS_ALPHA, HARMLESS_COST, HARMLESS_STATEMENT

EPS = 1e-8
Setting = tuple[str, str, str, str]
SETTINGS = [
    setting
    for setting in settings()
    if setting[2:] not in (("linear", "penalized"), ("rbf", "none"))  # for speed
]
EVERY = grid("setting", SETTINGS)


@cache
def certified(setting: Setting) -> tuple[SVMProblem, SVMSolution]:
    name, form, kernel, intercept = setting
    problem = BY_NAME[name].build(form, KERNELS[kernel], intercept)
    return problem, qpsvm.solve(problem, "cvxopt", eps=EPS / 100)


@EVERY
def test_the_truth_passes(setting: Setting) -> None:
    problem, solution = certified(setting)
    assert qpsvm.verify(problem, solution, eps=EPS).passed


def fifths() -> Iterator[Any]:
    """Settings that cover every value, with all fifths of the mutants; the others with one.

    The quick run has all of a dual program's, and of the others one, from setting to setting the
    next: every field is there, with nearly every change of it.
    """
    covering = grid("setting", SETTINGS).args[1]
    for k, each in enumerate(sorted(covering, key=lambda each: bool(each.marks))):
        (setting,) = each.values
        for part in [k % PARTS] if each.marks else range(PARTS):
            quick = not each.marks and (setting[1] == "dual" or part == k % PARTS)
            marks = () if quick else pytest.mark.exhaustive
            yield pytest.param(setting, part, id=f"{each.id}-{part}", marks=marks)


@pytest.mark.parametrize(("setting", "part"), list(fifths()))
def test_every_field_of_a_solution_trips_the_verifier(setting: Setting, part: int) -> None:
    problem, solution = certified(setting)
    judge = Judge(setting)
    passed, every = [], list(mutants(solution))
    assert len(every) > 80
    for name, mutant in every[part::PARTS]:
        if qpsvm.verify(problem, mutant, eps=EPS).passed and not judge.is_harmless(mutant):
            passed.append(name)
    assert passed == []


@EVERY
def test_what_another_problem_asks_does_not_pass(setting: Setting) -> None:
    problem, solution = certified(setting)
    for name, mutant in strangers(solution):
        assert not qpsvm.verify(problem, mutant, eps=EPS).passed, name


@given(st.sampled_from(SETTINGS), st.sampled_from([*VECTORS, *QP_VECTORS, "numbers"]), st.data())
@hypothesis_settings(max_examples=examples(600))
def test_no_change_of_any_size_passes_and_does_harm(
    setting: Setting, name: str, data: st.DataObject
) -> None:
    problem, solution = certified(setting)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    size = 10.0 ** data.draw(st.integers(-10, 3))
    if name == "numbers":
        b, t = size * rng.normal(size=2) * rng.integers(0, 2, size=2)
        mutant = solution.replace(intercept=solution.intercept + b, width=solution.width + t)
    else:
        owner: Any = solution.qp if name in QP_VECTORS else solution
        vector = getattr(owner, name)
        if vector is None or not vector.size:
            return
        step = size * rng.normal(size=vector.size) * np.max(np.abs(vector), initial=1e-3)
        if data.draw(st.booleans()):  # one entry, or all of them
            step *= np.arange(vector.size) == rng.integers(vector.size)
        changed = owner.replace(**{name: vector + step})
        mutant = solution.replace(qp=changed) if name in QP_VECTORS else changed
    if qpsvm.verify(problem, mutant, eps=EPS).passed:
        assert Judge(setting).is_harmless(mutant)


@grid("setting", SETTINGS)
def test_a_whole_machine_that_is_not_the_best_does_not_pass(setting: Setting) -> None:
    """Consistent in everything it states: weights, slack, interval and program fit together."""
    problem, solution = certified(setting)
    model, judge = problem.model, Judge(setting)
    rng = np.random.default_rng(5)
    for size in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1):
        for direction in ("shrunk", "other"):
            a = solution.alpha
            step = -a if direction == "shrunk" else rng.normal(size=a.size) * np.abs(a)
            alpha = model.feasible_dual(a + size * step).alpha
            expansion = model.expansion(alpha)
            primal = problem.form == "primal"
            draft = solution.replace(
                alpha=alpha,
                expansion=None if primal and model.is_linear else expansion,
                coef=model.coef(expansion),
            )
            mutant = problem.recover(problem.to_qp(draft))
            if qpsvm.verify(problem, mutant, eps=EPS).passed:
                assert judge.is_harmless(mutant), (size, direction)


@EVERY
def test_the_solution_of_another_setting_does_not_pass(setting: Setting) -> None:
    problem, _ = certified(setting)
    others = [other for other in SETTINGS if other != setting and other[1:] != setting[1:]]
    for index in np.random.default_rng(1).permutation(len(others))[:6]:
        _, solution = certified(others[index])
        assert not qpsvm.verify(problem, solution, eps=EPS).passed, others[index]


# --- the judge -----------------------------------------------------------------------------------


class Judge:
    """Whether a mutant is as good as the truth, in extended precision."""

    def __init__(self, setting: Setting) -> None:
        self.case = BY_NAME[setting[0]]
        self.problem, self.truth = certified(setting)
        self.cost = self._cost(self.truth)
        K = self.problem.kernel(self.problem.data.X, self.problem.data.X)
        if setting[3] == "penalized":
            K = K + 1.0
        family = self.problem.formulation
        u = np.ones(len(self.case.data))
        self.dual = self.case.dual(family, self.case.data, u, K.astype(np.longdouble))
        self.free = setting[3] == "free" or not hasattr(family, "intercept")

    def is_harmless(self, mutant: SVMSolution) -> bool:
        """The same cost, an equally good alpha, true statements, and an optimum of the program."""
        return bool(
            abs(self._cost(mutant) - self.cost) <= HARMLESS_COST * abs(self.cost)
            and self._alpha_is_as_good(mutant.alpha)
            and self._statements_are_true(mutant)
            and self._program_is_solved(mutant.qp)
        )

    def _cost(self, solution: SVMSolution) -> Any:
        if (
            self.case.kind == "separable"
        ):  # scaled up until every margin is 1, if rounding missed it
            smallest = np.min(self.case.data.y * machine_of(self.problem, solution).f)
            if 1.0 - HARMLESS_STATEMENT <= smallest < 1.0:
                grown = {
                    name: getattr(solution, name) * (1.0 + 2.0 * float(1.0 - smallest))
                    for name in ("coef", "expansion", "intercept")
                    if getattr(solution, name) is not None
                }
                solution = solution.replace(**grown)
        return cost_of(self.case, self.problem, solution)

    def _alpha_is_as_good(self, alpha: Any) -> bool:
        D, unit = self.dual, np.max(np.abs(self.truth.alpha))
        feasible = np.clip(alpha, D.lower, D.upper)
        moved = np.max(np.abs(feasible - alpha))
        # how far the sums are off, and what that is worth: their multipliers are b and t
        value = -(feasible @ D.P @ feasible / 2 + D.q @ feasible)
        if self.free and len(D.b):
            off = (D.A @ feasible - D.b)[0]
            moved, value = max(moved, abs(off)), value - self.truth.intercept * off
        if len(D.h):
            off = (D.G @ feasible - D.h)[0]
            moved, value = max(moved, off), value - self.truth.width * off
        return bool(
            moved <= HARMLESS_ALPHA * unit * len(alpha)
            and abs(value - self.cost) <= HARMLESS_COST * abs(self.cost)
        )

    def _statements_are_true(self, mutant: SVMSolution) -> bool:
        truth = self.truth
        pairs = [
            (mutant.slack, truth.slack),
            (np.array(mutant.intercept_interval), np.array(truth.intercept_interval)),
        ]
        if truth.expansion is not None:
            pairs.append((mutant.expansion, truth.expansion))
        return all(
            np.shape(a) == np.shape(b)
            and np.max(np.abs(a - b)) <= HARMLESS_STATEMENT * max(1.0, np.max(np.abs(b)))
            for a, b in pairs
        )

    def _program_is_solved(self, qp: Any) -> bool:
        program = self.problem.qp
        P, G, A = (_dense(M).astype(np.longdouble) for M in (program.P, program.G, program.A))
        x, z, y, z_lower, z_upper = (getattr(qp, name) for name in QP_VECTORS)
        if any(v is None or not np.isfinite(v).all() for v in (x, z, y, z_lower, z_upper)):
            return False
        stationarity = P @ x + program.q + G.T @ z + A.T @ y - z_lower + z_upper
        slacks = np.concatenate([program.h - G @ x, x - program.lb, program.ub - x])
        multipliers = np.concatenate([z, z_lower, z_upper])
        products = multipliers * np.where(np.isinf(slacks), 1.0, slacks)
        missed = [
            np.abs(stationarity),
            np.abs(A @ x - program.b),
            -slacks,
            -multipliers,
        ]
        size = max(1.0, float(np.max(np.abs(program.q))), float(np.max(np.abs(x))))
        # a product of a slack and its multiplier has the unit of the objective
        value = max(1.0, float(np.abs(x @ P @ x)) / 2, float(np.abs(program.q @ x)))
        return bool(
            np.max(np.concatenate(missed)) <= HARMLESS_STATEMENT * size
            and np.max(np.abs(products)) <= HARMLESS_STATEMENT * max(size, value)
        )


def _dense(matrix: Any) -> Any:
    for method in ("to_dense", "toarray"):
        if hasattr(matrix, method):
            return np.asarray(getattr(matrix, method)())
    return np.asarray(matrix)
