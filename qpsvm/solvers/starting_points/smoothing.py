"""Starting points for many samples: Newton's method on the smoothed primal.

What the dual of the program maximises over the weights, which it shares with x, is with
``g = F w + q + A'y``

    phi(w, y) = w'offset - 1/2 |w|^2 - b'y + sum_i min { 1/2 d_i x^2 + g_i x : x in the box }

(for a support vector machine its primal objective, negative: the sum holds the losses, which have
kinks). Barriers of weight mu on the bounds smooth the kinks; the x_i that attain the minima are
then smooth functions of g (``central``). With ``D_i = -dx_i / dg_i`` the Newton system for (w, y)
is that of the interior-point method, but there is nothing to iterate besides: no variable can block
a step, and any (w, y) is a start. This is for large mu, when many samples share in every kink; near
the end few do, and steps become short.

Source: Fiacco and McCormick, *Nonlinear Programming* (1968), for barriers; Lee and Mangasarian,
"SSVM: A smooth support vector machine", *Comput. Optim. Appl.* 20 (2001), with another smoothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.interior_point.factor_settings import chunks
from qpsvm.solvers.interior_point.newton import NewtonSystem
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.starting_points import central
from qpsvm.solvers.starting_points.settings import STARTS


@dataclass(frozen=True, eq=False)
class SmoothedOptimum:
    """Weights of the smoothed optimum, with their estimated distance from the optimal ones.

    Attributes
    ----------
    w, y, g : arrays of shape (r,), (p,) and (n,)
    mu : float
    radius : float
        The distance in the norm of the Newton system, about.
    system : NewtonSystem
    reached : bool
        Whether it is as good as it was asked to be.
    """

    w: Vector
    y: Vector
    g: Vector
    mu: float
    radius: float
    system: NewtonSystem
    reached: bool

    def distances(self) -> Vector:
        """Distance of every gradient from zero, in units of ``radius``."""
        return np.abs(self.g) / (self.radius * self.system.sizes())


def suits(program: FactorProgram) -> bool:
    """Return whether every variable has two bounds without curvature, or one bound with it."""
    finite = np.isfinite(program.upper)
    one_sided = np.isinf(program.upper) & (program.d > 0.0)
    lower = np.isfinite(program.lower)
    return bool((lower & ((finite & (program.d == 0.0)) | one_sided)).all())


class Smoothed:
    """The smoothed dual function ``phi`` with barrier weight mu, at one (w, y)."""

    def __init__(
        self, program: FactorProgram, w: Vector, y: Vector, mu: float, g: Vector | None = None
    ) -> None:
        n = program.size
        self.program, self.w, self.y, self.mu = program, w, y, mu
        self.g = program.gradient(w, y, np.empty(n)) if g is None else g
        self.chunks = list(chunks(n))
        self.x, self.D, self.dg = np.empty(n), np.empty(n), np.empty(n)

    def _positions(self, i: slice, g: Vector) -> tuple[Vector, Vector]:
        """``x`` and ``-dx/dg`` of some variables at gradients g."""
        p, mu = self.program, self.mu
        d, lower = p.d[i], p.lower[i]
        if not d.any():
            s, t = central.between(g, p.upper[i] - lower, mu)
            return lower + s, 1.0 / (mu / (s * s) + mu / (t * t))
        is_curved = d > 0.0
        s = np.empty(len(g))
        D = np.empty(len(g))
        s[is_curved] = central.above((g + d * lower)[is_curved], d[is_curved], mu)
        u = np.where(is_curved, 1.0, p.upper[i] - lower)
        near, far = central.between(g, u, mu)
        s = np.where(is_curved, s, near)
        D = np.where(is_curved, 1.0 / (d + mu / (s * s)), 1.0 / (mu / (s * s) + mu / (far * far)))
        return lower + s, D

    def evaluate(self) -> tuple[float, float, Vector, Vector]:
        """Evaluate minus phi, the gap to the objective of x, and both residuals."""
        p = self.program
        value = float(self.y @ p.b) - float(self.w @ (p.offset - 0.5 * self.w)) - p.constant
        objective = p.constant
        for i in self.chunks:
            x, D = self._positions(i, self.g[i])
            self.x[i], self.D[i] = x, D
            value -= p.box_minimum(i, self.g[i], x)
            objective += float(x @ (0.5 * p.d[i] * x + p.q[i]))
        weights = p.F.transposed(self.x) + p.offset
        objective += 0.5 * float(weights @ weights)
        return value, objective + value, weights - self.w, p.A @ self.x - p.b

    def slope(self, length: float, dw: Vector, dy: Vector) -> float:
        """Slope of the smoothed function along a step."""
        p = self.program
        total = float((p.offset - self.w - length * dw) @ dw) - float(p.b @ dy)
        for i in self.chunks:
            dg = self.dg[i]
            total += float(self._positions(i, self.g[i] + length * dg)[0] @ dg)
        return total

    def ascend(self, dw: Vector, dy: Vector, first: float) -> float:
        """Step to about the maximum along a direction; return the length."""
        p = self.program
        p.F.times(dw, self.dg)
        for value, row in zip(dy, p.A, strict=True):
            self.dg += value * row
        length = self._length(dw, dy, first)
        self.w = self.w + length * dw
        self.y = self.y + length * dy
        self.g += length * self.dg
        return length

    def guess(self, first: float, system: NewtonSystem, *, reached: bool) -> SmoothedOptimum:
        """The current weights as a SmoothedOptimum."""
        radius = float(np.sqrt(2.0 * self.program.size * self.mu + first))
        return SmoothedOptimum(self.w, self.y, self.g, self.mu, radius, system, reached)

    def _length(self, dw: Vector, dy: Vector, first: float) -> float:
        """Step length: 1, or a point of small slope by regula falsi."""
        at_end = self.slope(1.0, dw, dy)
        if at_end >= -STARTS.overshoot * first:
            return 1.0
        low, high, at_low, length = 0.0, 1.0, first, 1.0
        for _ in range(STARTS.trials):
            share = at_low / (at_low - at_end)
            length = low + (high - low) * min(max(share, 0.1), 0.9)
            slope = self.slope(length, dw, dy)
            if abs(slope) < 0.3 * first:
                break
            if slope > 0.0:
                low, at_low = length, slope
            else:
                high, at_end = length, slope
        return length


def smoothed_newton(
    program: FactorProgram,
    w: Vector,
    y: Vector,
    mu: float,
    accuracy: float,
    settings: InteriorPointSettings,
    report: Callable[[Smoothed, int, float, float], bool],
) -> SmoothedOptimum | None:
    """Run smoothed Newton steps until mu and gap are small; None if they fail.

    Parameters
    ----------
    program : FactorProgram
    w, y : arrays of shape (r,) and (p,)
        Anything; the first mu should be such that the smoothing reaches them.
    mu : float
    accuracy : float
        ``2 n mu`` may be this share of the objective, and the gap four times as much.
    settings : InteriorPointSettings
    report : callable
        Told the point, the number of steps, the objective and the gap, relative; True ends the
        search.
    """
    function = Smoothed(program, w, y, mu)
    for step in range(settings.smoothing_steps):
        value, gap, of_weights, of_rows = function.evaluate()
        try:
            system = NewtonSystem.of(program.F, program.A, function.D, settings)
        except np.linalg.LinAlgError:
            return None
        smoothing = 2.0 * program.size * function.mu
        if report(function, step, value, gap / max(abs(value), 1e-300)):
            return None
        dw, dy = system.solve(of_weights, of_rows)
        first = float(of_weights @ dw) + float(of_rows @ dy)
        length = function.ascend(dw, dy, first)
        if smoothing <= 1.01 * accuracy * abs(value) and first <= smoothing:
            return function.guess(first, system, reached=True)
        if smoothing > accuracy * abs(value) and (first < 0.5 * smoothing or length == 1.0):
            function.mu *= settings.smoothing_factor
    return function.guess(first, system, reached=False)
