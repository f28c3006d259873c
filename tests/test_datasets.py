"""Data files: what is read, and what each broken file is told."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_iris

from qpsvm import datasets
from qpsvm.datasets.loading import FOREIGN
from qpsvm.exceptions import (
    DataFileError,
    InvalidDataError,
    InvalidParameterError,
    MissingPackageError,
    QPSVMError,
    UnreadyColumnsError,
)
from tests.strategies import examples


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return X[:100], y[:100]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# --- what is read ----------------------------------------------------------------------------


def test_csv_with_header_and_text_labels(tmp_path):
    path = write(tmp_path / "a.csv", "width,height,kind\n1,2,cat\n3,4.5,dog\n")
    data = datasets.load(path)
    assert data.X.tolist() == [[1.0, 2.0], [3.0, 4.5]]
    assert data.y.tolist() == ["cat", "dog"]
    assert data.feature_names == ("width", "height")
    assert data.format == "csv"


def test_csv_without_header(tmp_path):
    data = datasets.load(write(tmp_path / "a.csv", "1,2,-1\n3,4,1\n"), header=False)
    assert data.X.shape == (2, 2)
    assert data.y.tolist() == [-1, 1]
    assert data.y.dtype == np.int64
    assert data.feature_names is None


@pytest.mark.parametrize("label", ["kind", "0", 0, "-3"])
def test_csv_label_by_name_or_position(tmp_path, label):
    path = write(tmp_path / "a.csv", "kind,a,b\nx,1,2\ny,3,4\n")
    data = datasets.load(path, label=label)
    assert data.y.tolist() == ["x", "y"]
    assert data.feature_names == ("a", "b")


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ";"), ("a.tsv", "\t"), ("a.csv", ", ")])
def test_csv_separators(tmp_path, name, separator):
    rows = [["a", "b", "y"], ["1", "2", "0"], ["3", "4", "1"]]
    path = write(tmp_path / name, "\n".join(separator.join(row) for row in rows) + "\n\n")
    data = datasets.load(path)
    assert data.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_csv_quotes_byte_order_mark_and_windows_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeff"a, first",y\r\n1.5,"p, q"\r\n2,r\r\n'.encode())
    data = datasets.load(path)
    assert data.feature_names == ("a, first",)
    assert data.y.tolist() == ["p, q", "r"]


def test_csv_fractional_labels_stay_numbers(tmp_path):
    assert datasets.load(write(tmp_path / "a.csv", "x,y\n1,0.5\n2,1\n")).y.dtype == np.float64


@pytest.mark.parametrize(("suffix", "opener"), [(".gz", gzip.open), (".bz2", bz2.open)])
def test_compressed_files(tmp_path, suffix, opener, iris):
    path = tmp_path / f"a.csv{suffix}"
    with opener(path, "wt") as stream:
        stream.write("a,b,y\n1,2,0\n3,4,1\n")
    assert datasets.load(path).X.shape == (2, 2)
    path = tmp_path / f"a.libsvm{suffix}"
    with opener(path, "wb") as stream:
        dump_svmlight_file(*iris, stream)
    assert datasets.load(path).X.shape == (100, 4)


def test_libsvm_is_sparse_and_exact(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    path = tmp_path / "bc.svm"
    dump_svmlight_file(X, 2 * y - 1, str(path))
    data = datasets.load(path)
    assert sp.issparse(data.X)
    assert np.array_equal(data.X.toarray(), X)
    assert np.array_equal(data.y, 2 * y - 1)


def test_npz_dense_and_csr(tmp_path, iris):
    X, y = iris
    np.savez_compressed(tmp_path / "a.npz", X=X, y=np.array(["no", "yes"])[y])
    data = datasets.load(tmp_path / "a.npz")
    assert np.array_equal(data.X, X)
    assert data.y[0] == "no"
    S = sp.csr_array(X)
    np.savez(
        tmp_path / "b.npz", X_data=S.data, X_indices=S.indices, X_indptr=S.indptr,
        X_shape=S.shape, y=y,
    )  # fmt: skip
    assert np.array_equal(datasets.load(tmp_path / "b.npz").X.toarray(), X)


def test_format_overrides_the_suffix(tmp_path):
    path = write(tmp_path / "data", "a,b,y\n1,2,0\n3,4,1\n")
    assert datasets.load(path, format="csv").X.shape == (2, 2)


# --- what broken files are told --------------------------------------------------------------

CSV_ERRORS = {
    "a,b,y\n1,x,p\n": (InvalidDataError, ["line 2", "'b'", "'x'", "not numbers"]),
    "a,b,y\n1,2,p\n3,,q\n": (InvalidDataError, ["line 3", "'b'", "empty"]),
    "a,b,y\n1,nan,p\n1,2,q\n": (InvalidDataError, ["line 2", "'b'", "'nan'", "missing"]),
    "a,b,y\n1,nan,p\n": (InvalidDataError, ["'b'", "empty"]),
    "a,b,y\n1,1e999,p\n": (InvalidDataError, ["line 2", "'b'", "'1e999'", "infinite"]),
    "a,y\n1,p\n2,\n": (InvalidDataError, ["line 3", "'y'", "empty"]),
    "1,2,0\n1,2,3,1\n": (DataFileError, ["line 2", "4 columns", "3"]),
    "a,y\n": (DataFileError, ["no samples"]),
    "": (DataFileError, ["empty"]),
    "a\n2\n": (DataFileError, ["one column"]),
    '1,0\n"2,1\n': (DataFileError, ["line 2"]),
}


@pytest.mark.parametrize("text", CSV_ERRORS)
def test_csv_errors(tmp_path, text):
    kind, words = CSV_ERRORS[text]
    path = write(tmp_path / "bad.csv", text)
    with pytest.raises(kind) as caught:
        datasets.load(path)
    for word in ["bad.csv", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("label", "words"),
    [("z", ["'z'", "a, b, y"]), ("7", ["column 7", "3"]), (-4, ["column -4"])],
)
def test_csv_label_errors(tmp_path, label, words):
    path = write(tmp_path / "a.csv", "a,b,y\n1,2,p\n3,4,q\n")
    with pytest.raises(InvalidParameterError) as caught:
        datasets.load(path, label=label)
    for word in words:
        assert word in str(caught.value)


def test_csv_whose_header_lacks_the_name_of_the_rows(tmp_path):
    """R's ``write.table(sep=",")`` names one column less than it writes."""
    (tmp_path / "a.csv").write_text('"a","b"\n"1",2,"x"\n"2",3,"y"\n')
    with pytest.raises(DataFileError, match=r"line 2 has 3 columns.* name every column"):
        datasets.load(tmp_path / "a.csv")


