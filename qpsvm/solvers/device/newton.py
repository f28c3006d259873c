"""Newton steps on a working set: the optimum of its program by changes of the active set.

    minimise  1/2 d'K d + g'd    subject to  lower <= v + d <= upper,  the sum over each group kept

With the variables A at their bounds fixed, those between bounds, I, and the multipliers b of the
groups solve a linear system with the Cholesky factor of ``K_II + sigma``. Variables that leave
their bounds enter A, and those whose gradient ``g + K d + b`` points inwards leave it, until none
does either: then d is the optimum of the working set.

Source: Hintermueller, Ito and Kunisch, "The primal-dual active set strategy as a semismooth Newton
method", *SIAM Journal on Optimization* 13 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qpsvm.device.base import Device, DeviceArray


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """The program of some variables, all arrays in the memory of a device.

    Attributes
    ----------
    K : array of shape (m, m)
        With everything that the Hessian has.
    v, g, lower, upper : arrays of shape (m,)
    members : array of shape (m, p)
        1 where a variable belongs to a group whose sum is kept.
    sigma : float
        Proximal weight.
    """

    device: Device
    K: DeviceArray
    v: DeviceArray
    g: DeviceArray
    lower: DeviceArray
    upper: DeviceArray
    members: DeviceArray
    sigma: float

    def minimised(self, changes: int) -> DeviceArray | None:
        """Values of v at the optimum; None where the active set does not settle, or nothing falls.

        Parameters
        ----------
        changes : int
            Changes of the active set, at most.
        """
        xp: Any = self.device.xp
        low, high = self.lower - self.v, self.upper - self.v
        pull = self.g + self.members @ self._first_multipliers()
        at_low, at_high = (low >= 0.0) & (pull > 0.0), (high <= 0.0) & (pull < 0.0)
        for _ in range(changes):
            fixed = xp.where(at_low, low, xp.where(at_high, high, 0.0))
            found = self._solved(~(at_low | at_high), fixed)
            if found is None:
                return None
            d, Kd, b = found
            pull = self.g + Kd + self.members @ b
            inside = ~(at_low | at_high)
            now_low = (at_low & (pull > 0.0)) | (inside & (d < low))
            now_high = (at_high & (pull < 0.0)) | (inside & (d > high))
            if bool(((now_low == at_low) & (now_high == at_high)).all()):
                is_lower = float(d @ (self.g + 0.5 * Kd)) < 0.0  # False for NaN
                own = xp.where(at_low, self.lower, xp.where(at_high, self.upper, self.v + d))
                return own if is_lower else None
            at_low, at_high = now_low, now_high
        return None

    def _solved(
        self, inside: DeviceArray, fixed: DeviceArray
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray] | None:
        """Solve for the variables inside: d, ``K d`` and the multipliers of the groups."""
        xp: Any = self.device.xp
        I = xp.flatnonzero(inside)  # noqa: E741  the paper's name
        of_fixed = self.K @ fixed if bool(fixed.any()) else xp.zeros_like(fixed)
        E = self.members[I]
        if not len(I) or not bool(E.any(axis=0).all()):
            return None  # nothing can keep the sum of a group
        A = self.K[I][:, I]
        A[xp.arange(len(I)), xp.arange(len(I))] += self.sigma
        right = xp.concatenate([-(self.g + of_fixed)[I][:, None], E], axis=1)
        solution = self.device.solved(A, right)
        if solution is None:
            return None
        free, per_unit = solution[:, 0], solution[:, 1:]
        b = xp.zeros(E.shape[1])
        if E.shape[1]:
            missed = E.T @ free + self.members.T @ fixed
            b = xp.linalg.solve(E.T @ per_unit, missed)
        d = fixed.copy()
        d[I] = free - per_unit @ b
        if E.shape[1]:  # a singular system loses the sums, of which none may drift
            d[I] -= E @ ((self.members.T @ d) / E.sum(axis=0))
        inner = xp.zeros_like(fixed)
        inner[I] = d[I]
        return d, of_fixed + self.K @ inner, b

    def _first_multipliers(self) -> DeviceArray:
        """The middle of the interval of multipliers that the gradient allows in each group."""
        xp: Any = self.device.xp
        b = xp.zeros(self.members.shape[1])
        for number in range(len(b)):
            own = self.members[:, number] > 0.0
            may_rise = xp.where(own & (self.v < self.upper), self.g, xp.inf)
            may_fall = xp.where(own & (self.v > self.lower), self.g, -xp.inf)
            middle = -0.5 * (xp.min(may_rise) + xp.max(may_fall))
            b[number] = xp.where(xp.isfinite(middle), middle, 0.0)
        return b
