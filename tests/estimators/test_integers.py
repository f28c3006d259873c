"""Estimators take integers exactly or refuse them, as the formulations do."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import is_regressor

import qpsvm
from qpsvm import estimators
from qpsvm.estimators import SVC, LinearSVC, LinearSVR, SVMRanker
from qpsvm.estimators.ranking import share_in_order
from qpsvm.exceptions import InvalidDataError, ModelFileError
from qpsvm.selection import SVCSearch, SVRSearch

ID = 2**53 + 1
"""The first integer that float64 does not have."""

GOOD = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 4.0], [3.0, 1.0]])
CODES = np.array([0, 1, 0, 1])
ALL = [
    *(getattr(estimators, name)() for name in estimators.__all__ if name != "NuSVC"),
    estimators.NuSVC(nu=0.3),
    SVCSearch(C=[1.0], gamma=[1.0], cv=2),
    SVRSearch(C=[1.0], gamma=[1.0], cv=2),
]


def name_of(estimator: Any) -> str:
    return type(estimator).__name__


def forms(value: int) -> dict[str, Any]:
    """The samples with an integer in the first row, in every form that scikit-learn takes."""
    integers = [[value, 1], [1, 3], [2, 4], [3, 1]]
    columns = {"a": [value, 1, 2, 3], "b": [1.0, 3.0, 4.5, 1.5]}
    return {
        "mixed": [[value, 1.5], [1, 3], [2, 4], [3, 1]],
        "int64": np.array(integers),
        "uint64": np.array(integers, dtype=np.uint64),
        "extended": np.array(integers, dtype=np.longdouble),
        "objects": np.array(integers, dtype=object),
        "decimals": [[Decimal(number) for number in row] for row in integers],
        "texts": [[str(number) for number in row] for row in integers],
        "sparse": sp.csr_array(np.array(integers)),
        "pandas": pd.DataFrame(columns),
        "nullable": pd.DataFrame(columns | {"a": pd.array(columns["a"], dtype="Int64")}),
        "polars": pl.DataFrame(columns),
    }


@pytest.mark.parametrize("kind", ALL, ids=name_of)
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_samples_are_exact_or_refused(kind: Any) -> None:
    machine = kind.fit(GOOD, CODES)
    methods = ("predict", "decision_function", "predict_certified", "score_samples")
    calls = [getattr(machine, name) for name in methods if hasattr(machine, name)]
    if hasattr(machine, "score"):
        calls.append(lambda X: machine.score(X, CODES))
    for form, X in forms(ID).items():
        for call in (*calls, lambda X: machine.fit(X, CODES)):
            with pytest.raises(InvalidDataError, match=f"X has {ID} in row 0, column"):
                call(X)
        assert machine.predict(GOOD).shape == (4,), form  # of the first fit still
    for X in forms(ID + 1).values():
        assert machine.predict(X).shape == (4,)


@pytest.mark.parametrize("kind", ALL, ids=name_of)
def test_targets_and_weights_are_exact_or_refused(kind: Any) -> None:
    X, mixed = GOOD, [0.5, ID, 0.5, ID]
    if kind.__sklearn_tags__().target_tags.required:
        with pytest.raises(InvalidDataError, match=rf"y\[1\] is {ID}"):
            kind.fit(X, mixed)
    for weights in ([1.0, ID, 1.0, 1.0], [ID] * 4):
        with pytest.raises(InvalidDataError, match=rf"sample_weight\[.\] is {ID}"):
            kind.fit(X, CODES, sample_weight=weights)
    if is_regressor(kind):
        with pytest.raises(InvalidDataError, match=rf"y\[1\] is {ID}"):
            kind.fit(X, CODES).score(X, mixed)


@pytest.mark.parametrize("kind", [SVC, LinearSVC])
@pytest.mark.parametrize(
    "labels",
    [
        [ID - 1, ID],
        [ID - 1, ID, ID + 1],
        [2**63, 2**63 + 1],
        [2**70, 2**70 + 1],
        [-5, 2**63 + 1],
        [False, True],
        ["a", "b"],
    ],
    ids=str,
)
def test_labels_stay_what_they_are(kind: Any, labels: list[Any], tmp_path: Path) -> None:
    k = len(labels)
    codes = np.arange(6 * k) % k
    X = np.eye(k)[codes] + np.random.default_rng(0).normal(scale=0.01, size=(6 * k, k))
    y, others = [labels[c] for c in codes], [labels[(c + 1) % k] for c in codes]
    machine = kind(class_weight={labels[0]: 2.0}).fit(X, y)
    assert machine.classes_.tolist() == labels
    assert machine.class_weight_.tolist() == [2.0] + [1.0] * (k - 1)
    machine.save(tmp_path / "machine.npz")
    loaded: Any = qpsvm.load(tmp_path / "machine.npz")
    with pytest.raises(ModelFileError):
        loaded.restore(X, [*y[:-1], y[0]])
    for each in (machine, loaded, loaded.restore(X, y)):
        assert each.predict(X).tolist() == y
        assert (each.score(X, y), each.score(X, others)) == (1.0, 0.0)
        if isinstance(labels[0], int):
            floats = np.array(y, dtype=np.float64)
            share = np.mean([float(label) == label for label in y])
            assert each.score(X, floats) == share  # a rounded label is another one
    assert machine.predict_certified(X).labels.tolist() == y


def test_relevances_and_groups_of_a_ranking_are_exact() -> None:
    X = [[0.0], [1.0], [3.0], [2.0]]
    assert share_in_order([ID - 1, ID, 2**70, 2**70 + 1], [0.0, 1.0, 2.0, 3.0]) == 1.0
    assert share_in_order([0, 1, 1, 0], [0.0, 1.0, 0.0, 1.0], [ID, ID, ID - 1, ID - 1]) == 0.5
    two = SVMRanker().fit(X, [0, 1, 1, 0], groups=[ID, ID, ID - 1, ID - 1])
    assert two.solution_.data.n_samples == 4
    with pytest.raises(InvalidDataError, match=rf"groups\[1\] is {ID}"):
        SVMRanker().fit(X, [0, 1, 1, 0], groups=[0.5, ID, 0.5, ID])
    with pytest.raises(InvalidDataError, match=rf"y\[1\] is {ID}"):
        SVMRanker().fit(X, [0, ID, 1, 0])


def test_numbers_with_fractions_are_rounded_to_the_nearest() -> None:
    thirds = [[Decimal(k) / 3] for k in range(4)]
    exact = LinearSVR().fit([[float(row[0])] for row in thirds], CODES)
    assert LinearSVR().fit(thirds, CODES).coef_.tolist() == exact.coef_.tolist()
