"""Newton steps by conjugate gradients on squared hinge losses, for many sparse features.

Without upper bounds and with curvature the variables follow from the weights, and what remains is
to minimise a piecewise quadratic function of w (``v_i`` is the violation of condition i)::

    1/2 |w - offset|^2 + sum_i max(0, v_i)^2 / (2 d_i),   v = -(F w + q),   x_i = max(0, v_i) / d_i

Its generalised Hessian ``I + F_I' diag(1 / d_I) F_I``, with I the violated conditions, is never
formed: conjugate gradients need its products, two passes over the entries of F each. Steps are
exact, up to the accuracy of the last system, once I is that of the optimum.

Sources: Mangasarian, "A finite Newton method for classification", *Optimization Methods and
Software* 17 (2002); Keerthi and DeCoste, "A modified finite Newton method for fast solution of
large scale linear SVMs", *JMLR* 6 (2005); Lin, Weng and Keerthi, *JMLR* 9 (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Mask, Vector
from qpsvm.numerics.precision import EPS
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.interior import SearchResult
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Search
from qpsvm.solvers.interior_point.termination import REACHED
from qpsvm.solvers.starting_points.settings import STARTS


def suits(program: FactorProgram) -> bool:
    """Return whether the program is one of squared hinges on sparse samples, and large."""
    p = program
    return bool(
        p.F.is_sparse
        and len(p.A) == 0
        and (p.d > 0.0).all()
        and (p.lower == 0.0).all()
        and np.isinf(p.upper).all()
        and affordable(p) >= STARTS.least_products
    )


def affordable(program: FactorProgram) -> int:
    """Number of products with the Hessian that take as long as the factorisations they save."""
    p = program
    factored = STARTS.newton_steps * STARTS.seconds_per_product * min(p.size, p.F.rank) ** 3 / 3.0
    return int(factored / (STARTS.seconds_per_entry * p.F.n_entries))


@dataclass(frozen=True, eq=False)
class _Place:
    """Weights with what follows from them.

    Attributes
    ----------
    w : array of shape (r,)
    scores : array of shape (n,)
        ``F w``.
    violations, x : arrays of shape (n,)
    cost : float
        The function that is minimised.
    """

    w: Vector
    scores: Vector
    violations: Vector
    x: Vector
    cost: float

    @classmethod
    def of(cls, p: FactorProgram, w: Vector, scores: Vector) -> _Place:
        violations = -(scores + p.q)
        x = np.maximum(violations, 0.0) / p.d
        apart = w - p.offset
        cost = 0.5 * float(apart @ apart) + 0.5 * float(x @ (p.d * x))
        return cls(w, scores, violations, x, cost)

    def moved(self, p: FactorProgram, step: Vector, of_step: Vector, length: float) -> _Place:
        """The weights ``w + length step``; ``of_step`` is ``F step``."""
        return self.of(p, self.w + length * step, self.scores + length * of_step)


def by_finite_newton(search: Search) -> SearchResult | None:
    """Minimise over the weights; None where that takes too long or ends by rounding.

    Parameters
    ----------
    search : Search
        Of a program that ``suits``.
    """
    p, y, own = search.program, np.zeros(0), search.settings
    left, first, found = affordable(p), 0.0, None
    w = p.offset.copy()
    place = _Place.of(p, w, p.F.times(w, np.empty(p.size)).copy())
    while search.may_continue and left > 0:
        residual = p.F.transposed(place.x) + p.offset - place.w
        size = float(np.linalg.norm(residual))
        first = first or size
        objective, gap = p.gap(place.x, y, place.w, place.scores + p.q)
        if search.report(objective, gap) is not None:
            break
        if gap <= own.inner_accuracy * search.eps:
            at = place.x, y, place.w, gap, Status.OPTIMAL, REACHED
            found = search.record(SearchResult(*at, search.iterations))
            if size <= STARTS.small_residual * first:
                break  # a gap allows residuals of its root, which one more step removes
        accuracy = min(STARTS.forcing, size / first) * size
        step, used = _newton_step(p, place.violations > 0.0, residual, accuracy, left)
        left -= used
        of_step = p.F.times(step, np.empty(p.size)).copy()
        nearer = _descended(p, place, residual, step, of_step)
        if nearer is None:
            break
        place = nearer
    return found


def _newton_step(
    p: FactorProgram, violated: Mask, residual: Vector, accuracy: float, most: int
) -> tuple[Vector, int]:
    """Solve ``(I + F_I' diag(1/d_I) F_I) s = residual`` by conjugate gradients.

    Returns s and the number of products; the residual of s is at most ``accuracy``.
    """
    weights = np.where(violated, 1.0 / p.d, 0.0)
    scores = np.empty(p.size)
    step, r = np.zeros(len(residual)), residual.copy()
    direction, square = r.copy(), float(r @ r)
    for used in range(most):
        if square <= accuracy * accuracy:
            return step, used
        product = direction + p.F.transposed(weights * p.F.times(direction, scores))
        length = square / float(direction @ product)
        step += length * direction
        r -= length * product
        before, square = square, float(r @ r)
        direction = r + (square / before) * direction
    return step, most


def _descended(
    p: FactorProgram, place: _Place, residual: Vector, step: Vector, of_step: Vector
) -> _Place | None:
    """The first of the lengths 1, 1/2, 1/4, ... of a step that descends enough; None if none."""
    slope, length = float(residual @ step), 1.0
    noise = 4.0 * EPS * place.cost  # of rounding: the last steps descend by less
    for _ in range(STARTS.halvings):
        nearer = place.moved(p, step, of_step, length)
        if nearer.cost <= place.cost - STARTS.least_descent * length * slope + noise:
            return nearer
        length *= 0.5
    return None
