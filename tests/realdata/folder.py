"""The folder with stored sets: ``QPSVM_DATA``, or ``../shared/data`` from the project's root."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

needs_data = pytest.mark.exhaustive
"""Not in the quick run, which is the same on every machine; ``loader`` skips where no data are."""

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("QPSVM_DATA", ROOT.parent / "shared" / "data"))


@cache
def loader() -> Any:
    """The module ``load.py`` of the folder; skips the test without it."""
    path = FOLDER / "load.py"
    if not path.is_file():
        pytest.skip(f"no data in {FOLDER}: set QPSVM_DATA to a folder with load.py and the sets")
    spec = importlib.util.spec_from_file_location("qpsvm_data_loader", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
