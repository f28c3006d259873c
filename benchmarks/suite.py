"""Suites: which cells are measured, declared as data.

A suite is a TOML file::

    name = "smoke"
    description = "Every kind of row in a minute."
    time_limit = 20.0           # seconds, for each cell
    memory_limit = 4e9          # bytes, for each cell
    threads = 1                 # or several: [1, 2]
    repeats = 3
    repeat_below = 5.0          # seconds: slower cells are measured once
    targets = [1e-4, 1e-6]      # certified relative gaps that reports score

    [groups]                    # lists that several grids share, as "@all" in theirs
    all = ["cvxopt(form='dual')", "osqp(form='dual')"]

    [[grid]]                    # every combination; any number of grids
    family = ["SoftMargin(C=1.0)", "SoftMargin(C=100.0)"]
    data = ["breast_cancer", "synthetic(n=500, d=5, seed=0)"]
    kernel = ["linear", "rbf(gamma='scale')"]
    contestants = ["@all", "sklearn:SVC"]
    eps = [1e-2, 1e-4, 1e-8]    # from loose to tight: a sweep

A *sweep* is one contestant on one program over all accuracies. It goes from loose to tight and
ends at the first cell that a limit cut off, or that reached the tightest target; what is left out
is a row "not run".
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell, Instance, parse
from benchmarks.metrics.bounds import is_reference
from qpsvm.exceptions import SuiteError

AXES = ("family", "data", "kernel", "contestants", "eps")


@dataclass(frozen=True)
class Suite:
    """A set of cells with a name.

    Attributes
    ----------
    name, description : str
    cells : tuple of Cell
        The first repeat of each, sweep by sweep, from loose to tight.
    repeats : int
    repeat_below : float
        Seconds; cells that took longer are measured once.
    targets : tuple of float
        Certified relative gaps that reports score, from loose to tight.
    """

    name: str
    description: str
    cells: tuple[Cell, ...]
    repeats: int = 1
    repeat_below: float = 5.0
    targets: tuple[float, ...] = (1e-4, 1e-6, 1e-8)

    def with_contestants(self, names: Sequence[str]) -> Suite:
        """Return the suite with more contestants, each on every program and at every accuracy.

        References are measured for their bounds, with limits of their own, which are nobody else's.
        """
        place = {instance: i for i, instance in enumerate(self.instances())}
        cells = dict.fromkeys(self.cells)
        for name in names:
            asked = [c for c in self.cells if not is_reference(c.contestant)] or self.cells
            new = {replace(cell, contestant=str(parse(name))) for cell in asked}
            cells |= dict.fromkeys(sorted(new, key=lambda c: (place[c.instance], -c.eps)))
        return replace(self, cells=tuple(cells))

    def with_data(self, names: Sequence[str]) -> Suite:
        """Return the suite with other data for every program; unchanged without names."""
        if not names:
            return self
        new = dict.fromkeys(
            replace(cell, instance=replace(cell.instance, data=str(parse(name))))
            for name in names
            for cell in self.cells
        )
        place = {sweep: i for i, sweep in enumerate(dict.fromkeys(cell.sweep for cell in new))}
        cells = sorted(new, key=lambda cell: (place[cell.sweep], -cell.eps))
        return replace(self, cells=tuple(cells))

    def only(self, texts: Sequence[str]) -> Suite:
        """Return cells whose program or contestant contains one of the texts; all without texts.

        Raises
        ------
        SuiteError
            There are none.
        """
        if not texts:
            return self
        cells = tuple(
            cell
            for cell in self.cells
            if any(text in f"{cell.instance}; {cell.contestant}" for text in texts)
        )
        if not cells:
            raise SuiteError(f"The suite {self.name} has no cell with {' or '.join(texts)} in it.")
        return replace(self, cells=cells)

    def sweeps(self) -> Iterator[tuple[Cell, ...]]:
        """The cells of one contestant on one program, from loose to tight."""
        for _, cells in itertools.groupby(self.cells, key=lambda cell: cell.sweep):
            yield tuple(cells)

    def contestants(self) -> tuple[str, ...]:
        """Names of the contestants, in the order of the file."""
        return tuple(dict.fromkeys(cell.contestant for cell in self.cells))

    def instances(self) -> tuple[Instance, ...]:
        """The programs, in the order of the file."""
        return tuple(dict.fromkeys(cell.instance for cell in self.cells))


def load_suite(name: str | Path) -> Suite:
    """Load a suite by its name, or from a TOML file.

    Raises
    ------
    SuiteError
        There is none of that name, or the file is not a suite; the message says what it should be.
    """
    path = Path(name)
    if path.suffix != ".toml":
        found = {p.stem: p for p in suite_files()}
        if str(name) not in found:
            raise SuiteError(
                f"There is no suite {str(name)!r}: there are {', '.join(sorted(found)) or 'none'}, "
                "and any file that ends in .toml."
            )
        path = found[str(name)]
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SuiteError(f"Cannot read the suite {path}: {error}.") from error
    return suite_of(values, path.stem)


def suite_files() -> list[Path]:
    """Files of the suites that come with the benchmark, ``benchmarks/suites``."""
    return sorted((Path(__file__).parent / "suites").glob("*.toml"))


def suite_of(values: Mapping[str, Any], name: str = "suite") -> Suite:
    """Return the suite that a parsed file describes; see the module's docstring.

    Raises
    ------
    SuiteError
        A key that is not known or missing, or a value of the wrong kind.
    """
    anywhere = {"threads", *LIMITS}
    _refuse_unknown(values, {"groups", "grid", *WHOLE} | anywhere, name)
    grids = values.get("grid")
    if not isinstance(grids, list) or not grids:
        raise SuiteError(f"The suite {name} has no [[grid]].")
    groups = values.get("groups", {})
    cells: dict[Cell, None] = {}
    for grid in grids:
        _refuse_unknown(grid, {*AXES, *anywhere}, f"{name}, a grid")
        limits = _given(values, LIMITS) | _given(grid, LIMITS)
        family, data, kernel, contestants, eps = (_axis(grid, axis, groups, name) for axis in AXES)
        threads = _threads(grid.get("threads", values.get("threads", 1)), name)
        for f, d, k, who, t in itertools.product(family, data, kernel, contestants, threads):
            instance = Instance(str(parse(f)), str(parse(d)), str(parse(k)))
            for e in sorted(map(float, eps), reverse=True):
                cells[Cell(instance, str(parse(who)), e, threads=t, **limits)] = None
    whole = {"name": name, "description": "", **_given(values, WHOLE)}
    return Suite(cells=tuple(cells), **whole)


def loose_first(targets: Iterable[float]) -> tuple[float, ...]:
    """Return certified gaps from loose to tight."""
    return tuple(sorted(map(float, targets), reverse=True))


LIMITS: Mapping[str, Callable[[Any], Any]] = {
    "seed": int,
    "time_limit": float,
    "memory_limit": float,
}
"""Keys of a suite or of a grid that are fields of its cells, and how they are read."""

WHOLE: Mapping[str, Callable[[Any], Any]] = {
    "name": str,
    "description": str,
    "repeats": int,
    "repeat_below": float,
    "targets": loose_first,
}
"""Keys that are fields of a suite, and how they are read."""


def _given(values: Mapping[str, Any], kinds: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    return {key: kind(values[key]) for key, kind in kinds.items() if key in values}


def _threads(given: object, name: str) -> list[int]:
    """Return the numbers of threads that a suite measures with, stated as one number or a list."""
    numbers: list[Any] = given if isinstance(given, list) else [given]
    if not numbers or not all(type(t) is int and t >= 1 for t in numbers):
        raise SuiteError(
            f"The suite {name}: threads must be a number of at least 1 or a list of these, "
            f"found {given!r}."
        )
    return numbers


def _axis(grid: Mapping[str, Any], axis: str, groups: Mapping[str, object], name: str) -> list[Any]:
    default = {"kernel": ["linear"]}
    found = grid.get(axis, default.get(axis))
    if not isinstance(found, list) or not found:
        raise SuiteError(f"The suite {name}: a grid needs {axis} = [...], found {found!r}.")
    return [value for item in found for value in _members(item, groups, name)]


def _members(item: object, groups: Mapping[str, object], name: str) -> list[object]:
    """Return the members of the group that an item names, or the item itself."""
    if not isinstance(item, str) or not item.startswith("@"):
        return [item]
    members = groups.get(item[1:])
    if not isinstance(members, list):
        raise SuiteError(
            f"The suite {name} has no group {item!r}; it has {', '.join(groups) or 'none'}."
        )
    return members


def _refuse_unknown(values: Mapping[str, object], known: set[str], where: str) -> None:
    if unknown := sorted(set(values) - known):
        raise SuiteError(
            f"{where}: {unknown[0]!r} is not known; known: {', '.join(sorted(known))}."
        )
