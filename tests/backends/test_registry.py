"""Names, listings and messages of the backend registry."""

from __future__ import annotations

import importlib.metadata
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from qpsvm.backends import (
    Backend,
    BackendInfo,
    Capabilities,
    Settings,
    available,
    choose,
    get,
    registry,
)
from qpsvm.exceptions import (
    BackendError,
    BackendNotInstalledError,
    InvalidParameterError,
    SolverFailedError,
    UnknownBackendError,
    UnsupportedProgramError,
)
from qpsvm.qp import LowRankQuadratic, QPSolution, QuadraticProgram, SparseQuadratic, Status
from tests.processes import run

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = QuadraticProgram(np.eye(2), [-1.0, -2.0], lb=0.0, ub=1.5)


class Absent(Backend):
    name = "absent"
    licence = "none"
    distribution = "absent-solver"
    required_modules = ("absent_solver_module", "numpy")

    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        raise AssertionError(f"called with {program} and {settings}")


class Raising(Backend):
    name = "raising"
    licence = "none"
    distribution = "numpy"
    required_modules = ("numpy",)
    capabilities = Capabilities(bounds=True, max_variables=3)

    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        raise RuntimeError(f"the tableau caught fire ({program}, {settings.eps})")


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "label"),
    [
        ("cvxopt", "cvxopt"),
        ("CVXOPT", "cvxopt"),
        (" osqp ", "osqp"),
        ("CvxPy", "cvxpy"),
        ("cvxpy:clarabel", "cvxpy:CLARABEL"),
        ("CVXPY:Clarabel", "cvxpy:CLARABEL"),
        ("slsqp", "slsqp"),
        ("QPSolvers:PIQP", "qpsolvers:piqp"),
    ],
)
def test_names_in_any_case(asked: str, label: str) -> None:
    assert get(asked).label == label


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("cvxoptt", ["Did you mean 'cvxopt'?", "Installed: cvxopt, osqp"]),
        ("clarabel", ["'cvxpy:CLARABEL' or 'qpsolvers:clarabel'"]),
        ("gurobi", ["not installed; run: pip install cvxpy gurobipy"]),
        ("auto", ["choose(program)"]),
        ("qpsolvers", ["Installed:", "qpsolvers:piqp"]),
        ("", ["There is no backend ''"]),
        ("cvxpy:", ["There is no backend 'cvxpy:'"]),
        ("cvxpy:NOSUCH", ["no solver 'NOSUCH'", "CLARABEL", "OSQP"]),
        ("qpsolvers:nosuch", ["no solver 'nosuch'", "piqp"]),
    ],
)
def test_unknown_names(asked: str, words: list[str]) -> None:
    with pytest.raises(UnknownBackendError) as caught:
        get(asked)
    for part in words:
        assert part in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_name_is_text() -> None:
    with pytest.raises(UnknownBackendError, match="got int"):
        get(3)  # type: ignore[arg-type]


def test_solvers_that_only_the_package_knows() -> None:
    """GLPK_MI is in no table of ours; CVXPY reports it."""
    import cvxpy as cp

    unknown = set(cp.installed_solvers()) - set(registry.BEHIND_CVXPY)
    for name in unknown:
        assert get(f"cvxpy:{name}").label == f"cvxpy:{name}"


# --- listing -----------------------------------------------------------------------------------


def test_listing_is_complete() -> None:
    infos = {info.name: info for info in available()}
    assert len(infos) == len(available())
    for name in ("cvxopt", "osqp", "cvxpy", "slsqp", "cvxpy:CLARABEL", "qpsolvers:piqp"):
        assert infos[name].installed
        assert infos[name].version
        assert infos[name].missing == ()
    gurobi = infos["cvxpy:GUROBI"]
    assert isinstance(gurobi, BackendInfo)
    assert gurobi.install_command == "pip install cvxpy gurobipy"
    assert all(info.licence for info in infos.values())


