"""A good guess for easy problems: a few passes of LIBLINEAR's coordinate descent.

It takes soft margins without a free intercept, ``q = -1``, ``0 <= x <= upper`` and no rows, and
converges fast where the upper bounds are low. What is read off its weights is measured like any
other guess, so that it need not be known beforehand whether a problem is easy.

Source: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for
large-scale linear SVM", ICML 2008, algorithm 3; here by scikit-learn's ``LinearSVC``.
"""

from __future__ import annotations

import warnings

import numpy as np

from qpsvm.backends.ipm.program import FactorProgram
from qpsvm.qp._arrays import Vector

PASSES = 50
"""Over the samples, at most."""

TOLERANCE = 1e-3
"""Largest violation of the optimality conditions, in units of margins."""


def suits(program: FactorProgram) -> bool:
    """Whether LIBLINEAR solves this program."""
    p, F = program, program.F
    return bool(
        len(p.A) == 0
        and F.index is None
        and F.zeros == 0
        and not p.d.any()
        and (p.q == -1.0).all()
        and (p.lower == 0.0).all()
        and np.isfinite(p.upper).all()
        and (np.abs(F.signs) == 1.0).all()
        and -1.0 < np.mean(F.signs) < 1.0
        and not p.offset.any()
    )


def descended(program: FactorProgram) -> Vector:
    """Weights after that many passes, shape (r,)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    F = program.F
    machine = LinearSVC(
        loss="hinge",
        C=1.0,
        tol=TOLERANCE,
        max_iter=PASSES,
        fit_intercept=F.constant > 0.0,
        intercept_scaling=F.root or 1.0,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(F.X, F.signs, sample_weight=program.upper)
    w = np.ravel(machine.coef_)
    return np.append(w, machine.intercept_ / F.root) if F.constant else w
