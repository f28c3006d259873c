"""The hash of training data: the same for the same data, another one for any change."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.data.fingerprints import fingerprint

RNG = np.random.default_rng(5)
X = RNG.normal(size=(12, 3)) * (RNG.random((12, 3)) < 0.6)
Y = np.array(["a", "b", "c"] * 4)
WEIGHTS = np.linspace(0.5, 2.0, 12)

FAMILIES = {
    "two classes": (qpsvm.SoftMargin(), Y == "a"),
    "several classes": (qpsvm.CrammerSinger(), Y),
    "numbers": (qpsvm.EpsilonRegression(), np.arange(12.0)),
    "grades": (qpsvm.Ranking(), np.arange(12) % 3),
}
EVERY = pytest.mark.parametrize("kind", FAMILIES)


def hash_of(kind, X, y, weights=None):
    family = FAMILIES[kind][0]
    return fingerprint(family.dual(X, y, sample_weight=weights).data)


@EVERY
def test_the_same_however_it_is_stored(kind):
    y = FAMILIES[kind][1]
    own = hash_of(kind, X, y, WEIGHTS)
    assert len(own) == 64
    for stored in (X.tolist(), np.asfortranarray(X), sp.csr_array(X), sp.coo_array(X), -0.0 + X):
        assert hash_of(kind, stored, y, WEIGHTS) == own
    with_zeros = sp.csr_array(X + 1.0)
    with_zeros.data -= 1.0  # zeros that are stored
    assert hash_of(kind, with_zeros, y) == hash_of(kind, with_zeros.toarray(), y)


@EVERY
def test_another_for_every_change(kind):
    y = FAMILIES[kind][1]
    changed = X.copy()
    changed[3, 1] = np.nextafter(changed[3, 1], 9.0)
    labels = y.copy()
    labels[[4, 5, 6]] = labels[[6, 4, 5]]
    weights = WEIGHTS.copy()
    weights[7] *= 2.0
    order = np.roll(np.arange(12), 1)
    hashes = [
        hash_of(kind, X, y, WEIGHTS),
        hash_of(kind, changed, y, WEIGHTS),
        hash_of(kind, X, labels, WEIGHTS),
        hash_of(kind, X, y, weights),
        hash_of(kind, X, y),
        hash_of(kind, X[order], y[order], WEIGHTS[order]),
        hash_of(kind, np.column_stack([X, np.zeros(12)]), y, WEIGHTS),
    ]
    assert len(set(hashes)) == len(hashes)


def test_rows_of_weight_zero_are_no_data():
    y, keep = FAMILIES["two classes"][1], np.arange(12) != 5
    weights = np.where(keep, 1.0, 0.0)
    assert hash_of("two classes", X, y, weights) == hash_of("two classes", X[keep], y[keep])


def test_labels_are_told_apart_by_value_not_by_type():
    signs = np.where(Y == "a", 1, -1)
    assert hash_of("two classes", X, signs) == hash_of("two classes", X, signs.astype(float))
    assert hash_of("two classes", X, signs) != hash_of("two classes", X, np.where(Y == "a", 2, 1))
    names = np.where(Y == "a", "yes", "no")
    assert hash_of("two classes", X, names) == hash_of("two classes", X, names.astype(object))


def test_samples_without_labels():
    own = fingerprint(qpsvm.OneClass(0.5).dual(X).data)
    assert own == fingerprint(qpsvm.OneClass(0.5).dual(sp.csr_array(X)).data)
    assert own != fingerprint(qpsvm.OneClass(0.5).dual(X[::-1]).data)


def test_pairs_of_a_ranking_are_data():
    grades, groups = FAMILIES["grades"][1], np.arange(12) // 6
    one = fingerprint(qpsvm.Ranking().dual(X, grades).data)
    two = fingerprint(qpsvm.Ranking().dual(X, grades, groups=groups).data)
    assert one != two


def test_pairs_are_better_first():
    data = qpsvm.Ranking().dual(X, FAMILIES["grades"][1]).data
    better, worse = data.pairs.T
    assert (data.values[better] > data.values[worse]).all()
    assert not data.pairs.flags.writeable
