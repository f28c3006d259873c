"""Every family: its programs are the textbook's, and nothing about it can be told wrongly.

The formulas to compare with are those of ``tests.families``, written with plain NumPy.
"""

from __future__ import annotations

import dataclasses
import math
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import qpsvm
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.machines.conditions import losses, slopes
from qpsvm.qp import QuadraticProgram
from tests.families import BY_NAME, CASES, KERNELS, Machine, cost_of, machine_of, settings
from tests.strategies import examples, grid, listed
from tests.tolerances import BEST_NUMBER, LAW_EPS, ROUNDING, SAME_OBJECTIVE, SUMS

Setting = tuple[str, str, str, str]
SETTINGS: list[Setting] = list(settings())
DUALS = [s for s in SETTINGS if s[1] == "dual"]
PRIMALS = [s for s in SETTINGS if s[1] == "primal"]
EVERY = grid("setting", SETTINGS)
EVERY_DUAL = grid("setting", DUALS)
EVERY_PRIMAL = grid("setting", PRIMALS)
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
BOX_OF_ANYTHING = [0.0, -1.0, 1e-300, 1e-9, 1e3, 1e9, np.nan, np.inf, -np.inf]


def problem_of(setting: Setting, **more: Any) -> Any:
    name, form, kernel, intercept = setting
    return BY_NAME[name].build(form, KERNELS[kernel], intercept, **more)


@cache
def optimum(setting: Setting) -> tuple[Any, Any]:
    problem = problem_of(setting)
    return problem, qpsvm.solve(problem, "cvxopt", eps=LAW_EPS)


def uneven(case: Any) -> Any:
    """Weights that differ, but so little that no nu becomes infeasible."""
    n = len(case.data)
    return 2.0 + 0.6 * np.where(np.arange(n) % 2, 1.0, -1.0)


# --- the programs --------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@EVERY_DUAL
def test_the_dual_is_the_textbook_program(setting: Setting, weighted: bool) -> None:
    case, (_, _, kernel, intercept) = BY_NAME[setting[0]], setting
    u = uneven(case) if weighted else np.ones(len(case.data))
    problem = problem_of(setting, sample_weight=u if weighted else None)
    X = case.data.X
    squares = np.sum((X[:, None] - X) ** 2, axis=2)
    K = X @ X.T if kernel == "linear" else np.exp(-0.4 * squares)
    D = case.dual(case.family, case.data, u, K + (intercept == "penalized"))
    if intercept in ("penalized", "none"):
        D = D._replace(A=np.zeros((0, len(D.q))), b=[])
    qp, size = problem.qp, np.max(np.abs(D.P))
    np.testing.assert_allclose(qp.P.to_dense(), D.P, rtol=0, atol=ROUNDING * size)
    for name, expected in (("q", D.q), ("lb", D.lower), ("ub", D.upper), ("h", D.h), ("b", D.b)):
        np.testing.assert_allclose(getattr(qp, name), expected, rtol=ROUNDING, err_msg=name)
    six = problem.canonical("dense")
    np.testing.assert_array_equal(six.A, D.A)
    # bounds below the other rows: -a <= -lower, a <= upper, where they are finite
    n, low, high = len(D.q), np.isfinite(D.lower), np.isfinite(D.upper)
    identity = np.eye(n)
    np.testing.assert_array_equal(six.G, np.vstack([D.G, -identity[low], identity[high]]))
    np.testing.assert_allclose(
        six.h, np.concatenate([D.h, -D.lower[low], D.upper[high]]), rtol=ROUNDING
    )


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@EVERY_PRIMAL
def test_the_primal_costs_what_the_textbook_says_for_any_machine(
    setting: Setting, weighted: bool
) -> None:
    """With the weights, b and t held fixed, the best slack leaves the cost of that machine."""
    case, (_, _, kernel, intercept) = BY_NAME[setting[0]], setting
    u = uneven(case) if weighted else np.ones(len(case.data))
    problem = problem_of(setting, sample_weight=u if weighted else None)
    rng = np.random.default_rng(3)
    K = np.asarray(problem.kernel(case.data.X, case.data.X))
    for _ in range(2):
        weights = rng.normal(size=3 if kernel == "linear" else len(case.data))
        b = 0.0 if intercept == "none" or case.kind == "grades" else rng.normal()
        t = abs(rng.normal()) if case.has_width else 0.0
        if case.kind == "separable":  # no slack: only machines that separate
            weights, b = 10.0 * optimum(setting)[0].model.expansion(optimum(setting)[1].alpha), 0.0
            weights = case.data.X.T @ weights if kernel == "linear" else weights
        linear = kernel == "linear"
        square = weights @ weights if linear else weights @ K @ weights
        f = b + (case.data.X @ weights if linear else K @ weights)
        expected = case.cost(case.family, case.data, u, Machine(square, f, b, t, np.diag(K)))
        expected += b * b / 2 if intercept == "penalized" else 0.0
        head = [*weights]
        head += [b] if problem.qp.names["x"].split(", ")[1:2] == ["b"] else []
        head += [t] if case.has_width else []
        assert best_with(problem.qp, np.array(head)) == pytest.approx(expected, rel=SAME_OBJECTIVE)


