"""What a kernel in single precision does to a solution.

LIBSVM keeps the rows of its matrix as float32, so that it solves the program of a rounded kernel
``K'``. The same alpha, ``beta = R'alpha / kappa``, b and t have two objectives there, too::

    P' = kappa/2 beta'K'beta + price_b b + price_t t + sum_k loss_k(p - R(K'beta + b) - e t)
    D' = p'a - 1/2 (kappa beta_a'K'beta_a + d'a^2),     beta_a = R'a / kappa for a feasible a

(``machines.conditions`` has the program). What remains of the gap there is due to stopping early;
the rest of it is due to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.machines.losses import losses
from qpsvm.machines.model import SupportVectorModel
from qpsvm.qp._arrays import Dense, Index, row_blocks
from qpsvm.qp.structured import KernelQuadratic


@dataclass(frozen=True)
class KernelRounding:
    """The duality gap of one solution in two programs.

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
        """The part of the gap that rounding explains, ``(gap - rounded_gap) / gap`` in [0, 1]."""
        if not self.gap > 0.0 or not math.isfinite(self.rounded_gap):
            return 0.0
        return min(1.0, max(0.0, (self.gap - self.rounded_gap) / self.gap))


def multiply(problem: SVMProblem, draft: SVMSolution) -> None:
    """Multiply K with all that a verifier will ask for, in one pass over it."""
    gram = problem.model.gram
    if isinstance(gram, KernelQuadratic):
        gram.gram.products(_asked_for(problem.model, draft))


def multiply_rounded(problem: SVMProblem, draft: SVMSolution) -> Dense:
    """The same, and in the same pass ``K'beta`` and ``K'beta_a``, the columns of the result."""
    model = problem.model
    V = _asked_for(model, draft)
    used = np.flatnonzero(V.any(axis=1))
    exact, rounded = np.zeros(V.shape), np.zeros((len(V), 2))
    for rows, block in _blocks(model, used):
        exact[rows] = block @ V[used]
        block[...] = block.astype(np.float32)
        rounded[rows] = block @ V[used, :2]
    if isinstance(model.gram, KernelQuadratic):
        model.gram.gram.remember(V, exact)
    return rounded


def rounded_gap(problem: SVMProblem, solution: SVMSolution, rounded: Dense) -> float:
    """``P' - D'`` from what ``multiply_rounded`` returned; without constraints on (w, b)."""
    model, c = problem.model, problem.model.conditions
    a, b, t = model.feasible_dual(solution.alpha).alpha, solution.intercept, solution.width
    of_beta, of_feasible = rounded.T
    with np.errstate(all="ignore"):
        size = model.penalty(solution, float(solution.expansion @ of_beta))
        v = model.violations(of_beta, b, t)
        cost = float(np.sum(losses(v, c.lower, c.upper, c.curvature)))
        primal = size + c.intercept_price * b + c.width_price * t + cost
        square = c.norm_weight * float(model.expansion(a) @ of_feasible)
        square += model.constant * float(c.signs @ a) ** 2 + float(c.curvature @ (a * a))
        return primal - (float(c.required @ a) - 0.5 * square)


def _asked_for(model: SupportVectorModel, draft: SVMSolution) -> Dense:
    """Columns beta, beta_a, and what rounding and units are estimated from; shape (n, m)."""
    assert draft.expansion is not None  # readers make it from alpha
    columns = [draft.expansion, model.expansion(model.feasible_dual(draft.alpha).alpha)]
    if model.kernel.is_nonnegative:
        columns.append(np.abs(draft.expansion))
    if model.conditions.relative_to_spread:
        columns.append(np.full(len(columns[0]), 1.0 / len(columns[0])))
    return np.column_stack(columns)


def _blocks(model: SupportVectorModel, columns: Index) -> Iterator[tuple[slice, Dense]]:
    if isinstance(model.gram, KernelQuadratic):
        yield from model.gram.gram.blocks(columns)
        return
    X = model.data.X
    for rows in row_blocks(X.shape[0], max(1, len(columns))):
        yield rows, model.kernel(X[rows], X[columns])