def test_engines_of_this_package_have_its_licence() -> None:
    """What is not a package of its own cannot have a licence of its own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    made = [make() for make in registry.BUILT_IN.values()]
    own = [backend for backend in made if backend.distribution == project["name"]]
    assert {backend.name for backend in own} == {"ipm", "active-set"}
    assert {backend.licence for backend in own} == {project["license"]}


def test_every_listed_backend_can_be_asked_for() -> None:
    for info in available():
        assert get(info.name).label == info.name


def test_tables_cover_what_is_installed() -> None:
    import cvxpy as cp
    import qpsolvers

    names = {info.name for info in available() if info.installed}
    assert {f"qpsolvers:{name}" for name in qpsolvers.available_solvers} <= names
    integer = {"GLPK_MI", "ECOS_BB", "CBC", "SCIP"}  # for mixed-integer programs
    assert {f"cvxpy:{name}" for name in set(cp.installed_solvers()) - integer} <= names


def test_import_and_listing_import_no_solver() -> None:
    code = (
        "import sys, qpsvm.backends as backends\n"
        "backends.available(); backends.get('cvxpy:CLARABEL'); backends.get('qpsolvers:piqp')\n"
        "solvers = ['cvxopt', 'osqp', 'cvxpy', 'qpsolvers', 'clarabel', 'piqp', 'scs', 'highspy',"
        " 'daqp', 'ecos', 'proxsuite', 'quadprog', 'scipy.optimize', 'sklearn']\n"
        "print([name for name in solvers if name in sys.modules])\n"
    )
    output = run([sys.executable, "-c", code], check=True)
    assert output.stdout.strip() == "[]"


# --- what is missing, too large, or broken -------------------------------------------------------


def test_missing_package() -> None:
    backend = Absent()
    assert backend.missing_modules() == ("absent_solver_module",)
    assert backend.version() == ""
    with pytest.raises(BackendNotInstalledError) as caught:
        backend.solve(PROGRAM, Settings())
    assert "absent_solver_module" in str(caught.value)
    assert "pip install absent-solver" in str(caught.value)
    assert isinstance(caught.value, ImportError)


def test_uninstalled_bridge_target() -> None:
    backend = get("qpsolvers:gurobi")
    if not backend.missing_modules():
        pytest.skip("Gurobi is installed here")
    with pytest.raises(BackendNotInstalledError, match="pip install qpsolvers gurobipy"):
        backend.solve(PROGRAM, Settings())


def test_what_a_solver_raises_is_wrapped() -> None:
    with pytest.raises(SolverFailedError, match="RuntimeError: the tableau caught fire"):
        Raising().solve(PROGRAM, Settings())


def test_too_large() -> None:
    with pytest.raises(UnsupportedProgramError, match="at most 3 variables, the program has 4"):
        Raising().solve(QuadraticProgram(np.eye(4), np.ones(4)), Settings())
    large = QuadraticProgram(SparseQuadratic(sp.diags_array(np.ones(1501))), np.ones(1501))
    with pytest.raises(UnsupportedProgramError, match="at most 1500 variables"):
        get("slsqp").solve(large, Settings())


def test_linear_solvers_refuse_quadratic_programs() -> None:
    with pytest.raises(UnsupportedProgramError, match="linear programs only"):
        get("cvxpy:SCIPY").solve(PROGRAM, Settings())


@pytest.mark.parametrize(
    "wrong",
    [{"eps": 0.0}, {"eps": 1.0}, {"eps": float("nan")}, {"time_limit": 0}, {"max_iterations": 0}],
)
def test_settings_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]


def test_options_win_and_are_recorded() -> None:
    solution = get("osqp").solve(PROGRAM, Settings(options={"max_iter": 77, "alpha": 1.5}))
    assert solution.statistics.settings["max_iter"] == 77
    assert solution.statistics.settings["alpha"] == 1.5
    assert solution.statistics.settings["eps_abs"] <= 1e-8


def test_limits_that_are_not_passed_on_are_told() -> None:
    solution = get("qpsolvers:quadprog").solve(PROGRAM, Settings(max_iterations=10))
    assert "no setting for the iteration limit" in solution.statistics.note


# --- entry points --------------------------------------------------------------------------------


def _entry(name: str, value: str) -> importlib.metadata.EntryPoint:
    return importlib.metadata.EntryPoint(name, value, registry.ENTRY_POINTS)


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        _entry("absent", f"{__name__}:Absent"),
        _entry("broken", "no_such_module_anywhere:Backend"),
        _entry("wrong", "collections:OrderedDict"),
        _entry("cvxopt", f"{__name__}:Raising"),
    ]
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found if group else [])


@pytest.mark.usefixtures("entries")
def test_entry_points_are_listed_and_loaded() -> None:
    infos = {info.name: info for info in available()}
    assert infos["absent"].missing == ("absent_solver_module",)
    assert type(get("Absent")).__name__ == "Absent"


@pytest.mark.usefixtures("entries")
def test_a_broken_entry_point_breaks_nothing() -> None:
    infos = {info.name: info for info in available()}
    assert not infos["broken"].installed
    assert "ModuleNotFoundError" in infos["broken"].missing[0]
    assert "subclass of qpsvm.backends.Backend" in infos["wrong"].missing[0]
    with pytest.raises(BackendError, match="does not load"):
        get("broken")


@pytest.mark.usefixtures("entries")
def test_nobody_replaces_a_built_in_backend() -> None:
    assert type(get("cvxopt")).__name__ == "CVXOPTBackend"
    assert get("cvxopt").solve(PROGRAM, Settings()).status is Status.OPTIMAL


# --- "auto" --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        PROGRAM,
        QuadraticProgram(None, [1.0, 2.0], lb=0.0),
        QuadraticProgram(SparseQuadratic(sp.diags_array(np.ones(3))), np.ones(3)),
        QuadraticProgram(LowRankQuadratic(np.ones((4, 1))), -np.ones(4), lb=0.0, ub=1.0),
    ],
)
def test_choice_is_installed_and_solves(program: QuadraticProgram) -> None:
    name, reason = choose(program)
    assert reason
    assert not reason.endswith(".")
    assert get(name).solve(program, Settings()).status is Status.OPTIMAL
    assert choose(program) == (name, reason)
