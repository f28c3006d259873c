"""Laws of one proximal step of the solver of linear machines: minimum, box, and open variables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

import qpsvm
from qpsvm.qp.solution import Status
from qpsvm.solvers.linear.factor import Factor
from qpsvm.solvers.linear.program import FactorProgram, Point
from qpsvm.solvers.linear.proximal import (
    ProximalSteps,
    Rounded,
    first_weight,
    solve_by_proximal_steps,
)
from qpsvm.solvers.linear.search import Search
from qpsvm.solvers.linear.settings import DEFAULTS

seeds = st.integers(0, 10**6)


def start(seed, n=30, r=4, bounds="both", curved=0.5):
    """A program with two rows, and a point of its box."""
    rng = np.random.default_rng(seed)
    x, d = rng.uniform(-1.0, 1.0, n), rng.random(n) * (rng.random(n) < curved)
    lower, upper = x - rng.uniform(0.1, 2.0, n), x + rng.uniform(0.1, 2.0, n)
    if bounds == "some":
        lower = np.where(rng.random(n) < 0.3, -np.inf, lower)
        upper = np.where(rng.random(n) < 0.3, np.inf, upper)
        d += 0.1
    A = rng.standard_normal((2, n))
    factor = Factor(rng.standard_normal((n, r)), signs=rng.choice([-1.0, 1.0], n))
    q, offset = rng.standard_normal(n), rng.standard_normal(r)
    program = FactorProgram(factor, d, q, A, A @ x, lower, upper, offset)
    return program, Point.of(program, np.clip(np.zeros(n), lower, upper), np.zeros(2))


def search(program: FactorProgram, limit: int = 100) -> Search:
    return Search(program, 1e-8, limit, lambda *_: None)


def value(rounded: Rounded, at: Point) -> float:
    """The objective in the weights and multipliers, up to a constant."""
    p, moved = rounded.program, at.x - rounded.c
    of_weights = float(at.w @ (0.5 * at.w - p.offset) + p.b @ at.y)
    of_variables = float(at.x @ (at.g + 0.5 * p.d * at.x))
    return of_weights - of_variables - 0.5 * rounded.delta * float(moved @ moved)


@given(seeds, st.sampled_from(["both", "some"]), st.sampled_from([3, 50]))
def test_a_search_stops_where_no_step_makes_the_objective_smaller(seed, bounds, r) -> None:
    """Along a direction of descent the objective falls, and its slope with it."""
    p, at = start(seed, r=r, bounds=bounds)
    rounded = Rounded(p, at.x, 0.3)
    at = rounded.at(at)
    dw, dy = p.F.transposed(at.x) + p.offset - at.w, p.A @ at.x - p.b
    slope = -float(dw @ dw + dy @ dy)
    step = Point(at.x, dy, dw, p.gradient(dw, dy) - p.q)
    new, _ = rounded.searched(at, step, slope, exact=False)
    assert value(rounded, new) < value(rounded, at)
    np.testing.assert_array_equal(new.x, rounded.slopes(new.g))
    np.testing.assert_allclose(new.g, p.gradient(new.w, new.y), atol=1e-9)


@given(seeds, st.sampled_from(["both", "some"]), st.sampled_from([3, 50]))
def test_a_minimum_meets_the_equations_of_its_proximal_program(seed, bounds, r) -> None:
    p, at = start(seed, r=r, bounds=bounds)
    steps, everybody = ProximalSteps(p, 0.3), np.arange(p.size)
    found, system = steps._minimum(Rounded(p, at.x, 0.3), at, everybody)
    assert system is not None
    scale = 1.0 + float(np.max(np.abs(found.w)))
    np.testing.assert_allclose(found.w, p.F.transposed(found.x) + p.offset, atol=1e-8 * scale)
    np.testing.assert_allclose(p.A @ found.x, p.b, atol=1e-8 * scale)
    h = p.gradient(found.w, found.y) + p.d * found.x + 0.3 * (found.x - at.x)
    target = np.clip(found.x - h, p.lower, p.upper)
    np.testing.assert_allclose(target, found.x, atol=1e-7 * scale)


@pytest.mark.parametrize("bounds", ["both", "some"])
@pytest.mark.parametrize("seed", range(5))
def test_points_are_in_the_box_and_their_gap_falls(bounds, seed) -> None:
    p, at = start(seed, bounds=bounds)
    steps, gaps = ProximalSteps(p, 0.3), []
    for _ in range(12):
        at, is_exact = steps.from_point(at)
        assert is_exact
        assert (p.lower <= at.x).all()
        assert (at.x <= p.upper).all()
        np.testing.assert_allclose(p.A @ at.x, p.b, atol=1e-9)
        gaps.append(p.gap(at)[1])
        steps.delta *= DEFAULTS.shrink
    assert gaps[-1] < 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_variables_that_were_closed_wrongly_are_opened(seed) -> None:
    """The step with few open variables is that with all of them."""
    p, at = start(seed, n=400, r=3, curved=0.0)
    few = replace(DEFAULTS, open_per_weight=1, open_per_free=1)
    p.F.settings = few
    at, _ = ProximalSteps(p, 1.0).from_point(at)
    some, is_exact = ProximalSteps(p, 0.01).from_point(at)
    assert is_exact
    p.F.settings = replace(DEFAULTS, largest_open_share=0.0)
    whole, _ = ProximalSteps(p, 0.01).from_point(at)
    np.testing.assert_allclose(some.x, whole.x, atol=1e-7)


def test_without_kinks_one_step_is_the_optimum() -> None:
    p, at = start(0, curved=2.0)
    p = replace(p, d=p.d + 0.1)
    assert first_weight(p) == 0.0
    found = solve_by_proximal_steps(search(p), at)
    assert found.status is Status.OPTIMAL
    assert found.iterations == 1


@pytest.mark.parametrize("factor", [0.1, 0.3, 0.7])
def test_a_gap_that_falls_fast_enough_is_not_slow(factor, monkeypatch) -> None:
    assert _steps_taken(lambda k: 0.5 * factor**k, monkeypatch) > 40


@pytest.mark.parametrize("gap", [lambda k: 0.5 * 0.95**k, lambda _: 0.5])
def test_a_gap_that_creeps_or_stands_ends_the_search(gap, monkeypatch) -> None:
    assert _steps_taken(gap, monkeypatch) <= 2 * DEFAULTS.patience


def _steps_taken(gap, monkeypatch) -> int:
    """Count the proximal steps of a search whose gaps are given."""
    p, at = start(0)
    own, taken = search(p, limit=50), []
    monkeypatch.setattr(ProximalSteps, "from_point", lambda _, at: (at, True))
    monkeypatch.setattr(FactorProgram, "gap", lambda *_: (1.0, gap(len(taken))))
    monkeypatch.setattr(Search, "excess", lambda *_: 2.0)
    monkeypatch.setattr(Search, "report", lambda self, *_: (taken.append(1), _count(self)))
    solve_by_proximal_steps(own, at)
    return len(taken)


def _count(own: Search) -> None:
    own.iterations += 1


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_step_that_did_not_converge_is_judged_by_the_weights_of_its_variables(form: str) -> None:
    """Its own weights are others: a point of a huge objective looked like the best one."""
    X, y = load_breast_cancer(return_X_y=True)
    machine = qpsvm.SoftMargin(C=1e4, intercept="penalized")
    solution = qpsvm.solve(getattr(machine, form)(X, y), "ipm")
    assert solution.status is Status.OPTIMAL
