"""Settings of the methods for small machines in the compiled core, and what they return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qpsvm.native.checks import Vector
from qpsvm.native.library import CallStatus

SUMS = 17
"""How many sums bound the gap of a machine: ``SUMS`` in ``machine.c``."""


class RunNumbers(NamedTuple):
    """Settings of a run of steps of pairs and Newton steps in the compiled core.

    Parameters
    ----------
    rough : float
        Violation with which the first run of steps of pairs ends.
    ridge : float
        Added to the diagonal of a Newton step's matrix, relative to its largest entry.
    first, between : float
        Steps of pairs, at most: in the first run for every variable, and after a Newton step
        for every free one.
    turns : int
        Runs of steps of pairs, at most.
    work : float
        Steps of pairs, at most, in all of these runs, times the number of variables.
    most : int
        Free variables, at most, with which Newton steps are made; with more of them a run ends, for
        steps by a library that factors large matrices faster.
    """

    rough: float = 0.1
    ridge: float = 1e-11
    first: float = 3.0
    between: float = 3.0
    turns: int = 100
    work: float = np.inf
    most: int = 256


class MachineRun(NamedTuple):
    """The point at which a run in the compiled core ended, and how it ended.

    Parameters
    ----------
    status : CallStatus
        DONE, STALLED where rounding leaves every step at zero, LIMIT, UNBOUNDED or NOT_FINITE.
    alpha, v, gradient : arrays of shape (N,)
    steps : int
        Of pairs.
    """

    status: CallStatus
    alpha: Vector
    v: Vector
    gradient: Vector
    steps: int


class MachineBounds(NamedTuple):
    """Decision values of the machine that dual variables imply, with what bounds its gap.

    Parameters
    ----------
    expansion, values, errors : arrays of shape (n,)
        ``beta``, the decision values without intercept, and bounds on their errors.
    coef : array of shape (d,)
        ``X'beta``, with which values are computed without given weights; empty where they are those
        of K.
    gap : float
        Sum of the largest of ``loss_i(v) + d_i alpha_i^2 / 2 - alpha_i v`` at ``v_i`` and at both
        ends of its error.
    losses, required, curved : float
        ``sum loss_i(v_i)``, ``sum p_i alpha_i`` and ``sum d_i alpha_i^2 / 2``.
    balance : float
        ``sum s_i alpha_i``, rounded once.
    loss_error : float
        What the errors change the sum of losses by, at most.
    violation : float
        The largest distance of a variable from its KKT case, relative to the largest variable.
    first, last : float
        The ends of the interval of best intercepts; for a penalised intercept the given one or the
        one that alpha implies, twice.
    reach : float
        ``right'|beta|``.
    width : float
        The best width; 0 where there is none.
    total : float
        ``sum alpha_i``, rounded once.
    product, product_error : float
        ``beta'values``, and by how much it is off, at most, beside the rounding of that bound.
    error : float
        The largest of ``errors``.
    weight : float
        ``sum |alpha_i|``.
    plain_gap : float
        ``gap`` at ``v_i`` alone, as if decision values had no errors.
    """

    expansion: Vector
    values: Vector
    errors: Vector
    coef: Vector
    gap: float
    losses: float
    required: float
    curved: float
    balance: float
    loss_error: float
    violation: float
    first: float
    last: float
    reach: float
    width: float
    total: float
    product: float
    product_error: float
    error: float
    weight: float
    plain_gap: float

    @classmethod
    def of(cls, results: Vector, n: int) -> MachineBounds:
        """Name the results of the compiled function for n samples."""
        sums = results[3 * n : 3 * n + SUMS].tolist()
        beta, values, errors = results[: 3 * n].reshape(3, n)
        return cls(beta, values, errors, results[3 * n + SUMS :], *sums)


class BlockMachine(NamedTuple):
    """One of several machines that were solved in one call.

    Parameters
    ----------
    status : CallStatus
        As for one run; NOT_FINITE where its values overflow.
    alpha : array of shape (N,)
    bounds : MachineBounds
        Of the weights, if there are any.
    weights : array of shape (d,) or (d + 1,), or None
        With the intercept where it is penalised.
    """

    status: CallStatus
    alpha: Vector
    bounds: MachineBounds
    weights: Vector | None


class NewtonNumbers(NamedTuple):
    """Settings of Newton's method on the primal weights of a linear machine.

    Parameters
    ----------
    steps : int
        Newton steps, at most.
    between : int
        Newton steps, at most, in one proximal step where losses have kinks.
    lengths : int
        Lengths, at most, that are tried of one Newton step.
    shrink : float
        Factor, between 0 and 1, by which the weight of the proximal term falls from step to step;
        after a step whose Newton steps were too few it doubles.
    """

    steps: int = 200
    between: int = 40
    lengths: int = 60
    shrink: float = 0.2


class NewtonRun(NamedTuple):
    """Result of Newton's method on the primal weights of a linear machine.

    Parameters
    ----------
    status : CallStatus
        DONE; LIMIT, NOT_FINITE, or STALLED where the Hessian is singular.
    weights : array of shape (p,)
    alpha : array of shape (N,)
        The slopes of the losses: the dual point.
    delta : float
        Weight of the proximal term of the next step.
    steps : int
        Newton steps.
    """

    status: CallStatus
    weights: Vector
    alpha: Vector
    delta: float
    steps: int
