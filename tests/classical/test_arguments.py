"""Arguments that are refused by name, traces, and what is printed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import qpsvm
from benchmarks.classical import report
from qpsvm import classical
from qpsvm.classical import TraceSettings, recording
from qpsvm.exceptions import InvalidDataError, InvalidParameterError, QPSVMError
from tests.classical.cases import problem
from tests.processes import run

CALLS: dict[str, Any] = {
    "smo": lambda **k: classical.smo(problem(), **k),
    "slsqp": lambda **k: classical.slsqp(problem(), **k),
    "admm": lambda **k: classical.admm(problem(), **k),
    "frank_wolfe": lambda **k: classical.frank_wolfe(problem(), **k),
    "dual_ascent": lambda **k: classical.dual_ascent(problem(), **k),
    "coordinate_descent": lambda **k: classical.coordinate_descent(
        problem(intercept="penalized"), **k
    ),
    "subgradient": lambda **k: classical.subgradient(problem(), **k),
    "stochastic_subgradient": lambda **k: classical.stochastic_subgradient(problem(), **k),
    "pegasos": lambda **k: classical.pegasos(problem(), **k),
    "newton": lambda **k: classical.newton(problem(loss="squared_hinge"), **k),
    "kernel_newton": lambda **k: classical.kernel_newton(problem(loss="squared_hinge"), **k),
    "perceptron": lambda **k: classical.perceptron(
        qpsvm.HardMargin().dual([[0.0], [2.0]], [-1, 1]), **k
    ),
}

BAD = [
    ("eps", 0.0), ("eps", np.nan), ("eps", 2.0), ("max_steps", 0), ("max_steps", 1.5),
    ("max_steps", True), ("max_seconds", 0.0), ("max_seconds", -1.0), ("max_seconds", np.nan),
    ("max_seconds", np.inf), ("verbose", "yes"),
]  # fmt: skip


@pytest.mark.parametrize("method", CALLS)
def test_limits_outside_their_domain_are_named(method: str) -> None:
    for name, value in BAD:
        with pytest.raises(InvalidParameterError, match=name):
            CALLS[method](**{name: value})


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [
        ("dual_ascent", "rate", -1.0),
        ("dual_ascent", "rate", 0.0),
        ("dual_ascent", "rate", np.nan),
        ("dual_ascent", "constrained", "no"),
        ("admm", "rho", 0.0),
        ("coordinate_descent", "seed", -1),
        ("coordinate_descent", "seed", 0.5),
        ("subgradient", "rate", -0.1),
        ("subgradient", "rate", np.inf),
        ("subgradient", "average", "median"),
        ("subgradient", "bias", "last"),
        ("subgradient", "bias", "first"),
        ("subgradient", "patience", 0),
        ("subgradient", "min_change", -1.0),
        ("subgradient", "min_change", np.nan),
        ("stochastic_subgradient", "batch_size", 0),
        ("stochastic_subgradient", "batch_size", 101),
        ("stochastic_subgradient", "seed", None),
        ("pegasos", "batch_size", 2.0),
        ("perceptron", "rate", 0.0),
    ],
)
def test_other_arguments_outside_their_domain_are_named(method: str, name: str, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=name):
        CALLS[method](**{name: value})


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("smo", lambda: problem(form="primal")),
        ("smo", lambda: "SoftMargin"),
        ("smo", lambda: problem().qp),
        ("dual_ascent", lambda: problem(form="primal")),
        ("subgradient", lambda: problem(kernel="rbf")),
        ("subgradient", lambda: problem(loss="squared_hinge")),
        ("pegasos", lambda: qpsvm.HardMargin().dual([[0.0], [2.0]], [-1, 1])),
        ("stochastic_subgradient", lambda: None),
        ("newton", problem),
        ("newton", lambda: problem(kernel="rbf", loss="squared_hinge")),
        ("kernel_newton", problem),
        ("perceptron", problem),
        (
            "subgradient",
            lambda: qpsvm.SoftMargin().primal(
                [[0.0], [2.0]], [-1, 1], constraints=qpsvm.constraints.nonnegative(0)
            ),
        ),
    ],
)
def test_other_problems_are_refused(method: str, given: Any) -> None:
    with pytest.raises(InvalidParameterError, match=f"{method} takes"):
        getattr(classical, method)(given())


def test_machines_by_hand_need_numbers() -> None:
    with pytest.raises(QPSVMError, match="alpha"):
        classical.machine_from_alpha(problem(), [0.0, 1.0])
    with pytest.raises(InvalidParameterError, match="machine_from_alpha takes"):
        classical.machine_from_alpha(qpsvm.OneClass().dual([[0.0], [1.0]]), [0.0, 1.0])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"weights": [1.0]}, InvalidDataError),
        ({"weights": [1.0, np.nan]}, InvalidDataError),
        ({"X": [[np.inf], [1.0]]}, InvalidDataError),
        ({"X": [["a"], ["b"]]}, InvalidDataError),
        ({"y": [0, 1]}, InvalidDataError),
        ({"y": [1, np.nan]}, InvalidDataError),
        ({"y": [1]}, InvalidDataError),
        ({"regularization": 0.0}, InvalidParameterError),
        ({"regularization": np.nan}, InvalidParameterError),
        ({"intercept": "b"}, InvalidParameterError),
        ({"intercept": np.nan}, InvalidParameterError),
    ],
)
def test_the_cost_refuses_what_is_no_number(change: dict[str, Any], error: Any) -> None:
    arguments: dict[str, Any] = {"weights": [1.0, 2.0], "X": [[0.5], [2.5]], "y": [-1, 1]}
    for function in (classical.hinge_cost, classical.hinge_subgradient):
        with pytest.raises(error):
            function(**(arguments | change))


@pytest.mark.parametrize(
    "settings",
    [{"first": 0}, {"growth": 1.0}, {"growth": np.nan}, {"feasible": 0.0}, {"clock": 3}],
)
def test_settings_outside_their_domain(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(settings))):
        TraceSettings(**settings)


# --- traces --------------------------------------------------------------------------------------


class Ticks:
    """A clock that moves by one with every reading."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_certificates_do_not_count_as_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is read once per step, and on which a certificate takes an hour."""
    clock = Ticks()
    certificate_of = recording.certificate_of

    def slow(*arguments: Any) -> Any:
        clock.now += 3600.0
        return certificate_of(*arguments)

    monkeypatch.setattr(recording, "certificate_of", slow)
    settings = TraceSettings(clock=clock)
    given = problem("cancer")
    trace = classical.smo(given, max_steps=20, max_seconds=60.0, eps=1e-12, settings=settings).trace
    assert trace.step[-1] == 20
    np.testing.assert_array_equal(trace.seconds, trace.step)


