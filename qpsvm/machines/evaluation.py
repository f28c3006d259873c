"""Evaluation of a candidate machine on the training samples, each product computed once.

Objectives, rounding, tables and certificates of one candidate are functions of a few products:
``K beta`` or ``X w`` of the machine as it predicts, the weights that its dual variables imply, and
the sums of absolute terms of both. ``evaluated`` computes each of them once, those with a kernel
matrix in one pass over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.primal_dual import DualPoint, DualWeights, PrimalDualPair
from qpsvm.machines.setup import DecisionValues
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import IN_CACHE, Dense, Vector, row_blocks
from qpsvm.numerics.exact_sums import exact_sum
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.row_sums import common_offset
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.quadratic import Quadratic


@short_repr
@dataclass(frozen=True, eq=False)
class Evaluation(DecisionValues):
    """Decision values of a machine, and the weights that its dual variables imply.

    Attributes
    ----------
    sizes : array of shape (n,) or None
        The sum of the absolute terms of each score, or an upper bound on it; None without weights.
    point : DualPoint
        The dual feasible point nearest to the machine's dual variables.
    dual : DualWeights
        The weights that belong to that point.
    dual_sizes : array of shape (d,) or (n,)
        The sums of the absolute terms of these weights; for a kernel, of their scores.
    implied : DualWeights
        The weights that belong to the machine's dual variables as they are.
    dual_scores : array of shape (n,) or None
        ``K beta`` of the feasible point; None for the linear kernel.
    """

    sizes: Vector | None
    point: DualPoint
    dual: DualWeights
    dual_sizes: Vector
    implied: DualWeights
    dual_scores: Vector | None

    def of(self, solution: SVMSolution) -> Evaluation:
        """Attach this evaluation to another solution with equal weights and dual variables."""
        return replace(self, solution=solution)


def evaluated(
    model: PrimalDualPair,
    solution: SVMSolution,
    multiply: Callable[[Dense], Dense] | None = None,
) -> Evaluation:
    """Evaluate a machine and its dual variables on the training samples.

    Parameters
    ----------
    model : PrimalDualPair
    solution : SVMSolution
        Of this problem; nothing it says about itself is believed. Its intercept, width and slack
        are not looked at.
    multiply : callable, optional
        ``V -> K V`` for V of shape (n, m); ``model.kernel_products`` if None.
    """
    given = DualPoint(solution.alpha, solution.constraint_multipliers)
    point = model.feasible_dual(given.alpha, given.constraint_multipliers)
    beta = model.expansion(point.alpha)
    own = solution.expansion if solution.coef is None else None
    vectors = [v for v in (own, None if model.is_linear else beta) if v is not None]
    terms = _expansion_sizes(model, point.alpha)
    absolute = [np.abs(v) for v in vectors]
    if not model.is_linear:
        absolute[-1] = terms
    asked = [*vectors, *absolute] if model.kernel.is_nonnegative else vectors
    products = _products(multiply or model.kernel_products, asked)
    sums, sizes = products[: len(vectors)], products[len(vectors) :]
    if not model.kernel.is_nonnegative:
        sizes = [_size_bound(model, v) for v in absolute]
    if model.is_linear:
        w = model.weights(beta, point.constraint_multipliers)
        dual = DualWeights(beta, w, float(w @ w))
        dual_sizes = _weight_sizes(model, point, beta, terms)
    else:
        dual, dual_sizes = DualWeights(beta, None, float(beta @ sums[-1])), sizes[-1]
    values = model.decision_values(solution, sums[0] if own is not None else None)
    size = sizes[0] if own is not None else None
    if solution.coef is not None:
        size = np.asarray(abs(model.data.X) @ np.abs(solution.coef))
    return Evaluation(
        solution,
        values.scores,
        values.square,
        sizes=size,
        point=point,
        dual=dual,
        dual_sizes=dual_sizes,
        dual_scores=None if model.is_linear else sums[-1],
        implied=dual if given.equals(point) else _implied(model, given),
    )


def hessian_product(
    model: PrimalDualPair, evaluation: Evaluation, P: Quadratic, x: Vector | None
) -> Vector | None:
    """Compute ``P x`` from known products; None where it does not follow from them.

    That is where P is a Hessian over the model's own kernel matrix, and x are the dual variables
    whose weights were evaluated.
    """
    if not isinstance(P, KernelQuadratic) or not isinstance(model.gram, KernelQuadratic):
        return None
    if P.gram is not model.gram.gram or x is None or np.shape(x) != (P.size,):
        return None
    sums = P.selection.gather(x)
    for vector, product in (
        (evaluation.solution.expansion, evaluation.scores),
        (evaluation.dual.expansion, evaluation.dual_scores),
    ):
        if vector is not None and product is not None and np.array_equal(vector, sums):
            return P.from_product(x, product)
    return None


def _implied(model: PrimalDualPair, given: DualPoint) -> DualWeights:
    """The weights of dual variables; ``|w|^2`` of a kernel expansion is not evaluated."""
    beta = model.expansion(given.alpha)
    w = model.coef(beta, given.constraint_multipliers)
    return DualWeights(beta, w, np.nan if w is None else float(w @ w))


def _products(multiply: Callable[[Dense], Dense], vectors: Sequence[Vector]) -> list[Vector]:
    """``K v`` of every vector, in one pass over K; equal ones are multiplied once."""
    distinct = list[Vector]()
    places = list[int]()
    for vector in vectors:
        same = [k for k, known in enumerate(distinct) if np.array_equal(vector, known)]
        places.append(same[0] if same else len(distinct))
        if not same:
            distinct.append(vector)
    if not distinct:
        return []
    products = multiply(np.column_stack(distinct))
    return [products[:, place] for place in places]


def _expansion_sizes(model: PrimalDualPair, alpha: Vector) -> Vector:
    """The sums of the absolute terms of ``beta = R'a / kappa``, shape (n,); it is rounded, too."""
    c = model.conditions
    return np.asarray(abs(c.rows).T @ np.abs(alpha)) / c.norm_weight


