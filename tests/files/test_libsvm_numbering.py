"""LIBSVM files: one way of counting features for all files of a model, and places in messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from qpsvm import datasets
from qpsvm.exceptions import DataFileError, InvalidDataError, InvalidParameterError
from tests.strategies import examples


def read(folder: Path, text: str, **options: Any) -> datasets.DataFile:
    (folder / "a.libsvm").write_text(text)
    return datasets.load(folder / "a.libsvm", **options)


MATRICES = st.lists(
    st.lists(st.sampled_from([0.0, 0.0, 1.0, -2.5]), min_size=4, max_size=4), min_size=1, max_size=4
)


@pytest.mark.parametrize("zero_based", [True, False])
@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=MATRICES)
def test_a_file_is_read_as_it_was_counted(
    tmp_path: Path, zero_based: bool, rows: list[list[float]]
) -> None:
    """Whichever features it lacks; without a word on the numbering it is right, or a question."""
    X = np.array(rows)
    path = tmp_path / "a.libsvm"
    dump_svmlight_file(X, np.ones(len(X)), str(path), zero_based=zero_based)
    data = datasets.load(path, zero_based=zero_based, n_features=4)
    assert data.zero_based is zero_based
    assert np.array_equal(data.X.toarray(), X)
    if is_told(data.X.indices + (not zero_based), X):
        assert np.array_equal(datasets.load(path, n_features=4).X.toarray(), X)
    else:
        with pytest.raises(DataFileError, match="may be counted from 0 or from 1; say it: zero_ba"):
            datasets.load(path, n_features=4)


def is_told(indices: Any, X: Any) -> bool:
    """Whether the indices can be counted in one way only, or there are none."""
    return not indices.size or indices.min() == 0 or indices.max() == X.shape[1]


def test_serials_of_precomputed_kernels_are_no_feature(tmp_path: Path) -> None:
    """LIBSVM's files of kernel values begin every line with 0:serial."""
    text = "1 0:1 1:4 2:6 3:1\n-1 0:2 1:6 2:18 3:2\n1 0:3 1:1 2:2 3:5\n"
    with pytest.raises(DataFileError, match=r"0:serial.*zero_based=True\)\.X\[:, 1:\]"):
        read(tmp_path, text)
    with pytest.raises(DataFileError, match="0:serial"):
        read(tmp_path, "1 0:3 1:4 2:6 3:1\n-1 0:1 1:6 2:18 3:2\n")  # samples 3 and 1 of three
    kernel = read(tmp_path, text, zero_based=True).X[:, 1:]
    assert kernel.toarray().tolist() == [[4, 6, 1], [6, 18, 2], [1, 2, 5]]
    for other in ("1 0:1 1:4\n-1 0:1 1:6\n", "1 0:1\n-1 0:2.5\n", "1 0:1 1:3\n-1 1:2\n"):
        assert read(tmp_path, other).zero_based


@pytest.mark.parametrize("place", ["nan 1:1\n-1 1:2\n", "1 1:1\ninf 1:2\n"])
def test_labels_are_finite(tmp_path: Path, place: str) -> None:
    with pytest.raises(InvalidDataError, match=r"label or group of sample \d .*is (nan|inf)"):
        read(tmp_path, place)


def test_a_byte_order_mark_is_no_part_of_the_first_label(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff1 1:3\n-1 1:2\n").y.tolist() == [1, -1]


@pytest.mark.parametrize("query", ["1.5", "1e3", "\u0661"])
def test_queries_are_integers(tmp_path: Path, query: str) -> None:
    with pytest.raises(DataFileError, match=f"line 2 has 'qid:{query}', which is no integer"):
        read(tmp_path, f"1 qid:1 1:3\n2 qid:{query} 1:2\n")


def test_integers_of_numpy_are_integers(tmp_path: Path) -> None:
    text = "1 1:3\n-1 2:2\n"
    assert read(tmp_path, text, n_features=np.int64(2), limit_bytes=np.int64(99)).X.shape == (2, 2)


def test_without_other_data_an_index_0_decides(tmp_path: Path) -> None:
    assert read(tmp_path, "1 0:5 2:3\n").zero_based
    data = read(tmp_path, "1 1:5 2:3\n")
    assert (data.zero_based, data.X.toarray().tolist()) == (False, [[5.0, 3.0]])
    assert read(tmp_path, "1 1:5 2:3\n", zero_based=True).X.toarray().tolist() == [[0.0, 5.0, 3.0]]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (
            "1 1:5\n\n# x\n-1 0:1 1:3\n",
            {"zero_based": False},
            "line 4 has the index 0, .*zero_based=",
        ),
        ("1 1:5\n-1 4:1\n", {"n_features": 3}, "line 2 has the index 4, .* counted from 1, is 3"),
        (
            "1 0:5\n-1 3:1\n",
            {"n_features": 3},
            "line 2 has the index 3, .* of 3 features, counted from 0, is 2 .*--n-features",
        ),
        (
            "1 1:5\n-1 3:1\n",
            {"n_features": 3, "zero_based": True},
            "line 2 has the index 3, .* counted from 0, is 2",
        ),
        ("1 1:5\n-1 2000000000:1\n", {}, "line 2 has the index 2000000000, .*15 GB; .*n_features="),
        ("1 1:5\n-1 20000000000:1\n", {}, "line 2 has the index 20000000000, beyond 2147483647"),
        ("2 qid:1 1:3\n\n1 1:2\n0 qid:2 1:1\n", {}, "line 3 has no qid, and 2 of 3 lines have one"),
        ("2 qid:1 1:3\n1\n", {}, "line 2 has no qid, and 1 of 2 lines have one"),
        ("2 1:3 qid:1\n", {}, "line 1 has 'qid:1' after a feature; it comes after the label"),
        ("1 1:5\n-1 1:1_0\n", {}, "line 2 has '1:1_0', which is not index:value"),
        ("1 1:5\n-1 1_0:1\n", {}, "line 2 has '1_0:1', which is not index:value"),
        ("1 1:5\n-1 1:inf\n", {}, "line 2, feature 1 is inf"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, text: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises((DataFileError, InvalidDataError), match=words):
        read(tmp_path, text, **options)


def test_a_large_index_that_is_meant_is_read(tmp_path: Path) -> None:
    data = read(tmp_path, "1 1:5\n-1 2000000000:1\n", n_features=2_000_000_000)
    assert data.X.shape == (2, 2_000_000_000)


def test_samples_without_features_may_be_counted_either_way(tmp_path: Path) -> None:
    assert read(tmp_path, "1\n-1\n", n_features=3).X.shape == (2, 3)


@pytest.mark.parametrize(
    "options", [{"zero_based": 1}, {"n_features": 0}, {"n_features": True}, {"n_features": 2.0}]
)
def test_the_numbering_is_checked(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match="pass"):
        read(tmp_path, "1 1:5\n", **options)


def test_the_numbering_belongs_to_libsvm_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,y\n1,2\n")
    with pytest.raises(
        InvalidParameterError, match="zero_based=False is about the indices of a LI"
    ):
        datasets.load(tmp_path / "a.csv", zero_based=False)
