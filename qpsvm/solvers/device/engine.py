"""Kernel duals on a device: distinct samples, the descent, and the way back to the program."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.device.base import Device
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Dense, Index, Vector, default_memory_limit
from qpsvm.numerics.interrupts import keep_best
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.sample_quadratic import SampleQuadratic
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.active_set.distinct import Distinct
from qpsvm.solvers.active_set.engine import Found
from qpsvm.solvers.active_set.pair_program import PairProgram
from qpsvm.solvers.box.boxed import Boxed
from qpsvm.solvers.box.curvature import Curvature
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.row_multipliers import row_multipliers, satisfying
from qpsvm.solvers.device.descent import DeviceDescent
from qpsvm.solvers.device.dual import DeviceDual
from qpsvm.solvers.device.kernel_matrix import KernelMatrix
from qpsvm.solvers.device.settings import DeviceSettings
from qpsvm.solvers.work_budget import Point, WorkBudget


def minimise_on(
    device: Device,
    program: QuadraticProgram,
    start: Vector | None,
    eps: float,
    *,
    settings: DeviceSettings,
    budget: WorkBudget,
) -> Found:
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
    KeyboardInterrupt
        Ctrl-C; it carries a function that builds the best point so far.
    """
    boxed, like = Boxed.of(program, default_memory_limit()), QPSolution(Status.UNKNOWN)
    x = None if start is None else boxed.start(like.replace(x=start))
    search = _Search.of(device, boxed.box, program.P, x, settings, budget)

    def found(point: Point, *, is_optimal: bool) -> Found:
        if search.distinct is not None:
            point = search.distinct.undone(point)
        is_optimal = is_optimal and boxed.box.is_optimal(point, eps)
        n_equalities = boxed.rows.n_equalities
        y = np.concatenate([point.y[:n_equalities], np.maximum(point.y[n_equalities:], 0.0)])
        point = replace(point, y=y)
        return Found(boxed.solution(point, like), boxed.box.relative_gap(point), is_optimal)

    try:
        return found(search.run(eps), is_optimal=not budget.is_over)
    except KeyboardInterrupt as error:
        keep_best(error, lambda: found(search.point(), is_optimal=False))
        raise


@dataclass(frozen=True, eq=False)
class _Search:
    """State of one search on a device.

    Attributes
    ----------
    box : BoxProgram
        What is solved, of distinct samples.
    distinct : Distinct or None
        The way back from it.
    dual : DeviceDual
    others : array of shape (k,)
        The slack variables, which stay where they are.
    settings : DeviceSettings
    budget : WorkBudget
    """

    box: BoxProgram
    distinct: Distinct | None
    dual: DeviceDual
    others: Vector
    settings: DeviceSettings
    budget: WorkBudget

    @classmethod
    def of(
        cls,
        device: Device,
        given: BoxProgram,
        P: Quadratic,
        x: Vector | None,
        settings: DeviceSettings,
        budget: WorkBudget,
    ) -> _Search:
        """Send a program to a device, with a feasible starting point."""
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
        kernel = KernelMatrix(P, device, settings)
        if distinct is not None:
            box = replace(box, P=DeviceCurvature(P, kernel, box.size - P.size))
            distinct = replace(distinct, box=box)
        if x is None:
            x = program.filled(box)
        elif distinct is not None:
            x = distinct.sums(x)
        x, n = satisfying(box, box.clip(x)), len(program.s)
        v = np.minimum(np.maximum(program.s * x[:n], program.lower), program.upper)
        diagonal = box.diagonal[:n] / program.s**2
        dual = DeviceDual(program, box.q[:n], kernel, v, diagonal)
        return cls(box, distinct, dual, x[n:], settings, budget)

    def run(self, eps: float) -> Point:
        """Minimise until a gradient that was evaluated anew says that the point is optimal."""
        share, descent = eps, DeviceDescent.of(self.dual, self.settings, self.budget)
        for _ in range(self.settings.gradient_checks):
            share *= self.settings.tightening
            descent.run(share)
            self.dual.refresh()
            point = self.point()
            if self.box.is_optimal(point, eps) or self.budget.is_over:
                break
        return point

    def point(self) -> Point:
        """The present point in the host's memory, with the multipliers of the rows."""
        dual, s = self.dual, self.dual.program.s
        v, g = (dual.device.fetch(array) for array in dual.state)
        x = self.box.clip(np.concatenate([v / s, self.others]))
        Px = np.concatenate([s * g - self.box.q[: len(s)], np.zeros(len(self.others))])
        none = np.zeros(len(self.box.b))
        return Point(x, Px, row_multipliers(self.box, x, Px, none))


class DeviceCurvature(Curvature):
    """The Hessian of a program whose kernel matrix is on a device, for products on the way back."""

    def __init__(self, P: SampleQuadratic, kernel: KernelMatrix, n_slack: int) -> None:
        self.P, self.kernel, self.n_slack = P, kernel, n_slack

    def product(self, d: Vector) -> Vector:
        own, R, device = d[: self.P.size], self.P.selection, self.kernel.device
        v = R.gather(own)
        product = device.fetch(self.kernel.compensated_product(device.send(v)))
        product += self.P.constant * math.fsum(v)
        spread = R.spread(product) + self.P.diag * own
        return np.concatenate([spread, np.zeros(self.n_slack)])

    def block(self, index: Index) -> Dense:
        del index
        raise UnsupportedProgramError("Blocks of a Hessian on a device stay there.")
