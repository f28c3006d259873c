"""Solvers behind another package, CVXPY or qpsolvers: what is known of one, and their backend."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from qpsvm.backends.base import Settings, installed_version
from qpsvm.backends.child import ChildBackend
from qpsvm.backends.options import require_options
from qpsvm.exceptions import UnknownBackendError
from qpsvm.numerics.arguments import VectorLike
from qpsvm.numerics.arrays import Vector

NativeOptions: TypeAlias = dict[str, Any]
"""A solver's settings by its own names: numbers, words, dictionaries, whatever it takes."""


@dataclass(frozen=True)
class Solver:
    """A solver as a bridge reaches it: its package, names of its settings, and limitations.

    Attributes
    ----------
    module, licence : str
    distribution : str
        As installed with pip; the module's name by default.
    tolerances : str
        Names with spaces between, all set to ``max(eps * factor, floor)``.
    factor, floor : float
        How much tighter than the caller's ``eps`` (solvers measure on their own scales), and the
        smallest value the solver accepts.
    iterations : str
        Names, all set to the iteration limit.
    default_iterations : int or None
        Where the solver's own limit is too low to mean something.
    time : str or None
        Name of the time limit in seconds. Without one the process of the solver is ended.
    fixed : mapping
        Set in any case.
    retry : mapping
        Set besides when the tolerance contract asks a second time.
    within : str or None
        The solver takes its settings inside a dictionary of this name.
    listed : str, callable or None
        Names of all of the solver's settings, or a function that reads them from its package; None
        where the solver checks its settings itself.
    also : str
        Names that the bridge accepts besides.
    linear, quadratic : bool
        Solves linear programs, solves quadratic programs.
    needs_rows : bool
        Refuses a program without constraints.
    dense : bool
        Takes NumPy arrays only, whatever the program stores.
    folds_bounds : bool
        The bridge itself writes its bounds as rows, infinite ones included, which some refuse.
    warm_start : bool
        Uses a start; the others ignore it, some with a warning.
    full_rank : bool
        Breaks down when rows of A depend on each other.
    in_extra : bool
        ``qpsvm[qpsolvers]`` installs it.
    """

    module: str = ""
    licence: str = ""
    tolerances: str = ""
    distribution: str = ""
    factor: float = 0.1
    floor: float = 0.0
    iterations: str = ""
    default_iterations: int | None = None
    time: str | None = None
    fixed: Mapping[str, object] = field(default_factory=dict)
    retry: Mapping[str, object] = field(default_factory=dict)
    within: str | None = None
    listed: str | Callable[[], frozenset[str]] | None = None
    also: str = ""
    linear: bool = True
    quadratic: bool = True
    needs_rows: bool = False
    dense: bool = False
    folds_bounds: bool = False
    warm_start: bool = False
    full_rank: bool = False
    in_extra: bool = False

    @property
    def names(self) -> frozenset[str]:
        """Names of all settings that qpsvm itself passes on."""
        if self.within is not None:
            return frozenset({self.within})
        own = f"{self.tolerances} {self.iterations} {self.time or ''}".split()
        return frozenset([*own, *self.fixed, *self.retry])

    def own_names(self) -> frozenset[str] | None:
        """Names of the settings that the installed solver has, or None if they are not known."""
        if isinstance(self.listed, str):
            return frozenset(self.listed.split())
        return None if self.listed is None else self.listed()

    def option_names(self) -> frozenset[str] | None:
        """Names of the settings that the bridge passes on, or None if they are not known."""
        own = self.own_names()
        return None if own is None else own.union(self.also.split(), self.names)

    def build(self, settings: Settings) -> NativeOptions:
        """Settings by the solver's names, overridden by ``settings.options``."""
        eps = max(settings.eps * self.factor, self.floor)
        options: NativeOptions = dict.fromkeys(self.tolerances.split(), eps)
        iterations = settings.max_iterations or self.default_iterations
        if iterations is not None:
            options |= dict.fromkeys(self.iterations.split(), iterations)
        if self.time is not None and settings.time_limit is not None:
            options[self.time] = settings.time_limit
        options = {**self.fixed, **(self.retry if settings.attempt else {}), **options}
        if self.within is not None:
            options = {self.within: options}
        return options | dict(settings.options)

    def not_passed_on(self, settings: Settings) -> str:
        """Describe the limit that this solver has no setting for: time ends its process."""
        is_missing = settings.max_iterations is not None and not self.iterations
        return "this solver has no setting for the iteration limit" if is_missing else ""


UNLISTED = Solver()
"""A solver that is not in the table: nothing is known of its settings."""


class BridgeBackend(ChildBackend):
    """A solver that another package reaches: CVXPY or qpsolvers.

    A subclass has its solvers as class data, and names those that its package reports.

    Parameters
    ----------
    solver : str
        A name of the table, or one that the package reports.

    Raises
    ------
    UnknownBackendError
        Neither qpsvm nor the package knows the name.
    """

    solvers: ClassVar[Mapping[str, Solver]]
    title: ClassVar[str]
    advice: ClassVar[str]

    def __init__(self, solver: str) -> None:
        self.solver: str | None = solver
        self.required_modules = (self.name,)
        self.about = about = self.solvers.get(solver, UNLISTED)
        self.full_rank = about.full_rank
        able = self.capabilities
        self.capabilities = replace(
            able,
            sparse=not about.dense,
            bounds=able.bounds and not about.folds_bounds,
            linear_programs=about.linear,
            quadratic_programs=about.quadratic,
            warm_start=about.warm_start,
            iteration_limit=bool(about.iterations),
        )
        if solver not in self.solvers:
            if self.missing_modules():
                raise UnknownBackendError(
                    f"'{self.name}:{solver}' is unknown and {self.title} is not installed; qpsvm "
                    f"knows {', '.join(self.solvers)}."
                )
            self._require_reported(solver)
            return
        self.required_modules = (self.name, about.module)
        self.distribution = about.distribution or about.module
        self.licence = about.licence

    @property
    def label(self) -> str:
        return self.name if self.solver is None else f"{self.name}:{self.solver}"

    def version(self) -> str:
        own = super().version()
        if self.solver is None or not own:
            return own
        return f"{own} ({self.name} {installed_version(self.name)})"

    def install_command(self) -> str:
        if self.about.in_extra:
            return f'pip install "qpsvm[{self.extra}]"'
        return f"pip install {' '.join(dict.fromkeys([self.name, self.distribution]))}"

    @property
    def _minds_time(self) -> bool:
        return self.about.time is not None

    @abstractmethod
    def _reported(self) -> Iterable[str]:
        """Names of the solvers that the installed package reports."""

    def _require_reported(self, solver: str) -> None:
        reported = self._reported()
        if solver not in reported:
            raise UnknownBackendError(
                f"{self.title} has no solver {solver!r}; it has {', '.join(reported)}. "
                f"{self.advice}"
            )

    def _native(self, about: Solver, settings: Settings) -> NativeOptions:
        """Build the solver's settings, and refuse options that it does not have."""
        if settings.options:
            require_options(self.label, settings.options, about.option_names())
        return about.build(settings)


# --- answers -------------------------------------------------------------------------------------


def as_vector(value: VectorLike | None, size: int) -> Vector | None:
    """Return an answer's vector of the given size; None for one of another size, or for none."""
    if size == 0:
        return np.zeros(0)
    if value is None:
        return None
    vector = np.asarray(value, dtype=np.float64).ravel()
    return vector if vector.shape == (size,) else None
