"""The short way: what it certifies passes the verifier, and its bound is at least the true gap."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
from hypothesis import given, settings
from hypothesis import strategies as st

import qpsvm
from qpsvm import kernels
from qpsvm.backends import Settings
from qpsvm.direct.machine import program_of, solved_directly, suits
from qpsvm.direct.matrices import Features, KernelMatrix
from qpsvm.direct.program import DirectProgram
from qpsvm.direct.settings import DIRECT
from qpsvm.kernels.errors import EntryErrors
from qpsvm.native import SmallMachine
from tests.strategies import examples

seeds = st.integers(0, 2**32 - 1)
KERNELS = {
    "linear": kernels.Linear(),
    "rbf": kernels.RBF(0.5),
    "narrow": kernels.RBF(30.0),
    "polynomial": kernels.Polynomial(0.5, 3, 1.0),
}
FORMULATIONS = {
    "hinge": lambda C: qpsvm.SoftMargin(C=C),
    "squared": lambda C: qpsvm.SoftMargin(C=C, loss="squared_hinge"),
    "penalised": lambda C: qpsvm.SoftMargin(C=C, intercept="penalized", loss="squared_hinge"),
    "balanced": lambda C: qpsvm.SoftMargin(C=C, intercept="none", class_weight="balanced"),
    "tube": lambda C: qpsvm.EpsilonRegression(C=C, epsilon=0.1),
    "squared tube": lambda C: qpsvm.EpsilonRegression(
        C=C, epsilon=0.1, loss="squared_epsilon_insensitive"
    ),
    "quantile": lambda C: qpsvm.QuantileRegression(tau=0.3, C=C),
    "nu": lambda C: qpsvm.NuClassification(nu=min(0.1 * C, 0.9)),
    "nu tube": lambda C: qpsvm.NuRegression(nu=0.4, C=C),
    "one class": lambda C: qpsvm.OneClass(nu=min(0.1 * C, 1.0)),
}


def problem(rng: Any, name: str, kernel: str, *, offset: float = 0.0) -> qpsvm.SVMProblem:
    """A random problem: ties, equal samples, weights, prices from 1e-3 to 1e3."""
    n, d = int(rng.integers(4, 40)), int(rng.integers(1, 6))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1)
    if rng.random() < 0.3:
        X = np.round(X)
    if rng.random() < 0.3:
        X[: n // 2] = X[n // 2 : n // 2 * 2]
    is_class = name in ("hinge", "squared", "penalised", "balanced")
    t = X[:, 0] + rng.standard_normal(n)
    y = t > np.median(t) if is_class else t
    if name == "nu":  # every nu is feasible
        X, t = X[: n // 2 * 2], t[: n // 2 * 2]
        y = np.argsort(np.argsort(t)) >= n // 2
    weights = rng.choice([0.5, 1.0, 3.0], len(X)) if rng.random() < 0.3 else None
    weights = None if name == "nu" else weights
    formulation: Any = FORMULATIONS[name](10.0 ** rng.uniform(-3, 3))
    given = (X + offset,) if name == "one class" else (X + offset, y)
    made: qpsvm.SVMProblem = formulation.dual(*given, kernel=KERNELS[kernel], sample_weight=weights)
    return made


def balanced(own: Any, alpha: Any) -> Any:
    """Change dual variables, within their box, until their sums are those that a machine keeps."""
    groups = [own.signs == sign for sign in (1.0, -1.0)]
    wanted = [min(float(np.sum(alpha[group])) for group in groups)] * 2
    if own.side or own.cost:
        wanted = [0.5 * (own.total + own.cost), 0.5 * (own.total - own.cost)]
    if not own.side and own.cost:
        wanted = [own.cost, 0.0]
    for group, amount in zip(groups, wanted, strict=True):
        some, room = alpha[group], (own.upper - alpha)[group]
        missing = amount - float(np.sum(some))
        if missing < 0.0:
            alpha[group] = some * (amount / float(np.sum(some)))
        elif missing > 0.0:
            alpha[group] = np.minimum(
                some + room * (missing / float(np.sum(room))), own.upper[group]
            )
    return alpha


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", FORMULATIONS)
@settings(max_examples=examples(40))
@given(seeds, st.sampled_from([1e-4, 1e-8, 1e-10]))
def test_what_is_certified_passes_the_verifier(
    name: str, kernel: str, seed: int, eps: float
) -> None:
    made = problem(np.random.default_rng(seed), name, kernel)
    solution = solved_directly(made, Settings(eps=eps))
    if solution is not None:
        report = qpsvm.verify(made, solution, eps=eps)
        assert report.passed, [c for c in report.checks if not c.passed]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", [*FORMULATIONS])
@settings(max_examples=examples(30))
@given(seeds, st.sampled_from([0.0, 1e3, 1e6]))
def test_the_bound_is_at_least_the_gap_of_any_point(
    name: str, kernel: str, seed: int, offset: float
) -> None:
    """For points that are no optimum, by the objective of the certificate's own evaluation."""
    rng = np.random.default_rng(seed)
    made = problem(rng, name, kernel, offset=offset)
    if not suits(made.model):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where rounding keeps more digits, its gap counts
        best = qpsvm.certify(made, qpsvm.solve(made, eps=1e-9))
        start = qpsvm.solve(made, eps=1e-2)
    program = program_of(made.model)
    own = program.machine
    top = np.minimum(own.upper, 1.0 / max(float(np.mean(program.matrix.diagonal)), 1e-3))
    alpha = top * rng.choice([0.0, 1.0, rng.random()], len(top))
    alpha = balanced(own, alpha) if own.is_free else alpha
    found = program.certified(alpha)
    if found is None or not np.isfinite(found.relative_gap):
        return
    interval, width = made.model.best_offsets(found.values, 0.0)
    if own.is_free and own.curved is None:  # by other code, which sorts
        size = 1e-9 * (1.0 + float(np.max(np.abs(found.values))))
        np.testing.assert_allclose(found.width, width, atol=size)
        np.testing.assert_allclose(found.interval, interval, atol=size)
    b = found.interval.midpoint
    coef = made.model.coef(found.expansion) if found.coef is None else found.coef
    draft = start.replace(
        alpha=alpha, expansion=found.expansion, coef=coef, intercept=b, width=found.width
    )
    objective = qpsvm.certify(made, draft).primal_objective
    optimum = best.primal_objective + abs(best.gap)
    excess = objective - optimum - best.objective_rounding * best.objective_scale
    size = max(abs(objective), program.floor(0.0))
    assert excess <= found.relative_gap * size * (1.0 + 1e-9)


