"""Bounds on the rounding errors of kernel values.

How far a computed block ``k(x_i, z_j)`` can be from the exact kernel function of the float64
samples follows from how ``qpsvm.kernels.functions`` evaluates it (lemmas 4 to 6 of
``docs/rounding.md``)::

    |k^_ij - k_ij|  <=  ((1 + rows_i) (1 + columns_j) - 1) k^_ij  +  left_i right_j  +  underflow

The exponential of the compiled core is within 1.5 ulp, which is proven. The one assumption beyond
IEEE 754: NumPy's ``tanh`` and ``power`` are accurate to 4 ulp. NumPy's own tests hold tanh to 2 ulp
in double precision.

A device (``qpsvm.device``) evaluates values from squared differences and inner products, with an
exponential and a tanh within 1 ulp: within the same bounds (``docs/gpu.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.kernels.base import Kernel
from qpsvm.kernels.exponents import Frame
from qpsvm.kernels.functions import RBF, Linear, Polynomial, Sigmoid
from qpsvm.kernels.products import exponent_roundings
from qpsvm.kernels.settings import EVALUATION
from qpsvm.numerics.arrays import Index, Vector
from qpsvm.numerics.balls import U, gamma, n_terms, outward, root, row_squares
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.sample_gram import SampleGram

FUNCTION_ROUNDINGS = 8
"""Relative error of tanh and power in units of u: at most 4 ulp, each at most 2u."""

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
        return EntryErrors.of_product(outward(gamma(terms) * _norms(X)), _norms(Z))
    if type(kernel) is Polynomial:
        p = int(kernel.degree)
        left, right = (argument_bounds(kernel, S) ** (0.5 * p) for S in (X, Z))
        k = p * (terms + 3) + FUNCTION_ROUNDINGS
        return EntryErrors.of_product(outward(gamma(k) * outward(left)), outward(right))
    assert type(kernel) is Sigmoid
    left, right = (root(1.0 + argument_bounds(kernel, S)) for S in (X, Z))
    k = terms + 3 + FUNCTION_ROUNDINGS
    return EntryErrors.of_product(outward(gamma(k) * left), right)


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
    halves = [frame.half_squares(S, float(kernel.gamma)) for S in (X, Z)]
    k = gamma(exponent_roundings(terms))
    largest = outward(2.0 * EVALUATION.far * gamma(exponent_roundings(X.shape[1])))
    relative, all_near = list[Vector](), True
    for half in halves:
        is_near = half <= EVALUATION.far / 2.0  # False for NaN
        error = outward(k * (2.0 * half * (1.0 + 2.0 * k)))
        E = outward(np.where(is_near, error, largest) + EXP_ROUNDINGS * U)
        relative.append(outward(E * (1.0 + E)) if largest <= 0.5 else np.full(len(half), np.inf))
        all_near &= bool(is_near.all())
    left = np.full(X.shape[0], 0.0 if all_near else outward(2.0 * math.exp(-EVALUATION.negligible)))
    return EntryErrors(relative[0], relative[1], left, np.ones(Z.shape[0]))


def _norms(X: Stored) -> Vector:
    return np.asarray(root(row_squares(X).upper))


def argument_bounds(kernel: Polynomial | Sigmoid, X: Stored) -> Vector:
    """``gamma |x_i|^2 + |coef0|``, for a Cauchy-Schwarz bound on the kernel's argument."""
    squares = row_squares(X).upper
    return np.asarray(outward(float(kernel.gamma) * squares + abs(kernel.coef0)))
