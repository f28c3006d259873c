"""Residuals of the Karush-Kuhn-Tucker conditions.

Nothing here trusts a solver. A point passes when every residual is at most its tolerance; a
missing vector, a wrong length, NaN or infinity makes the residuals it touches infinite, and an
infinite residual never passes.

With ``r = Px + q + G'z + A'y - z_lower + z_upper`` and slacks ``s = h - Gx``, ``x - lb``,
``ub - x``, the residuals are (largest entry over all rows):

===============  ====================================  ===========================================
residual         absolute                              scaled: each entry divided by
===============  ====================================  ===========================================
stationarity     ``|r_i|``                             ``max(u, |q_i|, |(Px)_i|)``
inequality       ``(Gx - h)_j`` if positive            the row's terms ``sum_k |G_jk x_k| + |h_j|``
equality         ``|(Ax - b)_j|``                      the row's terms ``sum_k |A_jk x_k| + |b_j|``
bounds           ``lb_i - x_i`` and ``x_i - ub_i``     ``min(ub_i - lb_i, max(v, |bound_i|))``
multiplier sign  ``-z_j`` if positive, all three       ``max(u, max_i |q_i|)`` over the row's norm
complementarity  ``|z_j s_j|``, all three              ``1/2 x'Px + |q'x|``, or a floor
duality gap      ``|primal - dual objective|``, twice  ``1/2 x'Px + |q'x|``, or a floor
natural          ``|min(z_j, s_j)|``, ``|r|, |Ax-b|``  those above, s by ``max_k |G_jk|, |h_j|``
===============  ====================================  ===========================================

Here ``u = min(1, max(max_i |q_i|, max_i P_ii))`` is the objective's own unit: a program whose
coefficients are all tiny is not solved by any point that comes along. The unit of the variables is
``v = min(1, max_i |x_i|)``; the natural residual, which asks whether a slack is near zero,
takes ``v = 1``.

A row's scaled residual is its componentwise backward error: the smallest relative change of the
row's numbers that makes the row hold. Dividing by the row's largest entry instead would let a large
entry that multiplies nothing hide what a small one misses.

The duality gap is taken with the multipliers as they are and with repaired ones (negative ones
set to zero, those of finite bounds read off stationarity), whichever is larger: the repaired ones
bound the optimum of a program with bounded variables whatever the solver returned. Of a training
problem the certificate of the machine may bound that optimum more closely (``KnownOptimum``): it
knows weights that a rounded alpha does not determine.

No scale depends on the multipliers: a candidate with huge multipliers that cancel each other
would otherwise scale its own error away. (A sum of such terms that is zero but for its rounding
counts as zero; what that rounding may hide is part of the bound on the optimum.) The row scales
make the residuals independent of the units a constraint was written in.

Residuals explain a verdict; the verdict itself is a bound on the optimum (``bounds``).

Sources: Boyd and Vandenberghe, *Convex Optimization*, section 5.5.3; for the backward error Higham,
*Accuracy and Stability of Numerical Algorithms* (2002), section 7.1; for the natural residual
Facchinei and Pang, *Finite-Dimensional Variational Inequalities*, section 1.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.compensated import without_tiny_rows
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import largest_in_rows
from qpsvm.qp.checked_vectors import checked_vectors
from qpsvm.qp.hessian_product import HessianProduct
from qpsvm.qp.kkt_residuals import RESIDUAL_NAMES, KKTResiduals, Residual, largest_of, worst_of
from qpsvm.qp.kkt_scales import (
    backward_error,
    bound_scale,
    objective_scale,
    objective_terms,
    objective_unit,
    objectives,
    positive,
    relative_to,
    repaired_dual_objective,
    variable_unit,
)
from qpsvm.qp.program import QuadraticProgram, finite_dot
from qpsvm.qp.row_gradient import row_gradient, row_gradient_sizes
from qpsvm.qp.solution import QPSolution

NOT_CONVEX = "P is not positive semidefinite: stationarity does not mean optimality"

INFINITE = math.inf
ROUNDING = 4.0 * EPS
"""Share of the terms of a sum below which it may be their rounding, and counts as zero."""


class KnownOptimum(NamedTuple):
    """A bound on the optimum of a training problem's program, from the machine's certificate.

    Attributes
    ----------
    objective : float
        An objective of the program in the program's sense: the primal objective of the machine, or
        the dual one with the opposite sign.
    distance : float
        How far the optimum is from that at most; infinite if not known.
    floor : float
        Of the scale of the gap.
    """

    objective: float = 0.0
    distance: float = INFINITE
    floor: float = 0.0

    def excess(self, objective: float, at_most: float) -> float:
        """Bound the distance of an objective from the optimum, by this or another bound."""
        own = abs(objective - self.objective) + self.distance
        return own if own < at_most else at_most  # NaN is no bound


def residuals(
    program: QuadraticProgram,
    solution: QPSolution,
    *,
    contradiction: Vector | None = None,
) -> KKTResiduals:
    """Measure every KKT residual of a candidate; the formulas are in the module's docstring.

    Parameters
    ----------
    program : QuadraticProgram
        The program as it was given.
    solution : QPSolution
        Its ``status`` and ``native_status`` are not looked at.
    contradiction : array of shape (m + p,), optional
        What rows, inequalities first, miss because they contradict each other by the rounding of
        their numbers (``bounds``): no point misses less.

    Returns
    -------
    KKTResiduals
        Each residual, absolute and scaled; infinite where the vectors are no solution.

    Examples
    --------
    min 1/2 x^2 + x with x <= 0 has its optimum at -1; x = 0 with z = -1 is stationary and
    complementary, and wrong:

    >>> from qpsvm.qp import QPSolution, QuadraticProgram, Status
    >>> program = QuadraticProgram([[1.0]], [1.0], G=[[1.0]], h=[0.0])
    >>> wrong = QPSolution(Status.OPTIMAL, x=[0.0], z=[-1.0], y=[], z_lower=[0.0], z_upper=[0.0])
    >>> residuals(program, wrong).multiplier_sign.scaled
    1.0
    """
    vectors, problems = checked_vectors(program, solution)
    if not program.is_convex:
        problems += (NOT_CONVEX,)
    if vectors is None or problems:
        return _unusable(problems)
    with np.errstate(all="ignore"):  # overflow shows up as inf or NaN, and fails closed below
        return _measure(program, *vectors, contradiction)


def residuals_beside(
    program: QuadraticProgram,
    solution: QPSolution,
    product: HessianProduct | None,
    known: KnownOptimum | None = None,
) -> KKTResiduals:
    """Measure how far the solution of a training problem's program is from being optimal.

    The same as ``kkt_residuals``, without testing whether P is positive semidefinite: the kernel
    from which the program was built has been tested, with a tolerance of its own.

    Parameters
    ----------
    program : QuadraticProgram
        The program of a training problem.
    solution : QPSolution
    product : HessianProduct, optional
        That of P and x, where the caller has computed it; computed here if None.
    known : KnownOptimum, optional
        What the machine's certificate says of the optimum of the program.

    Returns
    -------
    KKTResiduals
    """
    vectors, problems = checked_vectors(program, solution)
    if vectors is None or problems:
        return _unusable(problems)
    with np.errstate(all="ignore"):
        return _measure(program, *vectors, product=product, known=known or KnownOptimum())


def _measure(
    program: QuadraticProgram,
    x: Vector,
    z: Vector,
    y: Vector,
    z_lower: Vector,
    z_upper: Vector,
    contradiction: Vector | None = None,
    product: HessianProduct | None = None,
    known: KnownOptimum | None = None,
) -> KKTResiduals:
    G, A = program.G, program.A
    left = np.zeros(G.shape[0] + A.shape[0]) if contradiction is None else contradiction
    hessian = HessianProduct.of(program.P, x) if product is None else product
    Px = hessian.value

    # stationarity: r = Px + q + G'z + A'y - z_lower + z_upper
    r = np.abs(Px + program.q + row_gradient(program, z, y) - z_lower + z_upper)
    r = _beyond_rounding(
        r,
        lambda: np.abs(program.q) + np.abs(z_lower) + np.abs(z_upper),
        lambda: row_gradient_sizes(program, z, y),
        lambda: hessian.sizes,
    )
    unit = objective_unit(program)
    gradient_scale = np.maximum(unit, np.maximum(np.abs(program.q), np.abs(Px)))
    stationarity = _residual("stationarity", r, r / gradient_scale)

    # primal feasibility, block by block
    G_norm = largest_in_rows(G)
    slack = program.h - G @ x
    G_scale = positive(np.maximum(G_norm, np.where(np.isfinite(program.h), np.abs(program.h), 0)))
    own, right, exponents = without_tiny_rows(G, program.h, G_norm)
    excess = -slack if own is G else own @ x - right
    violation = np.maximum(excess - np.ldexp(left[: len(slack)], exponents), 0.0)
    inequality = _residual(
        "inequality", np.ldexp(violation, -exponents), backward_error(violation, own, x, right)
    )
    own, right, exponents = without_tiny_rows(A, program.b, largest_in_rows(A))
    mismatch = np.abs(own @ x - right) - np.ldexp(left[len(slack) :], exponents)
    mismatch = np.maximum(mismatch, 0.0)
    equality = _residual(
        "equality", np.ldexp(mismatch, -exponents), backward_error(mismatch, own, x, right)
    )

    lower_slack, upper_slack = x - program.lb, program.ub - x
    width, unit_of_x = program.ub - program.lb, variable_unit(x)
    below, above = np.maximum(-lower_slack, 0.0), np.maximum(-upper_slack, 0.0)
    lower_bound = _residual("lower_bound", below, below / bound_scale(program.lb, width, unit_of_x))
    upper_bound = _residual("upper_bound", above, above / bound_scale(program.ub, width, unit_of_x))

    # multipliers: non-negative, and zero where there is no bound to push against
    q_scale = max(unit, float(np.max(np.abs(program.q))))
    multipliers = np.concatenate([z, z_lower, z_upper])
    slacks = np.concatenate([slack, lower_slack, upper_slack])
    norms = np.concatenate([positive(G_norm), np.ones(2 * x.size)])
    wrong_sign = np.maximum(-multipliers, 0.0)
    multiplier_sign = _residual("multiplier_sign", wrong_sign, wrong_sign * norms / q_scale)

    # complementarity: z_j s_j = 0; where s_j is infinite z_j itself must be zero
    unbounded = slacks == INFINITE
    products = np.abs(multipliers * np.where(unbounded, 1.0, slacks))
    products[unbounded & (multipliers != 0.0)] = INFINITE
    primal, dual = objectives(program, Px, x, z, y, z_lower, z_upper)
    scale = _gap_scale(program, x, Px, known)
    complementarity = _residual("complementarity", products, relative_to(products, scale))

    repaired = repaired_dual_objective(program, Px, x, z, y)
    excess = (known or KnownOptimum()).excess(primal, at_most=abs(primal - repaired))
    gap = np.array([abs(primal - dual), excess])
    pairs = ((program.h, z), (program.b, y), (program.lb, z_lower), (program.ub, z_upper))
    summed = sum([finite_dot(np.abs(right), np.abs(m)) for right, m in ((program.q, x), *pairs)])
    gap = _beyond_rounding(gap, lambda: np.array(summed), lambda: np.array(hessian.size))
    duality_gap = _residual("duality_gap", gap, relative_to(gap, scale))

    # natural residual: |min(z_j, s_j)|, the distance to the nearer of the two cases
    bounds = [bound_scale(bound, width, 1.0) for bound in (program.lb, program.ub)]
    scales = np.concatenate([G_scale, *bounds])
    nearer = np.abs(np.minimum(multipliers, slacks))
    nearer_scaled = np.abs(np.minimum(multipliers * norms / q_scale, slacks / scales))
    natural = Residual(
        "natural",
        worst_of([largest_of(nearer), stationarity.absolute, equality.absolute]),
        worst_of([largest_of(nearer_scaled), stationarity.scaled, equality.scaled]),
    )
    return KKTResiduals(
        stationarity=stationarity,
        inequality=inequality,
        equality=equality,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        multiplier_sign=multiplier_sign,
        complementarity=complementarity,
        duality_gap=duality_gap,
        natural=natural,
        primal_objective=primal,
        dual_objective=dual,
    )


def _gap_scale(
    program: QuadraticProgram, x: Vector, Px: Vector, known: KnownOptimum | None
) -> float:
    """Scale of the gap: that of a bare program, or the terms with the floor of a machine."""
    quadratic = 0.5 * float(x @ Px)
    if known is None:
        return objective_scale(program, x, quadratic)
    return max(objective_terms(program, x, quadratic), known.floor)


# --- small pieces ----------------------------------------------------------------------------


def _beyond_rounding(residual: Vector, *terms: Callable[[], Vector]) -> Vector:
    """Set entries of a residual to zero that may be the rounding of the terms of its sum.

    Absolute terms are computed in the given order, the expensive ones last, and only while some
    entry is not explained by the previous ones. Nothing is relative to what overflows.
    """
    size = np.zeros(())
    for more in terms:
        if not residual.any():
            break
        size = size + more()
        residual = np.where((residual <= ROUNDING * size) & np.isfinite(size), 0.0, residual)
    return residual


def _unusable(problems: tuple[str, ...]) -> KKTResiduals:
    infinite = {name: Residual(name, INFINITE, INFINITE) for name in RESIDUAL_NAMES}
    return KKTResiduals(
        **infinite, primal_objective=math.nan, dual_objective=math.nan, problems=problems
    )


def _residual(name: str, absolute: Vector, scaled: Vector) -> Residual:
    return Residual(name, largest_of(absolute), largest_of(scaled))
