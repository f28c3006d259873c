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
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from qpsvm.benchmark.data import load_samples

SETS = (
    "covtype20k(n=3000, seed=0)",
    "synthetic(d=20, n=5000, seed=0)",
    "a9a(n=5000, seed=0)",
)
SIGMAS = (1e-2, 1e-4, 1e-6, 1e-8)
RANKS = (300, 1000)
TOLERANCE = 1e-10
MOST_ITERATIONS = 500

Vector = npt.NDArray[np.float64]


def kernel_matrix(name: str) -> Vector:
    """The RBF kernel matrix of a set, gamma = 1 / (d var X)."""
    X = load_samples(name).X
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return np.asarray(rbf_kernel(X, gamma=1.0 / (X.shape[1] * X.var())))


def preconditioner(K: Vector, sigma: float, rank: int) -> Callable[[Vector], Vector]:
    """The inverse of ``L L' + sigma I`` for random columns of K."""
    columns = np.random.default_rng(0).permutation(len(K))[:rank]
    inner = K[np.ix_(columns, columns)] + 1e-12 * np.eye(rank)
    L = solve_triangular(np.linalg.cholesky(inner), K[columns], lower=True).T
    small = cho_factor(L.T @ L + sigma * np.eye(rank), lower=True)
    return lambda r: (r - L @ cho_solve(small, L.T @ r)) / sigma


def by_gradients(K: Vector, r: Vector, sigma: float, rank: int) -> tuple[float, int, float]:
    """Seconds, iterations and relative residual of preconditioned conjugate gradients."""
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


def by_cholesky(K: Vector, r: Vector, sigma: float) -> tuple[float, float]:
    """Seconds and relative residual of a Cholesky factorisation."""
    shifted = np.asfortranarray(K + sigma * np.eye(len(K)))
    began = time.perf_counter()
    u = cho_solve(cho_factor(shifted, overwrite_a=True, check_finite=False), r)
    return time.perf_counter() - began, residual(K, u, r, sigma)


def residual(K: Vector, u: Vector, r: Vector, sigma: float) -> float:
    """``|K u + sigma u - r| / |r|``."""
    return float(np.linalg.norm(K @ u + sigma * u - r) / np.linalg.norm(r))


def main() -> None:
    """Print a table."""
    table = Table("set", "sigma", "Cholesky, s (residual)", *(f"rank {rank}" for rank in RANKS))
    with threadpool_limits(1):
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