def best_with(qp: QuadraticProgram, head: Any) -> float:
    """The least objective with the first variables held fixed."""
    k = len(head)
    P, G, A = qp.P.to_dense(), _dense(qp.G), _dense(qp.A)
    constant = head @ P[:k, :k] @ head / 2 + qp.q[:k] @ head
    assert (head >= qp.lb[:k]).all()
    if k == len(qp.q):
        assert (G @ head <= qp.h + 1e-9).all()
        return float(constant)
    rest = QuadraticProgram(
        P[k:, k:], qp.q[k:] + P[k:, :k] @ head,
        G=G[:, k:], h=qp.h - G[:, :k] @ head, A=A[:, k:], b=qp.b - A[:, :k] @ head,
        lb=qp.lb[k:], ub=qp.ub[k:],
    )  # fmt: skip
    return float(constant + rest.objective(qpsvm.solve(rest, "qpsolvers:piqp", eps=LAW_EPS).x))


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


@EVERY_DUAL
def test_both_textbook_programs_have_the_same_optimum(setting: Setting) -> None:
    """Strong duality between two formulas that were written down separately."""
    case, (_, _, kernel, intercept) = BY_NAME[setting[0]], setting
    K = KERNELS[kernel](case.data.X, case.data.X) + (intercept == "penalized")
    D = case.dual(case.family, case.data, np.ones(len(case.data)), K)
    balanced = intercept in ("free", "own") and len(D.b)
    program = QuadraticProgram(
        D.P, D.q, D.G if len(D.h) else None, D.h if len(D.h) else None,
        D.A if balanced else None, D.b if balanced else None, lb=D.lower, ub=D.upper,
    )  # fmt: skip
    lowest = program.objective(qpsvm.solve(program, "qpsolvers:piqp", eps=LAW_EPS).x)
    problem, solution = optimum((setting[0], "primal", kernel, intercept))
    cost = float(cost_of(case, problem, solution, dtype=np.float64))
    if case.kind == "separable":  # margins miss 1 by rounding
        cost = qpsvm.certify(problem, solution).primal_objective
    assert cost == pytest.approx(-lowest, rel=SAME_OBJECTIVE)


# --- the way back ---------------------------------------------------------------------------------


@EVERY
def test_numbers_that_overflow_come_back_and_do_not_pass(setting: Setting) -> None:
    problem, solution = optimum(setting)
    program = problem.to_qp(solution)
    far = {name: 1e300 + getattr(program, name) for name in ("x", "z", "y", "z_lower", "z_upper")}
    assert not qpsvm.verify(problem, problem.recover(program.replace(**far))).passed


@EVERY
def test_there_and_back_again(setting: Setting) -> None:
    problem, solution = optimum(setting)
    again = problem.recover(problem.to_qp(solution))
    largest = max(1.0, float(np.max(np.abs(solution.alpha))))
    for name in ("alpha", "expansion", "coef", "slack", "intercept", "width"):
        stated, expected = getattr(again, name), getattr(solution, name)
        if expected is None:
            assert stated is None
        else:
            np.testing.assert_allclose(
                stated, expected, rtol=0, atol=ROUNDING * 1e2 * largest, err_msg=name
            )
    # slack and multipliers are exact for the weights; stationarity goes like the root of the gap
    assert qpsvm.verify(problem, again, eps=1e-6).passed
    assert qpsvm.verify(problem, problem.to_qp(solution), eps=1e-6).passed


