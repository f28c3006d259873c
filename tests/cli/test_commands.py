"""The commands in this process: output, files and exit codes."""

from __future__ import annotations

import json
import os
from functools import partial

import jsonschema
import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_iris
from typer.testing import CliRunner

import qpsvm
from qpsvm import reports
from qpsvm.cli import app
from qpsvm.exceptions import UnsupportedProgramError
from tests.models.sealing import reseal
from tests.strategies import listed

CONTROL = "\x1b"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="session")
def breast_csv(tmp_path_factory):
    bunch = load_breast_cancer()
    path = tmp_path_factory.mktemp("data") / "breast.csv"
    lines = [",".join([*bunch.feature_names, "diagnosis"])]
    for x, target in zip(bunch.data, bunch.target, strict=True):
        lines.append(",".join([*map(repr, x.tolist()), bunch.target_names[target]]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def iris_libsvm(tmp_path_factory):
    X, y = load_iris(return_X_y=True)
    path = tmp_path_factory.mktemp("data") / "iris.libsvm"
    dump_svmlight_file(X[:100], 2 * y[:100] - 1, str(path))
    return path


@pytest.fixture(scope="session")
def overlapping_libsvm(tmp_path_factory):
    X, y = load_iris(return_X_y=True)
    path = tmp_path_factory.mktemp("data") / "overlap.libsvm"
    dump_svmlight_file(X[50:], y[50:], str(path))
    return path


# --- the benchmark ---------------------------------------------------------------------------


def test_the_benchmark_says_that_it_runs_from_a_checkout():
    result = run("bench", "run", "smoke", "--store", "my rows.jsonl", "--resume")
    assert result.exit_code == 2
    assert "runs from a checkout" in result.stderr
    assert "python -m benchmarks run smoke --store 'my rows.jsonl' --resume" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "python -m benchmarks --help" in run("bench").stderr
    described = run("bench", "--help")
    assert described.exit_code == 0
    assert "python -m benchmarks run smoke" in described.output


# --- help, version, usage --------------------------------------------------------------------


def test_help_names_every_command():
    result = run("--help")
    assert result.exit_code == 0
    for command in ("demo", "solve", "verify", "backends"):
        assert command in result.output


@pytest.mark.parametrize("command", ["demo", "solve", "verify", "backends"])
def test_every_command_has_help(command):
    assert run(command, "--help").exit_code == 0


def test_version():
    assert run("--version").output.strip() == f"qpsvm {qpsvm.__version__}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["solve"],
        ["solve", "FILE", "--gamma", "1"],
        ["solve", "FILE", "--kernel", "rbf", "--degree", "2"],
        ["solve", "FILE", "--kernel", "rbf", "--gamma", "wide"],
        ["solve", "FILE", "--kernel", "magic"],
        ["solve", "FILE", "--family", "hard-margin", "--C", "1"],
        ["solve", "FILE", "--verbose", "--json"],
        ["solve", "FILE", "--C", "-1"],
        ["solve", "FILE", "--eps", "2"],
        ["solve", "FILE", "--time-limit", "0"],
        ["solve", "FILE", "--backend", "magic"],
        ["solve", "FILE", "--report", "report.pdf"],
        ["solve", "FILE", "--report", "no/folder/report.html"],
        ["solve", "FILE", "--model", "no/folder/model.npz"],
        ["solve", "FILE", "--label", "y"],
        ["solve", "FILE", "--format", "csv", "--label", "y"],
        ["solve", "no-such-file.csv"],
        ["verify", "no-model.npz", "FILE"],
        ["verify", "FILE", "FILE"],
        ["demo", "--backend", "magic"],
        ["demo", "--samples", "3"],
        ["demo", "--report", "no/folder/report.html"],
    ],
    ids=" ".join,
)
def test_bad_usage_exits_with_2_and_one_line(arguments, iris_libsvm):
    result = run(*(iris_libsvm if word == "FILE" else word for word in arguments))
    assert result.exit_code == 2, result.output
    assert result.stderr.strip()
    assert "Traceback" not in result.output


# --- solve -----------------------------------------------------------------------------------


