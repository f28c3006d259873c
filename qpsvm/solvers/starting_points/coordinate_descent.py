"""Starting points for easy problems: a few passes of LIBLINEAR's coordinate descent.

It takes soft margins, ``q = -1`` and ``0 <= x <= upper``, and converges fast where the upper bounds
are low. What is read off its weights is measured like any other guess, so that it need not be known
beforehand whether a problem is easy. A free intercept is penalised for the descent, and then put
where it is best for the weights.

LIBLINEAR returns the weights ``w = F'x`` and not x. So every sample gets a feature of its own,
of a tiny size p: its weight is ``p x_i``, up to the sign. It adds ``p^2`` to the diagonal of
``F F'``, less than rounding, so that the iterates stay the same to the last bit.

Source: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for
large-scale linear SVM", ICML 2008, algorithm 3; here by scikit-learn's ``LinearSVC``.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.interrupts import interruptible
from qpsvm.numerics.single_precision import SinglePrecision, Stored, stored_values
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.starting_points.settings import STARTS

DUAL_HINGE = 3
"""LIBLINEAR's number of the dual program with the hinge loss."""


class _OneRun:
    """Lock of a run of LIBLINEAR: all threads share its generator of random numbers."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_RUN = _OneRun()


def _forget_run() -> None:
    """Start anew in a forked process, where the thread that holds the lock does not exist."""
    _RUN.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_run)


@dataclass(frozen=True, eq=False)
class Descended:
    """Result of coordinate descent: weights, intercept and dual variables.

    Attributes
    ----------
    w, y : arrays of shape (r,) and (p,)
    x : array of shape (n,) or None
        The dual variables, ``w = F'x``, where they were asked for.
    g : array of shape (n,)
        The gradient there.
    cost : float
        Minus the dual objective: of a machine, its primal one.
    tolerance : float or None
        Largest violation of the optimality conditions, in units of margins; None if it was cut off
        before it reached what it was asked for.
    """

    w: Vector
    y: Vector
    x: Vector | None
    g: Vector
    cost: float
    tolerance: float | None

    def on(self, program: FactorProgram, x: Vector) -> Descended:
        """The same weights for a program of which some variables were merged or fixed."""
        g = program.gradient(self.w, self.y, np.empty(program.size))
        return replace(self, x=x, g=g, cost=_cost(program, self.w, self.y, g))


def suits(program: FactorProgram) -> bool:
    """Return whether LIBLINEAR solves this program, apart from a free intercept."""
    p, F = program, program.F
    return bool(
        F.selection.index is None
        and _takes(F.samples)
        and not p.d.any()
        and (p.q == -1.0).all()
        and (p.lower == 0.0).all()
        and np.isfinite(p.upper).all()
        and (np.abs(F.selection.signs) == 1.0).all()
        and -1.0 < np.mean(F.selection.signs) < 1.0
        and not p.offset.any()
        and (len(p.A) == 0 or _has_free_intercept(p))
    )


def _takes(X: Any) -> bool:
    """Return whether LIBLINEAR takes these samples and the copies of them fit into memory."""
    if sp.issparse(X) and not X.indices.dtype == X.indptr.dtype == np.int32:
        return False
    if isinstance(X, SinglePrecision):
        return False
    return STARTS.bytes_per_entry * stored_values(X).size <= STARTS.largest_copy


def _has_free_intercept(p: FactorProgram) -> bool:
    """Return whether the only row is ``y'x = 0`` with labels y."""
    return (
        len(p.A) == 1
        and not p.F.constant
        and not p.b.any()
        and np.array_equal(p.A[0], p.F.selection.signs)
    )


def affordable(program: FactorProgram) -> float:
    """Number of passes that take about as long as ten Newton steps of a smoothed program.

    By count and not by the clock: only the ratios of the seconds matter, and the same program has
    the same answer.
    """
    step = newton_step(program.size, program.F.rank)
    is_sparse = program.F.is_sparse
    entry = STARTS.seconds_per_entry if is_sparse else STARTS.seconds_per_copied_entry
    return float(STARTS.newton_steps * step / (entry * program.F.n_entries))


def newton_step(n: int, rank: int) -> float:
    """Seconds of a Newton step for so many variables and weights."""
    per_variable = STARTS.seconds_per_variable + 0.5 * STARTS.seconds_per_product * rank**2
    return STARTS.seconds_per_step + n * per_variable


@cache
def load() -> Any:
    """Import scikit-learn's wrapper of LIBLINEAR, which takes a second.

    Its function is called instead of ``LinearSVC.fit``, which warns where the passes are used up:
    filters of warnings are of the whole process, and a run may go on after Ctrl-C.
    """
    from sklearn.svm import _liblinear

    return _liblinear


