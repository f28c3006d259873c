"""Gradients and Hessians of all losses of a linear machine, for Newton's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.chunked.sums import Sum
from qpsvm.chunked.template import Template, Terms
from qpsvm.machines.losses import slopes
from qpsvm.numerics.arrays import Dense, Matrix, Vector, is_sparse


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Gradients and Hessians of losses in (w, b, t), summed over conditions.

    Index 0 is for losses whose kinks are rounded off, index 1 for the losses themselves. They have
    no second derivative that says how far a step may go; their matrix is that of quadratics that
    touch the rounded losses and are nowhere below them,
    ``(u - l) v^2 / (4 |v_0|)`` plus a linear function outside the rounded kinks (Huber, *Robust
    Statistics* (1981), section 7.8).

    Attributes
    ----------
    gradients : Sum of shape (2, d + 2)
    hessians : Sum of shape (m, d + 2, d + 2)
        Of the first kind alone (m = 1), or of both (m = 2).
    """

    gradients: Sum
    hessians: Sum

    @classmethod
    def empty(cls, d: int, *, majorised: bool) -> Derivatives:
        """Sums over no conditions, of d features."""
        return cls(Sum((2, d + 2)), Sum((2 if majorised else 1, d + 2, d + 2)))

    def add_sums(self, other: Derivatives) -> None:
        """Add the gradients and Hessians of another chunk."""
        self.gradients.add_sum(other.gradients)
        self.hessians.add_sum(other.hessians)

    def add(self, X: Matrix, terms: Terms, v: Vector, form: Template, smoothing: Vector) -> None:
        """Add the gradients and Hessians of the losses on a block of samples.

        Parameters
        ----------
        X : array or CSR array of shape (m, d)
        terms : Terms
            Of all conditions on these rows, side after side.
        v : array of shape (sides m,)
            Their violations.
        form : Template
        smoothing : array of shape (m,)
            A kink is rounded off over ``|v| <= smoothing``; quadratic losses have none.
        """
        n = X.shape[0]
        sides = len(v) // max(1, n)
        exact = slopes(v, terms.lower, terms.upper, terms.curvature)
        if form.is_curved:
            slope = exact
            curves = (slope > terms.lower) & (slope < terms.upper)
            second = above = np.where(curves, 1.0 / terms.curvature, 0.0)
        else:
            width = np.tile(smoothing, sides)
            share = np.clip(0.5 + v / (2.0 * width), 0.0, 1.0)
            slope = terms.lower + share * (terms.upper - terms.lower)
            above = (terms.upper - terms.lower) / (2.0 * np.maximum(np.abs(v), width))
            second = np.where(np.abs(v) < width, above, 0.0)
        both = np.stack([slope, exact])
        by_row = (terms.signs * both).reshape(2, sides, n).sum(axis=1)
        over_w = np.asarray(X.T @ by_row.T).T
        over_b, over_t = by_row.sum(axis=1), form.width_sign * both.sum(axis=1)
        self.gradients.add(-np.column_stack([over_w, over_b, over_t]))
        kinds = (second, above)[: len(self.hessians.high)]
        self.hessians.add(np.stack([_hessian(X, terms.signs, own, form) for own in kinds]))


def _hessian(X: Matrix, signs: Vector, second: Vector, form: Template) -> Dense:
    """``sum_k second_k g_k g_k'`` with the derivative ``g_k = (r x, r, e)`` of minus v_k."""
    n, d = X.shape
    sides, e = len(second) // max(1, n), form.width_sign
    over_f = second.reshape(sides, n).sum(axis=0)
    mixed = e * (signs * second).reshape(sides, n).sum(axis=0)
    used = np.flatnonzero(over_f)
    Z = X[used]
    D = over_f[used]
    block = np.zeros((d + 2, d + 2))
    weighted = sp.diags_array(D) @ Z if is_sparse(Z) else Z * D[:, None]
    product = Z.T @ weighted
    block[:d, :d] = product.toarray() if sp.issparse(product) else product
    block[:d, d] = block[d, :d] = np.asarray(Z.T @ D)
    block[:d, -1] = block[-1, :d] = np.asarray(Z.T @ mixed[used])
    block[d, d] = np.sum(D)
    block[d, -1] = block[-1, d] = np.sum(mixed)
    block[-1, -1] = e * e * np.sum(second)
    return block
