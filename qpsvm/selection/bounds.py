"""Bounds on the exact left-out decision values, from machines without one sample.

Weak duality alone decides; nothing is assumed of the machines. For coefficients beta in their boxes
that add up to zero, and without sample i, with ``f = K beta + b`` as decision values::

    P = 1/2 beta'K beta + sum_{j /= i} loss_j        D = sum_j reward_j(beta_j) - 1/2 beta'K beta
    P - D = sum_{j /= i} (loss_j(f_j) + beta_j f_j - reward_j(beta_j)),   every term >= 0

If the exact machine had ``f(x_i) = c``, its objective would be at least the dual objective of the
problem with that condition, at ``beta + mu r`` for any direction r that adds up to zero, has
``r_i = 1`` and stays in the boxes::

    D + mu (g + c) - 1/2 mu^2 r'Kr,    g = sum_{j /= i} slope_j r_j - beta'K r

It is at most P. Hence ``|c + g| <= (P - D) / mu + 1/2 mu r'Kr`` for every such mu.

Everything is rounded. K is that of the exact kernel function (``selection.kernel_sums``), boxes
are a little smaller for the dual and a little larger for the losses than those of prices that were
rounded, and coefficients that add up to almost zero stand for exact ones, of which one is moved by
what is missing. The terms of P - D are convex in the decision values, so that the larger of the two
at the ends of an interval around each value bounds the term.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.balls import Ball, U, gamma, outward
from qpsvm.selection.kernel_sums import KernelSums
from qpsvm.selection.staircase import Staircase
from qpsvm.selection.trials import Machines


@short_repr
@dataclass(frozen=True, eq=False)
class LeftOutBounds:
    """Intervals of exact left-out decision values, one for each machine.

    Attributes
    ----------
    values, radius : arrays of shape (m,)
        Centre and half-width; infinite where nothing is known.
    relative_gap : array of shape (m,)
        ``(P - D) / P`` of each machine.
    """

    values: Vector
    radius: Vector
    relative_gap: Vector


@short_repr
@dataclass(frozen=True, eq=False)
class Program:
    """Kernel, staircases and rounding errors of a training problem that samples are left out of.

    Attributes
    ----------
    sums : KernelSums
    stair : Staircase
    price_error : float
        Relative error of its prices.
    balanced : bool
        Whether coefficients have to add up to zero: with a free intercept.
    equals : array of int of shape (n,)
        The same number for samples that are equal, and have equal labels or targets.
    """

    sums: KernelSums
    stair: Staircase
    price_error: float
    balanced: bool
    equals: Index

    def excess(self, beta: Dense, b: Vector, kinks: Dense) -> Ball:
        """``K beta + b - kinks`` of machines (rows), shape (m, n)."""
        of_beta = self.sums.of_rows(beta)
        terms = np.abs(of_beta.mid) + np.abs(b)[:, None] + self.stair.sizes
        return Ball(of_beta.mid + b[:, None] - kinks, outward(of_beta.rad + 8.0 * U * terms))

    def missed(self, coefficients: Dense) -> Vector:
        """Bound on ``|sum(beta)|`` of each machine, which is zero up to rounding, shape (m,)."""
        if not self.balanced:
            return np.zeros(len(coefficients))
        size = np.sum(np.abs(coefficients), axis=1)
        return np.asarray(outward(gamma(2 * coefficients.shape[1] + 4) * size))


def left_out_bounds(program: Program, machines: Machines) -> LeftOutBounds:
    """Bound left-out decision values from machines that are nearly optimal.

    Parameters
    ----------
    program : Program
    machines : Machines
        Their coefficients are moved into the boxes, and to a sum of zero.
    """
    with np.errstate(all="ignore"):  # what overflows is not known
        return _bounds(program, machines)


def _bounds(program: Program, machines: Machines) -> LeftOutBounds:
    norms, samples = program.sums.norms, machines.samples
    inner = program.stair.at_price(1.0 - 2.0 * program.price_error)
    outer = program.stair.at_price(1.0 + 2.0 * program.price_error)
    rows = np.arange(len(samples))
    left = rows, samples
    beta, rates = np.clip(machines.beta, inner.lowest, inner.upper), machines.rates.copy()
    beta[left], rates[left] = 0.0, 1.0
    room = inner.room(beta)
    room[left] = -1.0
    widest = rows, np.argmax(room, axis=1)
    if program.balanced:
        beta[widest] -= np.sum(beta, axis=1)
        rates[widest] -= np.sum(rates, axis=1)
    of_beta, of_rates = program.missed(beta), program.missed(rates)
    room = inner.room(beta)
    room[widest] -= of_beta
    room[left] = np.inf
    kinks = np.array(np.broadcast_to(program.stair.kinks(beta), beta.shape))
    kinks[left] = 0.0
    excess = program.excess(beta, machines.b, kinks)
    rounding = outward(excess.rad + np.multiply.outer(of_beta * norms[widest[1]], norms))
    at_widest = np.abs(excess.mid[widest]) + rounding[widest]
    terms = outer.gaps(excess.mid, beta, rounding)
    terms[left] = 0.0
    gap = np.sum(terms, axis=1) + of_beta * at_widest
    sizes = np.abs(rates)
    products = excess.mid * rates
    g = -np.sum(products, axis=1)
    n_terms = gamma(2 * len(norms) + 4)
    of_g = np.sum(rounding * sizes, axis=1) + n_terms * np.sum(np.abs(products), axis=1)
    of_g += of_rates * at_widest
    along = program.sums.of_rows(rates)
    squares = along.mid * rates
    kappa = np.sum(squares, axis=1) + n_terms * np.sum(np.abs(squares), axis=1)
    kappa += np.sum(along.rad * sizes, axis=1)
    kappa += 2.0 * of_rates * norms[widest[1]] * (sizes @ norms + of_rates * norms[widest[1]])
    gap, of_g, kappa = (x * (1.0 + n_terms) for x in (gap, of_g, kappa))
    sizes[widest] += of_rates
    reach = np.fmin.reduce(room / sizes, axis=1)  # none where both are zero
    mu = np.minimum(np.sqrt(2.0 * gap / kappa), reach)
    radius = outward(gap / mu + 0.5 * mu * kappa + of_g)
    is_feasible = np.min(room, axis=1) >= 0.0
    known = is_feasible & np.isfinite(radius) & np.isfinite(g)
    square = np.sum(beta * (excess.mid + kinks - machines.b[:, None]), axis=1)
    relative = gap / (program.stair.rewards(beta) - 0.5 * square + gap)
    return LeftOutBounds(
        np.where(known, -g, np.nan),
        np.where(known, radius, np.inf),
        np.where(is_feasible & np.isfinite(relative), relative, np.inf),
    )
