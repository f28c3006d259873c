"""Norms of the weights in an objective: half the squared Euclidean norm, or the 1-norm.

An objective is the norm's ``penalty`` plus linear terms and losses. What follows from dual
variables a depends on the norm alone::

    kappa/2 |w|^2    w(a) = X'R'a / kappa, and the dual objective loses kappa/2 |w(a)|^2
    |w|_1            |X'R'a|_inf <= 1, and the dual objective loses nothing

A penalised intercept is the weight of a feature that is always 1, with kappa = 1: ``1/2 b^2`` and
``b(a) = 1'R'a``, or ``|b|`` and ``|1'R'a| <= 1``. (With constraints on (w, b) ``X'R'a - G'z -
A'y``; without explicit features K in place of X.) The second half of each type encloses the same in
exact arithmetic, for rigorous certificates.

Sources: Cortes and Vapnik, "Support-vector networks", *Machine Learning* 20 (1995); Zhu, Rosset,
Hastie and Tibshirani, "1-norm support vector machines", NIPS 16 (2003).
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.balls import Ball, down, outward, root, squared_norm, sum_upper


class Norm:
    """Squared Euclidean norm of the weights, ``kappa/2 |w|^2``, with its counterpart in the dual.

    Attributes
    ----------
    weights_follow : bool
        Whether the optimal weights are a function of the optimal dual variables; otherwise
        ``|X'R'a|_inf <= 1`` is a condition on these.
    """

    weights_follow = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def curvature(self, kappa: float) -> float:
        """Modulus of strong convexity c: the objective minus ``c/2 |w|^2`` is convex."""
        return kappa

    def penalty(self, weights: Vector | None, square: float, kappa: float, b: float) -> float:
        """Penalty on weights ``w`` or ``beta``, given ``|w|^2``, and on a penalised intercept."""
        del weights
        return 0.5 * kappa * max(square, 0.0) + 0.5 * b * b

    def dual_penalty(self, square: float, kappa: float, b: float) -> float:
        """Twice the penalty in the dual objective, given ``|w(a)|^2`` and a penalised b(a)."""
        return kappa * square + b * b

    # --- enclosures ------------------------------------------------------------------------------

    def size_upper(self, w: Ball) -> float:
        """Upper bound of ``|w|^2`` or ``|w|_1`` of explicit weights."""
        return squared_norm(w)

    def expansion_upper(self, beta: Vector, scores: Ball) -> float:
        """Upper bound of ``|w|^2`` or ``|beta|_1`` of a kernel expansion."""
        return max(sum_upper((Ball.exact(beta) * scores).upper), 0.0)

    def dual_size_upper(self, adjoint: Ball) -> float:
        """Upper bound of the dual norm of the adjoint ``X'R'a``: its square, or largest entry."""
        return squared_norm(adjoint)

    def expanded_dual_size_upper(
        self, beta: Ball, products: Ball, norms: Vector, rest: float
    ) -> float:
        """Upper bound of the dual norm of the adjoint ``K R'a``, for kernels.

        ``products`` are those of the middle of beta with K, ``norms`` are ``|phi(x_i)|``, and
        ``rest`` is at least ``sum_i |phi(x_i)|`` times the radius of beta_i.
        """
        del norms
        square = sum_upper((Ball.exact(beta.mid) * products).upper)
        return float(outward((root(square) + rest) ** 2))

    def penalty_upper(self, size: float, kappa: float, b: float) -> float:
        """Upper bound of the penalty on weights of this size and on a penalised intercept."""
        return float(outward(0.5 * (kappa * size + b * b)))

    def dual_lower(
        self, linear: float, dual_size: float, kappa: float, b: float, squares: Vector
    ) -> float:
        """Lower bound of the dual objective: ``linear`` less penalty and ``squares / 2``.

        ``b`` is at least ``|b(a)|`` of a penalised intercept, and 0 for another one.
        """
        subtracted = [outward(dual_size / kappa), outward(b * b), *squares]
        return float(down(linear - 0.5 * sum_upper(subtracted)))


class AbsoluteNorm(Norm):
    """1-norm ``|w|_1``, or ``|beta|_1`` without explicit features; kappa is 1."""

    weights_follow = False

    def curvature(self, kappa: float) -> float:
        return 0.0 * kappa

    def penalty(self, weights: Vector | None, square: float, kappa: float, b: float) -> float:
        del square, kappa
        return np.nan if weights is None else float(np.sum(np.abs(weights))) + abs(b)

    def dual_penalty(self, square: float, kappa: float, b: float) -> float:
        del square, kappa, b
        return 0.0

    def size_upper(self, w: Ball) -> float:
        return sum_upper(w.magnitude)

    def expansion_upper(self, beta: Vector, scores: Ball) -> float:
        del scores
        return sum_upper(np.abs(beta))

    def dual_size_upper(self, adjoint: Ball) -> float:
        return float(np.max(adjoint.magnitude))

    def expanded_dual_size_upper(
        self, beta: Ball, products: Ball, norms: Vector, rest: float
    ) -> float:
        del beta
        return float(np.max(outward(products.magnitude + norms * rest)))

    def penalty_upper(self, size: float, kappa: float, b: float) -> float:
        del kappa
        return float(outward(size + abs(b)))

    def dual_lower(
        self, linear: float, dual_size: float, kappa: float, b: float, squares: Vector
    ) -> float:
        del kappa
        # divided by what brings |X'R'a|_inf and |b(a)| down to 1, everything stays feasible, and
        # the squares become smaller
        largest = np.maximum(1.0, np.maximum(dual_size, b))
        gained = down(linear / largest) if linear > 0.0 else linear
        return float(down(gained - 0.5 * sum_upper(squares)))


SQUARED = Norm()
ABSOLUTE = AbsoluteNorm()
