"""Bounds on the rounding errors of kernel values.

How far a computed block ``k(x_i, z_j)`` can be from the exact kernel function of the float64
samples follows from how ``qpsvm.kernels.functions`` evaluates it (lemmas 4 to 6 of
``docs/rounding.md``)::

    |k^_ij - k_ij|  <=  ((1 + rows_i) (1 + columns_j) - 1) k^_ij  +  left_i right_j  +  underflow

The exponential of the compiled core is within 1.5 ulp, which is proven, and powers are products.
The one assumption beyond IEEE 754: NumPy's ``tanh`` is accurate to 4 ulp. NumPy's own tests hold it
to 2 ulp in double precision.

A device (``qpsvm.device``) evaluates values from squared differences and inner products, with an
exponential and a tanh within 1 ulp: within the same bounds (``docs/gpu.md``).

Expansions ``sum_j k(x_i, z_j) beta_j`` are evaluated to about 19 digits: the kernel function on the
float64 samples as they are, with inner products and squared distances without rounding
(``numerics.precision``), their exponential or power in numbers of twice the precision, and sums
with compensation. A value takes some fifty times as long as an ordinary one, so certificates ask
for the few sums alone on which a verdict depends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from qpsvm.kernels.functions import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.kernels.products import EVALUATION, Frame, exponent_roundings
from qpsvm.numerics import precision
from qpsvm.numerics.arrays import (
    IN_CACHE,
    Dense,
    Index,
    Vector,
    as_dense,
    is_sparse,
    largest_magnitude,
    row_blocks,
)
from qpsvm.numerics.balls import U, gamma, n_terms, outward, root, row_squares
from qpsvm.numerics.compensated import FEW_TERMS, PreciseSums, Total, rounding_bound
from qpsvm.numerics.precision import TINY, Digits, DoubleDouble, FixedPoint, centred, two_sum
from qpsvm.numerics.single_precision import Stored
from qpsvm.numerics.threads import for_each
from qpsvm.qp.sample_gram import SampleGram

TANH_ROUNDINGS = 8
"""Relative error of tanh in units of u: at most 4 ulp, each at most 2u."""

EXP_ROUNDINGS = 10.0
"""Error of an exponent that stands for the error of exp itself (lemma 6), in units of u."""


@dataclass(frozen=True, eq=False)
class EntryErrors:
    """Bounds on the errors of a block of computed kernel values, relative and absolute.

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

    def of_part(self, rows: Index, columns: Index) -> EntryErrors:
        """The bounds for some rows and columns of the block."""
        left, right = self.left[rows], self.right[columns]
        return EntryErrors(self.rows[rows], self.columns[columns], left, right)


def entry_errors(kernel: Kernel, X: Stored, Z: Stored) -> EntryErrors:
    """Bound the errors of ``kernel(X, Z)``, or of blocks of its rows with the same Z.

    Infinite where nothing is known; zero for kernels whose computed values are their values.

    Parameters
    ----------
    kernel : Kernel
        With every parameter a number.
    X, Z : arrays or CSR matrices of shapes (m, d) and (n, d)

    Returns
    -------
    EntryErrors
    """
    m, n = X.shape[0], Z.shape[0]
    if type(kernel) is RBF:
        return _rbf_errors(kernel, X, Z)
    if type(kernel) not in (Linear, Polynomial, Sigmoid):  # what it returns is what K is
        return EntryErrors.of_product(np.zeros(m), np.zeros(n))
    terms = max(n_terms(X), n_terms(Z))
    if type(kernel) is Linear:
        norms = _norms(Z)
        own = norms if X is Z else _norms(X)
        return EntryErrors.of_product(outward(gamma(terms) * own), norms)
    if type(kernel) is Polynomial:
        p = int(kernel.degree)
        left, right = (argument_bounds(kernel, S) ** (0.5 * p) for S in (X, Z))
        roundings = gamma(p * (terms + 3))
        return EntryErrors.of_product(outward(roundings * outward(left)), outward(right))
    assert type(kernel) is Sigmoid
    left, right = (root(1.0 + argument_bounds(kernel, S)) for S in (X, Z))
    roundings = gamma(terms + 3 + TANH_ROUNDINGS)
    return EntryErrors.of_product(outward(roundings * left), right)


def gram_errors(kernel: Kernel, gram: SampleGram) -> EntryErrors:
    """Bound the errors of a Gram matrix, which may be a part of a larger one."""
    if gram.whole is None:
        return entry_errors(kernel, gram.X, gram.X)
    whole, samples = gram.whole
    return gram_errors(kernel, whole).of_part(samples, samples)


def diagonal_errors(kernel: Kernel, X: Stored, values: Vector) -> Vector:
    """Bound the errors of ``k(x_i, x_i)``, whose computed values are given, shape (n,)."""
    if isinstance(kernel, RBF):  # its diagonal is exactly 1
        return np.zeros(len(values))
    errors = entry_errors(kernel, X, X)
    relative = errors.rows + errors.columns + errors.rows * errors.columns
    return np.asarray(relative * np.abs(values) + errors.left * errors.right)


