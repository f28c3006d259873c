"""Jinja2 for every format that is text with markup."""

from __future__ import annotations

import importlib.resources
import importlib.util
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from qpsvm.exceptions import MissingPackageError


def require_packages() -> None:
    """Raise unless Jinja2 and Matplotlib are there.

    Raises
    ------
    MissingPackageError
        With the pip line.
    """
    missing = [name for name in ("jinja2", "matplotlib") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"This report needs {' and '.join(missing)}, not installed; run: "
            'pip install "qpsvm[report]" (a .json or .txt report needs neither).'
        )


def template(
    name: str,
    *,
    filters: Mapping[str, Any],
    escape: Callable[[Any], str] | None = None,
    **delimiters: Any,
) -> Any:
    """A template of this package.

    Parameters
    ----------
    name : str
    filters : mapping of str to callable
    escape : callable, optional
        From any value to text without markup, applied to everything that is written out; without
        it, Jinja2 escapes for HTML.
    **delimiters
        Of the template language, where its own would clash.
    """
    require_packages()
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("qpsvm.reports"),
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
    """Markup of our own: not to be escaped."""


def _escaping(escape: Callable[[Any], str]) -> Callable[[Any], str]:
    def finalize(value: Any) -> str:
        return value if isinstance(value, Verbatim) else escape(value)

    return finalize


def resource(name: str) -> str:
    """The text of a file beside the templates."""
    files = importlib.resources.files("qpsvm.reports").joinpath("templates")
    return files.joinpath(name).read_text("utf-8")


def now() -> str:
    """When a report was written: all of it that differs from one time to the next."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def one_line(text: Any) -> str:
    """Text without line breaks and control characters, which no format can show."""
    words = " ".join(str(text).split())
    return "".join(c if c.isprintable() else "\ufffd" for c in words)
