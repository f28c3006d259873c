"""Preparations of tables: what is learnt, what is stored, and what other tables become by it."""

from __future__ import annotations

import csv
import io
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

import qpsvm
from qpsvm import datasets, models
from qpsvm.estimators import SVC
from qpsvm.exceptions import (
    DataFileError,
    InvalidDataError,
    InvalidParameterError,
    ModelFileError,
    UnreadyColumnsError,
)
from qpsvm.models.plain import from_value, to_value
from qpsvm.tables import CategoryColumn, NumberColumn, Preparation
from tests.strategies import examples

TEXT = """id,joined,city,age,income,member,churn
C1,2024-01-05,Lima,30,1000.5,True,no
C2,2024-02-05,Paris,,2000.25,False,yes
C3,2024-03-05,"New York, NY",50,1500,True,no
C4,2024-04-05,Paris,41,1700,False,yes
"""
CHOSEN: dict[str, Any] = {
    "label": "churn",
    "id": "id",
    "drop": "joined",
    "categorical": "city",
    "missing": "median",
}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "customers.csv", TEXT)


# --- what is the matter --------------------------------------------------------------------------


def test_all_columns_are_listed_at_once(file: Path) -> None:
    with pytest.raises(UnreadyColumnsError) as caught:
        datasets.load(file, label="churn")
    for message in (str(caught.value), caught.value.on_command_line):
        assert "4 of 7 columns need a decision" in message
        for name in ("id", "joined", "city", "age", "income", "member", "churn"):
            assert f"  '{name}'" in message
        for piece in ("dates, such as '2024-01-05'", "1 of 4 cells are missing", "line 3"):
            assert piece in message
    assert "--missing median" in caught.value.on_command_line
    assert "drop=['joined']" in str(caught.value)


def options_of(example: str) -> dict[str, Any]:
    """The arguments in the last line of a message."""
    return dict(eval(f"dict({example.removeprefix('For example: ')})"))


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_what_a_message_proposes_is_enough(data: Any, tmp_path_factory: Any) -> None:
    """The example at its end reads the file: no column needs a second run."""
    n = data.draw(st.integers(2, 12), "rows")
    kinds = {
        "number": st.integers(-5, 5).map(str),
        "text": st.sampled_from(["red", "green, dark", 'say "blue"', ""]),
        "name": st.text(string.ascii_letters, min_size=5, max_size=8),
        "date": st.dates().map(str),
        "truth": st.sampled_from(["True", "false", ""]),
        "gap": st.sampled_from(["1", "2.5", "", "NA"]),
        "none": st.just(""),
    }
    drawn = data.draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=6), "columns")
    columns = {"first": [str(i) for i in range(n)]}
    for i, kind in enumerate(drawn):
        cells = st.lists(kinds[kind], min_size=n, max_size=n)
        columns[f"{kind}, {i}"] = data.draw(cells, kind)
    columns["y"] = [
        "a",
        *data.draw(st.lists(st.sampled_from("ab"), min_size=n - 1, max_size=n - 1)),
    ]
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    path = write(tmp_path_factory.mktemp("t") / "t.csv", stream.getvalue())
    options: dict[str, Any] = {}
    try:
        datasets.load(path, label="y")
    except UnreadyColumnsError as error:
        options = options_of(str(error).splitlines()[-1])
    found = datasets.load(path, label="y", **options)
    assert np.isfinite(found.X).all()
    assert len(found.X) == n
    again = datasets.load(path, preparation=found.preparation)
    assert np.array_equal(again.X, found.X)


def test_without_names_a_message_proposes_positions(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "1,red,2,0\n2,blue,3,1\n3,red,4,0\n4,blue,5,1\n")
    with pytest.raises(UnreadyColumnsError, match=r"'column 1'") as caught:
        datasets.load(path, header=False)
    assert caught.value.on_command_line.endswith("For example: --categorical 1")
    found = datasets.load(path, header=False, **options_of(str(caught.value).splitlines()[-1]))
    assert found.X.shape == (4, 4)


def test_a_mistake_among_numbers_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,y\n1,0\n2,1\nthree,0\n4,1\n")
    with pytest.raises(UnreadyColumnsError, match=r"line 4 is 'three', which is not a number"):
        datasets.load(path)