@EVERY
def test_a_recovered_machine_predicts_what_the_formula_says(setting: Setting) -> None:
    problem, solution = optimum(setting)
    case, (_, _, kernel, _) = BY_NAME[setting[0]], setting
    rng = np.random.default_rng(2)
    new = rng.normal(size=(7, 3))
    D = problem.model.conditions.rows.toarray()
    beta = D.T @ solution.alpha / (0.5 if case.name == "ball" else 1.0)
    expected = KERNELS[kernel](new, case.data.X) @ beta + solution.intercept
    if case.name == "ball":
        expected = expected - np.diag(KERNELS[kernel](new, new))
    size = np.max(np.abs(expected))
    np.testing.assert_allclose(solution.decision_function(new), expected, rtol=0, atol=2e-4 * size)
    predicted = solution.predict(new)
    if case.is_classifier:
        np.testing.assert_array_equal(predicted, np.where(expected > 0, 1, -1))
    elif case.kind == "samples":
        np.testing.assert_array_equal(predicted, np.where(expected >= 0, 1, -1))
    else:
        np.testing.assert_array_equal(predicted, solution.decision_function(new))


@EVERY
def test_b_t_and_slack_are_what_the_program_has(setting: Setting) -> None:
    """Recovery computes them from the weights; the program's own multipliers must agree."""
    problem, solution = optimum(setting)
    qp, c = solution.qp, solution.conditions
    size = max(1.0, float(np.max(np.abs(solution.slack))), abs(solution.intercept))
    if problem.form == "dual":
        lower, upper = solution.intercept_interval
        if len(qp.y):
            assert lower - 1e-4 * size <= qp.y[0] <= upper + 1e-4 * size
        if c.width_sign:
            assert qp.z[0] == pytest.approx(solution.width, abs=1e-4 * size)
        bounded = np.isfinite(c.upper) & (c.lower == 0.0)
        np.testing.assert_allclose(
            qp.z_upper[bounded], solution.slack[bounded], rtol=0, atol=1e-4 * size
        )


# --- bounds on the optimum ------------------------------------------------------------------------


@given(st.sampled_from(SETTINGS), st.integers(0, 2**32 - 1), st.data())
@hypothesis_settings(max_examples=examples(500))
def test_any_machine_and_any_multipliers_bound_the_optimum(
    setting: Setting, seed: int, data: st.DataObject
) -> None:
    problem, best = optimum(setting)
    exact = qpsvm.certify(problem, best)
    model, c = problem.model, problem.model.conditions
    rng = np.random.default_rng(seed)
    size = 10.0 ** data.draw(st.integers(-6, 6))
    near = data.draw(st.sampled_from([0.0, 0.5, 1.0 - 1e-6]))

    def junk(vector: Any) -> Any:
        return (
            None
            if vector is None
            else near * vector + (1 - near) * size * rng.normal(size=np.shape(vector))
        )

    b = 0.0 if model.intercept == "none" else float(junk(best.intercept))
    candidate = best.replace(
        alpha=junk(best.alpha),
        coef=junk(best.coef),
        expansion=junk(best.expansion),
        intercept=b,
        width=abs(float(junk(best.width))) if c.width_sign else 0.0,
    )
    proof = qpsvm.certify(problem, candidate)
    terms = max(abs(proof.dual_objective), abs(exact.primal_objective))
    slack = SUMS * terms
    # hard margins that miss 1 by rounding are as cheap as that
    assert proof.primal_objective >= exact.dual_objective - slack or proof.infeasibility > 0
    assert not proof.dual_objective > exact.primal_objective + slack
    if near == 0.0 and size != 1e-6:
        assert not proof.passed(1e-3)  # junk is never close
    assert not qpsvm.verify(problem, candidate).passed


