"""Samples that the caller changes after a problem is built: no verdict is about others.

Either nothing changes for problem and machine, or verification refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.exceptions import InvalidDataError, QPSVMError, ToleranceNotReachedWarning
from qpsvm.kernels import RBF, Kernel
from qpsvm.qp import Status
from tests.strategies import grid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
OTHER = 3.0 * X[::-1] + 1.0
NEW = RNG.normal(size=(50, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=40) > 0.0, 1, -1)
WEIGHTS = RNG.uniform(0.5, 2.0, size=40)

Held = tuple[Any, Callable[[], None]]
"""What the caller passes, and what changes it."""


def behind(array: Any, other: Any) -> Held:
    """A read-only array of which an older view can be written to."""
    view = array[:]
    array.flags.writeable = False
    return array, lambda: np.copyto(view, other, casting="same_kind")


def writable(_: Path) -> Held:
    own = X.copy()
    return own, lambda: np.copyto(own, OTHER)


def sparse(_: Path) -> Held:
    own = sp.csr_array(X)
    parts = own.data, own.indices, own.indptr
    views = [part[:] for part in parts]
    for part in parts:
        part.flags.writeable = False

    def change() -> None:
        views[0][...] = OTHER.ravel()
        views[1][...] = views[1][::-1].copy()

    return own, change


def map_of(mode: Any, dtype: Any = np.float64) -> Callable[[Path], Held]:
    def held(folder: Path) -> Held:
        path = folder / "X.npy"
        np.save(path, X.astype(dtype))
        own = np.load(path, mmap_mode=mode)

        def change() -> None:
            np.load(path, mmap_mode="r+")[...] = OTHER
            if mode != "r":
                own[...] = OTHER

        return own, change

    return held


def frame(_: Path) -> Held:
    own = pd.DataFrame(X.copy(), columns=list("abc"))

    def change() -> None:
        own.iloc[:, :] = OTHER

    return own, change


def rows(_: Path) -> Held:
    own = X.tolist()
    return own, lambda: own.__setitem__(slice(None), OTHER.tolist())


HELD: dict[str, Callable[[Path], Held]] = {
    "writable": writable,
    "older view": lambda _: behind(X.copy(), OTHER),
    "older view, float32": lambda _: behind(X.astype(np.float32), OTHER),
    "older view, Fortran": lambda _: behind(np.asfortranarray(X), OTHER),
    "window": lambda _: behind(np.vstack([X, X])[:40], OTHER),
    "sparse": sparse,
    "map r": map_of("r"),
    "map r, float32": map_of("r", np.float32),
    "map r+": map_of("r+"),
    "map c": map_of("c"),
    "frame": frame,
    "list": rows,
}
FAMILIES: dict[str, Any] = {
    "classes": qpsvm.SoftMargin(C=2.0),
    "several": qpsvm.CrammerSinger(C=2.0),
    "pairs": qpsvm.OneVsOne(qpsvm.SoftMargin(C=2.0)),
}


@grid(
    "held, kernel, family",
    [(h, k, f) for h in HELD for k in ("linear", "rbf", "custom") for f in FAMILIES],
    together=2,
)
def test_nothing_changes_for_problem_and_machine(
    held: str, kernel: str, family: str, tmp_path: Path
) -> None:
    function: Any = {"linear": "linear", "rbf": RBF(0.5), "custom": gaussian}[kernel]
    given, change = HELD[held](tmp_path)
    labels = Y if family == "classes" else np.arange(40) % 3
    y, weights = labels.copy(), WEIGHTS.copy()
    problem = FAMILIES[family].dual(given, y, kernel=function, sample_weight=weights)
    solution = qpsvm.solve(problem)
    proof = qpsvm.certify(problem, solution)
    new = pd.DataFrame(NEW, columns=list("abc")) if held == "frame" else NEW
    before, gap = solution.decision_function(new), proof.relative_gap
    bounds = proof.decision_bounds(new) if family == "classes" else None
    change()
    y[:], weights[:] = y[::-1].copy(), 7.0
    np.testing.assert_array_equal(solution.decision_function(new), before)
    assert qpsvm.verify(problem, solution).passed
    assert qpsvm.certify(problem, solution).relative_gap == gap
    if bounds is not None:
        np.testing.assert_array_equal(proof.decision_bounds(new).lower, bounds.lower)
    again = qpsvm.solve(problem)
    assert qpsvm.verify(problem, again).passed
    np.testing.assert_allclose(again.decision_function(new), before, atol=1e-4)


def gaussian(left: Any, right: Any) -> Any:
    left, right = (m.toarray() if sp.issparse(m) else np.asarray(m) for m in (left, right))
    return np.exp(-0.5 * ((left[:, None] - right[None]) ** 2).sum(axis=-1))


@pytest.mark.parametrize("made", ["view", "map"])
def test_a_kernel_matrix_that_changes_changes_nothing(made: str, tmp_path: Path) -> None:
    K = gaussian(X, X)
    own, change = behind(K.copy(), np.eye(40))
    if made == "map":
        np.save(tmp_path / "K.npy", K)
        own = np.load(tmp_path / "K.npy", mmap_mode="r")
        _, change = behind(np.load(tmp_path / "K.npy", mmap_mode="r+"), np.eye(40))
    problem = qpsvm.SoftMargin(C=2.0).dual(own, Y, kernel="precomputed", sample_weight=WEIGHTS)
    solution = qpsvm.solve(problem)
    gap = qpsvm.certify(problem, solution).relative_gap
    change()
    np.testing.assert_array_equal(problem.data.X, K)
    assert qpsvm.certify(problem, solution).relative_gap == gap


# --- what the caller's own kernel looks at --------------------------------------------------------


@dataclass(eq=False)
class Point:
    """A sample that is no value: two of them are equal only if they are the same object."""

    place: Any


class OfPoints(Kernel):
    """A Gaussian kernel of points whose width can be changed, and which says it is semidefinite."""

    name = "of points"
    takes_objects = True
    is_positive_semidefinite = True

    def __init__(self) -> None:
        self.width = 0.5

    def parameters(self) -> dict[str, object]:
        return {}

    def __call__(self, X: Any, Z: Any) -> Any:
        left, right = (np.array([point.place for point in points]) for points in (X, Z))
        return np.exp(-self.width * ((left[:, None] - right[None]) ** 2).sum(axis=-1))


def of_points(X: Any, Z: Any) -> Any:
    return OfPoints()(X, Z)


def indefinite(X: Any, Z: Any) -> Any:
    left, right = (np.array([point.place for point in points]) for points in (X, Z))
    return np.tanh(0.5 * left @ right.T - 1.0)


def points() -> Any:
    own = np.empty(40, dtype=object)
    for i, place in enumerate(X):
        own[i] = Point(place.copy())
    return own


@pytest.mark.parametrize(
    ("kernel", "policy"),
    [
        (of_points, "error"),
        (OfPoints(), "error"),
        (indefinite, "clip"),
        (indefinite, "flip"),
        (indefinite, "shift"),
    ],
)
@pytest.mark.parametrize("family", ["classes", "several"])
def test_objects_that_change_are_noticed(kernel: Any, policy: str, family: str) -> None:
    given = points()
    y = Y if family == "classes" else np.arange(40) % 3
    problem = FAMILIES[family].dual(given, y, kernel=kernel, indefinite=policy)
    solution = qpsvm.solve(problem)
    assert qpsvm.verify(problem, solution).passed
    support = int(np.argmax(np.abs(solution.expansion).reshape(40, -1).max(axis=1)))
    place = given[support].place.copy()
    given[support].place += 0.3
    assert not qpsvm.verify(problem, solution).passed
    with pytest.raises(InvalidDataError, match="other values"):
        qpsvm.certify(problem, solution)
    with pytest.warns(ToleranceNotReachedWarning, match="other values"):
        assert qpsvm.solve(problem).status is not Status.OPTIMAL
    given[support].place = place
    assert qpsvm.verify(problem, solution).passed


def test_a_kernel_that_changes_is_noticed() -> None:
    kernel = OfPoints()
    problem = qpsvm.SoftMargin(C=2.0).dual(points(), Y, kernel=kernel)
    solution = qpsvm.solve(problem)
    before = solution.decision_function(points())
    assert qpsvm.verify(problem, solution).passed
    kernel.width = 4.0
    assert np.abs(solution.decision_function(points()) - before).max() > 0.1
    assert not qpsvm.verify(problem, solution).passed
    with pytest.raises(QPSVMError, match="other values"):
        qpsvm.certify(problem, solution)


# --- programs and their solutions -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["P", "q", "G", "h", "A", "b", "lb", "ub"])
@pytest.mark.parametrize("make", [np.array, sp.csc_array], ids=["dense", "sparse"])
def test_a_program_does_not_change_with_its_arguments(name: str, make: Any) -> None:
    given: dict[str, Any] = {
        "P": np.diag([1.0, 2.0]),
        "q": np.ones(2),
        "G": np.array([[1.0, 1.0]]),
        "h": np.ones(1),
        "A": np.array([[1.0, -1.0]]),
        "b": np.zeros(1),
        "lb": np.full(2, -1.0),
        "ub": np.full(2, 1.0),
    }
    if name in "PGA":
        given[name] = make(given[name])
    own = given[name].data if sp.issparse(given[name]) else given[name]
    view = own[:]
    own.flags.writeable = False
    program = qpsvm.qp.QuadraticProgram(**given)
    solution = qpsvm.solve(program)
    before = program.fingerprint(), qpsvm.verify(program, solution).relative_gap
    view *= -3.0
    view += 5.0
    assert program.fingerprint() == before[0]
    assert qpsvm.verify(program, solution).relative_gap == before[1]


@pytest.mark.parametrize("name", ["alpha", "expansion", "slack"])
def test_a_solution_does_not_change_with_the_arrays_that_it_was_made_of(name: str) -> None:
    problem = qpsvm.SoftMargin(C=2.0).dual(X, Y, kernel=RBF(0.5))
    solution = qpsvm.solve(problem)
    given, change = behind(getattr(solution, name).copy(), np.full(40, 0.1))
    own = solution.replace(**{name: given})
    before = own.decision_function(NEW)
    change()
    np.testing.assert_array_equal(getattr(own, name), getattr(solution, name))
    np.testing.assert_array_equal(own.decision_function(NEW), before)
    assert qpsvm.verify(problem, own).passed
