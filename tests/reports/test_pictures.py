"""Pictures: drawn from the figures, told in words, without a trace in Matplotlib's settings."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

import qpsvm
from qpsvm import plotting, reports
from qpsvm.plotting import picture as shared
from qpsvm.plotting.picture import DARK, LIGHT
from tests.reports.cases import MACHINES, SHOWN, SOLVED, report, text
from tests.strategies import listed
from tests.tolerances import ON_THE_CURVE

NAMES = {
    "two-class": {"histogram", "kkt", "residuals"},
    "regression": {"histogram", "targets", "kkt", "residuals"},
    "novelty": {"histogram", "kkt", "residuals"},
    "ranking": {"histogram", "kkt", "residuals"},
    "multiclass": {"histogram", "kkt", "residuals"},
    "reduced": set(),
    "program": {"checks"},
}
PLANES = {
    "plane", "weighted", "nu classification", "one class", "ball", "joint", "one vs rest",
    "one vs one", "with constraints",
}  # fmt: skip


def pictures_of(name):
    return {picture.name: picture for picture in report(name).pictures}


@pytest.mark.parametrize("name", SOLVED)
def test_every_kind_has_its_pictures(name):
    expected = NAMES[report(name).kind.name] | ({"plane"} if name in PLANES else set())
    assert pictures_of(name).keys() == expected


@listed("name", SHOWN, quick=5)
def test_pictures_are_drawn_and_described(name):
    for picture in report(name).pictures:
        assert picture.title
        assert not re.search(r"\bnan\b", picture.alternative)
        assert len(picture.alternative) > 60
    parts = (report(name), *report(name).machines)
    drawn = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', text(name, "html"))
    assert len(drawn) == sum(len(part.pictures) for part in parts)
    for content in drawn:
        svg = base64.b64decode(content).decode()
        assert ET.fromstring(svg).tag.endswith("svg")
        assert not re.search(r'href="(?!#|data:)', svg)


def test_pictures_follow_the_reader_or_are_what_was_asked_for():
    picture = pictures_of("plane")["histogram"]
    light, dark, either = (picture.svg(dark=choice) for choice in (False, True, None))
    assert LIGHT.ink in light
    assert LIGHT.ink not in dark
    assert DARK.ink in dark
    assert "prefers-color-scheme:dark" in either
    sheet = re.search(r"<style>@media.*?</style>", either).group()
    assert either.replace(sheet, "") == light


@pytest.mark.parametrize("name", MACHINES)
def test_every_sample_lies_on_the_line_of_the_kkt_conditions(name):
    picture = pictures_of(name)["kkt"]
    x, y = picture.x, picture.y
    # the line falls: what it is just left and right of a sample encloses what it may be there
    beside = ON_THE_CURVE * np.ptp(x)
    left, right = (
        np.sum([c.value(x + step) for c in picture.conditions], axis=0)
        for step in (-beside, beside)
    )
    room = ON_THE_CURVE * np.max(np.abs(y))
    assert (right - room <= y).all()
    assert (y <= left + room).all()


@pytest.mark.parametrize("name", ["plane", "tube", "one class", "ranking"])
def test_a_wrong_alpha_leaves_the_line(name):
    picture = pictures_of(name)["kkt"]
    y = picture.y.copy()
    y[np.argmax(np.abs(y))] *= 0.5
    left = np.sum([c.value(picture.x - 1e-9) for c in picture.conditions], axis=0)
    right = np.sum([c.value(picture.x + 1e-9) for c in picture.conditions], axis=0)
    off = (y < right - 1e-6) | (y > left + 1e-6)
    corners = np.array([c.corner for c in picture.conditions])
    near = np.min(np.abs(picture.x[:, None] - corners), axis=1) < 1e-6
    assert off.any() or near[np.argmax(np.abs(picture.y))]


# --- the words -----------------------------------------------------------------------------------


def test_histogram_counts_what_is_inside():
    built = report("plane")
    table, data = built.table, built.problem.data
    words = pictures_of("plane")["histogram"].alternative
    inside, wrong = np.sum(table.margin < 1.0 - 1e-6), np.sum(table.margin <= 0.0)
    assert f"{inside} samples lie inside the margin or beyond, {wrong} of them" in words
    for sign, label in ((-1, 0), (1, 1)):
        decision = table.decision[data.signs == sign]
        assert (
            f"{len(decision)} samples of class {label} from {decision.min():.3g} to "
            f"{decision.max():.3g}, median {np.median(decision):.3g}"
        ) in words


def test_margins_are_where_the_program_put_them():
    built = report("nu classification")
    rho = built.solution.width
    assert [line.at for line in pictures_of("nu classification")["histogram"].lines] == [
        -rho, 0.0, rho,
    ]  # fmt: skip
    assert pictures_of("nu classification")["plane"].levels == (0.0, -rho, rho)
    epsilon = report("nu regression").solution.width
    assert pictures_of("nu regression")["targets"].half_width == pytest.approx(epsilon)
    assert pictures_of("tube")["targets"].half_width == pytest.approx(0.4)


def test_kkt_words_count_the_cases():
    table = report("two classes").table
    words = pictures_of("two classes")["kkt"].alternative
    zero, free, bound = (np.sum(table.case == case) for case in range(3))
    assert f"{zero} have alpha 0" in words
    assert f"{free} are between" in words
    assert f"{bound} are at a bound" in words


@pytest.mark.parametrize("name", MACHINES)
def test_sorted_violations_say_how_many_are_beyond(name):
    picture, built = pictures_of(name)["residuals"], report(name)
    check = next(check for check in built.checks if check.name == "sample_kkt")
    assert picture.tolerance == check.tolerance
    assert f"the largest is {check.scaled:.2g}" in picture.alternative
    assert ("0 " in picture.alternative) == check.passed


@pytest.mark.parametrize("name", ["plane", "joint", "one class", "one vs rest"])
def test_plane_is_drawn_with_the_machine_itself(name):
    picture, built = pictures_of(name)["plane"], report(name)
    data = built.problem.data
    expected = built.solution.decision_function(data.X)
    assert np.array_equal(picture.values(picture.points), expected)
    assert np.array_equal(picture.points, data.X)


def test_plane_reads_sparse_samples():
    import scipy.sparse as sp

    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]), [0, 1, 1, 0]
    problem = qpsvm.SoftMargin().dual(sp.csr_array(X), y)
    built = reports.build(problem, qpsvm.solve(problem))
    plane = next(picture for picture in built.pictures if picture.name == "plane")
    assert np.array_equal(plane.points, X)
    ET.fromstring(plane.svg())


# --- many points, strange labels -----------------------------------------------------------------


def test_many_points_become_an_image():
    rng = np.random.default_rng(0)
    n = 100_000
    x = rng.normal(size=n)
    many = plotting.Complementarity(
        heading="t", x=x, y=np.where(x < 1.0, 1.0, 0.0), case=np.where(x < 1.0, 2, 0),
        conditions=(), quantity="q", variable="v", noun="sample",
    )  # fmt: skip
    svg = many.svg()
    assert len(svg) < 400_000
    assert "100,000 points, drawn as an image" in many.caption
    assert "image/png" in svg
    sorted_ = plotting.SortedViolations(np.abs(x), 1.0, "sample")
    assert len(sorted_.svg()) < 200_000


def test_the_worst_of_many_violations_are_drawn():
    violation = np.full(50_000, 1e-9)
    violation[[7, 30_000, 49_999]] = (3.0, 2.0, 1.0)
    figure = plotting.SortedViolations(violation, 1e-4, "sample").figure()
    beyond = max(
        (line.get_ydata() for line in figure.axes[0].lines if line.get_marker() == "^"), key=len
    )
    assert list(beyond) == [3.0, 2.0, 1.0]
    assert (
        sum(len(line.get_xdata()) for line in figure.axes[0].lines)
        <= 2 * plotting.SortedViolations.points + 10
    )


@pytest.mark.parametrize(
    "labels", [("$\\frac{", "_b$"), ("漢字 🎉", "a\nb\x00"), ("x" * 500, "<&>")]
)
def test_labels_are_no_mathematics_and_fit(labels):
    groups = tuple(plotting.Group(label, np.arange(5.0)) for label in labels)
    lines = (plotting.Line(0.0, "the boundary", central=True),)
    picture = plotting.Histogram("t", groups, lines, "q", "sample", "s.")
    ET.fromstring(picture.svg())
    assert all(len(shared.literal(label)) <= 26 for label in labels)


def test_more_groups_than_fit_are_said_to_be_missing():
    groups = tuple(plotting.Group(f"class {i}", np.arange(3.0)) for i in range(11))
    lines = (plotting.Line(0.0, "the boundary", central=True),)
    picture = plotting.Histogram("t", groups, lines, "q", "sample", "s.")
    assert "The 3 other groups are not drawn" in picture.caption
    assert "class 10" in picture.alternative
    ET.fromstring(picture.svg())


def test_infinite_and_zero_values_are_drawn():
    violation = np.array([np.inf, 1.0, 0.0])
    picture = plotting.SortedViolations(violation, 1e-4, "sample")
    ET.fromstring(picture.svg())
    assert "2 samples are beyond" in picture.alternative


# --- no global state -----------------------------------------------------------------------------


def test_pictures_leave_no_global_state():
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams)
    pictures_of("plane")["plane"].svg()
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == []


def test_pictures_are_the_same_in_threads():
    pictures = [pictures_of("plane")[name] for name in ("histogram", "kkt")] * 2
    alone = [picture.svg() for picture in pictures]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda picture: picture.svg(), pictures)) == alone


# --- convergence ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Event:
    stage: str
    iteration: int | None = None
    objective: float | None = None
    residual: float | None = None
    backend: str = "b"
    seconds: float = 0.5


def test_convergence_shows_residuals_or_else_objectives_or_else_stages():
    told = [Event("solve", i, 1.0, 10.0**-i) for i in range(5)]
    done = Event("done", residual=1e-9)
    by_residual = plotting.Convergence.of([*told, done], 1e-8, 0.0)
    assert "solver's own residual of b goes from 1 at iteration 0 to 0.0001" in (
        by_residual.alternative
    )
    silent = [Event("solve", i, 2.0 + 10.0**-i) for i in range(1, 5)]
    by_objective = plotting.Convergence.of([*silent, done], 1e-8, 2.0)
    assert "distance to the last objective of b goes from 0.05 at iteration 1 to 5e-05" in (
        by_objective.alternative
    )
    stages = [Event("polish", residual=1e-3), done]
    by_stage = plotting.Convergence.of(stages, 1e-8, 2.0)
    assert "0.001 at stage polish, 1e-09 at stage done" in by_stage.alternative
    for picture in (by_residual, by_objective, by_stage):
        ET.fromstring(picture.svg())
    assert plotting.Convergence.of([Event("solve", 1), done], 1e-8, 2.0) is None
