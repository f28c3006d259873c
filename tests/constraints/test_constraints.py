"""Constraints on (w, b): each builder against its definition, read off the decision values."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from qpsvm import constraints
from qpsvm.constraints import LinearConstraints, combine, conflicting
from qpsvm.exceptions import InvalidDataError, InvalidParameterError, InvalidProgramError
from qpsvm.qp import QuadraticProgram
from qpsvm.qp.certificate_search import find_farkas_certificate
from tests.tolerances import REACHED, ROUNDING, SAME_OBJECTIVE

NAMES = ("age", "income", "sex", "low", "mid", "high")
D = len(NAMES)
RNG = np.random.default_rng(5)
SEX = np.array([0.0, 1.0] * 9 + [1.0, 1.0])
X = np.column_stack([RNG.normal(size=(20, 2)), SEX, RNG.poisson(0.7, size=(20, 3))])
SAMPLES = {"dense": X, "csr": sp.csr_array(X)}
GIVEN = LinearConstraints(
    G=[[1.0, 2.0, 0.0, 0.0, 0.0, 0.0]], h=3.0, A=[[0.0] * 6 + [1.0]], b=[-1.0], names=["g", "a"]
)


def random_model(seed):
    rng = np.random.default_rng(seed)
    w, b = rng.normal(size=D), rng.normal()
    return (lambda samples: samples @ w + b), np.append(w, b)


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def residuals(rows, point):
    """``G (w, b) - h``, then ``A (w, b) - b``: in the order of the names."""
    return np.concatenate([dense(rows.G) @ point - rows.h, dense(rows.A) @ point - rows.b])


def assert_same(got, expected):
    for field in ("G", "h", "A", "b"):
        np.testing.assert_array_equal(dense(getattr(got, field)), dense(getattr(expected, field)))
    assert got.names == expected.names


# --- each builder is its definition -------------------------------------------------------------


def slope(f, name):
    """How f changes when one feature grows by one, at some sample."""
    step = np.zeros(D)
    step[NAMES.index(name)] = 1.0
    return f(X[3] + step) - f(X[3])


def covariance(f, z=SEX):
    return np.cov(z, f(X), bias=True)[0, 1]


EYE = np.eye(D)
DEFINITIONS = {  # what must not be positive, or for equalities must be zero
    "nonnegative": (
        constraints.nonnegative("income", "age"),
        lambda f: [-slope(f, "income"), -slope(f, "age")],
    ),
    "nonnegative, all": (
        constraints.nonnegative(),
        lambda f: [-slope(f, name) for name in NAMES],
    ),
    "nonpositive": (constraints.nonpositive(["age"]), lambda f: [slope(f, "age")]),
    "increasing": (constraints.increasing("age"), lambda f: [f(X[0]) - f(X[0] + EYE[0])]),
    "decreasing": (constraints.decreasing("age"), lambda f: [f(X[0] + EYE[0]) - f(X[0])]),
    "bounded": (
        constraints.bounded(["age", "mid"], -0.5, 2.0),
        lambda f: [
            *[-0.5 - slope(f, name) for name in ("age", "mid")],
            *[slope(f, name) - 2.0 for name in ("age", "mid")],
        ],
    ),
    "bounded, all": (
        constraints.bounded(upper=0.5),
        lambda f: [slope(f, name) - 0.5 for name in NAMES],
    ),
    "fixed": (constraints.fixed("sex", 0.25), lambda f: [slope(f, "sex") - 0.25]),
    "ordered": (  # f at samples that differ in the level alone
        constraints.ordered("low", "mid", "high"),
        lambda f: [f(EYE[3]) - f(EYE[4]), f(EYE[4]) - f(EYE[5])],
    ),
    "sum_of, two sides": (
        constraints.sum_of("low", "mid", at_least=-1.0, at_most=1.0),
        lambda f: [
            -1.0 - slope(f, "low") - slope(f, "mid"),
            slope(f, "low") + slope(f, "mid") - 1.0,
        ],
    ),
    "sum_of, all": (
        constraints.sum_of(equals=1.0),
        lambda f: [f(np.ones(D)) - f(np.zeros(D)) - 1.0],
    ),
    "fairness_band": (
        constraints.fairness_band("sex", 0.1),
        lambda f: [-0.1 - covariance(f), covariance(f) - 0.1],
    ),
    "fairness_band, zero": (constraints.fairness_band("sex", 0.0), lambda f: [covariance(f)]),
    "fairness_band, numbers": (
        constraints.fairness_band(X[:, 0] ** 2, 0.3),
        lambda f: [-0.3 - covariance(f, X[:, 0] ** 2), covariance(f, X[:, 0] ** 2) - 0.3],
    ),
}
BUILDERS = {name: builder for name, (builder, _) in DEFINITIONS.items()}
EQUALITIES = ("fixed", "sum_of, all", "fairness_band, zero")


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.parametrize("name", DEFINITIONS)
def test_rows_are_the_definition_on_decision_values(name, samples):
    builder, definition = DEFINITIONS[name]
    rows = combine(builder, samples, NAMES)
    assert len(rows.h if name in EQUALITIES else rows.b) == 0
    for seed in range(5):
        f, point = random_model(seed)
        np.testing.assert_allclose(residuals(rows, point), definition(f), atol=ROUNDING)


@pytest.mark.parametrize("builder", BUILDERS.values(), ids=BUILDERS.keys())
def test_no_builder_touches_the_intercept(builder):
    rows = combine(builder, X, NAMES)
    assert not dense(rows.G)[:, D].any()
    assert not dense(rows.A)[:, D].any()


@pytest.mark.parametrize("builder", BUILDERS.values(), ids=BUILDERS.keys())
def test_a_sparse_x_gives_the_rows_of_the_dense_one(builder):
    got, expected = combine(builder, SAMPLES["csr"], NAMES), combine(builder, X, NAMES)
    for field in ("G", "h", "A", "b"):
        np.testing.assert_allclose(
            dense(getattr(got, field)), dense(getattr(expected, field)), atol=ROUNDING
        )
    assert sp.issparse(got.G) or len(got.h) == 0
    assert got.names == expected.names


@pytest.mark.parametrize("name", [name for name in BUILDERS if "all" not in name])
def test_names_follow_their_columns(name):
    order = np.array([4, 2, 0, 5, 1, 3])
    got = combine(BUILDERS[name], X[:, order], tuple(NAMES[j] for j in order))
    expected = combine(BUILDERS[name], X, NAMES)
    point = random_model(1)[1]
    np.testing.assert_allclose(
        residuals(got, point[[*order, D]]), residuals(expected, point), atol=ROUNDING
    )
    assert got.names == expected.names


def test_a_position_is_the_column_there():
    by_name = combine(constraints.ordered("mid", "age"), X, NAMES)
    assert_same(combine(constraints.ordered(4, np.int64(0)), X, NAMES), by_name)
    assert combine(constraints.ordered(4, 0), X).names == ("ordered: column 4 <= column 0",)


# --- the fairness band ----------------------------------------------------------------------------

SAME_SENSITIVE = {
    "name": "sex",
    "position": 2,
    "array": SEX,
    "booleans": SEX == 1,
    "ints": SEX.astype(int).tolist(),
    "labels": np.where(SEX == 1, "m", "f"),
    "list of labels": np.where(SEX == 1, "m", "f").tolist(),
    "categories": pd.Series(np.where(SEX == 1, "m", "f"), dtype="category"),
    "strings": pd.Series(np.where(SEX == 1, "m", "f"), dtype="string"),
    "nullable": pd.Series(SEX == 1, dtype="boolean"),
    "frame": pd.DataFrame({"sex": SEX}),
    "sparse column": sp.csr_array(SEX[:, None]),
}


@pytest.mark.parametrize("sensitive", SAME_SENSITIVE.values(), ids=SAME_SENSITIVE.keys())
def test_every_container_of_the_same_groups_gives_the_same_band(sensitive):
    got = combine(constraints.fairness_band(sensitive, 0.2), X, NAMES)
    expected = combine(constraints.fairness_band("sex", 0.2), X, NAMES)
    np.testing.assert_array_equal(got.G, expected.G)


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES.keys())
def test_a_weight_of_two_is_a_repeated_row_and_of_zero_a_missing_one(samples):
    weights = np.arange(20) % 3.0
    kept, repeated = np.flatnonzero(weights), np.repeat(np.arange(20), weights.astype(int))
    z = np.random.default_rng(0).normal(size=20)
    for sensitive, again in (("sex", "sex"), (z, z[repeated])):
        got = combine(constraints.fairness_band(sensitive, 0.2), samples[kept], NAMES, weights)
        expected = combine(constraints.fairness_band(again, 0.2), X[repeated], NAMES)
        np.testing.assert_allclose(dense(got.G), dense(expected.G), atol=ROUNDING)


def test_the_covariance_is_the_difference_of_group_means_times_p_1_minus_p():
    f, point = random_model(2)
    rows = combine(constraints.fairness_band("sex", 0.0), X, NAMES)
    p, decision = np.mean(SEX), f(X)
    difference = np.mean(decision[SEX == 1]) - np.mean(decision[SEX == 0])
    assert residuals(rows, point)[0] == pytest.approx(p * (1 - p) * difference, rel=1e-12)


def test_a_common_offset_of_the_samples_leaves_no_rounding():
    samples = np.round(X * 1024) / 1024
    expected = combine(constraints.fairness_band(SEX, 0.1), samples)
    got = combine(constraints.fairness_band(SEX, 0.1), samples + 2.0**40)  # the sum is exact
    np.testing.assert_allclose(got.G, expected.G, atol=ROUNDING)


# --- names say what a row means -------------------------------------------------------------------

ROW_NAMES = {
    "nonnegative: age": constraints.nonnegative("age"),
    "increasing: income": constraints.increasing("income"),
    "bounded: age, lower|bounded: age, upper": constraints.bounded("age", -1, 1),
    "bounded: age": constraints.bounded("age", lower=-1),
    "fixed: sex": constraints.fixed("sex", 0),
    "ordered: low <= mid": constraints.ordered("low", "mid"),
    "sum of: low + mid": constraints.sum_of("low", "mid", at_most=1),
    "sum of: age + income + sex + ... + high": constraints.sum_of(equals=1),
    "fairness band: sex, lower|fairness band: sex, upper": constraints.fairness_band("sex", 1),
    "fairness band: group": constraints.fairness_band(pd.Series(SEX, name="group"), 0),
    "fairness band: given values": constraints.fairness_band(SEX, 0),
    "G[0]|G[1]|A[0]": LinearConstraints(G=np.eye(2, D), h=0, A=np.ones(D), b=1),
    "cap": LinearConstraints(G=np.ones(D), h=0, names="cap"),
}


@pytest.mark.parametrize(("names", "builder"), ROW_NAMES.items(), ids=ROW_NAMES.keys())
def test_names_say_what_a_row_means(names, builder):
    assert combine(builder, X, NAMES).names == tuple(names.split("|"))


# --- rows of one's own ----------------------------------------------------------------------------

SAME_ROWS = {
    "lists": ([[1, 2], [0, 1]], [3, 3]),
    "arrays": (np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([3.0, 3.0])),
    "a number for h": ([[1, 2], [0, 1]], 3),
    "a column for h": ([[1, 2], [0, 1]], [[3], [3]]),
    "csr": (sp.csr_array([[1, 2], [0, 1]]), [3, 3]),
    "coo matrix": (sp.coo_matrix([[1, 2], [0, 1]]), [3, 3]),
    "frame": (pd.DataFrame([[1, 2], [0, 1]]), pd.Series([3, 3])),
}


@pytest.mark.parametrize("rows", SAME_ROWS.values(), ids=SAME_ROWS.keys())
@pytest.mark.parametrize("pair", ["Gh", "Ab"])
def test_every_container_of_the_same_rows_is_the_same_constraint(rows, pair):
    made = LinearConstraints(**dict(zip(pair, rows, strict=True)))
    matrix, right = getattr(made, pair[0]), getattr(made, pair[1])
    np.testing.assert_array_equal(dense(matrix), [[1.0, 2.0], [0.0, 1.0]])
    np.testing.assert_array_equal(right, [3.0, 3.0])
    assert sp.issparse(matrix) == sp.issparse(rows[0])
    assert matrix.dtype == right.dtype == np.float64


@pytest.mark.parametrize("row", [[1.0, 0.0], sp.coo_array(np.array([1.0, 0.0]))], ids=type)
def test_one_row_may_be_a_vector_and_h_a_number(row):
    made = LinearConstraints(G=row, h=2.0)
    assert (made.G.shape, made.h.shape, made.A.shape, made.b.shape) == ((1, 2), (1,), (0, 2), (0,))


@pytest.mark.parametrize("matrix", [np.eye(2), sp.csr_array(np.eye(2))], ids=["dense", "csr"])
def test_constraints_are_immutable_copies_and_stay_so_when_pickled(matrix):
    h = np.ones(2)
    made = LinearConstraints(G=matrix, h=h)
    h[0] = 9.0
    (matrix.data if sp.issparse(matrix) else matrix)[0] = 9.0
    for one in (made, pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        np.testing.assert_array_equal(dense(one.G), np.eye(2))
        np.testing.assert_array_equal(one.h, [1.0, 1.0])
        with pytest.raises(ValueError, match="read-only"):
            (one.G.data if sp.issparse(one.G) else one.G)[0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            one.h[0] = 1.0
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.h = h


@pytest.mark.parametrize("builder", BUILDERS.values(), ids=BUILDERS.keys())
def test_builders_are_pickled_and_do_not_change(builder):
    again = pickle.loads(pickle.dumps(builder))
    assert_same(combine(again, X, NAMES), combine(builder, X, NAMES))
    with pytest.raises(dataclasses.FrozenInstanceError):
        again.label = "other"


@pytest.mark.parametrize("kind", [float, bool, str])
def test_sensitive_values_are_read_only_copies_and_stay_so_when_pickled(kind):
    z = SEX.astype(kind)
    band = constraints.fairness_band(z, 0.1)
    z[:] = z[0]
    for one in (band, pickle.loads(pickle.dumps(band))):
        assert_same(combine(one, X), combine(constraints.fairness_band(SEX, 0.1), X))
        with pytest.raises(ValueError, match="read-only"):
            one.sensitive[0] = 1.0


def test_repr_counts():
    assert repr(GIVEN) == "LinearConstraints(1 inequality, 1 equality)"
    assert repr(combine([], X)) == "LinearConstraints(0 inequalities, 0 equalities)"


# --- combining ------------------------------------------------------------------------------------


def test_combining_is_stacking_and_associative():
    a, b, c = constraints.nonnegative("age"), GIVEN, constraints.fairness_band("sex", 0.1)
    flat = combine([a, b, c], X, NAMES)
    assert_same(combine([combine([a, b], X, NAMES), c], X, NAMES), flat)
    assert_same(combine((a, combine([b, c], X, NAMES)), X, NAMES), flat)
    assert_same(combine([flat, combine([], X)], X), flat)
    parts = [combine(part, X, NAMES) for part in (a, b, c)]
    np.testing.assert_array_equal(dense(flat.G), np.vstack([dense(part.G) for part in parts]))
    np.testing.assert_array_equal(flat.h, [0.0, 3.0, 0.1, 0.1])
    assert flat.names == (
        "nonnegative: age",
        "g",
        "fairness band: sex, lower",
        "fairness band: sex, upper",
        "a",
    )


@pytest.mark.parametrize("items", [[], (), [GIVEN], GIVEN, [constraints.nonnegative()]], ids=str)
def test_combined_rows_have_a_column_for_the_intercept(items):
    combined = combine(items, X, NAMES)
    assert combined.G.shape == (len(combined.h), D + 1)
    assert combined.A.shape == (len(combined.b), D + 1)


def test_a_row_without_the_intercept_has_a_zero_there():
    rows = LinearConstraints(G=sp.csr_array(np.ones((1, D))), h=0, A=np.ones((1, D)), b=0)
    combined = combine(rows, X)
    np.testing.assert_array_equal(combined.G.toarray(), [[1.0] * D + [0.0]])
    np.testing.assert_array_equal(combined.A, [[1.0] * D + [0.0]])


@pytest.mark.parametrize(
    ("items", "sparse"),
    [
        ([GIVEN, constraints.fairness_band("sex", 1.0)], False),
        ([GIVEN, constraints.nonnegative("age")], True),
        ([GIVEN, LinearConstraints(G=sp.csr_array((1, D)), h=0)], True),
        ([], False),
    ],
    ids=["dense", "columns", "sparse", "none"],
)
def test_sparse_rows_make_the_combined_ones_sparse(items, sparse):
    G = combine(items, X, NAMES).G
    assert sp.issparse(G) == sparse
    assert getattr(G, "format", "dense") == ("csr" if sparse else "dense")


def test_whatever_resolves_can_join():
    class UnitSlope:
        def resolve(self, X, *_):
            return LinearConstraints(A=np.eye(1, X.shape[1]), b=1.0, names=["unit slope"])

    assert combine([UnitSlope(), GIVEN], X).names == ("g", "unit slope", "a")


# --- what contradicts -----------------------------------------------------------------------------


def farkas(rows):
    certificate = find_farkas_certificate(
        QuadraticProgram(q=np.zeros(D + 1), G=rows.G, h=rows.h, A=rows.A, b=rows.b)
    )
    assert certificate is not None
    return certificate.z, certificate.y


CONFLICTS = {
    "sign": (
        [constraints.nonnegative("age", "income"), constraints.bounded("age", upper=-1.0)],
        {"nonnegative: age", "bounded: age"},
    ),
    "sum": (
        [
            constraints.bounded(["low", "mid"], upper=1.0),
            constraints.sum_of("low", "mid", equals=3),
        ],
        {"bounded: low", "bounded: mid", "sum of: low + mid"},
    ),
    "order": (
        [
            constraints.ordered("low", "mid", "high"),
            constraints.fixed("low", 1.0),
            constraints.fixed("high", 0.0),
        ],
        {"ordered: low <= mid", "ordered: mid <= high", "fixed: low", "fixed: high"},
    ),
}


@pytest.mark.parametrize(("items", "names"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_a_contradiction_names_its_rows_and_no_other(items, names):
    rows = combine([GIVEN, constraints.fairness_band("sex", 0.1), *items], X, NAMES)
    assert set(conflicting(rows, *farkas(rows))) == names


def test_the_largest_share_comes_first_whatever_the_units():
    rows = combine(CONFLICTS["sum"][0], X, NAMES)
    z, y = farkas(rows)
    expected = conflicting(rows, z, y)
    assert expected[0] == "sum of: low + mid"
    units = np.array([1e4, 1e-4])
    scaled = LinearConstraints(
        G=units[:, None] * dense(rows.G), h=units * rows.h, A=rows.A, b=rows.b, names=rows.names
    )
    assert conflicting(scaled, z / units, y) == expected


def test_noise_and_wrong_signs_are_no_part_of_a_contradiction():
    rows = LinearConstraints(G=[[1.0], [-1.0], [1.0], [1.0]], h=[0.0, -1.0, 5.0, 5.0])
    assert conflicting(rows, [1.0, 1.0, 1e-9, -1.0], []) == ["G[1]", "G[0]"]
    assert conflicting(rows, [1.0, 1.0, 1e-9, -1.0], [], rtol=0) == ["G[1]", "G[0]", "G[2]"]
    assert conflicting(rows, np.zeros(4), []) == []


@pytest.mark.parametrize("small", [1e-3, 1e-8, 1e-12])
def test_a_row_with_a_small_multiplier_is_named_where_the_others_need_it(small):
    """Without ``w_2 >= 0`` the other two hold at (0, -1 / small)."""
    rows = LinearConstraints(G=[[1.0, 0.0], [-1.0, small], [0.0, -1.0]], h=[0.0, -1.0, 0.0])
    assert sorted(conflicting(rows, [1.0, 1.0, small], [])) == ["G[0]", "G[1]", "G[2]"]


def test_a_row_of_zeros_can_contradict_alone():
    rows = LinearConstraints(G=[[0.0], [1.0]], h=[-1.0, 1.0], A=sp.csr_array((1, 1)), b=0.0)
    assert conflicting(rows, [1.0, 0.0], [0.0]) == ["G[0]"]
    with pytest.raises(InvalidProgramError, match="multipliers_ineq has 1 entries"):
        conflicting(rows, [1.0], [0.0])


# --- refusals: what is wrong, the value seen, the remedy ------------------------------------------

BAD_ROWS = {
    "nothing": ({}, ["no rows", "G (w, b) <= h", "A (w, b) = b"]),
    "no h": ({"G": np.eye(2)}, ["G and h belong together", "h is missing", "pass both"]),
    "no G": ({"h": [1.0]}, ["G and h belong together", "G is missing"]),
    "no A": ({"b": [1.0]}, ["A and b belong together", "A is missing"]),
    "lengths": ({"G": np.eye(2), "h": [1.0] * 3}, ["h has 3 entries", "needs 2"]),
    "nan": ({"G": [[np.nan, 1.0]], "h": 0}, ["G contains 1 NaN", "finite"]),
    "nan, sparse": ({"A": sp.csr_array([[np.inf, 1.0]]), "b": 0}, ["A contains 1", "finite"]),
    "infinite h": ({"G": np.eye(2), "h": [0.0, np.inf]}, ["h[1] is inf", "finite"]),
    "text": ({"G": [["a", "b"]], "h": 0}, ["G must hold real numbers"]),
    "complex": ({"G": [[1j, 0]], "h": 0}, ["G must hold real numbers", "complex"]),
    "ragged": ({"G": [[1.0], [1.0, 2.0]], "h": 0}, ["G must have rows of one length"]),
    "a number": ({"G": 1.0, "h": 0}, ["G must be a matrix", "()"]),
    "three dimensions": ({"G": np.ones((1, 1, 1)), "h": 0}, ["G must be a matrix", "(1, 1, 1)"]),
    "no columns": ({"G": [], "h": 0}, ["G has no columns", "one per feature", "intercept"]),
    "names": (
        {"G": np.eye(2), "h": 0, "names": ["a"]},
        ["names is ('a',)", "one string per row", "2 for G", "0 for A"],
    ),
    "names of numbers": ({"G": np.ones(2), "h": 0, "names": [1]}, ["names is (1,)", "string"]),
}


@pytest.mark.parametrize(("arguments", "words"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_bad_rows_are_refused(arguments, words):
    with pytest.raises(InvalidProgramError) as caught:
        LinearConstraints(**arguments)
    for word in words:
        assert word in str(caught.value)


BAD_BUILDERS = {
    "number for a name": (lambda: constraints.nonnegative(1.5), ["(1.5,)", "names", "positions"]),
    "truth value": (lambda: constraints.nonnegative(True), ["nonnegative", "(True,)"]),
    "mask": (lambda: constraints.nonnegative(SEX == 1), ["nonnegative", "positions (integers)"]),
    "empty list": (lambda: constraints.nonnegative([]), ["nonnegative", "()", "at least 1"]),
    "one to order": (lambda: constraints.ordered("a"), ["ordered", "('a',)", "at least 2"]),
    "none to order": (constraints.ordered, ["ordered", "()", "at least 2"]),
    "no bound": (lambda: constraints.bounded("a"), ["bounded", "-inf and inf", "finite"]),
    "no side": (lambda: constraints.sum_of("a"), ["sum of", "-inf and inf", "finite"]),
    "crossed": (lambda: constraints.bounded("a", 2, 1), ["bounded", "2 and 1", "smaller"]),
    "nan": (lambda: constraints.bounded("a", np.nan), ["bounded", "nan and inf", "numbers"]),
    "text": (lambda: constraints.fixed("a", "1"), ["fixed", "'1' and '1'", "numbers"]),
    "infinite": (lambda: constraints.fixed("a", np.inf), ["fixed", "inf and inf", "finite"]),
    "equals and a side": (
        lambda: constraints.sum_of("a", equals=1, at_most=2),
        ["equals is 1", "at_most=2", "pass equals alone"],
    ),
    "negative band": (lambda: constraints.fairness_band("a", -1), ["bound is -1", "0 or more"]),
    "infinite band": (lambda: constraints.fairness_band("a", np.inf), ["bound is inf", "finite"]),
    "text band": (lambda: constraints.fairness_band("a", "x"), ["bound is 'x'", "number"]),
    "misspelt": (
        lambda: combine(constraints.nonnegative("Agee"), X, NAMES),
        ["no column 'Agee'", "did you mean 'age'?"],
    ),
    "case": (
        lambda: combine(constraints.nonnegative("INCOME"), X, NAMES),
        ["no column 'INCOME'", "did you mean 'income'?"],
    ),
    "unknown": (
        lambda: combine(constraints.fairness_band("zzz", 1), X, [*NAMES[:5], "x" * 9]),
        ["no column 'zzz'", "it has 'age', 'income'"],
    ),
    "no names": (
        lambda: combine(constraints.nonnegative("age"), X),
        ["no column 'age'", "no column has a name", "DataFrame", "position"],
    ),
    "out of range": (
        lambda: combine(constraints.nonnegative(6), X, NAMES),
        ["Column 6 is out of range", "6 columns, 0 to 5"],
    ),
    "negative": (
        lambda: combine(constraints.nonnegative(-1), X, NAMES),
        ["Column -1 is out of range", "0 to 5"],
    ),
    "twice": (
        lambda: combine(constraints.sum_of("age", 1, 0, at_most=1), X, NAMES),
        ["Column 'age'", "('age', 1, 0)", "twice", "once"],
    ),
    "two of that name": (
        lambda: combine(constraints.nonnegative("a"), X[:, :3], ["a", "b", "a"]),
        ["X has 2 columns named 'a'", "positions [0, 2]"],
    ),
    "name or position": (
        lambda: combine(constraints.nonnegative(0), X[:, :2], ["1", "0"]),
        ["Column 0", "that position", "named '0'", "as a string"],
    ),
    "width": (
        lambda: combine([GIVEN, LinearConstraints(A=np.eye(3), b=0)], X),
        ["A has 3 columns", "X has 6 features", "pass 6 columns", "or 7"],
    ),
    "not built": (
        lambda: combine(constraints.nonnegative, X),
        ["constraints holds <function nonnegative", "its arguments"],
    ),
    "class": (
        lambda: combine([LinearConstraints], X),
        ["constraints holds <class", "G=..., h=..."],
    ),
    "a pair": (
        lambda: combine((np.eye(6), np.ones(6)), X),
        ["constraints holds array", "pass Lin"],
    ),
}


@pytest.mark.parametrize(("build", "words"), BAD_BUILDERS.values(), ids=BAD_BUILDERS.keys())
def test_bad_builders_are_refused(build, words):
    with pytest.raises(InvalidParameterError) as caught:
        build()
    for word in words:
        assert word in str(caught.value)


def test_an_integer_that_is_also_the_name_of_its_column_is_no_riddle():
    assert combine(constraints.nonnegative(0), X[:, :2], ["0", "1"]).names == ("nonnegative: 0",)


BAD_SENSITIVE = {
    "length": (SEX[:5], ["sensitive has 5 values for 20 rows", "drop the same rows from both"]),
    "constant": (np.ones(20), ["given values", "all 1", "both groups"]),
    "one label": (["f"] * 20, ["sensitive holds 'f'", "two kinds"]),
    "three labels": (list("abc"), ["sensitive holds 'a', 'b', 'c'", "sensitive == group"]),
    "missing label": (["f", None, "m"], ["sensitive holds", "None", "none missing"]),
    "missing label, nan": (["f", np.nan, "m"], ["sensitive holds", "nan", "none missing"]),
    "nan": ([0.0, np.nan], ["sensitive has NaN in row 1"]),
    "masked": (np.ma.array([0.0, 1.0], mask=[False, True]), ["sensitive is a masked array"]),
    "two columns": (np.eye(20)[:, :2], ["sensitive has shape (20, 2)", "one value per row"]),
    "a number": (0.5, ["sensitive has shape ()"]),
    "dates": (np.array(["2020", "2021"], dtype="datetime64[Y]"), ["sensitive", "datetime64"]),
}


@pytest.mark.parametrize(("sensitive", "words"), BAD_SENSITIVE.values(), ids=BAD_SENSITIVE.keys())
def test_bad_sensitive_values_are_refused(sensitive, words):
    with pytest.raises(InvalidDataError) as caught:
        combine(constraints.fairness_band(sensitive, 0.1), X)
    for word in words:
        assert word in str(caught.value)


def test_sensitive_values_go_with_the_rows_given_not_with_those_kept():
    weights = np.ones(20)
    weights[:4] = 0.0
    with pytest.raises(InvalidDataError, match="16 values for 20 rows"):
        combine(constraints.fairness_band(SEX[4:], 0.1), X[4:], NAMES, weights)


# --- a constrained SVM ----------------------------------------------------------------------------


def test_the_constrained_optimum_has_the_properties_asked_for():
    rng = np.random.default_rng(11)
    signs = np.where(rng.normal(size=20) + 1.5 * SEX - X[:, 0] > 0.5, 1.0, -1.0)
    combined = combine(
        [
            constraints.increasing("age"),
            constraints.ordered("low", "mid", "high"),
            constraints.sum_of("low", "mid", "high", equals=0.3),
            constraints.bounded("income", -0.2, 0.2),
            constraints.fairness_band("sex", 0.01),
            LinearConstraints(G=[[0.0] * D + [-1.0]], h=-0.25),  # b >= 0.25
        ],
        sp.csr_array(X),
        NAMES,
    )
    w, b = cp.Variable(D), cp.Variable()
    loss = 0.5 * cp.sum_squares(w) + 2.0 * cp.sum(cp.pos(1 - cp.multiply(signs, X @ w + b)))
    free = cp.Problem(cp.Minimize(loss)).solve(cp.CLARABEL)
    point = cp.hstack([w, b])
    own = [combined.G @ point <= combined.h, combined.A @ point == combined.b]
    optimum = cp.Problem(cp.Minimize(loss), own).solve(cp.CLARABEL)

    decision = X @ w.value + b.value
    slopes = dict(zip(NAMES, w.value, strict=True))
    assert slopes["age"] >= -REACHED
    assert slopes["low"] - REACHED <= slopes["mid"] <= slopes["high"] + REACHED
    assert slopes["low"] + slopes["mid"] + slopes["high"] == pytest.approx(0.3, abs=REACHED)
    assert abs(slopes["income"]) <= 0.2 + REACHED
    assert abs(np.cov(SEX, decision, bias=True)[0, 1]) <= 0.01 + REACHED
    assert b.value >= 0.25 - REACHED
    assert optimum > free + 1e-3  # the constraints cost something, so the test says something

    in_words = [
        w[0] >= 0,
        w[3] <= w[4],
        w[4] <= w[5],
        cp.sum(w[3:]) == 0.3,
        cp.abs(w[1]) <= 0.2,
        cp.abs((SEX - SEX.mean()) @ (X @ w + b)) <= 20 * 0.01,
        b >= 0.25,
    ]
    same = cp.Problem(cp.Minimize(loss), in_words).solve(cp.CLARABEL)
    assert optimum == pytest.approx(same, rel=SAME_OBJECTIVE)
