"""Sets of samples: generated from a seed, of scikit-learn, of a folder, of a file of one's own."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from qpsvm import datasets
from qpsvm.exceptions import QPSVMError, SuiteError

Vector: TypeAlias = NDArray[np.float64]
"""One-dimensional float64 array."""

Matrix: TypeAlias = Any
"""Array or CSR array of shape (n, d); SciPy ships no type information."""


def standardised(values: ArrayLike) -> NDArray[np.float64]:
    """Shift and scale columns to mean 0 and variance 1; constant columns become 0."""
    array = np.asarray(values, dtype=np.float64)
    deviation = np.std(array, axis=0)
    shifted: NDArray[np.float64] = array - np.mean(array, axis=0)
    return shifted / np.where(deviation > 0.0, deviation, 1.0)


# --- generated ------------------------------------------------------------------------------------


def _synthetic(n: int, d: int, seed: int = 0) -> tuple[Matrix, Vector]:
    from sklearn.datasets import make_classification

    informative = max(2, d // 2)
    X, y = make_classification(
        n, d, n_informative=informative, n_redundant=0, flip_y=0.05, random_state=seed
    )
    return standardised(X), np.where(y == 1, 1.0, -1.0)


def _synthetic_targets(n: int, d: int, seed: int = 0) -> tuple[Matrix, Vector]:
    from sklearn.datasets import make_regression

    X, y = make_regression(n, d, n_informative=max(1, d // 2), random_state=seed)
    y = standardised(y) + 0.1 * np.random.default_rng(seed).standard_normal(n)
    return standardised(X), standardised(y)


def _synthetic_text(
    n: int, d: int, tokens: int = 80, flipped: float = 0.05, seed: int = 0
) -> tuple[Matrix, Vector]:
    """Documents of words drawn by Zipf's law, with labels of a linear machine.

    Word k has probability in proportion to 1 / k. Features are ``log(1 + count)``, rows have norm
    1. The labels are the signs of a normal weight for every word, about their median, and a share
    of them is flipped.
    """
    rng = np.random.default_rng(seed)
    shares = np.cumsum(1.0 / np.arange(1.0, d + 1.0))
    words = np.searchsorted(shares, shares[-1] * rng.random(n * tokens), side="right")
    words = np.minimum(words, d - 1).astype(np.int32)
    starts = np.arange(0, n * tokens + 1, tokens, dtype=np.int32)
    X = sp.csr_array((np.ones(n * tokens), words, starts), shape=(n, d))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
    scores = X @ rng.standard_normal(d)
    y = np.where(scores > np.median(scores), 1.0, -1.0)
    return X, np.where(rng.random(n) < flipped, -y, y)


def _strip(n: int, d: int, margin: float, seed: int = 0) -> tuple[Matrix, Vector]:
    """Two classes with ``y_i x_i1 >= margin``, with equality for one sample of each class.

    For ``margin > 0`` the two that meet it differ in the first feature alone, so that the hard
    margin is known: ``w = e_1 / margin, b = 0``. Otherwise four samples on the first axis are, in
    this order, negative, positive, negative, positive (the middle two the same point for 0):
    nothing separates them.
    """
    if n < 4:
        raise ValueError(f"n is {n}, and the strip takes 4 samples")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X[:, 0] = y * (max(margin, 0.0) + np.abs(X[:, 0]))
    X[:4] = 0.0
    X[:4, 0] = [margin, -margin, abs(margin) + 1.0, -abs(margin) - 1.0]
    return X, y


GENERATED: Mapping[str, Callable[..., tuple[Matrix, Vector]]] = {
    "strip": _strip,
    "synthetic": _synthetic,
    "synthetic_targets": _synthetic_targets,
    "synthetic_text": _synthetic_text,
}


# --- bundled and stored ---------------------------------------------------------------------------

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
    module = _loader_of(name)
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
    if name not in BUNDLED:
        _loader_of(name)


def _loader_of(name: str) -> ModuleType:
    """The module of the folder of stored sets, which has a set of this name."""
    path = folder() / "load.py"
    module = _loader(path) if path.is_file() else None
    stored = () if module is None else module.MANIFEST
    if module is not None and name in stored:
        return module
    known = sorted((*BUNDLED, *GENERATED, *stored))
    near = get_close_matches(name, known, 1, 0.6)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    others = (
        f" For others set {FOLDER} to the folder with load.py, manifest.json and the files; there "
        f"is no {path}."
    )
    raise SuiteError(
        f"There are no data {name!r}.{meant} There are {', '.join(known)}, and files such as "
        f"heart.csv.{others if module is None else ''}"
    )


@cache
def _loader(path: Path) -> ModuleType:
    return import_file(path, "qpsvm_benchmark_stored_sets")


def import_file(path: Path, name: str) -> ModuleType:
    """Import a file that is in no package as a module of this name.

    Raises
    ------
    SuiteError
        There is no such file of Python.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SuiteError(f"There is no file {path} of Python.")
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


# --- files of one's own ---------------------------------------------------------------------------

MOST_CLASSES = 20
"""Whole numbers of up to so many kinds are classes; more are targets of a regression."""


def is_file_name(name: str) -> bool:
    """Return whether a name of data is that of a file, by its suffix.

    Examples
    --------
    >>> is_file_name("heart.csv"), is_file_name("a9a"), is_file_name("iris(n=50)")
    (True, False, False)
    """
    return any(suffix.lower() in datasets.SUFFIXES for suffix in Path(name).suffixes[-2:])


def load_file(path: str, label: str | int | None = None) -> tuple[Matrix, Vector]:
    """Return standardised samples of a file, and labels of -1 and 1 or standardised targets.

    Parameters
    ----------
    path : str
    label : str or int, optional
        As for ``qpsvm.datasets.load``.

    Raises
    ------
    SuiteError
        A file that cannot be read, or without labels.
    """
    try:
        data = datasets.load(path, label=label)
    except QPSVMError as error:
        raise SuiteError(f"The data in {path!r} cannot be used: {error}") from error
    if data.y is None:
        raise SuiteError(f"The file {path!r} has no labels; name their column: label='...'.")
    X = data.X if sp.issparse(data.X) else standardised(data.X)
    labels = np.asarray(data.y)
    kinds = np.unique(labels)
    is_number = labels.dtype.kind in "biuf"
    whole = is_number and bool(np.all(labels == np.round(labels.astype(np.float64))))
    if is_number and not (whole and len(kinds) <= MOST_CLASSES):
        return X, standardised(labels.astype(np.float64))
    if len(kinds) < 2:
        raise SuiteError(f"The file {path!r} has only one class, {kinds.tolist()[0]!r}.")
    return X, np.where(labels == kinds[-1], 1.0, -1.0)
