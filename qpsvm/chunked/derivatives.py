"""Gradient and Hessian of all losses of a linear machine, for Newton's method."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.chunked.sums import Sum
from qpsvm.chunked.template import Template, Terms
from qpsvm.machines.losses import slopes
from qpsvm.numerics.arrays import Matrix, Vector, is_sparse


def add_derivatives(
    gradient: Sum,
    hessian: Sum,
    X: Matrix,
    terms: Terms,
    v: Vector,
    form: Template,
    smoothing: Vector,
) -> None:
    """Add gradient and Hessian of a block's losses in (w, b, t).

    Parameters
    ----------
    gradient, hessian : Sums of shapes (d + 2,) and (d + 2, d + 2)
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
    if form.is_curved:
        slope = slopes(v, terms.lower, terms.upper, terms.curvature)
        curves = (slope > terms.lower) & (slope < terms.upper)
        second = np.where(curves, 1.0 / terms.curvature, 0.0)
    else:
        width = np.tile(smoothing, sides)
        share = np.clip(0.5 + v / (2.0 * width), 0.0, 1.0)
        slope = terms.lower + share * (terms.upper - terms.lower)
        inside = np.abs(v) < width
        second = np.where(inside, (terms.upper - terms.lower) / (2.0 * width), 0.0)
    by_row = (terms.signs * slope).reshape(sides, n).sum(axis=0)
    gradient.add(
        np.concatenate(
            [
                -np.asarray(X.T @ by_row),
                [-float(np.sum(by_row)), -form.width_sign * float(np.sum(slope))],
            ]
        )
    )
    # second derivatives of v in f and t: r^2 = 1, r e and e^2
    e = form.width_sign
    over_f = second.reshape(sides, n).sum(axis=0)
    mixed = e * (terms.signs * second).reshape(sides, n).sum(axis=0)
    used = np.flatnonzero(over_f)
    Z = X[used]
    D = over_f[used]
    d = X.shape[1]
    block = np.zeros((d + 2, d + 2))
    weighted = sp.diags_array(D) @ Z if is_sparse(Z) else Z * D[:, None]
    product = Z.T @ weighted
    block[:d, :d] = product.toarray() if sp.issparse(product) else product
    block[:d, d] = block[d, :d] = np.asarray(Z.T @ D)
    block[:d, -1] = block[-1, :d] = np.asarray(Z.T @ mixed[used])
    block[d, d] = np.sum(D)
    block[d, -1] = block[-1, d] = np.sum(mixed)
    block[-1, -1] = e * e * np.sum(second)
    hessian.add(block)
