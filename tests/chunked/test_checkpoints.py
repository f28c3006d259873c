"""Checkpoints that were edited: refused, or measured before anything is claimed of them."""

from __future__ import annotations

import errno
import warnings
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import chunked, contents, solving
from qpsvm.exceptions import DataFileError, InvalidDataError, ToleranceNotReachedWarning
from qpsvm.io import npz
from qpsvm.qp import Status
from tests.chunked.large import MEMORY, samples, small_samples
from tests.edits import edits
from tests.strategies import PARTS, listed

EPS = 1e-7
N, ROWS = 3000, 500
X, Y = samples(N)
FAMILIES = {
    "hinge": qpsvm.SoftMargin(C=1.0),
    "squared hinge": qpsvm.SoftMargin(C=100.0, loss="squared_hinge"),
    "margin": qpsvm.NuClassification(0.85),
}


@cache
def problem(family: str) -> Any:
    with small_samples():
        return FAMILIES[family].dual(chunked(X, Y, rows=ROWS))


def written(family: str, path: Path, passes: int) -> dict[str, Any]:
    """The arrays of a checkpoint after so many passes, or at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceNotReachedWarning)
        own = MEMORY | {"checkpoint": path, "max_passes": passes}
        qpsvm.solve(problem(family), eps=EPS, options=own)
    with np.load(path) as arrays:
        return dict(arrays)


def store(path: Path, arrays: dict[str, Any], *, forged: bool) -> None:
    """Write arrays; forged: with the digest that an editor who knows the format would give them."""
    rest = {name: array for name, array in arrays.items() if name != "digest"}
    if forged:
        arrays = rest | {"digest": np.array(solving._digest(rest))}
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


def resumed(family: str, path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceNotReachedWarning)
        own = MEMORY | {"resume": path, "max_passes": 12}
        return qpsvm.solve(problem(family), eps=EPS, options=own)


def assert_true(family: str, found: Any) -> None:
    """Status and certificate say what a pass from scratch finds."""
    own = problem(family)
    stated, measured = found.certificate, qpsvm.certify(own, found)
    rounding = stated.rounding + measured.rounding
    assert abs(stated.primal_objective - measured.primal_objective) <= rounding
    assert stated.dual_objective <= measured.dual_objective + rounding
    assert (found.status is Status.OPTIMAL) is stated.passed(EPS)
    assert qpsvm.verify(own, found, eps=1.01 * EPS).passed or found.status is not Status.OPTIMAL


@listed("family", FAMILIES, quick=1)
def test_whatever_is_edited_is_found_by_the_digest(family: str, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    arrays, count = written(family, path, 40), 0
    for name, changed in edits(arrays):
        store(path, changed, forged=False)
        with pytest.raises(DataFileError, match=r"digest|another problem|not a complete"):
            pytest.fail(f"{name}: {resumed(family, path)}")
        count += 1
    assert count > 100


@listed(
    "family, passes, part",
    [(f, p, k) for p in (3, 40) for f in FAMILIES for k in range(PARTS)],
    quick=1,
)
def test_an_edit_with_a_digest_that_fits_makes_no_false_claim(
    family: str, passes: int, part: int, tmp_path: Path
) -> None:
    """The file is refused, or status and certificate are true of the machine that came out."""
    path = tmp_path / "state.npz"
    arrays, outcomes = written(family, path, passes), list[bool]()
    changes = edits({k: v for k, v in arrays.items() if k != "digest"})
    for name, changed in islice(changes, part, None, PARTS):
        store(path, changed, forged=True)
        try:
            found = resumed(family, path)
        except (DataFileError, InvalidDataError):
            outcomes.append(False)
            continue
        outcomes.append(True)
        try:
            assert_true(family, found)
        except AssertionError as error:
            raise AssertionError(f"{name}: {found!r}") from error
    assert {True, False} == set(outcomes)


def test_a_full_disk_is_named_and_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.npz"
    written("hinge", path, 2)
    before = path.read_bytes()

    def full(stream: Any, arrays: Any) -> None:
        stream.write(bytes(len(arrays)))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(npz, "write", full)
    with pytest.raises(DataFileError, match=r"checkpoint to .*state\.npz.*No space left"):
        written("hinge", path, 2)
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_a_finished_solve_is_measured_again_before_it_is_called_optimal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, own = tmp_path / "state.npz", problem("hinge")
    arrays = written("hinge", path, 40)
    assert not {"primal", "bound", "gap", "certificate"} & set(arrays)
    before = resumed("hinge", path)
    assert before.status is Status.OPTIMAL
    read, checked = list[str](), contents.checked

    def counted(raw: Any, task: Any) -> Any:
        read.append("chunk")
        return checked(raw, task)

    monkeypatch.setattr(contents, "checked", counted)
    found = resumed("hinge", path)
    assert found.status is Status.OPTIMAL
    assert len(read) == own.n_chunks
    assert found.certificate == qpsvm.certify(own, found)
