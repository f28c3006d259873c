"""Errors of the kernel values that LIBSVM trains with, and the gap that they can leave.

LIBSVM evaluates ``exp(-gamma (|x|^2 + |z|^2 - 2 x'z))``, or a function of ``x'z``, in double
precision and rounds the value to float32. Far from the origin the norms cancel, and digits are
lost: with d features and the rounding unit u ::

    |k'(x, z) - k(x, z)|  <=  k(x, z) (exp(E(x) + E(z)) - 1),     E(x) = 2 (d + 16) u gamma |x|^2

for the RBF kernel, ``(d + 16) u p a(x) a(z)`` for the others, ``a(x)^2 = (gamma |x|^2 + |c|)^p``.
So the values that it trained with are known to intervals ``[K-, K+]`` of float32 numbers.

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
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.model import SupportVectorModel
from qpsvm.numerics.arrays import Dense, Index, Vector, is_sparse
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.single_precision import Stored

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
        No larger gap follows from these errors. Both are infinite where nothing is left of the
        digits.
    """

    error: float
    gap: float


def stopping_gap(
    model: SupportVectorModel, evaluation: Evaluation, tolerance: float, iterations: int
) -> float:
    """The largest gap at which LIBSVM stops, for its own kernel values.

    Parameters
    ----------
    model : SupportVectorModel
    evaluation : Evaluation
        Of the model's machine.
    tolerance : float
        In the scale of the program.
    iterations : int
        Each of them adds two rows of the kernel matrix to a gradient.
    """
    c = model.conditions
    largest = float(np.max(np.abs(model.gram.diagonal()), initial=0.0))
    prices, terms = float(np.sum(c.upper)), float(np.sum(np.abs(evaluation.dual.expansion)))
    gradient = float(np.max(np.abs(c.required), initial=0.0)) + largest * prices
    steps = 4.0 * EPS * iterations * (gradient + 4.0 * largest * float(np.max(c.upper)))
    own = 2.0 * EPS * (model.data.n_samples + 16) * largest * terms  # of our products
    return (tolerance + steps + own) * prices


def lost_digits(model: SupportVectorModel, evaluation: Evaluation, blocks: Blocks) -> LostDigits:
    """Bound the errors of LIBSVM's kernel values, and the gap that they leave."""
    beta = np.abs(np.asarray(evaluation.solution.expansion))
    used = np.flatnonzero(beta)
    sizes, exponents = _errors(model.kernel, model.data.X)
    missed, largest_error, largest = np.zeros(len(beta)), 0.0, TINY
    with np.errstate(all="ignore"):
        for rows, block in blocks(used) if used.size else ():
            errors = np.multiply.outer(sizes[rows], sizes[used])
            if exponents is not None:
                growth = np.expm1(np.add.outer(exponents[rows], exponents[used]))
                errors += growth * (block + TINY)
            width = np.float32(block + errors) - np.float32(block - errors)
            missed[rows] = width.astype(np.float64) @ beta[used]
            largest_error = float(np.maximum(largest_error, np.max(errors)))
            largest = max(largest, float(np.max(np.abs(block))))
        gap = float(model.conditions.upper @ model.conditions.row_sizes(missed))
    known = math.isfinite(gap) and math.isfinite(largest_error)
    return LostDigits(largest_error / largest, gap) if known else LostDigits(math.inf, math.inf)


def _errors(kernel: Kernel, X: Stored) -> tuple[Vector, Vector | None]:
    """(a, E) of the errors ``a_i a_j + k_ij (exp(E_i + E_j) - 1)`` of our values and LIBSVM's."""
    n = X.shape[0]
    if isinstance(kernel, Precomputed):  # data
        return np.zeros(n), None
    squares = np.asarray((X.power(2) if is_sparse(X) else np.square(X)).sum(axis=1)).ravel()
    relative = 2.0 * (X.shape[1] + 16) * EPS  # twice: of both
    if type(kernel) is Linear:
        return np.sqrt(relative * squares), None
    kernel = cast("RBF | Polynomial | Sigmoid", kernel)
    if isinstance(kernel, RBF):
        return np.zeros(n), 2.0 * relative * float(kernel.gamma) * squares + 8.0 * EPS
    arguments = float(kernel.gamma) * squares + abs(float(kernel.coef0))
    p = float(kernel.degree) if isinstance(kernel, Polynomial) else 1.0
    return np.sqrt(relative * p * (arguments**p if p > 1.0 else np.maximum(arguments, 1.0))), None
