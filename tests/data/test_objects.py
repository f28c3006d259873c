"""Samples that are no numbers: what a kernel function gets, what is refused, what comes out."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import qpsvm
from qpsvm import reports
from qpsvm.data.fingerprints import fingerprint
from qpsvm.data.objects import as_objects, is_numeric
from qpsvm.exceptions import InvalidDataError, KernelError
from qpsvm.kernels import Custom, Kernel
from tests import tolerances

RNG = np.random.default_rng(3)
WORDS = np.array(["".join(RNG.choice(list("abc"), RNG.integers(3, 9))) for _ in range(90)])
MANY_A = np.array([word.count("a") for word in WORDS]) + RNG.normal(0.0, 0.7, 90)
Y = np.where(MANY_A > 2.0, "yes", "no")
NEW = ["abba", "cab", "aaaa"]


def letters(X, Z):
    """Products of letter counts: positive semidefinite, with a matrix of rank three."""
    left, right = ([Counter(text(x)) for x in samples] for samples in (X, Z))
    return np.array([[sum(a[c] * b[c] for c in a) for b in right] for a in left], dtype=float)


def text(sample):
    return sample if isinstance(sample, str) else "".join(map(str, sample))


class Point(NamedTuple):
    x: int
    y: int


class Size(NamedTuple):
    height: int
    width: int


class Tagged(str):
    """Text that a kernel may see more in."""

    __slots__ = ("tag",)

    def __new__(cls, text: str, tag: int) -> Tagged:
        self = super().__new__(cls, text)
        self.tag = tag
        return self


@dataclass(frozen=True)
class Letters(Kernel):
    """The same from an author who knows what it is."""

    name = "letters"
    takes_objects = True

    @property
    def is_positive_semidefinite(self) -> bool:
        return True

    def __call__(self, X, Z):
        return letters(X, Z)


FAMILIES = {
    "hinge": (qpsvm.SoftMargin(C=0.5), Y),
    "squared hinge": (qpsvm.SoftMargin(C=0.5, loss="squared_hinge"), Y),
    "nu": (qpsvm.NuClassification(nu=0.5), Y),
    "regression": (qpsvm.EpsilonRegression(C=0.5, epsilon=0.2), MANY_A),
    "nu regression": (qpsvm.NuRegression(C=0.5, nu=0.5), MANY_A),
    "quantile": (qpsvm.QuantileRegression(tau=0.3, C=0.5), MANY_A),
    "one class": (qpsvm.OneClass(nu=0.3), None),
    "ball": (qpsvm.DataDescription(C=0.3), None),
    "several classes": (qpsvm.CrammerSinger(C=0.5), [word[0] for word in WORDS]),
    "pairs of classes": (qpsvm.OneVsOne(qpsvm.SoftMargin()), [word[0] for word in WORDS]),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kernel", [Custom(letters), Letters()], ids=str)
def test_words_are_what_their_kernel_matrix_is(family, kernel) -> None:
    formulation, y = FAMILIES[family]
    problem = formulation.dual(WORDS, y, kernel=kernel)
    found = qpsvm.solve(problem)
    assert qpsvm.verify(problem, found).passed
    gram = qpsvm.solve(formulation.dual(letters(WORDS, WORDS), y, kernel="precomputed"))
    if family != "ball":  # which needs k(x, x) of new samples
        np.testing.assert_allclose(
            found.decision_function(NEW),
            gram.decision_function(letters(NEW, WORDS)),
            atol=tolerances.SAME_DECISION,
        )
    assert "objects" in str(reports.build(problem, found))


def test_certificates_of_predictions_for_words() -> None:
    problem = qpsvm.SoftMargin(C=0.5).dual(WORDS, Y, kernel=letters)
    certificate = qpsvm.certify(problem, qpsvm.solve(problem))
    values = certificate.decision_bounds(NEW)
    assert (values.lower <= values.upper).all()
    assert len(certificate.predict_certified(NEW)) == len(NEW)


# --- what the function gets ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "shape", "first"),
    [
        (["ab", "c", "d"], (3,), "ab"),
        (("ab", "c", "d"), (3,), "ab"),
        (np.array(["ab", "c", "d"]), (3,), "ab"),
        (pd.Series(["ab", "c", "d"]), (3,), "ab"),
        ([["a", 1], ["b", 2], ["c", 3]], (3, 2), ["a", 1]),
        (pd.DataFrame({"name": ["a", "b", "c"], "size": [1, 2, 3]}), (3, 2), ["a", 1]),
        ([[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]], (3,), [1.0, 2.0]),
        ([{"a", "b"}, {"c"}, set()], (3,), {"a", "b"}),
        ([b"\x00", b"ab", b""], (3,), b"\x00"),
        (["a", 1, 2.5], (3,), "a"),
        ([np.zeros((2, 3)), np.zeros((2, 4)), np.zeros((1, 1))], (3,), np.zeros((2, 3))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_function_gets_samples_as_they_came(samples, shape, first) -> None:
    seen = []

    def kernel(X, Z):
        seen.append(X)
        return np.eye(len(X), len(Z))

    qpsvm.SoftMargin().dual(samples, [1, 2, 2], kernel=kernel)
    assert seen[0].shape == shape
    assert not seen[0].flags.writeable
    given = seen[0][0]
    np.testing.assert_equal(given.tolist() if len(shape) == 2 else given, first)
    assert all(isinstance(entry, type(first)) for entry in [given] if len(shape) == 1)


def test_numbers_stay_numbers() -> None:
    for samples in ([[1, 2], [3, 4]], np.array([[1, Fraction(1, 2)], [2, 3]], dtype=object)):
        assert is_numeric(samples)
        data = qpsvm.SoftMargin().dual(samples, [1, 2], kernel=lambda X, Z: X @ Z.T).data
        assert data.X.dtype == np.float64
        assert data.storage == "dense"


def test_the_caller_cannot_change_what_was_learned_from() -> None:
    words = WORDS.copy()
    data = qpsvm.OneClass().dual(words, kernel=Letters()).data
    words[:] = "c"
    assert (data.X == WORDS).all()


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        (["a", None, "b"], ["None in row 1", "(1 such row)", "kernel knows"]),
        ([["a", 1.0], ["b", np.nan], ["c", 2.0]], ["nan in row 1, column 1"]),
        (pd.Series(["a", None, pd.NA], dtype="string"), ["row 1", "(2 such rows)"]),
        (np.array(["2020-01-01", "NaT", "2021-01-01"], "M8[D]"), ["NaT", "row 1"]),
        ("abc", ["shape ()", "as a list"]),
        (np.full((3, 2, 2), "a"), ["shape (3, 2, 2)", "or a table"]),
        (np.zeros((0,), dtype=object), ["empty"]),
        (np.ma.array(["a", "b"], mask=[False, True]), ["masked", "1 hidden"]),
        (np.array([("a", 1.0), ("b", np.nan)], dtype=[("k", "U1"), ("v", "f8")]), ["row 1"]),
    ],
    ids=str,
)
def test_what_no_samples_are(samples, words) -> None:
    with pytest.raises(InvalidDataError) as caught:
        as_objects(samples)
    for word in words:
        assert word in str(caught.value)


def test_kernels_of_numbers_refuse_words_and_say_what_takes_them() -> None:
    with pytest.raises(InvalidDataError, match="a kernel function of your own"):
        qpsvm.SoftMargin().dual(WORDS, Y, kernel="rbf")


@pytest.mark.parametrize("new", [np.array([["a"]]), "abc", ["a", None]], ids=str)
def test_new_samples_come_as_the_old_ones_did(new) -> None:
    machine = qpsvm.solve(qpsvm.SoftMargin(C=0.5).dual(WORDS, Y, kernel=letters))
    with pytest.raises(InvalidDataError):
        machine.predict(new)


def test_new_sequences_may_be_equally_long_or_one() -> None:
    sequences = [[1.0], [1.0, 2.0], [3.0] * 5, [4.0] * 6]
    kernel = Custom(lambda X, Z: [[float(len(a) * len(b)) for b in Z] for a in X])
    machine = qpsvm.solve(qpsvm.SoftMargin().dual(sequences, [1, 1, 2, 2], kernel=kernel))
    every = machine.decision_function([[9.0], [9.0] * 2, [9.0] * 3])
    for new, expected in (([[9.0] * 2], [1]), ([[9.0], [8.0]], [0, 0])):
        values = machine.decision_function(new)
        np.testing.assert_allclose(values, every[expected], rtol=tolerances.ROUNDING)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy before 2.0")
def test_text_of_any_length_is_text_and_may_be_missing() -> None:
    dtype = np.dtypes.StringDType(na_object=np.nan)
    with pytest.raises(InvalidDataError, match="nan in row 1"):
        as_objects(np.array(["a", np.nan], dtype=dtype))
    assert training_set(WORDS.astype(np.dtypes.StringDType())).equals(training_set(WORDS))


@pytest.mark.parametrize(
    ("values", "words"),
    [(1j * np.eye(3), "complex"), (np.ma.array(np.eye(3), mask=np.eye(3)), "masked")],
    ids=["complex", "masked"],
)
def test_a_function_returns_real_numbers(values, words) -> None:
    with pytest.raises(KernelError, match=words):
        qpsvm.SoftMargin().dual(["a", "b", "c"], [1, 2, 2], kernel=lambda *_: values)


def test_new_rows_of_a_table_have_its_columns() -> None:
    machine = qpsvm.solve(qpsvm.SoftMargin(C=0.5).dual(WORDS[:, None], Y, kernel=letters))
    with pytest.raises(InvalidDataError, match="2 columns, the model was trained on 1"):
        machine.predict([["a", "b"]])


# --- the same samples, or others ------------------------------------------------------------------


def training_set(samples):
    return qpsvm.OneClass().dual(samples, kernel=lambda X, Z: np.eye(len(X), len(Z))).data


def test_a_hash_is_of_the_contents() -> None:
    own = training_set(WORDS)
    for stored in (WORDS.tolist(), WORDS.astype(object), pd.Series(WORDS)):
        same = training_set(stored)
        assert fingerprint(same) == fingerprint(own)
        assert same.equals(own)
    again = pickle.loads(pickle.dumps(own))
    assert fingerprint(again) == fingerprint(own)
    others = [WORDS[::-1], WORDS[:-1], WORDS[:, None], [*WORDS[:-1], "a"], np.char.encode(WORDS)]
    sets = [training_set([s, {3}]) for s in ({8, 0, "b"}, {"b", 0, 8})]
    assert fingerprint(sets[0]) == fingerprint(sets[1])
    assert sets[0].equals(sets[1])
    hashes = {fingerprint(training_set(other)) for other in others} | {fingerprint(own)}
    assert len(hashes) == len(others) + 1
    assert not any(own.equals(training_set(other)) for other in others)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]),
        ([["a", "bc"], ["d", "e"]], [["ab", "c"], ["d", "e"]]),
        ([[1.0], [1.0, 2.0]], [[1.0, 1.0], [2.0]]),
        ([(1, (2, 3)), "x"], [(1, 2, 3), "x"]),
        ([{1, 2}, {3}], [{1}, {2, 3}]),
        ([{1: 2}, {3: 4}], [{1: 3}, {2: 4}]),
        (["1", "a"], [1, "a"]),
        ([2**53, "a"], [2**53 + 1, "a"]),
        ([np.zeros((1, 2)), np.zeros((3, 1))], [np.zeros((2, 1)), np.zeros((3, 1))]),
        ([(1, 2), "a"], [[1, 2], "a"]),
        ([True, "a"], [1, "a"]),
        ([{1: 2, 3: 4}, "a"], [{3: 4, 1: 2}, "a"]),
        ([Point(1, 2), "a"], [Size(1, 2), "a"]),
        ([Tagged("a", 1), "b"], [Tagged("a", 2), "b"]),
        ([np.timedelta64(1, "Y"), "a"], [np.timedelta64(1, "M"), "a"]),
        ([np.ma.array([1, 2], mask=[0, 1]), "a"], [np.ma.array([1, 2], mask=[1, 0]), "a"]),
        ([np.ones(1), "a"], [np.ones(1, dtype=np.float32), "a"]),
        (np.array([1, 2], "M8[D]"), np.array([1, 2], "M8[s]")),
        (
            np.array([(1, 5), (2, 6)], dtype=[("a", "f8"), ("b", "f8")]),
            np.array([(1, 5), (2, 6)], dtype=[("b", "f8"), ("a", "f8")]),
        ),
        (
            np.array([("x", 5), ("y", 6)], dtype=[("a", "O"), ("b", "f8")]),
            np.array([("x", 5), ("z", 6)], dtype=[("a", "O"), ("b", "f8")]),
        ),
        ([lambda: 1, "a"], [lambda: 1, "a"]),  # which nothing can compare
    ],
    ids=lambda value: type(value[0]).__name__,
)
def test_others_are_others(one, other) -> None:
    one, other = training_set(one), training_set(other)
    assert one.equals(one)
    assert not one.equals(other)
    assert fingerprint(one) != fingerprint(other)


class Tree:
    """An object with a memory, and no equality of its own."""

    def __init__(self, word: str) -> None:
        self.word, self.size = word, 0

    def counted(self) -> int:
        self.size = self.size or len(self.word)
        return self.size


@dataclass
class Pair:
    """One with an equality of its own."""

    left: str
    right: str


def test_an_object_is_itself_whatever_it_remembers() -> None:
    def sizes(X, Z):
        return [[float(a.counted() * b.counted()) for b in Z] for a in X]

    trees, y = [Tree("c" * k) for k in (1, 2, 5, 7)], [1, 1, 2, 2]
    solution = qpsvm.solve(qpsvm.SoftMargin().dual(trees, y, kernel=sizes))
    again = qpsvm.SoftMargin().dual(trees, y, kernel=sizes)
    assert qpsvm.verify(again, solution.replace(kernel=again.kernel)).passed
    assert not training_set(trees).equals(training_set([Tree(t.word) for t in trees]))


def test_objects_that_say_they_are_equal_are() -> None:
    x = "".join(["a", "b"])
    one, other = [Pair(x, x), Pair("c", "d")], [Pair(x, "".join(["a", "b"])), Pair("c", "d")]
    assert training_set(one).equals(training_set(other))
    assert not training_set(one).equals(training_set([Pair("a", "c"), Pair("c", "d")]))


@pytest.mark.parametrize(
    "samples",
    [[["a"], ["b", "c"]], [{"a": ["b"]}, {}], [np.zeros(2), np.zeros(3)], [(["a"],), ("b", "c")]],
    ids=lambda value: type(value[0]).__name__,
)
def test_what_a_caller_does_to_lists_later_changes_nothing(samples) -> None:
    data = training_set(samples)
    before, same = fingerprint(data), training_set(copy.deepcopy(samples))
    first = samples[0][0] if isinstance(samples[0], tuple) else samples[0]
    if isinstance(first, np.ndarray):
        first[:] = 7.0
    elif isinstance(first, dict):
        first["a"].append("c")
    else:
        first.append("c")
    assert fingerprint(data) == before
    assert data.equals(same)
    assert not data.equals(training_set(samples))


def test_trees_of_any_depth_have_a_report() -> None:
    def tree(depth):
        return "leaf" if depth == 0 else ("node", tree(depth - 1))

    def is_same(X, Z):
        return np.array([[float(a is b) for b in Z] for a in X])

    samples = np.empty(4, dtype=object)
    samples[:] = [tree(700 + i) for i in range(4)]
    problem = qpsvm.SoftMargin().dual(samples, [1, 1, 2, 2], kernel=is_same)
    assert "objects" in str(reports.build(problem, qpsvm.solve(problem)))
    assert problem.data.equals(qpsvm.SoftMargin().dual(samples, [1, 1, 2, 2], kernel=is_same).data)


def test_a_machine_of_other_words_is_not_believed() -> None:
    problem = qpsvm.SoftMargin(C=0.5).dual(WORDS, Y, kernel=Letters())
    words = WORDS.copy()
    words[5] = "ccc"
    stranger = qpsvm.solve(qpsvm.SoftMargin(C=0.5).dual(words, Y, kernel=Letters()))
    assert qpsvm.verify(problem, qpsvm.solve(problem)).passed
    report = qpsvm.verify(problem, stranger)
    assert not report.passed
    assert "other training data" in str(report)


def test_a_program_of_words_has_a_hash_of_their_contents() -> None:
    programs = [qpsvm.OneClass().dual(w, kernel=Letters()).qp for w in (WORDS, WORDS.tolist())]
    assert programs[0].fingerprint() == programs[1].fingerprint()