def test_solve_prints_the_verdict_first_and_details_on_request(iris_libsvm):
    result = run("solve", iris_libsvm)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("OPTIMAL at eps=1e-08")
    for words in ("Certified relative gap", "Training accuracy 100.00 %", "iris"):
        assert words in result.stdout
    assert "stationarity" not in result.stdout
    assert "Settings" not in result.stdout
    full = run("solve", iris_libsvm, "--verbose")
    for words in ("certified gap", "stationarity", "Settings of", "sparse"):
        assert words in full.stdout
    assert CONTROL not in result.output + full.output


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("fit", "svc", "x.csv"), "Did you mean 'SVC'?"),
        (("fit", "linear_svc"), "Did you mean 'LinearSVC'?"),
        (("fit", "x.csv"), "qpsvm fit SVC x.csv"),
        (("fit", "LogisticRegression"), "Estimators: SVC,"),
        (("svr", "x.csv"), "qpsvm fit SVR"),
        (("x.csv",), "qpsvm fit SVC x.csv"),
        (("solv", "x.csv"), "Did you mean 'solve'?"),
        (("Fit", "SVC"), "Did you mean 'fit'?"),
    ],
)
def test_a_word_in_place_of_a_command_is_understood(words, meant):
    result = run(*words)
    assert result.exit_code == 2
    assert meant in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.exhaustive
