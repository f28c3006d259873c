"""The parts of the kernel engine: columns, a guess by parts, and decomposition."""

from __future__ import annotations

import contextlib
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from qpsvm.kernels import RBF
from qpsvm.numerics.threads import one_blas_thread, usable_threads
from qpsvm.numerics.workspace import Memory
from qpsvm.qp import KernelQuadratic, QuadraticProgram, SampleGram, sample_gram
from qpsvm.solvers.active_set import decomposition
from qpsvm.solvers.active_set.columns import KernelColumns
from qpsvm.solvers.active_set.parts import Parts
from qpsvm.solvers.active_set.settings import COLUMNS, DEFAULTS, ActiveSetSettings
from qpsvm.solvers.box.boxed import Boxed
from qpsvm.solvers.box.polish import settle
from qpsvm.solvers.work_budget import WorkBudget
from tests.tolerances import ROUNDING, SAME_OBJECTIVE

PLENTY = 2**30
WAIT = 30.0


def hessian(n=40, seed=0, *, doubled=False, diag=0.0, constant=0.0, features=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, features))
    gram = SampleGram(RBF(1.2 / features), X, positive_semidefinite=True)
    signs = np.where(rng.random(2 * n if doubled else n) < 0.5, -1.0, 1.0)
    index = np.tile(np.arange(n), 2) if doubled else None
    return KernelQuadratic(gram, signs, index, np.full(len(signs), diag), constant=constant)


@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("slack", [0, 2])
@pytest.mark.parametrize("capacity", [1, 7, 15, 40])
@pytest.mark.parametrize("is_kept", [False, True])
def test_columns_are_those_of_the_matrix(doubled, slack, capacity, is_kept) -> None:
    more = {"diag": 0.3, "constant": 1.0, "features": 65}  # columns soon stay
    P, same = (hessian(doubled=doubled, **more) for _ in range(2))
    dense = np.zeros((P.size + slack, P.size + slack))
    dense[: P.size, : P.size] = (P if is_kept else same).to_dense()
    assert P.gram.is_kept == is_kept
    columns, rng = KernelColumns(P, slack, 8 * 40 * capacity), np.random.default_rng(1)
    assert columns.capacity == capacity
    for _ in range(12):  # columns come and go
        index = np.sort(rng.choice(P.size, int(rng.integers(1, 20)), replace=False))
        with_slack = np.append(index, P.size) if slack else index
        np.testing.assert_allclose(
            columns.block(with_slack), dense[np.ix_(with_slack, with_slack)], atol=ROUNDING
        )
        d = rng.standard_normal(P.size + slack) * (rng.random(P.size + slack) < 0.4)
        np.testing.assert_allclose(columns.product(d), dense @ d, atol=100 * ROUNDING)


@pytest.mark.parametrize("capacity", [10, 40])
def test_columns_that_are_used_often_are_evaluated_no_more(capacity) -> None:
    P, often = hessian(features=3), COLUMNS.often
    columns, evaluated = KernelColumns(P, 0, 8 * 40 * capacity), []
    original = P.gram.rows
    P.gram.rows = lambda samples, out: (evaluated.append(len(samples)), original(samples, out))
    d = np.zeros(40)
    d[:8] = 1.0
    for _ in range(often + 4):
        columns.product(d)
    assert sum(evaluated) == 8 * (often + 1)  # so often in passing, and once to stay
    np.testing.assert_allclose(columns.matvec_compensated(d), columns.product(d), atol=ROUNDING)
    d[:] = 1.0
    before = sum(evaluated)
    for _ in range(4):  # who only looks keeps none
        columns.matvec_compensated(d)
    assert sum(evaluated) == before + 4 * 32
    before = sum(evaluated)
    for _ in range(often + 4):  # more than there is room for: the others pass every time
        columns.product(d)
    assert sum(evaluated) - before <= 40 * (often + 4)


