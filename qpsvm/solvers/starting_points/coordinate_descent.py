"""Starting points for easy problems: a few passes of LIBLINEAR's coordinate descent.

It takes soft margins, ``q = -1`` and ``0 <= x <= upper``, and converges fast where the upper bounds
are low. What is read off its weights is measured like any other guess, so that it need not be known
beforehand whether a problem is easy. A free intercept is penalised for the descent, and then put
where it is best for the weights.

Source: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for
large-scale linear SVM", ICML 2008, algorithm 3; here by scikit-learn's ``LinearSVC``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import SinglePrecision, stored_values
from qpsvm.solvers.interior_point.program import FactorProgram

PER_ENTRY, PER_COPIED = 5e-9, 12e-9
"""Seconds of a pass for an entry of F; of an array, which LIBLINEAR copies to lists."""

PER_VARIABLE, PER_PRODUCT = 50e-9, 5e-11
"""Seconds of a Newton step for a variable, and for a product of two entries."""

COPY, LARGEST_COPY = 16, 2**30
"""Bytes that LIBLINEAR needs for an entry, and that it may need for all."""


@dataclass(frozen=True, eq=False)
class Descended:
    """Result of coordinate descent: weights, dual variables and intercept.

    Attributes
    ----------
    w, y : arrays of shape (r,) and (p,)
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
    g: Vector
    cost: float
    tolerance: float | None


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
    """Return whether LIBLINEAR takes these samples and its copy of them fits into memory."""
    if sp.issparse(X) and not X.indices.dtype == X.indptr.dtype == np.int32:
        return False
    return not isinstance(X, SinglePrecision) and COPY * stored_values(X).size <= LARGEST_COPY


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
    n, rank = program.size, program.F.rank
    step = n * (PER_VARIABLE + 0.5 * PER_PRODUCT * rank**2)
    entry = PER_ENTRY if program.F.is_sparse else PER_COPIED
    return float(10.0 * step / (entry * program.F.n_entries))


def load() -> Any:
    """Import LIBLINEAR, which takes a second."""
    from sklearn.svm import LinearSVC

    return LinearSVC


def descended(program: FactorProgram, passes: int, tolerance: float) -> Descended:
    """Run coordinate descent for at most so many passes over the samples."""
    from sklearn.exceptions import ConvergenceWarning

    F = program.F
    machine = load()(
        loss="hinge",
        C=1.0,
        tol=tolerance,
        max_iter=passes,
        fit_intercept=F.constant > 0.0 or len(program.A) > 0,
        intercept_scaling=F.root or 1.0,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(F.samples, F.selection.signs, sample_weight=program.upper)
    w = np.ravel(machine.coef_)
    if F.constant:
        w = np.append(w, machine.intercept_ / F.root)
    y = _best_intercept(program, w) if len(program.A) else np.zeros(0)
    g = program.gradient(w, y, np.empty(program.size))
    cost = -program.dual(np.zeros(program.size), y, w, g)
    return Descended(w, y, g, cost, tolerance if machine.n_iter_ < passes else None)


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
