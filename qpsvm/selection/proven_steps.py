"""Left-out decision values of machines whose steps are proven to be the exact optimum's.

The gap of a machine bounds its decision values only to the root of what rounding leaves of it.
Where the machine is not degenerate, the optimality conditions give the error of rounding itself.
Let V be the samples on vertical steps, r the distances of their decision values from the kinks, and
``K_VV >= lambda I`` along directions that add up to zero. The minimiser d of ``1/2 d'K_VV d + r'd``
among these directions takes every decision value to its kink, with a change q of the intercept::

    K_VV d + r + q = 0,    |d| <= |r| / lambda,    |sum_j d_j phi(x_j)| <= |r| / root(lambda)

If no coefficient leaves its step by as much, and no sample on a flat step leaves that (one that is
equal to a sample in V has exactly its decision value), the moved machine satisfies the optimality
conditions: it is the optimum, and the only one, as the intercept follows from a coefficient inside
of its box. It is never computed. Every decision value, that of the left-out sample as well, is
known to ``|r| n_j / root(lambda) + |q|`` and its own rounding; and q to the smallest ``|r_j| +
|r| n_j / root(lambda)`` in V. Here r includes what rounding, errors of kernel values and of C_i
make of the distances.

A Cholesky factorisation with the rounding taken off the diagonal proves lambda, as in
``certificates.screening``; that of a larger V is a lower bound for all of its parts. Of equal
samples one stands for all, where no machine has two of them in its V.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf

from qpsvm.numerics.arrays import Dense, Mask, Vector
from qpsvm.numerics.balls import U, gamma, outward
from qpsvm.numerics.precision import EPS
from qpsvm.selection.tableau import LeftOutMachines, Program


def proven_bounds(
    program: Program, machines: LeftOutMachines, lowest: float | None = None
) -> tuple[Vector, Vector]:
    """Bound left-out decision values from machines that have the steps of the optimum.

    Parameters
    ----------
    program : Program
    machines : LeftOutMachines
    lowest : float, optional
        Proven lower bound of the eigenvalues of all ``K_VV``, from ``lowest_eigenvalue``; by
        default one is computed for every machine.

    Returns
    -------
    values, radius : arrays of shape (m,)
        NaN and infinite where the steps are not proven to be the optimum's.
    """
    vertical = machines.vertical
    with np.errstate(all="ignore"):  # what overflows is not known
        if lowest is None:
            each = np.array([_lowest(program, V) for V in vertical])
        else:
            each = np.where(_are_distinct(program, vertical), lowest, np.nan)
        return _bounds(program, machines, vertical, each)


def lowest_eigenvalue(program: Program, machines: LeftOutMachines) -> float | None:
    """Lower bound on the eigenvalues of all principal submatrices ``K_VV``; None if unknown."""
    lowest = _lowest(program, np.logical_or.reduce(machines.vertical, axis=0))
    return None if math.isnan(lowest) else lowest


def _bounds(
    program: Program, machines: LeftOutMachines, vertical: Mask, lowest: Vector
) -> tuple[Vector, Vector]:
    loss, norms, error = program.loss, program.kernel.norms, 2.0 * program.upper_bound_error
    steps, m = machines.steps, len(machines.samples)
    at_left, n = (np.arange(m), machines.samples), len(norms)
    place = (steps.astype(np.intp) + 2) * n + np.arange(n)
    of_steps = loss.values().take(place)
    beta = np.where(vertical, machines.beta, of_steps)
    beta[at_left] = 0.0
    low, high = (ends.take(place) for ends in loss.scaled(1.0 - error).ends)
    room = np.where(vertical, np.minimum(high - beta, beta - low), -1.0)
    widest = np.arange(m), np.argmax(room, axis=1)
    if program.is_free:
        beta[widest] -= np.sum(beta, axis=1)
        room[widest] = np.minimum(high - beta, beta - low)[widest]
    sums, b = program.kernel.sums(beta, together=True), machines.b[:, None]
    f = sums.values + b
    terms = np.abs(sums.values) + np.abs(b) + loss.sizes
    rounding = outward(sums.rounding + sums.entries + 8.0 * U * terms)
    # coefficients on flat steps are upper bounds, and one coefficient makes up for the missing sum
    of_upper_bounds = error * np.where(vertical, 0.0, np.abs(beta))
    missed = program.missed(beta) + program.is_free * np.sum(of_upper_bounds, axis=1)
    moved = of_upper_bounds @ norms + missed * norms[widest[1]]
    errors = outward(rounding + np.multiply.outer(moved, norms))
    off = np.where(vertical, np.abs(f - of_steps) + errors, 0.0)
    length = _length(off)
    of_d, of_weights = outward(length / lowest), outward(length / np.sqrt(lowest))
    of_b = np.zeros(m)
    if program.is_free:
        at = np.where(vertical, off + np.multiply.outer(of_weights, norms), np.inf)
        of_b = np.min(at, axis=1)
    bound = outward(errors + np.multiply.outer(of_weights, norms) + of_b[:, None])
    is_flat = ~vertical
    is_flat[at_left] = False
    inside = np.where(vertical, room > (of_d + missed)[:, None], True)
    is_fine = (f - bound > low) & (f + bound < high)
    twins = program.twins
    kinks = _kinks_of_twins(program, vertical, of_steps)
    is_fine[:, twins] |= (kinks >= low[:, twins]) & (kinks <= high[:, twins])
    inside &= np.where(is_flat, is_fine, True)
    values, radius = f[at_left], bound[at_left]
    known = inside.all(axis=1) & np.isfinite(radius) & np.isfinite(values)
    return np.where(known, values, np.nan), np.where(known, radius, np.inf)


def _kinks_of_twins(program: Program, vertical: Mask, of_steps: Dense) -> Dense:
    """Kink of the sample in V that each sample with an equal one is equal to; NaN without one."""
    kinks = np.full(vertical.shape, np.nan)
    row, twin = np.nonzero(vertical[:, program.twins])
    column = program.twins[twin]
    kinks[row, program.equals[column]] = of_steps[row, column]
    return kinks[:, program.equals[program.twins]]


def _length(rows: Dense) -> Vector:
    """Upper bounds of the Euclidean lengths of rows."""
    squares = np.sum(rows**2, axis=1) * (1.0 + gamma(2 * rows.shape[1]))
    return np.asarray(outward(np.sqrt(squares)))


def _are_distinct(program: Program, vertical: Mask) -> Mask:
    """Mask of the machines of which no two samples in V are equal, shape (m,)."""
    groups = program.equals[program.twins]
    counts = vertical[:, program.twins] @ (groups[:, None] == np.unique(groups)).astype(np.float64)
    return np.asarray((counts <= 1.0).all(axis=1))


def _lowest(program: Program, vertical: Mask) -> float:
    """Proven lower bound of the eigenvalues of ``K_VV`` without repeated samples; NaN without any.

    It is one for all parts of V in which no two samples are equal.
    """
    V = np.unique(program.equals[vertical])
    if not len(V):
        return math.nan if program.is_free else 1.0
    A = program.kernel.values[np.ix_(V, V)]
    if program.is_free:  # this adds nothing along directions that add up to zero
        A = A + float(np.mean(np.diagonal(A)))
    rounding = (2.0 * len(A) + 100.0) * EPS * float(np.trace(np.abs(A)))
    rounding += program.kernel.largest_error(V)
    if not (math.isfinite(rounding) and np.isfinite(A).all()):
        return math.nan
    smallest = float(eigh(A, eigvals_only=True, subset_by_index=(0, 0))[0])
    likely = 0.5 * (smallest - rounding)  # half of the computed one: the factorisation proves it
    A[np.diag_indices(len(A))] -= likely + rounding
    return math.nan if not likely > 0.0 or dpotrf(A)[1] else likely
