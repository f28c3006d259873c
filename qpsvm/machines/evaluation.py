"""Evaluation of a candidate machine on the training samples, each product computed once.

Objectives, rounding, tables, certificates and KKT residuals of one candidate are functions of a few
products: ``K beta`` or ``X w`` of the machine as it predicts, the weights that its dual variables
imply, and the sums of absolute terms of both. ``evaluated`` computes each of them once, in one pass
over the kernel matrix or the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from qpsvm.machines.setup import DecisionValues, KernelSetup
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.precision import EPS, exact_sum
from qpsvm.numerics.rows import sample_products
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import HessianProduct, LowRankProduct, LowRankQuadratic
from qpsvm.qp.quadratic import Quadratic, RepeatedQuadratic

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
    """

    errors: Vector
    point: DualPoint
    dual: DualWeights
    dual_errors: Vector
    implied: DualWeights
    dual_scores: Vector | None
    precise: PreciseViolations | None = None


def evaluated(
    model: PrimalDualPair, solution: SVMSolution, multiply: Multiply | None = None
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
    """
    given = DualPoint(solution.alpha, solution.constraint_multipliers)
    point = model.feasible_dual(given.alpha, given.constraint_multipliers)
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
    found = sample_products(model.data.X, solution.coef, expansions, terms, model.offset)
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
        norms = np.sqrt(np.abs(model.gram.diagonal()))
        size = norms * float(norms @ np.abs(solution.expansion))
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
    terms = _expansion_sizes(model, point.alpha)
    sums, errors = kernel_sums(model, own, beta, terms, multiply)
    dual = DualWeights(beta, None, float(beta @ sums[-1]))
    implied = dual
    if not given.equals(point):
        # nothing asks for |w|^2 of dual variables that are not feasible
        implied = DualWeights(model.expansion(given.alpha), None, np.nan)
    values = model.decision_values(solution, None if own is None else sums[0])
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


def kernel_sums(
    model: KernelSetup, own: Dense | None, beta: Dense, terms: Dense, multiply: Multiply
) -> tuple[list[Dense], list[Dense]]:
    """``K B`` for the coefficients of a machine and of its dual point, and bounds on the errors.

    In one pass over K; equal columns are multiplied once.

    Parameters
    ----------
    model : KernelSetup
    own, beta : arrays of shape (n,), or (n, k) with one decision function per class
        Coefficients of the machine, unless None, and of the dual point.
    terms : array of that shape
        Sums of the absolute terms of ``beta``, at least ``|beta|``.
    multiply : callable
        ``(V, W) -> (K V, K W)``.
    """
    vectors = [beta] if own is None else [own, beta]
    absolute = [terms] if own is None else [np.abs(own), terms]
    is_positive = model.kernel.is_nonnegative
    columns = [_distinct(vectors), _distinct(absolute if is_positive else [])]
    n = len(beta)
    products = multiply(*(np.array(some).reshape(-1, n).T for some, _ in columns))
    of_vectors, of_sizes = (
        [product[:, place].reshape(beta.shape) for place in places]
        for product, (_, places) in zip(products, columns, strict=True)
    )
    norms = np.sqrt(np.abs(model.gram.diagonal()) + 2.0 * model.negative_bound)
    if not is_positive:  # |k(x, z)| <= |phi(x)| |phi(z)|
        of_sizes = [np.multiply.outer(norms, norms @ sizes) for sizes in absolute]
    largest = largest_values(norms, norms)
    return of_vectors, [
        expansion_errors(model.kernel_errors, sizes, weights, largest)
        for sizes, weights in zip(of_sizes, absolute, strict=True)
    ]


def _distinct(arrays: list[Dense]) -> tuple[list[Vector], list[list[int]]]:
    """Different columns of arrays of one shape, and the places of each array's own among them."""
    found, places = list[Vector](), list[list[int]]()
    for array in arrays:
        places.append([])
        for column in array.reshape(len(array), -1).T:
            same = [k for k, known in enumerate(found) if np.array_equal(column, known)]
            places[-1].append(same[0] if same else len(found))
            if not same:
                found.append(column)
    return found, places


def hessian_product(
    model: KernelSetup, evaluation: Evaluation, P: Quadratic, x: Vector | None
) -> HessianProduct | None:
    """Compute ``P x`` from known products; None where it does not follow from them.

    That is where P is a Hessian over the model's own samples or kernel matrix, and x are the dual
    variables whose weights were evaluated, both bit for bit. If a linear machine predicts with
    these weights, ``X w`` are its scores; otherwise the product is a second one, because decision
    values of other weights say nothing about the residuals of x.
    """
    if x is None or np.shape(x) != (P.size,):
        return None
    part, times = (P.part, P.times) if isinstance(P, RepeatedQuadratic) else (P, 1)
    if not isinstance(part, LowRankQuadratic | KernelQuadratic):
        return None
    pieces, sizes = np.reshape(x, (times, -1)), evaluation.implied.column_sizes
    sums = np.column_stack([part.selection.gather(piece) for piece in pieces])
    for vector, product in _known_products(model, evaluation, part):
        if vector is None or not np.array_equal(vector.reshape(sums.shape), sums):
            continue
        pairs = zip(pieces, product().reshape(sums.shape).T, strict=True)
        value = np.concatenate([part.from_product(*pair) for pair in pairs])
        if isinstance(P, LowRankQuadratic) and sizes is not None:
            return LowRankProduct(P, x, value, P.factor_sizes(x, sizes.of_terms))
        return HessianProduct(P, x, value)
    return None


def _known_products(
    model: KernelSetup, evaluation: Evaluation, part: LowRankQuadratic | KernelQuadratic
) -> Iterator[tuple[Dense | None, Callable[[], Dense]]]:
    """Yield vectors over the samples of P with their products with the kernel matrix."""
    own, implied, gram = evaluation.solution, evaluation.implied, model.gram
    scores, dual_scores, w = evaluation.scores, evaluation.dual_scores, implied.coef
    if isinstance(part, LowRankQuadratic):
        # constraints are rows of P, beside those of the samples
        shared = isinstance(gram, LowRankQuadratic) and part.samples is gram.samples
        if shared and w is not None and not len(own.constraint_multipliers):
            same = own.coef is not None and np.array_equal(own.coef, w)
            yield implied.expansion, lambda: scores if same else np.asarray(part.samples @ w.T)
    elif isinstance(gram, KernelQuadratic) and part.gram is gram.gram:
        if own.coef is None:
            yield own.expansion, lambda: scores
        if dual_scores is not None:
            yield evaluation.dual.expansion, lambda: dual_scores


def _expansion_sizes(model: PrimalDualPair, alpha: Vector) -> Vector:
    """The sums of the absolute terms of ``beta = R'a / kappa``, shape (n,); it is rounded, too."""
    c = model.conditions
    return c.sample_sizes(np.abs(alpha)) / c.norm_weight


def _offset_sizes(model: PrimalDualPair, point: DualPoint, beta: Vector, offset: Vector) -> Vector:
    """Sizes of the terms ``c sum(beta)`` of weights, for samples with a common offset c.

    The offset also multiplies what the rounded entries of beta miss of their exact sum.
    """
    c = model.conditions
    total = exact_sum(c.signs * point.alpha) / c.norm_weight
    found = exact_sum(beta)
    return np.asarray(np.abs(offset) * (abs(found) + abs(found - total) / EPS))
