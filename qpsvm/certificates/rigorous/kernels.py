"""The parts of rigorous bounds: decision values, norms and a program's own numbers as balls.

The errors of kernel values are those of ``qpsvm.kernels.errors``. Matrices that are data
(precomputed, a callable's, repaired) have none.

All rigorous bounds assume that the processor rounds as IEEE 754 requires (``require_ieee``). A
library compiled with ``-ffast-math`` switches subnormal numbers off for the process that loads
it; the control word of a thread can also ask for another direction of rounding.

The numbers of a program were computed from parameters: ``C_i = C x weights / W``,
``p_i = t_i - epsilon``, ``d_i = 1/(2 C_i)``, ``p_i = k(x_i, x_i)``. Bounds are to hold for the
program of the parameters, so each of them is taken to be near what is stored (lemma 8).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.display import short_repr
from qpsvm.exceptions import ArithmeticModeError, InvalidDataError, InvalidParameterError
from qpsvm.kernels import RBF, Kernel, Linear, Precomputed
from qpsvm.kernels.errors import EntryErrors, entry_errors, gram_errors
from qpsvm.kernels.kernel_repair import FACTOR, KernelRepair
from qpsvm.machines.joint.model import JointModel
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.solution import SVMSolution
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
    within,
)
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.sample_gram import SampleGram

_HALF_AN_ULP = sys.float_info.epsilon / 2.0


def is_ieee() -> bool:
    """Return whether this thread rounds to nearest, ties to even, with gradual underflow."""
    one, tiny = np.float64(1.0), np.float64(sys.float_info.min)
    with np.errstate(under="ignore"):
        to_nearest = one + _HALF_AN_ULP == one and one + 1.5 * _HALF_AN_ULP > one
        downwards = -one - _HALF_AN_ULP == -one and -one - 1.5 * _HALF_AN_ULP < -one
        gradual = tiny / 2.0 > 0.0 and (tiny / 2.0) * 2.0 == tiny
    return bool(to_nearest and downwards and gradual)


def require_ieee() -> None:
    """Raise ArithmeticModeError unless this thread rounds as IEEE 754 requires.

    Raises
    ------
    ArithmeticModeError
        Subnormal numbers count as zero, or rounding is not to nearest.

    Examples
    --------
    >>> require_ieee()  # nothing happens: bounds computed in this thread are rigorous
    """
    if not is_ieee():
        raise ArithmeticModeError(
            "The arithmetic of this process is not IEEE 754: subnormal numbers are zero, or it does"
            " not round to nearest. A library compiled with -ffast-math was loaded (Snap ML is "
            "one); certify in a process of its own."
        )


@short_repr
@dataclass(frozen=True)
class Enclosure:
    """Bounds on both objectives that hold in exact arithmetic on the given float64 data.

    Attributes
    ----------
    objective_upper : float
        At least the objective of the machine as it predicts; that of a hard margin is of (w, b)
        scaled up until its smallest margin is 1. Infinite where nothing is known.
    feasible : bool
        Whether every hard condition and every constraint on (w, b) provably holds (of a hard
        margin: for the scaled machine).
    dual_lower : float
        At most the optimum: at most the dual objective of some exactly feasible dual point. Minus
        infinity where none was found.
    margin : float
        ``min(1, smallest margin)`` of a hard margin, from below: the scaled machine is at most
        ``1/margin`` times the one that predicts. 1 for everything else.
    """

    objective_upper: float
    feasible: bool
    dual_lower: float
    margin: float = 1.0

    @property
    def primal_upper(self) -> float:
        """``objective_upper``; infinite unless the machine is proven to be feasible."""
        return self.objective_upper if self.feasible else math.inf

    @property
    def gap_upper(self) -> float:
        """Upper bound on the objective minus the optimum, in exact arithmetic."""
        gap = self.primal_upper - self.dual_lower
        return max(0.0, math.nextafter(gap, math.inf)) if not math.isnan(gap) else math.inf


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


PRODUCT_ROUNDINGS = 32
"""Number of roundings of a computed ``C_i``, at most: 8 operations, and what underflow
adds to a result whose inverse is finite."""


def upper_bound_error(weights: Vector, n_rows: int) -> float:
    """Bound the relative rounding error of the computed upper bounds ``C_i``.

    Sums of weights, and of their products in pairs, are exact where they are whole numbers.
    """
    whole = bool((weights == np.floor(weights)).all()) and float(np.sum(weights)) < 2.0**26
    return gamma(PRODUCT_ROUNDINGS + (0 if whole else 3 * max(n_rows, len(weights))))


def larger(bound: Vector, error: float) -> Vector:
    """Upper bound of the magnitude of the exact bound; infinity is kept."""
    return outward(np.abs(bound) * (1.0 + 2.0 * error))


def smaller(bound: Vector, error: float) -> Vector:
    """Lower bound of the magnitude of the exact bound; infinity is kept."""
    return np.abs(bound) * (1.0 - 2.0 * error)


def own_squares(model: SupportVectorModel | JointModel) -> Ball:
    """``|phi(x_i)|^2 = K_ii`` of the training samples, as a ball."""
    kernel = model.exact_kernel
    return Ball.exact(model.gram.diagonal()) if kernel is None else squares(kernel, model.data.X)


def own_norms(model: SupportVectorModel | JointModel) -> Vector:
    """Upper bounds of ``|phi(x_i)|`` of the training samples: ``|K_ij| <= norms_i norms_j``.

    Where K has eigenvalues down to ``-delta`` those of ``K + 2 delta I``. NaN where a matrix that
    is data has a negative diagonal: it is no kernel's.
    """
    upper = own_squares(model).upper
    return np.where(upper < 0.0, np.nan, root(upper + 2.0 * model.negative_bound))


def required(model: SupportVectorModel) -> Ball:
    """The required values p as a ball: rounded once, or ``k(x_i, x_i)`` of the samples."""
    c = model.conditions
    return own_squares(model) if c.minus_self_similarity else within(c.required, 1)


def decision_enclosure(
    solution: SVMSolution | JointSolution, X: Stored, self_similarity: Vector | None = None
) -> tuple[Dense, Dense]:
    """Compute decision values with error bounds, ``|f(x) - value| <= error`` for each row x.

    f is ``coef'x + intercept``, or ``sum_i expansion_i k(x_i, x) + intercept`` with the exact
    kernel function (a callable's values are exact as they come), less ``k(x, x)`` for
    ``DataDescription``.

    Parameters
    ----------
    solution : SVMSolution or JointSolution
    X : array, DataFrame or sparse matrix of shape (m, d)
        What ``solution.decision_function`` takes.
    self_similarity : array of shape (m,), optional
        ``k(x, x)`` to the last bit, which a precomputed kernel matrix of new samples does not hold.

    Returns
    -------
    values, errors : arrays of shape (m,), or (m, k) with one decision function per class
        Where nothing is known (overflow, NaN in the solution) the value is 0, the error infinite.

    Raises
    ------
    InvalidDataError
        As ``decision_function``.

    Notes
    -----
    ``docs/rounding.md`` has the proof. NumPy's tanh is assumed to be accurate to 4 ulp.

    Examples
    --------
    >>> import qpsvm
    >>> solution = qpsvm.solve(qpsvm.SoftMargin().dual([[0.0], [2.0]], [-1, 1], kernel="rbf"))
    >>> values, errors = decision_enclosure(solution, [[0.5], [3.0]])
    >>> bool((errors < 1e-13).all())
    True
    """
    samples = solution.checked_samples(X)
    with np.errstate(all="ignore"):
        values = _values(solution, samples)
        values += Ball.exact(np.broadcast_to(solution.intercept, np.shape(values.mid)))
        if solution.is_ball:
            given = self_similarity
            values -= squares(solution.kernel, samples) if given is None else Ball.exact(given)
    known = np.isfinite(values.mid) & np.isfinite(values.rad)
    return np.where(known, values.mid, 0.0), np.where(known, values.rad, np.inf)


def _values(solution: SVMSolution | JointSolution, samples: Stored) -> Ball:
    """``w'phi(x)`` for every row, as a ball."""
    if solution.coef is not None:
        return product(samples, Ball.exact(solution.coef.T))
    if solution.expansion is None:
        raise InvalidDataError("This solution has neither coef nor an expansion.")
    beta = Ball.exact(solution.expansion)
    if solution.repair is not None:
        beta = _repaired(solution.repair, beta)
    if isinstance(solution.kernel, Precomputed):
        return product(samples, beta)
    size = np.abs(beta.mid) + beta.rad
    used = np.unique(np.nonzero(size)[0])
    centres, weights = solution.data.X[used], beta[used]
    errors = entry_errors(solution.kernel, samples, centres)
    blocks = (
        (rows, solution.kernel(samples[rows], centres))
        for rows in row_blocks(samples.shape[0], max(1, len(used)))
    )
    flat = (len(used), math.prod(beta.mid.shape[1:]))  # none may be used
    columns = Ball(weights.mid.reshape(flat), weights.rad.reshape(flat))
    values = expanded(blocks, columns, errors)
    shape = (samples.shape[0], *beta.mid.shape[1:])
    return Ball(values.mid.reshape(shape), values.rad.reshape(shape))


def _repaired(repair: KernelRepair, beta: Ball) -> Ball:
    """The coefficients ``T beta = beta - FACTOR V V'beta`` of a repaired kernel as a ball."""
    V = repair.negative_vectors
    along = product(V, product(V.T, beta))
    return beta - Ball.exact(FACTOR[repair.policy]) * along
