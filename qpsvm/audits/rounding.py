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

from qpsvm.display import short_repr
from qpsvm.machines import SVMProblem, SVMSolution
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
        ``P' - D'`` with every kernel value rounded to single precision.
    """

    gap: float
    rounded_gap: float

    @property
    def share(self) -> float:
        """Share of the gap that rounding explains, ``(gap - rounded_gap) / gap`` in [0, 1]."""
        if not self.gap > 0.0 or not math.isfinite(self.rounded_gap):
            return 0.0
        return min(1.0, max(0.0, (self.gap - self.rounded_gap) / self.gap))


def multiply(problem: SVMProblem, draft: SVMSolution) -> None:
    """Multiply K in one pass by all vectors that the verifier will need."""
    gram = problem.model.gram
    if isinstance(gram, KernelQuadratic):
        columns = [*_machines(problem.model, draft), *_others(problem.model, draft)]
        gram.gram.products(np.column_stack(columns))


def multiply_rounded(problem: SVMProblem, draft: SVMSolution) -> Dense:
    """Do as ``multiply``; in the same pass compute ``K'beta`` and ``K'beta_a``."""
    model = problem.model
    machines = _machines(model, draft)
    V = np.column_stack([*machines, *_others(model, draft)])
    used = np.flatnonzero(V.any(axis=1))
    weights, of_machines = V[used], np.column_stack(machines)[used]
    exact, rounded = np.zeros(V.shape), np.zeros((len(V), len(machines)))
    for rows, block in _blocks(model, used):
        to_exact, to_rounded = exact[rows], rounded[rows]
        for part in row_blocks(block.shape[0], block.shape[1], IN_CACHE) if used.size else ():
            piece = block[part]
            to_exact[part] = compensated.product(piece, weights)
            piece[...] = piece.astype(np.float32)
            to_rounded[part] = piece @ of_machines
    if isinstance(model.gram, KernelQuadratic):
        model.gram.gram.remember(V, exact)
    return rounded


def rounded_gap(problem: SVMProblem, solution: SVMSolution, rounded: Dense) -> float:
    """Gap ``P' - D'`` with the rounded kernel, from the products of ``multiply_rounded``."""
    model, c = problem.model, problem.model.conditions
    a, b, t = model.feasible_dual(solution.alpha).alpha, solution.intercept, solution.width
    of_beta, of_feasible = rounded[:, 0], rounded[:, -1]
    beta = np.asarray(solution.expansion)
    with np.errstate(all="ignore"):
        # a rounded kernel may be indefinite: below zero the square belongs to both objectives
        size = 0.5 * (c.norm_weight * float(beta @ of_beta) + model.constant * b * b)
        v = model.violations(of_beta, b, t)
        cost = float(np.sum(losses(v, c.lower, c.upper, c.curvature)))
        primal = size + c.intercept_price * b + c.width_price * t + cost
        square = c.norm_weight * float(model.expansion(a) @ of_feasible)
        sides = float(c.signs @ a)
        square += model.constant * sides * sides + float((c.curvature * a) @ a)
        return primal - (float(c.required @ a) - 0.5 * square)


def _machines(model: SupportVectorModel, draft: SVMSolution) -> list[Vector]:
    """The vectors ``beta`` and ``beta_a``; only one if alpha is feasible as it is."""
    assert draft.expansion is not None  # readers make it from alpha
    feasible = model.expansion(model.feasible_dual(draft.alpha).alpha)
    same = np.array_equal(feasible, draft.expansion)
    return [draft.expansion] if same else [draft.expansion, feasible]


def _others(model: SupportVectorModel, draft: SVMSolution) -> Iterator[Vector]:
    """Yield further vectors, for estimates of rounding and of the unit of violations."""
    if model.kernel.is_nonnegative:
        yield from map(np.abs, _machines(model, draft))
    if model.conditions.relative_to_spread:
        yield np.full(model.data.n_samples, 1.0 / model.data.n_samples)


def _blocks(model: SupportVectorModel, columns: Index) -> Iterator[tuple[slice, Dense]]:
    if isinstance(model.gram, KernelQuadratic):
        yield from model.gram.gram.blocks(columns)
        return
    X = model.data.X
    for rows in row_blocks(X.shape[0], max(1, len(columns))):
        yield rows, model.kernel(X[rows], X[columns])
