"""Evaluation of a machine with one decision function per class, each product computed once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.joint.primal_dual import JointDecisions, JointPair
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.qp.hessian_product import HessianProduct
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.repeated import RepeatedQuadratic


@short_repr
@dataclass(frozen=True, eq=False)
class JointEvaluation(JointDecisions):
    """Decision values of a machine, and the weights that its dual variables imply.

    Attributes
    ----------
    square : float
        ``sum_m |w_m|^2 + sum_m b_m^2`` of the machine.
    sizes : array of shape (n, k) or None
        The sums of the absolute terms of the scores, or upper bounds on them; None without weights.
    point : array of shape (n, k)
        The feasible tau nearest to alpha.
    coef : array of shape (k, d) or None
        The weights of that point, for the linear kernel.
    column_sizes : array of shape (d, k) or None
        ``|X|' |tau|``, the sums of the absolute terms of these weights.
    dual_square : float
        ``sum_m |w_m|^2 + sum_m b_m^2`` of that point.
    """

    square: float
    sizes: Dense | None
    point: Dense
    coef: Dense | None
    column_sizes: Dense | None
    dual_square: float

    def of(self, solution: JointSolution) -> JointEvaluation:
        """Attach this evaluation to another solution with equal weights and dual variables."""
        return replace(self, solution=solution)


def evaluated(model: JointPair, solution: JointSolution) -> JointEvaluation:
    """Evaluate a machine and its dual variables, kernel products in one pass over K."""
    point, own, b = model.feasible_dual(solution.alpha), solution.expansion, solution.intercept
    coef, tau = model.coef(point), None if model.is_linear else point
    sizes: Dense | None
    magnitudes = abs(model.data.X) if model.is_linear else None
    columns = None if magnitudes is None else np.asarray(magnitudes.T @ np.abs(point))
    if solution.coef is not None:
        scores = np.asarray(model.data.X @ solution.coef.T)
        square = float(np.sum(solution.coef * solution.coef))
        product = None if tau is None else model.kernel_product(tau)
        sizes = None
        if magnitudes is not None:  # weights of another kernel are no machine's
            sizes = np.asarray(magnitudes @ np.abs(solution.coef).T)
    elif own is not None:
        v, is_positive = np.abs(own), model.kernel.is_nonnegative
        scores, terms, product = _products(model, own, v if is_positive else None, tau)
        square = float(np.maximum(np.sum(own * scores), 0.0))
        norms = np.sqrt(np.abs(model.gram.diagonal()))  # |k(x, z)| <= |phi(x)| |phi(z)|
        sizes = np.outer(norms, norms @ v) if terms is None else terms
    else:
        scores, square, sizes = np.full(model.own.shape, np.nan), math.nan, None
        product = None if tau is None else model.kernel_product(tau)
    dual_square = 0.0
    if coef is not None:
        dual_square = float(np.sum(coef * coef))
    elif product is not None:
        dual_square = float(np.maximum(np.sum(point * product), 0.0))
    own_b = model.intercepts(point)
    square, dual_square = square + float(b @ b), dual_square + float(own_b @ own_b)
    return JointEvaluation(solution, scores, square, sizes, point, coef, columns, dual_square)


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


def _products(
    model: JointPair, own: Dense, terms: Dense | None, tau: Dense | None
) -> tuple[Dense, Dense | None, Dense | None]:
    """``K V`` of three matrices of shape (n, k), in one pass over K; None for None."""
    repeats = tau is not None and np.array_equal(tau, own)
    given = [own, terms, None if repeats else tau]
    products = model.kernel_product(np.hstack([V for V in given if V is not None]))
    parts = iter(np.split(products, products.shape[1] // own.shape[1], axis=1))
    first, second, third = (None if V is None else next(parts) for V in given)
    assert first is not None
    return first, second, first if repeats else third
