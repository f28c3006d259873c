"""Blocks of pairs: the optimum of every family, few kernel values, and what they cannot take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.kernels import RBF
from qpsvm.qp import KernelQuadratic, QuadraticProgram, SampleGram, Status
from qpsvm.solvers.box.blocks import PairProgram, block_decomposition
from qpsvm.solvers.box.curvature import KernelColumns
from qpsvm.solvers.box.program import Boxed
from qpsvm.solvers.box.settings import DEFAULTS
from qpsvm.solvers.box.working_sets import working_set_method
from qpsvm.solvers.budget import WorkBudget
from tests.families import DUALS as FORMULATIONS
from tests.tolerances import ROUNDING, SAME_OBJECTIVE

PLENTY = 2**30
BLOCKS = replace(DEFAULTS, whole_size=0, smallest_block=40, steps_per_variable=1000, handover=1e-9)
"""Many small blocks, to the end."""


def program_of(name: str, n: int = 160, **data: Any) -> tuple[Any, KernelColumns]:
    """The box program of a family, and its columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    t = np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)
    y = t if "regression" in name or name in ("tube", "quantile") else np.where(t > 0.3, 1, -1)
    given = (X,) if name in ("one class", "ball") else (X, y)
    qp = FORMULATIONS[name].dual(*given, kernel=RBF(0.5), **data).qp
    return box_of(qp)


def box_of(qp: QuadraticProgram) -> tuple[Any, KernelColumns]:
    """A kernel dual as a box program by columns."""
    box = Boxed.of(qp, PLENTY).box
    columns = KernelColumns(qp.P, box.size - qp.P.size, PLENTY)
    return replace(box, P=columns), columns


def descend(box: Any, columns: KernelColumns, **more: Any) -> Any:
    """The point of the descent with small blocks."""
    given = {"start": None, "eps": 1e-9, "budget": WorkBudget(largest=5000)}
    return block_decomposition(replace(box, P=columns), **(given | {"settings": BLOCKS} | more))


def optimum(box: Any) -> float:
    """The objective of Newton working sets from zero."""
    found = working_set_method(box, np.zeros(box.size), WorkBudget(largest=5000))
    return box.objective(found)


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("settings", [BLOCKS, replace(BLOCKS, whole_size=10**6, whole_steps=1000)])
def test_the_optimum_of_every_family(name: str, settings: Any) -> None:
    box, columns = program_of(name)
    point = descend(box, columns, settings=settings)
    assert box.rows_hold(point.x)
    np.testing.assert_array_equal(point.x, box.clip(point.x))
    np.testing.assert_allclose(point.Px, columns.product(point.x), atol=1e3 * ROUNDING)
    best = optimum(box)
    assert box.objective(point) == pytest.approx(best, rel=SAME_OBJECTIVE)


@pytest.mark.parametrize("name", ["hinge", "tube", "nu", "penalised"])
def test_the_objective_never_rises(name: str) -> None:
    box, columns = program_of(name)
    objectives = []
    budget = WorkBudget(watch=lambda b: objectives.append(box.objective(b.best)) or True)
    descend(box, columns, budget=budget)
    assert len(objectives) > 3
    assert (np.diff(objectives) <= ROUNDING * np.abs(objectives[-1])).all()


@pytest.mark.parametrize("name", ["hinge", "tube", "penalised"])
def test_from_the_optimum_no_block_is_needed(name: str) -> None:
    box, columns = program_of(name)
    best = working_set_method(box, np.zeros(box.size), WorkBudget(largest=5000))
    calls: list[float] = []
    budget = WorkBudget(watch=lambda b: calls.append(b.residual) or True)
    point = descend(box, columns, start=best.x, budget=budget)
    assert len(calls) <= 1
    np.testing.assert_allclose(point.x, best.x, atol=1e-6)


def test_a_stop_hands_out_the_point_so_far() -> None:
    box, columns = program_of("hinge")
    calls: list[float] = []
    budget = WorkBudget(watch=lambda b: calls.append(b.residual) or len(calls) < 3)
    point = descend(box, columns, budget=budget)
    assert budget.is_over
    assert box.objective(point) < 0.0
    np.testing.assert_array_equal(point.x, budget.best.x)


