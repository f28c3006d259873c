"""The benchmark is a guest: it uses public names of qpsvm only.

A name is public if every step to it from ``qpsvm`` is in the ``__all__`` of the step before.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import benchmarks
import qpsvm

PEERS = {"_Lambda", "_Gamma"}
"""Attributes of ReHLine's estimators, which keep their multipliers nowhere else."""


def is_own(name: str) -> bool:
    return name == "benchmarks" or name.startswith("benchmarks.")


def is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def is_public(name: str) -> bool:
    """Whether every step to a dotted name is in the ``__all__`` of the module before it."""
    found: object = qpsvm
    for step in name.split(".")[1:]:
        if isinstance(found, ModuleType) and step not in getattr(found, "__all__", ()):
            return False
        found = getattr(found, step)
    return True


def imported(tree: ast.AST) -> dict[str, str]:
    """Dotted names of qpsvm that a module imports anywhere, by what it calls them."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return {k: v for k, v in names.items() if v == "qpsvm" or v.startswith("qpsvm.")}


def used(tree: ast.AST) -> Iterator[str]:
    """Dotted names of qpsvm that a module imports, or reaches through what it imported."""
    names = imported(tree)
    yield from names.values()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not is_dunder(node.attr):
            steps, inner = [node.attr], node.value
            while isinstance(inner, ast.Attribute):
                steps, inner = [inner.attr, *steps], inner.value
            if isinstance(inner, ast.Name) and inner.id in names:
                yield ".".join([names[inner.id], *steps])


def private_members(tree: ast.AST) -> Iterator[str]:
    """Attributes with a leading underscore of anything but the object itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "os")
            if not own and not is_dunder(node.attr) and node.attr not in PEERS:
                yield node.attr


def modules() -> list[str]:
    found = pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")
    return ["benchmarks", *sorted(module.name for module in found)]


def tree_of(name: str) -> ast.AST:
    return ast.parse(Path(str(importlib.import_module(name).__file__)).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", modules())
def test_what_the_benchmark_uses_of_qpsvm_is_public(name: str) -> None:
    tree = tree_of(name)
    foreign = sorted({each for each in used(tree) if not is_own(each)})
    assert [each for each in foreign if not is_public(each)] == []
    assert list(private_members(tree)) == []


def test_the_benchmark_does_use_qpsvm() -> None:
    found = {each for name in modules() for each in used(tree_of(name)) if not is_own(each)}
    assert {"qpsvm.verify", "qpsvm.solve", "qpsvm.qp.Status", "qpsvm.backends.get"} <= found


@pytest.mark.parametrize(
    "code",
    [
        "from qpsvm.numerics.arrays import Vector",
        "from qpsvm.machines.model import SupportVectorModel",
        "from qpsvm.solving import solve",  # qpsvm.solve is the public one
        "def f():\n    from qpsvm.io import json_text",
        "import qpsvm\nqpsvm.audits.rounding.multiply",
        "from qpsvm import audits as other\nother.claims.Claim",
        "from qpsvm import numerics",
    ],
)
def test_a_private_name_is_found_out(code: str) -> None:
    assert [each for each in used(ast.parse(code)) if not is_public(each)]


def test_a_private_member_is_found_out() -> None:
    assert list(private_members(ast.parse("problem.model._size"))) == ["_size"]


def test_public_names_are_public() -> None:
    code = (
        "import qpsvm\nfrom qpsvm import backends\nfrom qpsvm.reports.blocks import Table\n"
        "qpsvm.audits.files.read_model(path).alpha\nbackends.get(name).load()\nqpsvm.__version__"
    )
    assert all(map(is_public, used(ast.parse(code))))
