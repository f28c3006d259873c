"""Multipliers of the equality rows for a point, and projections onto the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.box.line_search import step_length
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.settings import BOX
from qpsvm.solvers.work_budget import Point

ONE = np.ones((1, 1))
"""Eigenvectors of a matrix with one entry."""


def row_multipliers(program: BoxProgram, x: Vector, Px: Vector, y: Vector) -> Vector:
    """Multipliers y with which a projected gradient step from x satisfies the rows.

    With P replaced by its largest curvature k the dual of the program is a concave function of y
    alone, and ``A x(y) - b`` with ``x(y) = clip(x - (Px + q + A'y) / k)`` its gradient. Newton
    steps with an exact line search find where that vanishes; each costs a few passes over x.
    """
    A, b, k = program.A, program.b, program.unit
    terms = np.abs(A) @ np.abs(x) + np.abs(b)
    for _ in range(BOX.row_steps if len(b) else 0):
        r = program.gradient(Px, y)
        target = x - r / k
        missed = A @ program.clip(target) - b
        if (np.abs(missed) <= BOX.rows_solved * terms).all():
            break
        moving = A[:, program.is_free(target)]
        curvature = moving @ moving.T / k
        weights, vectors = (curvature[0], ONE) if len(b) == 1 else np.linalg.eigh(curvature)
        # rows that nothing moves get a long step: the search finds where something does
        dy = vectors @ ((vectors.T @ missed) / np.maximum(weights, BOX.smallest_weight / k))
        t = step_length(program, x, k, r, dy @ A, fixed=float(b @ dy))
        if t is None:
            break
        y = y + t * dy
    return y


def satisfying(program: BoxProgram, x: Vector) -> Vector:
    """Project x onto the rows within the box, as far as the box allows.

    What is inside its bounds is moved there (the nearest point); only if that does not suffice,
    everything is: a variable at its bound is usually there for good.
    """
    if program.rows_hold(x):
        return x
    zeros, none = np.zeros(program.size), np.zeros(len(program.b))
    inside = program.is_free(x)
    still = replace(
        program,
        q=zeros,
        lower=np.where(inside, program.lower, x),
        upper=np.where(inside, program.upper, x),
    )
    for moving in (still, replace(program, q=zeros)):
        y = row_multipliers(moving, x, zeros, none)
        x = moving.clip(x - (y @ program.A) / program.unit)
        if program.rows_hold(x):
            break
    return x


def feasible(program: BoxProgram, start: Point | Vector) -> Point:
    """Project a point onto the feasible set of a box program; return a feasible one unchanged.

    ``P x`` of a point is not computed again. Multipliers are not changed.
    """
    if not isinstance(start, Point):
        x = satisfying(program, program.clip(start))
        return Point(x, program.P.product(x), np.zeros(len(program.b)))
    x = satisfying(program, program.clip(start.x))
    if np.array_equal(x, start.x):
        return start
    step = x - start.x
    drift = start.drift + float(np.max(program.rounding(step)))
    return Point(x, start.Px + program.P.product(step), start.y, drift)
