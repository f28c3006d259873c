"""Products ``P x`` with the sizes of the terms of which they are sums.

What rounding can have done to a residual is relative to these sizes. They cost a product of their
own, with ``|P|``, and most residuals are judged without them: they are computed when asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.quadratic import Quadratic


@dataclass(frozen=True, eq=False)
class HessianProduct:
    """The product ``P x`` at one point.

    Attributes
    ----------
    P : Quadratic
    x : array of shape (n,)
    value : array of shape (n,)
        ``P x``.
    """

    P: Quadratic
    x: Vector
    value: Vector

    @classmethod
    def of(cls, P: Quadratic, x: Vector) -> HessianProduct:
        """Compute the product."""
        return cls(P, x, P.matvec(x))

    @cached_property
    def sizes(self) -> Vector:
        """``|P| |x|`` or an upper bound on it, shape (n,)."""
        return self.P.term_sizes(self.x)

    @cached_property
    def size(self) -> float:
        """``|x|'|P| |x|`` or an upper bound on it: the absolute terms of ``x'Px``."""
        return float(np.abs(self.x) @ self.sizes)


@dataclass(frozen=True, eq=False)
class LowRankProduct(HessianProduct):
    """The product ``F (F'x) + d x``, where the sizes of the terms of ``F'x`` are known.

    Attributes
    ----------
    P : LowRankQuadratic
    factor_sizes : array of shape (r,)
        ``|F|'|x|``.
    """

    P: LowRankQuadratic
    factor_sizes: Vector

    @cached_property
    def sizes(self) -> Vector:
        """``|F| |F|'|x| + d |x|``, shape (n,)."""
        return self.P.sizes_from_factor(self.x, self.factor_sizes)

    @cached_property
    def size(self) -> float:
        """``| |F|'|x| |^2 + d'x^2``, which needs no product with F."""
        return float(self.factor_sizes @ self.factor_sizes + (self.P.diag * self.x) @ self.x)
