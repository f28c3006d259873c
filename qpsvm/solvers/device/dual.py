"""A kernel dual in the variables of pairs, with every vector in the memory of a device.

    minimise  1/2 v'(K + c 11' + diag(D)) v + q'v    subject to  lower <= v <= upper,

and the sum of v over each group kept (``active_set.pair_program``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.device.base import Device, DeviceArray
from qpsvm.numerics.arrays import Index, Vector
from qpsvm.solvers.active_set.pair_program import PairProgram
from qpsvm.solvers.box.settings import BOX
from qpsvm.solvers.device.kernel_matrix import KernelMatrix


class DeviceDual:
    """The variables v of a kernel dual, their gradient ``g = P v + q``, and its violations.

    Parameters
    ----------
    program : PairProgram
    q : array of shape (n,)
        The linear term of the program in x.
    kernel : KernelMatrix
    v : array of shape (n,)
        A feasible point.
    diagonal : array of shape (n,)
        That of the Hessian of v.

    Attributes
    ----------
    state : tuple of arrays
        v and g, replaced together: an interrupt finds both old or both new.
    """

    def __init__(
        self, program: PairProgram, q: Vector, kernel: KernelMatrix, v: Vector, diagonal: Vector
    ) -> None:
        self.program, self.kernel = program, kernel
        self.device: Device = kernel.device
        self.xp: Any = self.device.xp
        send, n = self.device.send, len(program.s)
        self.lower, self.upper = send(program.lower), send(program.upper)
        self.q, self.group = send(q / program.s), send(program.group)
        self.n_groups = int(program.rows.shape[1])
        shared = not np.array_equal(program.samples, np.arange(n))
        self.samples = send(program.samples) if shared else None
        self.added = send(program.added) if program.added.any() else None
        self.largest_q = float(np.max(np.abs(q), initial=0.0)) / abs(float(program.s[0]))
        self.norms, v = send(np.sqrt(diagonal)), send(v)
        self.state: tuple[DeviceArray, DeviceArray] = v, self._gradient(v)

    # --- what the method reads -------------------------------------------------------------------

    @property
    def scale(self) -> float:
        """Scale of violations: the largest entry of q, or of ``P v`` if q is zero."""
        if self.largest_q:
            return self.largest_q
        return float(self.xp.max(self.xp.abs(self.state[1] - self.q)))

    @property
    def rounding(self) -> float:
        """Estimated rounding error of an entry of the gradient, at most."""
        xp = self.xp
        size = float(xp.linalg.norm(self.norms * self.state[0]) * xp.max(self.norms))
        return BOX.gradient_rounding * size

    def is_free(self) -> DeviceArray:
        """Return whether each variable is strictly between its bounds."""
        v = self.state[0]
        return (v > self.lower) & (v < self.upper)

    def members(self, number: int) -> DeviceArray:
        """Return whether each variable belongs to a group."""
        return self.group == number

    def violations(self) -> tuple[DeviceArray, DeviceArray]:
        """Return each variable's violation as one that rises, and as one that falls.

        What a unit of v lowers the objective by, together with the best partner of its group where
        a sum is kept; minus infinity at the bound.
        """
        xp, (v, g) = self.xp, self.state
        rising = xp.where(v < self.upper, -g, -xp.inf)
        falling = xp.where(v > self.lower, g, -xp.inf)
        for number in range(self.n_groups):
            own = self.members(number) if self.n_groups > 1 else slice(None)
            up, down = rising[own], falling[own]
            rising[own], falling[own] = up + xp.max(down), down + xp.max(up)
        return rising, falling

    # --- what changes ----------------------------------------------------------------------------

    def move(self, block: Index, values: DeviceArray) -> None:
        """Give the variables of a block new values, and update the gradient of all.

        Parameters
        ----------
        block : array of int of shape (m,)
            In the host's memory.
        values : array of the device, shape (m,)
        """
        v, g = self.state
        at = self.device.send(block)
        step, v = values - v[at], v.copy()
        v[at] = values
        samples, weights = block, step
        if self.samples is not None:
            samples, places = np.unique(self.program.samples[block], return_inverse=True)
            weights = self.xp.bincount(self.device.send(places), step, len(samples))
        g = g + self._spread(self.kernel.product(samples, weights))
        if self.added is not None:
            g[at] += self.added[at] * step
        if self.program.constant:
            g += self.program.constant * self.xp.sum(step)
        self.state = v, g

    def refresh(self) -> None:
        """Evaluate the gradient anew, with compensated sums."""
        v = self.state[0]
        self.state = v, self._gradient(v)

    def _gradient(self, v: DeviceArray) -> DeviceArray:
        own = v
        if self.samples is not None:
            own = self.xp.bincount(self.samples, v, len(self.kernel.data))
        g = self._spread(self.kernel.compensated_product(own)) + self.q
        if self.added is not None:
            g += self.added * v
        return g + self.program.constant * self.xp.sum(v) if self.program.constant else g

    def _spread(self, product: DeviceArray) -> DeviceArray:
        """``K v`` of the samples for every variable."""
        return product if self.samples is None else product[self.samples]