def program_of(P, C=1.0):
    ones = P.selection.signs
    program = QuadraticProgram(P, -np.ones(P.size), A=ones[None], b=[0.0], lb=0.0, ub=C)
    columns = KernelColumns(P, 0, PLENTY)
    return replace(Boxed.of(program, PLENTY).box, P=columns), columns


def optimum(program):
    found = settle(program, np.zeros(program.size), largest=5000, budget=WorkBudget())
    return program.objective(found)


def parts_of(program, columns, own=DEFAULTS):
    return Parts(program, columns, PLENTY, 5000, WorkBudget(), own)


@pytest.mark.parametrize("diag", [0.0, 0.5])
def test_half_of_samples_that_all_come_twice_is_the_same_problem(diag) -> None:
    once = hessian(60, diag=diag)
    X, signs = np.tile(once.gram.X, (2, 1)), np.tile(once.selection.signs, 2)
    gram = SampleGram(RBF(0.4), X, positive_semidefinite=True)
    twice = KernelQuadratic(gram, signs, None, np.full(120, diag))
    program, columns = program_of(twice)
    half = parts_of(program, columns)._part(np.arange(60), share=0.5)
    assert optimum(half.program) == pytest.approx(optimum(program), rel=SAME_OBJECTIVE)
    np.testing.assert_allclose(half.program.diagonal, half.columns.P.diagonal(), atol=ROUNDING)


@pytest.mark.parametrize("decomposed", [0, 300])
def test_parts_that_are_all_the_same_make_the_optimum(decomposed, monkeypatch) -> None:
    """Three copies of all samples, one in every part: the guess is the answer."""
    own = ActiveSetSettings(
        rough_share=0.0, undivided_size=200, decomposed_size=100, decomposition_tolerance=1e-9
    )
    once = hessian(100)
    X, signs = np.repeat(once.gram.X, 3, axis=0), np.repeat(once.selection.signs, 3)
    gram = SampleGram(RBF(0.4), X, positive_semidefinite=True)
    program, columns = program_of(KernelQuadratic(gram, signs))
    if not decomposed:
        monkeypatch.setattr(decomposition, "suits", lambda *_: False)
    found = parts_of(program, columns, own)._joined(np.arange(300))
    assert np.abs(program.A @ found.x).max() <= ROUNDING * 300
    at = program.P.product(found.x)
    value = float(found.x @ (0.5 * at + program.q))
    assert value == pytest.approx(optimum(program), rel=1e-6)
    free = np.count_nonzero((found.x > 1e-9) & (found.x < 1.0 - 1e-9))
    assert free / 3 < found.n_free < free


def joined_by_threads(monkeypatch, n_threads, for_columns=PLENTY, *, meeting=1):
    """The guess of four parts, and how many of them were solved at a time, at most."""
    own = ActiveSetSettings(decomposed_size=80)
    program, columns = program_of(hessian(320, diag=0.5))
    search = Parts(program, columns, for_columns, 5000, WorkBudget(), own)
    lock, running, most = threading.Lock(), set(), [0]
    original, met = decomposition.descended, threading.Barrier(meeting)

    def watched(*given, **more):
        with lock:
            running.add(threading.get_ident())
            most[0] = max(most[0], len(running))
        with contextlib.suppress(threading.BrokenBarrierError):
            met.wait(WAIT)
        x = original(*given, **more)
        with lock:
            running.discard(threading.get_ident())
        return x

    monkeypatch.setattr(decomposition, "descended", watched)
    with threadpool_limits(n_threads, user_api="blas"), one_blas_thread():
        found = search._joined(np.arange(320))
    monkeypatch.setattr(decomposition, "descended", original)
    return found, most[0]


def test_parts_solved_side_by_side_are_those_solved_in_turn(monkeypatch) -> None:
    both = usable_threads_of(2)
    alone, one = joined_by_threads(monkeypatch, 1)
    beside, most = joined_by_threads(monkeypatch, 2, meeting=both)
    np.testing.assert_array_equal(alone.x, beside.x)
    assert alone.n_free == beside.n_free
    assert (one, most) == (1, both)


