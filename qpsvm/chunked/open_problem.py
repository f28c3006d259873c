"""The program over open conditions that is left when most samples are decided.

With the dual variables of decided conditions fixed, ``u = X'R'a`` and ``s = 1'R'a`` over these, the
dual problem is one over the open conditions, with rows ``r_i x_i`` in F::

    minimize    1/(2 kappa) |F'a + u|^2 + 1/2 a'diag(d) a - p'a
    subject to  r'a = price_b - s,   e 1'a <= price_t - e (sum over decided),   lower <= a <= upper

The sum u enters as one more row of F whose variable is fixed at 1, not as ``F u`` in the linear
costs: u is large and ``F'a + u`` is not, and the objective of the program would be the difference
of two numbers that have many more digits in common. Its optimum, put together with the fixed
variables, is a feasible dual point of the whole problem, and its multipliers are the machine that
is optimal if every decision was right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from qpsvm.chunked.conditions import Open
from qpsvm.chunked.contents import stacked
from qpsvm.chunked.dual_bound import DualBound, dual_bound
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.sums import Decided, rounding_unit
from qpsvm.chunked.template import Template, Terms
from qpsvm.machines.conditions import Conditions, one_each
from qpsvm.machines.repair import with_sum, with_width
from qpsvm.numerics.arrays import IN_CACHE, Vector, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution

SolveProgram = Callable[[QuadraticProgram, float], QPSolution]
"""Solves a program to a relative accuracy."""


class OpenAnswer(NamedTuple):
    """The solution of an open problem.

    Parameters
    ----------
    machine : Machine
    alpha : array of shape (m,)
        Dual variables of the open conditions.
    bound : DualBound
        Of the whole problem.
    """

    machine: Machine
    alpha: Vector
    bound: DualBound


def solve_open(
    form: Template,
    found: Open,
    decided: Decided,
    centre: Machine,
    eps: float,
    solve_program: SolveProgram,
    most_added: int = 0,
) -> OpenAnswer | None:
    """Solve the open problem; None if decided conditions leave no feasible dual point.

    Parameters
    ----------
    form : Template
    found : Open
    decided : Decided
        Over all other conditions; not changed.
    centre : Machine
        Gives the intercept where no multiplier does.
    eps : float
        Relative accuracy of the program.
    solve_program : callable
    most_added : int
        Conditions that a pass adds up at a time, where they are more than here: each of these may
        stand for many.
    """
    c = open_conditions(form, found.terms, decided)
    if not len(found) or not _is_feasible(c):
        return None
    program = _program(form, found, decided, c)
    answer = solve_program(program, eps)
    if answer.x is None or not np.isfinite(answer.x).all():
        return None
    blocks = row_blocks(len(c), found.X.shape[1], IN_CACHE)
    within = np.clip(answer.x[: len(c)], c.lower, c.upper)
    alpha = _with_sums(within, c, form, decided, max(blocks[0].stop, most_added))
    sums = Decided.over([decided])
    for rows in blocks:
        block = found.X[rows]
        sums.add(block, found.terms.at((None, rows)), alpha[None, rows], row_squares(block))
    w, b, t = sums.weights.value.sum(axis=0) / form.norm_weight, centre.intercept, centre.width
    if form.intercept == "penalized":
        b = float(sums.signed.value.sum()) - form.intercept_price
    elif form.intercept == "none":
        b = 0.0
    elif answer.y is not None and np.isfinite(answer.y).all():
        b = float(answer.y[0])
    if form.width_sign and answer.z is not None and np.isfinite(answer.z).all():
        t = max(0.0, float(answer.z[0]))
    return OpenAnswer(Machine(w, b, t), alpha, dual_bound(form, sums))


def _with_sums(
    alpha: Vector, c: Conditions, form: Template, decided: Decided, block: int
) -> Vector:
    """Move dual variables so that the sums of the dual program hold, in spite of rounding.

    Where a sum has to be large, it becomes larger than it has to be by a multiple of what rounding
    hides: the bound on the optimum takes what is too much off again.
    """
    d = decided.weights.high.shape[1]
    hidden = float(decided.rounding.value[0])
    hidden += rounding_unit(block, d) * float(np.sum(np.abs(alpha)))
    margin = 4.0 * hidden + 64.0 * EPS * (abs(form.intercept_price) + abs(form.width_price))
    if c.width_sign:
        within = replace(c, width_price=c.width_price - margin)
        return with_width(alpha, within, c.intercept_price)
    if form.intercept == "free":
        above = margin if form.intercept_price > 0.0 else 0.0
        return with_sum(alpha, c.lower, c.upper, c.signs, c.intercept_price + above)
    return alpha


def _program(form: Template, found: Open, decided: Decided, c: Conditions) -> QuadraticProgram:
    """The program over open conditions, and over variables that are fixed at 1 for the others."""
    u = decided.weights.value.sum(axis=0)
    fixed, signs = [u], [1.0]
    if form.intercept == "penalized":  # the constant feature adds 1 to the row of u
        fixed.append(np.zeros(len(u)))
        signs.append(float(decided.signed.value.sum()) - form.intercept_price - 1.0)
    rows = stacked([found.X if is_sparse(found.X) else found.X[:], np.stack(fixed)])
    nothing, ones = np.zeros(len(fixed)), np.ones(len(fixed))
    balance = np.concatenate([c.signs, nothing])
    return QuadraticProgram(
        LowRankQuadratic(
            rows,
            np.concatenate([c.curvature, nothing]),
            signs=np.concatenate([c.signs, signs]) / np.sqrt(c.norm_weight),
            constant=float(form.intercept == "penalized"),
        ),
        np.concatenate([-c.required, nothing]),
        G=c.width_sign * np.concatenate([np.ones(len(c)), nothing])[None] if c.width_sign else None,
        h=np.array([c.width_price]) if c.width_sign else None,
        A=balance[None, :] if form.intercept == "free" else None,
        b=np.array([c.intercept_price]) if form.intercept == "free" else None,
        lb=np.concatenate([c.lower, ones]),
        ub=np.concatenate([c.upper, ones]),
    )


def open_conditions(form: Template, terms: Terms, decided: Decided) -> Conditions:
    """The open conditions, with prices from which the decided ones have taken their part."""
    return Conditions(
        one_each(terms.signs),
        terms.required,
        terms.lower,
        terms.upper,
        terms.curvature,
        intercept=form.intercept,
        intercept_price=form.intercept_price - float(decided.signed.value.sum()),
        width_sign=form.width_sign,
        width_price=form.width_price - form.width_sign * float(decided.total.value.sum()),
        norm_weight=form.norm_weight,
    )


def _is_feasible(c: Conditions) -> bool:
    """Return whether the bounds of open variables allow the sums that are asked for."""
    if c.intercept == "free":
        ends = np.stack([c.signs * c.lower, c.signs * c.upper])
        low, high = float(np.min(ends, axis=0).sum()), float(np.max(ends, axis=0).sum())
        if not low <= c.intercept_price <= high:
            return False
    if c.width_sign:
        least = c.width_sign * float(np.sum(c.upper if c.width_sign < 0.0 else c.lower))
        return least <= c.width_price
    return True
