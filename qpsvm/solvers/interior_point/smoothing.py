"""Starting points for many samples: Newton's method on the smoothed primal.

What the dual of the program maximises over the weights, which it shares with x, is with
``g = F w + q + A'y``

    phi(w, y) = w'offset - 1/2 |w|^2 - b'y + sum_i min { 1/2 d_i x^2 + g_i x : x in the box }

(for a support vector machine its primal objective, negative: the sum holds the losses, which have
kinks). Barriers of weight mu on the bounds smooth the kinks; the x_i that attain the minima are
then smooth functions of g, and points of the central path of the box: with distances ``s`` from the
lower bound and ``t`` from the upper one,

    d x + g = mu / s - mu / t

Without curvature and with both bounds, ``u = s + t``, that is a quadratic equation for s, and so it
is with curvature and one bound::

    s = 2 mu u / (g u + 2 mu + sqrt((g u)^2 + 4 mu^2))            for g >= 0; for g < 0 that is t
    s = 2 mu / (G + sqrt(G^2 + 4 d mu)),  G = g + d lower

With ``D_i = -dx_i / dg_i`` the Newton system for (w, y)
is that of the interior-point method, but there is nothing to iterate besides: no variable can block
a step, and any (w, y) is a start. This is for large mu, when many samples share in every kink; near
the end few do, and steps become short.

Source: Fiacco and McCormick, *Nonlinear Programming* (1968), for barriers; Lee and Mangasarian,
"SSVM: A smooth support vector machine", *Comput. Optim. Appl.* 20 (2001), with another smoothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.common import SMALLEST_DIVISOR
from qpsvm.solvers.interior_point.iterates import Variables
from qpsvm.solvers.interior_point.newton import NewtonSystem
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import chunks


def between(g: Vector, u: Vector, mu: float) -> tuple[Vector, Vector]:
    """Distances s and t to both bounds, u apart, for variables without curvature."""
    gu = np.abs(g) * u
    near = 2.0 * mu * u / (gu + 2.0 * mu + np.hypot(gu, 2.0 * mu))
    return np.where(g >= 0.0, near, u - near), np.where(g >= 0.0, u - near, near)


def above(G: Vector, d: Vector, mu: float) -> Vector:
    """Distance s to the lower bound for variables with curvature and no upper bound."""
    sum_ = np.abs(G) + np.hypot(G, 2.0 * np.sqrt(d * mu))
    return np.where(G >= 0.0, 2.0 * mu / sum_, sum_ / (2.0 * d))


def point_at(program: FactorProgram, w: Vector, y: Vector, mu: float) -> Variables:
    """Compute the interior point with ``s z = t v = mu`` for given weights and row multipliers.

    It satisfies all equations of the central path but two: ``F'x + offset = w`` and ``A x = b``.

    Parameters
    ----------
    program : FactorProgram
        Without curvature, and with two finite bounds for each variable.
    w, y : arrays of shape (r,) and (p,)
    mu : float
        Above zero.
    """
    g = program.gradient(w, y)
    s, t = between(g, program.upper - program.lower, mu)
    return Variables(x=program.lower + s, s=s, t=t, z=mu / s, v=mu / t, y=y, w=w, g=g)


def can_smooth(program: FactorProgram) -> bool:
    """Return whether every variable has two bounds without curvature, or one bound with it."""
    has_lower, has_upper = program.bounds
    return bool((has_lower & (has_upper == (program.d == 0.0))).all())


class Smoothed:
    """The smoothed dual function ``phi`` with barrier weight mu, at one (w, y).

    Attributes
    ----------
    w, y, g : arrays of shape (r,), (p,) and (n,)
    mu : float
    x : array of shape (n,)
        The variables that attain the minima, once it was evaluated.
    system : NewtonSystem or None
        The last one.
    first : float
        The slope of the last step at its beginning.
    reached : bool
        Whether the optimum is as accurate as it was asked to be.
    """

    def __init__(
        self, program: FactorProgram, w: Vector, y: Vector, mu: float, g: Vector | None = None
    ) -> None:
        self.program, self.w, self.y, self.mu = program, w, y, mu
        self.g = program.gradient(w, y) if g is None else g
        self.x, self.D, self.dg = (np.empty(program.size) for _ in range(3))
        self.system: NewtonSystem | None = None
        self.first, self.reached = np.inf, False

    def distances(self) -> Vector:
        """Distance of every gradient from zero, in units of the distance from the optimum.

        That is estimated in the norm of the Newton system.
        """
        assert self.system is not None
        radius = float(np.sqrt(2.0 * self.program.size * self.mu + self.first))
        return np.abs(self.g) / (radius * self.system.sizes())

    def _positions(self, i: slice, g: Vector) -> tuple[Vector, Vector]:
        """``x`` and ``-dx/dg`` of some variables at gradients g."""
        p, mu = self.program, self.mu
        d, lower = p.d[i], p.lower[i]
        if not d.any():
            s, t = between(g, p.upper[i] - lower, mu)
            return lower + s, 1.0 / (mu / (s * s) + mu / (t * t))
        is_curved = d > 0.0
        s, far = between(g, np.where(is_curved, 1.0, p.upper[i] - lower), mu)
        s[is_curved] = above((g + d * lower)[is_curved], d[is_curved], mu)
        D = np.where(is_curved, 1.0 / (d + mu / (s * s)), 1.0 / (mu / (s * s) + mu / (far * far)))
        return lower + s, D

    def evaluate(self) -> tuple[float, float, Vector, Vector]:
        """Evaluate minus phi, the gap to the objective of x, and both residuals."""
        p = self.program
        objective = p.constant
        for i in chunks(p.size):
            x, D = self._positions(i, self.g[i])
            self.x[i], self.D[i] = x, D
            objective += float(x @ (0.5 * p.d[i] * x + p.q[i]))
        weights = p.F.transposed(self.x) + p.offset
        objective += 0.5 * float(weights @ weights)
        value = -p.dual(self.x, self.y, self.w, self.g)
        return value, objective + value, weights - self.w, p.A @ self.x - p.b

    def slope(self, length: float, dw: Vector, dy: Vector) -> float:
        """Slope of the smoothed function along a step."""
        p = self.program
        total = float((p.offset - self.w - length * dw) @ dw) - float(p.b @ dy)
        for i in chunks(p.size):
            dg = self.dg[i]
            total += float(self._positions(i, self.g[i] + length * dg)[0] @ dg)
        return total

    def ascend(self, dw: Vector, dy: Vector) -> float:
        """Step to about the maximum along a direction; return the length.

        1, or a point of small slope by regula falsi.
        """
        self.program.F.times(dw, self.dg)
        for value, row in zip(dy, self.program.A, strict=True):
            self.dg += value * row
        low, high, at_low, length = 0.0, 1.0, self.first, 1.0
        at_end = self.slope(1.0, dw, dy)
        for _ in range(6 if at_end < -0.5 * self.first else 0):
            share = at_low / (at_low - at_end)
            length = low + (high - low) * min(max(share, 0.1), 0.9)
            slope = self.slope(length, dw, dy)
            if abs(slope) < 0.3 * self.first:
                break
            if slope > 0.0:
                low, at_low = length, slope
            else:
                high, at_end = length, slope
        self.w = self.w + length * dw
        self.y = self.y + length * dy
        self.g += length * self.dg
        return length


def smoothed_newton(
    program: FactorProgram,
    w: Vector,
    y: Vector,
    mu: float,
    accuracy: float,
    report: Callable[[Smoothed, int, float, float], bool],
) -> Smoothed | None:
    """Run smoothed Newton steps until mu and gap are small; None if they fail.

    Parameters
    ----------
    program : FactorProgram
    w, y : arrays of shape (r,) and (p,)
        Anything; the first mu should be such that the smoothing reaches them.
    mu : float
    accuracy : float
        ``2 n mu`` may be this share of the objective, and the gap four times as much.
    report : callable
        Told the point, the number of steps, the objective and the gap, relative; True ends the
        search.
    """
    function = Smoothed(program, w, y, mu)
    for step in range(program.settings.smoothing_steps):
        value, gap, of_weights, of_rows = function.evaluate()
        try:
            system = NewtonSystem.of(program.F, program.A, function.D)
        except np.linalg.LinAlgError:
            return None
        smoothing = 2.0 * program.size * function.mu
        if report(function, step, value, gap / max(abs(value), SMALLEST_DIVISOR)):
            return None
        dw, dy = system.solve(of_weights, of_rows)
        function.system = system
        function.first = first = float(of_weights @ dw) + float(of_rows @ dy)
        length = function.ascend(dw, dy)
        if smoothing <= 1.01 * accuracy * abs(value) and first <= smoothing:
            function.reached = True
            break
        if smoothing > accuracy * abs(value) and (first < 0.5 * smoothing or length == 1.0):
            function.mu *= 0.2
    return function