def test_parts_are_solved_in_turn_where_there_is_memory_for_one(monkeypatch) -> None:
    plenty, _ = joined_by_threads(monkeypatch, 2)
    scarce, most = joined_by_threads(monkeypatch, 2, COLUMNS.bytes_per_entry * 80**2)
    np.testing.assert_array_equal(plenty.x, scarce.x)
    assert most == 1


def usable_threads_of(asked: int) -> int:
    with threadpool_limits(asked, user_api="blas"), one_blas_thread():
        return usable_threads()


def test_samples_without_a_variable_are_in_no_part() -> None:
    own = ActiveSetSettings(undivided_size=20)
    index = np.arange(0, 90, 3)
    whole = hessian(90)
    P = KernelQuadratic(whole.gram, whole.selection.signs[index], index)
    program, columns = program_of(P)
    x = parts_of(program, columns, own).guess().x
    value = float(x @ (0.5 * program.P.product(x) + program.q))
    assert optimum(program) <= value < 0.0


@pytest.mark.parametrize("n", [22, 41, 97])
def test_a_bound_that_was_scaled_there_and_back_is_the_bound(n) -> None:
    program, _ = program_of(hessian(40), C=3.0)
    x = np.full(40, 3.0 / (7 / n) * 7 / n)
    np.testing.assert_array_equal(program.clip_scaled(x), program.upper)
    inside = np.full(40, 3.0 * (1.0 - 1e-12))
    np.testing.assert_array_equal(program.clip_scaled(inside), inside)


def require_near_the_optimum(program, x) -> None:
    value = float(x @ (0.5 * program.P.product(x) + program.q))
    best = optimum(program)
    assert best < 0.0
    assert best * (1.0 + SAME_OBJECTIVE) <= value <= 0.9 * best
    assert (x >= 0.0).all()
    assert (x <= program.upper).all()


@pytest.mark.parametrize("cost", [1.0, 7.0])
@pytest.mark.parametrize("diag", [0.0, 0.5])
@pytest.mark.parametrize("flip", [1.0, -1.0])
@pytest.mark.parametrize("upper", [0.3, np.inf])
def test_decomposition_comes_near_the_optimum(cost, diag, flip, upper) -> None:
    P = hessian(200, diag=diag if np.isfinite(upper) else 0.5, constant=1.0)
    program, columns = program_of(P, C=upper)
    program = replace(program, q=cost * program.q, A=flip * program.A)
    assert decomposition.suits(program, columns)
    x = decomposition.descended(program, columns, Memory())
    require_near_the_optimum(program, x)


