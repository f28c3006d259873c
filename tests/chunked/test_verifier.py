"""The verifier of samples in chunks passes no wrong answer, and trusts no statement."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import ChunkedCertificate, ChunkedSolution, PassStatistics
from qpsvm.chunked.contents import run_pass
from qpsvm.chunked.evaluation import RowConditions, dual_variables
from qpsvm.chunked.machine import ChunkedDual, Machine
from qpsvm.exceptions import QPSVMError
from qpsvm.qp import Status
from tests.chunked.cases import BY_NAME, arguments, in_chunks, settings
from tests.chunked.exact import Exact
from tests.strategies import PARTS, numbered

EPS = 1e-8


@cache
def solved(name: str, intercept: str = "free") -> tuple[Any, Any]:
    case = BY_NAME[name]
    problem = in_chunks(case.with_intercept(intercept), *arguments(case))
    return problem, qpsvm.solve(problem, eps=1e-12 if case.kind != "samples" else 1e-11)


def listed(problem: Any, solution: Any) -> np.ndarray:
    """All dual variables of a solution, in the order of ``Exact``."""
    request = problem.template, solution.dual
    parts = run_pass(_alphas, problem.task, problem.samples.chunks, request)
    return np.concatenate(parts)


def _alphas(contents: Any, request: Any, number: int) -> Any:
    form, point = request
    own = RowConditions.of(contents, form)
    return dual_variables(own, point, number).ravel()


# --- what is not a solution ----------------------------------------------------------------------


class OwnMachine(Machine):
    """A subclass could compute anything."""


class OwnPoint(ChunkedDual):
    """A subclass could list anything."""


@dataclass(frozen=True, eq=False)
class OwnSolution(ChunkedSolution):
    """A subclass could say anything."""


def with_point(solution: Any, **changes: Any) -> Any:
    return replace(solution, dual=replace(solution.dual, **changes))


def with_centre(solution: Any, **changes: Any) -> Any:
    return with_point(solution, centre=replace(solution.dual.centre, **changes))


def with_numbers(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda s: with_point(s, numbers=tuple(change(part) for part in s.dual.numbers))


def with_alphas(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda s: with_point(s, open=tuple(change(part) for part in s.dual.open))


REFUSED: dict[str, Callable[[Any], Any]] = {
    "NaN in coef": lambda s: replace(s, coef=s.coef * np.nan),
    "infinite coef": lambda s: replace(s, coef=s.coef * np.inf),
    "complex coef": lambda s: replace(s, coef=s.coef + 0j),
    "masked coef": lambda s: replace(s, coef=np.ma.masked_array(s.coef, [True, False, False])),
    "text": lambda s: replace(s, coef=["a", "b", "c"]),
    "no coef": lambda s: replace(s, coef=None),
    "short coef": lambda s: replace(s, coef=s.coef[:2]),
    "coef of two dimensions": lambda s: replace(s, coef=s.coef[None]),
    "no intercept": lambda s: replace(s, intercept=None),
    "NaN intercept": lambda s: replace(s, intercept=np.nan),
    "infinite intercept": lambda s: replace(s, intercept=np.inf),
    "two intercepts": lambda s: replace(s, intercept=np.array([s.intercept, s.intercept])),
    "text for an intercept": lambda s: replace(s, intercept="1"),
    "no width": lambda s: replace(s, width=None),
    "NaN width": lambda s: replace(s, width=np.nan),
    "negative width": lambda s: replace(s, width=-1e-9),
    "infinite width": lambda s: replace(s, width=np.inf),
    "no dual point": lambda s: replace(s, dual=None),
    "dual point of a subclass": lambda s: replace(s, dual=OwnPoint(**vars(s.dual))),
    "centre of a subclass": lambda s: with_point(s, centre=OwnMachine(**vars(s.dual.centre))),
    "no centre": lambda s: with_point(s, centre=None),
    "NaN in the centre": lambda s: with_point(
        s, centre=replace(s.dual.centre, coef=s.coef * np.nan)
    ),
    "short centre": lambda s: with_centre(s, coef=s.coef[:1]),
    "numbers are missing": lambda s: with_point(s, numbers=s.dual.numbers[:-1]),
    "a chunk is missing": lambda s: with_point(
        s, numbers=s.dual.numbers[:-1], open=s.dual.open[:-1]
    ),
    "no numbers": lambda s: with_point(s, numbers=None),
    "nothing for numbers": with_numbers(lambda _: None),
    "no list": lambda s: with_point(s, open=None),
    "text for numbers": with_numbers(lambda own: np.array(["a"] * len(own))),
    "NaN for numbers": with_numbers(lambda own: np.full(len(own), np.nan)),
    "broken numbers": with_numbers(lambda own: own + 0.5),
    "other numbers": with_numbers(lambda own: own[::-1]),
    "negative numbers": with_numbers(lambda own: own - 10**6),
    "large numbers": with_numbers(lambda own: own + 10**6),
    "one number for all": with_numbers(np.zeros_like),
    "numbers of two dimensions": with_numbers(lambda own: own[None]),
    "a variable is missing": with_alphas(lambda a: a[1:]),
    "one variable too many": with_alphas(lambda a: np.append(a, 0.0)),
    "NaN for variables": with_alphas(lambda a: np.full(len(a), np.nan)),
    "variables of two dimensions": with_alphas(lambda a: a[None]),
    "text for variables": with_alphas(lambda a: np.array(["a"] * len(a))),
    "infinite variables": with_alphas(lambda a: np.full(len(a), np.inf)),
    "other variables": with_alphas(lambda a: np.zeros(len(a))),
    "other classes": lambda s: replace(s, classes=s.classes[::-1]),
    "no classes": lambda s: replace(s, classes=None),
    "a novelty detector": lambda s: replace(s, is_novelty=True),
    "a ball": lambda s: replace(s, is_ball=True),
    "a solution of a subclass": lambda s: OwnSolution(**vars(s)),
    "another object": vars,
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_solution_fails_closed(what: str) -> None:
    problem, solution = solved("nu classification")
    assert qpsvm.verify(problem, solution, eps=EPS).passed
    try:
        report = qpsvm.verify(problem, REFUSED[what](solution), eps=EPS)
    except QPSVMError:
        return
    assert not report.passed
    assert report.certificate.gap_upper > 0.0
    assert isinstance(str(report), str)


def test_what_a_solution_says_about_itself_does_not_matter() -> None:
    problem, solution = solved("hinge")
    boast = ChunkedCertificate(1.0, 1.0, 0.0, 0.0, 1.0)
    wrong = replace(solution, coef=1.1 * solution.coef)
    for own in (solution, wrong):
        stated = replace(
            own, status=Status.OPTIMAL, certificate=boast, statistics=PassStatistics(passes=1)
        )
        measured = [qpsvm.certify(problem, s).to_dict() for s in (own, stated)]
        assert measured[0] == measured[1]
        assert qpsvm.verify(problem, stated, eps=EPS).passed is (own is solution)


def test_a_machine_without_an_intercept_must_not_have_one() -> None:
    """Some machine with an intercept has exactly the optimal objective of those without."""
    problem, solution = solved("hinge", "none")
    free = solved("hinge", "free")[1].machine.vector
    assert solution.intercept == 0.0
    target = solution.certificate.dual_objective
    low, high = 0.0, 100.0
    known = Exact.of(problem)
    for _ in range(100):  # beyond the machine whose objective is less
        share = 0.5 * (low + high)
        machine = Machine.of(share * free)
        low, high = (share, high) if float(known.primal(machine)) < target else (low, share)
    wrong = replace(solution, coef=machine.coef, intercept=machine.intercept)
    assert abs(float(known.primal(machine)) - target) < 1e-10
    assert np.linalg.norm(wrong.coef - solution.coef) > 1e-3
    assert not qpsvm.verify(problem, wrong, eps=EPS).passed


def test_a_family_without_a_width_must_not_have_one() -> None:
    problem, solution = solved("hinge")
    assert not qpsvm.verify(problem, replace(solution, width=1.0), eps=EPS).passed


# --- wrong answers -------------------------------------------------------------------------------


def changed(solution: Any, alphas: Any, known: Exact, rng: np.random.Generator) -> Any:
    """A solution with one thing changed by a little or by much."""
    size = 10.0 ** rng.uniform(-10, 1)
    machine, dual = solution.machine, solution.dual
    vector = machine.vector
    kind = rng.integers(6)
    if kind == 0:
        k = rng.integers(len(vector) - 2)
        vector[k] += size * rng.normal()
    elif kind == 1:
        vector[-2] += size * rng.normal() * (known.form.intercept != "none")
    elif kind == 2:
        vector[-1] = abs(vector[-1] + size * rng.normal()) * bool(known.form.width_sign)
    elif kind == 3:
        vector = vector * (1.0 + size * rng.normal())
    else:
        a = alphas.copy()
        if kind == 4:
            k = rng.integers(len(a))
            a[k] += size * rng.normal()
        else:
            a = a * (1.0 + size * rng.normal(size=len(a)))
        dual = known.point(a)
        if rng.random() < 0.5:
            vector[:-2] *= 1.0 + 0.1 * size
    made = Machine.of(vector)
    return replace(solution, coef=made.coef, intercept=made.intercept, width=made.width, dual=dual)


@numbered("part", 2 * PARTS, quick=1)
def test_what_passes_is_optimal(part: int) -> None:
    """Whatever is changed: an answer that passes has the optimal objective, in exact arithmetic."""
    rng = np.random.default_rng([3, part])
    passed = failed = 0
    for name, intercept in settings():
        problem, solution = solved(name, intercept)
        known, alphas = Exact.of(problem), listed(problem, solution)
        proven = qpsvm.certify(problem, solution)
        optimum = proven.dual_objective - proven.rounding
        for _ in range(2):
            wrong = changed(solution, alphas, known, rng)
            report = qpsvm.verify(problem, wrong, eps=EPS)
            true_gap = float(known.primal(wrong.machine)) - optimum
            scale = report.certificate.scale
            if report.passed:
                passed += 1
                assert true_gap <= 1.01 * EPS * scale, (name, intercept)
            else:
                failed += 1
    assert passed > 20
    assert failed > 20


@pytest.mark.parametrize(("name", "intercept"), list(settings()))
def test_dual_variables_beyond_their_bounds_are_put_at_them(name: str, intercept: str) -> None:
    """Beyond them the dual objective is no bound on the optimum."""
    problem, solution = solved(name, intercept)
    known, alphas = Exact.of(problem), listed(problem, solution)
    rng = np.random.default_rng(8)
    beyond = alphas + rng.normal(size=len(alphas)) * 10.0 ** rng.uniform(-6, 3, len(alphas))
    within = np.clip(beyond, known.lower, known.upper)
    assert (beyond != within).any()
    unknown, zeros = beyond.copy(), within.copy()
    unknown[::3], zeros[::3] = np.nan, 0.0
    for stated, expected in ((beyond, within), (unknown, zeros)):
        bounds = [problem.measured(solution.machine, known.point(a))[2] for a in (stated, expected)]
        assert bounds[0] == bounds[1]


# --- the scale of the gap ------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_gap_is_relative_to_what_it_is_in_memory(intercept: str, epsilon: float) -> None:
    """Where all targets fit into the tube the optimum is zero, and the scale cannot be that."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), 2.5 * rng.uniform(-1.0, 1.0, 20)
    family = qpsvm.EpsilonRegression(C=1.0, epsilon=epsilon, intercept=intercept)
    problem, whole = in_chunks(family, X, y), family.dual(X, y)
    solution = qpsvm.solve(problem)
    proof = qpsvm.certify(problem, solution)
    expected = qpsvm.certify(whole, qpsvm.solve(whole))
    assert proof.floor == pytest.approx(expected.floor, rel=1e-12)
    assert qpsvm.verify(problem, solution).passed
    wrong = replace(solution, coef=solution.coef + 1.0)
    assert not qpsvm.verify(problem, wrong).passed


@pytest.mark.parametrize(("name", "intercept"), list(settings()))
def test_every_family_has_its_scale_in_memory(name: str, intercept: str) -> None:
    case = BY_NAME[name]
    problem, solution = solved(name, intercept)
    whole = case.with_intercept(intercept).dual(*arguments(case))
    expected = qpsvm.certify(whole, qpsvm.solve(whole)).floor
    assert qpsvm.certify(problem, solution).floor == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["nu classification", "one class"])
def test_objectives_that_underflow_prove_nothing(name: str) -> None:
    """Objectives of 1e-320 are the same up to the smallest normal number, whatever the machine."""
    case = BY_NAME[name]
    X, y = arguments(case)
    problem = in_chunks(case.with_intercept(case.intercepts[0]), 1e-160 * X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = qpsvm.solve(problem, max_iterations=4)
    for factor in (1.0, 1.5, -1.0):
        own = replace(solution, coef=factor * solution.coef)
        assert not qpsvm.verify(problem, own, eps=EPS).passed
