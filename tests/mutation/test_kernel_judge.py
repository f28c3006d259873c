"""The judge of kernel values: known optima, laws of kernels, and machines of rounding."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import qpsvm
from benchmarks.soundness import kernel_report
from benchmarks.soundness.hunt import hunt_in
from benchmarks.soundness.kernel_machines import BITS, CLOSED, KernelMachines, rounded
from benchmarks.soundness.kernel_part import KERNELS, hunt_block
from benchmarks.soundness.rational import (
    ONE,
    ZERO,
    Condition,
    Machine,
    Program,
    exact,
    gram,
    machine,
    optimum,
    unit,
)
from benchmarks.soundness.tally import Tally, as_json
from tests.strategies import numbered

SEED = 30_012
CLOSE = Fraction(1, 10**35)


def soft_margin(X: Any, y: list[int], C: float, gamma: float) -> KernelMachines:
    """The judge of a soft margin with an RBF kernel."""
    n, price = len(y), Fraction(C)
    conditions = [Condition(unit(n, i, s), ONE, ZERO, price) for i, s in enumerate(y)]

    def cost(m: Machine) -> Fraction:
        return m.square / 2 + price * sum(max(ZERO, 1 - s * f) for s, f in zip(y, m.f, strict=True))

    rows, kernel = exact(X), qpsvm.kernels.RBF(gamma)
    K = gram("rbf", rows, rows, gamma=gamma)
    problem = qpsvm.SoftMargin(C).dual(X, y, kernel=kernel)
    return KernelMachines(
        "soft margin", "", problem, Program(n, K, conditions, cost), rows, y,
        ("rbf", {"gamma": gamma}), X,
    )  # fmt: skip


def solution_of(machines: KernelMachines, beta: Any, b: float) -> Any:
    """The solution object of a machine with these coefficients."""
    model = machines.problem.model
    s = qpsvm.solve(machines.problem)
    made = model.recovered(s.qp, np.abs(beta), expansion=beta, coef=None, b=b).solution
    return made.replace(intercept=b)


# --- optima --------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e9, 2.0**50])
def test_two_samples_have_the_optimum_of_the_formula(offset: float) -> None:
    """beta = 1 / (1 - k) for both, the objective is the same number, b is zero."""
    made = soft_margin(np.array([[offset], [offset + 2.0]]), [-1, 1], 1e3, 0.5)
    k = gram("rbf", [[ZERO]], [[Fraction(2)]], gamma=0.5)[0][0]
    assert made.best is not None
    assert abs(made.best.value - 1 / (1 - k)) < CLOSE
    assert abs(made.best.beta[1] - 1 / (1 - k)) < CLOSE
    assert abs(made.best.b) < CLOSE


def test_a_translation_of_the_samples_moves_no_optimum() -> None:
    rng = np.random.default_rng(0)
    Z = np.round(64 * rng.normal(size=(6, 2))) / 64
    y = [1, -1, 1, -1, 1, -1]
    here, there = (soft_margin(Z + offset, y, 300.0, 0.7).best for offset in (0.0, 1e9))
    assert here is not None
    assert there is not None
    assert here.value == there.value
    assert here.beta == there.beta


def test_the_optimum_does_not_depend_on_the_bits_of_the_program_that_is_solved() -> None:
    """Kernel matrices that are singular but for their last digits among them."""
    rng = np.random.default_rng(4)
    X = np.repeat(rng.normal(size=(3, 2)), 2, axis=0)
    X[1::2] = np.nextafter(X[1::2], np.inf)
    for gamma in (1e-6, 1.0):
        made = soft_margin(X, [1, 1, -1, -1, 1, 1], 1e6, gamma)
        assert made.best is not None
        for bits in BITS[1:3]:
            found = optimum(replace(made.program, K=rounded(made.program.K, bits)))
            assert found is not None
            cost = made.cost(found.beta, found.b, found.t)
            assert abs(cost - made.best.value) <= CLOSED * abs(made.best.value)


def testrounded_matrices_are_near_and_symmetric() -> None:
    K = gram(
        "rbf", exact([[0.0], [1e-3], [1e-3], [5.0]]), exact([[0.0], [1e-3], [1e-3], [5.0]]), 0.3
    )
    near = rounded(K, 220)
    for i in range(4):
        for j in range(4):
            assert near[i][j] == near[j][i]
            assert abs(near[i][j] - K[i][j]) <= Fraction(5, 2**220)
    short = gram("linear", exact([[1.0], [2.0]]), exact([[1.0], [2.0]]))
    assert rounded(short, 220) is short


# --- machines of noise ---------------------------------------------------------------------------


def naive_rbf(X: Any, gamma: float) -> Any:
    """``|x|^2 + |z|^2 - 2 x'z``, without a digit where the samples are far from zero."""
    squares = np.sum(X * X, axis=1)
    return np.exp(-gamma * np.maximum(squares[:, None] + squares[None] - 2 * X @ X.T, 0.0))


