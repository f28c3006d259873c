"""Signatures with defaults, and complete lists of parameters, on the pages of the reference.

A docstring's section "Parameters" is completed from the signature when the site is built: types end
with ``default=...``, and entries such as ``kernel, gamma`` with "As for ``SVC``" become the entries
of ``SVC``. So no default stands in the code twice, and a reader of a page finds everything there.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import sys
from collections.abc import Iterator
from pkgutil import resolve_name
from typing import Any, NamedTuple

LIKE = re.compile(r"As (?:for )?``(?P<name>[\w.]+)``[.,]")
EMPTY = inspect.Parameter.empty
LONGEST = 60


class Entry(NamedTuple):
    """Entry of a section: names, their type, and the indented lines of the description."""

    names: tuple[str, ...]
    kind: str
    text: tuple[str, ...]

    def lines(self) -> list[str]:
        """Lines of the entry in a docstring."""
        names = ", ".join(self.names)
        return [f"{names} : {self.kind}" if self.kind else names, *self.text]


# --- signatures ----------------------------------------------------------------------------------
def shown(value: object) -> str:
    """Write a default as a caller would, and a long one by the name of its type."""
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if inspect.isroutine(value) or inspect.isclass(value):
        return value.__name__
    text = repr(value)
    return text if len(text) <= LONGEST else f"{type(value).__name__}()"


class _Shown:
    """Default whose ``repr`` is given."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def signature_of(value: Any) -> inspect.Signature | None:
    """Signature of a class or function without annotations, or None where Python knows none."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    factories = {
        field.name: field.default_factory
        for field in (dataclasses.fields(value) if dataclasses.is_dataclass(value) else ())
        if field.default_factory is not dataclasses.MISSING
    }
    parameters = []
    for name, parameter in found.parameters.items():
        default = factories[name]() if name in factories else parameter.default
        parameters.append(
            parameter.replace(
                annotation=EMPTY, default=default if default is EMPTY else _Shown(shown(default))
            )
        )
    return inspect.Signature(parameters)


def process_signature(
    app: Any, what: str, name: str, value: Any, options: Any, signature: str | None, returned: Any
) -> tuple[str, Any] | None:
    """Replace the signature of classes and functions by the one with readable defaults."""
    del app, name, options, signature
    if what not in ("class", "function", "method"):
        return None
    if inspect.isclass(value) and (
        issubclass(value, enum.Enum | BaseException) or getattr(value, "_is_protocol", False)
    ):
        return "", None  # callers do not make objects of it
    found = signature_of(value)
    if found is None:
        return None
    if what == "method" and inspect.isfunction(value):  # bound methods have lost their first one
        found = found.replace(parameters=list(found.parameters.values())[1:])
    return str(found), returned


# --- lists of parameters -------------------------------------------------------------------------
def section(lines: list[str]) -> tuple[int, int]:
    """First and last line (exclusive) of the entries of the section "Parameters"."""
    for i in range(len(lines) - 1):
        if lines[i].strip() == "Parameters" and set(lines[i + 1].strip()) == {"-"}:
            for j in range(i + 2, len(lines) - 1):
                if lines[j].strip() and set(lines[j + 1].strip()) == {"-"}:
                    return i + 2, j
            return i + 2, len(lines)
    return 0, 0


def entries(lines: list[str]) -> Iterator[Entry]:
    """Yield the entries of a section."""
    head, text = "", list[str]()
    for line in [*lines, "end"]:
        if line and not line[0].isspace():
            if head:
                names, _, kind = head.partition(" : ")
                yield Entry(tuple(n.strip() for n in names.split(",")), kind, tuple(text))
            head, text = line, []
        else:
            text.append(line)


def described(value: Any) -> dict[str, Entry]:
    """Map every parameter that an object's docstring describes to an entry of its own."""
    text = value.__doc__ if inspect.isclass(value) else inspect.getdoc(value)
    lines = inspect.cleandoc(text or "").splitlines()
    first, last = section(lines)
    return {
        name: entry._replace(names=(name,))
        for entry in completed(value, lines[first:last])
        for name in entry.names
    }


def find(name: str, value: Any) -> Any:
    """Find the object that "As for" names: of the same class or module, or by its full path."""
    module = sys.modules[value.__module__]
    within = value.__qualname__.rpartition(".")[0]
    for place in (f"{module.__name__}:{within}.{name}", f"{module.__name__}:{name}", name):
        try:
            return resolve_name(place)
        except (AttributeError, ImportError, ValueError):
            continue
    import qpsvm

    for package in (qpsvm, qpsvm.estimators, qpsvm.selection, qpsvm.classical, qpsvm.chunked):
        if hasattr(package, name.partition(".")[0]):
            return resolve_name(f"{package.__name__}:{name}")
    raise LookupError(f"{value.__qualname__}: there is no {name} to be described as")


def completed(value: Any, lines: list[str]) -> Iterator[Entry]:
    """Yield the entries with those of other docstrings in their place."""
    for entry in entries(lines):
        match = None if entry.kind else LIKE.match(" ".join(entry.text).strip())
        if match is None:
            yield entry
            continue
        others = described(find(match["name"], value))
        missing = [name for name in entry.names if name not in others]
        if missing:
            raise LookupError(f"{value.__qualname__}: {match['name']} does not describe {missing}")
        yield from (others[name] for name in entry.names)


def with_defaults(entry: Entry, signature: inspect.Signature | None) -> Entry:
    """Let the type of an entry end with the defaults of its parameters."""
    known = signature.parameters if signature is not None else {}
    defaults = [known[n].default if n in known else EMPTY for n in entry.names]
    texts = list(dict.fromkeys(map(repr, defaults)))
    is_said = "default" in entry.kind or (texts == ["None"] and "optional" in entry.kind)
    if is_said or not entry.kind or any(default is EMPTY for default in defaults):
        return entry
    return entry._replace(kind=f"{entry.kind}, default={' and '.join(texts)}")


def process_docstring(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Complete the section "Parameters" of a docstring; numpydoc reads it afterwards."""
    del app, name, options
    first, last = section(lines)
    if what not in ("class", "function", "method") or first == last:
        return
    signature = signature_of(value)
    lines[first:last] = [
        line
        for entry in completed(value, lines[first:last])
        for line in with_defaults(entry, signature).lines()
    ]


def setup(app: Any) -> dict[str, Any]:
    """Connect to autodoc, before numpydoc."""
    app.connect("autodoc-process-signature", process_signature, priority=900)
    app.connect("autodoc-process-docstring", process_docstring, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
