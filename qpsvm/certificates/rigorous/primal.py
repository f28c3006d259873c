"""Upper bound of the primal objective of the stored machine, in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from qpsvm.certificates.rigorous.figures import larger, price_error, required, smaller
from qpsvm.constraints import LinearConstraints
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.settings import MACHINES
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Matrix, Vector, is_sparse
from qpsvm.numerics.balls import Ball, outward, product, sum_upper, up


def row_values(model: SupportVectorModel, scores: Ball, b: float) -> Ball:
    """``R f`` for ``f = scores + b`` as a ball, shape (N,)."""
    c = model.conditions
    return product(c.rows, scores) + Ball.exact(c.signs) * Ball.exact(b)


def objective_upper(
    model: SupportVectorModel, solution: SVMSolution, scores: Ball, penalty: float
) -> tuple[float, bool, float]:
    """Upper bound of ``penalty + price_b b + price_t t + sum of losses``; proof of feasibility.

    A hard margin without constraints is scaled up until its smallest margin is 1, as
    ``SupportVectorModel.primal_objective`` does: the objective is that of the scaled machine, which
    satisfies every condition. It is divided by the square of the margin's lower bound.

    Parameters
    ----------
    model : SupportVectorModel
    solution : SVMSolution
    scores : Ball of shape (n,)
        ``w'phi(x_i)``.
    penalty : float
        ``kappa/2 |w|^2`` and the like, from above.

    Returns
    -------
    objective : float
    feasible : bool
        Whether hard conditions and constraints provably hold.
    margin : float
        ``margin_lower`` of a hard margin that was scaled, else 1.
    """
    c, b, t = model.conditions, solution.intercept, solution.width
    error = price_error(model.data.weights, len(c))
    rows, p = row_values(model, scores, b), required(model)
    if model.is_hard and model.constraints is None:
        margin = margin_lower(rows, p)
        objective = float(outward(penalty / margin**2)) if margin > 0.0 else math.inf
        return objective, margin > 0.0, margin
    v = p - rows - Ball.exact(c.width_sign * t)
    soft = ~c.is_hard
    holds = bool((v.upper[c.is_hard] <= 0.0).all())
    rules, w = model.constraints, solution.coef
    if rules is not None:
        holds = holds and w is not None and constraints_hold(rules, np.append(w, b))
    width = Ball(c.width_price, error * abs(c.width_price)) * Ball.exact(t)
    fixed = [penalty, (Ball.exact(c.intercept_price) * Ball.exact(b)).upper, width.upper]
    return sum_upper([*fixed, *_losses(model, v, error)[soft]]), holds, 1.0


def margin_lower(rows: Ball, p: Ball) -> float:
    """Lower bound of ``min(1, smallest margin)`` of a hard margin; 0 if it may not separate."""
    worst = np.min(rows.lower / p.upper) * (1.0 - 2.0**-50)
    margin = float(np.minimum(1.0, worst))  # NaN stays NaN
    return margin if margin > MACHINES.smallest_margin else 0.0


def _losses(model: SupportVectorModel, v: Ball, error: float) -> Vector:
    """Upper bounds of ``loss(v)``, shape (N,).

    Losses are convex with their minimum, zero, at v = 0: the largest in an interval is at an end.
    """
    c = model.conditions
    d = smaller(c.curvature, error)
    over = one_sided_loss(np.maximum(v.upper, 0.0), larger(c.upper, error), d)
    under = one_sided_loss(np.maximum(-v.lower, 0.0), larger(c.lower, error), d)
    return np.asarray(np.maximum(over, under))


def one_sided_loss(v: Vector, bound: Vector, d: Vector) -> Vector:
    """Upper bound of ``max { a v - d/2 a^2 : 0 <= a <= bound }`` for v >= 0."""
    linear = outward(bound * v)
    squared = outward(0.5 * v / d * v)  # v * v could underflow and d be as small
    clipped = up(linear - 0.5 * d * bound * bound * (1.0 - 2.0**-50))
    # where the bound is not certain to matter, the loss without it is not smaller
    beyond = v >= outward(d * bound)
    return np.asarray(np.where(d > 0.0, np.where(beyond, clipped, squared), linear))


def constraints_hold(constraints: LinearConstraints, point: Vector) -> bool:
    """Return whether ``G (w, b) <= h`` and ``A (w, b) = b_eq`` hold in exact arithmetic.

    Rows that floating point cannot decide are evaluated in rational numbers.
    """
    rows, right = constraints.rows, constraints.right
    values = product(rows, Ball.exact(point))
    equality = constraints.lower < 0.0
    surely = ~equality & (values.upper <= right)
    possibly = (values.lower <= right) & ~(equality & (values.upper < right))
    if not (surely | possibly).all():  # NaN is neither
        return False
    return all(
        _row_holds(rows, int(i), point, float(right[i]), bool(equality[i]))
        for i in np.flatnonzero(~surely)
    )


def _row_holds(rows: Matrix, i: int, point: Vector, right: float, equality: bool) -> bool:
    if is_sparse(rows):
        entries = slice(rows.indptr[i], rows.indptr[i + 1])
        values, columns = rows.data[entries], rows.indices[entries]
    else:
        columns = np.flatnonzero(rows[i])
        values = rows[i][columns]
    terms = zip(values.tolist(), point[columns].tolist(), strict=True)
    miss = sum((Fraction(a) * Fraction(x) for a, x in terms), start=-Fraction(right))
    return miss == 0 if equality else miss <= 0
