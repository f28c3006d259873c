"""Data shared by all interior-point iterations: the quadratic program, its scales, the settings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Mask, Vector
from qpsvm.solvers.interior_point.factor_settings import chunks
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.variables import Variables


@dataclass(frozen=True, eq=False)
class Workspace:
    """The program, its scales and the settings, which all iterations share.

    Attributes
    ----------
    program : FactorProgram
    settings : InteriorPointSettings
    hessian_scale : float
        Mean of the diagonal of ``F F' + diag(d)``.
    gradient_scale : float
        Largest entry of q; gradients are measured in this unit, as in ``qp/kkt.py``.
    has_bounds : pair of bool arrays of shape (n,), or None
        Which variables have a lower and an upper bound; None: all have both.
    n_bounds : int
        Number of finite bounds, at least 1.
    columns : array of shape (r,)
        Length of every column of F, 1 for a column of zeros.
    least_curvature : float
        The least eigenvalue of ``F F'`` that counts: a proximal term is a small share of it.
    chunks : list of slice
    zeros : array of shape (n,)
        The targets of the predictor.
    """

    program: FactorProgram
    settings: InteriorPointSettings
    hessian_scale: float
    gradient_scale: float
    has_bounds: tuple[Mask, Mask] | None
    n_bounds: int
    columns: Vector
    least_curvature: float
    chunks: list[slice]
    zeros: Vector

    @classmethod
    def of(cls, program: FactorProgram, settings: InteriorPointSettings) -> Workspace:
        """Build the workspace of a program."""
        p, n = program, program.size
        has_lower, has_upper = np.isfinite(p.lower), np.isfinite(p.upper)
        n_bounds = int(has_lower.sum() + has_upper.sum())
        columns = p.F.column_sizes
        columns = np.where(columns > 0.0, columns, 1.0)
        largest, unit = float(np.max(np.abs(p.q), initial=0.0)), p.unit
        return cls(
            program=p,
            settings=settings,
            hessian_scale=unit,
            gradient_scale=max(largest, min(unit, 1.0)) or 1.0,
            has_bounds=None if n_bounds == 2 * n else (has_lower, has_upper),
            n_bounds=max(n_bounds, 1),
            columns=columns,
            least_curvature=min(unit, float(np.min(columns**2)) / n) or 1.0,
            chunks=list(chunks(n)),
            zeros=np.zeros(n),
        )

    def mean_complementarity(self, variables: Variables) -> float:
        """``mu = (s'z + t'v) / number of bounds``."""
        return variables.complementarity / self.n_bounds