@given(
    st.sampled_from(DUALS),
    st.integers(0, 2**32 - 1),
    st.integers(-12, 12),
    st.sampled_from(BOX_OF_ANYTHING),
)
@hypothesis_settings(max_examples=examples(1500))
def test_the_repaired_multipliers_are_feasible(
    setting: Setting, seed: int, power: int, anything: float
) -> None:
    """For the textbook's dual program; NaN and infinities stay out of the lower bound."""
    problem, _ = optimum(setting)
    case, model = BY_NAME[setting[0]], problem.model
    rng = np.random.default_rng(seed)
    n = len(model.conditions)
    alpha = 10.0**power * rng.normal(size=n) * (rng.random(n) < 0.7)
    alpha[rng.integers(n)] = anything
    D = case.dual(case.family, case.data, np.ones(len(case.data)), np.eye(len(case.data)))
    with np.errstate(all="ignore"):
        point = model.feasible_dual(alpha)
        value = model.dual_value(point, model.dual_weights(point))
    a = point.alpha
    if not np.isfinite(a).all():
        assert not math.isfinite(value) or not np.isfinite(alpha).all()
        assert not value > 0 or math.isnan(value)
        return
    assert (a >= D.lower).all()
    assert (a <= D.upper).all()
    total = max(float(np.sum(np.abs(a))), 1e-280)
    if len(D.b) and setting[3] in ("free", "own"):
        assert abs((D.A @ a - D.b)[0]) <= n * 1e-15 * max(total, 1.0 * bool(D.b[0]))
    if len(D.h):
        assert (D.G @ a - D.h)[0] <= n * 1e-15 * max(total, abs(D.h[0]))


# --- the best b and t -----------------------------------------------------------------------------


@given(
    st.sampled_from(
        [s for s in DUALS if s[3] in ("free", "own") and BY_NAME[s[0]].kind != "grades"]
    ),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-3, 1.0, 30.0]),
)
@hypothesis_settings(max_examples=examples(400))
def test_no_other_intercept_or_width_is_better(setting: Setting, seed: int, size: float) -> None:
    problem, best = optimum(setting)
    case, rng = BY_NAME[setting[0]], np.random.default_rng(seed)
    beta = best.expansion + size * rng.normal(size=len(best.expansion)) * (case.kind != "separable")
    K = problem.model.gram.to_dense()
    g = K @ beta
    interval, t = problem.model.best_offsets(g, 0.0)
    square = beta @ g

    def cost(b: Any, t: Any) -> float:
        machine = Machine(square, g + b, b, t, np.diag(K))
        return float(case.cost(case.family, case.data, np.ones(len(case.data)), machine))

    if case.kind == "separable":  # the middle of those that separate, or no other separates better
        margins = case.data.y * (g + interval.midpoint)
        worst = np.min(margins)
        for step in (1e-6, -1e-6, 0.1, -0.1):
            assert np.min(case.data.y * (g + interval.midpoint + step)) <= worst + 1e-12
        return
    least = cost(interval.midpoint, t)
    scale = max(abs(least), float(np.max(np.abs(g))) * 1e-3, 1e-12)
    for end in interval:
        assert cost(end, t) <= least + BEST_NUMBER * scale
    # b and t together, along any direction, near and far
    for _ in range(20):
        reach = 10.0 ** rng.uniform(-7, 2) * max(1.0, size)
        step_b, step_t = reach * rng.normal(size=2)
        other = max(0.0, t + step_t) if case.has_width else t
        assert cost(interval.midpoint + step_b, other) >= least - BEST_NUMBER * scale
    if not case.has_width:
        centre, reach = interval.midpoint, 10.0 * (1.0 + float(np.ptp(g)))
        found = minimize_scalar(
            lambda b: cost(b, t), bounds=(centre - reach, centre + reach), method="bounded"
        )
        assert found.fun >= least - BEST_NUMBER * scale
    # beyond the interval it gets worse: there is no other best intercept
    beyond = max(interval.upper - interval.lower, 1e-3 * (1.0 + abs(interval.midpoint)))
    assert cost(interval.upper + beyond, t) > least + BEST_NUMBER * scale
    assert cost(interval.lower - beyond, t) > least + BEST_NUMBER * scale


@EVERY
def test_a_b_or_t_that_the_program_does_not_have_is_no_machine(setting: Setting) -> None:
    problem, solution = optimum(setting)
    mutants = [solution.replace(width=-1e-3)]
    if not BY_NAME[setting[0]].has_width:
        mutants.append(solution.replace(width=1e-3))
    if problem.model.intercept == "none":
        mutants.append(solution.replace(intercept=1e-3))
    for mutant in mutants:
        assert qpsvm.certify(problem, mutant).primal_objective == math.inf
        assert not qpsvm.verify(problem, mutant).passed


