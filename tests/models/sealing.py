"""Changes of model files, with checksums that fit again: what a forger would do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from qpsvm.models import record


def members(path: Path) -> dict[str, Any]:
    """All arrays of a file."""
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def rewrite(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays as they are."""
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


def reseal(
    path: Path, arrays: dict[str, Any], change: Callable[[dict[str, Any]], Any] | None = None
) -> None:
    """Write arrays, with changed metadata if asked for, and checksums that fit."""
    data = json.loads(arrays["metadata"].tobytes())
    numbers = {
        name: array
        for name, array in arrays.items()
        if name not in ("metadata", record.OF_METADATA)
    }
    data["sha256"] = {name: record.digest(array) for name, array in numbers.items()}
    if change is not None:
        change(data)
    text = np.frombuffer(json.dumps(data).encode(), dtype=np.uint8)
    rewrite(path, numbers | record.sealed(text))


def change_metadata(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the metadata of a file, with checksums that fit."""
    reseal(path, members(path), change)