def test_solve_every_option_together(breast_csv, tmp_path):
    result = run(
        "solve", breast_csv, "--label", "diagnosis", "--family", "soft-margin", "--form", "primal",
        "--kernel", "polynomial", "--gamma", "0.05", "--degree", "2", "--coef0", "1", "--C", "0.5",
        "--intercept", "free", "--standardize", "--backend", "osqp", "--eps", "1e-6",
        "--time-limit", "60", "--report", tmp_path / "r.txt", "--model", tmp_path / "m.npz",
        "--verbose",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "polynomial(gamma=0.05, degree=2, coef0=1) kernel" in result.stdout
    assert "'benign' (357), 'malignant' (212)" in result.stdout
    assert sorted(os.listdir(tmp_path)) == ["m.npz", "r.txt"]
    assert run("verify", tmp_path / "m.npz", breast_csv, "--eps", "1e-6").exit_code == 0


def test_solve_json(iris_libsvm):
    result = run("solve", iris_libsvm, "--kernel", "rbf", "--json")
    assert result.exit_code == 0
    content = json.loads(result.stdout, parse_constant=pytest.fail)
    assert content["command"] == "solve"
    assert content["passed"] is True
    assert content["relative_gap"] <= 1e-8
    assert content["data"]["n_samples"] == 100
    assert content["warnings"] == []


def test_solve_json_report_has_every_sample(iris_libsvm, tmp_path):
    path = tmp_path / "report.json"
    assert run("solve", iris_libsvm, "--family", "hard-margin", "--report", path).exit_code == 0
    content = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert len(content["samples"]) == 100
    assert content["samples"][0]["C"] == "Infinity"
    assert content["schema"] == 2


@listed("suffix", ["md", "tex", "txt", "html"], quick=3)  # the demo writes HTML, too
def test_solve_writes_reports_by_suffix(iris_libsvm, tmp_path, suffix):
    path = tmp_path / f"report.{suffix}"
    assert run("solve", iris_libsvm, "--report", path).exit_code == 0
    assert "PASS" in path.read_text("utf-8")


def test_solve_report_has_the_trace_of_the_solve(iris_libsvm, tmp_path):
    path = tmp_path / "report.json"
    assert run("solve", iris_libsvm, "--backend", "osqp", "--report", path).exit_code == 0
    content = json.loads(path.read_text())
    stages = [event["stage"] for event in content["trace"]]
    assert stages[:2] == ["start", "solve"]
    assert stages[-1] == "done"
    assert content["trace"][-1]["residual"] == content["worst"]


def test_not_separable_exits_with_1(overlapping_libsvm, tmp_path):
    model = tmp_path / "m.npz"
    result = run("solve", overlapping_libsvm, "--family", "hard-margin", "--model", model)
    assert result.exit_code == 1
    assert "cannot be separated" in result.stderr
    assert not model.exists()


def test_tolerance_not_reached_exits_with_1(breast_csv, tmp_path):
    model = tmp_path / "m.npz"
    result = run(
        "solve", breast_csv, "--backend", "cvxopt", "--time-limit", "1e-4", "--model", model,
        "--report", tmp_path / "r.json",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    assert "did not reach" in result.stderr
    assert "Model not written" in result.stderr
    assert "FAIL" in result.stdout
    assert os.listdir(tmp_path) == ["r.json"]
    assert json.loads((tmp_path / "r.json").read_text())["passed"] is False


def test_broken_data_exit_with_2(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("a,b,y\n1,x,p\n")
    result = run("solve", path)
    assert result.exit_code == 2
    first, *columns = result.stderr.splitlines()
    assert first.endswith("bad.csv' cannot be used as it is: 1 of 3 columns needs a decision.")
    assert [line.split()[0] for line in columns] == ["'a'", "'b'", "->", "'y'", "For"]
    assert "line 2" in columns[1]
    assert "'x'" in columns[1]


def test_precomputed_kernel(tmp_path):
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "gram.npz"
    np.savez(path, X=X[:100] @ X[:100].T, y=y[:100])
    model = tmp_path / "m.npz"
    assert run("solve", path, "--kernel", "precomputed", "--model", model).exit_code == 0
    assert run("verify", model, path).exit_code == 0


# --- verify ----------------------------------------------------------------------------------


@pytest.fixture
def model(iris_libsvm, tmp_path):
    path = tmp_path / "model.npz"
    result = run("solve", iris_libsvm, "--kernel", "rbf", "--standardize", "--model", path)
    assert result.exit_code == 0, result.output
    return path


def test_verify_passes(model, iris_libsvm, tmp_path):
    result = run("verify", model, iris_libsvm, "--json", "--report", tmp_path / "r.txt")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["passed"] is True
    assert "predictions" in [check["name"] for check in content["checks"]]
    assert (tmp_path / "r.txt").exists()


def test_verify_fails_on_a_changed_model(model, iris_libsvm):
    with np.load(model) as archive:
        original = dict(archive)
    for name, array in original.items():
        # other scaling is other data, which is bad input; every other change is a failed check
        if name == "metadata" or array.dtype != np.float64 or array.size == 0:
            continue
        changed = array.copy()
        entry = np.unravel_index(np.argmax(np.abs(array)), array.shape)
        changed[entry] += 0.5 * max(1.0, abs(changed[entry]))
        np.savez(model, **{**original, name: changed})
        assert "SHA-256" in run("verify", model, iris_libsvm).stderr
        reseal(model, {**original, name: changed})
        result = run("verify", model, iris_libsvm)
        expected = 2 if name.startswith("scaling") else 1
        assert result.exit_code == expected, f"{name}: {result.output}"


def test_verify_refuses_other_data(model, breast_csv, overlapping_libsvm):
    for path in (breast_csv, overlapping_libsvm):
        result = run("verify", model, path)
        assert result.exit_code == 2
        assert "pass the" in result.stderr


# --- backends --------------------------------------------------------------------------------


def test_backends_lists_all():
    result = run("backends")
    assert result.exit_code == 0
    for info in qpsvm.backends.available():
        assert info.name in result.stdout
        if not info.installed:
            assert info.install_command in result.stdout
    assert CONTROL not in result.stdout


def test_backends_json():
    content = json.loads(run("backends", "--json", "--installed").stdout)
    assert {"cvxopt", "osqp", "cvxpy", "slsqp"} <= {entry["name"] for entry in content}
    assert all(entry["installed"] for entry in content)


# --- demo ------------------------------------------------------------------------------------


def demo(tmp_path, *arguments, page="demo.html"):
    """Run it on few samples; without the pictures of an HTML page it takes half the time."""
    return run("demo", "--samples", 60, "--report", tmp_path / page, *arguments)


@pytest.mark.exhaustive
def test_demo_with_every_backend(tmp_path):
    result = demo(tmp_path, "--verbose")
    assert result.exit_code == 0, result.output
    assert "FAIL" not in result.stdout
    assert "linear kernel: all objectives agree" in result.stdout
    assert "rbf kernel: all objectives agree" in result.stdout
    assert (tmp_path / "demo.html").stat().st_size > 100_000
    assert CONTROL not in result.output
    # every installed backend is a row, or named with the reason why not
    for info in qpsvm.backends.available():
        assert not info.installed or info.name in result.stdout


def test_demo_fits_eighty_columns(tmp_path):
    result = demo(tmp_path, "--backend", "cvxopt", page="demo.json")
    rows = [line for line in result.stdout.splitlines() if line.startswith("cvxopt")]
    assert len(rows) == 4
    assert max(len(row) for row in rows) <= 80


class Broken(qpsvm.backends.Backend):
    """Fails in a new way on every program."""

    name = "broken"
    licence = "none"
    distribution = "numpy"
    required_modules = ("numpy",)

    def _solve(self, program, settings):  # noqa: ARG002
        if program.P.prefers_sparse:
            raise UnsupportedProgramError("too odd for [bold]this[/bold] backend")
        raise ZeroDivisionError("a <b>crash</b>")


@pytest.mark.exhaustive
def test_demo_survives_a_broken_backend(tmp_path, monkeypatch):
    real = qpsvm.backends.registry.get
    monkeypatch.setattr(
        "qpsvm.backends.registry.get", lambda name: Broken() if name == "broken" else real(name)
    )
    monkeypatch.setattr(
        "qpsvm.backends.get", lambda name: Broken() if name == "broken" else real(name)
    )
    result = demo(tmp_path, "--backend", "broken", "--backend", "cvxopt")
    assert result.exit_code == 1
    assert "FAIL: broken, linear dual, rbf dual: " in result.stdout
    assert "ZeroDivisionError: a <b>crash</b>" in result.stdout
    assert "[bold]this[/bold]" in result.stdout
    page = (tmp_path / "demo.html").read_text()
    assert "a &lt;b&gt;crash&lt;/b&gt;" in page
    assert "<b>crash" not in page


def test_demo_fails_when_objectives_disagree(tmp_path, monkeypatch):
    strict = partial(reports.Comparison, agreement=1e-300)
    monkeypatch.setattr(reports, "Comparison", strict)
    result = demo(tmp_path, "--backend", "cvxopt", "--backend", "osqp", page="demo.json")
    assert result.exit_code == 1
    assert "DISAGREE" in result.stdout


def test_demo_without_the_report_packages(tmp_path, monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, package=None: None if name == "jinja2" else real(name, package),
    )
    result = demo(tmp_path, "--backend", "cvxopt")
    assert result.exit_code == 0
    assert 'pip install "qpsvm[report]"' in result.stderr
    assert "PASS at eps" in result.stdout
    assert os.listdir(tmp_path) == []


def test_demo_time_limit_is_said(tmp_path):
    result = run(
        "demo", "--backend", "slsqp", "--backend", "cvxopt", "--seconds", "0.001", "--samples",
        "200", "--report", tmp_path / "d.json",
    )  # fmt: skip
    assert "no answer within 0.001 s" in result.stdout
    content = json.loads((tmp_path / "d.json").read_text(), parse_constant=pytest.fail)
    jsonschema.validate(content, reports.schema())


def test_interrupt_exits_with_130(iris_libsvm, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(qpsvm, "solve", interrupt)
    result = run("solve", iris_libsvm, "--model", tmp_path / "m.npz")
    assert result.exit_code == 130
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "SVC", "{csv}", "--model", "{long}.npz"),
        ("fit", "SVC", "{csv}", "--report", "{long}.txt"),
        ("solve", "{csv}", "--model", "{long}.npz"),
        ("solve", "{csv}", "--report", "{long}.txt"),
        ("predict", "{model}", "{csv}", "--output", "{long}.csv"),
        ("verify", "{model}", "{csv}", "--report", "{long}.txt"),
        ("predict", "{long}.npz", "{csv}"),
        ("fit", "SVC", "{long}.csv"),
    ],
    ids=" ".join,
)
def test_names_that_are_too_long_are_refused_before_the_work(arguments, tmp_path):
    names = {"csv": tmp_path / "a.csv", "model": tmp_path / "m.npz", "long": tmp_path / (300 * "n")}
    names["csv"].write_text("a,y\n0,x\n1,x\n2,z\n3,z\n")
    if "{model}" in arguments:
        assert run("fit", "SVC", names["csv"], "--model", names["model"]).exit_code == 0
    before = sorted(tmp_path.iterdir())
    result = run(*(argument.format(**names) for argument in arguments))
    assert result.exit_code == 2
    assert "File name too long" in result.output
    assert sorted(tmp_path.iterdir()) == before


def test_names_as_long_as_they_may_be_are_written(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n0,x\n1,x\n2,z\n3,z\n")
    model = tmp_path / (251 * "n" + ".npz")
    assert run("fit", "SVC", tmp_path / "a.csv", "--model", model).exit_code == 0
    assert qpsvm.load(model).classes_.tolist() == ["x", "z"]


def test_labels_of_a_file_are_exact_from_fit_to_prediction(tmp_path):
    labels = [2**53, 2**53 + 1]
    data, model = tmp_path / "a.csv", tmp_path / "m.npz"
    data.write_text("a,id\n" + "".join(f"{k % 2 + k / 100},{labels[k % 2]}\n" for k in range(8)))
    assert run("fit", "SVC", data, "--model", model).exit_code == 0
    assert "100.00 %" in run("score", model, data).output
    predicted = run("predict", model, data, "--label", "id").stdout.splitlines()[1:]
    assert predicted == [str(labels[k % 2]) for k in range(8)]