def descended(program: FactorProgram, passes: int, tolerance: float) -> Descended:
    """Run coordinate descent for at most so many passes over the samples."""
    F = program.F
    w, intercept, has_converged = _fitted(program, F.samples, passes, tolerance)
    if F.constant:
        w = np.append(w, intercept / F.root)
    y = _best_intercept(program, w) if len(program.A) else np.zeros(0)
    g = program.gradient(w, y, np.empty(program.size))
    return Descended(w, y, None, g, _cost(program, w, y, g), tolerance if has_converged else None)


def dual_variables(program: FactorProgram, passes: int, tolerance: float) -> tuple[Vector, bool]:
    """Run coordinate descent; return x, and whether it ended before its passes were used up.

    A free intercept is penalised: x need not satisfy the row of A.
    """
    F = program.F
    samples = _with_private_features(F.samples)
    weights, _, has_converged = _fitted(program, samples, passes, tolerance)
    own = weights[F.width :] / STARTS.private_feature
    own *= F.selection.signs
    return _within_box(program, own), has_converged


def _fitted(
    program: FactorProgram, samples: Stored, passes: int, tolerance: float
) -> tuple[Vector, float, bool]:
    """Weights and intercept by LIBLINEAR, and whether it reached its tolerance."""
    F = program.F
    liblinear, has_bias = load(), F.constant > 0.0 or len(program.A) > 0
    bias = F.root or 1.0
    X = samples if sp.issparse(samples) else np.ascontiguousarray(samples, dtype=np.float64)
    train = partial(
        liblinear.train_wrap,
        X,
        (F.selection.signs > 0.0).astype(np.float64),
        sp.issparse(X),
        DUAL_HINGE,
        tolerance,
        bias if has_bias else -1.0,
        1.0,  # C, which the weights of the samples contain
        np.ones(2),
        passes,
        np.random.RandomState(0).randint(np.iinfo("i").max),
        0.0,  # of regressions
        np.array(program.upper),
    )

    def run() -> tuple[Dense, Index]:
        with _RUN.lock:  # for as long as it runs, also where it was left
            liblinear.set_verbosity_wrap(0)
            found: tuple[Dense, Index] = train()
            return found

    coef, iterations = interruptible(run)
    weights = np.ravel(coef)
    has_converged = bool(iterations[0] < passes)
    if not has_bias:
        return weights, 0.0, has_converged
    return weights[:-1], bias * float(weights[-1]), has_converged


def _cost(program: FactorProgram, w: Vector, y: Vector, g: Vector) -> float:
    """Minus the dual objective of (w, y)."""
    return -program.dual(np.zeros(program.size), y, w, g)


def _with_private_features(X: Any) -> sp.csr_array:
    """The samples as a sparse matrix, each with one more feature that no other sample has."""
    (n, width), size = X.shape, STARTS.private_feature
    own = np.arange(width, width + n, dtype=np.int32)
    if sp.issparse(X):
        starts, ends = X.indptr + np.arange(n + 1, dtype=np.int32), X.indptr[1:]
        arrays = (
            np.insert(X.data, ends, size),
            np.insert(X.indices, ends, own),
            starts,
        )
        return sp.csr_array(arrays, shape=(n, width + n))
    values, features = (
        np.full((n, width + 1), size),
        np.empty((n, width + 1), np.int32),
    )
    values[:, :width], features[:, :width], features[:, width] = X, np.arange(width), own
    is_stored = values != 0.0
    if is_stored.all():
        starts = np.arange(0, values.size + 1, width + 1, dtype=np.int32)
        return sp.csr_array((values.ravel(), features.ravel(), starts), shape=(n, width + n))
    starts = np.zeros(n + 1, np.int32)
    np.cumsum(np.count_nonzero(is_stored, axis=1), out=starts[1:])
    arrays = values[is_stored], features[is_stored], starts
    return sp.csr_array(arrays, shape=(n, width + n))


def _within_box(program: FactorProgram, x: Vector) -> Vector:
    """The same point, its variables at a bound where only rounding keeps them from it."""
    lower, upper = program.lower, program.upper
    rounding = STARTS.at_bound * (upper - lower)
    x = np.where(x <= lower + rounding, lower, x)
    return np.asarray(np.where(x >= upper - rounding, upper, x))


def _best_intercept(p: FactorProgram, w: Vector) -> Vector:
    """Multiplier y that minimises the primal objective for given weights.

    Its slope is ``-y'x`` with every ``x_i`` at the bound that the sign of ``g_i = g0_i + A_i y``
    says. It grows by ``|A_i| u_i`` where that sign changes.
    """
    a = p.A[0]
    zeros = -p.gradient(w, np.zeros(1), np.empty(p.size)) / a
    order = np.argsort(zeros)
    first = float(np.sum(np.where(a > 0.0, a * p.upper, 0.0)))
    slopes = np.cumsum((np.abs(a) * p.upper)[order]) - first
    crossing = order[int(np.searchsorted(slopes, 0.0))]
    return np.array([zeros[crossing]])
