"""Settings of solvers by name: a name that a solver does not have is refused, with those it has."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.backends import Settings, available, get
from qpsvm.backends.solver_table import BEHIND_CVXPY, BEHIND_QPSOLVERS, SOLVERS
from qpsvm.exceptions import InvalidParameterError
from qpsvm.qp import QuadraticProgram, Status

INSTALLED = [info.name for info in available() if info.installed]
QUADRATIC = QuadraticProgram(np.eye(2), [-1.0, -2.0], A=[[1.0, 1.0]], b=[1.0], lb=0.0, ub=1.5)
LINEAR = QuadraticProgram(None, [-1.0, -2.0], A=[[1.0, 1.0]], b=[1.0], lb=0.0, ub=1.5)


def program_for(name: str) -> QuadraticProgram:
    return QUADRATIC if get(name).capabilities.quadratic_programs else LINEAR


@pytest.mark.parametrize("name", INSTALLED)
def test_an_unknown_option_is_refused_with_all_that_there_are(name: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"'{name}' has no option 'foo'; it has \w+"):
        get(name).solve(program_for(name), Settings(options={"foo": 1}))


def test_a_misspelt_option_is_recognised() -> None:
    with pytest.raises(InvalidParameterError, match="did you mean 'eps_abs'"):
        qpsvm.solve(QUADRATIC, "osqp", options={"esp_abs": 1e-9})


@pytest.mark.parametrize("name", [n for n in INSTALLED if ":" in n and "classical" not in n])
def test_the_names_are_those_that_qpsvm_itself_sets(name: str) -> None:
    bridge, _, solver = name.partition(":")
    about = (BEHIND_CVXPY if bridge == "cvxpy" else BEHIND_QPSOLVERS)[solver]
    assert about.option_names() is not None
    own = SOLVERS[solver.lower()].own_names()
    bridged = {"raise_error", "accept_unknown", "scipy_options", "glpk"}
    assert own is not None
    assert about.names - bridged <= own


@pytest.mark.parametrize("name", ["osqp", "cvxpy:OSQP", "qpsolvers:osqp"])
def test_what_osqp_prints_of_a_failure_is_in_the_status_only(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    hardly_convex = QuadraticProgram(np.diag([1e6, 1e6, -1.0]), [1.0, 2.0, 0.0], lb=-1.0, ub=1.0)
    answer = get(name).solve(hardly_convex, Settings())
    assert capfd.readouterr() == ("", "")
    assert answer.status is Status.FAILED
    assert "seems to be non-convex" in answer.native_status
