"""What the package promises before anything is solved."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import pkgutil
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import benchmarks
import qpsvm
from tests.processes import run
from tests.strategies import listed

ROOT = Path(__file__).resolve().parent.parent
HEAVY = (
    "typer",
    "rich",
    "cvxopt",
    "osqp",
    "cvxpy",
    "qpsolvers",
    "sklearn",
    "matplotlib",
    "pandas",
    "jinja2",
    "pyarrow",
    "dask",
    "distributed",
)


def test_importing_qpsvm_imports_no_solver_and_nothing_heavy() -> None:
    code = f"import sys, qpsvm; print([m for m in {HEAVY} if m in sys.modules])"
    result = run([sys.executable, "-c", code], check=True)
    assert result.stdout.strip() == "[]"


@listed("missing", ["osqp", "pandas", "qpsolvers", "matplotlib", "jinja2"], quick=1)
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


def _modules_of_the_benchmark() -> list[str]:
    return sorted(m.name for m in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."))


def _with_examples() -> list[str]:
    """Modules with a prompt in their text; to search all of them takes longer than the examples."""
    names = [*_modules(), *_modules_of_the_benchmark()]
    paths = {name: ROOT.joinpath(*name.split(".")) for name in names}
    files = {n: p / "__init__.py" if p.is_dir() else p.with_suffix(".py") for n, p in paths.items()}
    return [name for name, path in files.items() if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", _with_examples())
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0


def test_every_public_name_exists() -> None:
    for name in ["qpsvm", *_modules(), *_modules_of_the_benchmark()]:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", []):
            assert hasattr(module, public), f"{name}.{public}"


def _imported(name: str, known: set[str]) -> set[str]:
    """The modules of the package that a module imports anywhere, under TYPE_CHECKING, too."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    found = set[str]()
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else str(node.module))
    return found & known - {name}


def test_no_module_imports_what_imports_it() -> None:
    known = {"qpsvm", *_modules(), "benchmarks", *_modules_of_the_benchmark()}
    graph = {name: _imported(name, known) for name in sorted(known)}
    assert sum(map(len, graph.values())) > len(known)  # they do import each other
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_no_module_unpickles() -> None:
    for path in (ROOT / "qpsvm").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "pickle.load" not in text, path
        assert "allow_pickle=True" not in text, path