# --- losses ---------------------------------------------------------------------------------------

LOSSES = {
    "hinge": (0.0, 3.0, 0.0, lambda v: 3 * max(0.0, v)),
    "squared hinge": (0.0, np.inf, 1 / 6, lambda v: 3 * max(0.0, v) ** 2),
    "pinball": (-0.75 * 4, 0.25 * 4, 0.0, lambda v: v if v > 0 else -3 * v),
    "squared": (-np.inf, np.inf, 1 / 5, lambda v: 2.5 * v * v),
    "hard": (0.0, np.inf, 0.0, lambda v: np.inf if v > 0 else 0.0),
    "Huber": (-2.0, 2.0, 0.5, lambda v: v * v if abs(v) <= 1 else 2 * abs(v) - 1),
}


@pytest.mark.parametrize("name", LOSSES)
@given(v=st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1e-12, -1e-12, 1.0, -1.0]))
def test_a_loss_is_its_formula_and_its_slope_the_derivative(name: str, v: float) -> None:
    lower, upper, d, formula = LOSSES[name]
    arguments = [np.array([x]) for x in (v, lower, upper, d)]
    value, slope = losses(*arguments)[0], slopes(*arguments)[0]
    assert value == pytest.approx(formula(v), rel=1e-12)
    assert lower <= slope <= upper
    step = 1e-3 * max(1.0, abs(v))
    if math.isfinite(value) and math.isfinite(slope):  # a subgradient: below the loss everywhere
        for other in (v + step, v - step, -v):
            assert formula(other) >= value + slope * (other - v) - 1e-9 * (1 + abs(slope * v))


# --- solvers, copies ------------------------------------------------------------------------------

BACKENDS = ("cvxopt", "cvxpy:CLARABEL", "qpsolvers:piqp")


@EVERY
def test_backends_that_share_nothing_reach_the_same_optimum(setting: Setting) -> None:
    problem = problem_of(setting)
    proofs = [qpsvm.certify(problem, qpsvm.solve(problem, name)) for name in BACKENDS]
    assert all(proof.relative_gap <= 1e-8 and proof.passed(1e-8) for proof in proofs)
    highest_bound = max(proof.dual_objective for proof in proofs)
    for proof in proofs:
        assert proof.primal_objective == pytest.approx(highest_bound, rel=SAME_OBJECTIVE)


@EVERY_CASE
def test_a_family_cannot_be_changed_and_survives_pickling(case: Any) -> None:
    for form in ("primal", "dual"):
        problem = case.build(form, KERNELS["rbf"], "free")
        solution = qpsvm.solve(problem, "cvxopt")
        for thing in (problem.formulation, problem, problem.model, solution):
            with pytest.raises(dataclasses.FrozenInstanceError):
                thing.kernel = None
        for array in (solution.alpha, solution.slack, problem.model.conditions.upper, problem.qp.q):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0
        problem_again, again = pickle.loads(pickle.dumps((problem, solution)))
        assert problem_again.formulation == problem.formulation
        assert problem_again.qp.fingerprint() == problem.qp.fingerprint()
        assert qpsvm.verify(problem_again, again).passed
        assert qpsvm.verify(problem, again).passed
        with pytest.raises(ValueError, match="read-only"):
            again.alpha[...] = 0.0
        assert repr(again) == repr(solution)
        assert type(case.family).__name__ in repr(problem)


# --- where something degenerates ------------------------------------------------------------------


def with_data(**changes: Any) -> Any:
    return lambda case: (
        case.family,
        dataclasses.replace(case.data, **changes_of(case, changes)),
        {},
    )


def changes_of(case: Any, changes: Any) -> Any:
    return {name: change(getattr(case.data, name)) for name, change in changes.items()}


def with_family(**changes: Any) -> Any:
    return lambda case: (dataclasses.replace(case.family, **changes), case.data, {})


def constant_column(X: Any) -> Any:
    return np.column_stack([X[:, 0], np.full(len(X), 3.0), X[:, 2]])


