"""The duality gap as a sum that does not cancel, and its decisive values with more digits."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.machines.complementarity import gap_bound, refined
from qpsvm.qp import Status
from tests.families import CASES, KERNELS, Case
from tests.kernels.test_precise import exact_value, fractions
from tests.strategies import grid


def moved(problem: Any, solution: Any, seed: int, size: float) -> Any:
    """Another machine with other dual variables than its own, as far away as asked for."""
    rng = np.random.default_rng(seed)

    def other(values: Any) -> Any:
        if values is None:
            return None
        return values + size * rng.normal(size=values.shape) * max(np.max(np.abs(values)), 1e-3)

    width = abs(other(np.array([solution.width]))[0]) if problem.model.conditions.width_sign else 0
    b = other(np.array([solution.intercept]))[0] if problem.model.intercept != "none" else 0.0
    return solution.replace(
        alpha=other(solution.alpha),
        coef=other(solution.coef),
        expansion=other(solution.expansion),
        intercept=float(b),
        width=float(width),
    )


@grid("case, kernel, size", product(CASES, KERNELS, [0.0, 1e-6, 0.3]))
def test_the_sum_is_the_difference_of_the_objectives(case: Case, kernel: str, size: float) -> None:
    for intercept in case.intercepts:
        problem = case.build("dual", KERNELS[kernel], intercept)
        model = problem.model
        machine = moved(problem, qpsvm.solve(problem), 5, size)
        evaluation = model.evaluate(machine)
        bound = gap_bound(model, evaluation)
        primal = model.primal_objective(evaluation)
        if not math.isfinite(primal):  # of a hard margin whose machine does not separate
            assert bound is None
            continue
        assert bound is not None
        dual = model.dual_objective(evaluation)
        scale = max(abs(primal), abs(dual), 1e-3)
        # what a free intercept that the sums of a penalised one fix leaves between the two
        assert bound.gap == pytest.approx(primal - dual, abs=1e-11 * scale, rel=1e-9)
        assert bound.gap <= bound.upper <= bound.gap * (1.0 + 1e-9) + 1e-9 * scale
        if model.conditions.is_cone:  # another multiple of the dual variables
            continue
        more = refined(model, evaluation, 0.0)
        again = gap_bound(model, more)
        assert again is not None
        # more digits of the same values
        assert again.gap == pytest.approx(bound.gap, abs=bound.upper - bound.gap + 1e-12 * scale)


def test_a_margin_that_is_lost_in_rounding_proves_nothing() -> None:
    problem = qpsvm.HardMargin(intercept="none").dual([[-1.0], [1.0]], [-1, 1])
    solution = qpsvm.solve(problem)
    tiny = solution.replace(coef=1e-86 * solution.coef, alpha=0.0 * solution.alpha)
    proof = qpsvm.certify(problem, tiny)
    assert math.isfinite(proof.primal_objective)  # of the machine scaled up
    assert proof.gap_upper == proof.relative_gap_upper == math.inf


def test_constraints_are_left_to_both_objectives() -> None:
    X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
    allowed = qpsvm.constraints.nonnegative([0])
    problem = qpsvm.SoftMargin().primal(X, y, constraints=[allowed])
    assert gap_bound(problem.model, problem.model.evaluate(qpsvm.solve(problem))) is None


def exact_objective(kernel: Any, X: Any, y: Any, C: float, machine: Any) -> Fraction:
    """``1/2 |w|^2 + C sum of hinge losses`` with exact kernel values."""
    rows, n = fractions(X), len(y)
    beta = [Fraction(float(v)) for v in machine.expansion]
    K = [[exact_value(kernel, a, b) for b in rows] for a in rows]
    g = [sum(K[i][j] * beta[j] for j in range(n)) for i in range(n)]
    losses = [
        max(Fraction(0), 1 - int(s) * (v + Fraction(machine.intercept)))
        for s, v in zip(y, g, strict=True)
    ]
    return sum(b * v for b, v in zip(beta, g, strict=True)) / 2 + Fraction(C) * sum(losses)


def classes(seed: int, n: int = 14) -> tuple[np.ndarray, np.ndarray]:
    """Samples that are multiples of 1/64, so that an offset of 1e9 adds exactly."""
    rng = np.random.default_rng(seed)
    X = np.round(64.0 * rng.normal(size=(n, 2))) / 64.0
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1, -1)
    y[:2] = -1, 1
    return X, y


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_an_offset_changes_nothing_of_a_machine_of_distances(offset: float, store: Any) -> None:
    """Kernel values follow from the samples as they are, so the program is the same."""
    X, y = classes(1)
    kernel = qpsvm.kernels.RBF(0.7)
    for C in (1.0, 100.0, 1e4):
        formulation = qpsvm.SoftMargin(C=C)
        plain = formulation.dual(X, y, kernel=kernel)
        problem = formulation.dual(store(X + offset), y, kernel=kernel)
        best, solution = qpsvm.solve(plain), qpsvm.solve(problem)
        assert solution.status is Status.OPTIMAL
        assert qpsvm.verify(problem, solution).passed
        objectives = [exact_objective(kernel, X, y, C, machine) for machine in (best, solution)]
        assert abs(objectives[0] - objectives[1]) <= Fraction(2e-8) * objectives[0]
        found = problem.model.evaluate(solution).scores
        np.testing.assert_allclose(found, plain.model.evaluate(best).scores, atol=1e-3)


KINDS = ["plain", "offset 1000", "offset 1e+06", "outlier", "degree 5", "degree 9"]


@grid("kind, C, seed", product(KINDS, [1e-2, 10.0, 1e4, 1e6], range(5)))
def test_no_bound_is_below_the_exact_excess(kind: str, C: float, seed: int) -> None:
    X, y = classes(seed, 9)
    kernel: Any = qpsvm.kernels.RBF(0.5)
    if kind.startswith("offset"):
        X = X + float(kind.split()[1])
    if kind == "outlier":
        X[0, 0] = 1e12
    if kind.startswith("degree"):
        kernel = qpsvm.kernels.Polynomial(0.3, int(kind.split()[1]), 1.0)
    problem = qpsvm.SoftMargin(C=C).dual(X, y, kernel=kernel)
    rows = fractions(X)
    K = np.array([[float(exact_value(kernel, a, b)) for b in rows] for a in rows])
    formulation = qpsvm.SoftMargin(C=C)
    rounded = qpsvm.solve(formulation.dual(K, y, kernel="precomputed", indefinite="clip"))
    machine = qpsvm.solve(problem)
    machines = [machine, machine.replace(expansion=rounded.expansion, intercept=rounded.intercept)]
    machines += [moved(problem, machine, seed, size) for size in (1e-12, 1e-9)]
    exact = [exact_objective(kernel, X, y, C, m) for m in machines]
    for own, objective in zip(machines, exact, strict=True):
        certificate = qpsvm.certify(problem, own)
        assert certificate.gap_upper >= objective - min(exact)
        hidden = certificate.objective_rounding * certificate.objective_scale
        if math.isfinite(hidden):
            apart = abs(Fraction(certificate.primal_objective) - objective)
            assert apart <= Fraction(hidden) * Fraction(1.0 + 1e-9)
        if qpsvm.verify(problem, own).passed:
            assert objective - min(exact) <= Fraction(1.1e-8) * objective


def test_machines_that_only_plain_evaluation_would_refuse_pass() -> None:
    """With C = 1e6 one rounding of a kernel value at a kink, times C, exceeds eps."""
    X, y = classes(3, 40)
    problem = qpsvm.SoftMargin(C=1e6).dual(X, y, kernel=qpsvm.kernels.RBF(3.0))
    solution = qpsvm.solve(problem, "active-set")
    assert solution.status is Status.OPTIMAL
    plain = gap_bound(problem.model, problem.model.evaluate(solution))
    certificate = qpsvm.certify(problem, solution)
    assert plain is not None
    assert certificate.evaluation.precise is not None
    assert certificate.gap_upper < 1e-8 * certificate.primal_objective < plain.upper
