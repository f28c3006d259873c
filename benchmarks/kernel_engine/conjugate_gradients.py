"""Time Cholesky factorisations of ``K + sigma I`` beside preconditioned conjugate gradients.

A Newton step of the kernel engine with thousands of free variables solves
``(K_FF + sigma I) u = r`` by a Cholesky factorisation. The preconditioner is ``L L' + sigma I``
with the Nystroem approximation ``L L' = K_S' K_SS^-1 K_S`` of some random columns S, applied by the
Woodbury formula; its making is in the seconds. Iterations end at a relative residual of 1e-10, or
after 500.

Source: Frangella, Tropp and Udell, "Randomized Nystroem preconditioning", *SIAM J. Matrix Anal.
Appl.* 44 (2023).

Usage: ``QPSVM_DATA=folder python -m benchmarks.kernel_engine.conjugate_gradients``
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.linalg import solve_triangular
from scipy.sparse.linalg import LinearOperator, cg
from threadpoolctl import threadpool_limits

import qpsvm
from benchmarks.data import load_samples
from benchmarks.programs import kernel_of
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.cholesky import Cholesky

SETS = (
    "covtype20k(n=3000, seed=0)",
    "synthetic(d=20, n=5000, seed=0)",
    "a9a(n=5000, seed=0)",
)
SIGMAS = (1e-2, 1e-4, 1e-6, 1e-8)
RANKS = (300, 1000)
TOLERANCE = 1e-10
MOST_ITERATIONS = 500


def kernel_matrix(name: str) -> Dense:
    """Evaluate the RBF kernel matrix of a data set, gamma = 1 / (d var X)."""
    samples = load_samples(name)
    kernel = kernel_of("rbf(gamma='scale')")
    X = samples.X
    return qpsvm.SoftMargin(C=1.0).dual(X, samples.y, kernel=kernel).kernel(X, X)


def preconditioner(K: Dense, sigma: float, rank: int) -> Callable[[Vector], Vector]:
    """Return the product with the inverse of ``L L' + sigma I``, from random columns of K."""
    columns = np.random.default_rng(0).permutation(len(K))[:rank]
    inner = K[np.ix_(columns, columns)] + 1e-12 * np.eye(rank)
    L = solve_triangular(np.linalg.cholesky(inner), K[columns], lower=True).T
    small = Cholesky(L.T @ L, sigma)
    return lambda r: (r - L @ small(L.T @ r)) / sigma


def by_gradients(K: Dense, r: Vector, sigma: float, rank: int) -> tuple[float, int, float]:
    """Measure preconditioned conjugate gradients: seconds, iterations, relative residual."""
    n, count = len(K), [0]
    began = time.perf_counter()
    apply = preconditioner(K, sigma, rank)
    u, _ = cg(
        LinearOperator((n, n), matvec=lambda v: K @ v + sigma * v),
        r,
        rtol=TOLERANCE,
        maxiter=MOST_ITERATIONS,
        M=LinearOperator((n, n), matvec=apply),
        callback=lambda _: count.__setitem__(0, count[0] + 1),
    )
    seconds = time.perf_counter() - began
    return seconds, count[0], residual(K, u, r, sigma)


def by_cholesky(K: Dense, r: Vector, sigma: float) -> tuple[float, float]:
    """Measure the engine's Cholesky factorisation: seconds, relative residual."""
    copied = K.copy()
    began = time.perf_counter()
    u = Cholesky(copied, sigma)(r)
    return time.perf_counter() - began, residual(K, u, r, sigma)


def residual(K: Dense, u: Vector, r: Vector, sigma: float) -> float:
    """Return the relative residual ``|K u + sigma u - r| / |r|`` of a solution u."""
    return float(np.linalg.norm(K @ u + sigma * u - r) / np.linalg.norm(r))


def main() -> None:
    """Measure all sets and print a table."""
    table = Table("set", "sigma", "Cholesky, s (residual)", *(f"rank {rank}" for rank in RANKS))
    with threadpool_limits(1):
        by_cholesky(np.eye(2), np.ones(2), 1.0)  # imports LAPACK
        for name in SETS:
            K = kernel_matrix(name)
            r = np.where(np.random.default_rng(1).random(len(K)) < 0.5, -1.0, 1.0)
            for sigma in SIGMAS:
                seconds, missed = by_cholesky(K, r, sigma)
                entries = [f"{seconds:.2f} ({missed:.0e})"]
                for rank in RANKS:
                    seconds, iterations, missed = by_gradients(K, r, sigma, rank)
                    entries.append(f"{seconds:.2f} s, {iterations} iterations ({missed:.0e})")
                table.add_row(name.partition("(")[0], f"{sigma:.0e}", *entries)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
