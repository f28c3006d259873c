"""Kernel values and kernel expansions as balls.

How far a computed block ``k(x_i, z_j)`` can be from the exact kernel function follows from how
``qpsvm.kernels.functions`` evaluates it (lemmas 4 to 6 of ``docs/rounding.md``)::

    |k^_ij - k_ij|  <=  ((1 + rows_i) (1 + columns_j) - 1) k^_ij  +  left_i right_j  +  underflow

Matrices that are data (precomputed, a callable's, repaired) have no such error.

The one assumption beyond IEEE 754: ``exp``, ``tanh`` and ``power`` are accurate to 4 ulp. NumPy's
own tests hold exp to 1 and tanh to 2 ulp in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.kernels.products import common_centre, scaled
from qpsvm.numerics.arrays import Dense, Vector, row_blocks
from qpsvm.numerics.balls import (
    UNDERFLOW,
    Ball,
    U,
    gamma,
    in_chunks,
    n_steps,
    n_terms,
    outward,
    product,
    root,
    row_squares,
)
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.sample_gram import SampleGram

FUNCTION_ROUNDINGS = 8
"""An ulp is at most 2u: 4 ulp of exp, tanh or power are a relative error of 8u."""


@dataclass(frozen=True, eq=False)
class EntryErrors:
    """Bounds on the rounding errors of a block of kernel values; the formula is above.

    Attributes
    ----------
    rows, left : arrays of shape (m,)
    columns, right : arrays of shape (n,)
    """

    rows: Vector
    columns: Vector
    left: Vector
    right: Vector

    @classmethod
    def of_product(cls, left: Vector, right: Vector) -> EntryErrors:
        """Errors of the form ``left_i right_j``."""
        return cls(np.zeros(len(left)), np.zeros(len(right)), left, right)


def entry_errors(kernel: Kernel, X: Stored, Z: Stored) -> EntryErrors:
    """Bound the errors of ``kernel(X, Z)``, or of blocks of its rows with the same Z."""
    m, n = X.shape[0], Z.shape[0]
    if type(kernel) is RBF:
        exponents = _exponent_errors(kernel, X, Z)
        # e^E - 1 <= E (1 + E)
        rows, columns = (np.where(E <= 1.0, outward(E * (1.0 + E)), np.inf) for E in exponents)
        return EntryErrors(rows, columns, np.zeros(m), np.zeros(n))
    if type(kernel) not in (Linear, Polynomial, Sigmoid):  # what it returns is what K is
        return EntryErrors.of_product(np.zeros(m), np.zeros(n))
    terms = max(n_terms(X), n_terms(Z))
    if type(kernel) is Linear:
        return EntryErrors.of_product(outward(gamma(terms) * _norms(X)), _norms(Z))
    if type(kernel) is Polynomial:
        p = int(kernel.degree)
        left, right = (_argument(kernel, S) ** (0.5 * p) for S in (X, Z))
        k = p * (terms + 3) + FUNCTION_ROUNDINGS
        return EntryErrors.of_product(outward(gamma(k) * outward(left)), outward(right))
    assert type(kernel) is Sigmoid
    left, right = (root(1.0 + _argument(kernel, S)) for S in (X, Z))
    k = terms + 3 + FUNCTION_ROUNDINGS
    return EntryErrors.of_product(outward(gamma(k) * left), right)


def _exponent_errors(kernel: RBF, X: Stored, Z: Stored) -> tuple[Vector, Vector]:
    """Bounds ``left_i + right_j`` on the errors of a block of exponents (lemma 5)."""
    scale = math.sqrt(2.0 * float(kernel.gamma))
    centre = common_centre(X, Z)
    errors = []
    for samples in (X, Z):
        V = scaled(samples, scale, centre)
        terms = max(n_terms(X), n_terms(Z))
        k = terms + terms // 2**19 + 19
        # 10 u for exp: 4 ulp, once more for dividing by 1 - 4 ulp
        errors.append(outward(gamma(k) * row_squares(V).upper + 10.0 * U))
    return errors[0], errors[1]


def _norms(X: Stored) -> Vector:
    return np.asarray(root(row_squares(X).upper))


def _argument(kernel: Polynomial | Sigmoid, X: Stored) -> Vector:
    """``gamma |x_i|^2 + |coef0|``, for a Cauchy-Schwarz bound on the kernel's argument."""
    squares = row_squares(X).upper
    return np.asarray(outward(float(kernel.gamma) * squares + abs(kernel.coef0)))


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
                f"centre is a point among the features, and a {kernel} kernel has none; leave it "
                "out."
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
    if samples.is_kept:
        K, Z = samples.dense, samples.X
        blocks: Iterable[tuple[slice, Dense]] = ((rows, K[rows]) for rows in row_blocks(n, n))
    else:
        used = np.flatnonzero(weights.any(axis=1))
        weights, Z = weights[used], samples.X[used]
        blocks = samples.blocks(used) if used.size else ()
    if errors_of is None:
        errors = EntryErrors.of_product(np.zeros(n), np.zeros(len(weights)))
    else:
        errors = entry_errors(errors_of, samples.X, Z)
    return expanded(blocks, Ball.exact(weights), errors)
