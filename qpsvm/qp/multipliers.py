"""Multipliers at a given point, for solvers that return no multipliers."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector, require_memory
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status

ACTIVE = 1e-7
"""A row or bound is active when its slack is at most this many times its own size."""


def multipliers_at(program: QuadraticProgram, x: Vector, tol: float = ACTIVE) -> QPSolution:
    r"""Compute the multipliers that minimise the stationarity residual at x.

    Minimises :math:`\lVert P x + q + G^\top z + A^\top y - z_\mathrm{lower} + z_\mathrm{upper}
    \rVert` over :math:`z, z_\mathrm{lower}, z_\mathrm{upper} \ge 0` that vanish on rows and bounds
    which are not active at x: non-negative least squares (Lawson and Hanson, *Solving Least Squares
    Problems*, chapter 23). At an optimum the minimum is zero; at any other point it is not, so
    nothing is hidden from a verifier.

    Parameters
    ----------
    program : QuadraticProgram
        The program that x is a point of.
    x : array of shape (n,)
        The point; where it is not finite there are no multipliers.
    tol : float
        See ``ACTIVE``.

    Returns
    -------
    QPSolution
        Status UNKNOWN, x and its multipliers; without multipliers where x is not finite or the
        least squares did not converge.

    Examples
    --------
    >>> program = QuadraticProgram([[1.0]], [-3.0], ub=[2.0])
    >>> multipliers_at(program, np.array([2.0])).z_upper
    array([1.])
    """
    from scipy.optimize import nnls

    point = QPSolution(Status.UNKNOWN, x=x)
    if x.shape != (program.n_variables,) or not np.isfinite(x).all():
        return point
    n, p = program.n_variables, program.n_equalities
    rows = np.flatnonzero(program.h - program.G @ x <= tol * _row_sizes(program))
    lower = np.flatnonzero(x - program.lb <= tol * _bound_sizes(program.lb))
    upper = np.flatnonzero(program.ub - x <= tol * _bound_sizes(program.ub))
    sizes = [rows.size, p, p, lower.size, upper.size]
    if sum(sizes) == 0:  # nothing pushes back; SciPy's nnls corrupts memory without columns
        none = np.zeros(n)
        return point.replace(
            z=np.zeros(program.n_inequalities), y=np.zeros(0), z_lower=none, z_upper=none
        )
    require_memory(n, sum(sizes), "The optimality system", "use a backend that returns duals.")
    normals = np.zeros((n, sum(sizes)))
    z, plus, minus, z_lower, z_upper = np.split(normals, np.cumsum(sizes)[:-1], axis=1)
    z[:] = _selected(program.G, rows).T
    plus[:] = _selected(program.A, np.arange(p)).T  # y = (its positive part) - (its negative part)
    minus[:] = -plus
    z_lower[lower, np.arange(lower.size)] = -1.0
    z_upper[upper, np.arange(upper.size)] = 1.0
    try:
        fitted, _ = nnls(normals, -(program.P.matvec(x) + program.q))
    except RuntimeError:  # "maximum number of iterations reached"
        return point
    parts = np.split(fitted, np.cumsum(sizes)[:-1])
    return point.replace(
        z=_scattered(parts[0], rows, program.n_inequalities),
        y=parts[1] - parts[2],
        z_lower=_scattered(parts[3], lower, n),
        z_upper=_scattered(parts[4], upper, n),
    )


def _row_sizes(program: QuadraticProgram) -> Vector:
    """Scale of a row's violation in the verifier: ``max(|h_j|, max_k |G_jk|)``."""
    if program.n_inequalities == 0:
        return np.zeros(0)
    largest = abs(program.G).max(axis=1)
    norms = largest.toarray() if sp.issparse(largest) else largest
    finite = np.where(np.isfinite(program.h), np.abs(program.h), 0.0)
    return np.maximum(np.asarray(norms, dtype=np.float64).ravel(), finite)


def _bound_sizes(bounds: Vector) -> Vector:
    return np.maximum(1.0, np.where(np.isfinite(bounds), np.abs(bounds), 0.0))


def _selected(matrix: Matrix, rows: Index) -> Dense:
    if sp.issparse(matrix):
        return np.asarray(sp.csr_array(matrix)[rows].toarray())
    return np.asarray(matrix[rows])


def _scattered(values: Vector, index: Index, size: int) -> Vector:
    full = np.zeros(size)
    full[index] = values
    return full
