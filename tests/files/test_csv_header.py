"""The first row of a CSV file: a header, a sample, or a question."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm import datasets
from qpsvm.exceptions import (
    DataFileError,
    InvalidDataError,
    InvalidParameterError,
    UnreadyColumnsError,
)
from tests.strategies import examples

N = 30
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 3))
COUNTS = RANDOM.integers(0, 10, size=(N, 3))
LABELS: dict[str, Any] = {
    "words": np.where(X[:, 0] > 0.0, "yes", "no"),
    "numbers": (X[:, 0] > 0.0).astype(int),
    "targets": X @ [1.0, -2.0, 0.5],
    "truth values": X[:, 0] > 0.0,
}
ASKED = re.compile(
    r"line 1 .*may be a header or a sample; say which: header=True or False \(--header or --no-h"
)


def read(frame: pd.DataFrame | str, folder: Path, **options: Any) -> datasets.DataFile:
    text = frame if isinstance(frame, str) else frame.to_csv(index=False)
    (folder / "a.csv").write_text(text, encoding="utf-8")
    return datasets.load(folder / "a.csv", **options)


def read_or_none(frame: pd.DataFrame | str, folder: Path) -> datasets.DataFile | None:
    """What is read without an answer; None if the caller is asked. Other errors pass."""
    try:
        return read(frame, folder)
    except DataFileError as error:
        if ASKED.search(str(error)):
            return None
        raise


def table(names: Any, label: Any, samples: Any = X) -> pd.DataFrame:
    frame = pd.DataFrame(samples)
    frame["label"] = label
    frame.columns = [*names]
    return frame


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("samples", [X, COUNTS], ids=["numbers", "counts"])
def test_columns_that_pandas_has_counted_are_a_header(
    tmp_path: Path, kind: str, samples: Any
) -> None:
    """``pd.DataFrame(X)`` with a label column, which became a sample of its own."""
    for names in ([0, 1, 2, "target"], ["f", "g", "h", "target"]):
        data = read(table(names, LABELS[kind], samples), tmp_path)
        assert data.X.shape == (N, 3)
        assert data.feature_names == tuple(map(str, names[:3]))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize(
    "names",
    [[0, 1, 2, 3], [1, 2, 3, 4], [2019, 2020, 2021, 2022], [7, 3, 5, 1], [0.5, 1.0, 1.5, 2.0]],
    ids=str,
)
def test_names_that_are_numbers_are_a_header_or_a_question(
    tmp_path: Path, names: list[Any], kind: str
) -> None:
    """Never a sample. Above numbers nothing tells them from one."""
    frame = table(names, LABELS[kind])
    data = read_or_none(frame, tmp_path)
    if data is None:
        data = read(frame, tmp_path, header=True)
        assert read(frame, tmp_path, header=False).X.shape == (N + 1, 3)
    else:
        assert kind in ("words", "truth values")
    assert data.X.shape == (N, 3)
    assert data.feature_names == tuple(map(str, names[:3]))


def test_years_are_names_beside_a_label_that_is_no_number(tmp_path: Path) -> None:
    years = [2019, 2020, 2021, "rain"]
    assert read(table(years, LABELS["numbers"]), tmp_path).X.shape == (N, 3)
    with pytest.raises(DataFileError, match=ASKED):  # there may be a class "rain"
        read(table(years, LABELS["words"]), tmp_path)
    assert read(table(years, LABELS["words"]), tmp_path, label="rain").X.shape == (N, 3)
    numbers = table([2019, 2020, 2021, 2022], LABELS["numbers"])
    assert read(numbers, tmp_path, label="2022").X.shape == (N, 3)


@pytest.mark.parametrize("kind", LABELS)
def test_a_table_without_a_header_is_a_table_or_a_question(tmp_path: Path, kind: str) -> None:
    """Never a header: a sample would be lost."""
    for samples in (X, COUNTS, X.round(1)):
        text = table("abcd", LABELS[kind], samples).to_csv(index=False, header=False)
        data = read(text, tmp_path, header=False)
        assert data.X.shape == (N, 3)
        found = read_or_none(text, tmp_path)
        if found is None:
            assert kind not in ("words", "truth values")
        else:
            assert found.feature_names is None
            assert np.array_equal(found.X, data.X)


CELLS = st.sampled_from(["0", "1", "2", "2.5", "-1", "1e3", "1_0", "--", "", "?", "a", "b", "yes"])


@settings(max_examples=examples(300), deadline=None)
@given(rows=st.integers(2, 4).flatmap(lambda d: st.lists(st.lists(CELLS, min_size=d, max_size=d))))
def test_what_is_decided_is_what_the_caller_would_say(rows: list[list[str]]) -> None:
    """Without an answer the content is that of one of the answers, or a question."""
    found = [outcome(rows, header) for header in (None, True, False)]
    assert found[0] in found[1:] or "may be a header or a sample" in found[0]


def outcome(rows: list[list[str]], header: bool | None) -> str:
    text = "\n".join(",".join(row) for row in rows)
    with tempfile.TemporaryDirectory() as folder:
        try:
            data = read(text, Path(folder), header=header)
        except (DataFileError, InvalidDataError) as error:
            return str(error).replace(folder, "")
    return f"{data.X.tolist()} {data.y.tolist()} {data.feature_names}"


QUESTIONS = {
    "a mistyped number": "1_0,3,1\n2,5,0\n3,6,1\n",
    "a mark for a missing value": "--,3,1\n2,5,0\n3,6,1\n",
    "a class of one sample": "5.1,4.5,rare\n2.2,5.1,yes\n3.3,6.1,yes\n",
    "a class of letters and digits": "5,3,1\n5.0,2.2,2A\n4.4,3.3,3B\n",
    "texts above texts": "city,label\nParis,yes\nLima,no\nParis,no\n",
    "one column": "1\n2\n",
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_where_both_readings_are_possible_the_caller_is_asked(tmp_path: Path, case: str) -> None:
    with pytest.raises(DataFileError, match=ASKED):
        read(QUESTIONS[case], tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "1,1,yes\n2,3,no\n",  # a name twice
        "5.1,3.5,setosa\n4.9,3.0,setosa\n",  # a value that occurs again
        "3.5,5.1,1.4,0\n4.9,3.0,1.4,1\n",  # numbers in no order
        "1.0e+00,2.0e+00,0.0e+00\n1.1e+00,2.0e+00,1.0e+00\n",
    ],
)
def test_what_cannot_be_a_header_is_a_sample(tmp_path: Path, text: str) -> None:
    assert read(text, tmp_path).X.shape[0] == 2


def test_texts_that_occur_again_are_no_header(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="'column 0'  texts from line 1 on"):
        read("p,x,s,n\ne,x,s,y\np,y,w,t\n", tmp_path)


def test_one_row_of_numbers_is_a_sample(tmp_path: Path) -> None:
    assert read("5.1,3.5,1.4\n", tmp_path, labelled=False).X.shape == (1, 3)
    with pytest.raises(DataFileError, match="no samples, only a header"):
        read("a,b,y\n", tmp_path)
    with pytest.raises(DataFileError, match="no samples, only a header"):
        read(pd.DataFrame(columns=[0, 1, 2, "target"]), tmp_path)


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,a,y\n1,2,3\n", "columns 0 and 1 .* have this name.*rename all but one.*line 1 is"),
        ("\na, a ,b,a,y\n1,2,3,4,5\n", "columns 0 and 1 and 3 .*line 2 is a sample"),
        (
            table("abcd", LABELS["words"]).to_csv(),
            r"'column 0'  no name but ''.*index=False.*if line 1 is a sample",
        ),
        (table([0, 1, 2, "y"], LABELS["numbers"]).to_csv(), r"no name but ''.*drop=\['-5'\]"),
        (table("abcd", LABELS["targets"]).to_csv(), r"'column 0' .*index=False"),
        ("Unnamed: 0,a,y\n0,2,p\n1,3,q\n", "no name but 'Unnamed: 0'"),
        ("Unnamed: 0.1,a,y\n0,2,p\n1,3,q\n", "no name but 'Unnamed: 0.1'"),
        ("...1,a,y\n0,2,p\n1,3,q\n", "no name but '...1'"),
        ("a,,y\n1,2,3\n", "'column 1'  no name"),
    ],
)
def test_every_feature_has_a_name_of_its_own(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UnreadyColumnsError, match=f"(?s){words}"):
        read(text, tmp_path)
    with pytest.raises(UnreadyColumnsError, match=f"(?s){words}"):
        read(text, tmp_path, header=True)


def test_names_and_contents_are_listed_at_once(tmp_path: Path) -> None:
    """A column without a name, a repeated name, texts and a missing value: one run."""
    text = ",a,a,city,b,y\n0,1,x,Lima,,p\n1,2,w,Paris,4,q\n2,3,x,Lima,5,q\n"
    with pytest.raises(UnreadyColumnsError) as caught:
        read(text, tmp_path)
    message = str(caught.value)
    for words in (
        "5 of 6 columns",
        "no name but ''",
        "rename",
        "texts from line 2",
        "1 of 3 cells",
    ):
        assert words in message
    assert message.count("columns 1 and 2 (counted from 0) have this name") == 2
    text = text.replace(",a,a,", ",a,c,", 1)
    with pytest.raises(UnreadyColumnsError) as caught:
        read(text, tmp_path)
    example = str(caught.value).splitlines()[-1].removeprefix("For example: ")
    assert read(text, tmp_path, **eval(f"dict({example})")).X.shape[0] == 3


def test_the_example_of_an_ambiguous_position_works(tmp_path: Path) -> None:
    """The index of pandas before columns that it counts: "0" is the name of column 1."""
    text = pd.DataFrame({0: [1.5, 2.5], 1: [2.5, 1.0], "y": ["p", "q"]}).to_csv()
    with pytest.raises(UnreadyColumnsError, match=r"For example: drop=\['-4'\]"):
        read(text, tmp_path)
    assert read(text, tmp_path, drop="-4").feature_names == ("0", "1")


def test_the_label_of_pandas_index_may_be_named_by_its_position(tmp_path: Path) -> None:
    text = pd.DataFrame({"a": [1.5, 2.5]}, index=["p", "q"]).to_csv()
    data = read(text, tmp_path, label=0)
    assert (data.feature_names, data.y.tolist()) == (("a",), ["p", "q"])


def test_repeated_names_of_a_parquet_file(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 3, names=["a", "a", "y"])
    pq.write_table(columns, tmp_path / "a.parquet")
    with pytest.raises(UnreadyColumnsError, match=r"columns 0 and 1 .* have this name"):
        datasets.load(tmp_path / "a.parquet")


def test_a_name_that_is_the_position_of_another_column_is_asked_for(tmp_path: Path) -> None:
    text = "1,2,0\n1.5,2.5,3.5\n2.5,1.5,1.0\n"
    with pytest.raises(
        InvalidParameterError, match="name of column 0 and the position of column 1"
    ):
        read(text, tmp_path, label="1", header=True)
    assert read(text, tmp_path, label="-3", header=True).y.tolist() == [1.5, 2.5]
    assert read(text, tmp_path, label=1, header=True).y.tolist() == [2.5, 1.5]


@pytest.mark.parametrize("header", ["yes", 1])
def test_the_header_is_true_or_false(tmp_path: Path, header: Any) -> None:
    with pytest.raises(InvalidParameterError, match="header is"):
        read("a,y\n1,2\n", tmp_path, header=header)
    np.savez(tmp_path / "a.npz", X=X, y=COUNTS[:, 0])
    with pytest.raises(InvalidParameterError, match="header=True is about the first row of a CSV"):
        datasets.load(tmp_path / "a.npz", header=True)
