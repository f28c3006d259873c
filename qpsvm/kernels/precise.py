"""Kernel expansions with digits to spare: ``sum_j k(x_i, z_j) beta_j`` to about 19 digits.

The kernel function is evaluated on the float64 samples as they are: inner products and squared
distances without rounding (``numerics.fixed_point``), their exponential or power in numbers of
twice the precision, and sums with compensation. A value takes some fifty times as long as an
ordinary one, so certificates ask for the few sums alone on which a verdict depends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from qpsvm.kernels.base import Kernel
from qpsvm.kernels.errors import argument_bounds
from qpsvm.kernels.functions import RBF, Polynomial
from qpsvm.kernels.settings import EVALUATION
from qpsvm.numerics import double_double
from qpsvm.numerics.arrays import Dense, Vector, as_dense, is_sparse, largest_magnitude, row_blocks
from qpsvm.numerics.compensated import Total, rounding_bound
from qpsvm.numerics.double_double import DoubleDouble, two_sum
from qpsvm.numerics.fixed_point import Digits, FixedPoint, centred
from qpsvm.numerics.single_precision import Stored
from qpsvm.numerics.threads import for_each

Values: TypeAlias = Callable[[Digits, Digits], DoubleDouble]


class PreciseSums(NamedTuple):
    """Sums ``hi + lo`` with bounds on their errors.

    Attributes
    ----------
    hi, lo, error : arrays of shape (m,)
        The exact sums are within ``error`` of ``hi + lo``.
    """

    hi: Vector
    lo: Vector
    error: Vector


def precise_products(X: Stored, w: Vector) -> PreciseSums:
    """``X w`` for a few rows of samples, shape (m,)."""
    rows = as_dense(X) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    total, error = Total((len(rows), 1)), np.zeros(len(rows))
    for some in row_blocks(len(w), 1, 8 * EVALUATION.precise_columns):
        total.add(rows[:, some], w[some, None])
        error += rounding_bound(rows[:, some], w[some])
    sums = two_sum(*total.parts)
    return PreciseSums(sums.hi[:, 0], sums.lo[:, 0], error)


def precise_expansion(kernel: Kernel, X: Stored, Z: Stored, beta: Vector) -> PreciseSums | None:
    """``sum_j k(x_i, z_j) beta_j`` for every row of X, or None where that is not known.

    It is known for the kernels ``RBF`` and ``Polynomial``, within the memory that
    ``EVALUATION.largest_copy_bytes`` allows.

    Parameters
    ----------
    kernel : Kernel
    X, Z : arrays or CSR matrices of shapes (m, d) and (n, d)
    beta : array of shape (n,)

    Returns
    -------
    PreciseSums or None
    """
    d = X.shape[1]
    too_large = 16 * d * (X.shape[0] + Z.shape[0]) > EVALUATION.largest_copy_bytes
    if too_large or type(kernel) not in (RBF, Polynomial) or not len(beta) or not d:
        return None
    left, right = (np.asarray(as_dense(S) if is_sparse(S) else S, np.float64) for S in (X, Z))
    with np.errstate(all="ignore"):
        if isinstance(kernel, RBF):
            return _rbf(kernel, left, right, beta)
        assert isinstance(kernel, Polynomial)
        return _polynomial(kernel, left, right, beta)


def _rbf(kernel: RBF, X: Dense, Z: Dense, beta: Vector) -> PreciseSums | None:
    gamma = float(kernel.gamma)
    centre = np.mean(Z, axis=0)
    pairs = [centred(S, centre) for S in (X, Z)]
    largest = max(largest_magnitude(pair.hi) for pair in pairs)
    scale = FixedPoint.of(
        largest, X.shape[1], EVALUATION.precise_exponent / gamma, EVALUATION.most_digits
    )
    if scale is None:
        return None

    def values(x: Digits, z: Digits) -> DoubleDouble:
        squares = scale.squared_distances(x, z)
        return double_double.exp(double_double.scaled(squares, -gamma))

    # of exp, of its exponent, of the products there, and of values below 1e-250
    relative = 2.0 * (double_double.EXP_ERROR + gamma * scale.error + 2.0**-88)
    lost = 1e-250 * float(np.sum(np.abs(beta)))
    return _summed(scale, pairs, beta, values, lambda sizes: relative * sizes + lost)


def _polynomial(kernel: Polynomial, X: Dense, Z: Dense, beta: Vector) -> PreciseSums | None:
    gamma, p = float(kernel.gamma), int(kernel.degree)
    largest = max(largest_magnitude(X), largest_magnitude(Z))
    scale = FixedPoint.of(
        largest, X.shape[1], EVALUATION.precise_product * largest**2 or 1.0, EVALUATION.most_digits
    )
    if scale is None:
        return None

    def values(x: Digits, z: Digits) -> DoubleDouble:
        products = double_double.scaled(scale.products(x, z), gamma)
        return double_double.power(double_double.plus(products, float(kernel.coef0)), p)

    # p (|argument| + error)^(p - 1) times the error of the argument, and of its powers
    error = gamma * scale.error
    # own_i own_j >= |argument_ij| + error
    own = [np.sqrt(argument_bounds(kernel, S) + error) for S in (X, Z)]
    of_products = 2.0 * p * error * own[0] ** (p - 1)
    of_products *= float(np.abs(beta) @ own[1] ** (p - 1))
    of_powers = p * 2.0**-90 * own[0] ** p * float(np.abs(beta) @ own[1] ** p)
    errors = of_products + of_powers
    exact = [DoubleDouble(S, np.zeros_like(S)) for S in (X, Z)]
    return _summed(scale, exact, beta, values, lambda sizes: errors + 0.0 * sizes)


def _summed(
    scale: FixedPoint,
    pairs: Sequence[DoubleDouble],
    beta: Vector,
    values: Values,
    value_errors: Callable[[Vector], Vector],
) -> PreciseSums | None:
    """Add up kernel values times coefficients, a block of rows and columns at a time."""
    X, Z = pairs
    m, n, own = len(X.hi), len(beta), EVALUATION
    if 8 * (3 * scale.n_digits + 2) * Z.hi.size > own.largest_copy_bytes:
        return None
    hi, lo, error, sizes = (np.zeros(m) for _ in range(4))
    pieces = row_blocks(n, 1, 8 * own.precise_columns)
    right = [scale.digits(DoubleDouble(Z.hi[some], Z.lo[some])) for some in pieces]

    def add(rows: slice) -> None:
        left = scale.digits(DoubleDouble(X.hi[rows], X.lo[rows]))
        total = Total((rows.stop - rows.start, 1))
        for some, digits in zip(pieces, right, strict=True):
            K, weights = values(left, digits), beta[some]
            total.add(K.hi, weights[:, None])
            total.add_terms((K.lo @ weights)[:, None])
            sizes[rows] += np.abs(K.hi) @ np.abs(weights)
            error[rows] += rounding_bound(K.hi, weights)
        sums = two_sum(*total.parts)
        hi[rows], lo[rows] = sums.hi[:, 0], sums.lo[:, 0]

    for_each(add, row_blocks(m, own.precise_columns, own.precise_bytes))
    return PreciseSums(hi, lo, error + value_errors(sizes))
