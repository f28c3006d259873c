"""What the package promises before anything is solved."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys
from pathlib import Path

import pytest

import qpsvm
from tests.processes import run

ROOT = Path(__file__).resolve().parent.parent
HEAVY = (
    "cvxopt",
    "osqp",
    "cvxpy",
    "qpsolvers",
    "sklearn",
    "matplotlib",
    "pandas",
    "jinja2",
    "pyarrow",
)


def test_importing_qpsvm_imports_no_solver_and_nothing_heavy() -> None:
    code = f"import sys, qpsvm; print([m for m in {HEAVY} if m in sys.modules])"
    result = run([sys.executable, "-c", code], check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("missing", ["qpsolvers", "matplotlib", "jinja2", "pandas", "osqp"])
def test_importing_and_solving_work_without_an_optional_package(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import qpsvm\n"
        "problem = qpsvm.SoftMargin().dual([[0.0], [2.0]], [0, 1])\n"
        "print(qpsvm.solve(problem, 'cvxopt').status.value)"
    )
    result = run([sys.executable, "-c", code], check=True)
    assert result.stdout.strip() == "optimal"


def _modules() -> list[str]:
    return sorted(m.name for m in pkgutil.walk_packages(qpsvm.__path__, "qpsvm."))


@pytest.mark.parametrize("name", _modules())
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_every_public_name_exists() -> None:
    for name in ["qpsvm", *_modules()]:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", []):
            assert hasattr(module, public), f"{name}.{public}"


def test_no_module_unpickles() -> None:
    for path in (ROOT / "qpsvm").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "pickle.load" not in text, path
        assert "allow_pickle=True" not in text, path
