"""NPZ files whose members are not what their directory says: no memory is lost, none is guessed."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from qpsvm.exceptions import DataFileError
from qpsvm.io import npz

EXPANDED = 2**25
METHODS = {"deflate": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}


def member(array: np.ndarray) -> bytes:
    """An array as the content of a member."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize("method", METHODS)
def test_a_member_that_expands_beyond_its_size_takes_no_memory(method: str, tmp_path: Path) -> None:
    path, content = tmp_path / "bomb.npz", member(np.arange(3.0))
    with zipfile.ZipFile(path, "w", METHODS[method]) as archive:
        archive.writestr("X.npy", content + bytes(EXPANDED))
    true, stated = ((len(content) + n).to_bytes(4, "little") for n in (EXPANDED, 0))
    assert path.read_bytes().count(true) == 2  # in the member's header and in the directory
    path.write_bytes(path.read_bytes().replace(true, stated))
    assert path.stat().st_size < 2**17
    tracemalloc.start()
    try:
        with pytest.raises(DataFileError, match=r"damaged|in a way that NumPy does not"):
            npz.read(path, DataFileError, limit_bytes=10**6)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("names", [("X.npy", "X"), ("X", "X.npy")])
def test_an_array_that_is_there_twice_is_refused(names: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "twice.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for number, name in enumerate(names):
            archive.writestr(name, member(np.full(2, number)))
    with pytest.raises(DataFileError, match="twice"):
        npz.read(path, DataFileError, limit_bytes=10**6)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("largest", [0x10FFFF, 0x110000, 0xFFFFFFFF])
def test_texts_that_are_no_unicode_are_refused(order: str, largest: int, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    codes = np.array([65, 66, largest], dtype=f"{order}u4")
    np.savez(path, y=codes.view(f"{order}U1"), X=np.ones(3))
    if largest > 0x10FFFF:
        with pytest.raises(DataFileError, match="'y' holds texts that are not Unicode"):
            npz.read(path, DataFileError, limit_bytes=10**6)
    else:
        found = npz.read(path, DataFileError, limit_bytes=10**6)
        assert list(map(ord, found["y"].tolist())) == [65, 66, largest]


@pytest.mark.parametrize("compressed", [False, True])
def test_what_numpy_writes_is_read(compressed: bool, tmp_path: Path) -> None:
    path, X = tmp_path / "a.npz", np.arange(6.0).reshape(2, 3)
    write = np.savez_compressed if compressed else np.savez
    write(path, X=X, nothing=np.zeros((0, 2)))
    found = npz.read(path, DataFileError, limit_bytes=10**6)
    assert np.array_equal(found["X"], X)
    assert found["nothing"].shape == (0, 2)


@pytest.mark.parametrize("kind", ["c16", "M8[D]", "i4, f8"])
def test_arrays_of_other_kinds_are_refused_by_their_kind(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=np.zeros(2, dtype=kind))
    with pytest.raises(DataFileError, match="only booleans, integers, real numbers and texts"):
        npz.read(path, DataFileError, limit_bytes=10**6)
