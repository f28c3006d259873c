"""What a dual point that misses its sums by rounding may gain, beside exactly feasible points."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qpsvm
from qpsvm.constraints import LinearConstraints
from qpsvm.machines.accuracy import missed_balance, missed_sums
from qpsvm.machines.setup import stated_solution

MACHINES: dict[str, Any] = {
    "hinge": qpsvm.SoftMargin(C=1e4),
    "squared hinge": qpsvm.SoftMargin(C=1e4, loss="squared_hinge"),
    "hard": qpsvm.HardMargin(),
    "nu": qpsvm.NuClassification(nu=0.3),
    "tube": qpsvm.EpsilonRegression(C=1e4, epsilon=1e-3),
    "nu tube": qpsvm.NuRegression(C=1e4, nu=0.5),
}


def exact_dual(model: Any, alpha: list[Fraction]) -> Fraction:
    """``p'a - 1/2 (|w_a|^2 + d'a^2)`` of a linear machine, exact."""
    c = model.conditions
    beta = [Fraction(0)] * c.n_samples
    for sample, sign, a in zip(c.samples.tolist(), c.signs.tolist(), alpha, strict=True):
        beta[sample] += Fraction(sign) * a
    columns = np.asarray(model.data.X).T.tolist()
    weights = [
        sum(b * Fraction(x) for b, x in zip(beta, column, strict=True)) for column in columns
    ]
    squares = sum((w * w for w in weights), Fraction(0))
    for d, a in zip(c.curvature.tolist(), alpha, strict=True):
        squares += Fraction(d) * a * a
    linear = sum((Fraction(p) * a for p, a in zip(c.required.tolist(), alpha, strict=True)))
    return linear - squares / 2


def exactly_feasible(model: Any, alpha: list[Fraction]) -> list[list[Fraction]]:
    """Points that differ in one variable, or in one of either sign, and have the exact sums."""
    c = model.conditions
    signs = [int(s) for s in c.signs]
    missed = sum(s * a for s, a in zip(signs, alpha, strict=True)) - Fraction(c.intercept_price)
    sides = [range(len(alpha))]
    steps = [[-s * missed for s in signs]]
    if c.width_sign:
        excess = int(c.width_sign) * sum(alpha) - Fraction(c.width_price)
        excess = int(c.width_sign) * max(excess, Fraction(0))
        sides = [[i for i, s in enumerate(signs) if s == sign] for sign in (1, -1)]
        of_either = {1: -(missed + excess) / 2, -1: (missed - excess) / 2}
        steps = [[of_either[s] for s in signs]] * 2
    found = []
    for chosen in product(*sides):
        moved = list(alpha)
        for i, step in zip(chosen, steps, strict=True):
            moved[i] += step[i]
        ends = zip(c.lower.tolist(), moved, c.upper.tolist(), strict=True)
        if all(
            Fraction(low) <= a and (high == np.inf or a <= Fraction(high)) for low, a, high in ends
        ):
            found.append(moved)
    return found


@pytest.mark.parametrize("name", MACHINES)
@given(seed=st.integers(0, 2**32 - 1), offset=st.sampled_from([0.0, 1e3, 1e6]))
def test_some_exactly_feasible_point_has_nearly_the_objective(
    name: str, seed: int, offset: float
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 2)), np.array([1.0, -1.0] * 4)
    if name == "hard":
        X[:, 0] += 5.0 * y
    t = y if "tube" not in name else X @ rng.normal(size=2) + 0.1 * rng.normal(size=8)
    problem = MACHINES[name].dual(X + offset, t)
    model = problem.model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
        evaluation = model.evaluate(qpsvm.solve(problem))
    alpha = [Fraction(float(a)) for a in evaluation.point.alpha]
    feasible = exactly_feasible(model, alpha)
    if not feasible:
        return  # none of its kind: all variables are at bounds
    best = max(exact_dual(model, point) for point in feasible)
    size = max(abs(float(best)), model.objective_floor)
    gain = float(exact_dual(model, alpha) - best)
    assert gain <= missed_sums(model, evaluation) * (1.0 + 1e-6) + 1e-16 * size


@given(seed=st.integers(0, 2**32 - 1))
def test_what_constraints_on_the_intercept_contribute_is_summed_up_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 2)), np.array([1.0, -1.0] * 3)
    rows = LinearConstraints(G=rng.normal(size=(2, 3)), h=[1.0, 2.0])
    model = qpsvm.SoftMargin().dual(X, y, constraints=rows).model
    z, alpha = rng.exponential(size=2) * 10.0 ** rng.integers(0, 9), rng.uniform(size=6)
    solution = stated_solution(model, alpha, 0.0, coef=np.ones(2), constraint_multipliers=z)
    evaluation = model.evaluate(solution)
    alpha, z = evaluation.point.alpha, evaluation.point.constraint_multipliers
    terms = [*zip(y, alpha, strict=True), *zip(-rows.intercept_column, z, strict=True)]
    exact = sum((Fraction(a) * Fraction(b) for a, b in terms), Fraction(0))
    assert missed_balance(model, evaluation) == abs(float(exact))
