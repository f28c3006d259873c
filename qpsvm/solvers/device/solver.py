"""The active-set method on a GPU: blocks of pairs, then Newton steps on the free variables.

    minimise  1/2 v'(K + c 11' + diag(D)) v + q'v    subject to  lower <= v <= upper,

and the sum of v over each group kept (``box.blocks``). Every vector is in the memory of the device.

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

import math
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.device.base import Device, DeviceArray
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Index, Vector, default_memory_limit
from qpsvm.numerics.interrupts import keep_best
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.sample_quadratic import SampleQuadratic
from qpsvm.solvers.box.blocks import PairProgram, largest_of
from qpsvm.solvers.box.curvature import Curvature, HessianCurvature, Solve
from qpsvm.solvers.box.program import Boxed, BoxProgram, row_multipliers, satisfying
from qpsvm.solvers.box.proximal_newton import solve
from qpsvm.solvers.box.settings import GRADIENT_ROUNDING
from qpsvm.solvers.box.solver import ActiveSetResult, Distinct
from qpsvm.solvers.budget import Point, WorkBudget
from qpsvm.solvers.device.kernel_matrix import DeviceKernelMatrix
from qpsvm.solvers.device.settings import DeviceSettings


def minimise_on(
    device: Device,
    program: QuadraticProgram,
    start: Vector | None,
    eps: float,
    *,
    settings: DeviceSettings,
    budget: WorkBudget,
) -> ActiveSetResult:
    """Minimise a kernel dual on a device to a relative duality gap of ``eps``.

    Parameters
    ----------
    device : Device
    program : QuadraticProgram
        That ``Boxed.suits``.
    start : array of shape (n,), optional
        A point near the optimum.
    eps : float
    settings : DeviceSettings
    budget : WorkBudget

    Raises
    ------
    UnsupportedProgramError
        The program is no dual of a kernel machine whose rows fix at most two sums.
    MemoryLimitError
        It does not fit into the device's memory.
    """
    boxed = Boxed.of(program, default_memory_limit())
    x = None if start is None else boxed.start(start)
    search = _Search(device, boxed.box, program.P, x, settings, budget)

    def found(point: Point, *, is_optimal: bool) -> ActiveSetResult:
        if search.distinct is not None:
            point = search.distinct.undone(point)
        return ActiveSetResult.at(boxed, point, eps, is_optimal=is_optimal)

    try:
        return found(search.run(eps), is_optimal=not budget.is_over)
    except KeyboardInterrupt as error:
        keep_best(error, lambda: found(search.point(), is_optimal=False))
        raise


class _Search:
    """One search on a device: the variables v of pairs, and their gradient ``g = P v + q``.

    Parameters
    ----------
    device : Device
    given : BoxProgram
    P : Quadratic
        Its Hessian.
    x : array, optional
        A point to start at.
    settings : DeviceSettings
    budget : WorkBudget
        Watched before every round.

    Attributes
    ----------
    box : BoxProgram
        What is solved, of distinct samples.
    distinct : Distinct or None
        The way back from it.
    program, pairs : PairProgram
        In the host's memory, and with its vectors on the device.
    others : array of shape (k,)
        The slack variables, which stay where they are.
    state : tuple of arrays
        v and g, replaced together: an interrupt finds both old or both new.
    """

    def __init__(
        self,
        device: Device,
        given: BoxProgram,
        P: Quadratic,
        x: Vector | None,
        settings: DeviceSettings,
        budget: WorkBudget,
    ) -> None:
        if not isinstance(P, SampleQuadratic):
            raise UnsupportedProgramError(
                f"device='cuda' takes the duals of kernel machines; the Hessian of this program is "
                f"a {type(P).__name__}. Pass device='cpu'."
            )
        distinct = Distinct.of(given, P) if isinstance(P, KernelQuadratic) else None
        box, P = (given, P) if distinct is None else (distinct.box, distinct.P)
        program = PairProgram.of(box, P)
        if program is None:
            raise UnsupportedProgramError(
                "device='cuda' takes duals whose variables have one scale and whose rows fix the "
                "sum of all variables, or of two groups; this program has other rows or weights. "
                "Pass device='cpu'."
            )
        kernel = DeviceKernelMatrix(P, device, settings)
        if distinct is not None:
            box = replace(box, P=DeviceCurvature(P, kernel, box.size - P.size))
            distinct = replace(distinct, box=box)
        if x is None:
            x = program.filled(box)
        elif distinct is not None:
            x = distinct.sums(x)
        x, s, n, send = satisfying(box, box.clip(x)), program.s, len(program.s), device.send
        self.device, self.kernel, self.settings, self.budget = device, kernel, settings, budget
        self.box, self.distinct, self.program, self.others = box, distinct, program, x[n:]
        on_device = {name: send(getattr(program, name)) for name in ("lower", "upper", "group")}
        self.pairs = replace(program, **on_device)
        is_shared = not np.array_equal(program.samples, np.arange(n))
        self.samples = send(program.samples) if is_shared else None
        self.added = send(program.added) if program.added.any() else None
        self.q, self.norms = send(box.q[:n] / s), send(np.sqrt(box.diagonal[:n]) / np.abs(s))
        self.largest_q = float(np.max(np.abs(box.q[:n]), initial=0.0)) / abs(float(s[0]))
        v = send(np.minimum(np.maximum(s * x[:n], program.lower), program.upper))
        self.state: tuple[DeviceArray, DeviceArray] = v, self._gradient(v)

    def run(self, eps: float) -> Point:
        """Minimise until a gradient that was evaluated anew says that the point is optimal."""
        share = eps
        for _ in range(4):
            share *= 0.1
            self._descend(share)
            v = self.state[0]
            self.state = v, self._gradient(v)
            point = self.point()
            if self.box.is_optimal(point, eps) or self.budget.is_over:
                break
        return point

    def point(self) -> Point:
        """The present point in the host's memory, with the multipliers of the rows."""
        s = self.program.s
        v, g = (self.device.fetch(array) for array in self.state)
        x = self.box.clip(np.concatenate([v / s, self.others]))
        Px = np.concatenate([s * g - self.box.q[: len(s)], np.zeros(len(self.others))])
        return Point(x, Px, row_multipliers(self.box, x, Px, np.zeros(len(self.box.b))))

    def _descend(self, share: float) -> None:
        """Minimise until the violation is at most a share of the entries of q, or rounding."""
        xp, own, pairs = self.device.xp, self.settings, self.pairs
        block, is_slow = self.device.send(np.zeros(0, dtype=np.intp)), False
        for _ in range(2000):
            v, g = self.state
            violations = pairs.violations(xp, v, g)
            worst = max(*(float(xp.max(each)) for each in violations), 0.0)
            scale = self.largest_q or float(xp.max(xp.abs(g - self.q)))
            size = float(xp.linalg.norm(self.norms * v) * xp.max(self.norms))
            target = max(share * scale, GRADIENT_ROUNDING * size)
            if not worst > target or not self.budget.may_go_on(worst):  # NaN ends it, too
                return
            is_free = pairs.is_free(v)
            if is_slow or worst <= own.handover * scale:
                rank, is_slow = xp.where(is_free, xp.inf, xp.maximum(*violations)), False
                if self._newton(rank, int(is_free.sum()), max(0.5 * target, 0.01 * worst)):
                    continue
            size = min(len(v), own.block_size)
            block = pairs.next_block(xp, block, size, is_free, violations)
            is_slow = not self._by_pairs(block, max(target, own.inner_share * worst))

    def _by_pairs(self, block: DeviceArray, tolerance: float) -> bool:
        """Minimise over the block by steps of pairs; return whether it was done."""
        fetch, program = self.device.fetch, self.program
        index = np.asarray(fetch(block))
        v, g = (fetch(array[block]) for array in self.state)
        samples, places = np.unique(program.samples[index], return_inverse=True)
        K = fetch(self.kernel.square(self.device.send(samples)), reused=True)
        most = self.settings.steps_per_variable
        is_done = program.by_pairs(K, places, index, v, g, tolerance, most)
        self._move(index, self.device.send(v))
        return is_done

    def _newton(self, rank: DeviceArray, n_free: int, tolerance: float) -> bool:
        """Minimise over the variables that come first in rank; return whether any changed."""
        device, xp, program = self.device, self.device.xp, self.program
        wanted = max(self.settings.block_size, 2 * n_free)
        chosen = largest_of(xp, rank, min(len(rank), self.kernel.largest_set, wanted))
        chosen = xp.sort(chosen[rank[chosen] > 0.0])
        index = np.asarray(device.fetch(chosen))
        K = self.kernel.square(device.send(program.samples[index]))
        K += program.constant
        if self.added is not None:
            m = xp.arange(len(index))
            K[m, m] += self.added[chosen]
        P, diagonal = OnDevice(device, K), device.fetch(K.diagonal())
        v, g = (device.fetch(array[chosen]) for array in self.state)
        lower, upper = program.lower[index], program.upper[index]
        members = [program.group[index] == number for number in range(program.n_groups)]
        A = np.array(members, dtype=np.float64).reshape(len(members), len(index))
        y = np.zeros(len(members))
        for number, row in enumerate(members):  # the middle of what the gradient allows
            least = np.min(g[row & (v < upper)], initial=np.inf)
            most = np.max(g[row & (v > lower)], initial=-np.inf)
            y[number] = -0.5 * (least + most) if np.isfinite([least, most]).all() else 0.0
        unit, Kv = float(np.median(diagonal)) or 1.0, P.product(v)
        part = BoxProgram(P, g - Kv, A, A @ v, lower, upper, diagonal, unit)
        found = solve(part, Point(v, Kv, y), tolerance=tolerance, budget=self.budget).x
        if np.array_equal(found, v):
            return False
        self._move(index, device.send(found))
        return True

    # --- the gradient -----------------------------------------------------------------------------

    def _move(self, block: Index, values: DeviceArray) -> None:
        """Give the variables of a block new values, and update the gradient of all."""
        v, g = self.state
        at = self.device.send(block)
        step, v = values - v[at], v.copy()
        v[at] = values
        samples, weights = block, step
        if self.samples is not None:
            samples, places = np.unique(self.program.samples[block], return_inverse=True)
            weights = self.device.xp.bincount(self.device.send(places), step, len(samples))
        g = g + self._spread(self.kernel.product(samples, weights))
        if self.added is not None:
            g[at] += self.added[at] * step
        if self.program.constant:
            g += self.program.constant * self.device.xp.sum(step)
        self.state = v, g

    def _gradient(self, v: DeviceArray) -> DeviceArray:
        """Evaluate the gradient with compensated sums."""
        xp, own = self.device.xp, v
        if self.samples is not None:
            own = xp.bincount(self.samples, v, len(self.kernel.data))
        g = self._spread(self.kernel.compensated_product(own)) + self.q
        if self.added is not None:
            g += self.added * v
        return g + self.program.constant * xp.sum(v) if self.program.constant else g

    def _spread(self, product: DeviceArray) -> DeviceArray:
        """``K v`` of the samples for every variable."""
        return product if self.samples is None else product[self.samples]


