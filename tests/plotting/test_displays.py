"""Displays draw on the caller's axes what the estimator says, in words and lines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from sklearn import svm
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ValidationCurveDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import qpsvm
from qpsvm import estimators, reports
from qpsvm.backends import Progress
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.paths import svm_path
from qpsvm.plotting import AlphaMargin, Convergence, DecisionRegions, Heights, PathLines, Plane
from qpsvm.plotting.picture import DARK, LIGHT
from tests.tolerances import ON_THE_CURVE

X, y = make_blobs(60, centers=2, cluster_std=2.5, random_state=0)
X3, y3 = make_blobs(60, centers=3, cluster_std=2.0, random_state=0)
LABELS = np.array(["no", "yes"])[y]
TARGETS = X @ [1.0, -2.0] + np.sin(X[:, 0])


@pytest.fixture
def ax():
    return Figure().add_subplot()


def words(axes):
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def ringed(display):
    """The points that are drawn with an empty marker."""
    lines = [line for line in display.ax_.lines if line.get_markerfacecolor() == "none"]
    return sum(len(line.get_xdata()) for line in lines)


BOUNDARIES = {
    "SVC": (estimators.SVC(kernel="linear"), LABELS),
    "NuSVC": (estimators.NuSVC(nu=0.4), LABELS),
    "LinearSVC": (estimators.LinearSVC(loss="hinge"), y),
    "Pipeline": (make_pipeline(StandardScaler(), estimators.SVC(C=10.0)), y),
    "sklearn": (svm.SVC(), y),
    "LogisticRegression": (LogisticRegression(), y),
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_the_boundary_of_two_classes_is_where_predictions_change(name, ax):
    machine, labels = BOUNDARIES[name]
    display = DecisionRegions.from_estimator(machine.fit(X, labels), X, y=labels, ax=ax)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    predicted = machine.predict(grid) == machine.classes_[1]
    assert np.array_equal(display.response.ravel() > 0.0, predicted)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert isinstance(display.surface_, QuadContourSet)
    assert {"boundary"} <= set(words(ax))
    assert ("margins" in words(ax)) == (name != "LogisticRegression")


def test_margins_can_be_left_out(ax):
    machine = estimators.SVC().fit(X, y)
    display = DecisionRegions.from_estimator(machine, X, y=y, margins=False, support=False, ax=ax)
    assert "margins" not in words(ax)
    assert ringed(display) == 0


MANY = {
    "one against one": estimators.SVC(),
    "one against the rest": estimators.LinearSVC(),
    "one program": estimators.SVC(multi_class="crammer_singer"),
    "sklearn": svm.SVC(),
    "tree": DecisionTreeClassifier(),
}


@pytest.mark.parametrize("name", MANY)
def test_the_regions_of_many_classes_are_their_predictions(name, ax):
    machine = MANY[name].fit(X3, y3)
    display = DecisionRegions.from_estimator(machine, X3, y=y3, grid_resolution=40, ax=ax)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert np.array_equal(np.argmax(display.response, axis=-1).ravel(), machine.predict(grid))
    assert len(display.surface_) == 3


def test_two_classes_with_a_decision_value_each(ax):
    machine = estimators.LinearSVC(multi_class="crammer_singer").fit(X, y)
    display = DecisionRegions.from_estimator(machine, X, y=y, grid_resolution=20, ax=ax)
    assert display.response.shape == (20, 20, 2)


@pytest.mark.parametrize("kind", [estimators.OneClassSVM, estimators.SVDD, svm.OneClassSVM])
def test_novelty_detectors_have_an_inside(kind, ax):
    display = DecisionRegions.from_estimator(kind(nu=0.2, gamma=0.1).fit(X), X, ax=ax)
    assert isinstance(display.picture, Plane)
    assert {"novelty", "inlier", "boundary"} <= set(words(ax))
    assert display.response.min() < 0.0 < display.response.max()


REGRESSIONS = {
    "SVR": estimators.SVR(C=10.0),
    "LinearSVR": estimators.LinearSVR(),
    "QuantileSVR": estimators.QuantileSVR(),
    "SVMRanker": estimators.SVMRanker(),
    "sklearn": svm.SVR(),
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regressions_and_rankings_are_contours_of_predictions(name, ax):
    machine = REGRESSIONS[name].fit(X, TARGETS)
    display = DecisionRegions.from_estimator(machine, X, y=TARGETS, grid_resolution=20, ax=ax)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert isinstance(display.picture, Heights)
    assert np.array_equal(display.response.ravel(), machine.predict(grid))
    assert len(display.figure_.axes) == 2  # the second is the colour bar


# --- support vectors -----------------------------------------------------------------------------

SUPPORTED = {
    "SVC": estimators.SVC(),
    "Pipeline": make_pipeline(StandardScaler(), estimators.SVC()),
    "LinearSVC": estimators.LinearSVC(loss="hinge"),
    "sklearn": make_pipeline(StandardScaler(), svm.SVC()),
}


@pytest.mark.parametrize("name", SUPPORTED)
def test_support_vectors_of_the_training_samples_are_ringed(name, ax):
    machine = SUPPORTED[name].fit(X, y)
    last = machine[-1] if hasattr(machine, "steps") else machine
    own = last.support_ if hasattr(last, "support_") else last.solution_.support
    display = DecisionRegions.from_estimator(machine, X, y=y, ax=ax)
    assert ringed(display) == len(own) > 0
    assert f"support vectors ({len(own)})" in words(ax)


@pytest.mark.parametrize("other", [X[:20], X[::-1].copy(), X + 1e-3], ids=["few", "order", "value"])
def test_other_samples_are_not_ringed(other, ax):
    machine = estimators.SVC().fit(X, y)
    assert ringed(DecisionRegions.from_estimator(machine, other, ax=ax)) == 0


# --- axes, frames, words -------------------------------------------------------------------------


def test_data_frames_keep_their_names_and_give_no_warning(ax):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["height", "weight"])
    machine = estimators.SVC().fit(frame, y)
    display = DecisionRegions.from_estimator(machine, frame, y=y, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "weight")
    assert "plane of height" in display.alternative


def test_a_display_is_drawn_again_without_the_estimator(ax):
    machine = estimators.SVC().fit(X, y)
    display = DecisionRegions.from_estimator(machine, X, ax=ax)
    first, other = display.response, Figure().add_subplot()
    assert display.plot(ax=other) is display
    assert display.ax_ is other
    assert display.response is first
    assert ax.lines


@pytest.mark.parametrize("display", [DecisionRegions, AlphaMargin])
def test_without_axes_a_display_makes_a_figure(display):
    import matplotlib.pyplot as plt

    machine = estimators.SVC().fit(X, y)
    samples = (X,) if display is DecisionRegions else ()
    drawn = display.from_estimator(machine, *samples)
    try:
        assert plt.gcf() is drawn.figure_
        assert len(drawn.figure_.legends) == 1  # beside the axes, where it covers no sample
        assert drawn.alternative
    finally:
        plt.close(drawn.figure_)


@pytest.mark.parametrize(
    ("background", "style"), [("black", DARK), ("#101418", DARK), ("white", LIGHT), ("none", LIGHT)]
)
def test_lines_are_readable_on_their_background(background, style, ax):
    ax.set_facecolor(background)
    DecisionRegions.from_estimator(estimators.SVC().fit(X, y), X, y=y, ax=ax)
    assert ax.get_legend().legend_handles[-1].get_color() == style.ink


def test_the_margin_of_the_grid_is_what_was_asked_for(ax):
    machine = estimators.SVC().fit(X, y)
    display = DecisionRegions.from_estimator(machine, X, eps=2.0, grid_resolution=10, ax=ax)
    assert display.xx0.min() == X[:, 0].min() - 2.0
    assert display.xx1.max() == X[:, 1].max() + 2.0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": X3[:, :1]}, InvalidDataError, r"shape \(60, 1\); .* two columns"),
        ({"X": [["a", "b"]]}, InvalidDataError, "no plain numbers"),
        ({"X": [[np.nan, 1.0]]}, InvalidDataError, "impute"),
        ({"y": y[:3]}, InvalidDataError, r"y has shape \(3,\), and X has 60 rows"),
        ({"grid_resolution": 1}, InvalidParameterError, "grid_resolution is 1; .* above 1"),
        ({"eps": -1.0}, InvalidParameterError, "eps is -1.0; .* 0 or more"),
        ({"estimator": estimators.SVC()}, NotFittedError, "not fitted"),
    ],
)
def test_wrong_arguments_are_named(change, error, message, ax):
    arguments = {"estimator": estimators.SVC().fit(X, y), "X": X, **change}
    with pytest.raises(error, match=message):
        DecisionRegions.from_estimator(ax=ax, **arguments)


# --- alpha against margin ------------------------------------------------------------------------


def test_alpha_against_margin_is_the_picture_of_the_report(ax):
    machine = make_pipeline(StandardScaler(), estimators.SVC(C=10.0)).fit(X, y)
    display = AlphaMargin.from_estimator(machine, ax=ax)
    margin = (2 * y - 1) * machine.decision_function(X)
    assert np.allclose(np.sort(display.picture.x), np.sort(margin), atol=ON_THE_CURVE)
    assert ax.get_ylabel() == "alpha"
    assert display.plot(ax=Figure().add_subplot()).ax_ is not ax


def test_machines_of_several_classes_are_drawn_one_by_one(ax):
    machine = estimators.SVC().fit(X3, y3)
    sizes = [len(AlphaMargin.from_estimator(machine, machine=i, ax=ax).picture.x) for i in range(3)]
    assert sizes == [40, 40, 40]
    with pytest.raises(InvalidParameterError, match="machine is 3; this SVC has 3"):
        AlphaMargin.from_estimator(machine, machine=3, ax=ax)


def test_alpha_against_margin_needs_an_estimator_that_knows_them(ax):
    with pytest.raises(InvalidParameterError, match="LogisticRegression, which does not know"):
        AlphaMargin.from_estimator(LogisticRegression().fit(X, y), ax=ax)


# --- scikit-learn's own displays -----------------------------------------------------------------


def test_validation_curves_are_scikit_learns(ax):
    iris, kinds = load_iris(return_X_y=True)
    prices = [0.1, 1.0, 10.0]
    display = ValidationCurveDisplay.from_estimator(
        estimators.SVC(), iris, kinds, param_name="C", param_range=prices, cv=3, ax=ax
    )
    assert display.test_scores.shape == (3, 3)
    assert display.test_scores.mean() > 0.9
    assert list(display.lines_[0].get_xdata()) == prices


# --- paths ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def path():
    return svm_path(X, y, kernel="rbf", values=np.geomspace(0.01, 100.0, 12))


def test_lines_of_a_path_are_shares_of_the_bounds(path, ax):
    display = PathLines.from_path(path, lines=5, ax=ax)
    assert display.shares.shape == (12, 5)
    for at, (C, machine) in enumerate(zip(path.values, path.solutions, strict=True)):
        assert display.shares[at] * C == pytest.approx(machine.alpha[display.variables])
    assert ax.get_xscale() == "log"
    assert f"{len(display.events)} values" in display.alternative
    lines = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert len(lines) == 5


def test_variables_that_never_move_are_not_drawn(path, ax):
    display = PathLines.from_path(path, lines=1000, ax=ax)
    assert (np.ptp(display.shares, axis=0) > 0.0).all()
    assert set(np.unique(display.events)) <= {event.value for event in path.events}


@pytest.mark.parametrize("lines", [0, 2.5, "many", True])
def test_a_number_of_lines_is_a_whole_number(path, lines, ax):
    with pytest.raises(InvalidParameterError, match="whole number"):
        PathLines.from_path(path, lines=lines, ax=ax)


def test_lines_need_a_path(ax):
    with pytest.raises(InvalidParameterError, match="svm_path"):
        PathLines.from_path(svm_path(X, y, values=[1.0]), ax=ax)
    with pytest.raises(InvalidParameterError, match="svm_path"):
        PathLines.from_path(estimators.SVC().fit(X, y), ax=ax)


def test_lines_of_a_quantile_stay_between_both_of_its_bounds(ax):
    quantile = qpsvm.QuantileRegression(0.3)
    path = svm_path(X, TARGETS, values=[0.1, 1.0, 10.0], formulation=quantile, kernel="linear")
    display = PathLines.from_path(path, ax=ax)
    (low, high), shares = ax.get_ylim(), display.shares
    assert low <= shares.min() < -0.5
    assert 0.5 < shares.max() <= high
    alpha = np.array([machine.alpha[display.variables] for machine in path.solutions])
    bounds = np.array([machine.conditions.upper[0] for machine in path.solutions])[:, None]
    ratio = 0.7 / 0.3  # of the lower to the upper bound
    np.testing.assert_allclose(shares * np.where(alpha < 0.0, ratio, 1.0) * bounds, alpha)


# --- solutions -----------------------------------------------------------------------------------

SOLVED = {
    "two classes": (qpsvm.SoftMargin(C=10.0), estimators.SVC(C=10.0, gamma=0.5), LABELS),
    "nu": (qpsvm.NuClassification(nu=0.4), estimators.NuSVC(nu=0.4, gamma=0.5), y),
    "regression": (
        qpsvm.EpsilonRegression(C=5.0, epsilon=0.3), estimators.SVR(C=5.0, epsilon=0.3, gamma=0.5),
        TARGETS,
    ),
    "novelties": (qpsvm.OneClass(nu=0.2), estimators.OneClassSVM(nu=0.2, gamma=0.5), None),
}  # fmt: skip


def solution_of(name):
    formulation, _, labels = SOLVED[name]
    given = (X,) if labels is None else (X, labels)
    return qpsvm.solve(formulation.dual(*given, kernel=qpsvm.kernels.RBF(gamma=0.5)))


@pytest.mark.parametrize("name", SOLVED)
def test_regions_of_a_solution_are_those_of_the_estimator(name, ax):
    _, machine, labels = SOLVED[name]
    machine = machine.fit(X) if labels is None else machine.fit(X, labels)
    options = {"y": labels, "grid_resolution": 15}
    of_estimator = DecisionRegions.from_estimator(machine, X, ax=ax, **options)
    of_solution = DecisionRegions.from_estimator(
        solution_of(name), X, ax=Figure().add_subplot(), **options
    )
    # estimators of the nu families have LIBSVM's scale, solutions that of their program
    drawn = [
        display.response / np.abs(display.response).max() for display in (of_estimator, of_solution)
    ]
    np.testing.assert_allclose(drawn[1], drawn[0], atol=ON_THE_CURVE)
    assert ringed(of_solution) == ringed(of_estimator) > 0


@pytest.mark.parametrize("name", ["two classes", "nu"])
def test_margins_of_a_solution_are_those_of_its_report(name, ax):
    formulation, _, labels = SOLVED[name]
    problem = formulation.dual(X, labels, kernel=qpsvm.kernels.RBF(gamma=0.5))
    solution = qpsvm.solve(problem)
    display = DecisionRegions.from_estimator(solution, X, grid_resolution=5, ax=ax)
    pictures = {picture.name: picture for picture in reports.build(problem, solution).pictures}
    assert display.picture.levels == pytest.approx(pictures["plane"].levels)


def test_regions_of_several_classes_are_drawn_from_solutions(ax):
    for reduction in (qpsvm.OneVsOne(qpsvm.SoftMargin()), qpsvm.CrammerSinger()):
        solution = qpsvm.solve(reduction.dual(X3, y3))
        display = DecisionRegions.from_estimator(solution, X3, y=y3, grid_resolution=9, ax=ax)
        assert display.response.shape == (9, 9, 3)
        assert (display.response.sum(axis=2) == 1.0).all()


@pytest.mark.parametrize("name", ["two classes", "novelties"])
def test_alpha_of_a_solution_is_that_of_its_report(name, ax):
    formulation, _, labels = SOLVED[name]
    given = (X,) if labels is None else (X, labels)
    problem = formulation.dual(*given, kernel=qpsvm.kernels.RBF(gamma=0.5))
    solution = qpsvm.solve(problem)
    own = AlphaMargin.from_estimator(solution, ax=ax).picture
    of_report = AlphaMargin.from_estimator(reports.build(problem, solution), ax=ax).picture
    np.testing.assert_allclose(own.x, of_report.x, atol=ON_THE_CURVE)
    np.testing.assert_allclose(own.y, of_report.y, atol=ON_THE_CURVE)
    np.testing.assert_array_equal(own.case, of_report.case)
    assert own.conditions[0].corner == pytest.approx(of_report.conditions[0].corner)


def test_alphas_of_a_solution_have_the_cases_of_its_verdict(ax):
    """Quantiles have dual variables below zero, whose lower bound is a bound like the other."""
    problem = qpsvm.QuantileRegression(0.3, C=2.0).dual(
        X, TARGETS, kernel=qpsvm.kernels.RBF(gamma=0.5)
    )
    solution = qpsvm.solve(problem)
    own = AlphaMargin.from_estimator(solution, ax=ax).picture
    np.testing.assert_array_equal(own.case, qpsvm.verify(problem, solution).samples.case)
    assert (solution.alpha[own.case == 2] < 0.0).any()


def test_alphas_of_regressions_and_parts_of_reductions(ax):
    display = AlphaMargin.from_estimator(solution_of("regression"), ax=ax)
    picture = display.picture
    assert len(picture.x) == 2 * len(X)
    # complementary slackness: what exceeds its condition has alpha 0
    assert np.abs(picture.y[picture.x > ON_THE_CURVE]).max() <= ON_THE_CURVE
    parts = qpsvm.solve(qpsvm.OneVsOne(qpsvm.SoftMargin()).dual(X3, y3))
    assert AlphaMargin.from_estimator(parts, machine=2, ax=ax).ax_ is ax
    with pytest.raises(InvalidParameterError, match="counted from 0 to 2"):
        AlphaMargin.from_estimator(parts, machine=3)
    joint = qpsvm.solve(qpsvm.CrammerSinger().dual(X3, y3))
    with pytest.raises(InvalidParameterError, match=r"reports\.build\(problem, solution\)"):
        AlphaMargin.from_estimator(joint)


# --- coefficients along a path, iterations -------------------------------------------------------


def test_coefficients_along_a_path_are_those_of_the_machines(ax):
    frame = pd.DataFrame(X, columns=["height", "width"])
    path = svm_path(frame, y, values=[0.01, 0.1, 1.0], kernel="linear")
    display = PathLines.from_path(path, of="coef", ax=ax)
    expected = [machine.coef for machine in path.solutions]
    np.testing.assert_array_equal(display.shares, expected)
    for line, column in zip(display.ax_.lines, np.transpose(expected), strict=False):
        np.testing.assert_array_equal(line.get_ydata(), column)
    assert words(ax) == ["height", "width"]
    assert ax.get_ylabel() == "coefficient"
    assert f"height {expected[0][0]:.3g} to {expected[-1][0]:.3g}" in display.alternative


def test_coefficients_need_a_linear_kernel():
    path = svm_path(X, y, values=[0.1, 1.0], kernel="rbf")
    with pytest.raises(InvalidParameterError, match="linear kernel"):
        PathLines.from_path(path, of="coef")
    with pytest.raises(InvalidParameterError, match="choose 'alpha' or 'coef'"):
        PathLines.from_path(path, of="weights")


@pytest.mark.parametrize("last", [2, 4, 7, 40])
def test_iterations_are_whole_numbers(last):
    events = [Progress("solve", "ipm", k, 0.0, residual=10.0**-k) for k in range(1, last + 1)] + [
        Progress("done", "ipm", residual=1e-12)
    ]
    figure = Convergence.of(events, 1e-8, 1.0).figure()
    ticks = figure.axes[0].get_xticks()
    assert len(ticks) > 1
    np.testing.assert_array_equal(ticks, np.round(ticks))