def _rbf_errors(kernel: RBF, X: Stored, Z: Stored) -> EntryErrors:
    """Bound the errors of RBF values (lemmas 5 and 6).

    A pair with large norms has its exponent from differences, or a negligible value.
    """
    frame = Frame.of(Z)
    terms = X.shape[1] if frame.centre is not None else max(n_terms(X), n_terms(Z))
    k = gamma(exponent_roundings(terms))
    largest = outward(2.0 * EVALUATION.far * gamma(exponent_roundings(X.shape[1])))

    def bounds(samples: Stored) -> tuple[Vector, bool]:
        half = frame.half_squares(samples, float(kernel.gamma))
        is_near = half <= EVALUATION.far / 2.0  # False for NaN
        error = outward(k * (2.0 * half * (1.0 + 2.0 * k)))
        E = outward(np.where(is_near, error, largest) + EXP_ROUNDINGS * U)
        relative = outward(E * (1.0 + E)) if largest <= 0.5 else np.full(len(half), np.inf)
        return np.asarray(relative), bool(is_near.all())

    columns, all_near = bounds(Z)
    rows, rows_near = (columns, all_near) if X is Z else bounds(X)
    left = 0.0 if all_near and rows_near else outward(2.0 * math.exp(-EVALUATION.negligible))
    return EntryErrors(rows, columns, np.full(X.shape[0], left), np.ones(Z.shape[0]))


def _norms(X: Stored) -> Vector:
    return np.asarray(root(row_squares(X).upper))


def argument_bounds(kernel: Polynomial | Sigmoid, X: Stored) -> Vector:
    """``gamma |x_i|^2 + |coef0|``, for a Cauchy-Schwarz bound on the kernel's argument."""
    squares = row_squares(X).upper
    return np.asarray(outward(float(kernel.gamma) * squares + abs(kernel.coef0)))


# --- expansions with digits to spare -------------------------------------------------------------


Values: TypeAlias = Callable[[Digits, Digits], DoubleDouble]


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
        return precision.exp(precision.scaled(squares, -gamma))

    # of exp, of its exponent, of the products there, and of values below 1e-250
    relative = 2.0 * (precision.EXP_ERROR + gamma * scale.error + 2.0**-88)
    underflow = 1e-250 * float(np.sum(np.abs(beta)))
    return _summed(scale, pairs, beta, values, lambda sizes: relative * sizes + underflow)


def _polynomial(kernel: Polynomial, X: Dense, Z: Dense, beta: Vector) -> PreciseSums | None:
    gamma, p = float(kernel.gamma), int(kernel.degree)
    largest = max(largest_magnitude(X), largest_magnitude(Z))
    smallest = EVALUATION.precise_product * largest * largest or 1.0
    scale = FixedPoint.of(largest, X.shape[1], smallest, EVALUATION.most_digits)
    if scale is None:
        return None

    def values(x: Digits, z: Digits) -> DoubleDouble:
        products = precision.scaled(scale.products(x, z), gamma)
        return precision.power(precision.plus(products, float(kernel.coef0)), p)

    # p (|argument| + error)^(p - 1) times the error of the argument, and of its powers
    error = gamma * scale.error
    # own_i own_j >= |argument_ij| + error
    own = [np.sqrt(argument_bounds(kernel, S) + error) for S in (X, Z)]
    of_products = 2.0 * p * error * own[0] ** (p - 1)
    of_products *= float(np.abs(beta) @ own[1] ** (p - 1))
    of_powers = p * 2.0**-90 * own[0] ** p * float(np.abs(beta) @ own[1] ** p)
    errors = of_products + of_powers + TINY * float(np.sum(np.abs(beta)))  # and of underflow
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
    m, n = len(X.hi), len(beta)
    if 8 * (3 * scale.n_digits + 2) * Z.hi.size > EVALUATION.largest_copy_bytes:
        return None
    hi, lo, error, sizes = (np.zeros(m) for _ in range(4))
    pieces = row_blocks(n, 1, 8 * FEW_TERMS)
    right = [scale.digits(DoubleDouble(Z.hi[some], Z.lo[some])) for some in pieces]

    def add(rows: slice) -> None:
        left = scale.digits(DoubleDouble(X.hi[rows], X.lo[rows]))
        total = Total((rows.stop - rows.start, 1))
        for some, digits in zip(pieces, right, strict=True):
            K, weights = values(left, digits), beta[some]
            total.add(K.hi, weights[:, None])
            total.add_terms((K.lo @ weights)[:, None])
            sizes[rows] += np.abs(K.hi) @ np.abs(weights)
            error[rows] += rounding_bound(K.hi, weights) + total.lost_rounding[:, 0]
        sums = two_sum(*total.parts)
        hi[rows], lo[rows] = sums.hi[:, 0], sums.lo[:, 0]

    for_each(add, row_blocks(m, FEW_TERMS, IN_CACHE))
    return PreciseSums(hi, lo, error + value_errors(sizes))
