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

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from qpsvm.benchmark.arrays import Matrix, Vector
from qpsvm.benchmark.calls import Call, parse
from qpsvm.benchmark.generated import GENERATED
from qpsvm.benchmark.modifiers import MODIFIERS, distinct_samples, random_part
from qpsvm.benchmark.stored import load_set
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
    given = dict(call.arguments)
    modifiers = {key: given.pop(key) for key in MODIFIERS if key in given}
    distinct = given.pop("distinct", False)
    part: dict[str, object] = {}
    if call.name in GENERATED:
        X, y = _called(GENERATED[call.name], given, call)
    else:
        part = {key: given.pop(key) for key in ("n", "seed") if key in given}
        X, y = _called(load_set, {"name": call.name, **given}, call)
    if distinct:
        X, y = distinct_samples(X, y)
    if part:
        X, y = _called(random_part, {"X": X, "y": y, **part}, call)
    for key, modify in MODIFIERS.items():
        if key in modifiers:
            X, y = _called(modify, {"X": X, "y": y, key: modifiers[key]}, call)
    return Samples(X, y, str(call))


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
