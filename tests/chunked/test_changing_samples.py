"""Samples in chunks that change between passes: refused, whatever holds them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import Expansion, chunked
from qpsvm.exceptions import InvalidDataError

RNG = np.random.default_rng(4)
N, ROWS, EPS = 240, 60, 1e-6
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0.0, 1, -1)
WEIGHTS = RNG.uniform(0.5, 2.0, size=N)
FAMILY = qpsvm.SoftMargin(C=1.0)
RBF = qpsvm.kernels.RBF(gamma=0.5)

REFUSED = r"have changed|differs from the support vector|has another number of them"
Held = tuple[Any, Callable[[Any], None]]
"""Samples, and what writes others in their place."""


def unseen_by_crc(values: Any) -> Any:
    """Other numbers with the same CRC-32: one is changed, and last bits of others undo that."""
    changed = values.copy()
    changed.reshape(-1)[0] += 5.0
    base = zlib.crc32(changed.tobytes())
    bits = changed.reshape(-1).view(np.uint64)
    rows = list[tuple[int, set[int]]]()  # of the changes of the CRC, in echelon form
    for i in range(1, 61):
        bits[i] ^= 1
        change, used = zlib.crc32(changed.tobytes()) ^ base, {i}
        bits[i] ^= 1
        for pivot, others in rows:
            if change ^ pivot < change:
                change, used = change ^ pivot, used ^ others
        if change:
            rows.append((change, used))
    wanted, flipped = base ^ zlib.crc32(values.tobytes()), set[int]()
    for pivot, others in sorted(rows, reverse=True):
        if wanted ^ pivot < wanted:
            wanted, flipped = wanted ^ pivot, flipped ^ others
    bits[list(flipped)] ^= 1
    assert zlib.crc32(changed.tobytes()) == zlib.crc32(values.tobytes())
    return changed


def in_memory(_: Path) -> Held:
    own = X.copy()
    view = own[:]
    own.flags.writeable = False
    return chunked(own, Y, WEIGHTS, rows=ROWS), lambda other: np.copyto(view, other)


def in_a_map(folder: Path) -> Held:
    np.save(folder / "X.npy", X)
    mapped = np.load(folder / "X.npy", mmap_mode="r")

    def write(other: Any) -> None:
        np.load(folder / "X.npy", mmap_mode="r+")[...] = other

    return chunked(mapped, Y, WEIGHTS, rows=ROWS), write


def in_files(folder: Path) -> Held:
    def write(other: Any) -> None:
        for k in range(0, N, ROWS):
            part = slice(k, k + ROWS)
            np.savez(folder / f"{k:04}.npz", X=other[part], y=Y[part], w=WEIGHTS[part])

    write(X)
    return chunked(folder, "y", "w"), write


@dataclass
class Part:
    """Rows of an array, read when they are asked for."""

    own: Any
    start: int

    def read(self) -> Any:
        return self.own[self.start : self.start + ROWS].copy()


def in_dask(_: Path) -> Held:
    own = X.copy()
    blocks = da.concatenate(
        [
            da.from_delayed(dask.delayed(Part(own, k).read)(), (ROWS, 3), float)
            for k in range(0, N, ROWS)
        ]
    )
    given = (da.from_array(part, chunks=ROWS) for part in (Y, WEIGHTS))
    return chunked(blocks, *given), lambda other: np.copyto(own, other)


HOLDERS = {"array": in_memory, "map": in_a_map, "files": in_files, "Dask": in_dask}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "unseen by a CRC": lambda a: np.concatenate([unseen_by_crc(a[:ROWS]), a[ROWS:]]),
    "last bit": lambda a: np.nextafter(a, np.where(np.arange(a.size).reshape(a.shape) == 7, 9, a)),
    "rows swapped": lambda a: np.concatenate([a[1::-1], a[2:]]),
    "zero of the other sign": lambda a: np.where(a == 0.0, -0.0, a),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_changed_samples_are_refused_and_restored_ones_are_not(holder: str, tmp_path: Path) -> None:
    samples, write = HOLDERS[holder](tmp_path)
    problem = FAMILY.dual(samples)
    solution = qpsvm.solve(problem, eps=EPS)
    judged = FAMILY.dual(samples, kernel=RBF)
    whole = qpsvm.solve(FAMILY.dual(X, Y, kernel=RBF, sample_weight=WEIGHTS))
    machine, before = Expansion.of(whole), solution.decision_function(X)
    for change in CHANGES.values():
        other = change(X)
        if other.tobytes() == X.tobytes():
            continue
        write(other)
        for ask in (qpsvm.verify, qpsvm.certify):
            for asked in ((problem, solution), (judged, machine)):
                with pytest.raises(InvalidDataError, match=REFUSED):
                    ask(*asked)
        with pytest.raises(InvalidDataError, match=REFUSED):
            qpsvm.solve(problem, eps=EPS)
        np.testing.assert_array_equal(solution.decision_function(X), before)
        write(X)
    assert qpsvm.verify(problem, solution, eps=1.01 * EPS).passed
    assert qpsvm.verify(judged, machine).passed


@pytest.mark.parametrize("what", ["labels", "weights", "targets", "text"])
def test_changed_labels_targets_and_weights_are_refused(what: str) -> None:
    y = {"targets": X[:, 0] + 1.0, "text": np.where(Y > 0, "yes", "no")}.get(what, Y).copy()
    weights = WEIGHTS.copy()
    family: Any = qpsvm.EpsilonRegression(C=1.0, epsilon=0.1) if what == "targets" else FAMILY
    problem = family.dual(chunked(X, y, weights, rows=ROWS))
    solution = qpsvm.solve(problem, eps=EPS)
    changed = weights if what == "weights" else y
    changed[:2] = changed[ROWS - 1 : ROWS - 3 : -1].copy() if what == "weights" else changed[1::-1]
    if what in ("labels", "text"):
        changed[[np.argmax(y == y[0]), np.argmax(y != y[0])]] = changed[
            [np.argmax(y != y[0]), np.argmax(y == y[0])]
        ]
    with pytest.raises(InvalidDataError, match=REFUSED):
        qpsvm.verify(problem, solution)
