"""Effect of a kernel in single precision on the duality gap of a solution.

LIBSVM stores the rows of its kernel matrix as float32, so it solves the program of a rounded kernel
``K'``. The same alpha, ``beta = R'alpha / kappa``, b and t also have two objectives there::

    P' = kappa/2 beta'K'beta + price_b b + price_t t + sum_k loss_k(p - R(K'beta + b) - e t)
    D' = p'a - 1/2 (kappa beta_a'K'beta_a + d'a^2),     beta_a = R'a / kappa for a feasible a

(``machines.conditions`` has the program). The gap that remains there is due to early stopping;
the rest of the gap is due to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.audits.claims import best_width
from qpsvm.audits.training_kernel import LostDigits
from qpsvm.display import short_repr
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.losses import losses
from qpsvm.machines.model import SupportVectorModel
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import IN_CACHE, Dense, Index, Vector, row_blocks
from qpsvm.qp.kernel_quadratic import KernelQuadratic


@short_repr
@dataclass(frozen=True)
class KernelRounding:
    """The duality gap of one solution with the exact kernel and with the rounded one.

    Attributes
    ----------
    gap : float
        ``P - D`` with the kernel in double precision, as certified.
    rounded_gap : float
        :math:`P' - D'` with every kernel value rounded to single precision.
    stopping_gap : float
        The largest gap that the library's stopping tolerance leaves with such a kernel; infinite
        where that is not known.
    digits : LostDigits or None
        Errors of the library's kernel values. None where the gap is explained without them.
    """

    gap: float
    rounded_gap: float
    stopping_gap: float = math.inf
    digits: LostDigits | None = None

    @property
    def share(self) -> float:
        """Share of the gap that rounding explains, ``(gap - rounded_gap) / gap`` in [0, 1]."""
        if not self.gap > 0.0 or not math.isfinite(self.rounded_gap):
            return 0.0
        return min(1.0, max(0.0, (self.gap - self.rounded_gap) / self.gap))


class RoundedKernel:
    """Products with the kernel matrix in single precision, from the pass that gives exact ones.

    Parameters
    ----------
    model : SupportVectorModel
    """

    def __init__(self, model: SupportVectorModel) -> None:
        self.model = model
        self.vectors: Dense = np.zeros((model.data.n_samples, 0))
        self.products: Dense = self.vectors

    def multiply(self, V: Dense, W: Dense) -> tuple[Dense, Dense]:
        """Multiply two sets of vectors by the kernel matrix; return ``K V`` and ``K W``.

        ``K'V`` with the rounded matrix is kept for ``product``.
        """
        used = np.flatnonzero(V.any(axis=1) | W.any(axis=1))
        weights, positive = V[used], W[used]
        exact, rounded, sizes = np.zeros(V.shape), np.zeros(V.shape), np.zeros(W.shape)
        for rows, block in self.blocks(used) if used.size else ():
            to_exact, to_rounded = exact[rows], rounded[rows]
            sizes[rows] = block @ positive
            for part in row_blocks(block.shape[0], block.shape[1], IN_CACHE):
                piece = block[part]
                to_exact[part] = compensated.product(piece, weights)
                piece[...] = piece.astype(np.float32)
                to_rounded[part] = piece @ weights
        self.vectors, self.products = V, rounded
        return exact, sizes

    def product(self, v: Vector) -> Vector:
        """``K'v`` with every kernel value rounded to single precision."""
        known = [k for k, column in enumerate(self.vectors.T) if np.array_equal(column, v)]
        if not known:
            self.multiply(v[:, None], np.zeros((len(v), 0)))
        return np.asarray(self.products[:, known[0] if known else 0])

    def blocks(self, columns: Index) -> Iterator[tuple[slice, Dense]]:
        """Columns of the kernel matrix in double precision, in blocks of rows."""
        gram, X = self.model.gram, self.model.data.X
        if isinstance(gram, KernelQuadratic):
            yield from gram.gram.blocks(columns)
            return
        for rows in row_blocks(X.shape[0], max(1, len(columns))):
            yield rows, self.model.kernel(X[rows], X[columns])


def rounded_gap(
    model: SupportVectorModel,
    evaluation: Evaluation,
    rounded: RoundedKernel,
    width: float | None = None,
) -> float:
    """``P' - D'`` of an evaluated machine; without constraints on (w, b).

    With ``width`` None, t is the best one for these weights and the rounded kernel.
    """
    c, solution = model.conditions, evaluation.solution
    a, b = evaluation.point.alpha, solution.intercept
    beta, own = np.asarray(solution.expansion), evaluation.dual.expansion
    if model.is_linear:  # nothing was multiplied with its kernel matrix
        rounded.multiply(np.column_stack([beta, own]), np.zeros((len(beta), 0)))
    of_beta, of_feasible = rounded.product(beta), rounded.product(own)
    t = best_width(model, of_beta, b) if width is None else width
    with np.errstate(all="ignore"):
        # a rounded kernel may be indefinite: below zero the square belongs to both objectives
        size = 0.5 * (c.norm_weight * float(beta @ of_beta) + model.constant * b * b)
        v = model.violations(of_beta, b, t)
        cost = float(np.sum(losses(v, c.lower, c.upper, c.curvature)))
        primal = size + c.intercept_price * b + c.width_price * t + cost
        square = c.norm_weight * float(own @ of_feasible)
        sides = float(c.signs @ a)
        square += model.constant * sides * sides + float((c.curvature * a) @ a)
        return primal - (float(c.required @ a) - 0.5 * square)