def test_csv_ambiguous_label(tmp_path):
    path = write(tmp_path / "a.csv", "a,a,y\n1,2,3\n")
    with pytest.raises(InvalidParameterError, match="2 columns named 'a'"):
        datasets.load(path, label="a")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 1:2\ncat 1:3\n", ["line 2", "'cat'"]),
        ("1 1:2\n-1 2=3\n", ["line 2", "'2=3'"]),
        ("1 1:2 3:x\n", ["line 1", "'3:x'"]),
        ("1 3:2 2:1\n", ["line 1", "index 2 after 3"]),
        ("", ["no samples"]),
    ],
)
def test_libsvm_errors(tmp_path, text, words):
    path = write(tmp_path / "bad.libsvm", text)
    with pytest.raises(DataFileError) as caught:
        datasets.load(path)
    for word in ["bad.libsvm", *words]:
        assert word in str(caught.value)


def test_libsvm_missing_value(tmp_path):
    path = write(tmp_path / "bad.libsvm", "1 1:2\n-1 2:nan\n")
    with pytest.raises(InvalidDataError, match="line 2, feature 2 is nan"):
        datasets.load(path)


def test_missing_file_directory_and_unknown_suffix(tmp_path):
    for name in ("no.csv", "no.libsvm", "no.npz", "no.parquet"):
        with pytest.raises(DataFileError, match="No such file"):
            datasets.load(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataFileError, match="directory"):
        datasets.load(tmp_path / "folder.csv")
    with pytest.raises(InvalidParameterError, match="name the format"):
        datasets.load(tmp_path / "a.data")
    with pytest.raises(InvalidParameterError, match="'xml'"):
        datasets.load(tmp_path / "a.csv", format="xml")
    with pytest.raises(InvalidParameterError, match="label='y'"):
        datasets.load(tmp_path / "a.npz", label="y")


