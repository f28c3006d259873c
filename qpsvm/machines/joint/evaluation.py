"""Evaluation of a machine with one decision function per class, each product computed once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.joint.primal_dual import JointDecisions, JointPair
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.score_errors import (
    expansion_errors,
    largest_values,
    product_errors,
    sums_of_rows_errors,
)
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import HessianProduct, LowRankQuadratic
from qpsvm.qp.quadratic import Quadratic, RepeatedQuadratic


@short_repr
@dataclass(frozen=True, eq=False)
class JointEvaluation(JointDecisions):
    """Decision values of a machine, and the weights that its dual variables imply.

    Attributes
    ----------
    square : float
        ``sum_m |w_m|^2 + sum_m b_m^2`` of the machine.
    errors : array of shape (n, k)
        Bounds on the errors of the scores, those of kernel values included; infinite without
        weights.
    point : array of shape (n, k)
        The feasible tau nearest to alpha.
    coef : array of shape (k, d) or None
        The weights of that point, for the linear kernel.
    column_sizes : array of shape (d, k) or None
        ``|X|' |tau|``, the sums of the absolute terms of these weights.
    dual_errors : array of shape (d, k) or (n, k)
        Bounds on the errors of these weights; for a kernel, of ``K tau``.
    dual_square : float
        ``sum_m |w_m|^2 + sum_m b_m^2`` of that point.
    """

    square: float
    errors: Dense
    point: Dense
    coef: Dense | None
    column_sizes: Dense | None
    dual_errors: Dense
    dual_square: float

    def of(self, solution: JointSolution) -> JointEvaluation:
        """Attach this evaluation to another solution with equal weights and dual variables."""
        return replace(self, solution=solution)


def evaluated(model: JointPair, solution: JointSolution) -> JointEvaluation:
    """Evaluate a machine and its dual variables, kernel products in one pass over K."""
    point, own, b = model.feasible_dual(solution.alpha), solution.expansion, solution.intercept
    coef, tau = model.coef(point), None if model.is_linear else point
    X, v = model.data.X, np.abs(point)
    magnitudes = abs(X) if model.is_linear else None
    columns = None if magnitudes is None else np.asarray(magnitudes.T @ v)
    errors = np.full(model.own.shape, np.inf)
    product = None
    if solution.coef is not None:
        scores = np.asarray(X @ solution.coef.T)
        square = float(np.sum(solution.coef * solution.coef))
        product = None if tau is None else model.kernel_product(tau)
        if magnitudes is not None:  # weights of another kernel are no machine's
            errors = product_errors(X, np.asarray(magnitudes @ np.abs(solution.coef).T))
    elif own is not None:
        scores, terms, product = _products(model, own, tau)
        square = float(np.maximum(np.sum(own * scores), 0.0))
        errors = expansion_errors(
            model.kernel_errors, terms, np.abs(own), largest_values(model.gram)
        )
    else:
        scores, square = np.full(model.own.shape, np.nan), math.nan
        product = None if tau is None else model.kernel_product(tau)
    if columns is not None:
        dual_errors = sums_of_rows_errors(X, columns)
    elif own is not None and np.array_equal(own, point):
        dual_errors = errors
    else:
        dual_errors = expansion_errors(
            model.kernel_errors, _sizes(model, v), v, largest_values(model.gram)
        )
    dual_square = 0.0
    if coef is not None:
        dual_square = float(np.sum(coef * coef))
    elif product is not None:
        dual_square = float(np.maximum(np.sum(point * product), 0.0))
    own_b = model.intercepts(point)
    square, dual_square = square + float(b @ b), dual_square + float(own_b @ own_b)
    found = (scores, square, errors, point, coef, columns, dual_errors, dual_square)
    return JointEvaluation(solution, *found)


def hessian_product(
    model: JointPair, evaluation: JointEvaluation, P: Quadratic, x: Vector | None
) -> HessianProduct | None:
    """Compute ``P x`` from the scores; None where it does not follow from them."""
    solution, gram = evaluation.solution, model.gram
    if not isinstance(P, RepeatedQuadratic) or x is None or np.shape(x) != (P.size,):
        return None
    part = P.part
    known: Dense | None
    if isinstance(part, LowRankQuadratic):
        # scores are those of weights; they are the ones that x implies, bit for bit, or of no use
        known = evaluation.point
        shared = isinstance(gram, LowRankQuadratic) and part.samples is gram.samples
        if not shared or not _are_equal(solution.coef, evaluation.coef):
            return None
    elif isinstance(part, KernelQuadratic):
        known = solution.expansion
        if not isinstance(gram, KernelQuadratic) or part.gram is not gram.gram:
            return None
    else:
        return None
    pieces = np.reshape(x, (P.times, -1))
    sums = np.column_stack([part.selection.gather(piece) for piece in pieces])
    if not _are_equal(sums, known):
        return None
    values = [part.from_product(*pair) for pair in zip(pieces, evaluation.scores.T, strict=True)]
    return HessianProduct(P, x, np.concatenate(values))


def _are_equal(one: Dense | None, other: Dense | None) -> bool:
    return one is not None and other is not None and np.array_equal(one, other)


def _products(model: JointPair, own: Dense, tau: Dense | None) -> tuple[Dense, Dense, Dense | None]:
    """``K B``, ``|K| |B|`` or an upper bound on it, and ``K tau``; None for None.

    All are of shape (n, k), from one pass over K.
    """
    repeats = tau is not None and np.array_equal(tau, own)
    given = [own, np.abs(own) if model.kernel.is_nonnegative else None, None if repeats else tau]
    products = model.kernel_product(np.hstack([V for V in given if V is not None]))
    parts = iter(np.split(products, products.shape[1] // own.shape[1], axis=1))
    first, second, third = (None if V is None else next(parts) for V in given)
    assert first is not None
    sizes = _sizes(model, np.abs(own)) if second is None else second
    return first, sizes, first if repeats else third


def _sizes(model: JointPair, weights: Dense) -> Dense:
    """Upper bound of ``|K| |B|``, as ``|k(x, z)| <= |phi(x)| |phi(z)|``."""
    norms = np.sqrt(np.abs(model.gram.diagonal()))
    return np.asarray(np.outer(norms, norms @ weights))