@given(seeds)
def test_errors_of_a_matrix_are_no_smaller_than_those_of_its_entries(seed: int) -> None:
    """Rows and columns with errors of very different sizes, zero among them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    rows, columns = 10.0 ** rng.uniform(-17, -1, (2, n)) * rng.choice([0.0, 1.0], (2, n))
    made = KernelMatrix.of(np.ones((n, n)), EntryErrors(rows, columns, rows, columns))
    relative, factors, _, _ = made.errors.bounds
    for i in range(n):
        for j in range(n):
            r, c = Fraction(rows[i]), Fraction(columns[j])
            assert Fraction(relative[i]) * Fraction(factors[j]) >= r + c + r * c


def test_sums_that_are_missed_are_made_up_for_or_refused() -> None:
    """The optimal intercept is their multiplier, and zero is not it."""
    X = np.array([[1.0], [-0.5]])
    machine = SmallMachine(
        X @ X.T, np.array([1.0, -1.0]), np.ones(2), np.zeros(2), np.array([2.0, 1.0])
    )
    program = DirectProgram(machine, Features(X))
    assert program.certified(np.array([2.0, 1.0])) is None  # no variable is free to do so
    found = program.certified(np.array([0.5, 1.0]))
    assert found is not None
    assert abs(float(machine.signs @ found.alpha)) <= 1e-15
    assert found.relative_gap > 0.1


@pytest.mark.parametrize("shift", [0.0, 1.0, -3.0])
def test_a_feature_in_place_of_the_intercept_hides_no_missed_sum(shift: float) -> None:
    """Slopes of a steep loss miss their sum; a feature that is nearly constant stands in for b."""
    left = [2.409895646153969, -1.9716694138828772, 2.87843921251341]
    X = [[x, 334.608593225575] for x in left]
    X += [[27.6381924338825, -318.5181253330956], [-36.01322398229477, -318.5181253330956]]
    y = [1, 0, 1, 1, 0]
    for C in np.geomspace(1e8, 1e12, 40):
        formulation = qpsvm.SoftMargin(C=float(C), loss="squared_hinge")
        made = formulation.dual(np.array(X) + np.array([shift, 0.0]), y)
        solution = solved_directly(made, Settings())
        assert solution is None or qpsvm.verify(made, solution).passed


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e2, 1e5])
@pytest.mark.parametrize("name", ["one class", "nu", "nu tube"])
def test_multipliers_are_stated_in_the_units_of_the_verifier(name: str, scale: float) -> None:
    """Kernel values far from 1; samples that are all equal have no spread but rounding."""
    rng = np.random.default_rng(0)
    formulation: Any = FORMULATIONS[name](4.0)
    for X in (scale * rng.standard_normal((30, 3)), np.tile(scale * rng.random(3), (30, 1))):
        given = (X,) if name == "one class" else (X, np.arange(30) % 2)
        made = formulation.dual(*given, kernel=kernels.Polynomial(1.0, 2, 1.0))
        solution = solved_directly(made, Settings())
        if solution is not None:
            report = qpsvm.verify(made, solution)
            assert report.passed, [check for check in report.checks if not check.passed]


def weighted(name: str, C: float, intercept: Any, X: Any, y: Any) -> qpsvm.SVMProblem:
    """A problem whose weights Newton's method finds."""
    if name == "tube":
        return qpsvm.EpsilonRegression(C=C, epsilon=0.1, intercept=intercept).dual(X, y)
    if name == "quantile":
        return qpsvm.QuantileRegression(tau=0.3, C=C, intercept=intercept).dual(X, y)
    return qpsvm.SoftMargin(C=C, loss=name, intercept=intercept).dual(X, y > np.median(y))


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "tube", "quantile"])
@settings(max_examples=examples(100))
@given(seeds, st.sampled_from(["penalized", "none"]), st.floats(-12.0, 0.0))
def test_the_bound_on_given_weights_is_at_least_their_exact_excess(
    name: str, seed: int, intercept: Any, away: float
) -> None:
    """Over the dual point that they are given with, in rational arithmetic."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 12)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 6, d)
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    program = program_of(weighted(name, 10.0 ** rng.uniform(-3, 3), intercept, X, y).model)
    own = program.machine
    delta = 0.0 if own.curved is not None else float(np.mean(program.matrix.diagonal))
    u, alpha = own.newton(X, DIRECT.newton, delta, 1e-9)[1:3]
    u = u * (1.0 + 10.0**away * rng.standard_normal(len(u)))
    found = program.certified(alpha, u)
    if found is None or not np.isfinite(found.relative_gap):
        assert away > -8.0 or own.curved is None
        return

    w, s, a, p, lower = (exact_numbers(v) for v in (u, own.signs, alpha, own.required, own.lower))
    kinds = zip(lower, own.upper.tolist(), exact_numbers(curvature(own)), strict=True)
    conditions = range(n) if own.rows is None else own.rows.tolist()
    rows = [[*exact_numbers(X[i]), *[Fraction(1)] * (len(u) - d)] for i in conditions]
    values = [sum(v * x for v, x in zip(w, r, strict=True)) for r in rows]
    violations = [q - t * f for q, t, f in zip(p, s, values, strict=True)]
    primal = sum(v * v for v in w) / 2
    primal += sum(loss(v, *kind) for v, kind in zip(violations, kinds, strict=True))
    implied = [sum(t * c * r[k] for t, c, r in zip(s, a, rows, strict=True)) for k in range(len(w))]
    dual = sum(q * c for q, c in zip(p, a, strict=True)) - sum(v * v for v in implied) / 2
    dual -= sum(q * c * c for q, c in zip(exact_numbers(curvature(own)), a, strict=True)) / 2
    assert primal - dual <= Fraction(found.relative_gap) * abs(primal)


def curvature(own: SmallMachine) -> Any:
    return np.zeros(len(own.signs)) if own.curved is None else own.curved


def loss(v: Fraction, lower: Fraction, upper: float, d: Fraction) -> Fraction:
    """The largest of ``a v - d a^2 / 2`` over ``lower <= a <= upper``."""
    a = v / d if d else (Fraction(upper) if v > 0 else lower)
    a = max(a, lower)
    a = a if np.isinf(upper) else min(a, Fraction(upper))
    return a * v - d * a * a / 2


def exact_numbers(v: Any) -> list[Fraction]:
    return [Fraction(x) for x in v.tolist()]


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_features_as_they_were_measured_are_solved_the_short_way(name: str) -> None:
    """Columns of up to 4,000 with offsets: each Newton step refines the multipliers of the last."""
    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    formulation = qpsvm.SoftMargin(intercept="penalized", loss="squared_hinge")
    made = formulation.dual(X, y == 0)
    found = solved_directly(made, Settings(eps=1e-8))
    assert found is not None
    assert qpsvm.verify(made, found, eps=1e-8).passed


@pytest.mark.parametrize("C", [1e3, 1e4])
def test_beyond_kinks_small_errors_cost_little(C: float) -> None:
    """With a large C an error costs C at a kink: conditions that ask for more keep off it."""
    rng = np.random.default_rng(0)
    X, y = 480.0 + 40.0 * rng.standard_normal((200, 500)), rng.choice([-1, 1], 200)
    made = qpsvm.SoftMargin(C=C).dual(X, y, kernel=kernels.RBF(1e-6))
    program = program_of(made.model)
    run = program.machine.run(1e-10, DIRECT.numbers)
    at_kinks = program.certified(run.alpha)
    assert at_kinks is not None
    assert at_kinks.relative_gap > 1e-8
    found = program.solved(1e-8)
    assert found is not None
    assert found.is_enough
    assert found.relative_gap < 3e-9


def test_where_rounding_alone_widens_the_gap_values_get_more_digits() -> None:
    """A polynomial on raw features: what steps of pairs have solved is not solved again."""
    X, y = sklearn.datasets.load_breast_cancer(return_X_y=True)
    kernel = kernels.Polynomial(1.0 / (X.shape[1] * X.var()), 5, 1.0)
    made = qpsvm.SoftMargin(C=100.0).dual(X, y, kernel=kernel)
    first = program_of(made.model).solved(1e-8)
    assert first is not None
    assert first.relative_gap > 1e-8
    found = solved_directly(made, Settings(eps=1e-8))
    assert found is not None
    assert qpsvm.verify(made, found, eps=1e-8).passed


def test_a_machine_that_is_not_certified_goes_the_general_way() -> None:
    """Nothing but rounding: kernel values without digits."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3)) + 1e4
    y = rng.choice([-1, 1], 30)
    made = qpsvm.SoftMargin(C=1.0).dual(X, y, kernel=kernels.Polynomial(1.0, 5, 1.0))
    assert solved_directly(made, Settings()) is None


