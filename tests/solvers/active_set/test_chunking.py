"""Chunking: few kernel columns where few samples are support vectors, and the same optimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.qp.solution import Status
from qpsvm.solvers.active_set import chunking


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
def test_chunks_and_parts_end_at_one_optimum(intercept: Any, C: float) -> None:
    X, y = clusters(1500, seed=1)
    weights = 1.0 + (np.arange(len(X)) % 3)
    problem = qpsvm.SoftMargin(C, intercept=intercept).dual(
        X, y, kernel=qpsvm.kernels.RBF(0.1), sample_weight=weights
    )
    proofs = []
    for smallest in (0, 10**9):
        options = {"smallest_chunked": smallest}
        solution = qpsvm.solve(problem, "active-set", eps=1e-10, options=options)
        assert solution.status is Status.OPTIMAL
        proofs.append(qpsvm.certify(problem, solution))
    size = 1e-9 * abs(proofs[0].primal_objective)
    assert abs(proofs[0].primal_objective - proofs[1].primal_objective) <= size


def test_regressions_are_chunked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    guesses = []
    guess = chunking.Chunking.guess
    monkeypatch.setattr(
        chunking.Chunking, "guess", lambda self: guesses.append(guess(self)) or guesses[-1]
    )
    rng = np.random.default_rng(2)
    X = rng.uniform(-2.0, 2.0, size=(1500, 1))  # nearly all predictions are within the tube
    t = np.sinc(X[:, 0]) + 0.01 * rng.normal(size=len(X))
    problem = qpsvm.EpsilonRegression(1.0, 0.06).dual(X, t, kernel=qpsvm.kernels.RBF(1.0))
    assert qpsvm.solve(problem, "active-set", eps=1e-9).status is Status.OPTIMAL
    assert guesses[0] is not None


def test_a_class_of_one_sample_is_in_the_first_chunk() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 3))
    X[77] += 9.0
    y = np.arange(len(X)) == 77
    problem = qpsvm.SoftMargin(1.0).dual(X, y, kernel=qpsvm.kernels.RBF(0.3))
    solution = qpsvm.solve(problem, "active-set")
    assert solution.status is Status.OPTIMAL
    assert 77 in solution.support


def test_nothing_is_kept_beyond_the_memory_limit() -> None:
    X, y = clusters(1200, seed=4)
    problem = qpsvm.SoftMargin(1.0).dual(X, y, kernel=qpsvm.kernels.RBF(0.1))
    limit = {"memory_limit": 4_000_000}
    assert qpsvm.solve(problem, "active-set", options=limit).status is Status.OPTIMAL
    assert not problem.model.gram.gram.is_kept


def test_the_number_of_chunks_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks: list[int] = []
    solved = chunking.Chunking._solved

    def counted(self: Any, chunk: Any) -> Any:
        chunks.append(len(chunk))
        return solved(self, chunk)

    monkeypatch.setattr(chunking.Chunking, "_solved", counted)
    X, y = clusters(2000, seed=5)
    problem = qpsvm.SoftMargin(1.0).dual(X, y, kernel=qpsvm.kernels.RBF(0.1))
    for options, expected in (({}, range(3, 20)), ({"max_chunks": 2}, range(2, 3))):
        chunks.clear()
        few = {"few_violations": 0.0, "most_support": 1.0}
        solution = qpsvm.solve(problem, "active-set", options=few | options)
        assert solution.status is Status.OPTIMAL
        assert len(chunks) in expected


def watched(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[Any]]:
    """Return lists that will hold the sizes of all chunks and all guesses of later solves."""
    chunks, guesses = list[int](), list[Any]()
    solved, guess = chunking.Chunking._solved, chunking.Chunking.guess

    def sized(self: Any, chunk: Any) -> Any:
        chunks.append(len(chunk))
        return solved(self, chunk)

    def kept(self: Any) -> Any:
        guesses.append(guess(self))
        return guesses[-1]

    monkeypatch.setattr(chunking.Chunking, "_solved", sized)
    monkeypatch.setattr(chunking.Chunking, "guess", kept)
    return chunks, guesses


def test_a_small_chunk_with_many_violators_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chunk takes as many of them as it has samples; how many there are says nothing."""
    chunks, guesses = watched(monkeypatch)
    X, y = clusters(2000, seed=5)
    problem = qpsvm.SoftMargin(1.0).dual(X, y, kernel=qpsvm.kernels.RBF(0.1))
    options = {"first_chunk": 16, "largest_chunk": 600, "most_support": 1.0}
    solution = qpsvm.solve(problem, "active-set", options=options)
    assert solution.status is Status.OPTIMAL
    assert len(chunks) >= 4
    assert guesses[0] is not None
    assert len(solution.support) <= 1.5 * np.count_nonzero(guesses[0].x)


def test_chunks_that_grow_beyond_the_largest_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks, guesses = watched(monkeypatch)
    X, y = clusters(2000, seed=5)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.2, 1 - y, y)  # many support vectors
    problem = qpsvm.SoftMargin(1.0).dual(X, y, kernel=qpsvm.kernels.RBF(0.1))
    options = {"first_chunk": 50, "largest_chunk": 250, "most_support": 1.0}
    solution = qpsvm.solve(problem, "active-set", options=options)
    assert solution.status is Status.OPTIMAL
    assert guesses == [None]
    assert max(chunks) <= 250
