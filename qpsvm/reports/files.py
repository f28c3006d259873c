"""Reports as files: HTML or JSON by suffix, completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from qpsvm.exceptions import InvalidParameterError
from qpsvm.files import atomic, json_text
from qpsvm.reports.html import render, require_packages
from qpsvm.reports.report import SCHEMA, Page


def write(path: str | os.PathLike[str], page: Page) -> None:
    """Write a page; the suffix says how (``.html``, ``.htm`` or ``.json``).

    Raises
    ------
    InvalidParameterError
        Another suffix, or a path that cannot be written.
    MissingPackageError
        HTML without the extra ``qpsvm[report]``.
    """
    suffix = _suffix(path)
    text = _json(page) if suffix == ".json" else render(page)
    try:
        atomic.write_text(path, text)
    except OSError as error:
        raise InvalidParameterError(
            f"Cannot write the report to {os.fspath(path)!r}: {error.strerror or error}; choose "
            "another path."
        ) from error


def require_writable(path: str | os.PathLike[str], what: str) -> None:
    """Complain before the work instead of after it.

    Raises
    ------
    InvalidParameterError
        The folder does not exist or is not writable, or the path is a folder.
    """
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        problem = f"the folder {os.fspath(folder)!r} does not exist"
    elif target.is_dir():
        problem = "it is a folder"
    elif not os.access(folder, os.W_OK):
        problem = f"the folder {os.fspath(folder)!r} is not writable"
    else:
        return
    raise InvalidParameterError(
        f"Cannot write the {what} to {os.fspath(path)!r}: {problem}; choose another path."
    )


def require_reportable(path: str | os.PathLike[str]) -> None:
    """Whether ``write`` would have a chance: suffix, folder, packages.

    Raises
    ------
    InvalidParameterError, MissingPackageError
        As ``write``.
    """
    if _suffix(path) != ".json":
        require_packages()
    require_writable(path, "report")


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".html", ".htm", ".json"):
        raise InvalidParameterError(
            f"The report {os.fspath(path)!r} has the suffix {suffix!r}; use .html or .json."
        )
    return suffix


def _json(page: Page) -> str:
    if page.comparison is None and len(page.reports) == 1:
        return json_text.dumps(page.reports[0].to_dict(samples=True), indent=1) + "\n"
    content = {
        "schema": SCHEMA,
        "title": page.title,
        "passed": page.passed,
        "comparison": None if page.comparison is None else page.comparison.to_dict(),
        "left_out": list(page.left_out),
        "reports": [report.to_dict(samples=True) for report in page.reports],
    }
    return json_text.dumps(content, indent=1) + "\n"
