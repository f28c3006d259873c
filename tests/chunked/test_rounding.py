"""The rounding that a certificate states covers what rounding does, by exact arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from qpsvm.chunked.certificate import primal_objective
from qpsvm.chunked.evaluation import Request
from qpsvm.chunked.machine import ChunkedDual, Machine
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.exceptions import QPSVMError
from tests.chunked.cases import BY_NAME, hard_numbers, in_chunks, settings
from tests.chunked.exact import Exact, exact
from tests.strategies import PARTS, numbered

in_thirds = numbered("part", 3 * PARTS, quick=1)  # each has one problem per setting


def bound_of(problem: ChunkedProblem, point: ChunkedDual) -> Any:
    return problem.measured(point.centre, point)[2]


def problems(part: int, count: int) -> Any:
    """Problems of every family with numbers of all sizes."""
    rng = np.random.default_rng([27, part])
    for name, intercept in settings():
        case = BY_NAME[name]
        family = case.with_intercept(intercept)
        for _ in range(count):
            own = family
            if case.has("C") and rng.random() < 0.5:
                own = replace(family, C=10.0 ** rng.uniform(-6, 8))
            if case.name == "ball":
                own = replace(family, C=rng.uniform(0.06, 1.0))
            X, y, weights = hard_numbers(case, rng)
            try:
                problem = in_chunks(own, X, y, weights, rows=int(rng.integers(1, 9)))
            except QPSVMError:  # nu that these weights make impossible
                continue
            yield problem, rng


def some_dual(known: Exact, rng: np.random.Generator) -> Any:
    """Dual variables within their bounds: random, at bounds, balanced almost or not at all."""
    size = 10.0 ** rng.uniform(-6, 2)
    low, high = (np.clip(v, -size, size) for v in (known.lower, known.upper))
    a = low + (high - low) * rng.random(len(known))
    if rng.random() < 0.5:
        a = np.where(rng.random(len(a)) < 0.4, known.upper.clip(-1e3, 1e3), a)
    if rng.random() < 0.7:  # sums that hold up to rounding
        signs = np.array([float(r) for r in known.signs])
        form = known.form
        for _ in range(3):
            excess = float(signs @ a) - form.intercept_price
            side = np.sum((signs * a)[signs * a * excess > 0.0])
            if form.intercept == "free" and side:
                shrink = 1.0 - excess / side
                a = np.where(signs * a * excess > 0.0, a * shrink, a) if shrink >= 0 else a
        if form.width_sign > 0.0 and np.sum(a) > form.width_price:
            a = a * (form.width_price / np.sum(a))
    return np.clip(a, known.lower, known.upper)


@in_thirds
def test_a_feasible_point_has_the_objective_that_is_stated(part: int) -> None:
    """Some exactly feasible point has at least the bound's value, less its rounding."""
    seen = 0
    for problem, rng in problems(part, 1):
        known = Exact.of(problem)
        a = some_dual(known, rng)
        bound = bound_of(problem, known.point(a))
        feasible = known.repaired(exact(a))
        if feasible is None or not np.isfinite(bound.objective):
            continue
        seen += 1
        value = known.dual(feasible)
        assert value >= Fraction(bound.objective) - Fraction(bound.rounding), problem
    assert seen > 10


@in_thirds
def test_the_bound_is_below_every_machine(part: int) -> None:
    """Weak duality in exact arithmetic, with any dual variables and any machine."""
    for problem, rng in problems(part, 1):
        known = Exact.of(problem)
        bound = bound_of(problem, known.point(some_dual(known, rng)))
        if not np.isfinite(bound.objective):
            continue
        d = problem.totals.n_features
        for scale in (0.0, 1e-6, 1.0):
            w = scale * rng.normal(size=d)
            form = problem.template
            machine = Machine(
                w,
                float(rng.normal()) * scale if form.intercept != "none" else 0.0,
                abs(float(rng.normal())) * scale if form.width_sign else 0.0,
            )
            assert known.primal(machine) >= Fraction(bound.objective) - Fraction(bound.rounding)


@in_thirds
def test_the_objective_of_a_machine_is_rounded_by_at_most_what_is_stated(part: int) -> None:
    for problem, rng in problems(part, 1):
        known, form = Exact.of(problem), problem.template
        w = rng.normal(size=problem.totals.n_features) * 10.0 ** rng.uniform(-6, 2)
        f = float(np.mean([[float(v) for v in x] for x in known.rows], axis=0) @ w)
        b = -f if rng.random() < 0.7 else float(rng.normal())  # what cancels the rest
        width = abs(float(rng.normal())) if form.width_sign else 0.0
        machine = Machine(w, b if form.intercept != "none" else 0.0, width)
        value, rounding = primal_objective(form, machine, problem.run(Request(form, (machine,))))
        assert abs(known.primal(machine) - Fraction(value)) <= Fraction(rounding), problem


@pytest.mark.parametrize("factor", [1.0, 1e8])
def test_a_bound_is_close_to_a_feasible_point_s_objective(factor: float) -> None:
    """What is added for rounding is small: the bound is of use."""
    case = BY_NAME["hinge"]
    problem = in_chunks(replace(case.family, C=factor), case.data.X, case.data.y)
    known = Exact.of(problem)
    a = np.minimum(known.upper, 0.01)
    bound = bound_of(problem, known.point(a))
    feasible = known.repaired(exact(a))
    assert feasible is not None
    assert abs(float(known.dual(feasible)) - bound.objective) <= 1e-12
    assert 0.0 < bound.rounding <= 1e-12
