"""The loaded library of the compiled core, and calls of its functions.

The only module with pointers. The modules beside it check every argument before they come here:
types, shapes, order, lengths, overlaps and ranges of indices.

The library is loaded at its first call, not at import. A call releases Python's global lock;
functions on separate arrays may run at the same time.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from qpsvm.exceptions import CompiledCoreError


@dataclass(frozen=True)
class CoreSettings:
    """Settings of how much work one call of the compiled code does before it returns to Python.

    Attributes
    ----------
    entries_per_call : int
        Entries of samples that a call of coordinate descent reads, about: 10 to 50 ms.
    kernel_values_per_call : int
        Kernel values that a call of steps of pairs reads, about: 10 to 50 ms.
    """

    entries_per_call: int = 20_000_000
    kernel_values_per_call: int = 30_000_000


CORE = CoreSettings()
"""Settings of the compiled C library: how much work one call of it does."""


class CallStatus(IntEnum):
    """The way in which a function ended."""

    DONE = 0
    LIMIT = 1
    UNBOUNDED = 2
    STALLED = 3
    NOT_FINITE = 4


_STATUS = tuple(CallStatus)

_P, _I, _D, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double, ctypes.c_int


_KINDS = {"i": _I, "d": _D, "p": _P}


def _structure(name: str, fields: str) -> type[ctypes.Structure]:
    """A C structure of whole numbers (i), doubles (d) and pointers (p): ``"size:i rows:p"``.

    Fields that a caller leaves out at the end are zero, and pointers NULL.
    """
    pairs = (field.split(":") for field in fields.split())
    members = [(field, _KINDS[kind]) for field, kind in pairs]
    return type(name, (ctypes.Structure,), {"_fields_": members})


_Samples = _structure("samples", "layout:i width:i stride:i values:p starts:p indices:p")
_BoxProgram = _structure(
    "box_program", "size:i rows:p signs:p linear:p added:p lower:p upper:p constant:d"
)
_KernelBlock = _structure(
    "kernel_block", "size:i stride:i block:p offsets:p columns:p constant:d pieces:p"
)
_Conditions = _structure(
    "conditions", "size:i rows:p signs:p required:p values:p lower:p upper:p curved:p only:d"
)
_Machine = _structure(
    "machine",
    "size:i samples:i stride:i K:p rows:p signs:p required:p lower:p upper:p curved:p is_free:i "
    "constant:d cost:d side:d total:d pieces:p",
)

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "descent_begin": (_Samples, _BoxProgram, _P, _P, _P, _P, _I, _P),
    "descent_run": (_Samples, _BoxProgram, _D, _I, _I, _P, _P, _P, _P, _P),
    "pairs_run": (_KernelBlock, _P, _P, _P, _P, _I, _D, _I, _P, _P, _P, _P, _P),
    "machine_run": (_Machine, _D, _P, _I, _I, _P, _P, _P),
    "machine_bounds": (_Machine, _P, _I, _P, _P, _P, _D, _P, _P),
    "machines_solve": (_Machine, _I, _P, _P, _I, _P, _I, _P, _P, _P, _P, _P, _P, _P),
    "machine_newton": (_Machine, _P, _I, _I, _P, _P, _P, _P, _P, _P),
    "classes_run": (_I, _I, _P, _I, _D, _P, _P, _D, _I, _P, _P, _P, _P, _P, _P),
    "optimal_intercepts": (_Conditions, _D, _D, _P, _P),
    "exponent_tile": (_I, _I, _I, _D, _P, _P, _P),
    "products_by_row": (_I, _I, _I, _P, _I, _P, _I, _P, _I),
}

_COUNTS = "generator n_open n_active position passes"
_VALUES = "shrink_above shrink_below largest smallest violation"
DESCENT_STATE = np.dtype(
    [(name, np.int64) for name in _COUNTS.split()]
    + [(name, np.float64) for name in _VALUES.split()]
)
"""Memory of ``struct descent_state``."""


class Structure:
    """The fields of a structure of the core, for several calls; it keeps their arrays.

    Parameters
    ----------
    name : str
        A function that takes the structure first.
    fields : tuple of array, None or number
        In the order of the C structure.
    """

    __slots__ = ("fields", "reference")

    def __init__(self, name: str, fields: tuple[Any, ...]) -> None:
        self.fields = fields
        values = [f.ctypes.data if isinstance(f, np.ndarray) else f for f in fields]
        self.reference = ctypes.byref(_SIGNATURES[name][0](*values))


class CompiledLibrary:
    """A library of the core with its functions in every variant that it has.

    Parameters
    ----------
    path : Path
        File of the library.

    Attributes
    ----------
    path : Path
    variants : tuple of str
        The variants that this processor can run, the fastest last.
    functions : dict
        By name and variant.

    Raises
    ------
    CompiledCoreError
        The file is no library for this machine, or of other sources than those of the package.
    """

    def __init__(self, path: Path) -> None:
        from qpsvm.native import build

        try:
            library = ctypes.CDLL(str(path))
            library.qpsvm_digest.restype = ctypes.c_char_p
            found = library.qpsvm_digest().decode()
        except (OSError, AttributeError) as error:
            raise CompiledCoreError(
                f"{path} cannot be loaded: {error}. Remedy: {_REBUILD}"
            ) from error
        if found != build.digest():
            raise CompiledCoreError(
                f"{path} is stale: it was compiled from other sources (digest {found}, those of "
                f"the package have {build.digest()}). Remedy: {_REBUILD}"
            )
        self.path = path
        self.variants = tuple(
            level
            for level in build.LEVELS[: library.qpsvm_level()]
            if hasattr(library, f"descent_run_{level}")
        )
        self.functions = {
            (name, variant): _function(library, name, variant)
            for name in _SIGNATURES
            for variant in self.variants
        }


def _function(library: ctypes.CDLL, name: str, variant: str) -> Any:
    function = library[f"{name}_{variant}"]
    function.restype = _INT
    function.argtypes = [
        ctypes.POINTER(kind) if issubclass(kind, ctypes.Structure) else kind
        for kind in _SIGNATURES[name]
    ]
    return function


_REBUILD = "python -m qpsvm.native.build"
_variant: ContextVar[str | None] = ContextVar("variant", default=None)
_loading = Lock()
_loaded: list[CompiledLibrary] = []


def core() -> CompiledLibrary:
    """Load the library at the first call; a source checkout compiles it where it is missing.

    ``QPSVM_NATIVE_LIBRARY`` in the environment names another file, such as one with sanitizers.

    Returns
    -------
    CompiledLibrary

    Raises
    ------
    CompiledCoreError
        It is missing or stale and cannot be compiled here.
    """
    if not _loaded:
        with _loading:
            if not _loaded:
                _loaded.append(CompiledLibrary(_path()))
    return _loaded[0]


def _path() -> Path:
    from qpsvm.native import build  # not at import: it is also run as a program

    given = os.environ.get("QPSVM_NATIVE_LIBRARY")
    if given:
        return Path(given)
    path = build.existing()
    if path is not None:
        return path
    try:
        return build.rebuilt()
    except build.BuildError as error:
        stale = list(build.FOLDER.glob("core-*"))
        state = f"is stale ({stale[0].name} is of other sources)" if stale else "is missing"
        raise CompiledCoreError(
            f"the compiled core {state}, and cannot be compiled: {error}. Remedy: install a C "
            f"compiler or run pip install ziglang, then {_REBUILD}"
        ) from error


def run(name: str, *arguments: Any) -> CallStatus:
    """Call a function of the loaded library.

    Parameters
    ----------
    name : str
        A key of the table of signatures.
    *arguments : array, None, number, tuple of these, or Structure
        In the order of the C function. A tuple holds the fields of a structure.

    Returns
    -------
    CallStatus
    """
    library = _loaded[0] if _loaded else core()
    function = library.functions[name, _variant.get() or library.variants[-1]]
    passed = list[Any]()
    for kind, argument in zip(_SIGNATURES[name], arguments, strict=True):
        if isinstance(argument, np.ndarray):
            passed.append(argument.ctypes.data)
        elif isinstance(argument, tuple):
            values = [f.ctypes.data if isinstance(f, np.ndarray) else f for f in argument]
            passed.append(ctypes.byref(kind(*values)))
        elif isinstance(argument, Structure):
            passed.append(argument.reference)
        else:
            passed.append(argument)
    status: int = function(*passed)
    return _STATUS[status]


@contextmanager
def using(variant: str) -> Iterator[None]:
    """Use the code compiled for another processor level in this thread, for tests of equal bits.

    Parameters
    ----------
    variant : str
        One of ``core().variants``. All give the same bits.

    Examples
    --------
    >>> with using("generic"):
    ...     core().path.name.startswith("core-")
    True
    """
    token = _variant.set(variant)
    try:
        yield
    finally:
        _variant.reset(token)
