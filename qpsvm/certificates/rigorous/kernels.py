"""Kernel expansions and norms in feature space as balls.

The errors of kernel values are those of ``qpsvm.kernels.errors``. Matrices that are data
(precomputed, a callable's, repaired) have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels import RBF, Kernel, Linear, Precomputed
from qpsvm.kernels.errors import EntryErrors, entry_errors, gram_errors
from qpsvm.numerics.arguments import with_article
from qpsvm.numerics.arrays import Dense, Vector, row_blocks
from qpsvm.numerics.balls import (
    UNDERFLOW,
    Ball,
    gamma,
    in_chunks,
    n_steps,
    outward,
    product,
    root,
    row_squares,
)
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.sample_gram import SampleGram

# --- norms in feature space ----------------------------------------------------------------------


def squares(kernel: Kernel, X: Stored) -> Ball:
    """``k(x_i, x_i)`` for every row of X.

    Raises
    ------
    InvalidParameterError
        A precomputed kernel matrix does not hold them.
    """
    if isinstance(kernel, Precomputed):
        raise InvalidParameterError("A precomputed kernel matrix does not hold k(x, x).")
    if type(kernel) is RBF:
        return Ball.exact(np.ones(X.shape[0]))
    if type(kernel) is Linear:
        return row_squares(X)
    mid = kernel.diagonal(X)
    errors = entry_errors(kernel, X, X)
    return Ball(mid, outward(errors.left * errors.right))


def feature_norms(kernel: Kernel, X: Any, centre: Vector | None = None) -> Vector:
    """Upper bounds of ``|phi(x_i) - c|`` for every row of X.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (m, d)
    centre : array of shape (d,), optional
        c, for the linear kernel; the origin without it.

    Returns
    -------
    array of shape (m,)
        Infinite where nothing is known: with a precomputed kernel, which does not hold k(x, x).

    Raises
    ------
    InvalidParameterError
        A centre for a kernel without explicit features.

    Examples
    --------
    >>> from qpsvm import kernels
    >>> bool(feature_norms(kernels.Linear(), np.array([[3.0, 4.0]])) >= 5.0)
    True
    """
    with np.errstate(all="ignore"):
        if centre is None:
            if isinstance(kernel, Precomputed):
                return np.full(X.shape[0], np.inf)
            return _known(root(squares(kernel, X).upper))
        if type(kernel) is not Linear:
            raise InvalidParameterError(
                f"centre is a point among the features, and {with_article(f'{kernel} kernel')} has "
                "none; leave it out."
            )
        result = np.empty(X.shape[0])
        origin = Ball.exact(np.asarray(centre, dtype=np.float64))
        for rows in row_blocks(*X.shape):
            block = X[rows].toarray() if sp.issparse(X) else X[rows]
            result[rows] = root(row_squares((Ball.exact(block) - origin).magnitude).upper)
        return _known(result)


def _known(norms: Vector) -> Vector:
    return np.where(np.isnan(norms), np.inf, norms)


# --- expansions ----------------------------------------------------------------------------------


def expanded(blocks: Iterable[tuple[slice, Dense]], weights: Ball, errors: EntryErrors) -> Ball:
    """``sum_j k(x_i, z_j) beta_j`` as a ball, from computed blocks of rows of k (lemma 7).

    ``weights`` has shape (n, c), the result one row for each of ``errors.rows``.
    """
    beta, c = weights.mid, weights.mid.shape[1]
    k = n_steps(len(beta))
    # terms, and what their own errors make of them
    changes = outward(errors.columns[:, None] * (np.abs(beta) + weights.rad) + weights.rad)
    sizes = np.hstack([np.abs(beta), changes])
    shape = (len(errors.rows), c)
    mid, size = np.zeros(shape), np.zeros((shape[0], 2 * c))
    for rows, block in blocks:
        mid[rows] = in_chunks(block, beta)
        size[rows] = in_chunks(np.abs(block), sizes)
    size *= 1.0 + 2.0 * gamma(k)  # they were rounded themselves
    own = errors.rows[:, None]
    entries = outward((gamma(k) + own) * size[:, :c] + (1.0 + own) * size[:, c:])
    # left_i sum_j right_j |beta_j|, and what underflow took from every entry
    sums = np.vstack([errors.right, np.ones_like(errors.right)])
    total = product(sums, Ball.exact(weights.magnitude)).upper
    return Ball(mid, outward(entries + errors.left[:, None] * total[0] + UNDERFLOW * total[1]))


def gram_product(samples: SampleGram, errors_of: Kernel | None, weights: Dense) -> Ball:
    """``K B`` for the Gram matrix of training samples and exact B of shape (n, c).

    ``errors_of`` is the kernel function that K stands for; None where K is data.
    """
    n = samples.size
    errors = EntryErrors.of_product(np.zeros(n), np.zeros(n))
    if errors_of is not None:
        errors = gram_errors(errors_of, samples)
    if samples.is_kept:
        K = samples.dense
        blocks: Iterable[tuple[slice, Dense]] = ((rows, K[rows]) for rows in row_blocks(n, n))
    else:
        used = np.flatnonzero(weights.any(axis=1))
        weights, errors = weights[used], errors.of_part(np.arange(n), used)
        blocks = samples.blocks(used) if used.size else ()
    return expanded(blocks, Ball.exact(weights), errors)