def test_integers_that_would_be_rounded_may_be_identifiers_or_categories(tmp_path: Path) -> None:
    big = 2**53
    path = write(tmp_path / "a.csv", f"a,key,y\n1,{big},0\n2,{big + 1},1\n")
    with pytest.raises(
        UnreadyColumnsError, match=rf"line 3, column 'key' is {big + 1}, an integer"
    ):
        datasets.load(path)
    assert datasets.load(path, id="key").ids == {"key": [str(big), str(big + 1)]}
    found = datasets.load(path, categorical="key")
    assert found.feature_names == ("a", f"key={big}", f"key={big + 1}")
    assert found.X[:, 1:].tolist() == [[1.0, 0.0], [0.0, 1.0]]


# --- what is learnt ------------------------------------------------------------------------------


def test_features_are_those_of_scikit_learn(file: Path) -> None:
    data = datasets.load(file, **CHOSEN)
    cities = np.array([["Lima"], ["Paris"], ["New York, NY"], ["Paris"]])
    assert np.array_equal(data.X[:, :3], OneHotEncoder(sparse_output=False).fit_transform(cities))
    assert data.X[:, 3].tolist() == [30.0, 41.0, 50.0, 41.0]  # the median of 30, 50 and 41
    assert data.X[:, 5].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert data.feature_names == (
        "city=Lima", "city=New York, NY", "city=Paris", "age", "income", "member"
    )  # fmt: skip
    assert data.y is not None
    assert data.y.tolist() == ["no", "yes", "no", "yes"]
    assert data.ids == {"id": ["C1", "C2", "C3", "C4"]}
    assert data.columns is not None
    assert [(c.name, c.kind, c.role) for c in data.columns] == [
        ("id", "texts", "id"),
        ("joined", "dates", "left out"),
        ("city", "categories", "feature"),
        ("age", "numbers", "feature"),
        ("income", "numbers", "feature"),
        ("member", "truth values", "feature"),
        ("churn", "texts", "label"),
    ]


