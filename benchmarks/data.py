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

from benchmarks.arrays import Matrix, Vector
from benchmarks.calls import Call, parse
from benchmarks.generated import GENERATED
from benchmarks.modifiers import MODIFIERS, distinct_samples, random_part
from benchmarks.own_files import is_file_name, load_file
from benchmarks.stored import load_set, require_set
from qpsvm.exceptions import SuiteError


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
    call = parse(call) if isinstance(call, str) else call
    plan = _Plan.of(call)
    X, y = _called(plan.make, plan.arguments, call)
    if plan.distinct:
        X, y = distinct_samples(X, y)
    if plan.part:
        X, y = _called(random_part, {"X": X, "y": y, **plan.part}, call)
    for key, modify in MODIFIERS.items():
        if key in plan.modifiers:
            X, y = _called(modify, {"X": X, "y": y, key: plan.modifiers[key]}, call)
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
    call = parse(call) if isinstance(call, str) else call
    plan = _Plan.of(call)
    try:
        inspect.signature(plan.make).bind(**plan.arguments)
    except TypeError as error:
        known = [*inspect.signature(plan.make).parameters, *MODIFIERS, "n", "seed", "distinct"]
        own = ", ".join(dict.fromkeys(name for name in known if name != "name"))
        raise SuiteError(f"The data {call} cannot be made: {error}; they take {own}.") from error
    if plan.make is load_set:
        require_set(call.name)
    elif plan.make is load_file:
        _called(plan.make, plan.arguments, call)


@dataclass(frozen=True)
class _Plan:
    """The function that makes the samples of a call, and the arguments of every step."""

    make: Callable[..., tuple[Matrix, Vector]]
    arguments: Mapping[str, object]
    part: Mapping[str, object]
    modifiers: Mapping[str, object]
    distinct: bool

    @classmethod
    def of(cls, call: Call) -> _Plan:
        given = dict(call.arguments)
        modifiers = {key: given.pop(key) for key in MODIFIERS if key in given}
        distinct = bool(given.pop("distinct", False))
        if call.name in GENERATED:
            return cls(GENERATED[call.name], given, {}, modifiers, distinct)
        part: dict[str, object] = {key: given.pop(key) for key in ("n", "seed") if key in given}
        if call.name == "file" or is_file_name(call.name):
            path = {} if call.name == "file" else {"path": call.name}
            return cls(load_file, {**path, **given}, part, modifiers, distinct)
        return cls(load_set, {"name": call.name, **given}, part, modifiers, distinct)


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
