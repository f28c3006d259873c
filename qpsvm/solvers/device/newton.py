"""Newton steps on a working set whose matrix is on a device.

The method is ``solvers.box.proximal_newton``, on vectors of the working set in the host's memory.
What costs anything, the factors of ``K_FF + sigma I`` and products with K, is done by the device.
"""

from __future__ import annotations

import numpy as np

from qpsvm.device.base import Device, DeviceArray
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.solvers.box.curvature import Curvature, Solve
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.proximal_newton import solve
from qpsvm.solvers.point import Point
from qpsvm.solvers.work_budget import WorkBudget


class OnDevice(Curvature):
    """The Hessian of the variables of a working set, whose matrix is in the memory of a GPU.

    Parameters
    ----------
    device : Device
    matrix : array of the device, shape (m, m)
    """

    def __init__(self, device: Device, matrix: DeviceArray) -> None:
        self.device, self.matrix = device, matrix

    def product(self, d: Vector) -> Vector:
        return np.asarray(self.device.fetch(self.matrix @ self.device.send(d)))

    def block(self, index: Index) -> Dense:
        del index
        raise UnsupportedProgramError("A matrix on a device stays there.")

    def factor(self, free: Index, sigma: float) -> Solve:
        at = self.device.send(free)
        A = self.matrix[at][:, at]
        places = self.device.xp.arange(len(free))
        A[places, places] += sigma
        solve_A = self.device.factored(A)
        if solve_A is None:
            raise np.linalg.LinAlgError("no Cholesky factor")
        return lambda r: np.asarray(self.device.fetch(solve_A(self.device.send(r))))


def minimised(
    K: OnDevice,
    v: Vector,
    g: Vector,
    bounds: tuple[Vector, Vector],
    members: Dense,
    *,
    tolerance: float,
    budget: WorkBudget,
) -> Vector:
    """Minimise over the variables of a working set; return the best values found.

    Parameters
    ----------
    K : OnDevice
        Their Hessian.
    v, g : arrays of shape (m,)
        A point, and the gradient there.
    bounds : pair of arrays of shape (m,)
    members : array of shape (p, m)
        1 where a variable belongs to a group whose sum is kept.
    tolerance : float
        Residual to end with.
    budget : WorkBudget
    """
    Kv, diagonal = K.product(v), K.device.fetch(K.matrix.diagonal())
    unit = float(np.median(diagonal)) or 1.0
    program = BoxProgram(K, g - Kv, members, members @ v, *bounds, diagonal, unit)
    start = Point(v, Kv, _multipliers(members, v, g, bounds))
    return solve(program, start, tolerance=tolerance, budget=budget).x


def _multipliers(members: Dense, v: Vector, g: Vector, bounds: tuple[Vector, Vector]) -> Vector:
    """The middle of the interval of multipliers that the gradient allows in each group."""
    y = np.zeros(len(members))
    for number, row in enumerate(members):
        may_rise, may_fall = (row > 0.0) & (v < bounds[1]), (row > 0.0) & (v > bounds[0])
        ends = np.min(g[may_rise], initial=np.inf), np.max(g[may_fall], initial=-np.inf)
        y[number] = -0.5 * sum(ends) if np.isfinite(ends).all() else 0.0
    return y
