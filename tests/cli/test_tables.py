"""One's own table on the command line: what is asked, what is carried, what predictions need."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from qpsvm import datasets
from qpsvm.cli import app
from qpsvm.cli.options import columns_of
from qpsvm.estimators import SVC

CITIES = ("Lima", "New York, NY", "São Paulo")
CHOSEN = ["--id", "customer", "--drop", "joined", "--categorical", "city", "--missing", "median"]


def run(*arguments: object, input: str | None = None) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)


def passed(*arguments: object, input: str | None = None) -> Any:
    result = run(*arguments, input=input)
    assert result.exit_code == 0, result.output
    return result


def table(n: int = 40) -> dict[str, list[str]]:
    """Customers with every kind of column; some ages are missing."""
    rng = np.random.default_rng(0)
    ages = rng.integers(18, 80, n)
    return {
        "customer": [f"C{i:03d}" for i in range(n)],
        "joined": [f"2024-01-{i % 28 + 1:02d}" for i in range(n)],
        "city": rng.choice(CITIES, n).tolist(),
        "age": ["" if i % 9 == 4 else str(age) for i, age in enumerate(ages)],
        "member": rng.choice(["True", "False"], n).tolist(),
        "churn": np.where(ages + rng.normal(0, 9, n) > 49, "yes", "no").tolist(),
    }


def text_of(columns: dict[str, list[str]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return stream.getvalue()


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """A table, and a model that was fitted to it."""
    folder: Path = tmp_path_factory.mktemp("customers")
    (folder / "customers.csv").write_text(text_of(table()), encoding="utf-8")
    passed("fit", "SVC", folder / "customers.csv", "--label", "churn", *CHOSEN, "--standardize",
           "--model", folder / "m.npz")  # fmt: skip
    return folder


def test_one_run_lists_all_columns_and_its_example_is_enough(folder: Path) -> None:
    command = ["fit", "SVC", folder / "customers.csv", "--label", "churn", "--standardize"]
    result = run(*command)
    assert result.exit_code == 2
    first, *lines = result.stderr.splitlines()
    assert "4 of 6 columns need a decision" in first
    assert [line.split()[0] for line in lines if line.startswith("  '")] == [
        repr(name) for name in table()
    ]
    example = lines[-1].removeprefix("For example: ")
    assert shlex.split(example) == CHOSEN
    passed(*command, *shlex.split(example))


def test_fit_says_what_became_of_the_columns(folder: Path) -> None:
    options = ["--label", "churn", *CHOSEN[:-1], "drop", "--standardize"]
    text = passed("fit", "SVC", folder / "customers.csv", *options).stdout
    assert (
        "Columns: 1 of numbers; categories: city; truth values as 1 and 0: member; carried into "
        "predictions: customer; left out: joined"
    ) in text
    assert "Rows: 4 of 40 left out, because a value is missing" in text
    content = json.loads(passed("fit", "SVC", folder / "customers.csv", *options, "--json").stdout)
    assert (content["n_samples"], content["n_rows"], content["n_features"]) == (36, 40, 5)
    assert content["columns"][2] == {"name": "city", "kind": "categories", "role": "feature"}


@pytest.mark.parametrize("scaling", [["--standardize"], []], ids=["scaled", "plain"])
@pytest.mark.parametrize("missing", ["median", "drop"])
def test_predictions_are_those_of_the_library(
    missing: str, scaling: list[str], folder: Path, tmp_path: Path
) -> None:
    file, model = folder / "customers.csv", tmp_path / "m.npz"
    options = [*CHOSEN[:-1], missing, "--label", "churn", "--kernel", "linear", *scaling]
    passed("fit", "SVC", file, *options, "--model", model)
    data = datasets.load(file, label="churn", id="customer", drop="joined", categorical="city",
                         missing=missing)  # fmt: skip
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0) if scaling else data.X
    expected = SVC(kernel="linear").fit(X, data.y)
    found = rows(passed("predict", model, file).stdout)
    assert [row["customer"] for row in found] == table()["customer"]
    assert data.rows is not None
    assert [found[i]["prediction"] for i in data.rows] == expected.predict(X).tolist()
    assert {row["prediction"] for i, row in enumerate(found) if i not in data.rows} <= {""}
    content = json.loads(passed("score", model, file, "--json").stdout)
    assert content["score"] == expected.score(X, data.y)
    assert content["n_samples"] == len(X)
    proven = rows(passed("predict", model, file, "--certified", "--training", file).stdout)
    assert [row["prediction"] for row in proven] == [row["prediction"] for row in found]


def test_predict_and_score_ask_only_for_what_the_model_uses(folder: Path, tmp_path: Path) -> None:
    whole = rows(passed("predict", folder / "m.npz", folder / "customers.csv").stdout)
    columns = table()
    used = {name: columns[name] for name in ("member", "age", "city")}
    more = {"note": ["text, more"] * 40, **used, "churn": columns["churn"]}
    for name, given in (("used", used), ("more", more)):
        path = tmp_path / f"{name}.csv"
        path.write_text(text_of(given), encoding="utf-8")
        found = rows(passed("predict", folder / "m.npz", path).stdout)
        assert found == [{"prediction": row["prediction"]} for row in whole]
    # the label is found by its name, wherever it stands
    first = tmp_path / "first.csv"
    first.write_text(text_of({"churn": columns["churn"], **columns}), encoding="utf-8")
    one, other = (
        passed("score", folder / "m.npz", path).stdout
        for path in (folder / "customers.csv", tmp_path / "more.csv")
    )
    assert one == other
    result = run("score", folder / "m.npz", tmp_path / "used.csv")
    assert result.exit_code == 2
    assert "has no column of labels 'churn'" in result.stderr
    path = tmp_path / "less.csv"
    path.write_text(text_of({"city": columns["city"]}), encoding="utf-8")
    result = run("predict", folder / "m.npz", path)
    assert result.exit_code == 2
    assert "has no columns 'age', 'member', which the model was trained with" in result.stderr


def test_unknown_values_are_named(folder: Path, tmp_path: Path) -> None:
    columns = table(5) | {"city": ["Lima", "Oslo", "Rome", "Oslo", "Lima"]}
    path = tmp_path / "new.csv"
    path.write_text(text_of(columns), encoding="utf-8")
    result = run("predict", folder / "m.npz", path)
    assert result.exit_code == 2
    assert "'city': line 3 (and 2 other rows) is 'Oslo' or 'Rome'" in result.stderr


def test_standard_input(folder: Path) -> None:
    text = (folder / "customers.csv").read_text(encoding="utf-8")
    options = ["--label", "churn", *CHOSEN, "--standardize"]
    one = passed("fit", "SVC", "-", *options, input=text).stdout.splitlines()
    other = passed("fit", "SVC", folder / "customers.csv", *options).stdout.splitlines()
    assert "standard input, standardised" in one[1]
    assert [one[0], *one[2:]] == [other[0], *other[2:]]
    predicted = passed("predict", folder / "m.npz", "-", input=text).stdout
    assert predicted == passed("predict", folder / "m.npz", folder / "customers.csv").stdout
    result = run("fit", "SVC", "-", "--format", "npz", input=text)
    assert result.exit_code == 2
    assert "is read as CSV, not as npz" in result.stderr


def test_decimal_commas(tmp_path: Path) -> None:
    path, model = tmp_path / "de.csv", tmp_path / "m.npz"
    path.write_text("a;b;y\n1,5;2;u\n2,5;3;u\n-4,5;3,5;v\n-1,5;2,5;v\n")
    result = run("fit", "SVC", path)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "For example: --decimal ,"
    passed("fit", "SVC", path, "--decimal", ",", "--model", model)
    assert [row["prediction"] for row in rows(passed("predict", model, path).stdout)] == list(
        "uuvv"
    )
    point = tmp_path / "point.csv"
    point.write_text("a,b\n1.5,2\n")
    assert run("predict", model, point).exit_code == 2
    assert len(rows(passed("predict", model, point, "--decimal", ".").stdout)) == 1


def test_decimal_commas_of_the_targets_alone(tmp_path: Path) -> None:
    """Commas are part of a class, but not of a number to predict."""
    path = tmp_path / "de.csv"
    path.write_text("a;y\n1;0,5\n2;1,5\n3;2,5\n4;4,0\n")
    result = run("fit", "SVR", path)
    assert result.exit_code == 2
    assert "with decimal=',' (--decimal ,)" in " ".join(result.stderr.split())
    passed("fit", "SVR", path, "--decimal", ",")


def test_identifiers_can_be_named_at_prediction(folder: Path) -> None:
    file = folder / "customers.csv"
    found = rows(passed("predict", folder / "m.npz", file, "--id", "joined,customer").stdout)
    assert list(found[0]) == ["joined", "customer", "prediction"]


def test_solve_and_verify_take_tables(folder: Path, tmp_path: Path) -> None:
    file, model = folder / "customers.csv", tmp_path / "m.npz"
    options = ["--label", "churn", *CHOSEN, "--standardize", "--model", model]
    passed("solve", file, *options)
    passed("verify", model, file)
    assert len(rows(passed("predict", model, file).stdout)) == 40


def test_columns_are_separated_by_commas() -> None:
    assert columns_of(None) == ()
    assert columns_of(["a, b", '"c, d",e', "f"]) == ("a", "b", "c, d", "e", "f")
