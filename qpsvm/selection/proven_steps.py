"""Left-out decision values of machines whose steps are proven to be the exact optimum's.

The radius of ``selection.bounds`` is the root of a gap, which rounding keeps above C times the
error of a decision value. Where the machine is not degenerate that error alone matters. Let V be
the samples on vertical steps, r the distances of their decision values from the kinks, and
``K_VV >= lambda I`` along directions that add up to zero. The minimiser d of ``1/2 d'K_VV d + r'd``
among these directions takes every decision value to its kink, with a change q of the intercept::

    K_VV d + r + q = 0,    |d| <= |r| / lambda,    |sum_j d_j phi(x_j)| <= |r| / root(lambda)

If no coefficient leaves its step by as much, and no sample on a flat step leaves that (one that is
equal to a sample in V has exactly its decision value), the moved machine satisfies the optimality
conditions: it is the optimum, and the only one, as the intercept follows from a coefficient inside
of its box. It is never computed. For coefficients p that add up to zero, with ``p_i = 1`` for the
sample that is left out and others in V, and any number h ::

    change of f(x_i)  =  K_iV d + q  =  sum_V p_j r_j + sum_V ((K p)_j - h) d_j

which is small for the rates of the machine: their ``K p`` is the same on V. Here r includes what
rounding, errors of kernel values and of prices make of the distances.

A Cholesky factorisation with the rounding taken off the diagonal proves lambda, as in
``certificates.screening``; that of a larger V is a lower bound for all of its parts.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from qpsvm.numerics.arrays import Dense, Mask, Vector
from qpsvm.numerics.balls import Ball, gamma, outward
from qpsvm.numerics.precision import EPS
from qpsvm.selection.bounds import LeftOutBounds, Program
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.trials import Machines


def proven_bounds(program: Program, machines: Machines) -> LeftOutBounds:
    """Bound left-out decision values from machines that have the steps of the optimum.

    Parameters
    ----------
    program : Program
    machines : Machines

    Returns
    -------
    LeftOutBounds
        Infinite where the steps are not proven to be the optimum's.
    """
    vertical = np.abs(machines.steps) == 1
    vertical[np.arange(len(vertical)), machines.samples] = False
    with np.errstate(all="ignore"):  # what overflows is not known
        lowest = np.full(len(vertical), _lowest_eigenvalue(program, vertical.any(axis=0)))
        found = _bounds(program, machines, vertical, lowest)
        unknown = np.isinf(found.radius)
        lowest[unknown] = [_lowest_eigenvalue(program, row) for row in vertical[unknown]]
        return _bounds(program, machines, vertical, lowest) if unknown.any() else found


def _bounds(program: Program, machines: Machines, vertical: Mask, lowest: Vector) -> LeftOutBounds:
    stair, norms, error = program.stair, program.sums.norms, 2.0 * program.price_error
    steps, m = machines.steps, len(machines.samples)
    at_left, columns = (np.arange(m), machines.samples), np.arange(len(norms))
    of_steps = stair.values()[steps + 2, columns]
    beta = np.where(vertical, machines.beta, of_steps)
    beta[at_left] = 0.0
    low, high = (ends[steps + 2, columns] for ends in stair.at_price(1.0 - error).ends)
    room = np.where(vertical, np.minimum(high - beta, beta - low), -1.0)
    widest = np.arange(m), np.argmax(room, axis=1)
    if program.balanced:
        beta[widest] -= np.sum(beta, axis=1)
        room[widest] = np.minimum(high - beta, beta - low)[widest]
    f = program.excess(beta, machines.b, np.zeros(beta.shape))
    # coefficients on flat steps are prices, and one coefficient makes up for the missing sum
    of_prices = error * np.where(vertical, 0.0, np.abs(beta))
    missed = program.missed(beta) + program.balanced * np.sum(of_prices, axis=1)
    moved = of_prices @ norms + missed * norms[widest[1]]
    errors = outward(f.rad + np.multiply.outer(moved, norms))
    off = np.where(vertical, np.abs(f.mid - of_steps) + errors, 0.0)
    length = _length(off)
    of_d, of_weights = outward(length / lowest), outward(length / np.sqrt(lowest))
    of_b = np.zeros(m)
    if program.balanced:
        at = np.where(vertical, off + np.multiply.outer(of_weights, norms), np.inf)
        of_b = np.min(at, axis=1)
    reach = outward(errors + np.multiply.outer(of_weights, norms) + of_b[:, None])
    is_flat = ~vertical
    is_flat[at_left] = False
    inside = np.where(vertical, room > (of_d + missed)[:, None], True)
    kinks = _kinks_of_equals(program, machines, vertical)
    is_between = (f.mid - reach > low) & (f.mid + reach < high)
    inside &= np.where(is_flat, is_between | ((kinks >= low) & (kinks <= high)), True)
    along = _along_rates(program, machines, vertical, off, of_d, of_b)
    radius = np.fmin(outward(errors[at_left] + along), reach[at_left])
    known = inside.all(axis=1) & np.isfinite(radius) & np.isfinite(f.mid[at_left])
    return LeftOutBounds(
        np.where(known, f.mid[at_left], np.nan),
        np.where(known, radius, np.inf),
        np.where(known, 0.0, np.inf),
    )


def _kinks_of_equals(program: Program, machines: Machines, vertical: Mask) -> Dense:
    """Kink of the sample in V that each sample is equal to, shape (m, n); NaN without one."""
    row, column = np.nonzero(vertical)
    kinks = np.full(vertical.shape, np.nan)
    values = program.stair.values()[machines.steps[row, column] + 2, column]
    kinks[row, program.equals[column]] = values
    return kinks[:, program.equals]


def _along_rates(
    program: Program, machines: Machines, vertical: Mask, off: Dense, of_d: Vector, of_b: Vector
) -> Vector:
    """Bounds on the changes of ``f(x_i)`` by the rates p of the machines, shape (m,)."""
    at_left = np.arange(len(vertical)), machines.samples
    rates = np.where(vertical, machines.rates, 0.0)
    rates[at_left] = 1.0
    products = program.sums.of_rows(rates)
    changes = np.zeros(len(vertical))
    if program.balanced:
        counts = np.sum(vertical, axis=1)
        h = np.sum(np.where(vertical, products.mid, 0.0), axis=1) / counts
        products = products - Ball.exact(np.broadcast_to(h[:, None], rates.shape))
        changes = (np.abs(np.sum(rates, axis=1)) + program.missed(rates)) * of_b
    differences = np.where(vertical, products.magnitude, 0.0)
    changes += np.sum(np.abs(rates) * off, axis=1) + _length(differences) * of_d
    return np.asarray(outward(changes * (1.0 + gamma(2 * rates.shape[1]))))


def _length(rows: Dense) -> Vector:
    """Upper bounds of the Euclidean lengths of rows."""
    squares = np.sum(rows**2, axis=1) * (1.0 + gamma(2 * rows.shape[1]))
    return np.asarray(outward(np.sqrt(squares)))


def _lowest_eigenvalue(program: Program, vertical: Mask) -> float:
    """Proven lower bound of the eigenvalues of ``K_VV``; NaN without any."""
    V = np.flatnonzero(vertical)
    if not len(V):
        return math.nan if program.balanced else 1.0
    A = program.sums.K[np.ix_(V, V)]
    if program.balanced:  # this adds nothing along directions that add up to zero
        A = A + float(np.mean(np.diagonal(A)))
    rounding = (2.0 * len(A) + 100.0) * EPS * float(np.trace(np.abs(A)))
    rounding += program.sums.largest_error(V)
    if not (math.isfinite(rounding) and np.isfinite(A).all()):
        return math.nan
    smallest = scipy.linalg.eigh(A, eigvals_only=True, subset_by_index=[0, 0])
    likely = LEAVE_ONE_OUT.share_of_eigenvalue * (float(smallest[0]) - rounding)
    return likely if _is_above(A, likely, rounding) else math.nan


def _is_above(A: Dense, eigenvalue: float, rounding: float) -> bool:
    """Return whether all eigenvalues of A are proven to be above a number."""
    if not eigenvalue > 0.0:
        return False
    try:
        scipy.linalg.cholesky(
            A - (eigenvalue + rounding) * np.eye(len(A)), lower=True, check_finite=False
        )
    except np.linalg.LinAlgError:
        return False
    return True
