"""Jinja2 templates for the output formats with markup."""

from __future__ import annotations

import importlib.resources
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict, Unpack

from qpsvm.exceptions import MissingPackageError

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True)
class Extra:
    """Optional packages that a kind of report requires.

    Attributes
    ----------
    name : str
        Of the extra that brings them.
    modules : tuple of str
    otherwise : str
        What can be had without them, in brackets.
    """

    name: str
    modules: tuple[str, ...]
    otherwise: str = ""


class Delimiters(TypedDict, total=False):
    """Delimiters of the template language, by the names of Jinja2."""

    block_start_string: str
    block_end_string: str
    variable_start_string: str
    variable_end_string: str
    comment_start_string: str
    comment_end_string: str


REPORT = Extra("report", ("jinja2", "matplotlib"), " (a .json or .txt report needs neither)")


def require_packages(extra: Extra = REPORT) -> None:
    """Raise MissingPackageError unless the packages of an extra are installed.

    Parameters
    ----------
    extra : Extra
        The packages; those of ``qpsvm[report]`` by default.

    Raises
    ------
    MissingPackageError
        With the pip line.

    Examples
    --------
    >>> require_packages(Extra("numbers", ("numpy",)))  # nothing happens: it is installed
    >>> try:
    ...     require_packages(Extra("mine", ("no_such_package",)))
    ... except MissingPackageError as error:
    ...     print(error)
    This report needs no_such_package, not installed; run: pip install "qpsvm[mine]".
    """
    missing = [name for name in extra.modules if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"This report needs {' and '.join(missing)}, not installed; run: "
            f'pip install "qpsvm[{extra.name}]"{extra.otherwise}.'
        )


def template(
    name: str,
    *,
    filters: Mapping[str, object],
    escape: Callable[[object], str] | None = None,
    package: str = "qpsvm.reports",
    extra: Extra = REPORT,
    **delimiters: Unpack[Delimiters],
) -> Template:
    """Load a template of this package, or of a package that extends it.

    Parameters
    ----------
    name : str
    filters : mapping of str to callable
    escape : callable, optional
        From any value to text without markup, applied to everything that is written out; without
        it, Jinja2 escapes for HTML.
    package : str
        Whose folder of templates is looked into first.
    extra : Extra
        What must be installed.
    **delimiters
        Of the template language, where its own would clash.
    """
    require_packages(extra)
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(p) for p in (package, "qpsvm.reports")]),
        autoescape=escape is None,
        finalize=None if escape is None else _escaping(escape),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **delimiters,
    )
    environment.filters.update(filters)
    return environment.get_template(name)


class Verbatim(str):
    """Text that is already markup and must not be escaped."""


def _escaping(escape: Callable[[object], str]) -> Callable[[object], str]:
    def finalize(value: object) -> str:
        return value if isinstance(value, Verbatim) else escape(value)

    return finalize


def resource(name: str) -> str:
    """Read a style sheet or script that is stored with the report's templates."""
    files = importlib.resources.files("qpsvm.reports").joinpath("templates")
    return files.joinpath(name).read_text("utf-8")


def now() -> str:
    """Current time as text, the only content of a report that differs between runs."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def one_line(text: object) -> str:
    """Text without line breaks and control characters."""
    words = " ".join(str(text).split())
    return "".join(c if c.isprintable() else "\ufffd" for c in words)
