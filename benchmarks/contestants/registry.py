"""Look up contestants by name.

In this order: the names here, ``qpsvm(...)``, classes in a file (``my_solver.py``), the
entry-point group ``qpsvm.contestants`` of other packages, and every backend of qpsvm.
"""

from __future__ import annotations

import importlib.metadata
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.cells import Call, parse
from benchmarks.contestants.backends import BackendContestant, Reference, SolveContestant
from benchmarks.contestants.base import Contestant
from benchmarks.contestants.estimators import ESTIMATORS
from benchmarks.contestants.peers import ReHLine, SnapML
from benchmarks.sets import import_file
from qpsvm import backends
from qpsvm.exceptions import BackendError, SuiteError

ENTRY_POINTS = "qpsvm.contestants"

BUILT_IN: Mapping[str, Callable[..., Contestant]] = {
    **{kind.name: kind for kind in (SolveContestant, Reference, ReHLine, SnapML)},
    **ESTIMATORS,
}


def get(text: str | Call) -> Contestant:
    """Return the contestant that a suite names.

    Parameters
    ----------
    text : str or Call
        ``cvxopt(form='primal')``, ``sklearn:SVC``, ``qpsvm(backend='osqp')``, ``my_solver.py``.

    Raises
    ------
    SuiteError
        Nothing has that name, the file or entry point does not load, or the arguments are not its.

    Examples
    --------
    >>> get("osqp(form='primal')").version() != ""
    True
    """
    call = parse(text)
    try:
        make = _found(call.name)
        return make(**call.arguments)
    except (TypeError, BackendError) as error:
        raise SuiteError(f"The contestant {call} cannot be made: {error}") from error


def names() -> list[str]:
    """Names of all known contestants, installed or not."""
    return [*BUILT_IN, *_entry_points(), *(info.name for info in backends.available())]


def _found(name: str) -> Callable[..., Contestant]:
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name.endswith(".py"):
        return _of_file(Path(name))
    elsewhere = _entry_points()
    if name in elsewhere:
        return _of_entry(elsewhere[name])
    try:
        backend = backends.get(name)
    except BackendError as error:
        known = ", ".join([*BUILT_IN, *elsewhere])
        raise SuiteError(
            f"There is no contestant {name!r}. There are {known}, a file that ends in .py, and "
            f"every backend: {error}"
        ) from error
    return partial(BackendContestant, backend)


# --- from elsewhere -------------------------------------------------------------------------------


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    """Entry points by name in alphabetical order, without names that are taken."""
    found = importlib.metadata.entry_points(group=ENTRY_POINTS)
    return {e.name: e for e in sorted(found, key=lambda e: e.name) if e.name not in BUILT_IN}


def _of_entry(entry: importlib.metadata.EntryPoint) -> type[Contestant]:
    where = f"{entry.name!r} ({entry.value})"
    with _loading(f"The contestant {where}"):
        kind: object = entry.load()
    if not (isinstance(kind, type) and issubclass(kind, Contestant)):
        raise SuiteError(
            f"The entry point {where} is {kind!r}; it must name a subclass of "
            "benchmarks.contestants.base.Contestant."
        )
    return kind


def _of_file(path: Path) -> type[Contestant]:
    """Return the only contestant class that a file defines."""
    if not path.is_file():
        raise SuiteError(f"There is no file {path} with a contestant in it.")
    with _loading(str(path)):
        module = import_file(path, f"qpsvm_contestant_{path.stem}")
    kinds = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Contestant)
        and not inspect.isabstract(value)
        and value.__module__ == module.__name__
    ]
    if len(kinds) != 1:
        raise SuiteError(
            f"{path} defines {len(kinds)} contestants; it must define one subclass of "
            "benchmarks.contestants.base.Contestant with fit and answer."
        )
    return kinds[0]


@contextmanager
def _loading(what: str) -> Iterator[None]:
    """Turn what foreign code raises when it is loaded, which may be anything, into a SuiteError."""
    try:
        yield
    except Exception as error:
        raise SuiteError(f"{what} does not load: {type(error).__name__}: {error}") from error
