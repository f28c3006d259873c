"""Samples by name: what stands in the column ``data`` of a suite.

=====================================  =========================================================
name                                   samples
=====================================  =========================================================
``breast_cancer``, ``iris``, ``wine``, of scikit-learn, standardised; several classes: the last
``digits``, ``diabetes``               against the rest, digits even against odd
``a9a``, ``cadata``, ...               of the folder ``QPSVM_DATA``, by its ``load.py``: two
                                       classes as its ``binary`` splits them; regression with
                                       dense features and all targets standardised
``synthetic(n, d, seed)``              two overlapping classes: scikit-learn's
                                       ``make_classification``, half of the features
                                       informative, 5% of the labels flipped; standardised
``synthetic_targets(n, d, seed)``      ``make_regression`` with a tenth of noise; standardised
``strip(n, d, margin, seed)``          two classes on either side of a strip of half-width
                                       ``margin``; zero or less: they touch or overlap
=====================================  =========================================================

Every name takes modifiers, applied in this order:

``classes=True``
    All classes instead of two (of sets that exist).
``distinct=True``
    Repeated samples (same features and label) once.
``n=1000, seed=0``
    A random part without replacement (of sets that exist).
``collinear=1e-8``
    A second copy of every column, off by that share of the column's standard deviation.
``spread=1e6``
    Columns multiplied by factors from ``spread**-0.5`` to ``spread**0.5``, evenly in logarithm.
``scale=1e-3``
    All features multiplied.
``copies=2``
    Every sample that often.

Sparse sets are CSR arrays unless more than half of their entries are not zero.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.benchmark.calls import Call, parse
from qpsvm.exceptions import SuiteError

FOLDER = "QPSVM_DATA"
"""The environment variable with the folder of stored sets; ``../shared/data`` without it."""

DENSE_FROM = 0.5
"""Share of entries beyond which a sparse matrix is neither smaller nor faster."""


@dataclass(frozen=True, eq=False)
class Samples:
    """What a suite's name of data stands for.

    Attributes
    ----------
    X : array or CSR array of shape (n, d)
    y : array of shape (n,)
        -1 and +1, or targets.
    name : str
        The call, as suites write it.
    """

    X: Any
    y: Any
    name: str


def load_samples(call: Call | str) -> Samples:
    """The samples of that name, the same ones at every call.

    Parameters
    ----------
    call : Call or str
        ``a9a(n=2000, seed=0)``; see the module's table.

    Raises
    ------
    SuiteError
        An unknown name or argument, a value that does not fit, or a stored set whose folder is not
        there; the message says how to name the folder.

    Examples
    --------
    >>> samples = load_samples("breast_cancer(copies=2)")
    >>> samples.X.shape, samples.y[:2]
    ((1138, 30), array([-1., -1.]))
    """
    call = parse(call) if isinstance(call, str) else call
    given = dict(call.arguments)
    modifiers = {key: given.pop(key) for key in MODIFIERS if key in given}
    distinct = given.pop("distinct", False)
    part: dict[str, Any] = {}
    if call.name in GENERATED:
        X, y = _called(GENERATED[call.name], given, call)
    else:
        part = {key: given.pop(key) for key in ("n", "seed") if key in given}
        X, y = _called(_stored, {"name": call.name, **given}, call)
    if distinct:
        X, y = _distinct(X, y)
    if part:
        X, y = _called(_part, {"X": X, "y": y, **part}, call)
    for key, modify in MODIFIERS.items():
        if key in modifiers:
            X, y = _called(modify, {"X": X, "y": y, key: modifiers[key]}, call)
    return Samples(X, y, str(call))


def _called(function: Callable[..., Any], arguments: Mapping[str, Any], call: Call) -> Any:
    """The function's result; arguments it has not, or cannot use, are an error of the suite."""
    try:
        return function(**arguments)
    except SuiteError:
        raise
    except (TypeError, ValueError) as error:
        raise SuiteError(f"The data {call} cannot be made: {error}.") from error


def folder() -> Path:
    """Where stored sets are looked for."""
    beside_the_project = Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(os.environ.get(FOLDER, beside_the_project))


def needs_folder(call: Call | str) -> bool:
    """Whether these data are a stored set, which not every machine has."""
    name = (parse(call) if isinstance(call, str) else call).name
    return name not in GENERATED and name not in BUNDLED


# --- sets that exist -----------------------------------------------------------------------------


def _stored(name: str, classes: bool = False) -> tuple[Any, Any]:
    if name in BUNDLED:
        return _bundled(name, classes)
    module = _loader(name)
    if name not in module.MANIFEST:
        known = sorted((*BUNDLED, *GENERATED, *module.MANIFEST))
        raise SuiteError(f"There are no data {name!r}; there are {', '.join(known)}.")
    if module.MANIFEST[name]["task"] != "regression":
        X, y = module.binary(name)
        y = module.load(name)["y"] if classes else y
        return _storage(X), np.asarray(y, dtype=np.float64)
    raw = module.load(name)
    X = raw["X"] if sp.issparse(raw["X"]) else _standardised(raw["X"])
    return _storage(X), _standardised(raw["y"])


