"""Errors of the kernel values that LIBSVM trains with, and the gap that they can leave.

LIBSVM evaluates ``exp(-gamma (|x|^2 + |z|^2 - 2 x'z))``, or a function of ``x'z``, in double
precision and rounds the value to float32. Far from the origin the norms cancel, and digits are
lost: with d features and the rounding unit u ::

    |k'(x, z) - k(x, z)|  <=  k(x, z) (exp(E(x) + E(z)) - 1),     E(x) = 2 (d + 4) u gamma |x|^2

for the RBF kernel, ``(d + 4) u p a(x) a(z)`` for the others, ``a(x)^2 = (gamma |x|^2 + |c|)^p``.
With the errors of our own values (``certificates.rigorous``) those that it trained with are known
to intervals ``[K-, K+]`` of float32 numbers.

Where it stops, with decision values f' of its own kernel values, no condition is missed by more
than its tolerance (with an intercept between m and M), and a condition's share of the gap is at
most that times its price u_k. f' differs from ``K_rounded beta + b`` by no more than
``(K+ - K-) |beta|`` and the rounding of a gradient that is updated in every iteration. That gives
two parts of the largest possible gap::

    sum_k u_k (tolerance + accumulated rounding),      sum_k u_k (R (K+ - K-) |beta|)_k

Sources: Fan, Chen and Lin, *JMLR* 6 (2005), equation 6; Higham, *Accuracy and Stability of
Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np

from qpsvm.display import short_repr
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.kernels.errors import entry_errors, gram_errors
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.model import SupportVectorModel
from qpsvm.numerics.arrays import Dense, Index, Vector, is_sparse
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kernel_quadratic import KernelQuadratic

Blocks: TypeAlias = Callable[[Index], Iterator[tuple[slice, Dense]]]
"""Function that gives columns of the kernel matrix in blocks of rows."""


@short_repr
@dataclass(frozen=True)
class LostDigits:
    """Bounds on the errors of a library's kernel values, and on the gap that they can leave.

    Attributes
    ----------
    error : float
        No kernel value was off by more than this times the largest, float32 excepted.
    gap : float
        No larger gap follows from these errors and those of their sums. Both are infinite where
        nothing is left of the digits.
    """

    error: float
    gap: float


def lost_digits(
    model: SupportVectorModel, evaluation: Evaluation, iterations: int, blocks: Blocks
) -> LostDigits:
    """Bound the errors of LIBSVM's kernel values and sums, and the gap that they can leave.

    Parameters
    ----------
    model : SupportVectorModel
    evaluation : Evaluation
        Of the model's machine.
    iterations : int
        Each of them adds two rows of the kernel matrix to a gradient. So does the start from
        multipliers above zero, and a gradient that is added up again after shrinking.
    blocks : callable
        Columns of the kernel matrix.
    """
    X, beta = model.data.X, np.abs(np.asarray(evaluation.solution.expansion))
    used = np.flatnonzero(beta)
    sizes, exponents = _errors(model.kernel, X)
    if isinstance(model.gram, KernelQuadratic):
        ours = gram_errors(model.kernel, model.gram.gram)
    else:
        ours = entry_errors(model.kernel, X, X)
    ours = ours.of_part(np.arange(len(beta)), used)
    missed = np.zeros(len(beta))
    with np.errstate(all="ignore"):
        for rows, block in blocks(used) if used.size else ():
            errors = np.multiply.outer(sizes[rows], sizes[used])
            errors += np.multiply.outer(ours.left[rows], ours.right)
            of_rows = exponents[rows] + 2.0 * ours.rows[rows]
            growth = np.expm1(np.add.outer(of_rows, exponents[used] + 2.0 * ours.columns))
            errors += growth * (np.abs(block) + TINY)
            width = np.float32(block + errors) - np.float32(block - errors)
            missed[rows] = width.astype(np.float64) @ beta[used]
        missed += _sums(model, evaluation, iterations)
        gap = float(model.conditions.upper @ model.conditions.row_sizes(missed))
        # |k(x, z)| <= sqrt(k(x, x) k(z, z))
        largest = max(float(np.max(np.abs(model.gram.diagonal()), initial=0.0)), TINY)
        error = float(np.max(sizes)) ** 2 / largest + float(np.expm1(2.0 * np.max(exponents)))
    known = math.isfinite(gap) and math.isfinite(error)
    return LostDigits(error, gap) if known else LostDigits(math.inf, math.inf)


def _sums(model: SupportVectorModel, evaluation: Evaluation, iterations: int) -> float:
    """Rounding of LIBSVM's gradient, and of our products with the rounded kernel matrix."""
    c, terms = model.conditions, float(np.sum(np.abs(evaluation.dual.expansion)))
    largest = float(np.max(np.abs(model.gram.diagonal()), initial=0.0))
    gradient = float(np.max(np.abs(c.required), initial=0.0)) + largest * float(np.sum(c.upper))
    rows = iterations + 2 * len(c)
    steps = 4.0 * EPS * rows * (gradient + 4.0 * largest * float(np.max(c.upper)))
    return steps + 2.0 * EPS * (model.data.n_samples + 16) * largest * terms


def _errors(kernel: Kernel, X: Stored) -> tuple[Vector, Vector]:
    """(a, E) of the errors ``a_i a_j + k_ij (exp(E_i + E_j) - 1)`` of LIBSVM's values."""
    nothing = np.zeros(X.shape[0])
    if isinstance(kernel, Precomputed):  # data
        return nothing, nothing
    squares = np.asarray((X.power(2) if is_sparse(X) else np.square(X)).sum(axis=1)).ravel()
    relative = (X.shape[1] + 4) * EPS  # EPS is twice the rounding unit
    if type(kernel) is Linear:
        return np.sqrt(relative * squares), nothing
    kernel = cast("RBF | Polynomial | Sigmoid", kernel)
    if isinstance(kernel, RBF):
        return nothing, relative * float(kernel.gamma) * squares + 4.0 * EPS
    arguments = float(kernel.gamma) * squares + abs(float(kernel.coef0))
    if isinstance(kernel, Sigmoid):
        return np.sqrt(relative * np.maximum(arguments, 1.0)), nothing
    p = float(kernel.degree)
    return np.sqrt(relative * p * arguments**p), nothing
