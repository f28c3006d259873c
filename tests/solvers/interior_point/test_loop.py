"""Laws of one interior-point iteration: directions, steps and the best point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpsvm.solvers.interior_point.factor import Factor
from qpsvm.solvers.interior_point.interior import (
    BestPoint,
    Regularization,
    affine_step,
    centering,
    combined_direction,
    corrector_targets,
    step_along,
)
from qpsvm.solvers.interior_point.iterates import Accuracy, Residuals, starting_point
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import DEFAULTS

seeds = st.integers(0, 10**6)


def start(seed, n=30, r=4, bounds="both"):
    """A program with two rows, its starting point and the first linear system."""
    rng = np.random.default_rng(seed)
    x, d = rng.uniform(-1.0, 1.0, n), rng.random(n) * (rng.random(n) < 0.5)
    lower, upper = x - rng.uniform(0.1, 2.0, n), x + rng.uniform(0.1, 2.0, n)
    if bounds == "some":
        lower = np.where(rng.random(n) < 0.3, -np.inf, lower)
        upper = np.where(rng.random(n) < 0.3, np.inf, upper)
        d += 0.1
    A = rng.standard_normal((2, n))
    factor = Factor(rng.standard_normal((n, r)), signs=rng.choice([-1.0, 1.0], n))
    q, offset = rng.standard_normal(n), rng.standard_normal(r)
    program = FactorProgram(factor, d, q, A, A @ x, lower, upper, offset)
    variables = starting_point(program)
    return program, variables, Residuals.of(program, variables)


@given(seeds, st.sampled_from(["both", "some"]), st.sampled_from([3, 50]))
def test_a_direction_solves_the_linearised_equations(seed, bounds, r) -> None:
    p, it, residuals = start(seed, r=r, bounds=bounds)
    system, affine, _ = affine_step(p, it, residuals, Regularization())
    zeros = np.zeros(p.size)
    targets = corrector_targets(p, affine, it.mean_complementarity(p))
    for found, of in ((affine, (zeros, zeros)), (system.solve(targets), targets)):
        F = p.F.rows(np.arange(p.size))
        unmet = {
            "dw = F'dx": found.dw - F.T @ found.dx,
            "A dx = b - A x": p.A @ found.dx - (p.b - p.A @ it.x),
            "stationarity": F @ found.dw + found.dy @ p.A + p.d * found.dx - found.dz + found.dv
            + (residuals.gradient + p.d * it.x - it.z + it.v),
            "s z": (it.s * found.dz + it.z * found.dx - of[0] + it.s * it.z)[it.z > 0.0],
            "t v": (it.t * found.dv - it.v * found.dx - of[1] + it.t * it.v)[it.v > 0.0],
        }  # fmt: skip
        scale = 1.0 + max(np.max(np.abs(part)) for part in (found.dx, found.dz, found.dv))
        for name, value in unmet.items():
            np.testing.assert_allclose(value, 0.0, atol=1e-8 * scale, err_msg=name)


@given(seeds, st.sampled_from(["both", "some"]))
def test_a_step_keeps_all_signs_and_its_share_of_the_residuals(seed, bounds) -> None:
    p, it, before = start(seed, bounds=bounds)
    system, affine, _ = affine_step(p, it, before, Regularization())
    mu = it.mean_complementarity(p)
    sigma = centering(system, affine, mu)
    assert 0.0 <= sigma <= 1.0
    direction = combined_direction(system, affine, sigma * mu)
    after = step_along(system, direction)
    length = min(1.0, DEFAULTS.boundary_share * direction.step_length)
    assert 0.0 < length <= 1.0
    assert (after.s > 0.0).all()
    assert (after.t > 0.0).all()
    assert (after.z[np.isfinite(p.lower)] > 0.0).all()
    assert (after.v[np.isfinite(p.upper)] > 0.0).all()
    left = Residuals.of(p, after)
    for name in ("weights", "rows"):
        expected = (1.0 - length) * getattr(before, name)
        np.testing.assert_allclose(getattr(left, name), expected, atol=1e-9, err_msg=name)
    gradient = p.gradient(after.w, after.y)
    np.testing.assert_allclose(after.g, gradient, atol=1e-8 * (1.0 + np.max(np.abs(gradient))))


@pytest.mark.parametrize("bounds", ["both", "some"])
def test_the_best_point_is_in_the_box_and_never_worse_than_before(bounds) -> None:
    p, it, residuals = start(0, bounds=bounds)
    best, regularization = BestPoint(it, residuals), Regularization()
    gaps = []
    for iteration in range(12):
        best = best.or_better(Accuracy.of(p, it, residuals), it, residuals, iteration)
        gaps.append(best.gap)
        x = best.solution(p)
        assert (p.lower <= x).all()
        assert (x <= p.upper).all()
        system, affine, regularization = affine_step(p, it, residuals, regularization)
        mu = it.mean_complementarity(p)
        target = centering(system, affine, mu) * mu
        direction = combined_direction(system, affine, target)
        it = step_along(system, direction)
        residuals = Residuals.of(p, it)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-8
    worse = replace(Accuracy.of(p, it, residuals), rows=1.5 * best.gap)
    assert best.or_better(worse, it, residuals, 12) is best
