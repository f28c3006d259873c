"""Evaluation of a candidate machine on the training samples, each product computed once.

Objectives, rounding, tables, certificates and KKT residuals of one candidate are functions of a few
products: ``K beta`` or ``X w`` of the machine as it predicts, the weights that its dual variables
imply, and the sums of absolute terms of both. ``evaluated`` computes each of them once, in one pass
over the kernel matrix or the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.primal_dual import ColumnSizes, DualPoint, DualWeights, PrimalDualPair
from qpsvm.machines.score_errors import (
    expansion_errors,
    largest_values,
    product_errors,
    sums_of_rows_errors,
)
from qpsvm.machines.setup import DecisionValues
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.precision import EPS, exact_sum
from qpsvm.qp.hessian_product import HessianProduct, LowRankProduct
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.quadratic import Quadratic

Multiply: TypeAlias = Callable[[Dense, Dense], tuple[Dense, Dense]]
"""Function that returns ``K V`` and ``K W`` with the kernel matrix K, for arrays V and W of n rows.

W and K are non-negative."""


class PreciseViolations(NamedTuple):
    """Violations ``v = p - R f - e t`` of some conditions, each rounded once.

    Attributes
    ----------
    conditions : array of int of shape (m,)
    values, errors : arrays of shape (m,)
    """

    conditions: Index
    values: Vector
    errors: Vector


@short_repr
@dataclass(frozen=True, eq=False)
class Evaluation(DecisionValues):
    """Decision values of a machine, and the weights that its dual variables imply.

    Attributes
    ----------
    errors : array of shape (n,)
        Bounds on the errors of the scores, those of kernel values included; infinite without
        weights.
    point : DualPoint
        The dual feasible point nearest to the machine's dual variables.
    dual : DualWeights
        The weights that belong to that point.
    dual_errors : array of shape (d,) or (n,)
        Bounds on the errors of these weights; for a kernel, of their scores.
    implied : DualWeights
        The weights that belong to the machine's dual variables as they are.
    dual_scores : array of shape (n,) or None
        ``K beta`` of the feasible point; None for the linear kernel.
    precise : PreciseViolations or None
        Violations of some conditions with digits to spare.
    square_apart : tuple of float or None
        ``|w - w_a|^2`` of the weights of a kernel machine and those that its dual point implies,
        with digits to spare, and a bound on its error.
    """

    errors: Vector
    point: DualPoint
    dual: DualWeights
    dual_errors: Vector
    implied: DualWeights
    dual_scores: Vector | None
    precise: PreciseViolations | None = None
    square_apart: tuple[float, float] | None = None

    def of(self, solution: SVMSolution) -> Evaluation:
        """Attach this evaluation to another solution with equal weights and dual variables."""
        return replace(self, solution=solution)


def evaluated(
    model: PrimalDualPair,
    solution: SVMSolution,
    multiply: Multiply | None = None,
    *,
    best_multiple: bool = True,
) -> Evaluation:
    """Evaluate a machine and its dual variables on the training samples.

    Parameters
    ----------
    model : PrimalDualPair
    solution : SVMSolution
        Of this problem; nothing it says about itself is believed. Its intercept, width and slack
        are not looked at.
    multiply : callable, optional
        ``(V, W) -> (K V, K W)``; ``model.kernel_products`` if None.
    best_multiple : bool
        As for ``model.feasible_dual``.
    """
    given = DualPoint(solution.alpha, solution.constraint_multipliers)
    point = model.feasible_dual(
        given.alpha, given.constraint_multipliers, best_multiple=best_multiple
    )
    if model.is_linear:
        return _with_features(model, solution, given, point)
    return _with_kernel(model, solution, given, point, multiply or model.kernel_products)


def _with_features(
    model: PrimalDualPair, solution: SVMSolution, given: DualPoint, point: DualPoint
) -> Evaluation:
    """Evaluate a linear machine, in one pass over the samples.

    Decision values are those of the weights that predict, and not of the weights that alpha
    implies: ``X w`` and ``X'beta`` are two products, and neither bounds the rounding of the other.
    """
    points = [point] if given.equals(point) else [point, given]
    expansions = [model.expansion(p.alpha) for p in points]
    terms = [_expansion_sizes(model, p.alpha) for p in points]
    found = model.sample_products(solution.coef, expansions, terms)
    weights = list[DualWeights]()
    for k, (p, beta) in enumerate(zip(points, expansions, strict=True)):
        w = model.constrained(found.sums[k], p.constraint_multipliers)
        sizes = ColumnSizes(found.column_sizes[k], found.term_sizes[k])
        weights.append(DualWeights(beta, w, float(w @ w), sizes))
    dual_sizes = model.constrained_sizes(found.centred_sizes[0], point.constraint_multipliers)
    dual_errors = sums_of_rows_errors(model.data.X, dual_sizes)
    if model.offset is not None:
        dual_errors += EPS * _offset_sizes(model, point, expansions[0], model.offset)
    values = model.decision_values(solution, found.scores)
    errors = np.full(model.data.n_samples, np.inf)
    if found.score_sizes is not None:
        errors = product_errors(model.data.X, found.score_sizes)
    elif solution.expansion is not None:
        size = _size_bound(model, np.abs(solution.expansion))
        errors = product_errors(model.data.X, size) + sums_of_rows_errors(model.data.X, size)
    return Evaluation(
        solution,
        values.scores,
        values.square,
        errors=errors,
        point=point,
        dual=weights[0],
        dual_errors=dual_errors,
        dual_scores=None,
        implied=weights[-1],
    )


def _with_kernel(
    model: PrimalDualPair,
    solution: SVMSolution,
    given: DualPoint,
    point: DualPoint,
    multiply: Multiply,
) -> Evaluation:
    """Evaluate a machine without explicit features, in one pass over its kernel matrix."""
    beta = model.expansion(point.alpha)
    own = solution.expansion if solution.coef is None else None
    vectors = [beta] if own is None else [own, beta]
    terms = _expansion_sizes(model, point.alpha)
    absolute = [terms] if own is None else [np.abs(own), terms]
    is_positive = model.kernel.is_nonnegative
    sums, sizes = _products(multiply, vectors, absolute if is_positive else [])
    if not is_positive:
        sizes = [_size_bound(model, v) for v in absolute]
    dual = DualWeights(beta, None, float(beta @ sums[-1]))
    implied = dual
    if not given.equals(point):
        # nothing asks for |w|^2 of dual variables that are not feasible
        implied = DualWeights(model.expansion(given.alpha), None, np.nan)
    values = model.decision_values(solution, None if own is None else sums[0])
    largest = largest_values(model.gram)
    errors = [
        expansion_errors(model.kernel_errors, size, v, largest)
        for size, v in zip(sizes, absolute, strict=True)
    ]
    return Evaluation(
        solution,
        values.scores,
        values.square,
        errors=np.full(model.data.n_samples, np.inf) if own is None else errors[0],
        point=point,
        dual=dual,
        dual_errors=errors[-1],
        dual_scores=sums[-1],
        implied=implied,
    )


def hessian_product(
    model: PrimalDualPair, evaluation: Evaluation, P: Quadratic, x: Vector | None
) -> HessianProduct | None:
    """Compute ``P x`` from known products; None where it does not follow from them.

    That is where P is a Hessian over the model's own samples or kernel matrix, and x are the dual
    variables whose weights were evaluated, both bit for bit.
    """
    if x is None or np.shape(x) != (P.size,):
        return None
    if isinstance(P, LowRankQuadratic):
        return _product_of_weights(model, evaluation, P, x)
    if not isinstance(P, KernelQuadratic) or not isinstance(model.gram, KernelQuadratic):
        return None
    if P.gram is not model.gram.gram:
        return None
    sums = P.selection.gather(x)
    for vector, product in (
        (evaluation.solution.expansion, evaluation.scores),
        (evaluation.dual.expansion, evaluation.dual_scores),
    ):
        if vector is not None and product is not None and np.array_equal(vector, sums):
            return HessianProduct(P, x, P.from_product(x, product))
    return None


def _product_of_weights(
    model: PrimalDualPair, evaluation: Evaluation, P: LowRankQuadratic, x: Vector
) -> HessianProduct | None:
    """Compute ``P x`` of a linear machine from ``X w`` of the weights that x implies.

    If the machine predicts with these weights, ``X w`` are its scores; otherwise the product is a
    second one, because decision values of other weights say nothing about the residuals of x.
    """
    implied = evaluation.implied
    if not isinstance(model.gram, LowRankQuadratic) or P.samples is not model.gram.samples:
        return None
    if implied.coef is None or model.n_constraints:
        return None  # constraints are rows of P, beside those of the samples
    if not np.array_equal(P.selection.gather(x), implied.expansion):
        return None
    own = evaluation.solution.coef
    if own is not None and np.array_equal(own, implied.coef):
        scores = evaluation.scores
    else:
        scores = np.asarray(P.samples @ implied.coef)
    value, sizes = P.from_product(x, scores), implied.column_sizes
    if sizes is None or model.conditions.norm_weight != 1.0:
        return HessianProduct(P, x, value)
    return LowRankProduct(P, x, value, P.factor_sizes(x, sizes.of_terms))


def _products(
    multiply: Multiply, vectors: Sequence[Vector], absolute: Sequence[Vector]
) -> tuple[list[Vector], list[Vector]]:
    """``K v`` of every vector, in one pass over K; equal ones are multiplied once."""
    distinct = list[Vector](), list[Vector]()
    places = list[int](), list[int]()
    for given, different, own in zip((vectors, absolute), distinct, places, strict=True):
        for vector in given:
            same = [k for k, known in enumerate(different) if np.array_equal(vector, known)]
            own.append(same[0] if same else len(different))
            if not same:
                different.append(vector)
    n = len(vectors[0])
    sums, sizes = multiply(*(np.array(rows).reshape(-1, n).T for rows in distinct))
    return [sums[:, k] for k in places[0]], [sizes[:, k] for k in places[1]]


def _expansion_sizes(model: PrimalDualPair, alpha: Vector) -> Vector:
    """The sums of the absolute terms of ``beta = R'a / kappa``, shape (n,); it is rounded, too."""
    c = model.conditions
    return c.sample_sizes(np.abs(alpha)) / c.norm_weight


def _size_bound(model: PrimalDualPair, sizes: Vector) -> Vector:
    """Upper bound of ``|K| sizes``, shape (n,), as ``|k(x, z)| <= |phi(x)| |phi(z)|``."""
    norms = np.sqrt(np.abs(model.gram.diagonal()))
    return np.asarray(norms * float(norms @ sizes))


def _offset_sizes(model: PrimalDualPair, point: DualPoint, beta: Vector, offset: Vector) -> Vector:
    """Sizes of the terms ``c sum(beta)`` of weights, for samples with a common offset c.

    The offset also multiplies what the rounded entries of beta miss of their exact sum.
    """
    c = model.conditions
    total = exact_sum((c.signs * point.alpha).tolist()) / c.norm_weight
    found = exact_sum(beta.tolist())
    return np.asarray(np.abs(offset) * (abs(found) + abs(found - total) / EPS))
