"""The docstring of every public name passes numpydoc's validator."""

from __future__ import annotations

import enum
import inspect
import re
import runpy
import warnings
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

ROOT = Path(__file__).resolve().parent.parent

LEFT_OUT = {
    "ES01": "one line says enough of much; what needs more has it",
    "SA01": "the pages link to each other",
    "SS05": "takes nouns that end in s for verbs; tests/test_first_lines.py reads first lines",
    "PR03": "parameters that are described together stand together",
    "PR08": "descriptions begin with the symbol: rho, q, tau",
}
"""Checks of numpydoc that are not made, and why."""

REFERENCE = runpy.run_path(str(ROOT / "docs/_extensions/api_pages.py"))
NAMES = sorted(
    path
    for path in REFERENCE["shortest_paths"]().values()
    if inspect.isclass(resolve_name(path)) or inspect.isfunction(resolve_name(path))
)


def described(value: Any) -> set[str]:
    """Names in the sections "Parameters" and "Attributes" of a class and of its bases."""
    found = set()
    for kind in getattr(value, "__mro__", (value,))[:-1] or (value,):
        doc = get_doc_object(kind)
        for entry in [*doc["Parameters"], *doc["Attributes"]]:
            found |= {name.strip() for name in entry.name.split(",")}
    return found


def counts(name: str, code: str, message: str) -> bool:
    """Return whether a finding of the validator is one."""
    value = resolve_name(name)
    if code in LEFT_OUT:
        return False
    doc = get_doc_object(value)
    if code == "PR01":  # results of functions have attributes; an enumeration has members
        missing = set(re.findall(r"'([*\w]+)'", message))
        is_enumeration = inspect.isclass(value) and issubclass(value, enum.Enum)
        nobody_calls = is_enumeration or getattr(value, "_is_protocol", False)
        return not nobody_calls and bool(missing - described(value))
    if code == "PR04":  # "kernel, gamma" with "As for SVC": the types are there
        parameter = re.findall(r'"(.*)"', message)[0]
        entries = [p for p in doc["Parameters"] if parameter in re.split(r",\s*", p.name)]
        return not all(re.match(r"As |See ", " ".join(p.desc)) for p in entries)
    if code == "EX01":  # what functions return is in their examples, and errors are raised
        is_error = inspect.isclass(value) and issubclass(value, BaseException)
        made_by_callers = not inspect.isclass(value) or bool(doc["Parameters"])
        return made_by_callers and not (is_error and name.startswith("qpsvm.exceptions"))
    return True


def findings(name: str) -> list[tuple[str, str]]:
    """(code, message) of all findings about a name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other packages' docstrings
        errors = validate(name)["errors"]
    return [(code, message) for code, message in errors if counts(name, code, message)]


def test_every_public_docstring_is_complete() -> None:
    wrong = [f"{name}: {code} {text}" for name in NAMES for code, text in findings(name)]
    assert wrong == [], "\n".join(wrong)
    assert len(NAMES) > 200


def test_an_incomplete_docstring_is_found() -> None:
    def incomplete(x: float) -> float:
        """Return x.

        Parameters
        ----------
        x
            the number
        """
        return x

    assert incomplete(1.0) == 1.0
    codes = {code for code, _ in validate(get_doc_object(incomplete))["errors"]}
    assert {"PR04", "RT01", "EX01"} <= codes


@pytest.mark.parametrize("code", LEFT_OUT)
def test_a_check_that_is_left_out_exists(code: str) -> None:
    from numpydoc.validate import ERROR_MSGS

    assert code in ERROR_MSGS
