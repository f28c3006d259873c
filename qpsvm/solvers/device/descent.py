"""Kernel duals on a device: blocks of pairs, then Newton steps on the free variables.

A round takes a block of variables: half of them from the last block, the free ones first; the other
half are those whose conditions are violated most, as many that should rise as fall. Only the
block's matrix and vectors come to the host, whose compiled core minimises over them, two variables
at a time. What changed enters the gradient of all on the device.

Near the optimum, or where pairs take too many steps, a round takes all free variables and those
that violate most, and solves their program by Newton steps with Cholesky factors of the device.

The method of these steps is ``solvers.box.proximal_newton``, on vectors of the working set in the
host's memory. What costs anything, the factors of ``K_FF + sigma I`` and products with K, is done
by the device.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.device.base import Device, DeviceArray
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.native import Status, descend_pairs
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.solvers.box.curvature import Curvature, Solve
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.proximal_newton import solve
from qpsvm.solvers.device.dual import DeviceDual
from qpsvm.solvers.device.settings import DeviceSettings
from qpsvm.solvers.work_budget import Point, WorkBudget


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
    """Minimise a kernel dual over the variables of a working set, by Newton steps on a device.

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


@dataclass(eq=False)
class DeviceDescent:
    """State of the descent of one dual.

    Attributes
    ----------
    dual : DeviceDual
    settings : DeviceSettings
    budget : WorkBudget
        Watched before every round.
    block : array of int of shape (m,)
        The last block, in the host's memory.
    is_slow : bool
        Whether the last block took too many steps of pairs: the next round takes Newton steps.
    """

    dual: DeviceDual
    settings: DeviceSettings
    budget: WorkBudget
    block: Index
    is_slow: bool = False

    @classmethod
    def of(cls, dual: DeviceDual, settings: DeviceSettings, budget: WorkBudget) -> DeviceDescent:
        """Set up the descent of a dual from its present point."""
        return cls(dual, settings, budget, np.zeros(0, dtype=np.intp))

    def run(self, share: float) -> None:
        """Minimise until the violation is at most a share of the entries of q, or rounding."""
        dual, own = self.dual, self.settings
        for _ in range(own.max_rounds):
            rising, falling = dual.violations()
            worst = max(float(dual.xp.max(rising)), float(dual.xp.max(falling)), 0.0)
            target = max(share * dual.scale, dual.rounding)
            if not worst > target or not self.budget.may_go_on(worst):  # NaN ends it, too
                return
            if self.is_slow or worst <= own.handover * dual.scale:
                working_set, self.is_slow = self._working_set(rising, falling), False
                if self._newton(working_set, max(0.5 * target, 0.01 * worst)):
                    continue
            self.block = self._next(rising, falling)
            self.is_slow = not self._pairs(max(target, own.inner_share * worst))

    # --- blocks of pairs -------------------------------------------------------------------------

    def _next(self, rising: DeviceArray, falling: DeviceArray) -> Index:
        """Choose the next block: free variables of the last one, and the largest violations."""
        dual, xp = self.dual, self.dual.xp
        n = len(rising)
        size = min(n, self.settings.block_size)
        if size == n:
            return np.arange(n)
        chosen = xp.zeros(n, dtype=bool)
        if len(self.block):
            last = dual.device.send(self.block)
            rank = xp.where(dual.is_free()[last], xp.inf, xp.maximum(rising[last], falling[last]))
            chosen[last[xp.argsort(-rank)[: size // 2]]] = True
        groups = range(max(1, dual.n_groups))
        room = -(-(size - int(chosen.sum())) // (2 * len(groups)))
        for number in groups:
            own = dual.members(number) if len(groups) > 1 else True
            for direction in (rising, falling):
                violation = xp.where(own & ~chosen, direction, -xp.inf)
                worst = _largest(xp, violation, room)
                chosen[worst[violation[worst] > 0.0]] = True
        return np.asarray(dual.device.fetch(xp.flatnonzero(chosen)))

    def _pairs(self, tolerance: float) -> bool:
        """Minimise over the block by steps of pairs; return whether it was done."""
        dual, program, block = self.dual, self.dual.program, self.block
        at = dual.device.send(block)
        v, g = (dual.device.fetch(array[at]) for array in dual.state)
        samples, places = np.unique(program.samples[block], return_inverse=True)
        K = dual.device.fetch(dual.kernel.square(dual.device.send(samples)), reused=True)
        of_places = {}
        if not np.array_equal(places, np.arange(len(samples))):  # two variables share a row
            places = places.astype(np.int64)
            of_places = {"offsets": places * len(samples), "columns": places}
            K = K.ravel()
        steps = descend_pairs(
            K,
            v,
            g,
            program.lower[block],
            program.upper[block],
            kept=program.kept,
            tol=tolerance,
            max_steps=self.settings.steps_per_variable * len(block),
            groups=program.group[block],
            added=program.added[block],
            constant=program.constant,
            **of_places,
        )
        dual.move(block, dual.device.send(v))
        return steps.status is Status.DONE

    # --- Newton steps ----------------------------------------------------------------------------

    def _working_set(self, rising: DeviceArray, falling: DeviceArray) -> Index:
        """The free variables, and as many of those whose conditions are violated most."""
        dual, xp, own = self.dual, self.dual.xp, self.settings
        is_free = dual.is_free()
        rank = xp.where(is_free, xp.inf, xp.maximum(rising, falling))
        wanted = max(own.block_size, int(own.set_size * int(is_free.sum())))
        chosen = _largest(xp, rank, min(len(rank), dual.kernel.largest_set, wanted))
        chosen = chosen[rank[chosen] > 0.0]
        return np.asarray(dual.device.fetch(xp.sort(chosen)))

    def _newton(self, index: Index, tolerance: float) -> bool:
        """Minimise over some variables by Newton steps; return whether that changed anything."""
        dual, xp, program = self.dual, self.dual.xp, self.dual.program
        at = dual.device.send(index)
        K = dual.kernel.square(dual.device.send(program.samples[index]))
        K += program.constant
        if dual.added is not None:
            m = xp.arange(len(index))
            K[m, m] += dual.added[at]
        v, g = (dual.device.fetch(array[at]) for array in dual.state)
        groups = range(dual.n_groups)
        values = minimised(
            OnDevice(dual.device, K),
            v,
            g,
            (program.lower[index], program.upper[index]),
            np.array(
                [program.group[index] == number for number in groups], dtype=np.float64
            ).reshape(len(groups), len(index)),
            tolerance=tolerance,
            budget=self.budget,
        )
        if np.array_equal(values, v):
            return False
        dual.move(index, dual.device.send(values))
        return True


def _largest(xp: object, values: DeviceArray, count: int) -> DeviceArray:
    """Places of the largest entries, in any order."""
    module: DeviceArray = xp
    if count >= len(values):
        return module.arange(len(values))
    return module.argpartition(-values, count)[:count]