def test_the_optimum_of_a_kernel_that_is_noise_is_called_false() -> None:
    rng = np.random.default_rng(1)
    Z = np.round(64 * rng.normal(size=(8, 2))) / 64
    y = [1, -1] * 4
    for offset, is_false in ((0.0, False), (1e9, True)):
        X = Z + offset
        noise = qpsvm.SoftMargin(10.0).dual(naive_rbf(X, 0.5), y, kernel="precomputed",
                                            indefinite="clip")  # fmt: skip
        found = qpsvm.solve(noise)
        made = soft_margin(X, y, 10.0, 0.5)
        mutant = solution_of(made, found.expansion, found.intercept)
        assert bool(list(made.harm_at(mutant, 1e-8))) == is_false


def test_the_judge_is_exact_to_the_eps_that_is_asked_for() -> None:
    """The optimum, rounded to float64, may pass; a multiple of it that costs 3 eps may not."""
    rng = np.random.default_rng(2)
    made = soft_margin(rng.normal(size=(6, 2)), [1, -1] * 3, 5.0, 0.5)
    best = made.best
    assert best is not None
    beta = np.array([float(v) for v in best.beta])
    own = solution_of(made, beta, float(best.b))
    assert not list(made.harm_at(own, 1e-12))
    excess = made.relative_excess(solution_of(made, beta * 1.001, float(best.b)))
    assert excess is not None
    for eps, is_false in ((float(excess) / 3, True), (float(excess) * 1.1, False)):
        assert bool(list(made.harm_at(solution_of(made, beta * 1.001, float(best.b)), eps))) == (
            is_false
        )


def test_a_certificate_that_claims_too_much_is_contradicted() -> None:
    rng = np.random.default_rng(3)
    made = soft_margin(rng.normal(size=(6, 2)), [1, -1] * 3, 5.0, 0.5)
    best = made.best
    assert best is not None
    mutant = solution_of(made, 1.01 * np.array([float(v) for v in best.beta]), float(best.b))
    honest = qpsvm.certify(made.problem, mutant)
    assert not list(made.contradictions(mutant, honest))
    lie = replace(honest, dual_objective=1.01 * honest.primal_objective, excess_upper=1e-12)
    false = {why.split(":")[0] for why in made.contradictions(mutant, lie)}
    assert {"gap, estimated", "relative gap, estimated", "figure, estimated"} <= false


def test_weights_cost_what_the_textbook_says() -> None:
    made = soft_margin(np.array([[0.0], [1.0], [3.0]]), [-1, 1, 1], 2.0, 0.5)
    beta, b = exact([-0.5, 0.25, 0.5]), Fraction(1, 8)
    m = machine(made.program.K, 3, beta, b)
    K = np.exp(-0.5 * np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]) ** 2)
    v = np.array([-0.5, 0.25, 0.5])
    f = K @ v + 0.125
    expected = 0.5 * v @ K @ v + 2.0 * np.sum(np.maximum(0.0, 1 - np.array([-1, 1, 1]) * f))
    assert float(made.cost(beta, b, ZERO)) == pytest.approx(expected, rel=1e-14)
    assert float(m.f[0]) == pytest.approx(f[0], rel=1e-14)


# --- the hunt ------------------------------------------------------------------------------------


@numbered("index", 30, quick=1)
def test_nothing_is_said_that_exact_kernel_values_deny(index: int) -> None:
    tally = Tally()
    hunt_block(SEED, range(5 * index, 5 * index + 5), tally)
    assert tally.suspicious == []
    assert tally.problems[KERNELS] == 5
    assert tally.certificates > 8
    assert tally.rejected["kernel values: not judged"] == 0


def test_the_section_counts_what_was_found() -> None:
    tally = hunt_in((KERNELS, SEED, 0, 2))
    tally.count(KERNELS, {"mutation": "solve, auto", "answer": "solve, auto"}, "FALSE PASS", 3.0)
    tally.cells[KERNELS, kernel_report.CLAIM, "gap, estimated", "FALSE"] += 1
    text = kernel_report.section([json.loads(as_json(tally, 2, SEED, 1.0))])
    assert "| solve, auto | " in text
    assert "FALSE PASS" in text
    assert kernel_report.section([]) == ""
