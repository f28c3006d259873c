"""Residuals of the Karush-Kuhn-Tucker conditions, and the sizes that make them relative.

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

from qpsvm.numerics.arrays import Matrix, Vector
from qpsvm.numerics.compensated import without_tiny_rows
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import entries_of, largest_in_rows
from qpsvm.qp.kkt_residuals import RESIDUAL_NAMES, KKTResiduals, Residual, largest_of
from qpsvm.qp.low_rank import HessianProduct
from qpsvm.qp.program import (
    QuadraticProgram,
    dual_value,
    finite_dot,
    row_gradient,
    row_gradient_sizes,
)
from qpsvm.qp.solution import QPSolution
from qpsvm.qp.transforms import rows_as_bounds

NOT_CONVEX = "P is not positive semidefinite: stationarity does not mean optimality"

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
    distance: float = math.inf
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
    product: HessianProduct | None = None,
    known: KnownOptimum | None = None,
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
    product : HessianProduct, optional
        That of P and x, where the caller has computed it; computed here if None.
    known : KnownOptimum, optional
        Of a training problem's program: what the machine's certificate says of the optimum. The
        kernel from which such a program was built has been tested, with a tolerance of its own, so
        that P is not tested here.

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
    problems = () if known is not None or program.is_convex else (NOT_CONVEX,)
    vectors, missing = checked_vectors(program, solution)
    if vectors is not None and not problems:
        with np.errstate(all="ignore"):  # overflow shows up as inf or NaN, and fails closed
            return _measure(program, *vectors, contradiction, product, known)
    infinite = {name: Residual(name, math.inf, math.inf) for name in RESIDUAL_NAMES}
    return KKTResiduals(
        **infinite,
        primal_objective=math.nan,
        dual_objective=math.nan,
        problems=(*missing, *problems),
    )


def _measure(
    program: QuadraticProgram,
    x: Vector,
    z: Vector,
    y: Vector,
    z_lower: Vector,
    z_upper: Vector,
    contradiction: Vector | None,
    product: HessianProduct | None,
    known: KnownOptimum | None,
) -> KKTResiduals:
    found = dict[str, tuple[Vector, Vector]]()  # absolute and scaled, every entry
    hessian = HessianProduct.of(program.P, x) if product is None else product
    Px, m = hessian.value, program.n_inequalities
    quadratic, linear = 0.5 * float(x @ Px), float(program.q @ x)

    # stationarity: r = Px + q + G'z + A'y - z_lower + z_upper
    r = np.abs(Px + program.q + row_gradient(program, z, y) - z_lower + z_upper)
    r = _beyond_rounding(
        r,
        lambda: np.abs(program.q) + np.abs(z_lower) + np.abs(z_upper),
        lambda: row_gradient_sizes(program, z, y),
        lambda: hessian.sizes,
    )
    unit = objective_unit(program)
    found["stationarity"] = r, r / np.maximum(unit, np.maximum(np.abs(program.q), np.abs(Px)))

    # primal feasibility, block by block
    left = np.zeros(m + program.n_equalities) if contradiction is None else contradiction
    G_norm = largest_in_rows(program.G)
    found["inequality"] = _row_residuals(program.G, program.h, x, left[:m], G_norm)
    found["equality"] = _row_residuals(program.A, program.b, x, left[m:])
    slacks = program.h - program.G @ x, x - program.lb, program.ub - x
    bounds, width = (program.lb, program.ub), program.ub - program.lb
    for name, bound, slack in zip(("lower_bound", "upper_bound"), bounds, slacks[1:], strict=True):
        beyond = np.maximum(-slack, 0.0)
        found[name] = beyond, beyond / _bound_scale(bound, width, _variable_unit(x))

    # multipliers: non-negative, and zero where there is no bound to push against
    multipliers, slack = np.concatenate([z, z_lower, z_upper]), np.concatenate(slacks)
    units = multipliers * np.concatenate([_positive(G_norm), np.ones(2 * x.size)])
    units = units / max(unit, float(np.max(np.abs(program.q))))
    found["multiplier_sign"] = np.maximum(-multipliers, 0.0), np.maximum(-units, 0.0)

    # complementarity: z_j s_j = 0; where s_j is infinite z_j itself must be zero
    unbounded = slack == math.inf
    products = np.abs(multipliers * np.where(unbounded, 1.0, slack))
    products[unbounded & (multipliers != 0.0)] = math.inf
    if known is None:
        scale = objective_scale(program, x, quadratic)
    else:
        scale = max(_objective_terms(program, x, quadratic), known.floor)
    found["complementarity"] = products, _relative_to(products, scale)

    primal = quadratic + linear
    dual = dual_value(program, quadratic, z, y, z_lower, z_upper)
    repaired = repaired_dual_objective(program, Px, quadratic, z, y)
    excess = (known or KnownOptimum()).excess(primal, at_most=abs(primal - repaired))
    gap = np.array([abs(primal - dual), excess])
    pairs = ((program.h, z), (program.b, y), (program.lb, z_lower), (program.ub, z_upper))
    summed = sum([finite_dot(np.abs(right), np.abs(m)) for right, m in ((program.q, x), *pairs)])
    gap = _beyond_rounding(gap, lambda: np.array(summed), lambda: np.array(hessian.size))
    found["duality_gap"] = gap, _relative_to(gap, scale)

    # natural residual: |min(z_j, s_j)|, the distance to the nearer of the two cases
    finite = np.where(np.isfinite(program.h), np.abs(program.h), 0.0)
    scales = [_positive(np.maximum(G_norm, finite))]
    scales += [_bound_scale(bound, width, 1.0) for bound in bounds]
    nearer = np.minimum(multipliers, slack), np.minimum(units, slack / np.concatenate(scales))
    others = found["stationarity"], found["equality"]
    absolute, scaled = (
        np.concatenate([np.abs(own), *(both[i] for both in others)]) for i, own in enumerate(nearer)
    )
    found["natural"] = absolute, scaled
    residuals = {name: Residual(name, *map(largest_of, both)) for name, both in found.items()}
    return KKTResiduals(**residuals, primal_objective=primal, dual_objective=dual, problems=())


# --- small pieces ----------------------------------------------------------------------------


def _row_residuals(
    rows: Matrix, right: Vector, x: Vector, left: Vector, largest: Vector | None = None
) -> tuple[Vector, Vector]:
    """Violations of inequalities (with the largest entries of rows) or equalities, both ways.

    The scaled ones are divided by the sizes of the rows' terms, ``sum_k |R_jk x_k| + |right_j|``.
    """
    norms = largest_in_rows(rows) if largest is None else largest
    rows, right, exponents = without_tiny_rows(rows, right, norms)
    excess = rows @ x - right
    excess = np.abs(excess) if largest is None else excess
    missed = np.maximum(excess - np.ldexp(left, exponents), 0.0)
    if not missed.any():
        return missed, missed
    terms = np.asarray(abs(rows) @ np.abs(x)) + np.where(np.isfinite(right), np.abs(right), 0.0)
    scaled = np.where(missed == 0.0, 0.0, missed / _positive(terms))
    return np.ldexp(missed, -exponents), scaled


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


# --- sizes by which residuals are divided -------------------------------------------------------


def objective_unit(program: QuadraticProgram) -> float:
    """Return the largest coefficient of the objective, at most 1; 1 if all are zero."""
    largest = float(np.max(np.abs(program.q)))
    if not largest >= 1.0:  # the diagonal of P costs a pass over the samples
        largest = max(largest, float(np.max(np.abs(program.P.diagonal()), initial=0.0)))
    return min(1.0, largest) if largest > 0.0 else 1.0


def _objective_terms(program: QuadraticProgram, x: Vector, quadratic: float) -> float:
    """Return ``1/2 x'Px + |q'x|``, the two terms of the objective at x; the first one is given."""
    return max(quadratic, 0.0) + abs(float(program.q @ x))


def objective_scale(program: QuadraticProgram, x: Vector, quadratic: float) -> float:
    """Return what gaps of a bare program are relative to: ``1/2 x'Px + |q'x|``, or a floor.

    The two terms of the objective at x, and never a 1 in place of them: a program and the same one
    with its objective times 1e-12 have the same verdict. Where the optimum is zero, no gap is small
    beside the terms. The floor is a millionth of the objective of the one variable that matters
    most, ``|q_j| s_j + 1/2 P_jj s_j^2``, at its natural size ``s_j``: the smallest that its bounds,
    the terms of its rows and its own curvature suggest, at most ``max(1, |x_j|)``, and beyond 1
    only as far as the bounds and right-hand sides near x are.

    Parameters
    ----------
    program : QuadraticProgram
    x : array of shape (n,)
    quadratic : float
        ``1/2 x'Px``.
    """
    terms = _objective_terms(program, x, quadratic)
    q, curvature = np.abs(program.q), np.maximum(program.P.diagonal(), 0.0)
    if not (q.any() or curvature.any()):
        return max(terms, 1.0)  # an objective without terms has no unit of its own
    sizes = _natural_sizes(rows_as_bounds(program)[0], x)
    is_curved = (q > 0.0) & (curvature > 0.0)
    preferred = np.divide(q, curvature, out=np.full(len(q), np.inf), where=is_curved)
    sizes = np.minimum(sizes, preferred)
    own = q * sizes + 0.5 * curvature * sizes * sizes
    # as far as the objective is quadratic, that of a thousandth of the natural size: at the
    # default eps a gap of fifty roundings of the natural objective is allowed
    return max(terms, 1e-6 * float(np.max(own)))


def _natural_sizes(program: QuadraticProgram, x: Vector) -> Vector:
    """Size of each variable that its bounds and the terms of its rows suggest.

    At most ``max(1, |x_j|)``, and ``|x_j|`` where neither bounds nor rows suggest any. Where x may
    move along rows and curvature for nothing, a candidate far out must not make its own error
    small: more than 1 only as far as the bounds and right-hand sides that it is near say.
    """
    sizes, given = np.full((2, len(x)), np.inf)
    for bound in (program.lb, program.ub):
        is_number = np.isfinite(bound) & (bound != 0.0)
        sizes = np.where(is_number, np.minimum(sizes, np.abs(bound)), sizes)
        is_near = is_number & (np.abs(x - bound) <= 0.5 * np.abs(bound))
        given = np.where(is_near, np.minimum(given, np.abs(bound)), given)
    for rows, right in ((program.G, program.h), (program.A, program.b)):
        is_finite = np.isfinite(right)
        terms = np.asarray(abs(rows) @ np.abs(x)) + np.where(is_finite, np.abs(right), 0.0)
        terms = np.where(is_finite & (terms > 0.0), terms, np.inf)
        row, column, values = entries_of(rows)
        np.minimum.at(sizes, column, terms[row] / np.abs(values))
        is_near = is_finite & (right != 0.0) & (rows @ x >= right - 0.5 * np.abs(right))
        fixed = np.where(is_near, np.abs(right), np.inf)
        np.minimum.at(given, column, fixed[row] / np.abs(values))
    largest = np.where(np.isfinite(given), np.maximum(given, 1.0), 1.0)
    largest = np.minimum(largest, np.maximum(np.abs(x), 1.0))
    return np.minimum(np.where(np.isfinite(sizes), sizes, np.abs(x)), largest)


def _relative_to(values: Vector, scale: float) -> Vector:
    """Divide figures by a scale that may be zero: zero figures are zero, others infinite."""
    return np.asarray(np.where(values == 0.0, 0.0, values / np.float64(scale)))


def _positive(scale: Vector) -> Vector:
    """Replace zeros among divisors by 1."""
    return np.where(scale > 0.0, scale, 1.0)


def _variable_unit(x: Vector) -> float:
    """Return the largest absolute entry of x, at most 1; 1 if all are zero."""
    largest = float(np.max(np.abs(x)))
    return min(1.0, largest) if largest > 0.0 else 1.0


def _bound_scale(bound: Vector, width: Vector, unit: float) -> Vector:
    """Return the scale of violations of a bound, ``min(width_i, max(unit, |bound_i|))``."""
    size = np.maximum(unit, np.where(np.isfinite(bound), np.abs(bound), unit))
    return np.where(width > 0.0, np.minimum(width, size), size)


def repaired_dual_objective(
    program: QuadraticProgram, Px: Vector, quadratic: float, z: Vector, y: Vector
) -> float:
    """The dual objective of z clipped at zero, with bound multipliers that balance the gradient."""
    z = np.where(np.isfinite(program.h), np.maximum(z, 0.0), 0.0)
    gradient = Px + program.q + row_gradient(program, z, y)
    z_lower = np.where(np.isfinite(program.lb), np.maximum(gradient, 0.0), 0.0)
    z_upper = np.where(np.isfinite(program.ub), np.maximum(-gradient, 0.0), 0.0)
    return dual_value(program, quadratic, z, y, z_lower, z_upper)


# --- presence, shape and finiteness -------------------------------------------------------------


def checked_vectors(
    program: QuadraticProgram, solution: QPSolution
) -> tuple[tuple[Vector, Vector, Vector, Vector, Vector] | None, tuple[str, ...]]:
    """Return the five vectors of a solution, or the reason why one is unusable."""
    n = program.n_variables
    lengths = {
        "x": n,
        "z": program.n_inequalities,
        "y": program.n_equalities,
        "z_lower": n,
        "z_upper": n,
    }
    problems, vectors = [], []
    for name, length in lengths.items():
        vector: Vector | None = getattr(solution, name)
        if vector is None:
            problems.append(f"{name} is missing")
            continue
        if vector.shape != (length,):
            problems.append(f"{name} has shape {vector.shape}, the program needs ({length},)")
        elif not np.isfinite(vector).all():
            problems.append(f"{name} has NaN or infinite entries")
        vectors.append(vector)
    if problems:
        return None, tuple(problems)
    x, z, y, z_lower, z_upper = vectors
    return (x, z, y, z_lower, z_upper), ()
