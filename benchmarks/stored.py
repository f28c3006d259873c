"""Sets of samples of scikit-learn, and of a folder of stored sets."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.arrays import Matrix, Vector
from benchmarks.generated import GENERATED, standardised
from qpsvm.exceptions import SuiteError

FOLDER = "QPSVM_DATA"
"""The environment variable with the folder of stored sets; ``../shared/data`` without it."""

DENSE_FROM = 0.5
"""Share of entries beyond which a sparse matrix is neither smaller nor faster."""


def folder() -> Path:
    """Path of the folder of stored sets."""
    beside_the_project = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get(FOLDER, beside_the_project))


def load_set(name: str, classes: bool = False) -> tuple[Matrix, Vector]:
    """Return samples and labels (or targets) of a set by its name.

    Raises
    ------
    SuiteError
        An unknown name, or no folder of stored sets.
    """
    if name in BUNDLED:
        return _bundled(name, classes)
    require_set(name)
    module = _loader(name)
    if module.MANIFEST[name]["task"] != "regression":
        X, y = module.binary(name)
        y = module.load(name)["y"] if classes else y
        return _storage(X), np.asarray(y, dtype=np.float64)
    raw = module.load(name)
    X = raw["X"] if sp.issparse(raw["X"]) else standardised(raw["X"])
    return _storage(X), standardised(raw["y"])


def require_set(name: str) -> None:
    """Refuse a name of no set.

    Raises
    ------
    SuiteError
        An unknown name, or no folder of stored sets.
    """
    if name in BUNDLED:
        return
    module = _loader(name)
    if name not in module.MANIFEST:
        known = sorted((*BUNDLED, *GENERATED, *module.MANIFEST))
        raise SuiteError(
            f"There are no data {name!r}.{_meant(name, known)} There are {', '.join(known)}, and "
            "files such as heart.csv."
        )


def _meant(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, 1, 0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def _loader(name: str) -> ModuleType:
    path = folder() / "load.py"
    if not path.is_file():
        known = sorted((*BUNDLED, *GENERATED))
        raise SuiteError(
            f"There are no data {name!r}.{_meant(name, known)} There are "
            f"{', '.join(sorted(BUNDLED))} (of scikit-learn), {', '.join(sorted(GENERATED))} "
            f"(generated), and files such as heart.csv. For others set {FOLDER} to the folder with "
            f"load.py, manifest.json and the files; there is no {path}."
        )
    return _imported(path)


@cache
def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("qpsvm_benchmark_stored_sets", path)
    if spec is None or spec.loader is None:
        raise SuiteError(f"{path} is not a Python module.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _storage(X: Matrix) -> Matrix:
    if not sp.issparse(X):
        return np.ascontiguousarray(X, dtype=np.float64)
    if X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]:
        return X.toarray()
    return sp.csr_array(X)


BUNDLED: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "breast_cancer": lambda y: y == 1,
    "diabetes": lambda y: y,
    "digits": lambda y: y % 2 == 0,
    "iris": lambda y: y == 2,
    "wine": lambda y: y == 2,
}
"""Sets that come with scikit-learn, and which samples are positive."""


def _bundled(name: str, classes: bool) -> tuple[Matrix, Vector]:
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    if classes:
        return standardised(X), y.astype(np.float64)
    side = BUNDLED[name](y)
    return standardised(X), np.where(side, 1.0, -1.0) if side.dtype == bool else standardised(y)
