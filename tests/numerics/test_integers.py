"""Whole numbers stay exact or are refused, at every door; other numbers are rounded to nearest."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

import qpsvm
from qpsvm.data.samples import as_samples
from qpsvm.data.targets import as_classes, as_groups, as_targets, as_weights, same_labels
from qpsvm.exceptions import InvalidDataError, InvalidProgramError, KernelError, QPSVMError
from qpsvm.numerics.conversion import is_rounded
from qpsvm.qp import QuadraticProgram

LAST = 2**53
"""The last whole number of which all before it are float64."""


def tables(value: int) -> dict[str, Any]:
    """A table with the value in row 2, column 1, in every form."""
    integers = [[0, 1], [2, 3], [4, value], [6, 7]]
    mixed = [[0.5, 1], [2.5, 3], [4.5, value], [6.5, 7]]
    forms: dict[str, Any] = {
        "list": integers,
        "mixed list": mixed,
        "tuples": tuple(map(tuple, integers)),
        "objects": np.array(integers, dtype=object),
        "mixed objects": np.array(mixed, dtype=object),
        "decimals": [[Decimal(number) for number in row] for row in mixed],
        "fractions": [[Fraction(number) for number in row] for row in mixed],
        "extended": np.array([[0, 1], [2, 3], [4, 0], [6, 7]], dtype=np.longdouble),
    }
    extended = forms["extended"]
    extended[2, 1] = np.longdouble(str(value))
    if int(extended[2, 1]) != value:  # more than 64 bits
        del forms["extended"]
    else:
        forms["extended scalars"] = [list(row) for row in extended]
        forms["extended csr"] = sp.csr_array(extended)
    if abs(value) < 2**63:
        forms["int64"] = np.array(integers, dtype=np.int64)
        forms["csr"] = sp.csr_array(forms["int64"])
        forms["coo"] = sp.coo_matrix(forms["int64"])
        forms["frame"] = pd.DataFrame(integers, columns=["a", "b"])
        forms["mixed frame"] = pd.DataFrame(mixed, columns=["a", "b"])
        forms["arrow"] = pa.table({"a": [0.5] * 4, "b": [1, 3, value, 7]})
        forms["numbers of numpy"] = [[np.float64(a), np.int64(b)] for a, b in mixed]
        forms["nullable"] = pd.DataFrame(
            {"a": pd.array([0.5] * 4), "b": pd.array([1, 3, value, 7])}
        )
    if 0 <= value < 2**64:
        forms["uint64"] = np.array(integers, dtype=np.uint64)
        forms["rows"] = [np.array(row, dtype=np.uint64) for row in integers]
    return forms


@given(
    st.one_of(
        st.integers(-(2**66), 2**66),
        st.builds(lambda k, d: 2**k + d, st.integers(52, 64), st.integers(-3, 3)),
        st.builds(lambda k, d: -(2**k) + d, st.integers(52, 62), st.integers(-3, 3)),
    )
)
@example(LAST + 1)
def test_an_integer_stays_what_it_is_or_is_refused(value: int) -> None:
    for form, X in tables(value).items():
        if int(float(value)) == value:
            taken = as_samples(X)
            taken = taken.toarray() if sp.issparse(taken) else taken
            assert int(taken[2, 1]) == value, form
        else:
            with pytest.raises(InvalidDataError, match=rf"X has {value} in row 2, column .*rounds"):
                as_samples(X)


def test_different_identifiers_are_not_made_equal() -> None:
    X = np.array([[LAST], [LAST + 1], [5], [7]])
    with pytest.raises(InvalidDataError, match=f"{LAST + 1} in row 1, column 0.*to {LAST}.*offset"):
        qpsvm.SoftMargin(1.0).dual(X, [0, 1, 0, 1])
    qpsvm.SoftMargin(1.0).dual(X - LAST, [0, 1, 0, 1])
    frame = pd.DataFrame({"x": [0.5, 1.5], "id": [LAST, -LAST - 1]})
    with pytest.raises(InvalidDataError, match=f"-{LAST + 1} in row 1, column 'id'"):
        qpsvm.SoftMargin(1.0).dual(frame, [0, 1])


def test_new_samples_are_checked_as_those_of_the_training() -> None:
    solution = qpsvm.solve(qpsvm.SoftMargin(1.0).dual([[0], [1], [2], [3]], [0, 0, 1, 1]))
    with pytest.raises(InvalidDataError, match="in row 0, column 0"):
        solution.predict([[LAST + 1]])


@pytest.mark.parametrize(
    "y",
    [
        [1.5, LAST + 1],
        np.array([1, LAST + 1]),
        np.array([[1], [LAST + 1]]),
        pd.Series([1, LAST + 1]),
        np.array([1.5, LAST + 1], dtype=object),
    ],
    ids=lambda y: type(y).__name__,
)
def test_targets_are_not_rounded(y: object) -> None:
    with pytest.raises(InvalidDataError, match=rf"y\[1\] is {LAST + 1}.*rounds to {LAST}"):
        as_targets(y)


def test_large_numbers_that_are_no_integers_are_taken() -> None:
    X = np.array([[1e150, 2.0**60], [3.0, LAST + 2]])
    assert (as_samples(X) == X).all()
    assert as_samples([[1e150, True], [2**500, 1.0]])[1, 0] == 2.0**500


@given(
    st.one_of(
        st.integers(-(2**80), 2**80),
        st.decimals(-(10**20), 10**20, places=3),
        st.fractions(-(2**60), 2**60),
        st.floats(allow_nan=False),
    )
)
@example(LAST + 1)
@example(Decimal(LAST + 1))
@example(Decimal("9007199254740993.5"))
def test_only_whole_numbers_are_refused(number: Any) -> None:
    whole = math.isfinite(number) and int(number) == number
    assert is_rounded(number) == (whole and int(float(number)) != int(number))
    if isinstance(number, int | Decimal):
        text = f"{number:f}" if isinstance(number, Decimal) else str(number)
        assert is_rounded(text) == is_rounded(text.encode()) == is_rounded(number)
        assert not is_rounded(f"{number:e}")


@pytest.mark.parametrize("entries", [[LAST, 1], [LAST + 1, -1], [LAST + 1, -LAST]])
def test_entries_of_one_place_are_exact_before_and_after_they_are_added(entries: list[int]) -> None:
    ends, columns = np.array([0, 2, 2]), np.array([1, 1])
    compressed = sp.csr_array((np.array(entries), columns, ends), (2, 2))
    for matrix in (compressed, compressed.tocoo()):
        with pytest.raises(InvalidDataError, match="row 0, column 1"):
            as_samples(matrix)


BAD = [LAST + 1, np.uint64(LAST + 1), np.longdouble(LAST) + 1, Decimal(LAST + 1), 10**30]
"""Whole numbers that float64 does not have, of several types."""


@pytest.mark.parametrize("bad", BAD, ids=lambda value: type(value).__name__)
def test_programs_are_exact(bad: Any) -> None:
    good: dict[str, Any] = {
        "P": np.eye(2).tolist(),
        "q": [0.5, 1.0],
        "G": [[1.0, 0.5]],
        "h": [0.5],
        "A": [[0.5, 1.0]],
        "b": [2.5],
        "lb": [0.5, 0.0],
        "ub": [3.5, 3.0],
    }
    QuadraticProgram(**good)
    for name, value in good.items():
        first = [bad, *value[0][1:]] if isinstance(value[0], list) else bad
        with pytest.raises(InvalidProgramError, match=rf"{name}\[.*is {int(bad)}, an integer"):
            QuadraticProgram(**(good | {name: [first, *value[1:]]}))
    matrix = sp.csc_array(np.array([[int(bad) % 2**62, 0], [0, 1]]))
    if is_rounded(int(bad) % 2**62):
        with pytest.raises(InvalidProgramError, match=r"P\[0, 0\]"):
            QuadraticProgram(matrix, [0.5, 1.0])


@pytest.mark.parametrize("bad", BAD, ids=lambda value: type(value).__name__)
def test_weights_kernels_and_new_samples_are_exact(bad: Any) -> None:
    X, y = [[0.5], [1.0]], [0, 1]
    family = qpsvm.SoftMargin(1.0)
    with pytest.raises(InvalidDataError, match="sample_weight"):
        as_weights([bad, 0.5], 2)
    with pytest.raises(KernelError, match=rf"{int(bad)} for the pair \(0, 0\)"):
        family.dual(X, y, kernel=lambda *_: [[bad, 0.5], [0.5, bad]])
    with pytest.raises(InvalidDataError, match=str(int(bad))):
        family.dual([[bad, 0.5], [0.5, 1.0]], y, kernel="precomputed")
    with pytest.raises(QPSVMError, match=r"class_weight\[0\]"):
        qpsvm.SoftMargin(1.0, class_weight={0: bad, 1: 1.0})
    solution = qpsvm.solve(family.dual(X, y))
    for method in (solution.predict, solution.decision_function):
        with pytest.raises(InvalidDataError, match=str(int(bad))):
            method([[bad], [0.5]])


@given(
    st.lists(st.integers(-(2**66), 2**66) | st.integers(LAST - 3, LAST + 3), min_size=2).filter(
        lambda labels: len(set(labels)) > 1
    )
)
@example([2**63, -1])
@example([LAST, LAST + 1])
def test_labels_are_integers_of_any_size(labels: list[int]) -> None:
    codes, classes = as_classes(labels)
    assert [int(classes[code]) for code in codes] == labels
    assert len(classes) == len(set(labels))
    groups = as_groups(labels, len(labels))
    assert len(set(groups.tolist())) == len(set(labels))


@given(st.lists(st.integers(LAST - 3, LAST + 3) | st.floats(0.0, 1.0), min_size=2, max_size=5))
@example([LAST + 1, 0.5])
def test_labels_of_several_kinds_are_not_made_equal(labels: list[Any]) -> None:
    if len(set(labels)) == 1:
        return
    rounded = any(map(is_rounded, labels)) and not all(isinstance(each, int) for each in labels)
    if rounded:
        with pytest.raises(InvalidDataError, match="an integer that float64 rounds"):
            as_classes(labels)
    else:
        codes, classes = as_classes(labels)
        assert [classes.tolist()[code] for code in codes] == labels


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, object])
def test_labels_are_compared_exactly(dtype: Any) -> None:
    labels = [LAST, LAST + 1, LAST + 2, 7]
    exact, floats = np.array(labels, dtype=dtype), np.array(labels, dtype=np.float64)
    assert same_labels(exact, floats).tolist() == [True, False, True, True]
    assert same_labels(floats, exact).tolist() == [True, False, True, True]
    assert same_labels(exact, exact).all()


def test_training_sets_of_different_labels_have_different_fingerprints() -> None:
    X = [[0.0], [1.0]]
    data = [
        qpsvm.SoftMargin(1.0).dual(X, [LAST - 1, label]).data for label in (LAST, LAST + 1, LAST)
    ]
    prints = [qpsvm.data.fingerprint(each) for each in data]
    assert prints[0] == prints[2] != prints[1]
    assert data[0].equals(data[2])
    assert not data[0].equals(data[1])
