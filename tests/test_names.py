"""Whatever the documentation calls ``qpsvm.something`` can be used after ``import qpsvm``."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import qpsvm
from tests.processes import run

ROOT = Path(__file__).resolve().parent.parent
NAME = re.compile(r"(?<![\w./-])qpsvm((?:\.[A-Za-z_]\w*)+)(\()?")
GROUPS = {"qpsvm.contestants"}
"""Names of entry-point groups, which are no modules."""
PROGRAMS = {"qpsvm.native.build"}
"""Modules that are run by ``python -m`` and are not public."""
ROOMS = ("audits", "data", "datasets", "models", "plotting", "reports")

STANDS_ON = ("scipy.optimize", "scipy.sparse.linalg", "sklearn.svm")

FOLLOW = """
import importlib, json, os, sys
for package in sys.argv[1:]:  # what qpsvm stands on: once, not in every child
    importlib.import_module(package)
import qpsvm

def fails(name, called):
    found = qpsvm
    try:
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    except AttributeError as error:
        return str(error)
    return "cannot be called" if called and not callable(found) else ""

wrong = {}
for group in json.load(sys.stdin):
    reading, writing = os.pipe()
    child = os.fork()  # nothing but qpsvm is imported, whatever was tried before
    if child == 0:
        found = {name: fails(name, called) for name, called in group}
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    messages = json.loads(text or "{}") or {name: "crashed" for name, _ in group}
    os.waitpid(child, 0)
    wrong |= {name: message for name, message in messages.items() if message}
print(json.dumps(wrong))
"""


def texts() -> Iterator[str]:
    """The documentation, and every string in the source: docstrings, messages, templates."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")):
        text = page.read_text(encoding="utf-8")
        yield re.sub(r"^\s*(from|import) qpsvm.*$", "", text, flags=re.MULTILINE)
    for path in [*ROOT.glob("qpsvm/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


Names = list[tuple[str, bool]]


def wrong_names(groups: list[Names]) -> dict[str, str]:
    """Those that do not resolve, each group in an interpreter that has imported qpsvm alone."""
    result = run(
        [sys.executable, "-c", FOLLOW, *STANDS_ON],
        input=json.dumps(groups),
        check=True,
    )
    return json.loads(result.stdout)


@pytest.mark.exhaustive
@pytest.mark.parametrize("apart", [False, True])
def test_every_name_in_the_documentation_and_in_messages_resolves(apart: bool) -> None:
    """Those of one module in one interpreter, or each in its own."""
    found = {
        (f"qpsvm{match[1]}", bool(match[2])) for text in texts() for match in NAME.finditer(text)
    }
    names = sorted(entry for entry in found if entry[0] not in GROUPS | PROGRAMS)
    assert len(names) > 50
    groups: dict[str, Names] = {}
    for name, called in names:
        groups.setdefault(name if apart else name.rpartition(".")[0], []).append((name, called))
    assert wrong_names(list(groups.values())) == {}


@pytest.mark.exhaustive
def test_a_name_that_does_not_exist_is_found_out() -> None:
    assert set(wrong_names([[("qpsvm.nothing", False)], [("qpsvm.reports", True)]])) == {
        "qpsvm.nothing",
        "qpsvm.reports",
    }


def test_the_function_hides_no_package() -> None:
    assert callable(qpsvm.audit)
    assert callable(qpsvm.data.fingerprint)
    assert qpsvm.audits.audit is qpsvm.audit
    assert qpsvm.audits.Audit is qpsvm.Audit


@cache
def after_the_import() -> list[str]:
    """In a new process: the modules that are there, what completion offers, the public names."""
    code = "import sys, qpsvm; print(*sys.modules); print(*dir(qpsvm)); print(*qpsvm.__all__)"
    return run([sys.executable, "-c", code], check=True).stdout.splitlines()


def test_rooms_are_imported_when_they_are_used() -> None:
    rooms = {f"qpsvm.{name}" for name in ("audits", "models", "plotting", "reports")}
    assert not rooms & set(after_the_import()[0].split())


def test_tab_completion_offers_what_is_not_imported_yet() -> None:
    _, shown, public = after_the_import()
    assert {"audit", "Audit", *ROOMS} <= set(shown.split())
    assert set(public.split()) <= set(shown.split())


def test_a_misspelled_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'qpsvm' has no attribute 'adit'"):
        _ = qpsvm.adit