def test_whoever_watches_sees_a_backend() -> None:
    rng = np.random.default_rng(1)
    made = problem(rng, "hinge", "rbf")
    seen = list[Any]()
    qpsvm.solve(made, callback=lambda event: seen.append(event.backend))
    assert "active-set" in seen
    for settings_ in (
        Settings(max_iterations=5),
        Settings(time_limit=1.0),
        Settings(options={"memory_limit": 10**9}),
        Settings(verbose=True),
    ):
        assert solved_directly(made, settings_) is None


def test_one_fit_takes_few_calls() -> None:
    """Of functions of this package, counted: nothing is built that nobody asks for."""
    from qpsvm.estimators import SVC
    from tests.direct.counting import package_calls

    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 8))
    machine, y = SVC(), X[:, 0] > 0.3
    machine.fit(X, y)
    assert package_calls(lambda: machine.fit(X, y)) <= 400

    def calls(classes: int) -> int:
        codes = np.arange(200) % classes
        machine.fit(X, codes)
        return package_calls(lambda: machine.fit(X, codes))

    # so small that all pairs are solved in this thread, whose calls are counted
    assert 0 < (calls(8) - calls(4)) / (28 - 6) <= 60


@pytest.mark.parametrize("C", [1e200, 1e230, 1e261, 1e290])
def test_losses_that_overflow_are_not_certified_and_no_error(C: float) -> None:
    rng = np.random.default_rng(0)
    formulation = qpsvm.SoftMargin(C=C, loss="squared_hinge", intercept="penalized")
    for size in (1e-19, 1e-100, 1e-200):
        X, y = size * rng.standard_normal((40, 3)), np.arange(40) % 2
        made = formulation.dual(X, y)
        solution = solved_directly(made, Settings())
        assert solution is None or qpsvm.verify(made, solution).passed


def test_a_penalised_intercept_that_alpha_does_not_imply_is_not_claimed() -> None:
    """With prices of 1e9 the sum of the signed alpha is known to 1e-7 only."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, weights = rng.normal(0.0, 0.02, (7, 2)), 10.0 ** rng.uniform(-3, 3, 7)
        y = np.where(rng.random(7) < 0.5, -1, 1)
        y[:2] = 1, -1
        machine = qpsvm.SoftMargin(C=3e6, intercept="penalized", loss="squared_hinge")
        problem = machine.dual(X, y, sample_weight=weights)
        solution = qpsvm.solve(problem)
        assert (solution.status is qpsvm.qp.Status.OPTIMAL) == qpsvm.verify(
            problem, solution
        ).passed