def _loader(name: str) -> Any:
    path = folder() / "load.py"
    if not path.is_file():
        raise SuiteError(
            f"The data {name!r} are neither generated ({', '.join(sorted(GENERATED))}) nor "
            f"scikit-learn's ({', '.join(sorted(BUNDLED))}), and there is no {path} to look them "
            f"up in: set {FOLDER} to the folder with load.py, manifest.json and the files."
        )
    return _imported(path)


@cache
def _imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("qpsvm_benchmark_stored_sets", path)
    if spec is None or spec.loader is None:
        raise SuiteError(f"{path} is not a Python module.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _storage(X: Any) -> Any:
    if not sp.issparse(X):
        return np.ascontiguousarray(X, dtype=np.float64)
    if X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]:
        return X.toarray()
    return sp.csr_array(X)


BUNDLED: Mapping[str, Callable[[Any], Any]] = {
    "breast_cancer": lambda y: y == 1,
    "diabetes": lambda y: y,
    "digits": lambda y: y % 2 == 0,
    "iris": lambda y: y == 2,
    "wine": lambda y: y == 2,
}
"""Sets that come with scikit-learn, and which samples are positive."""


def _bundled(name: str, classes: bool) -> tuple[Any, Any]:
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    if classes:
        return _standardised(X), y.astype(np.float64)
    side = BUNDLED[name](y)
    return _standardised(X), np.where(side, 1.0, -1.0) if side.dtype == bool else _standardised(y)


def _standardised(values: Any) -> Any:
    """Mean 0 and variance 1, column by column; constant columns become 0."""
    values = np.asarray(values, dtype=np.float64)
    deviation = np.std(values, axis=0)
    return (values - np.mean(values, axis=0)) / np.where(deviation > 0.0, deviation, 1.0)


# --- sets that are made --------------------------------------------------------------------------


def _synthetic(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    from sklearn.datasets import make_classification

    informative = max(2, d // 2)
    X, y = make_classification(
        n, d, n_informative=informative, n_redundant=0, flip_y=0.05, random_state=seed
    )
    return _standardised(X), np.where(y == 1, 1.0, -1.0)


def _synthetic_targets(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    from sklearn.datasets import make_regression

    X, y = make_regression(n, d, n_informative=max(1, d // 2), random_state=seed)
    y = _standardised(y) + 0.1 * np.random.default_rng(seed).standard_normal(n)
    return _standardised(X), _standardised(y)


def _strip(n: int, d: int, margin: float, seed: int = 0) -> tuple[Any, Any]:
    """``s_i x_i1 >= margin``, met with equality by one sample of each class.

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


GENERATED: Mapping[str, Callable[..., tuple[Any, Any]]] = {
    "strip": _strip,
    "synthetic": _synthetic,
    "synthetic_targets": _synthetic_targets,
}


# --- modifiers -----------------------------------------------------------------------------------


def _distinct(X: Any, y: Any) -> tuple[Any, Any]:
    """The first of all samples that agree, in their order."""
    table = np.column_stack([X.toarray() if sp.issparse(X) else X, y])
    _, first = np.unique(table, axis=0, return_index=True)
    kept = np.sort(first)
    return X[kept], y[kept]


def _part(X: Any, y: Any, n: int, seed: int = 0) -> tuple[Any, Any]:
    if not 0 < n <= len(y):
        raise ValueError(f"n is {n}, and the set has {len(y)} samples")
    kept = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[kept], y[kept]


def _collinear(X: Any, y: Any, collinear: float) -> tuple[Any, Any]:
    X = X.toarray() if sp.issparse(X) else X
    noise = np.random.default_rng(0).standard_normal(X.shape)
    return np.hstack([X, X + collinear * np.std(X, axis=0) * noise]), y


def _spread(X: Any, y: Any, spread: float) -> tuple[Any, Any]:
    factors = np.geomspace(spread**-0.5, spread**0.5, X.shape[1])
    return (sp.csr_array(X * factors[None, :]) if sp.issparse(X) else X * factors), y


def _scale(X: Any, y: Any, scale: float) -> tuple[Any, Any]:
    return X * float(scale), y


def _copies(X: Any, y: Any, copies: int) -> tuple[Any, Any]:
    rows = np.repeat(np.arange(len(y)), copies)
    return X[rows], y[rows]


MODIFIERS: Mapping[str, Callable[..., tuple[Any, Any]]] = {
    "collinear": _collinear,
    "spread": _spread,
    "scale": _scale,
    "copies": _copies,
}
"""In the order in which they are applied."""
