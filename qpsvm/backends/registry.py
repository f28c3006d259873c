"""Backends by name: ``get("cvxpy:CLARABEL")``, ``available()``, ``choose(program)``.

Nothing here imports a solver: what is installed is read from the packages' metadata. Backends of
other packages arrive through the entry-point group ``qpsvm.backends``, whose entries load a
subclass of ``Backend``.
"""

from __future__ import annotations

import difflib
import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from qpsvm.backends.base import Backend, Capabilities
from qpsvm.backends.bridge import BridgeBackend
from qpsvm.backends.classical import ClassicalBackend, SLSQPBackend
from qpsvm.backends.cvxopt import CVXOPTBackend
from qpsvm.backends.osqp import OSQPBackend
from qpsvm.backends.own_solvers import ActiveSetBackend, IPMBackend
from qpsvm.backends.solver_table import BEHIND_CVXPY, BEHIND_QPSOLVERS
from qpsvm.exceptions import BackendError, UnknownBackendError
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.solvers.box.program import Boxed
from qpsvm.solvers.classical.driver import MAX_STEPS
from qpsvm.solvers.linear.translate import structure_of

ENTRY_POINTS = "qpsvm.backends"

BUILT_IN: Mapping[str, Callable[[], Backend]] = {
    "cvxopt": CVXOPTBackend,
    "osqp": OSQPBackend,
    "cvxpy": partial(BridgeBackend, "cvxpy"),
    "slsqp": SLSQPBackend,
    "ipm": IPMBackend,
    "active-set": ActiveSetBackend,
}

BRIDGES: Mapping[str, tuple[Callable[[str], Backend], tuple[str, ...]]] = {
    "cvxpy": (partial(BridgeBackend, "cvxpy"), tuple(BEHIND_CVXPY)),
    "qpsolvers": (partial(BridgeBackend, "qpsolvers"), tuple(BEHIND_QPSOLVERS)),
    "classical": (ClassicalBackend, tuple(MAX_STEPS)),
}
"""Names with a colon: what makes the backend, and the solvers known without asking."""


@dataclass(frozen=True)
class BackendInfo:
    """One line of ``qpsvm backends``.

    Attributes
    ----------
    name : str
        What ``qpsvm.solve(..., backend=name)`` takes.
    version, licence : str
        Of the solver; the version is empty when it is not installed.
    capabilities : Capabilities
    installed : bool
    missing : tuple of str
        Modules that would have to be installed, or the error of a broken entry point.
    install_command : str
        The pip line that installs them.
    """

    name: str
    version: str
    licence: str
    capabilities: Capabilities
    installed: bool
    missing: tuple[str, ...]
    install_command: str


def require_name(name: object) -> None:
    """Raise UnknownBackendError unless the argument is a string."""
    if not isinstance(name, str):
        raise UnknownBackendError(
            "A backend is a name such as 'cvxopt' or a qpsvm.backends.Backend, got "
            f"{type(name).__name__}."
        )


def get(name: str) -> Backend:
    """Return the backend of that name, in any mix of upper and lower case.

    Parameters
    ----------
    name : str
        ``"ipm"``, ``"active-set"``, ``"cvxopt"``, ``"osqp"``, ``"cvxpy"``, ``"cvxpy:CLARABEL"``,
        ``"slsqp"``, ``"qpsolvers:piqp"``, ``"classical:smo"``, or one of an entry point.
        ``"auto"`` needs a program: see ``choose``.

    Returns
    -------
    Backend
        With ``solve(program, settings)``.

    Raises
    ------
    UnknownBackendError
        Nothing has that name; the message lists what is installed and the likely spelling.
    BackendError
        An entry point of that name does not load.

    Notes
    -----
    A known backend whose package is missing is returned; its ``solve`` raises
    ``BackendNotInstalledError`` with the pip line.

    Examples
    --------
    >>> get("CVXOPT").licence
    'GPL-3.0-or-later'
    """
    require_name(name)
    wanted = name.strip().lower()
    head, colon, solver = wanted.partition(":")
    if wanted in BUILT_IN:
        return BUILT_IN[wanted]()
    if colon and solver and head in BRIDGES:
        return BRIDGES[head][0](solver)
    for entry in _entry_points():
        if entry.name.lower() == wanted:
            return _load(entry)
    raise UnknownBackendError(_unknown(name, wanted))


def available() -> tuple[BackendInfo, ...]:
    """List every backend that qpsvm knows of, installed or not, without importing any solver.

    Returns
    -------
    tuple of BackendInfo
        The package's own first, then those behind CVXPY and qpsolvers, then entry points.

    Examples
    --------
    >>> [info.name for info in available()][:4]
    ['cvxopt', 'osqp', 'cvxpy', 'slsqp']
    """
    infos = [_info(make()) for make in BUILT_IN.values()]
    for make, solvers in BRIDGES.values():
        infos += [_info(make(solver)) for solver in solvers]
    for entry in _entry_points():
        try:
            infos.append(_info(_load(entry)))
        except BackendError as error:
            infos.append(BackendInfo(entry.name, "", "", Capabilities(), False, (str(error),), ""))
    return tuple(infos)


