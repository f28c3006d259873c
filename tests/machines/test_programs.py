"""Programs of conditions that no family of the library has, and the parts of x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.data.training_sets import regression_training_set
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Family
from qpsvm.machines import Conditions
from tests.families import BY_NAME, KERNELS
from tests.tolerances import SAME_OBJECTIVE

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 3))
T = X @ np.array([1.0, -2.0, 0.5]) + 0.3 * rng.standard_t(1.5, size=40)


@dataclass(frozen=True, repr=False)
class Huber(Family):
    """``C huber(v)``: squared up to delta (a curvature), linear beyond (a finite box)."""

    C: float = 2.0
    delta: float = 0.5
    low: float = 1.0

    def training_set(self, X: Any, y: Any, kernel: Any, sample_weight: Any) -> Any:
        return regression_training_set(X, y, kernel, sample_weight)

    def conditions(self, data: Any, gram: Any) -> Conditions:
        del gram
        slope = 2.0 * self.C * self.delta
        return Conditions(
            R=sp.eye_array(data.n_samples),
            required=data.values,
            lower=np.full(1, -self.low * slope),
            upper=np.full(1, slope),
            curvature=np.full(1, 0.5 / self.C),
        )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("low", [0.0, 1.0])
def test_a_loss_with_both_a_curvature_and_a_box(kernel: str, low: float) -> None:
    """``low = 0``: one side costs nothing, as in a Huberised hinge."""
    family = Huber(low=low)
    target = T if low else np.where(T > 0.0, 1.0, -2.0)
    objectives = []
    for form, backend in (("primal", "cvxopt"), ("dual", "cvxpy:CLARABEL"), ("primal", "osqp")):
        problem = getattr(family, form)(X, target, kernel=KERNELS[kernel], indefinite="error")
        solution = qpsvm.solve(problem, backend)
        assert solution.status is qpsvm.qp.Status.OPTIMAL
        objectives.append(qpsvm.certify(problem, solution).primal_objective)
        back = problem.recover(problem.to_qp(solution))
        assert qpsvm.verify(problem, back, eps=1e-6).passed
    assert objectives == pytest.approx([objectives[0]] * 3, rel=SAME_OBJECTIVE)
    if kernel == "linear" and low:
        w, b = cp.Variable(3), cp.Variable()
        loss = cp.huber(target - X @ w - b, family.delta)
        independent = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + family.C * cp.sum(loss)))
        independent.solve(solver="CLARABEL")
        assert objectives[0] == pytest.approx(independent.value, rel=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"lower": np.ones(1)},
        {"upper": -np.ones(1)},
        {"curvature": -np.ones(1)},
        {"curvature": np.array([0.0, 1.0])},
        {"lower": np.full(1, np.nan)},
    ],
    ids=str,
)
def test_conditions_that_are_no_loss_are_refused(changes: dict[str, Any]) -> None:
    fine = {"lower": np.zeros(1), "upper": np.ones(1), "curvature": np.zeros(1)}
    with pytest.raises(InvalidParameterError, match="lower <= 0 <= upper"):
        Conditions(R=sp.eye_array(2), required=np.ones(1), **(fine | changes))


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_the_parts_of_x_cover_it_and_hold_what_they_say(name: str, form: str) -> None:
    problem = BY_NAME[name].build(form)
    parts = problem.variables
    covered = np.concatenate([np.arange(problem.qp.n_variables)[part] for part in parts.values()])
    np.testing.assert_array_equal(covered, np.arange(problem.qp.n_variables))
    assert problem.qp.names["x"] == ", ".join(parts)
    solution = qpsvm.solve(problem, "cvxopt")
    x = solution.qp.x
    if form == "dual":
        np.testing.assert_array_equal(x[parts["alpha"]], solution.alpha)
    else:
        np.testing.assert_array_equal(x[parts["w"]], solution.coef)
        for width in ("rho", "epsilon"):
            if width in parts:
                assert x[parts[width]] == pytest.approx([solution.width], abs=1e-4)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_what_is_exported_is_the_program(name: str, form: str, tmp_path: Any) -> None:
    """For a nonlinear kernel too: P evaluated once, the same to the last bit."""
    problem = BY_NAME[name].build(form, KERNELS["rbf"])
    problem.to_npz(tmp_path / "p.npz")
    problem.to_qps(tmp_path / "p.qps")
    expected = problem.canonical("dense")
    for program in (
        qpsvm.qp.exchange.read_npz(tmp_path / "p.npz"),
        qpsvm.qp.exchange.read_qps(tmp_path / "p.qps"),
    ):
        for mine, theirs in zip(expected, program.canonical("dense"), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert r"\text{minimise}" in problem.to_latex()


# --- the optimum of a program and of its machine -------------------------------------------------

SEVERAL = {
    "crammer singer": qpsvm.CrammerSinger(C=0.7),
    "1-norm": qpsvm.L1Norm(C=0.7),
    "1-norm, penalised intercept": qpsvm.L1Norm(C=0.7, intercept="penalized"),
}


def is_objective_of_its_program(problem: Any) -> bool:
    solution = qpsvm.solve(problem, eps=1e-9)
    certificate = qpsvm.certify(problem, solution)
    known = certificate.primal_objective
    if problem.form == "dual":
        known = -certificate.dual_objective
    found = problem.qp.objective(solution.qp.x)
    return bool(found == pytest.approx(known, rel=SAME_OBJECTIVE, abs=1e-12))


@pytest.mark.parametrize("kernel", ["linear", pytest.param("rbf", marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("name", list(BY_NAME))
def test_a_program_has_the_objective_of_its_machine_or_the_opposite_of_the_dual_one(
    name: str, form: str, kernel: str
) -> None:
    case = BY_NAME[name]
    for intercept in case.intercepts:
        assert is_objective_of_its_program(case.build(form, KERNELS[kernel], intercept))


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("name", list(SEVERAL))
def test_so_have_machines_of_several_functions_and_1_norms(name: str, form: str) -> None:
    y = np.where(T > 1.0, 2, np.where(T < -1.0, 0, 1)) if name == "crammer singer" else T > 0.0
    assert is_objective_of_its_program(getattr(SEVERAL[name], form)(X, y))