def repeated_rows(X: Any) -> Any:
    return np.tile(X[:6], (len(X) // 6, 1))


DEGENERATE: dict[str, tuple[Any, tuple[str, ...]]] = {
    "no features": (with_data(X=np.zeros_like), ("classes", "targets", "samples", "grades")),
    "constant column": (
        with_data(X=constant_column), ("separable", "classes", "targets", "samples", "grades"),
    ),
    "repeated rows": (with_data(X=repeated_rows), ("classes", "targets", "samples", "grades")),
    "tiny features": (with_data(X=lambda X: 1e-4 * X), ("classes", "targets", "samples", "grades")),
    "columns of any size": (
        with_data(X=lambda X: X * [1e-2, 1.0, 1e2]), ("classes", "targets", "samples", "grades"),
    ),
    "origin inside": (with_data(X=lambda X: X - np.mean(X, axis=0)), ("samples",)),
    "one pair": (
        lambda case: (case.family, case.data.rows([0, 1]), {}), ("separable", "grades"),
    ),
    "same number of both": (
        with_data(y=lambda y: np.where(np.arange(len(y)) % 2, 1, -1)), ("classes",),
    ),
    "constant targets": (with_data(y=lambda y: np.full(len(y), 5.0)), ("targets",)),
    "targets far away": (with_data(y=lambda y: y + 1e6), ("targets",)),
    "large targets": (with_data(y=lambda y: 1e6 * y), ("targets",)),
    "weights of any size": (
        lambda case: (
            case.family, case.data, {"sample_weight": 10.0 ** np.linspace(-3, 3, len(case.data))},
        ),
        ("targets", "grades"),
    ),
}  # fmt: skip
PRICES = ("hinge", "squared hinge", "tube", "squared tube", "quantile", "least squares", "ranking")
DEGENERATE_CASES = {
    (case.name, what): change
    for what, (change, kinds) in DEGENERATE.items()
    for case in CASES
    if case.kind in kinds
} | {
    (name, str(changes)): with_family(**changes)
    for name, changes in [
        *((name, {"C": C}) for name in PRICES for C in (1e-6, 1e-3, 1e3, 1e6)),
        ("tube", {"epsilon": 0.0}),
        ("tube", {"epsilon": 50.0}),
        ("squared tube", {"epsilon": 50.0}),
        ("nu classification", {"nu": 2 / 3}),
        ("nu classification", {"nu": 0.1}),
        ("nu regression", {"nu": 1.0}),
        ("nu regression", {"nu": 1e-3}),
        ("one class", {"nu": 1.0}),
        ("one class", {"nu": 1e-3}),
        ("ball", {"C": 1 / 18}),
        ("ball", {"C": 1.0}),
        ("ball", {"C": 1e6}),
        ("quantile", {"tau": 1e-3}),
        ("quantile", {"tau": 0.999}),
    ]
}


@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
@grid(
    "name, change, kernel",
    ((name, what, kernel) for name, what in DEGENERATE_CASES for kernel in ("linear", "rbf")),
)
def test_whatever_is_certified_is_the_optimum(name: str, change: str, kernel: str) -> None:
    """Refusing is allowed to one form of the problem, being wrong to none."""
    case = BY_NAME[name]
    family, data, more = DEGENERATE_CASES[name, change](case)
    certified = []
    for form in ("primal", "dual"):
        problem = case.build(form, KERNELS[kernel], "free", data, family, **more)
        solution = qpsvm.solve(problem, "cvxopt")
        if solution.status is qpsvm.qp.Status.OPTIMAL:
            u = more.get("sample_weight", np.ones(len(data)))
            cost = case.cost(family, data, u, machine_of(problem, solution))
            proof = qpsvm.certify(problem, solution)
            cost = proof.primal_objective if case.kind == "separable" else float(cost)
            certified.append((cost, proof))
    if not certified:  # samples that a kernel cannot tell apart: what is left is rounding of 1 - K
        assert problem.model.conditions.relative_to_spread
        assert problem.model.unit < 1e-6
        return
    lowest = min(cost for cost, _ in certified)
    for cost, proof in certified:
        size = max(abs(lowest), proof.floor)
        assert cost - lowest <= SAME_OBJECTIVE * size
        assert proof.dual_objective <= lowest + SAME_OBJECTIVE * size
        assert cost == pytest.approx(proof.primal_objective, abs=SAME_OBJECTIVE * size)


@listed("points", [101, 401], quick=1)
@pytest.mark.parametrize(
    "case", [c for c in CASES if c.kind in ("classes", "targets")], ids=lambda case: case.name
)
def test_without_features_the_best_constant_is_found(case: Any, points: int) -> None:
    """w = 0: the cost is that of the best b (and t), which a fine search finds as well."""
    data = dataclasses.replace(case.data, X=np.zeros((len(case.data), 1)))
    problem = case.build("dual", "linear", "free", data)
    solution = qpsvm.solve(problem, "cvxopt")
    ones, zeros = np.ones(len(data)), np.zeros(len(data))

    def cost(b: float, t: float) -> float:
        return float(case.cost(case.family, data, ones, Machine(0.0, zeros + b, b, t, zeros)))

    grid = np.linspace(min(-2.0, np.min(data.y)), max(2.0, np.max(data.y)), points)
    widths = np.linspace(0.0, float(np.ptp(data.y)), points // 2) if case.has_width else [0.0]
    best = min(cost(b, t) for b in grid for t in widths)
    found = cost(solution.intercept, solution.width)
    assert found <= best + 1e-9
    assert solution.coef == pytest.approx([0.0], abs=1e-9)


# --- what is refused ------------------------------------------------------------------------------

NOT_A_NUMBER = (None, "1", True, math.nan, 1j, [1.0])
REFUSED = [
    (case, parameter, value)
    for case in CASES
    for parameter, values in {
        "C": (0.0, -1.0, math.inf, 10**400, *NOT_A_NUMBER),
        "nu": (0.0, -0.1, 1.0000001, math.inf, *NOT_A_NUMBER),
        "tau": (0.0, 1.0, -0.5, 2.0, *NOT_A_NUMBER),
        "epsilon": (-1e-9, math.inf, *NOT_A_NUMBER),
        "intercept": ("maybe", None, True),
        "loss": ("hinges", "", None),
        "class_weight": (
            {1: 0.0},
            {1: -1.0},
            {1: math.nan},
            {1: True},
            {1: "2"},
            "equal",
            [1, 2],
            3,
        ),
    }.items()
    for value in values
    if case.has(parameter)
]


@pytest.mark.parametrize(
    ("case", "parameter", "value"), REFUSED, ids=lambda v: v if isinstance(v, str) else None
)
def test_a_parameter_out_of_its_domain_is_named(case: Any, parameter: str, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=parameter):
        dataclasses.replace(case.family, **{parameter: value})


BAD_WEIGHTS = {
    "is -1.0": lambda n: np.where(np.arange(n) == 2, -1.0, 1.0),
    "is nan": lambda n: np.where(np.arange(n) == 2, np.nan, 1.0),
    "is inf": lambda n: np.where(np.arange(n) == 2, np.inf, 1.0),
    "is zero for every row": np.zeros,
    r"has shape \(\d+,\) for": lambda n: np.ones(n + 1),
    "must hold numbers": lambda n: np.array(["a"] * n),
}


@pytest.mark.parametrize("message", BAD_WEIGHTS)
@EVERY_CASE
def test_weights_that_mean_nothing_are_refused(case: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=f"sample_weight.*{message}"):
        case.build("dual", sample_weight=BAD_WEIGHTS[message](len(case.data)))


@pytest.mark.parametrize("y", [None, [], [1.0], "text", [[1, 2]] * 30], ids=repr)
@EVERY_CASE
def test_targets_that_are_missing_or_of_another_shape_are_refused(case: Any, y: Any) -> None:
    data = dataclasses.replace(case.data, y=y)
    if case.kind == "samples":  # not looked at
        assert case.build("dual", data=data).qp.n_variables == len(data)
        return
    with pytest.raises(InvalidDataError, match="y "):
        case.build("dual", data=data)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("case", [c for c in CASES if c.kind in ("targets", "grades")], ids=repr)
def test_a_target_that_is_not_finite_is_named(case: Any, bad: float) -> None:
    y = case.data.y.copy()
    y[3] = bad
    with pytest.raises(InvalidDataError, match=rf"y\[3\] is {bad}"):
        case.build("primal", data=dataclasses.replace(case.data, y=y))


@pytest.mark.parametrize(
    ("bad", "remedy"),
    [
        ("0,5", r"is '0,5': with decimal commas, read the file with decimal=',' \(--decimal ,\)"),
        ("-1.5", r"is '-1.5', a text: pass np.asarray\(y, dtype=float\)"),
        ("high", "is 'high': for classes use a classifier"),
    ],
)
@pytest.mark.parametrize("case", [c for c in CASES if c.kind in ("targets", "grades")], ids=repr)
def test_a_target_that_is_a_text_is_named_with_the_remedy(case: Any, bad: str, remedy: str) -> None:
    y = np.array([bad] * len(case.data)) if case.kind == "grades" else [bad] * len(case.data)
    with pytest.raises(InvalidDataError, match=rf"y must hold numbers .*y\[0\] {remedy}"):
        case.build("primal", data=dataclasses.replace(case.data, y=y))


@pytest.mark.parametrize("n_positive", [1, 3, 5])
def test_the_largest_nu_is_said_and_works(n_positive: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 2)), np.where(np.arange(10) < n_positive, 1, -1)
    largest = 2 * n_positive / 10
    if largest < 1:
        with pytest.raises(InvalidParameterError, match=f"allow at most {largest:.6g}"):
            qpsvm.NuClassification(largest * 1.001).dual(X, y)
    for form in ("primal", "dual"):
        problem = getattr(qpsvm.NuClassification(largest), form)(X, y)
        solution = qpsvm.solve(problem, "cvxopt")
        assert solution.status is qpsvm.qp.Status.OPTIMAL
        # every sample of the smaller class is at its bound
        assert solution.alpha[y == 1] == pytest.approx(np.full(n_positive, 0.1), abs=1e-7)


def test_class_and_sample_weights_move_the_largest_nu() -> None:
    X, y, u = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 0, 1], [1.0, 1.0, 1.0, 5.0]
    with pytest.raises(InvalidParameterError, match=r"allow at most 0\.75 "):  # 2 * 3/8
        qpsvm.NuClassification(0.9).dual(X, y, sample_weight=u)
    with pytest.raises(InvalidParameterError, match=r"allow at most 0\.25 "):  # 2 * 1/8
        qpsvm.NuClassification(0.9, class_weight={1: 0.5}).dual(X, y)
    with pytest.raises(InvalidParameterError, match="names the class 7"):
        qpsvm.NuClassification(0.3, class_weight={7: 0.5}).dual(X, y)


@pytest.mark.parametrize(("weights", "smallest"), [(None, 0.25), ([2.0, 2.0, 2.0, 2.0], 0.125)])
def test_the_smallest_c_of_a_ball_is_said_and_works(weights: Any, smallest: float) -> None:
    X = [[0.0], [1.0], [2.0], [9.0]]
    with pytest.raises(InvalidParameterError, match=f"need at least {smallest}"):
        qpsvm.DataDescription(smallest * 0.999).dual(X, sample_weight=weights)
    problem = qpsvm.DataDescription(smallest).dual(X, sample_weight=weights)
    solution = qpsvm.solve(problem, "cvxopt")
    assert solution.coef == pytest.approx([6.0])  # twice the mean


@pytest.mark.parametrize(
    ("y", "groups"),
    [([1, 1, 1, 1], None), ([1, 2, 3, 4], [0, 1, 2, 3]), ([5, 5, 2, 2], list("aabb"))],
)
def test_a_ranking_without_pairs_is_refused(y: Any, groups: Any) -> None:
    with pytest.raises(InvalidDataError, match="no order to learn"):
        qpsvm.Ranking().dual(np.eye(4), y, groups=groups)
    with pytest.raises(InvalidDataError, match="no order to learn"):  # weights take the only pair
        qpsvm.Ranking().dual(np.eye(2), [0, 1], sample_weight=[0.0, 1.0])


def test_groups_of_another_length_are_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"groups has shape \(3,\) for 4 rows"):
        qpsvm.Ranking().dual(np.eye(4), [1, 2, 3, 4], groups=[0, 0, 1])
