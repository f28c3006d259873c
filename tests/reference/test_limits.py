"""One family as the limit, or a special case, of another."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import qpsvm
from qpsvm import (
    DataDescription,
    EpsilonRegression,
    HardMargin,
    LeastSquares,
    NuClassification,
    NuRegression,
    OneClass,
    QuantileRegression,
    SoftMargin,
    kernels,
)
from tests.reference.bundled import bundled
from tests.reference.peers import diabetes, flowers, unequal
from tests.tolerances import SAME_OBJECTIVE, TIGHT, TIGHT_DECISION

RBF = kernels.RBF(0.05)
KERNELS = pytest.mark.parametrize("kernel", ["linear", RBF], ids=["linear", "rbf"])
WEIGHTS = pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])


def tight(problem):
    return qpsvm.solve(problem, eps=TIGHT, strict=True)


def objective(problem, solution):
    return qpsvm.certify(problem, solution).primal_objective


def near(actual, expected):
    size = max(1e-12, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, atol=TIGHT_DECISION * size)


def classes():
    """Two kinds of iris that overlap."""
    X, y = bundled("iris 1-2")
    return X[::2], y[::2]


def weights_of(X, weighted):
    return unequal(len(X)) if weighted else np.ones(len(X))


# --- margins --------------------------------------------------------------------------------------


@KERNELS
def test_a_price_above_every_multiplier_is_a_hard_margin(kernel):
    X, y = bundled("iris 0-1")
    hard = tight(HardMargin().dual(X, y, kernel=kernel))
    largest = float(hard.alpha.max())
    soft = tight(SoftMargin(1.01 * largest).dual(X, y, kernel=kernel))
    near(soft.decision_function(X), hard.decision_function(X))
    assert soft.slack.max() == pytest.approx(0.0, abs=TIGHT_DECISION)
    # and not before
    soft = tight(SoftMargin(0.5 * largest).dual(X, y, kernel=kernel))
    assert soft.slack.max() > 0.01


@KERNELS
@pytest.mark.parametrize("kind", ["free", "penalized", "none"])
def test_a_low_price_gives_every_sample_the_same_weight(kind, kernel):
    # all alpha at C: the means of the classes decide (a Parzen window), w = C (sum+ - sum-)
    X, y = classes()
    C = 1e-4
    signs = np.where(y == y.max(), 1.0, -1.0)
    solution = tight(SoftMargin(C, intercept=kind).dual(X, y, kernel=kernel))
    near(solution.alpha, np.full(len(X), C))
    K = X @ X.T if kernel == "linear" else kernel(X, X)
    near(solution.decision_function(X) - solution.intercept, C * K @ signs)


@KERNELS
@WEIGHTS
@pytest.mark.parametrize("C", [0.3, 30.0])
def test_the_squared_hinge_is_a_hard_margin_with_a_ridge(C, weighted, kernel):
    # Cortes and Vapnik (1995), section 3: 1/(2 C_i) on the diagonal separates any data
    X, y = classes()
    weights = weights_of(X, weighted)
    K = X @ X.T if kernel == "linear" else kernel(X, X)
    ridge = 1.0 / (2.0 * C * weights)
    soft_problem = SoftMargin(C, loss="squared_hinge").dual(
        X, y, kernel=kernel, sample_weight=weights
    )
    hard_problem = HardMargin().dual(K + np.diag(ridge), y, kernel="precomputed")
    soft, hard = tight(soft_problem), tight(hard_problem)
    near(soft.alpha, hard.alpha)
    signs = np.where(y == y.max(), 1.0, -1.0)
    near(soft.slack, ridge * hard.alpha)
    near(soft.decision_function(X) + signs * soft.slack, hard.decision_function(K + np.diag(ridge)))
    assert objective(soft_problem, soft) == pytest.approx(
        objective(hard_problem, hard), rel=SAME_OBJECTIVE
    )


@WEIGHTS
def test_average_loss_divides_by_the_weights(weighted):
    X, y = classes()
    weights = weights_of(X, weighted)
    for loss in ("hinge", "squared_hinge"):
        plain, average = (
            tight(formulation.dual(X, y, sample_weight=weights))
            for formulation in (
                SoftMargin(50.0 / weights.sum(), loss=loss),
                SoftMargin(50.0, loss=loss, average_loss=True),
            )
        )
        near(average.decision_function(X), plain.decision_function(X))
    plain = tight(LeastSquares(50.0 / weights.sum()).dual(X, y, sample_weight=weights))
    average = tight(LeastSquares(50.0, average_loss=True).dual(X, y, sample_weight=weights))
    near(average.decision_function(X), plain.decision_function(X))
    X, t = diabetes(60)
    weights = weights_of(X, weighted)
    for make in (EpsilonRegression, lambda C, **o: QuantileRegression(0.3, C, **o)):
        plain = tight(make(50.0 / weights.sum()).dual(X, t, sample_weight=weights))
        average = tight(make(50.0, average_loss=True).dual(X, t, sample_weight=weights))
        near(average.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize(
    "make",
    [
        lambda **o: SoftMargin(2.0, **o),
        lambda **o: SoftMargin(2.0, loss="squared_hinge", **o),
        lambda **o: LeastSquares(2.0, **o),
        lambda **o: NuClassification(0.3, **o),
    ],
    ids=["hinge", "squared hinge", "least squares", "nu"],
)
def test_class_weights_are_sample_weights(make):
    X, y = classes()
    factors = np.where(y == y.max(), 3.0, 0.5)
    by_class = tight(make(class_weight={y.max(): 3.0, y.min(): 0.5}).dual(X, y, kernel=RBF))
    formulation = make()
    if isinstance(formulation, NuClassification):  # sample weights are shares of their sum
        formulation = NuClassification(0.3 * len(X) / factors.sum())
    by_sample = tight(formulation.dual(X, y, kernel=RBF, sample_weight=factors))
    scale = by_class.width / by_sample.width if by_class.width else 1.0
    near(by_class.decision_function(X), scale * by_sample.decision_function(X))


# --- nu -------------------------------------------------------------------------------------------


@KERNELS
@WEIGHTS
@pytest.mark.parametrize("nu", [0.1, 0.3, 0.7])
def test_nu_and_c_correspond_through_rho(nu, weighted, kernel):
    # Chang and Lin (2001): C = 1 / (n rho), and everything divided by rho
    X, y = classes()
    weights = weights_of(X, weighted)
    machine = tight(NuClassification(nu).dual(X, y, kernel=kernel, sample_weight=weights))
    rho = machine.width
    assert rho > 0
    C = 1.0 / (weights.sum() * rho)
    soft = tight(SoftMargin(C).dual(X, y, kernel=kernel, sample_weight=weights))
    near(machine.decision_function(X) / rho, soft.decision_function(X))
    if kernel != "linear":  # alpha is unique: iris on a grid has seven samples on one margin in 4-d
        near(machine.alpha / rho, soft.alpha)
    assert machine.alpha.sum() == pytest.approx(nu)
    # and back: nu is the share of the box that C fills
    assert soft.alpha.sum() / (C * weights.sum()) == pytest.approx(nu, abs=TIGHT_DECISION)


@KERNELS
@WEIGHTS
@pytest.mark.parametrize("nu", [0.1, 0.4, 0.8])
def test_nu_regression_is_epsilon_regression_with_its_width(nu, weighted, kernel):
    X, t = diabetes(80)
    weights = weights_of(X, weighted)
    C = 100.0
    nu_problem = NuRegression(nu, C).dual(X, t, kernel=kernel, sample_weight=weights)
    machine = tight(nu_problem)
    assert machine.width > 0.01
    tube_problem = EpsilonRegression(C / weights.sum(), machine.width).dual(
        X, t, kernel=kernel, sample_weight=weights
    )
    tube = tight(tube_problem)
    near(machine.decision_function(X), tube.decision_function(X))
    assert objective(nu_problem, machine) == pytest.approx(
        objective(tube_problem, tube) + C * nu * machine.width, rel=SAME_OBJECTIVE
    )
    assert machine.alpha.sum() == pytest.approx(C * nu)


def test_a_generous_nu_leaves_no_tube():
    # Schoelkopf et al. (2000): nu = 1 charges as much for the tube as for the deviations
    X, t = diabetes(60)
    machine = tight(NuRegression(1.0, C=60.0).dual(X, t))
    assert machine.width == pytest.approx(0.0, abs=TIGHT_DECISION)
    tube = tight(EpsilonRegression(1.0, 0.0).dual(X, t))
    near(machine.decision_function(X), tube.decision_function(X))


@KERNELS
@WEIGHTS
@pytest.mark.parametrize("nu", [0.15, 0.35, 0.65])
@pytest.mark.parametrize("family", ["classification", "regression", "one-class"])
def test_nu_is_a_bound_on_either_side(family, nu, weighted, kernel):
    # Schoelkopf et al. (2000), propositions 1 and 5; (2001), proposition 3: shares of the weights
    X, y = {"classification": classes, "regression": lambda: diabetes(80), "one-class": flowers}[
        family
    ]()
    formulation = {
        "classification": NuClassification(nu),
        "regression": NuRegression(nu, 80.0),
        "one-class": OneClass(nu),
    }[family]
    weights = weights_of(X, weighted)
    problem = formulation.dual(X, y, kernel=kernel, sample_weight=weights)
    solution = tight(problem)
    if family != "one-class":
        assert solution.width > 1e-4
    table = problem.model.sample_table(problem.model.evaluate(solution))
    largest = float(np.abs(solution.decision_function(X)).max())
    missed = np.unique(table.sample[table.slack > TIGHT_DECISION * largest])
    share_missed = weights[missed].sum() / weights.sum()
    share_support = weights[solution.support].sum() / weights.sum()
    assert share_missed <= nu + 1e-9
    assert share_support >= nu - 1e-9


# --- regression -----------------------------------------------------------------------------------


@KERNELS
@WEIGHTS
@pytest.mark.parametrize("kind", ["free", "penalized", "none"])
def test_the_median_machine_is_a_tube_of_width_zero_at_half_the_price(kind, weighted, kernel):
    # pinball(v) = |v| / 2 for tau = 1/2
    X, t = diabetes(60)
    weights = weights_of(X, weighted)
    median = QuantileRegression(0.5, C=3.0, intercept=kind)
    tube = EpsilonRegression(1.5, 0.0, intercept=kind)
    problems = [f.dual(X, t, kernel=kernel, sample_weight=weights) for f in (median, tube)]
    one, other = (tight(problem) for problem in problems)
    near(one.decision_function(X), other.decision_function(X))
    near(one.expansion, other.expansion)
    assert objective(problems[0], one) == pytest.approx(
        objective(problems[1], other), rel=SAME_OBJECTIVE
    )


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_quantiles_turn_around_with_the_targets(tau):
    X, t = diabetes(60)
    upper = tight(QuantileRegression(tau, 2.0).dual(X, t, kernel=RBF))
    lower = tight(QuantileRegression(1.0 - tau, 2.0).dual(X, -t, kernel=RBF))
    near(upper.decision_function(X), -lower.decision_function(X))


@pytest.mark.parametrize("squared", [False, True])
def test_a_tube_around_everything_needs_no_weights(squared):
    X, t = diabetes(60)
    half = 0.5 * (t.max() - t.min())
    loss = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
    solution = qpsvm.solve(EpsilonRegression(1.0, 1.1 * half, loss=loss).dual(X, t))
    near(solution.decision_function(X), np.full(60, solution.intercept))
    assert np.abs(solution.coef).max() < TIGHT_DECISION
    assert t.max() - 1.1 * half <= solution.intercept <= t.min() + 1.1 * half


# --- novelty --------------------------------------------------------------------------------------


@WEIGHTS
@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_a_ball_is_a_one_class_machine_where_all_samples_have_one_length(nu, weighted):
    # Schoelkopf et al. (2001), section 3: f of the ball is 2 f of the hyperplane
    X, _ = flowers()
    weights = weights_of(X, weighted)
    kernel = kernels.RBF(0.1)
    plane = tight(OneClass(nu).dual(X, kernel=kernel, sample_weight=weights))
    description = DataDescription(C=1.0 / (nu * weights.sum()))
    ball = tight(description.dual(X, kernel=kernel, sample_weight=weights))
    near(ball.alpha, plane.alpha)
    near(ball.decision_function(X), 2.0 * plane.decision_function(X))
    # R^2 = 1 - 2 rho + |w|^2
    size = plane.alpha @ kernel(X, X) @ plane.alpha
    assert description.radius(ball) ** 2 == pytest.approx(1 + 2 * plane.intercept + size, rel=1e-5)


def test_a_ball_of_unit_vectors_is_a_hyperplane_of_the_linear_kernel():
    X, _ = flowers()
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    plane = tight(OneClass(0.3).dual(X))
    ball = tight(DataDescription(1.0 / (0.3 * len(X))).dual(X))
    near(ball.coef, 2.0 * plane.coef)
    near(ball.decision_function(X), 2.0 * plane.decision_function(X))


@pytest.mark.parametrize("nu", [0.2, 0.6])
def test_one_class_is_the_margin_from_the_origin(nu):
    # Schoelkopf et al. (2001) on pattern recognition: separating X from -X, without an intercept,
    # has the same direction
    X, _ = flowers()
    plane = tight(OneClass(nu).dual(X))
    both, signs = np.vstack([X, -X]), np.repeat([1, -1], len(X))
    margin = tight(NuClassification(nu, intercept="none").dual(both, signs))
    near(margin.coef, nu * plane.coef)
    assert margin.width == pytest.approx(-nu * plane.intercept, rel=1e-5)


# --- intercepts -----------------------------------------------------------------------------------

WITH_INTERCEPT = {
    "hinge": (SoftMargin, {"C": 2.0}),
    "squared hinge": (SoftMargin, {"C": 2.0, "loss": "squared_hinge"}),
    "least squares": (LeastSquares, {"C": 2.0}),
    "nu": (NuClassification, {"nu": 0.3}),
    "tube": (EpsilonRegression, {"C": 2.0, "epsilon": 0.2}),
    "squared tube": (
        EpsilonRegression,
        {"C": 2.0, "epsilon": 0.2, "loss": "squared_epsilon_insensitive"},
    ),
    "nu tube": (NuRegression, {"nu": 0.3, "C": 80.0}),
    "quantile": (QuantileRegression, {"tau": 0.7, "C": 2.0}),
}


def data_of(formulation):
    regression = (EpsilonRegression, NuRegression, QuantileRegression)
    X, y = diabetes(60) if issubclass(formulation, regression) else classes()
    return X, (y + 1.0 if issubclass(formulation, regression) else y)


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("name", WITH_INTERCEPT)
def test_a_penalised_intercept_is_a_column_of_ones(name, form):
    formulation, options = WITH_INTERCEPT[name]
    X, y = data_of(formulation)
    X = X + 0.5
    problem = getattr(formulation(**options, intercept="penalized"), form)(X, y)
    wide = np.column_stack([X, np.ones(len(X))])
    other = formulation(**options, intercept="none").dual(wide, y)
    one, two = tight(problem), tight(other)
    near(np.append(one.coef, one.intercept), two.coef)
    assert two.intercept == 0.0
    assert abs(one.intercept) > 1e-3
    assert objective(problem, one) == pytest.approx(objective(other, two), rel=SAME_OBJECTIVE)


@pytest.mark.parametrize("name", WITH_INTERCEPT)
def test_a_penalised_intercept_is_a_kernel_plus_one(name):
    formulation, options = WITH_INTERCEPT[name]
    X, y = data_of(formulation)
    one = tight(formulation(**options, intercept="penalized").dual(X, y, kernel=RBF))
    K = rbf_kernel(X, gamma=0.05) + 1.0
    two = tight(formulation(**options, intercept="none").dual(K, y, kernel="precomputed"))
    near(one.decision_function(X), two.decision_function(K))