def _info(backend: Backend) -> BackendInfo:
    missing = backend.missing_modules()
    return BackendInfo(
        name=backend.label,
        version="" if missing else backend.version(),
        licence=backend.licence,
        capabilities=backend.capabilities,
        installed=not missing,
        missing=missing,
        install_command=backend.install_command(),
    )


# --- other packages ----------------------------------------------------------------------------


def _entry_points() -> tuple[importlib.metadata.EntryPoint, ...]:
    """Entry points of third-party backends by name; none replaces a built-in backend."""
    taken = {*BUILT_IN, *BRIDGES, "auto"}
    entries = importlib.metadata.entry_points(group=ENTRY_POINTS)
    return tuple(sorted((e for e in entries if e.name.lower() not in taken), key=lambda e: e.name))


def _load(entry: importlib.metadata.EntryPoint) -> Backend:
    """Load the backend of an entry point; raise BackendError if it is unusable."""
    try:
        loaded = entry.load()
        backend = loaded() if isinstance(loaded, type) and issubclass(loaded, Backend) else None
    except Exception as error:  # code of somebody else, which may raise anything
        raise BackendError(
            f"Backend {entry.name!r} ({entry.value}) does not load: {type(error).__name__}: {error}"
        ) from error
    if backend is None:
        raise BackendError(
            f"Backend {entry.name!r} ({entry.value}) is {loaded!r}; the entry point must name a "
            "subclass of qpsvm.backends.Backend."
        )
    return backend


# --- names ---------------------------------------------------------------------------------------


def _unknown(name: str, wanted: str) -> str:
    infos = available()
    installed = [info.name for info in infos if info.installed]
    message = f"There is no backend {name!r}."
    # "clarabel" alone: the bridges that reach it
    behind_colon = [info for info in infos if info.name.lower().endswith(f":{wanted}")]
    if wanted == "auto":
        message += " 'auto' depends on the program: choose(program) resolves it."
    elif behind_colon:
        message += f" Did you mean {' or '.join(repr(info.name) for info in behind_colon)}?"
        if not any(info.installed for info in behind_colon):
            message += f" It is not installed; run: {behind_colon[0].install_command}."
    else:
        names = {info.name.lower(): info.name for info in infos}
        close = difflib.get_close_matches(wanted, names, n=1)
        if close:
            message += f" Did you mean {names[close[0]]!r}?"
    return f"{message} Installed: {', '.join(installed)}."


# --- "auto" --------------------------------------------------------------------------------------


def choose(program: QuadraticProgram) -> tuple[str, str]:
    """Choose the backend for ``"auto"``, with the reason in one sentence.

    Only what qpsvm's own dependencies provide is chosen: its solvers, CVXOPT, Clarabel (which
    CVXPY requires) and HiGHS (which SciPy contains).

    Parameters
    ----------
    program : QuadraticProgram
        Its structure decides: sizes, and how P is stored.

    Returns
    -------
    tuple of (str, str)
        The name, as ``get`` takes it, and the reason.

    Examples
    --------
    >>> import qpsvm
    >>> choose(qpsvm.SoftMargin().dual([[0.0], [2.0]], [0, 1], kernel="rbf").qp)[0]
    'active-set'
    """
    n = program.n_variables
    if structure := structure_of(program):
        return "ipm", structure
    if isinstance(program.P, KernelQuadratic) and Boxed.suits(program):
        return "active-set", f"P is a kernel matrix ({n} variables), of which columns are enough"
    if program.is_linear:
        # on L1-norm machines as fast as an interior-point method, and exact: it ends at a vertex
        return "cvxpy:SCIPY", f"a linear program ({n} variables), which HiGHS ends at a vertex of"
    if program.P.prefers_sparse:
        return "cvxpy:CLARABEL", f"P is sparse ({n} variables), and so is Clarabel's factorisation"
    return "cvxopt", f"P is dense ({n} variables), and CVXOPT factors it with LAPACK"


def choose_again(program: QuadraticProgram, first: str) -> tuple[str, str]:
    """Choose the second backend, after the one of ``choose`` did not succeed; with the reason.

    CVXOPT while a dense factorisation in every iteration is affordable, else OSQP, which rarely
    fails altogether.
    """
    # beyond, a dense factorisation per iteration takes minutes
    small = program.n_variables <= 3000
    if first != "cvxopt" and small:
        return "cvxopt", f"{first} did not succeed, and {program.n_variables} variables are few"
    return "osqp", f"{first} did not succeed, and a first-order method seldom breaks down"
