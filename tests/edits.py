"""Edits of stored arrays, one at a time: what somebody, or a damaged disk, may do to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def last_bit(array: Any) -> Any:
    changed = array.copy()
    flat = changed.reshape(-1).view(np.uint8)
    flat[-1 if array.dtype.byteorder == ">" else -array.dtype.itemsize] ^= 1
    return changed


def swapped(array: Any) -> Any:
    flat = array.reshape(-1).copy()
    flat[[0, -1]] = flat[[-1, 0]]
    return flat.reshape(array.shape)


def with_entry(value: Any) -> Callable[[Any], Any]:
    def changed(array: Any) -> Any:
        result = array.astype(type(value)) if array.dtype.kind in "iub" else array.copy()
        result.reshape(-1)[0] = value
        return result

    return changed


EDITS: dict[str, tuple[str, Callable[[Any], Any]]] = {  # of dtypes of these kinds
    "sign": ("if", np.negative),
    "last bit": ("ifub", last_bit),
    "one more": ("ifub", lambda a: (a + 1).astype(a.dtype)),
    "scaled": ("f", lambda a: 1e3 * a),
    "zeros": ("ifub", np.zeros_like),
    "swapped": ("ifubU", swapped),
    "NaN": ("f", with_entry(np.nan)),
    "infinite": ("f", with_entry(np.inf)),
    "huge": ("f", with_entry(1e300)),
    "shorter": ("ifubU", lambda a: a[:-1]),
    "longer": ("ifubU", lambda a: np.concatenate([a, a])),
    "empty": ("ifubU", lambda a: a.reshape(-1)[:0]),
    "another shape": ("ifubU", lambda a: a[None]),
    "text": ("ifubU", lambda a: np.full(a.shape, "1e-300")),
    "float32": ("f", lambda a: a.astype(np.float32)),
    "other byte order": ("f", lambda a: a.astype(">f8")),
    "whole": ("f", lambda a: np.nan_to_num(a).astype(np.int64)),
}


def edits(arrays: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every way to change one member of a file, with its name."""
    for name, array in arrays.items():
        rest = {key: value for key, value in arrays.items() if key != name}
        yield f"{name} missing", rest
        yield f"{name} twice", arrays | {f"{name}2": array}
        for kind, (dtypes, change) in EDITS.items():
            if array.dtype.kind in dtypes:
                try:
                    changed = np.asarray(change(array))
                except (IndexError, ValueError, ZeroDivisionError):  # a scalar, an empty array
                    continue
                same = changed.dtype == array.dtype and changed.tobytes() == array.tobytes()
                if not (same and changed.shape == array.shape):
                    yield f"{name} {kind}", rest | {name: changed}