def _size_bound(model: PrimalDualPair, sizes: Vector) -> Vector:
    """Upper bound of ``|K| sizes``, shape (n,), as ``|k(x, z)| <= |phi(x)| |phi(z)|``."""
    norms = np.sqrt(np.abs(model.gram.diagonal()))
    return np.asarray(norms * float(norms @ sizes))


def _weight_sizes(model: PrimalDualPair, point: DualPoint, beta: Vector, terms: Vector) -> Vector:
    """The sums of the absolute terms of ``w = X'beta - (G'z + A'y) / kappa``, shape (d,)."""
    c = model.conditions
    total = exact_sum((c.signs * point.alpha).tolist()) / c.norm_weight
    sizes = _column_sizes(model.data.X, beta, terms, total)
    if model.constraints is not None:
        terms = abs(model.constraints.rows[:, :-1]).T @ np.abs(point.constraint_multipliers)
        sizes = sizes + np.asarray(terms) / model.conditions.norm_weight
    return sizes


def _column_sizes(X: Any, beta: Vector, terms: Vector, total: float) -> Vector:
    """Sum of absolute terms of ``X'beta``, with an offset that all samples share taken off.

    ``terms`` are the sums of the absolute terms of beta, and ``total`` is what its entries add up
    to without rounding: the offset multiplies what they miss.
    """
    offset = common_offset(X)
    if offset is None:
        return np.asarray(abs(X).T @ terms)
    found = exact_sum(beta.tolist())
    sizes = np.abs(offset) * (abs(found) + abs(found - total) / EPS)
    for rows in row_blocks(X.shape[0], X.shape[1], IN_CACHE):
        sizes = sizes + np.abs(X[rows] - offset).T @ terms[rows]
    return np.asarray(sizes)
