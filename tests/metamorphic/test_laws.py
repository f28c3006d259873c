"""Laws that relate the solutions of two problems, whatever the right answer is.

Each law changes the data and says how objective and decision values must follow. All of them are
held against every family of ``tests.families``, primal and dual, with several kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import kernels
from tests.families import BY_NAME, CASES, KERNELS, NEW, Case, Data, settings
from tests.strategies import grid
from tests.tolerances import LAW_DECISION, LAW_EPS, LAW_OBJECTIVE

Setting = tuple[str, str, str, str]
SETTINGS: list[Setting] = [
    *settings(),
    *(s for s in settings(kernels=("polynomial",)) if s[3] in ("free", "own")),
]


def every(
    *,
    kernel: str = "",
    intercepts: tuple[str, ...] = (),
    kinds: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
) -> Any:
    """The settings a law is about."""
    chosen = [
        s
        for s in SETTINGS
        if (not kernel or s[2] == kernel)
        and (not intercepts or s[3] in intercepts)
        and (not kinds or BY_NAME[s[0]].kind in kinds)
        and (not names or s[0] in names)
    ]
    assert chosen
    return grid("setting", chosen)


class Solved:
    """A solution with its certified objective."""

    def __init__(self, problem: Any, solution: Any) -> None:
        assert solution.status is qpsvm.qp.Status.OPTIMAL
        self.problem, self.solution = problem, solution
        self.objective = qpsvm.certify(problem, solution).primal_objective

    def at(self, X: Any) -> Any:
        return self.solution.decision_function(X)

    def must_be(self, objective: Any, decision: Any, expected: Any, *, near: Any = None) -> None:
        """The objective is that one, and the decision values agree."""
        assert self.objective == pytest.approx(objective, rel=LAW_OBJECTIVE)
        size = np.max(np.abs(expected if near is None else near))
        np.testing.assert_allclose(decision, expected, rtol=0, atol=LAW_DECISION * size)


def solve(
    setting: Setting,
    data: Data | None = None,
    *,
    family: Any = None,
    kernel: Any = None,
    form: str = "",
    intercept: str = "",
    **more: Any,
) -> Solved:
    """The setting with something changed."""
    name, own_form, own_kernel, own_intercept = setting
    form = form or own_form
    problem = BY_NAME[name].build(
        form, kernel or KERNELS[own_kernel], intercept or own_intercept, data, family, **more
    )
    # methods that share nothing: CVXOPT for the duals, PIQP for the primals
    backend = "cvxopt" if form == "dual" else "qpsolvers:piqp"
    return Solved(problem, qpsvm.solve(problem, backend, eps=LAW_EPS))


@cache
def base_of(setting: Setting) -> Solved:
    return solve(setting)


def case_of(setting: Setting) -> tuple[Case, Solved]:
    return BY_NAME[setting[0]], base_of(setting)


# --- weights and rows -----------------------------------------------------------------------------


@every()
def test_a_weight_of_two_is_a_repeated_row(setting: Setting) -> None:
    case, _ = case_of(setting)
    n = len(case.data)
    weights = np.where(np.arange(n) % 4 == 1, 2.0, 1.0)
    repeated = solve(setting, case.data.rows(np.repeat(np.arange(n), weights.astype(int))))
    weighted = solve(setting, sample_weight=weights)
    weighted.must_be(repeated.objective, weighted.at(NEW), repeated.at(NEW))


@every()
def test_a_weight_of_zero_is_a_missing_row(setting: Setting) -> None:
    case, _ = case_of(setting)
    weights = np.where(np.arange(len(case.data)) % 5 == 2, 0.0, 1.0)
    fewer = solve(setting, case.data.rows(np.flatnonzero(weights)))
    weighted = solve(setting, sample_weight=weights)
    weighted.must_be(fewer.objective, weighted.at(NEW), fewer.at(NEW))
    assert (
        weights[
            weighted.problem.model.sample_table(
                weighted.problem.model.evaluate(weighted.solution)
            ).sample
        ]
        == 1.0
    ).all()


@every()
def test_equal_weights_are_a_factor_of_the_price_or_nothing_where_they_are_normalised(
    setting: Setting,
) -> None:
    case, base = case_of(setting)
    tripled = solve(setting, sample_weight=np.full(len(case.data), 3.0))
    normalised = getattr(case.family, "average_loss", not case.has("C") or case.has_width)
    family = case.family
    if not normalised:  # a pair has the weight of both
        family = replace(family, C=family.C * (9.0 if case.kind == "grades" else 3.0))
    expected = solve(setting, family=family)
    tripled.must_be(expected.objective, tripled.at(NEW), expected.at(NEW))
    if not normalised and case.name != "ball":
        assert expected.objective > base.objective * (1 + 1e-3)  # the law says something


@every()
def test_the_order_of_the_rows_does_not_matter(setting: Setting) -> None:
    case, base = case_of(setting)
    order = np.random.default_rng(0).permutation(len(case.data))
    permuted = solve(setting, case.data.rows(order))
    permuted.must_be(base.objective, permuted.at(NEW), base.at(NEW))
    scores = permuted.solution.decision_function(base.problem.data.X)
    np.testing.assert_allclose(
        permuted.at(permuted.problem.data.X), scores[order], atol=1e-12 * np.max(np.abs(scores))
    )
    # strictly convex in alpha: the very same multipliers, in the other order
    if case.name in ("squared hinge", "least squares"):
        largest = np.max(np.abs(base.solution.alpha))
        np.testing.assert_allclose(
            permuted.solution.alpha, base.solution.alpha[order], atol=LAW_DECISION * largest
        )


@every(names=("hard margin", "hinge", "tube", "ball"))
def test_a_row_that_has_nothing_to_say_changes_nothing(setting: Setting) -> None:
    case, base = case_of(setting)
    support = base.solution.support
    assert len(support) < len(case.data)
    fewer = solve(setting, case.data.rows(support))
    fewer.must_be(base.objective, fewer.at(NEW), base.at(NEW))


# --- the other way round --------------------------------------------------------------------------


@every(kinds=("classes", "separable", "targets", "grades"))
def test_opposite_targets_give_the_opposite_machine(setting: Setting) -> None:
    case, base = case_of(setting)
    family = case.family
    if case.has("tau"):  # the quantile from the other end
        family = replace(family, tau=1.0 - family.tau)
    if case.has("class_weight") and isinstance(family.class_weight, Mapping):
        family = replace(family, class_weight={-k: v for k, v in family.class_weight.items()})
    flipped = solve(setting, replace(case.data, y=-case.data.y), family=family)
    flipped.must_be(base.objective, flipped.at(NEW), -base.at(NEW))
    assert flipped.solution.width == pytest.approx(
        base.solution.width, abs=LAW_DECISION * max(1e-3, base.solution.width)
    )


@every(kinds=("grades",))
def test_only_the_order_of_the_grades_within_a_group_matters(setting: Setting) -> None:
    case, base = case_of(setting)
    grades = np.exp(case.data.y) + 10.0 * np.repeat([3.0, -1.0, 0.0], 4)
    other = solve(setting, replace(case.data, y=grades, groups=np.repeat([7, 5, 6], 4)))
    other.must_be(base.objective, other.at(NEW), base.at(NEW))


# --- columns --------------------------------------------------------------------------------------


@every()
def test_the_order_of_the_columns_does_not_matter(setting: Setting) -> None:
    case, base = case_of(setting)
    order = [2, 0, 1]
    permuted = solve(setting, replace(case.data, X=case.data.X[:, order]))
    permuted.must_be(base.objective, permuted.at(NEW[:, order]), base.at(NEW))


@every()
def test_a_column_of_zeros_does_not_matter(setting: Setting) -> None:
    case, base = case_of(setting)
    zeros = np.zeros((len(case.data), 1))
    wider = solve(setting, replace(case.data, X=np.hstack([case.data.X, zeros])))
    decision = wider.at(np.hstack([NEW, np.zeros((len(NEW), 1))]))
    wider.must_be(base.objective, decision, base.at(NEW))


@every()
def test_turned_samples_turn_the_machine(setting: Setting) -> None:
    case, base = case_of(setting)
    rotation, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))
    turned = solve(setting, replace(case.data, X=case.data.X @ rotation))
    turned.must_be(base.objective, turned.at(NEW @ rotation), base.at(NEW))


@every(kernel="linear", intercepts=("penalized",))
def test_a_penalised_intercept_is_one_more_column_of_ones(setting: Setting) -> None:
    case, base = case_of(setting)
    ones = np.ones((len(case.data), 1))
    wider = solve(setting, replace(case.data, X=np.hstack([case.data.X, ones])), intercept="none")
    wider.must_be(base.objective, wider.at(np.hstack([NEW, np.ones((len(NEW), 1))])), base.at(NEW))
    assert wider.solution.coef[-1] == pytest.approx(
        base.solution.intercept, abs=LAW_DECISION * max(1.0, np.max(np.abs(base.at(NEW))))
    )


@every(kernel="rbf", intercepts=("penalized",))
def test_a_penalised_intercept_is_a_kernel_plus_one(setting: Setting) -> None:
    case, base = case_of(setting)
    K = base.problem.kernel(case.data.X, case.data.X) + 1.0
    given = solve(setting, replace(case.data, X=K), kernel="precomputed", intercept="none")
    block = base.problem.kernel(NEW, case.data.X) + 1.0
    given.must_be(base.objective, given.at(block), base.at(NEW))


# --- units and origins ----------------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.25, 3.0])
@every(kernel="linear", intercepts=("free", "none", "own"))  # a penalised b would scale as well
def test_other_units_of_the_samples(setting: Setting, t: float) -> None:
    case, base = case_of(setting)
    family, objective, decision = case.family, t**-2, 1.0
    if case.kind == "samples" or isinstance(family, qpsvm.NuClassification):
        # the same multipliers: w grows by t, and w'x by t^2
        objective = decision = t**2
    elif case.has("C"):  # the same margins and errors: w falls by t, and 1/2 |w|^2 by t^2
        family = replace(family, C=family.C / t**2)
    scaled = solve(setting, replace(case.data, X=t * case.data.X), family=family)
    scaled.must_be(objective * base.objective, scaled.at(t * NEW), decision * base.at(NEW))


@pytest.mark.parametrize("a", [0.01, 20.0])
@every(kinds=("targets",))
def test_other_units_of_the_targets(setting: Setting, a: float) -> None:
    case, base = case_of(setting)
    squared = getattr(case.family, "loss", "").startswith("squared")
    changes = {"C": case.family.C * (1.0 if squared else a)}
    if case.has("epsilon"):
        changes["epsilon"] = a * case.family.epsilon
    scaled = solve(
        setting, replace(case.data, y=a * case.data.y), family=replace(case.family, **changes)
    )
    scaled.must_be(a**2 * base.objective, scaled.at(NEW), a * base.at(NEW))
    assert scaled.solution.width == pytest.approx(
        a * base.solution.width, abs=a * LAW_DECISION * max(1.0, base.solution.width)
    )


@pytest.mark.parametrize("c", [-50.0, 1e4])
@every(kinds=("targets",), intercepts=("free",))
def test_shifted_targets_shift_a_free_intercept(setting: Setting, c: float) -> None:
    case, base = case_of(setting)
    shifted = solve(setting, replace(case.data, y=case.data.y + c))
    shifted.must_be(base.objective, shifted.at(NEW) - c, base.at(NEW))


@every(kernel="linear", intercepts=("free", "own"))
def test_moved_samples_leave_the_decisions_alone(setting: Setting) -> None:
    case, base = case_of(setting)
    shift = np.array([5.0, -3.0, 1.0])
    moved = solve(setting, replace(case.data, X=case.data.X + shift))
    if case.name == "one class":  # what matters is where the origin is
        assert abs(moved.objective - base.objective) > 0.1 * abs(base.objective)
        return
    decision, expected = moved.at(NEW + shift), base.at(NEW)
    if case.kind == "grades":  # only differences mean something
        decision, expected = decision - decision[0], expected - expected[0]
    moved.must_be(base.objective, decision, expected, near=base.at(NEW))


@every(kernel="linear", intercepts=("penalized", "none"))
def test_moved_samples_are_another_problem_without_a_free_intercept(setting: Setting) -> None:
    case, base = case_of(setting)
    moved = solve(setting, replace(case.data, X=case.data.X + np.array([0.5, -0.3, 0.1])))
    assert abs(moved.objective - base.objective) > 1e-4 * abs(base.objective)


@every(kernel="rbf", intercepts=("free", "own"))
def test_a_constant_of_the_kernel_is_lost_on_a_free_intercept(setting: Setting) -> None:
    case, base = case_of(setting)
    K = base.problem.kernel(case.data.X, case.data.X) + 2.0
    given = solve(setting, replace(case.data, X=K), kernel="precomputed")
    block = base.problem.kernel(NEW, case.data.X) + 2.0
    if case.name == "one class":  # 1'a = 1: 1/2 a'Ka grows by 1, w'phi(x) and rho by 2
        given.must_be(base.objective - 1.0, given.at(block), base.at(NEW))
    elif case.name == "ball":  # its decision values need k(x, x)
        assert given.objective == pytest.approx(base.objective, rel=LAW_OBJECTIVE)
    else:
        given.must_be(base.objective, given.at(block), base.at(NEW))


# --- one machine, many ways -----------------------------------------------------------------------


@every()
def test_sparse_samples_are_the_same_samples(setting: Setting) -> None:
    case, _ = case_of(setting)
    thin = np.where(np.abs(case.data.X) > 0.3, case.data.X, 0.0)
    dense = solve(setting, replace(case.data, X=thin))
    sparse = solve(setting, replace(case.data, X=sp.csr_array(thin)))
    sparse.must_be(dense.objective, sparse.at(sp.csr_array(NEW)), dense.at(NEW))


@every()
def test_the_kernel_matrix_itself_gives_the_same_machine(setting: Setting) -> None:
    case, base = case_of(setting)
    kernel = base.problem.kernel
    given = solve(
        setting, replace(case.data, X=kernel(case.data.X, case.data.X)), kernel="precomputed"
    )
    if case.name == "ball":  # its decision values need k(x, x)
        assert given.objective == pytest.approx(base.objective, rel=LAW_OBJECTIVE)
        with pytest.raises(qpsvm.exceptions.InvalidDataError, match=r"k\(x, x\)"):
            given.at(kernel(NEW, case.data.X))
        return
    given.must_be(base.objective, given.at(kernel(NEW, case.data.X)), base.at(NEW))


def inner_product(A: Any, B: Any) -> Any:
    return A @ B.T


@every(kernel="linear")
def test_a_callable_inner_product_is_the_linear_kernel(setting: Setting) -> None:
    _, base = case_of(setting)
    called = solve(setting, kernel=kernels.as_kernel(inner_product))
    assert called.solution.coef is None
    called.must_be(base.objective, called.at(NEW), base.at(NEW))


@grid("setting", [s for s in SETTINGS if s[1] == "dual"])
def test_primal_and_dual_give_the_same_machine(setting: Setting) -> None:
    _, dual = case_of(setting)
    name, _, kernel, intercept = setting
    primal = base_of((name, "primal", kernel, intercept))
    primal.must_be(dual.objective, primal.at(NEW), dual.at(NEW))
    assert primal.solution.width == pytest.approx(
        dual.solution.width, abs=LAW_DECISION * max(1.0, dual.solution.width)
    )
    assert primal.solution.width >= 0.0


def test_every_family_is_held_to_these_laws() -> None:
    exported = {
        name
        for name in qpsvm.formulations.__all__
        if hasattr(getattr(qpsvm.formulations, name), "dual")
    }
    # another norm; several decision functions
    other_machines = {"L1Norm", "CrammerSinger", "OneVsOne", "OneVsRest"}
    missing = exported - other_machines - {type(case.family).__name__ for case in CASES}
    assert not missing, f"add a line to tests/families.py for {sorted(missing)}"