def test_seconds_end_a_run() -> None:
    result = classical.smo(problem(), max_seconds=5.0, settings=TraceSettings(clock=Ticks()))
    assert (result.reason, result.steps) == ("seconds", 5)
    assert result.solution.status.value == "time limit"


def test_checkpoints_are_spaced_as_the_settings_say() -> None:
    settings = TraceSettings(first=4, growth=2.0)
    trace = classical.smo(problem("cancer"), max_steps=50, eps=1e-12, settings=settings).trace
    assert trace.step.tolist() == [0, 4, 8, 16, 32, 50]


def test_a_run_that_overflows_proves_nothing() -> None:
    result = classical.dual_ascent(problem(), constrained=False, rate=1e300, max_steps=100)
    assert result.reason == "not finite"
    assert np.isinf(result.relative_gap)
    assert result.solution.status.value == "inaccurate"


def test_trace_is_a_table() -> None:
    pd = pytest.importorskip("pandas")
    result = classical.smo(problem())
    frame = result.trace.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame) == ["step", "cost", "dual", "gap", "repair", "seconds"]
    assert len(frame) == len(result.trace)
    shown = repr(result.trace).splitlines()
    assert shown[0].startswith("Trace of")
    assert shown[2].split()[0] == str(result.steps)
    assert "worst" not in shown[0]
    assert "classical:smo" in repr(result)
    with pytest.raises(ValueError, match="read-only"):
        result.trace.gap[0] = 0.0


def test_trace_is_drawn() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    trace = classical.smo(problem()).trace
    _, ax = plt.subplots()
    assert trace.plot(ax, label="SMO") is ax
    (line,) = ax.get_lines()
    assert line.get_label() == "SMO"
    np.testing.assert_array_equal(line.get_ydata(), trace.gap[trace.seconds > 0.0])
    assert trace.plot(over="step").get_xlabel() == "step"
    with pytest.raises(InvalidParameterError, match="over"):
        trace.plot(ax, over="cost")
    plt.close("all")


def test_verbose_prints_a_line_per_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    result = classical.smo(problem(), verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(result.trace)
    assert all(line.startswith("classical:smo: iteration") for line in lines)
    classical.smo(problem())
    assert capsys.readouterr().out == ""


def test_importing_qpsvm_does_not_import_it() -> None:
    code = (
        "import sys, qpsvm; print('qpsvm.classical' in sys.modules, 'classical' in dir(qpsvm));"
        "qpsvm.classical.smo; print('matplotlib' in sys.modules)"
    )
    assert run([sys.executable, "-c", code], check=True).stdout.split() == [
        "False", "True", "False",
    ]  # fmt: skip


def test_the_page_is_made_of_its_rows() -> None:
    page = report.PAGE.read_text(encoding="utf-8")
    assert report.BEGIN + report.section(report.rows()) + report.END in page
    assert report.PICTURE.exists()
