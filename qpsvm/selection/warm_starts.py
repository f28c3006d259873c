"""Machines of one kernel matrix, each solved in the compiled core from another one's coefficients.

Along C the boxes grow. Between two neighbours most bounded coefficients stay bounded: the last
coefficients times the ratio of the C are the start of the next machine, and the optimum itself for
all small C at which the same coefficients are bounded. Where none is at its bound, the machine is
that of every larger C as well.

Nothing is taken for granted: ``selection.machine_bounds`` computes the gap of every machine
afterwards.
"""

from __future__ import annotations

import time

import numpy as np

from qpsvm.native import MachineRun, RunNumbers, SmallMachine, Status
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.selection.machine_bounds import feasible
from qpsvm.selection.settings import SEARCH
from qpsvm.selection.staircase import Staircase
from qpsvm.solvers.box.related import RelatedPrograms


def solved_from(
    K: Dense, stair: Staircase, start: Vector, eps: float, *, is_free: bool = True
) -> Vector:
    """Solve for the coefficients of one machine, by the compiled core; shape (n,).

    Where many coefficients lie between their bounds, or there are many samples, blocks of pairs and
    Newton steps with LAPACK go on.

    Parameters
    ----------
    K : array of shape (n, n)
        Positive semidefinite.
    stair : Staircase
    start : array of shape (n,)
        Coefficients in their boxes that add up to zero.
    eps : float
        Relative duality gap at which to stop.
    is_free : bool
        Whether there is a free intercept.
    """
    n, rows = len(K), None
    signs, box = np.where(stair.upper > 0.0, 1.0, -1.0), stair.upper - stair.lowest
    required = np.where(signs > 0.0, stair.a, -stair.c)
    v = start.copy()
    if stair.has_both.any():  # two variables for a sample
        rows = np.tile(np.arange(n), 2)
        signs, box = np.repeat([1.0, -1.0], n), np.concatenate([stair.upper, -stair.lowest])
        required = np.concatenate([stair.a, -stair.c])
        v = np.concatenate([np.maximum(start, 0.0), np.minimum(start, 0.0)])
    required = np.where(box > 0.0, required, 0.0)
    product = K @ start if rows is None else np.tile(K @ start, 2)
    q = -signs * required
    gradient, is_large = product + q, is_free
    if not is_free or n <= SEARCH.compiled_samples:
        box_of_a = np.zeros(len(box)), box
        machine = SmallMachine(K, signs, required, *box_of_a, rows=rows, is_free=is_free)
        numbers = RunNumbers(most=SEARCH.newton_variables if is_free else len(box))
        tolerance = SEARCH.violation * eps * float(np.max(np.abs(required), initial=0.0))
        run = machine.run(tolerance, numbers, MachineRun(Status.DONE, v, v, gradient, 0))
        is_large = is_free and run.status is Status.LIMIT  # v and gradient changed in place
    if is_large:
        lower, upper = np.where(signs > 0.0, 0.0, -box), np.where(signs > 0.0, box, 0.0)
        programs = RelatedPrograms(K, rows)
        v = programs.solve(q, lower, upper, v, eps=eps, product=gradient - q).x
    return v if rows is None else v[:n] + v[n:]


def machines_along_c(K: Dense, unit: Staircase, C: Vector, eps: float) -> tuple[Dense, Vector]:
    """Train machines for ascending C.

    Parameters
    ----------
    K : array of shape (n, n)
    unit : Staircase
        Of C = 1: its boxes are multiplied by C.
    C : array of shape (m,)
        Ascending.
    eps : float
        Relative duality gap at which to stop.

    Returns
    -------
    beta : array of shape (m, n)
        Within the boxes; rows are equal where no coefficient is at a bound.
    seconds : array of shape (m,)
        Spent on each machine.
    """
    found, seconds = np.zeros((len(C), len(K))), np.zeros(len(C))
    beta, last = np.zeros(len(K)), unit.at_price(0.0)
    for k, price in enumerate(C.tolist()):
        began, stair = time.perf_counter(), unit.at_price(price)
        at_upper, at_lowest = beta >= last.upper, beta <= last.lowest
        if not k or (at_upper & (beta > 0.0)).any() or (at_lowest & (beta < 0.0)).any():
            start = beta * (price / C[k - 1] if k else 1.0)
            if k:
                start[at_upper], start[at_lowest] = stair.upper[at_upper], stair.lowest[at_lowest]
            start = feasible(start[None], stair)[0]
            beta = feasible(solved_from(K, stair, start, eps)[None], stair)[0]
            last = stair
        found[k], seconds[k] = beta, time.perf_counter() - began
    return found, seconds
