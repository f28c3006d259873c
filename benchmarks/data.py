"""Samples by name, as the column ``data`` of a suite gives it.

=====================================  =========================================================
name                                   samples
=====================================  =========================================================
``breast_cancer``, ``iris``,           of scikit-learn, standardised; several classes: the last
``wine``, ``digits``, ``diabetes``     against the rest, digits even against odd
``a9a``, ``cadata``, ...               of the folder ``QPSVM_DATA``, by its ``load.py``: two
                                       classes as its ``binary`` splits them; regression with
                                       dense features and all targets standardised
``synthetic(n, d, seed)``              two overlapping classes: scikit-learn's
                                       ``make_classification``, half of the features
                                       informative, 5% of the labels flipped; standardised
``synthetic_targets(n, d, seed)``      ``make_regression`` with a tenth of noise; standardised
``synthetic_text(n, d, seed)``         documents of 80 words drawn by Zipf's law: logarithms of
                                       counts, rows of norm 1; a linear machine's labels, 5%
                                       flipped; ``tokens=``, ``flipped=``; sparse
``heart.csv``, ``file(path, label)``   a file of one's own, as ``qpsvm.datasets.load`` reads it:
                                       standardised; words, or whole numbers of up to 20 kinds, are
                                       classes (the last against the rest), others targets
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

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from benchmarks.cells import Call, parse
from benchmarks.sets import (
    GENERATED,
    Matrix,
    Vector,
    is_file_name,
    load_file,
    load_set,
    require_set,
)
from qpsvm.exceptions import SuiteError

Make: TypeAlias = Callable[..., tuple[Matrix, Vector]]
"""A function that makes samples and labels, or that changes them."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples and labels (or targets) of one name of data.

    Attributes
    ----------
    X : array or CSR array of shape (n, d)
    y : array of shape (n,)
        -1 and +1, or targets.
    name : str
        The call, as suites write it.
    """

    X: Matrix
    y: Vector
    name: str


def load_samples(call: Call | str) -> Samples:
    """Return the samples of a name; the same samples at every call.

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
    call = parse(call)
    make, arguments, modifiers = _steps(call)
    X, y = _called(make, arguments, call)
    for modify, changes in modifiers.items():
        X, y = _called(modify, {"X": X, "y": y, **changes}, call)
    return Samples(X, y, str(call))


def require_known(call: Call | str) -> None:
    """Refuse a name of data, or an argument, that there is not; large sets are not loaded.

    Parameters
    ----------
    call : Call or str

    Raises
    ------
    SuiteError
        As ``load_samples``; a file that cannot be read.

    Examples
    --------
    >>> require_known("iris(n=50, seed=0)")
    """
    call = parse(call)
    make, arguments, _ = _steps(call)
    try:
        inspect.signature(make).bind(**arguments)
    except TypeError as error:
        known = dict.fromkeys(name for step in (make, *MODIFIERS) for name in _own(step))
        own = ", ".join(name for name in known if name != "name")
        raise SuiteError(f"The data {call} cannot be made: {error}; they take {own}.") from error
    if make is load_set:
        require_set(call.name)
    elif make is load_file:
        _called(make, arguments, call)


def _steps(call: Call) -> tuple[Make, dict[str, object], dict[Make, dict[str, object]]]:
    """Return the function that makes the samples of a call, its arguments, and the modifiers."""
    given = dict(call.arguments)
    make, steps = GENERATED.get(call.name), MODIFIERS
    if make is not None:  # n and seed are its own
        steps = tuple(step for step in MODIFIERS if step is not random_part)
    elif call.name == "file" or is_file_name(call.name):
        make, given = load_file, ({} if call.name == "file" else {"path": call.name}) | given
    else:
        make, given = load_set, {"name": call.name, **given}
    found: dict[Make, dict[str, object]] = {}
    for step in steps:
        if own := {name: given.pop(name) for name in _own(step) if name in given}:
            found[step] = own
    return make, given, found


def _own(step: Make) -> list[str]:
    """Names of the arguments of a step, other than samples and labels."""
    return [name for name in inspect.signature(step).parameters if name not in ("X", "y")]


def _called(
    function: Callable[..., tuple[Matrix, Vector]], arguments: Mapping[str, object], call: Call
) -> tuple[Matrix, Vector]:
    """Call the function; unknown or unusable arguments are an error of the suite."""
    try:
        return function(**arguments)
    except SuiteError:
        raise
    except (TypeError, ValueError) as error:
        raise SuiteError(f"The data {call} cannot be made: {error}.") from error


# --- modifiers ------------------------------------------------------------------------------------


def distinct_samples(X: Matrix, y: Vector, distinct: bool) -> tuple[Matrix, Vector]:
    """Return the first of all equal samples, in the given order."""
    if not distinct:
        return X, y
    table = np.column_stack([X.toarray() if sp.issparse(X) else X, y])
    _, first = np.unique(table, axis=0, return_index=True)
    kept = np.sort(first)
    return X[kept], y[kept]


def random_part(X: Matrix, y: Vector, n: int, seed: int = 0) -> tuple[Matrix, Vector]:
    """Return n samples, drawn without replacement."""
    if not 0 < n <= len(y):
        raise ValueError(f"n is {n}, and the set has {len(y)} samples")
    kept = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[kept], y[kept]


def _collinear(X: Matrix, y: Vector, collinear: float) -> tuple[Matrix, Vector]:
    X = X.toarray() if sp.issparse(X) else X
    noise = np.random.default_rng(0).standard_normal(X.shape)
    return np.hstack([X, X + collinear * np.std(X, axis=0) * noise]), y


def _spread(X: Matrix, y: Vector, spread: float) -> tuple[Matrix, Vector]:
    factors = np.geomspace(spread**-0.5, spread**0.5, X.shape[1])
    return (sp.csr_array(X * factors[None, :]) if sp.issparse(X) else X * factors), y


def _scale(X: Matrix, y: Vector, scale: float) -> tuple[Matrix, Vector]:
    return X * float(scale), y


def _copies(X: Matrix, y: Vector, copies: int) -> tuple[Matrix, Vector]:
    rows = np.repeat(np.arange(len(y)), copies)
    return X[rows], y[rows]


MODIFIERS: tuple[Make, ...] = (
    distinct_samples,
    random_part,
    _collinear,
    _spread,
    _scale,
    _copies,
)
"""Modifiers in the order in which they are applied; suites call them by their arguments."""
