"""Whole numbers that float64 would round are refused; all others are exactly what they were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import qpsvm
from qpsvm.data.samples import as_samples
from qpsvm.data.targets import as_targets
from qpsvm.exceptions import InvalidDataError

LAST = 2**53
"""The last whole number of which all before it are float64."""


def tables(value: int) -> dict[str, object]:
    """A table with the value in row 2, column 1, in every form."""
    integers = [[0, 1], [2, 3], [4, value], [6, 7]]
    mixed = [[0.5, 1], [2.5, 3], [4.5, value], [6.5, 7]]
    forms: dict[str, object] = {
        "list": integers,
        "mixed list": mixed,
        "tuples": tuple(map(tuple, integers)),
        "objects": np.array(integers, dtype=object),
        "mixed objects": np.array(mixed, dtype=object),
    }
    if abs(value) < 2**63:
        forms["int64"] = np.array(integers, dtype=np.int64)
        forms["csr"] = sp.csr_array(forms["int64"])
        forms["coo"] = sp.coo_matrix(forms["int64"])
        forms["frame"] = pd.DataFrame(integers, columns=["a", "b"])
        forms["mixed frame"] = pd.DataFrame(mixed, columns=["a", "b"])
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
    X = np.array([[1e300, 2.0**60], [3.0, LAST + 2]])
    assert (as_samples(X) == X).all()
    assert as_samples([[1e300, True], [2**1000, 1.0]])[1, 0] == 2.0**1000