class OnDevice(Curvature):
    """The Hessian of the variables of a working set, whose matrix is in the memory of a GPU."""

    def __init__(self, device: Device, matrix: DeviceArray) -> None:
        self.device, self.matrix = device, matrix

    def product(self, d: Vector) -> Vector:
        return np.asarray(self.device.fetch(self.matrix @ self.device.send(d)))

    def factor(self, free: Index, sigma: float) -> Solve:
        at = self.device.send(free)
        A = self.matrix[at][:, at]
        places = self.device.xp.arange(len(free))
        A[places, places] += sigma
        solve_A = self.device.factored(A)
        if solve_A is None:
            raise np.linalg.LinAlgError("no Cholesky factor")
        return lambda r: np.asarray(self.device.fetch(solve_A(self.device.send(r))))


class DeviceCurvature(HessianCurvature):
    """The Hessian of a program whose kernel matrix is on a device, for products on the way back."""

    def __init__(self, P: SampleQuadratic, kernel: DeviceKernelMatrix, n_slack: int) -> None:
        super().__init__(P, n_slack)
        self.kernel = kernel

    def product(self, d: Vector) -> Vector:
        P, device = self.P, self.kernel.device
        own: Any = d[: P.size]
        v = P.selection.gather(own)
        product = device.fetch(self.kernel.compensated_product(device.send(v)))
        product += P.constant * math.fsum(v)
        return self._with_slack(np.asarray(P.selection.spread(product) + P.diag * own))