@pytest.mark.parametrize("seed", range(5))
def test_gaps_are_filled_as_scikit_learn_does(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    n = 20 + seed  # medians of odd and even numbers of cells
    ages = np.where(rng.random(n) < 0.3, np.nan, np.round(rng.normal(size=n), 3))
    cities = rng.choice(["", "b", "a", "\u00e9", "Z"], size=n).astype(object)
    cities[:4] = ["b", "a", "b", "a"]
    numbers = ["" if np.isnan(age) else str(age) for age in ages]
    rows = enumerate(zip(cities, numbers, strict=True))
    lines = [f"{city},{age},{i % 2}" for i, (city, age) in rows]
    path = write(tmp_path / "a.csv", "\n".join(["city,age,y", *lines]))
    found = datasets.load(path, categorical="city", missing="median").X
    frequent = SimpleImputer(strategy="most_frequent", missing_values="")
    filled = frequent.fit_transform(cities[:, None])
    assert np.array_equal(found[:, :-1], OneHotEncoder(sparse_output=False).fit_transform(filled))
    medians = SimpleImputer(strategy="median").fit_transform(ages[:, None])
    assert np.array_equal(found[:, -1:], medians)


def test_rows_with_gaps_are_left_out_and_counted(file: Path) -> None:
    data = datasets.load(file, **CHOSEN | {"missing": "drop"})
    assert data.rows is not None
    assert (data.rows.tolist(), data.n_rows) == ([0, 2, 3], 4)
    assert data.X[:, 3].tolist() == [30.0, 50.0, 41.0]
    assert data.ids["id"] == ["C1", "C2", "C3", "C4"]


def test_a_gap_in_the_label_leaves_a_row_out_or_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,y\n1,7\n2,\n3,9\n")
    with pytest.raises(UnreadyColumnsError, match=r"'y'.*missing.*line 3"):
        datasets.load(path)
    with pytest.raises(UnreadyColumnsError, match=r"'y'.*missing.*line 3"):
        datasets.load(path, missing="median")
    y = datasets.load(path, missing="drop").y
    assert y is not None
    assert y.tolist() == [7, 9]
    path = write(tmp_path / "a.csv", "a,y,\n1,7,\n2,8,\n")
    with pytest.raises(
        UnreadyColumnsError, match=r"'column 2'  the label.*\n.*name another column"
    ):
        datasets.load(path)


@pytest.mark.parametrize(
    ("one", "other", "gap"), [("0", "1", "NA"), ("1.5", "-2", "nan"), ("True", "False", "?")]
)
def test_beside_numbers_na_is_no_label(tmp_path: Path, one: str, other: str, gap: str) -> None:
    """Not a class of its own; in groups neither."""
    rows = f"1,1,{one}", f"2,2,{gap}", f"3,{gap},{other}", f"4,1,{other}"
    path = write(tmp_path / "a.csv", "\n".join(["a,g,y", *rows]))
    with pytest.raises(UnreadyColumnsError) as caught:
        datasets.load(path, groups="g")
    for place in "line 4", "line 3":
        assert f"1 of 4 cells are missing, the first in {place} ({gap!r})" in str(caught.value)
    data = datasets.load(path, groups="g", missing="drop")
    whole = datasets.load(write(path, f"a,y\n1,{one}\n2,{other}\n"))
    assert data.y is not None
    assert whole.y is not None
    assert data.groups is not None
    assert (data.groups.tolist(), data.y.tolist()) == ([1, 1], whole.y.tolist())
    write(path, f"a,y\n1,{one}\n2,{gap}\n")
    with pytest.raises(UnreadyColumnsError, match="line 3, column 'y' is missing"):
        datasets.load(path, preparation=whole.preparation)


def test_beside_texts_na_is_a_label(tmp_path: Path) -> None:
    y = datasets.load(write(tmp_path / "a.csv", "a,y\n1,EU\n2,NA\n")).y
    assert y is not None
    assert y.tolist() == ["EU", "NA"]


def test_labels_are_finite(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,y\n1,2\n2,inf\n")
    with pytest.raises(InvalidDataError, match=r"label or group of sample 1 .* is inf"):
        datasets.load(path)


def test_a_repeated_name_is_not_taken_for_the_label_of_the_training_data(tmp_path: Path) -> None:
    """Nor for its groups and identifiers: the first column of the name may be another one."""
    path = write(tmp_path / "a.csv", "y,a,k,k,y\n0,1,3,5,1\n1,2,4,6,0\n")
    known = datasets.load(path, label=-1, features="a", id=3).preparation
    with pytest.raises(InvalidDataError, match=r"2 columns named 'y', as the label .*: -5 or -1"):
        datasets.load(path, preparation=known, id=3)
    with pytest.raises(InvalidDataError, match=r"2 columns named 'k', as the id .*: -3 or -2"):
        datasets.load(path, preparation=known, label=-1)
    data = datasets.load(path, preparation=known, label=-1, id=-2)
    assert data.y is not None
    assert (data.y.tolist(), data.ids) == ([1, 0], {"k": ["5", "6"]})
    assert datasets.load(path, preparation=known, id=3, labelled=False).X.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("column", [True, 1.7, ["y"], "0_2"])
def test_a_column_is_a_name_or_a_position(tmp_path: Path, column: Any) -> None:
    path = write(tmp_path / "a.csv", "a,b,y\n1,2,3\n4,5,6\n")
    for role in ("label", "groups"):
        with pytest.raises(
            InvalidParameterError, match=r"label has|groups has|no column named '0_2'"
        ):
            datasets.load(path, **{role: column})
    data = datasets.load(path, label=np.int64(0), drop=np.int64(2))
    assert data.feature_names == ("b",)


def test_only_the_features_that_are_named(file: Path) -> None:
    data = datasets.load(file, label="churn", features=["income", 5])
    assert data.feature_names == ("income", "member")
    data = datasets.load(file, label=-1, features="income", categorical=["city"])
    assert data.feature_names == ("city=Lima", "city=New York, NY", "city=Paris", "income")


def test_the_label_is_the_last_column_without_another_role(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,y,note\n1,0,first\n2,1,second\n")
    for options in ({"drop": "note"}, {"id": "note"}):
        y = datasets.load(path, **options).y
        assert y is not None
        assert y.tolist() == [0, 1]


def test_decimal_commas(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a;b;y\n1,5;2;0,5\n-2,25e1;3;1\n")
    with pytest.raises(UnreadyColumnsError, match=r"(?s)numbers with commas.*decimal=','"):
        datasets.load(path)
    data = datasets.load(path, decimal=",")
    assert data.X.tolist() == [[1.5, 2.0], [-22.5, 3.0]]
    assert data.y is not None
    assert data.y.tolist() == [0.5, 1.0]
    again = datasets.load(path, preparation=data.preparation)  # which knows the mark
    assert np.array_equal(again.X, data.X)
    quoted = write(tmp_path / "q.csv", 'a,b,y\n"1,5",2,"0,5"\n"-2,25e1",3,1\n')
    assert np.array_equal(datasets.load(quoted, decimal=",").X, data.X)
    bad = write(tmp_path / "b.csv", "a;b;y\n1.5;2;0\n1,5;3;1\n1,25;3;1\n")
    with pytest.raises(UnreadyColumnsError, match=r"line 2 is '1\.5', which is not a number"):
        datasets.load(bad, decimal=",")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": "z"}, "no column named 'z'"),
        ({"drop": "a", "id": "a"}, "as an identifier and as dropped"),
        ({"features": "a", "drop": "a"}, "as dropped and as a feature"),
        ({"missing": "mean"}, "missing is 'mean'"),
        ({"decimal": ";"}, "decimal is ';'"),
        ({"drop": [1.5]}, r"drop has 1\.5"),
        ({"drop": ["a", "b"]}, "none is left as a feature"),
    ],
)
def test_wrong_choices(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b,y\n1,2,0\n2,3,1\n")
    with pytest.raises((InvalidParameterError, DataFileError), match=message):
        datasets.load(path, **options)


def test_choices_are_for_tables(tmp_path: Path) -> None:
    path = write(tmp_path / "a.libsvm", "1 1:2\n2 1:3\n")
    for options in ({"drop": "a"}, {"missing": "drop"}, {"decimal": ","}):
        with pytest.raises(InvalidParameterError, match="is about columns of a CSV or Parquet"):
            datasets.load(path, **options)


def test_parquet_and_csv_are_prepared_alike(file: Path, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(file, parse_dates=["joined"])
    frame.to_parquet(tmp_path / "customers.parquet")
    one = datasets.load(file, **CHOSEN)
    other = datasets.load(tmp_path / "customers.parquet", **CHOSEN)
    assert np.array_equal(one.X, other.X)
    assert one.preparation == other.preparation
    assert one.ids == other.ids
    with pytest.raises(UnreadyColumnsError, match=r"(?s)'joined'.*dates"):
        datasets.load(tmp_path / "customers.parquet", label="churn")


# --- other tables --------------------------------------------------------------------------------


def test_another_table_needs_the_columns_that_are_used(file: Path, tmp_path: Path) -> None:
    known = datasets.load(file, **CHOSEN).preparation
    new = write(tmp_path / "new.csv", "member,age,extra,city,income\nFalse,,x,Paris,5\n")
    data = datasets.load(new, preparation=known, labelled=False)
    assert data.X.tolist() == [[0.0, 0.0, 1.0, 41.0, 5.0, 0.0]]
    assert (data.y, data.ids) == (None, {})
    less = write(tmp_path / "less.csv", "member,city\nFalse,Paris\n")
    with pytest.raises(InvalidDataError, match="has no columns 'age', 'income'"):
        datasets.load(less, preparation=known, labelled=False)
    with pytest.raises(InvalidDataError, match="has no column of labels 'churn'"):
        datasets.load(new, preparation=known)
    twice = write(tmp_path / "twice.csv", "member,age,city,age,income\nTrue,1,Lima,2,5\n")
    with pytest.raises(InvalidDataError, match="has several columns named 'age'"):
        datasets.load(twice, preparation=known, labelled=False)


def test_all_that_does_not_fit_is_named_at_once(file: Path, tmp_path: Path) -> None:
    known = datasets.load(file, **CHOSEN).preparation
    text = "city,age,income,member\nParis,1,2,True\nRome,x,3,1\nOslo,2,inf,False\n"
    with pytest.raises(UnreadyColumnsError) as caught:
        datasets.load(write(tmp_path / "new.csv", text), preparation=known, labelled=False)
    for piece in (
        "'city': line 3 (and 1 other row) is 'Rome' or 'Oslo', which no training row has",
        "'age': line 3 is 'x', which is not a number",
        "'income': line 4 is 'inf', which is infinite",
        "'member': line 3 is '1', which is not a truth value",
    ):
        assert piece in str(caught.value)


def test_a_gap_is_an_error_unless_the_training_says_otherwise(tmp_path: Path) -> None:
    train = write(tmp_path / "a.csv", "a,y\n1,0\n2,1\n")
    new = write(tmp_path / "b.csv", 'a\n3\n""\nnan\n4\n')
    known = datasets.load(train).preparation
    with pytest.raises(UnreadyColumnsError, match=r"'a': line \d.* is missing; fill it in"):
        datasets.load(new, preparation=known, labelled=False)
    known = datasets.load(train, missing="drop").preparation
    data = datasets.load(new, preparation=known, labelled=False)
    assert data.X.tolist() == [[3.0], [4.0]]


@pytest.mark.parametrize(
    ("train", "same"),
    [
        ("1,2,a\n3,4,b\n", {"5,6,a\n": [5.0, 6.0], "5,6\n": [5.0, 6.0]}),
        ("a,1,2\nb,3,4\n", {"a,5,6\n": [5.0, 6.0], "5,6\n": [5.0, 6.0]}),
    ],
)
def test_files_without_names_are_read_by_position(
    train: str, same: dict[str, list[float]], tmp_path: Path
) -> None:
    label = 0 if train.startswith("a") else -1
    known = datasets.load(write(tmp_path / "a.csv", train), label=label, header=False).preparation
    for text, expected in same.items():
        new = write(tmp_path / "b.csv", text)
        assert datasets.load(new, preparation=known, labelled=False, header=False).X.tolist() == [
            expected
        ]


def test_without_names_columns_that_were_left_out_are_still_expected(tmp_path: Path) -> None:
    train = write(tmp_path / "a.csv", "7,1,2,a\n8,3,4,b\n")
    known = datasets.load(train, drop=0, header=False).preparation
    for text in ("9,5,6,a\n", "9,5,6\n"):
        new = write(tmp_path / "b.csv", text)
        assert datasets.load(new, preparation=known, labelled=False, header=False).X.tolist() == [
            [5.0, 6.0]
        ]
    with pytest.raises(InvalidDataError, match="2 features, the model was trained with 2"):
        datasets.load(
            write(tmp_path / "c.csv", "5,6\n"), preparation=known, labelled=False, header=False
        )


# --- as plain data -------------------------------------------------------------------------------

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(min_size=1, max_size=5)


@st.composite
def preparations(draw: Any) -> Preparation:
    columns: list[NumberColumn | CategoryColumn] = []
    missing = draw(st.sampled_from(["error", "drop", "median"]))
    for i in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            fill = draw(NUMBERS) if missing == "median" else None
            columns.append(NumberColumn(f"n{i}", fill=fill))
        else:
            values = tuple(sorted(draw(st.sets(TEXTS, min_size=1, max_size=4))))
            usual = draw(st.sampled_from(values)) if missing == "median" else None
            columns.append(CategoryColumn(f"c{i}", values, usual))
    return Preparation(tuple(columns), label="y", missing=missing)


@settings(max_examples=examples(200), deadline=None)
@given(preparation=preparations(), data=st.data())
def test_plain_data_are_all_that_is_needed(preparation: Preparation, data: Any) -> None:
    """Restored from JSON, a preparation gives the numbers that its definition says, bit for bit."""
    restored = to_value(from_value(preparation, "preparation"), "preparation")
    assert restored == preparation
    assert isinstance(restored, Preparation)
    n = data.draw(st.integers(1, 4))
    cells: list[Any] = []
    expected: list[list[float]] = []
    gaps = preparation.missing == "median"
    for column in preparation.columns:
        if isinstance(column, NumberColumn):
            values = data.draw(
                st.lists(NUMBERS | st.just(np.nan) if gaps else NUMBERS, min_size=n, max_size=n)
            )
            cells.append(np.array(values))
            fill = 0.0 if column.fill is None else column.fill
            expected.append([fill if np.isnan(value) else value for value in values])
        else:
            known = [*column.values, ""] if gaps else list(column.values)
            texts = data.draw(st.lists(st.sampled_from(known), min_size=n, max_size=n))
            cells.append(texts)
            expected += [
                [float((text or column.fill) == value) for text in texts] for value in column.values
            ]
    assert restored.features(cells).T.tolist() == expected


@pytest.mark.parametrize(
    "build",
    [
        lambda: NumberColumn(1.5),  # type: ignore[arg-type]
        lambda: NumberColumn("a", fill=float("nan")),
        lambda: CategoryColumn("a", ()),
        lambda: CategoryColumn("a", ("b", "a")),
        lambda: CategoryColumn("a", ("a", "b"), "c"),
        lambda: Preparation(()),
        lambda: Preparation((NumberColumn("a"), NumberColumn("a"))),
        lambda: Preparation((NumberColumn(0),)),
        lambda: Preparation((NumberColumn("a"),), width=3),
        lambda: Preparation((NumberColumn("a"),), missing="mean"),  # type: ignore[arg-type]
        lambda: Preparation((NumberColumn("a"),), decimal=";"),
    ],
)
def test_what_is_no_preparation_is_refused(build: Any) -> None:
    with pytest.raises(InvalidParameterError):
        build()


# --- with a model --------------------------------------------------------------------------------


def test_model_files_have_the_preparation(file: Path, tmp_path: Path) -> None:
    data = datasets.load(file, **CHOSEN)
    scaling = models.Scaling.fit(data.X)
    machine = SVC(C=10.0).fit(scaling(data.X), data.y)
    machine.save(tmp_path / "machine.npz", preparation=data.preparation)
    loaded = qpsvm.load(tmp_path / "machine.npz")
    assert loaded.preparation_ == data.preparation  # type: ignore[union-attr]
    loaded.save(tmp_path / "again.npz")  # type: ignore[union-attr]
    assert qpsvm.load(tmp_path / "again.npz").preparation_ == data.preparation  # type: ignore[union-attr]
    path = tmp_path / "model.npz"
    problem, solution = machine.problem_, machine.solution_
    models.save(path, problem, solution, scaling=scaling, preparation=data.preparation)
    model = models.load(path)
    assert model.preparation == data.preparation
    other = datasets.load(file, preparation=model.preparation)
    assert model.predict(other.X).tolist() == machine.predict(scaling(data.X)).tolist()
    machine.save(tmp_path / "bare.npz")
    assert models.load(tmp_path / "bare.npz").preparation is None


def test_files_without_the_entry_are_read(tmp_path: Path) -> None:
    """Model files written before there were preparations have no such entry in their metadata."""
    from qpsvm.io import json_text
    from qpsvm.models import record

    machine = SVC().fit([[0.0], [1.0], [3.0]], ["a", "a", "b"])
    path = tmp_path / "m.npz"
    machine.save(path)
    arrays = dict(record.MODEL.read(path))
    entries = json_text.loads(arrays["metadata"].tobytes().decode())
    assert entries.pop("preparation", "absent") is None
    text = np.frombuffer(json_text.dumps(entries).encode(), dtype=np.uint8)
    record.MODEL.write(path, arrays | record.sealed(text))
    assert qpsvm.load(path).predict([[4.0]]).tolist() == ["b"]


def test_a_preparation_of_another_width_is_refused(tmp_path: Path) -> None:
    machine = SVC().fit([[0.0], [1.0], [3.0]], ["a", "a", "b"])
    wide = Preparation((NumberColumn("a"), NumberColumn("b")))
    with pytest.raises(InvalidParameterError, match="gives 2 features"):
        machine.save(tmp_path / "m.npz", preparation=wide)
    assert not (tmp_path / "m.npz").exists()


def test_an_edited_preparation_is_refused() -> None:
    plain: Any = from_value(Preparation((CategoryColumn("a", ("u", "v")),)), "preparation")
    parameters = plain["parameters"]["columns"]["tuple"][0]["parameters"]
    parameters["values"] = {"tuple": ["v", "u"]}
    with pytest.raises(ModelFileError, match="cannot be built"):
        to_value(plain, "preparation")
