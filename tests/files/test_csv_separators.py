"""The separator of a CSV file, and what comes before its first row: the same table is read."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qpsvm import datasets
from qpsvm.exceptions import DataFileError, UnreadyColumnsError
from tests.strategies import grid

HEADER = ["petal length", "width, in cm", "kind"]
ROWS = [["1.5", "-2", "a b"], ["2.5", "", "c"], ["-3e2", "4", "a b"], ["4", "0.5", "d|e"]]
"""A table with every separator in a cell; and with an empty one."""

SEPARATORS = [",", ";", "\t", "|", " "]
BEFORE = {
    "nothing": "",
    "comments": "# made by a program, version 2\n#\n\n  # a; b; c; d; e\n",
    "a byte order mark": "\ufeff",
    "empty lines": "\n \n",
}
LINE_ENDS = ["\n", "\r\n", "\r"]


def written(rows: list[list[str]], separator: str, end: str = "\n") -> str:
    stream = io.StringIO()
    quoting = csv.QUOTE_ALL if separator == " " else csv.QUOTE_MINIMAL  # an empty cell
    csv.writer(stream, delimiter=separator, lineterminator=end, quoting=quoting).writerows(rows)
    return stream.getvalue()


def read(text: str, folder: Path, **options: Any) -> datasets.DataFile:
    (folder / "a.csv").write_bytes(text.encode())
    return datasets.load(folder / "a.csv", **options)


def require_equal(found: datasets.DataFile, expected: datasets.DataFile) -> None:
    assert np.array_equal(found.X, expected.X)
    assert found.feature_names == expected.feature_names
    assert (found.y is None) == (expected.y is None)
    assert found.y is None or np.array_equal(found.y, expected.y)


@grid("separator, before, end, header", product(SEPARATORS, BEFORE, LINE_ENDS, [True, False]))
def test_the_table_does_not_depend_on_separator_comments_and_line_ends(
    tmp_path: Path, separator: str, before: str, end: str, header: bool
) -> None:
    rows = [HEADER, *ROWS] if header else ROWS
    expected = read(written(rows, ","), tmp_path, missing="median", header=header)
    text = BEFORE[before].replace("\n", end) + written(rows, separator, end)
    require_equal(read(text, tmp_path, missing="median", header=header), expected)


@pytest.mark.parametrize("line", ["sep={}", "SEP={}", '"sep={}"'])
@pytest.mark.parametrize("separator", [*SEPARATORS, "^"])
def test_the_first_line_of_excel_names_the_separator(
    tmp_path: Path, separator: str, line: str
) -> None:
    expected = read(written([HEADER, *ROWS], ","), tmp_path, missing="median")
    text = f"{line.format(separator)}\r\n" + written([HEADER, *ROWS], separator, "\r\n")
    require_equal(read(text, tmp_path, missing="median"), expected)
    with pytest.raises(UnreadyColumnsError, match="the first in line 4"):  # the file's own lines
        read(text, tmp_path)


@pytest.mark.parametrize("options", [{}, {"decimal": ","}], ids=["unsaid", "said"])
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_do_not_separate(
    tmp_path: Path, separator: str, options: dict[str, str]
) -> None:
    """Without a header they are as frequent as the separator, or more so."""
    text = separator.join(["1,5", "2,5", "0,5"]) + "\n" + separator.join(["3,5", "4,5", "1,5"])
    if options:
        assert read(text, tmp_path, **options).X.tolist() == [[1.5, 2.5], [3.5, 4.5]]
    elif separator != "|":  # a bar separates only where nothing else does
        with pytest.raises(UnreadyColumnsError, match="decimal=',' reads them"):
            read(text, tmp_path)


def test_columns_may_have_any_number_of_spaces_around_them(tmp_path: Path) -> None:
    data = read("  a   b  y \n   1.0  2.5   0\n -3.0     4   1   \n", tmp_path)
    assert (data.X.tolist(), data.y.tolist()) == ([[1.0, 2.5], [-3.0, 4.0]], [0, 1])


def test_numpy_writes_what_is_read(tmp_path: Path) -> None:
    table = np.array([[1.5, 2.0, 0.0], [-2.0, 3.0, 1.0]])
    for separator in SEPARATORS:
        np.savetxt(tmp_path / "a.csv", table, delimiter=separator, header="made by NumPy")
        assert np.array_equal(datasets.load(tmp_path / "a.csv").X, table[:, :2])


def test_an_only_column_keeps_the_spaces_in_its_name(tmp_path: Path) -> None:
    assert read("petal length\n1.5\n2.5\n", tmp_path, labelled=False).feature_names == (
        "petal length",
    )


def test_a_first_row_with_a_hash_and_all_columns_is_no_comment(tmp_path: Path) -> None:
    assert read("#a,b,y\n1,2,0\n3,4,1\n", tmp_path).feature_names == ("#a", "b")
    colours = "#f00,1,p\n#0f0,2,q\n#f00,3,p\n"
    assert read(colours, tmp_path, categorical=0, header=False).X.shape == (3, 3)


def test_rows_of_different_lengths_are_refused_with_the_separator(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"line 3 has 2 columns, .* 3 \(separated by ';'\)"):
        read("a;b;y\n1;2;0\n1;2\n", tmp_path)
    with pytest.raises(DataFileError, match="is empty; pass a file with a row for every sample"):
        read("sep=;\n", tmp_path)
    with pytest.raises(DataFileError, match=r"columns are separated by commas, .* bars or spaces"):
        read("a\n1\nb\n", tmp_path, header=True)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("1 1:0.5 2:-1e3\n-1 1:2\n", r"line 1 is in LIBSVM format.*format='libsvm'"),
        ("3 qid:1 1:0.5\n2 qid:1 1:2\n", r"line 1 is in LIBSVM format"),
        ('a,b,y\n"1,2,0\n3,4,1\n', r"line break that ends in line 3.*close the quotation mark"),
    ],
)
def test_what_is_no_table_of_this_kind_is_refused_with_the_remedy(
    tmp_path: Path, text: str, remedy: str
) -> None:
    with pytest.raises(DataFileError, match=remedy):
        read(text, tmp_path)