@pytest.mark.parametrize("change", ["factors", "rows", "one row of two kinds"])
def test_rows_that_are_no_sums_are_left_to_working_sets(change: str) -> None:
    box, columns = program_of("hinge")
    P, rng = columns.P, np.random.default_rng(1)
    if change == "factors":
        uneven = KernelQuadratic(P.gram, P.selection.signs * rng.uniform(0.5, 2.0, P.size))
        columns = KernelColumns(uneven, 0, PLENTY)
    elif change == "rows":
        box = replace(box, A=rng.uniform(-1.0, 1.0, box.A.shape))
    else:
        box = replace(box, A=np.ones_like(box.A))
    assert PairProgram.of(box, columns.P) is None
    assert descend(box, columns) is None


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_factors_of_one_size_are_folded_into_the_variables(scale: float) -> None:
    box, columns = program_of("hinge")
    P = columns.P
    scaled = KernelQuadratic(P.gram, scale * P.selection.signs, diag=P.diag)
    program = QuadraticProgram(scaled, box.q, A=box.A, b=box.b, lb=box.lower, ub=box.upper)
    box, columns = box_of(program)
    point = descend(box, columns)
    assert box.objective(point) == pytest.approx(optimum(box), rel=SAME_OBJECTIVE)


def test_kernel_values_that_are_no_numbers_move_nothing() -> None:
    _, columns = program_of("hinge", 40)
    P = columns.P
    broken = SampleGram(lambda X, Z: np.full((len(X), len(Z)), np.nan), P.gram.X)
    box, _ = program_of("hinge", 40)
    columns = KernelColumns(KernelQuadratic(broken, P.selection.signs), 0, PLENTY)
    point = descend(replace(box, P=columns), columns)
    assert not point.x.any()


@dataclass(frozen=True)
class Counting(qpsvm.kernels.RBF):
    """An RBF kernel that counts its values."""

    counts: tuple[list[int], ...] = ([0],)

    def __call__(self, X: Any, Z: Any) -> Any:
        self.counts[0][0] += X.shape[0] * Z.shape[0]
        return super().__call__(X, Z)

    @property
    def is_positive_semidefinite(self) -> bool:
        return True


def clusters(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Samples of two classes in eight clusters, most of them far from the other class."""
    rng = np.random.default_rng(seed)
    centres, which = 4.0 * rng.normal(size=(8, 6)), rng.integers(8, size=n)
    return centres[which] + rng.normal(size=(n, 6)), which % 2


def test_few_support_vectors_need_few_kernel_values() -> None:
    X, y = clusters(3000)
    kernel = Counting(0.1, counts=([0],))
    problem = qpsvm.SoftMargin(1.0).dual(X, y, kernel=kernel)
    kernel.counts[0][0] = 0
    solution = qpsvm.solve(problem, "active-set")
    assert solution.status is Status.OPTIMAL
    assert len(solution.support) < 0.1 * len(X)
    assert kernel.counts[0][0] < 0.6 * len(X) ** 2


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("C", [0.1, 1.0, 1000.0])
def test_blocks_and_working_sets_end_at_one_optimum(intercept: Any, C: float) -> None:
    X, y = clusters(1500, seed=1)
    weights = 1.0 + (np.arange(len(X)) % 3)
    problem = qpsvm.SoftMargin(C, intercept=intercept).dual(
        X, y, kernel=qpsvm.kernels.RBF(0.1), sample_weight=weights
    )
    proofs = []
    for options in ({"whole_size": 0, "smallest_block": 100}, {"max_blocks": 0}, {}):
        solution = qpsvm.solve(problem, "active-set", eps=1e-10, options=options)
        assert solution.status is Status.OPTIMAL
        proofs.append(qpsvm.certify(problem, solution).primal_objective)
    assert np.ptp(proofs) <= 1e-9 * abs(proofs[0])


def test_a_class_of_one_sample_is_found() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 3))
    X[77] += 9.0
    y = np.arange(len(X)) == 77
    problem = qpsvm.SoftMargin(1.0).dual(X, y, kernel=qpsvm.kernels.RBF(0.3))
    solution = qpsvm.solve(problem, "active-set")
    assert solution.status is Status.OPTIMAL
    assert 77 in solution.support


def test_nothing_is_kept_beyond_the_memory_limit() -> None:
    X, y = clusters(1800, seed=4)
    problem = qpsvm.SoftMargin(1.0).dual(X, y, kernel=qpsvm.kernels.RBF(0.1))
    limit = {"memory_limit": 4_000_000}
    assert qpsvm.solve(problem, "active-set", options=limit).status is Status.OPTIMAL
    assert not problem.model.gram.gram.is_kept