def test_the_end_of_its_steps_is_no_warning() -> None:
    program, columns = program_of(hessian(200), C=1.0)
    own = ActiveSetSettings(decomposition_steps=1, decomposition_tolerance=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decomposition.descended(program, columns, Memory(), own).any()


def tube(n=200, *, C=1.0, epsilon=0.1, diag=0.0, size=1.0):
    """The program of a regression, the conditions of one side after those of the other."""
    rng = np.random.default_rng(7)
    gram = SampleGram(RBF(0.4), rng.standard_normal((n, 3)), positive_semidefinite=True)
    signs, index = np.repeat([1.0, -1.0], n), np.tile(np.arange(n), 2)
    P = KernelQuadratic(gram, signs, index, np.full(2 * n, diag))
    y = size * (gram.X[:, 0] + 0.3 * rng.standard_normal(n))
    q = size * epsilon - signs * np.tile(y, 2)
    program = QuadraticProgram(P, q, A=signs[None], b=[0.0], lb=0.0, ub=C)
    columns = KernelColumns(P, 0, PLENTY)
    return replace(Boxed.of(program, PLENTY).box, P=columns), columns


@pytest.mark.parametrize("size", [1.0, 1e3])
@pytest.mark.parametrize("diag", [0.0, 0.5])
@pytest.mark.parametrize("flip", [1.0, -1.0])
@pytest.mark.parametrize("upper", [0.3, 3.0])
def test_decomposition_of_a_regression_comes_near_the_optimum(size, diag, flip, upper) -> None:
    program, columns = tube(C=size * upper, diag=diag, size=size)
    program = replace(program, A=flip * program.A)
    assert decomposition.suits(program, columns)
    x = decomposition.descended(program, columns, Memory())
    require_near_the_optimum(program, x)
    assert np.abs(program.A @ x).max() <= ROUNDING * size * 200


def test_parts_of_a_regression_together() -> None:
    """What mattered in no part is at zero; the others are nearer the optimum than their parts."""
    own = ActiveSetSettings(decomposed_size=100)
    program, columns = tube(epsilon=0.5)
    search = parts_of(program, columns, own)
    joined = search._joined(np.arange(200))
    together = search._together(joined)
    of_samples = np.abs(joined.x.reshape(2, 200)).sum(axis=0)
    assert not together.x.reshape(2, 200)[:, of_samples == 0.0].any()
    values = [float(x @ (0.5 * program.P.product(x) + program.q)) for x in (joined.x, together.x)]
    assert optimum(program) <= values[1] < values[0]


def test_decomposition_of_regressions_that_it_cannot_do() -> None:
    program, columns = tube(40)
    more = np.where(np.arange(80) == 3, 0.1, 0.0)
    for change in (
        {"q": program.q + more},  # another epsilon for one sample
        {"q": program.q - 0.2},  # a negative one
        {"q": np.full(80, 0.1)},  # targets that are all the same
        {"upper": program.upper + more},
        {"upper": 100.0 * program.upper},  # slow there
        {"upper": np.full(80, np.inf)},
        {"lower": program.lower - more},
        {"b": np.ones(1)},
    ):
        assert not decomposition.suits(replace(program, **change), columns), change
    one_side = KernelColumns(
        KernelQuadratic(columns.P.gram, np.ones(80), columns.P.selection.index), 0, PLENTY
    )
    assert not decomposition.suits(replace(program, A=np.ones((1, 80))), one_side)


def test_decomposition_of_what_it_cannot_do() -> None:
    program, columns = program_of(hessian(40))
    for change in (
        {"q": np.linspace(-2.0, -1.0, 40)},
        {"q": np.ones(40)},
        {"lower": np.full(40, -1.0)},
        {"upper": np.append(np.ones(39), 0.0)},
        {"b": np.ones(1)},
        {"A": np.ones((1, 40))},
        {"A": np.tile(program.A, (2, 1)), "b": np.zeros(2)},
    ):
        assert not decomposition.suits(replace(program, **change), columns)
    doubled, columns = program_of(hessian(40, doubled=True))
    assert not decomposition.suits(doubled, columns)


@pytest.mark.parametrize("broken", ["nan", "one class"])
def test_decomposition_without_an_answer(broken) -> None:
    P = hessian(40)
    signs = np.ones(40) if broken == "one class" else P.selection.signs
    gram = SampleGram(lambda X, Z: np.full((len(X), len(Z)), np.nan), P.gram.X)
    P = KernelQuadratic(gram if broken == "nan" else P.gram, signs)
    columns = KernelColumns(P, 0, PLENTY)
    program, _ = program_of(hessian(40))
    program = replace(program, P=columns, A=signs[None])
    assert not decomposition.descended(program, columns, Memory()).any()


@pytest.mark.parametrize("kept", [0, 2**29])
@pytest.mark.parametrize("is_matrix", [False, True])
def test_some_samples_of_a_matrix(kept, is_matrix, monkeypatch) -> None:
    monkeypatch.setattr(sample_gram, "KEPT_BYTES", kept)  # none of it is copied, or all
    whole = hessian(50).gram
    K, some = whole.dense, np.array([3, 4, 17, 40])
    gram = SampleGram.of_matrix(K) if is_matrix else whole
    part, out = gram.of_samples(some), np.empty((2, 4))
    part.rows(np.array([1, 3]), out)
    np.testing.assert_allclose(out, K[np.ix_([4, 40], some)], atol=ROUNDING)
    assert part.is_kept == bool(kept)