def test_damaged_compression_and_encoding(tmp_path):
    whole = gzip.compress(b"1,2,0\n3,4,1\n" * 100)
    (tmp_path / "a.csv.gz").write_bytes(whole[:30])
    (tmp_path / "c.csv").write_bytes("a,b\né,1\n".encode("latin-1"))
    with pytest.raises(
        DataFileError, match=r"in line 2 \(as Latin-1 it reads 'é'\); save it as UTF-8"
    ):
        datasets.load(tmp_path / "c.csv")
    (tmp_path / "d.libsvm.bz2").write_bytes(b"nonsense")
    for name in ("a.csv.gz", "c.csv", "d.libsvm.bz2"):
        with pytest.raises(DataFileError, match=name):
            datasets.load(tmp_path / name)


class Bomb:
    """Unpickling it would leave a trace."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_pickles_are_never_loaded(tmp_path):
    trace = tmp_path / "trace"
    objects = np.array([Bomb(trace), 1], dtype=object)
    np.savez(tmp_path / "evil.npz", X=np.ones((2, 1)), y=objects)
    with pytest.raises(DataFileError, match="never loaded"):
        datasets.load(tmp_path / "evil.npz")
    assert not trace.exists()


def test_npz_errors(tmp_path):
    np.savez(tmp_path / "a.npz", data=np.ones(3))
    with pytest.raises(DataFileError, match=r"holds data; it must hold X and y"):
        datasets.load(tmp_path / "a.npz")
    np.savez(
        tmp_path / "b.npz", X_data=[1.0], X_indices=[5], X_indptr=[0, 1], X_shape=[1, 2], y=[1]
    )
    with pytest.raises(DataFileError, match="not a CSR matrix"):
        datasets.load(tmp_path / "b.npz")
    write(tmp_path / "c.npz", "not a zip")
    with pytest.raises(DataFileError, match="damaged"):
        datasets.load(tmp_path / "c.npz")


def load_or_message(path):
    try:
        return datasets.load(path), ""
    except QPSVMError as error:
        return None, str(error)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(
        st.binary(max_size=200),
        st.text(alphabet="0123456789.,:;-+ex \n\t#\"'\0é", max_size=120).map(str.encode),
    ),
    suffix=st.sampled_from([".csv", ".libsvm", ".npz", ".csv.gz", ".libsvm.bz2", ".tsv"]),
)
def test_any_bytes_give_data_or_a_clear_error(tmp_path, content, suffix):
    path = tmp_path / f"fuzz{suffix}"
    path.write_bytes(content)
    data, message = load_or_message(path)
    assert "fuzz" in message if data is None else data.X.shape[0] == len(data.y)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10_000), value=st.integers(0, 255))
def test_npz_with_a_changed_byte(tmp_path, at, value):
    stream = io.BytesIO()
    np.savez(stream, X=np.arange(6.0).reshape(3, 2), y=np.array([0, 1, 1]))
    content = bytearray(stream.getvalue())
    content[at % len(content)] = value
    path = tmp_path / "fuzz.npz"
    path.write_bytes(bytes(content))
    data, message = load_or_message(path)
    assert data is not None or "fuzz" in message


# --- groups, files without labels, Parquet ---------------------------------------------------


def test_groups_of_every_format(tmp_path):
    rows = "query,a,relevance\nq1,1,0\nq1,2,1\nq2,3,0\n"
    csv = datasets.load(write(tmp_path / "a.csv", rows), groups="query")
    assert (csv.groups.tolist(), csv.y.tolist()) == (["q1", "q1", "q2"], [0, 1, 0])
    assert csv.feature_names == ("a",)
    svm = datasets.load(write(tmp_path / "a.svm", "0 qid:7 1:1\n1 qid:7 1:2\n0 qid:8 1:3\n"))
    assert svm.groups.tolist() == [7, 7, 8]
    np.savez(tmp_path / "a.npz", X=np.ones((3, 1)), y=[0, 1, 0], groups=["a", "a", "b"])
    assert datasets.load(tmp_path / "a.npz").groups.tolist() == ["a", "a", "b"]
    assert datasets.load(write(tmp_path / "b.svm", "0 1:1\n1 1:2\n")).groups is None


def test_the_last_column_is_the_label_unless_it_is_that_of_the_groups(tmp_path):
    data = datasets.load(write(tmp_path / "a.csv", "a,y,q\n1,0,5\n2,1,6\n"), groups="q")
    assert data.y.tolist() == [0, 1]


def test_files_without_labels(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,y\n1,2,0\n3,4,1\n")
    data = datasets.load(path, labelled=False)
    assert data.X.shape == (2, 3)
    assert data.y is None
    assert datasets.load(path, labelled=False, label="y").feature_names == ("a", "b")
    np.savez(tmp_path / "a.npz", X=np.ones((3, 1)))
    assert datasets.load(tmp_path / "a.npz", labelled=False).y is None
    with pytest.raises(DataFileError, match="it must hold X and y"):
        datasets.load(tmp_path / "a.npz")


def test_a_column_has_one_role(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,y\n1,2,0\n3,4,1\n")
    with pytest.raises(InvalidParameterError, match="column 2 is named as the label and as the"):
        datasets.load(path, label="y", groups=-1)
    with pytest.raises(InvalidParameterError, match="no column named 'z'"):
        datasets.load(path, groups="z")


def parquet(path, **columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_has_names_and_labels_of_any_kind(tmp_path):
    path = parquet(tmp_path / "a.parquet", a=[1, 2], b=[0.5, 1.5], c=[True, False], kind=["x", "y"])
    data = datasets.load(path)
    assert data.X.tolist() == [[1.0, 0.5, 1.0], [2.0, 1.5, 0.0]]
    assert (data.y.tolist(), data.feature_names) == (["x", "y"], ("a", "b", "c"))
    by_name = datasets.load(path, label="a", groups="kind", format="parquet")
    assert by_name.y.tolist() == [1, 2]
    assert by_name.groups.tolist() == ["x", "y"]


def test_parquet_of_pandas_without_its_index(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": pd.Categorical(["u", "v"])}, index=["i", "j"])
    frame.to_parquet(tmp_path / "a.pq")
    data = datasets.load(tmp_path / "a.pq")
    assert (data.feature_names, data.y.tolist()) == (("a",), ["u", "v"])


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"a": [1.0, None], "y": [0, 1]}, UnreadyColumnsError, "'a' .* 1 of 2 .* missing.* row 1"),
        ({"a": [1.0, np.nan], "y": [0, 1]}, UnreadyColumnsError, "'a' .* missing.* row 1"),
        ({"a": ["u", "v"], "y": [0, 1]}, UnreadyColumnsError, "'a' .* row 0 .*'u', 'v'"),
        ({"a": [1.0, 2.0], "y": ["u", None]}, UnreadyColumnsError, "'y' .* missing.* row 1"),
        ({"y": [0, 1]}, DataFileError, "one column"),
        ({"a": np.zeros(0), "y": np.zeros(0)}, DataFileError, "no samples"),
    ],
)
def test_parquet_errors(tmp_path, columns, error, message):
    with pytest.raises(error, match=message):
        datasets.load(parquet(tmp_path / "a.parquet", **columns))


def test_empty_texts_of_parquet_are_missing(tmp_path):
    import pyarrow as pa

    texts = pa.array([None, None], pa.string())
    path = parquet(tmp_path / "a.parquet", a=texts, b=[1, 2], y=[0, 1])
    with pytest.raises(UnreadyColumnsError, match="'a'  all cells are empty or missing"):
        datasets.load(path)
    known = datasets.load(parquet(tmp_path / "b.parquet", a=[1.0, 2.0], y=[0, 1])).preparation
    path = parquet(tmp_path / "a.parquet", a=texts, y=[0, 1])
    with pytest.raises(UnreadyColumnsError, match=r"'a': row 0 .*is missing; fill it in"):
        datasets.load(path, preparation=known)
    path = parquet(tmp_path / "a.parquet", a=["1", "NA"], y=[0, 1])
    with pytest.raises(UnreadyColumnsError, match=r"'a': row 0 .*is '1', which is not a number"):
        datasets.load(path, preparation=known)  # the file says that they are texts
    path = parquet(tmp_path / "a.parquet", a=["u", ""], y=[0, 1])
    found = datasets.load(path, categorical="a", missing="median")
    assert found.X.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 1000, 2000], "time64[ns]"),
        ([1, 2, 1000, 2000], "timestamp[ns]"),
        ([1, 2, 1000, 2000], "duration[ns]"),
        ([2**63, 2**63 + 1, 2**53, 2**53 + 1], "uint64"),
        (["a", "a\0", "a\0\0", "A"], "string"),
        ([b"a", b"a\0", b"a\0\0", b"A"], "binary"),
    ],
)
def test_different_labels_of_parquet_stay_different_or_are_refused(tmp_path, values, kind):
    import pyarrow as pa

    column = pa.array(values, pa.type_for_alias(kind))
    path = parquet(tmp_path / "a.parquet", x=[0.0, 1.0, 2.0, 3.0], y=column)
    if kind == "string":
        with pytest.raises(InvalidDataError, match="cannot end with NUL"):
            datasets.load(path)
    else:
        assert len(set(datasets.load(path).y.tolist())) == len(values)


@pytest.mark.parametrize(("value", "kind"), [(2**30, "date32[day]"), (2**62, "duration[s]")])
@pytest.mark.parametrize("role", ["feature", "label"])
def test_dates_that_python_does_not_have_are_refused(tmp_path, value, kind, role):
    import pyarrow as pa

    column = pa.array([value, value], pa.type_for_alias(kind))
    columns = {"x": [0.0, 1.0], "y": [0, 1]} | {"y" if role == "label" else "z": column}
    with pytest.raises(DataFileError, match=r"Cannot read .*a\.parquet"):
        datasets.load(parquet(tmp_path / "a.parquet", **columns), label="y")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(50) + b"PAR1", b"no parquet"])
def test_damaged_parquet(tmp_path, content):
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(DataFileError, match=r"Cannot read .*a\.parquet"):
        datasets.load(tmp_path / "a.parquet")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = parquet(tmp_path / "a.parquet", a=[1, 2], y=[0, 1])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r'pip install "qpsvm\[exchange\]"'):
        datasets.load(path)


@pytest.mark.parametrize("text", [b"labels", b"column"])
def test_parquet_whose_text_is_no_utf8(tmp_path, text):
    path = parquet(tmp_path / "a.parquet", column=[1.0, 2.0], y=["labels", "others"])
    path.write_bytes(path.read_bytes().replace(text, b"\x80" + text[1:]))
    with pytest.raises(DataFileError, match=r"Cannot read .*a\.parquet"):
        datasets.load(path)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10_000), value=st.integers(0, 255))
def test_parquet_with_a_changed_byte(tmp_path, at, value):
    path = parquet(tmp_path / "fuzz.parquet", a=[1.0, 2.0], y=["u", "v"])
    content = bytearray(path.read_bytes())
    content[at % len(content)] = value
    path.write_bytes(bytes(content))
    data, message = load_or_message(path)
    assert data is not None or "fuzz" in message


# --- integers --------------------------------------------------------------------------------

OPTIONS = {"a.csv": {"header": False}, "a.tsv": {"header": False}, "a.libsvm": {}}
FILES = {
    "a.csv": "{value},{label}\n1,7\n",
    "a.tsv": "{value}\t{label}\n1\t7\n",
    "a.libsvm": "{label} 1:{value}\n7 1:1\n",
}


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.integers(-(2**66), 2**66) | st.integers(2**53 - 3, 2**53 + 3), zeros=st.booleans())
@example(value=2**53 + 1, zeros=False)
@example(value=2**53 + 1, zeros=True)
def test_whole_features_are_exact_or_refused(name, value, zeros, tmp_path):
    text = f"{value}.00" if zeros else str(value)
    path = write(tmp_path / name, FILES[name].format(value=text, label=1))
    if int(float(value)) == value:
        assert int(datasets.load(path, **OPTIONS[name]).X[0, 0]) == value
    else:
        with pytest.raises(InvalidDataError, match=rf"line 1, .* is {value}, an integer"):
            datasets.load(path, **OPTIONS[name])


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(label=st.integers(-(2**70), 2**70) | st.integers(2**53 - 3, 2**53 + 3))
@example(label=2**53 + 1)
@example(label=2**63)
@example(label=-(2**70))
def test_labels_are_integers_of_any_size(name, label, tmp_path):
    path = write(tmp_path / name, FILES[name].format(value=0.5, label=label))
    y = datasets.load(path, **OPTIONS[name]).y
    assert y.tolist() == [label, 7]
    assert y.dtype.kind == ("i" if abs(label) < 2**63 else "u" if 0 < label < 2**64 else "O")


@pytest.mark.parametrize("name", FILES)
def test_numbers_with_an_exponent_or_a_fraction_are_rounded(name, tmp_path):
    for text in ("1e23", "9007199254740993.5", "0.1", "9.007199254740993e15"):
        path = write(tmp_path / name, FILES[name].format(value=text, label=text))
        data = datasets.load(path, **OPTIONS[name])
        assert data.X[0, 0] == data.y[0] == float(text)


@pytest.mark.parametrize("name", FILES)
def test_integers_beside_other_numbers_are_not_rounded(name, tmp_path):
    text = FILES[name].replace("7", "0.5").format(value=1, label=2**53 + 1)
    with pytest.raises(InvalidDataError, match=r"sample 0 .*is 9007199254740993, an integer"):
        datasets.load(write(tmp_path / name, text), **OPTIONS[name])


@pytest.mark.parametrize("name", FILES)
def test_underscores_are_no_part_of_a_number(name, tmp_path):
    path = write(tmp_path / name, FILES[name].format(value="1_0", label=1))
    with pytest.raises(QPSVMError, match=r"1_0', which is not"):
        datasets.load(path, **OPTIONS[name])
    path = write(tmp_path / name, FILES[name].format(value=1, label="1_0"))
    if name == "a.libsvm":
        with pytest.raises(DataFileError, match=r"begins with '1_0'"):
            datasets.load(path, **OPTIONS[name])
    else:
        assert datasets.load(path, **OPTIONS[name]).y.tolist() == ["1_0", "7"]


def test_queries_are_exact_or_refused(tmp_path):
    lines = "1 qid:{} 1:0.5\n2 qid:9007199254740992 1:1\n"
    path = write(tmp_path / "a.svm", lines.format(2**53 + 1))
    assert datasets.load(path).groups.tolist() == [2**53 + 1, 2**53]
    for bad in (2**63, "1_0"):
        with pytest.raises(DataFileError, match=f"'qid:{bad}', which is no integer of 64 bits"):
            datasets.load(write(tmp_path / "a.svm", lines.format(bad)))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_parquet_integers_are_exact_or_refused(dtype, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ids, good = np.array([2**53 + 1, 2**53], dtype=dtype), np.array([0.5, 1.5])
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a": good, "y": ids}), path)
    assert datasets.load(path).y.tolist() == ids.tolist()
    parquet.write_table(pyarrow.table({"a": good, "y": [True, False]}), path)
    assert datasets.load(path).y.dtype == bool
    parquet.write_table(pyarrow.table({"a": ids, "y": [True, False]}), path)
    with pytest.raises(InvalidDataError, match=r"row 0 .*'a' is 9007199254740993, an integer"):
        datasets.load(path)


# --- what a small file expands to --------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".gz", ".bz2"])
@pytest.mark.parametrize("name", FILES)
def test_a_compressed_text_expands_up_to_a_limit(name, suffix, tmp_path):
    text = FILES[name].format(value=0.5, label=1) * 3000
    packed = {".gz": gzip, ".bz2": bz2}[suffix].compress(text.encode())
    path = tmp_path / f"{name}{suffix}"
    path.write_bytes(packed)
    assert datasets.load(path, limit_bytes=len(text), **OPTIONS[name]).X.shape[0] == 6000
    with pytest.raises(DataFileError, match=rf"has {len(packed):,} bytes .* {len(text) - 1:,} "):
        datasets.load(path, limit_bytes=len(text) - 1, **OPTIONS[name])
    plain = write(tmp_path / name, text)
    assert datasets.load(plain, limit_bytes=1, **OPTIONS[name]).X.shape[0] == 6000


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "1"])
def test_the_limit_is_an_integer_above_zero(limit, tmp_path):
    path = write(tmp_path / "a.csv", "1,2\n3,4\n")
    with pytest.raises(InvalidParameterError, match="limit_bytes"):
        datasets.load(path, limit_bytes=limit)


# --- what a file is, whatever its name ---------------------------------------------------------


def same(some, other):
    assert some.X.shape == other.X.shape
    assert abs(some.X - other.X).sum() == 0.0
    assert some.y.tolist() == other.y.tolist()


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("packer", [gzip, bz2, lzma], ids=lambda packer: packer.__name__)
@pytest.mark.parametrize("name", FILES)
def test_a_text_is_decompressed_whatever_its_name(name, packer, suffix, tmp_path):
    text = FILES[name].format(value=0.5, label=1)
    plain = datasets.load(write(tmp_path / name, text), **OPTIONS[name])
    path = tmp_path / f"b{name}{suffix}"
    for content in (packer.compress(text.encode()), text.encode()):
        path.write_bytes(content)
        same(datasets.load(path, **OPTIONS[name]), plain)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
@pytest.mark.parametrize("name", FILES)
def test_lines_end_as_on_any_system(name, end, tmp_path):
    text = "\ufeff" + FILES[name].format(value=0.5, label=1)
    plain = datasets.load(write(tmp_path / name, text), **OPTIONS[name])
    (tmp_path / f"b{name}").write_bytes(text.replace("\n", end).encode())
    same(datasets.load(tmp_path / f"b{name}", **OPTIONS[name]), plain)


@pytest.mark.parametrize("suffix", FOREIGN)
def test_formats_of_other_programs_are_answered_with_the_way_from_them(suffix, tmp_path):
    with pytest.raises(InvalidParameterError) as caught:
        datasets.load(tmp_path / f"a{suffix}")
    assert FOREIGN[suffix] in str(caught.value)
    assert suffix not in datasets.SUFFIXES


@pytest.mark.parametrize("name", FILES)
def test_an_archive_with_the_name_of_a_text_is_refused(name, tmp_path):
    np.savez(tmp_path / "a.npz", X=[[1.0]], y=[1.0])
    (tmp_path / name).write_bytes((tmp_path / "a.npz").read_bytes())
    with pytest.raises(DataFileError, match=r"is a ZIP archive, as Excel.*: unpack it, save"):
        datasets.load(tmp_path / name)
    assert datasets.load(tmp_path / name, format="npz").y.tolist() == [1.0]


@pytest.mark.parametrize("text", ["a,b,y\n1,2,0\n", "a b y\n3 4 1\n", "a\tb\ty\n1\t2\t0\n"])
def test_a_table_that_is_read_as_libsvm_is_told_its_format(text, tmp_path):
    path = write(tmp_path / "a.txt", text)
    with pytest.raises(DataFileError, match=r"with format='csv' \(--format csv\)"):
        datasets.load(path)
    assert datasets.load(path, format="csv").feature_names == ("a", "b")


@pytest.mark.parametrize("cell", ["1,000.5", "1 000", "1'000", "$1.5", "10%", "\u22121"])
def test_numbers_with_other_characters_are_no_categories(cell, tmp_path):
    """The first remedy is to write them as numbers, and no line of options is offered for them."""
    path = write(tmp_path / "a.csv", f'a,y\n"{cell}",1\n"{cell}",2\n')
    with pytest.raises(UnreadyColumnsError, match=r"-> store them as plain numbers") as caught:
        datasets.load(path)
    assert cell in str(caught.value)
    assert "For example" not in str(caught.value)
