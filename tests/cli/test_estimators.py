"""``qpsvm fit``, ``predict`` and ``score``: every estimator, every format, every exit code."""

from __future__ import annotations

import csv
import inspect
import io
import json

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import dump_svmlight_file, make_blobs
from typer.testing import CliRunner

import qpsvm
from qpsvm import estimators
from qpsvm.cli import app
from qpsvm.cli.options import ESTIMATORS, HELP, LEFT_OUT, OTHER_NAMES

X, y = make_blobs(45, centers=3, cluster_std=1.5, random_state=0)
KINDS = np.array(["ant", "bee", "cat"])[y]
TARGETS = X @ [1.0, -2.0]
NAMES = ("height", "weight")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def passed(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def write_csv(path, columns):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*(np.asarray(c).tolist() for c in columns.values()), strict=True))
    return path


def features(samples=X):
    return dict(zip(NAMES, samples.T, strict=True))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same samples in every format, and with every kind of target."""
    folder = tmp_path_factory.mktemp("data")
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({**features(), "kind": KINDS}), folder / "kinds.parquet")
    dump_svmlight_file(X, y, str(folder / "kinds.libsvm"))
    np.savez(folder / "kinds.npz", X=X, y=KINDS)
    np.savez(folder / "bare.npz", X=X)
    write_csv(folder / "kinds.csv", {**features(), "kind": KINDS})
    write_csv(folder / "two.csv", {**features(X[y < 2]), "kind": KINDS[y < 2]})
    write_csv(folder / "targets.csv", {**features(), "target": TARGETS})
    write_csv(folder / "bare.csv", features())
    queries = [f"q{i % 3}" for i in range(len(X))]
    write_csv(folder / "ranks.csv", {"query": queries, **features(), "relevance": y})
    return folder


ARGUMENTS = {
    "SVC": ("kinds.csv", "--C", "10", "--gamma", "0.5", "--class-weight", "bee=2,ant=0.5"),
    "NuSVC": ("kinds.csv", "--nu", "0.3"),
    "LinearSVC": ("kinds.csv", "--loss", "hinge", "--no-fit-intercept"),
    "SVR": ("targets.csv", "--epsilon", "0.2", "--label", "target"),
    "NuSVR": ("targets.csv", "--kernel", "linear"),
    "LinearSVR": ("targets.csv", "--intercept-scaling", "inf"),
    "QuantileSVR": ("targets.csv", "--quantile", "0.9"),
    "OneClassSVM": ("bare.csv", "--nu", "0.2"),
    "SVDD": ("kinds.csv", "--nu", "0.2", "--label", "kind"),
    "SVMRanker": ("ranks.csv", "--groups", "query"),
}
EXPECTED = {
    "SVC": estimators.SVC(C=10.0, gamma=0.5, class_weight={"bee": 2.0, "ant": 0.5}),
    "NuSVC": estimators.NuSVC(nu=0.3),
    "LinearSVC": estimators.LinearSVC(loss="hinge", fit_intercept=False),
    "SVR": estimators.SVR(epsilon=0.2),
    "NuSVR": estimators.NuSVR(kernel="linear"),
    "LinearSVR": estimators.LinearSVR(intercept_scaling=np.inf),
    "QuantileSVR": estimators.QuantileSVR(quantile=0.9),
    "OneClassSVM": estimators.OneClassSVM(nu=0.2),
    "SVDD": estimators.SVDD(nu=0.2),
    "SVMRanker": estimators.SVMRanker(),
}


# --- options -------------------------------------------------------------------------------------


def test_every_estimator_has_a_command_and_every_parameter_a_help_text():
    assert sorted(ESTIMATORS) == sorted(estimators.__all__)
    assert all(name in run("fit", "--help").output for name in ESTIMATORS)
    known = set(HELP) | set(LEFT_OUT)
    for name in ESTIMATORS:
        assert set(inspect.signature(getattr(estimators, name)).parameters) <= known, name


def test_the_help_of_an_estimator_lists_its_parameters(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = run("fit", "QuantileSVR", "--help").output
    shown = {name for names in OTHER_NAMES.values() for name in names}
    for parameter in inspect.signature(estimators.QuantileSVR).parameters:
        option = f"--{parameter.replace('_', '-')}"
        assert (option in text) == (parameter not in LEFT_OUT or option in shown)


def test_tol_is_another_name_of_eps_here_too(files):
    data = files / ARGUMENTS["SVC"][0]
    assert "eps=0.001" in passed("fit", "SVC", data, "--tol", "1e-3").stdout


def test_poly_is_a_kernel_of_every_command(files):
    for command in (("fit", "SVC"), ("solve",)):
        assert "poly" in passed(*command, files / "two.csv", "--kernel", "poly").stdout


def test_labels_for_a_regression_name_the_classifier(files):
    found = run("fit", "SVR", files / ARGUMENTS["SVC"][0])
    assert found.exit_code == 2
    assert "such as SVC or SoftMargin" in found.output


def fitted(name):
    """The estimator that the command of the same name should fit, fitted in this process."""
    machine, data = EXPECTED[name], ARGUMENTS[name][0]
    target = {"kinds.csv": KINDS, "targets.csv": TARGETS, "ranks.csv": y}.get(data)
    groups = {"groups": [f"q{i % 3}" for i in range(len(X))]} if data == "ranks.csv" else {}
    return machine.fit(X, target, **groups)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fit_says_what_the_estimator_says(name, files):
    data, *options = ARGUMENTS[name]
    content = json.loads(passed("fit", name, files / data, *options, "--json").stdout)
    machine = fitted(name)
    assert content["estimator"] == repr(machine)
    assert content["certified"] is True
    assert content["relative_gap"] == machine.certificate_.relative_gap <= 1e-8
    assert (content["n_samples"], content["n_features"]) == X.shape
    assert 0 < content["n_support"] <= len(X)
    if hasattr(machine, "score") and name != "SVMRanker":
        expected = machine.score(X, KINDS if content["score_name"] == "accuracy" else TARGETS)
        assert content["score"] == pytest.approx(expected, rel=1e-12)


def test_fit_prints_certificate_and_training_score(files):
    text = passed("fit", "SVC", files / "kinds.csv", "--C", "10").stdout
    assert "PASS certified optimal at eps=1e-08: the objective is within" in text
    assert "Training accuracy: " in text
    assert "Support vectors: " in text


@pytest.mark.parametrize("format", ["csv", "libsvm", "npz", "parquet"])
def test_formats_hold_the_same_samples(format, files):
    result = passed("fit", "SVC", files / f"kinds.{format}", "--json")
    expected = estimators.SVC().fit(X, y)
    assert json.loads(result.stdout)["score"] == expected.score(X, y)


def test_what_is_not_certified_exits_with_1(files, tmp_path):
    result = run(
        "fit", "SVC", files / "two.csv", "--eps", "1e-20", "--standardize", "--model",
        tmp_path / "m.npz",
    )  # fmt: skip
    assert result.exit_code == 1
    assert "FAIL not certified at eps=1e-20" in result.stdout
    assert "Warning: SVC is not certified" in result.stderr
    assert "Model not written" in result.stderr
    assert not (tmp_path / "m.npz").exists()


def test_fit_writes_a_report(files, tmp_path):
    passed("fit", "SVC", files / "kinds.csv", "--report", tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["passed"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["SVC", "kinds.csv", "--gamma", "wide"], "gamma is 'wide'"),
        (["SVC", "kinds.csv", "--class-weight", "bee"], "'bee'"),
        (["SVC", "kinds.csv", "--class-weight", "Bee=10"], "the class 'Bee', the data have ['ant'"),
        (["LinearSVC", "kinds.npz", "--class-weight", "1=10"], "the class '1', the data have"),
        (["NuSVC", "kinds.libsvm", "--class-weight", "3=10"], "the class '3', the data have [0, 1"),
        (["SVC", "kinds.csv", "--class-weight", "bee=2,bee=3"], "a label twice"),
        (["SVC", "kinds.csv", "--kernel", "magic"], "kernel is 'magic'"),
        (["SVC", "kinds.csv", "--C", "-1"], "C"),
        (["SVC", "kinds.csv", "--groups", "kind"], "SVC has no groups"),
        (["SVC", "kinds.csv", "--verbose", "--json"], "spoil the JSON"),
        (["SVC", "kinds.csv", "--quantile", "0.5"], "quantile"),
        (["SVC", "kinds.csv", "--report", "r.pdf"], "pdf"),
        (["SVC", "kinds.csv", "--label", "color"], "no column named 'color'"),
        (["SVC", "no.csv"], "No such file"),
        (["SVR", "kinds.csv"], "numbers"),
        (["SVX", "kinds.csv"], "SVX"),
    ],
)
def test_wrong_arguments_exit_with_2(arguments, message, files):
    name, data, *options = arguments
    result = run("fit", name, files / data, *options)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output


# --- model files ---------------------------------------------------------------------------------


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_scaled_models_scale_what_they_predict(files, tmp_path):
    model, data = tmp_path / "m.npz", files / "two.csv"
    passed("fit", "SVC", data, "--standardize", "--model", model)
    scale = X[y < 2].mean(axis=0), X[y < 2].std(axis=0)
    machine = estimators.SVC().fit((X[y < 2] - scale[0]) / scale[1], KINDS[y < 2])
    expected = machine.predict((X - scale[0]) / scale[1])
    # the samples of three classes, of which the label column is left out by its name
    text = passed("predict", model, files / "kinds.csv", "--label", "kind").stdout
    assert [row["prediction"] for row in rows(text)] == expected.tolist()
    assert "Accuracy: " in passed("score", model, data).stdout
    assert run("verify", model, data).exit_code == 0


def test_certified_predictions_of_a_scaled_model(files, tmp_path):
    model, data = tmp_path / "m.npz", files / "two.csv"
    passed("fit", "SVC", data, "--standardize", "--model", model)
    out = tmp_path / "out.csv"
    passed("predict", model, files / "bare.csv", "--certified", "--training", data, "--output", out)
    proven = rows(out.read_text())
    plain = rows(passed("predict", model, files / "bare.csv").stdout)
    assert [row["prediction"] for row in proven] == [row["prediction"] for row in plain]
    assert {row["certified"] for row in proven} == {"True"}
    other = run("predict", model, files / "bare.csv", "--certified", "--training",
                files / "kinds.csv")  # fmt: skip
    assert other.exit_code == 2
    assert "pass the training data" in other.stderr


@pytest.mark.parametrize("name", ESTIMATORS)
def test_models_of_every_estimator_predict_score_and_prove(name, files, tmp_path):
    data, *options = ARGUMENTS[name]
    model, machine = tmp_path / "m.npz", fitted(name)
    passed("fit", name, files / data, *options, "--model", model)
    plain = rows(passed("predict", model, files / "bare.csv").stdout)
    assert [row["prediction"] for row in plain] == [str(v) for v in machine.predict(X).tolist()]
    groups = ["--groups", "query"] if name == "SVMRanker" else []
    label = [] if name == "OneClassSVM" else ["--label", -1]
    result = passed("score", model, files / data, *groups, *label, "--json")
    fit = json.loads(passed("fit", name, files / data, *options, "--json").stdout)
    assert json.loads(result.stdout)["score"] == fit["score"]
    training = ["--training", files / data]
    training += ["--training-groups", "query"] if groups else []
    training += ["--training-label", "kind"] if name == "SVDD" else []
    proven = rows(passed("predict", model, files / "bare.csv", "--certified", *training).stdout)
    found = machine.predict_certified(X)
    if hasattr(found, "decided"):
        assert [row["certified"] for row in proven] == [str(v) for v in found.decided.tolist()]
    else:
        assert all(float(r["lower"]) <= float(r["prediction"]) <= float(r["upper"]) for r in proven)


@pytest.mark.parametrize(
    "scaling",
    [["--standardize"], []],
    ids=["scaled", "plain"],
)
def test_columns_are_found_by_their_names(scaling, files, tmp_path):
    model = tmp_path / "m.npz"
    passed("fit", "SVC", files / "two.csv", *scaling, "--model", model)
    weight, height = X[:, 1], X[:, 0]
    swapped = write_csv(
        tmp_path / "swapped.csv", {"weight": weight, "age": np.ones(len(X)), "height": height}
    )
    text = passed("predict", model, swapped).stdout
    assert text == passed("predict", model, files / "bare.csv").stdout
    result = run(
        "predict", model, write_csv(tmp_path / "less.csv", {"height": height, "a": weight})
    )
    assert result.exit_code == 2
    assert "has no column 'weight'" in result.stderr


def test_features_that_a_libsvm_file_lacks_are_zero(tmp_path):
    train, test, model = (tmp_path / name for name in ("a.libsvm", "b.libsvm", "m.npz"))
    train.write_text("1 1:1 2:1\n1 1:2 2:1\n-1 1:-1\n-1 1:-2\n")
    test.write_text("0 1:3\n0 1:-3\n")
    passed("fit", "SVC", train, "--kernel", "linear", "--standardize", "--model", model)
    assert [row["prediction"] for row in rows(passed("predict", model, test).stdout)] == ["1", "-1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["bare.csv", "--certified"], "--training"),
        (["bare.csv", "--training", "two.csv"], "pass both or neither"),
        (["targets.csv", "--output", "no/folder.csv"], "folder"),
        (["bare.npz", "--label", "kind"], "leave it out"),
    ],
)
def test_wrong_options_of_predict_exit_with_2(options, message, files, tmp_path):
    model, (data, *rest) = tmp_path / "m.npz", options
    passed("fit", "SVC", files / "two.csv", "--standardize", "--model", model)
    rest = [files / word if word == "two.csv" else word for word in rest]
    result = run("predict", model, files / data, *rest)
    assert result.exit_code == 2, result.output
    assert message in result.stderr


def test_labels_of_another_type_are_refused(files, tmp_path):
    model = tmp_path / "m.npz"
    passed("fit", "SVC", files / "two.csv", "--standardize", "--model", model)
    result = run("score", model, files / "kinds.libsvm")
    assert result.exit_code == 2
    assert "string and number" in result.stderr


def test_without_names_the_label_column_of_the_training_data_is_left_out(tmp_path):
    train, bare, wide = (tmp_path / f"{name}.csv" for name in ("train", "bare", "wide"))
    model = tmp_path / "m.npz"
    train.write_text("1,2,0\n3,4,1\n5,7,1\n")
    bare.write_text("1,2\n3,4\n5,7\n")
    wide.write_text("1,2,3,0\n3,4,3,1\n")
    passed("fit", "SVC", train, "--no-header", "--standardize", "--model", model)
    text = passed("predict", model, train, "--no-header").stdout
    assert len(rows(text)) == 3
    assert text == passed("predict", model, bare, "--no-header").stdout
    assert text == passed("predict", model, train, "--no-header", "--label", 2).stdout
    result = run("predict", model, wide, "--no-header")
    assert result.exit_code == 2
    assert "4 features, the model was trained with 2; name the column of the label" in result.stderr


# --- pickles -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["joblib", "pkl", "pickle"])
@pytest.mark.parametrize("data", [[], ["train data.csv"]])
def test_pickles_are_not_read_but_the_way_is_shown(suffix, data, tmp_path):
    model = tmp_path / f"it's a model.{suffix}"
    model.write_bytes(b"never read")
    result = run("audit", model, *data)
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert "pickle" in lines[0]
    program = "\n".join(line.strip() for line in lines[1:])
    compile(program, "shown", "exec")
    assert repr(str(model)) in program
    assert "qpsvm.audit(model, data.X, data.y)" in program


def test_the_lines_for_a_pickle_work(files, tmp_path, capsys):
    import joblib

    model = tmp_path / "model.joblib"
    joblib.dump(svm.SVC().fit(X, KINDS), model)
    lines = run("audit", model, files / "kinds.csv").stderr.splitlines()[1:]
    exec("\n".join(line.strip() for line in lines))
    assert "training predictions" in capsys.readouterr().out


def test_audit_asks_for_the_data(tmp_path):
    result = run("audit", tmp_path / "model.npz")
    assert result.exit_code == 2
    assert "data file" in result.stderr


# --- names and numbering -------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", [[], ["--standardize"]], ids=["as it is", "standardised"])
@pytest.mark.parametrize("zero_based", [True, False])
def test_a_libsvm_file_is_counted_as_the_training_data(zero_based, scaling, tmp_path):
    """Also one that lacks the first and the last feature, and so could be counted either way."""
    samples = np.column_stack([X, X[:, ::-1] ** 2])
    model, train, test = (tmp_path / name for name in ("m.npz", "train.svm", "test.svm"))
    dump_svmlight_file(samples, y, str(train), zero_based=zero_based)
    passed("fit", "SVC", train, "--model", model, *scaling)
    assert run("verify", model, train).exit_code == 0
    assert run("audit", model, train).exit_code == 0
    others = samples * [0.0, 1.0, 1.0, 0.0]
    expected = qpsvm.load(model).predict(others).tolist()
    dump_svmlight_file(others, y, str(test), zero_based=zero_based)
    found = rows(passed("predict", model, test, "--certified", "--training", train).stdout)
    assert [int(row["prediction"]) for row in found] == expected
    dump_svmlight_file(others, y, str(test), zero_based=not zero_based)
    option = "--one-based" if zero_based else "--zero-based"
    assert [int(r["prediction"]) for r in rows(passed("predict", model, test, option).stdout)] == (
        expected
    )
    dump_svmlight_file(samples, y, str(test), zero_based=not zero_based)
    for command in ("predict", "score"):
        refused = run(command, model, test)
        assert refused.exit_code == 2
        assert f"line 1 has the index {4 if zero_based else 0}" in refused.stderr
    assert passed("score", model, test, option).stdout == passed("score", model, train).stdout


def test_a_libsvm_file_for_a_model_of_another_format_is_asked_for(files, tmp_path):
    model, data = tmp_path / "m.npz", tmp_path / "a.svm"
    passed("fit", "SVC", files / "kinds.npz", "--model", model)
    passed("predict", model, files / "kinds.libsvm")  # it has an index 0
    data.write_text("1 1:0.5\n")
    asked = run("predict", model, data)
    assert asked.exit_code == 2
    assert "--zero-based or --one-based" in asked.stderr
    for option, column in (("--zero-based", 1), ("--one-based", 0)):
        sample = np.zeros((1, 2))
        sample[0, column] = 0.5
        text = passed("predict", model, data, option).stdout
        assert rows(text)[0]["prediction"] == qpsvm.load(model).predict(sample)[0]


def test_a_libsvm_file_may_lack_the_last_features_of_its_model(tmp_path):
    train, model, test = (tmp_path / name for name in ("train.svm", "m.npz", "test.svm"))
    dump_svmlight_file(X, y, str(train), zero_based=False)
    test.write_text("0 1:0.5 5:1\n")
    passed("fit", "SVC", train, "--model", model)
    refused = run("predict", model, test)
    assert refused.exit_code == 2
    assert "line 1 has the index 5, and the last of 2 features" in refused.stderr
    passed("fit", "SVC", train, "--n-features", 5, "--one-based", "--model", model)
    assert len(rows(passed("predict", model, test).stdout)) == 1


def test_names_of_a_model_are_found_in_a_header(tmp_path):
    model, train, new = (tmp_path / name for name in ("m.npz", "train.csv", "new.csv"))
    write_csv(train, {"0": X[:, 0], "1": X[:, 1], "2": y})
    asked = run("fit", "SVC", train)
    assert asked.exit_code == 2
    assert "--header or --no-header" in asked.stderr
    passed("fit", "SVC", train, "--header", "--model", model)
    write_csv(new, {"1": X[:, 1], "0": X[:, 0]})
    expected = [str(label) for label in estimators.SVC().fit(X, y).predict(X).tolist()]
    proven = ("--certified", "--training", train)
    found = rows(passed("predict", model, new, *proven).stdout)
    assert [row["prediction"] for row in found] == expected
    new.write_text("1.5,2.5\n2.5,1.5\n")
    refused = run("predict", model, new)
    assert refused.exit_code == 2
    assert "--no-header" in refused.stderr
    assert len(rows(passed("predict", model, new, "--no-header").stdout)) == 2


def test_training_data_without_a_header_are_read_with_the_same_answer(tmp_path):
    model, train = tmp_path / "m.npz", tmp_path / "train.csv"
    train.write_text("".join(f"{i},{i * i},{i % 2}\n" for i in range(2, 20)))
    assert "may be a header or a sample" in run("fit", "SVC", train).stderr
    passed("fit", "SVC", train, "--no-header", "--model", model)
    for command in ("audit", "score", "predict"):
        assert "--header or --no-header" in run(command, model, train).stderr
    assert run("audit", model, train, "--no-header").exit_code == 0
    passed("predict", model, train, "--no-header", "--label", 2, "--certified", "--training", train)


@pytest.mark.parametrize("label", ["a,a,c,label", ",a,c,label", "Unnamed: 0,a,c,label"])
def test_features_without_a_name_of_their_own_exit_with_2(label, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{label}\n1,2,3,yes\n2,2,1,no\n0,2,4,no\n")
    result = run("fit", "SVC", path)
    assert result.exit_code == 2
    assert "line 1" in result.stderr
