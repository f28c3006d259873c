"""Search directions of the interior-point method and the steps they allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Index


class SearchDirection:
    """A search direction in all variables and multipliers, with the ratio test's quotients.

    Attributes
    ----------
    dx, dz, dv : arrays of shape (n,)
    Dr : array of shape (n,)
        ``dx = Dr - D (F dw + A'dy)``.
    blocking : array of shape (n,)
        1 over the step at which a variable meets a bound of s, t, z or v; negative if it never
        does.
    dw, dy : arrays of shape (r,) and (p,)
    """

    def __init__(self, n: int) -> None:
        self.dx, self.dz, self.dv, self.Dr, self.blocking = (np.empty(n) for _ in range(5))
        self.dw = self.dy = np.zeros(0)

    def length(self, share: float) -> float:
        """Largest step, at most 1, that all but this share of the variables allow."""
        k = int(share * len(self.blocking))
        worst = np.partition(self.blocking, -1 - k)[-1 - k] if k else np.max(self.blocking)
        return 1.0 / float(worst) if worst > 1.0 else 1.0


@dataclass(frozen=True, eq=False)
class Outlook:
    """A candidate step and the residuals it would leave.

    Attributes
    ----------
    left : float
        What it would leave unmet.
    length : float
    jumping : array of int
    between : float
        The mu of the central path that these jump to.
    """

    left: float
    length: float
    jumping: Index
    between: float
