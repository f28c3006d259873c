"""Separate fits of each candidate and fold, where kernel matrices cannot be shared.

Kernels that are not positive semidefinite by their type (matrices and functions of the caller's,
the sigmoid), and more samples than ``SearchSettings.largest_matrix`` allows. Every machine has its
own certificate.
"""

from __future__ import annotations

import time
import warnings
from contextlib import suppress

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from qpsvm.estimators import inputs
from qpsvm.estimators.base import QPEstimator
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import Labels, Samples
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import Stored, rows_of
from qpsvm.selection.scores import Predictions
from qpsvm.selection.tasks import Fold


def run_separately(
    estimator: QPEstimator, X: Stored, y: Labels, weights: Vector | None, fold: Fold
) -> tuple[Predictions, float, float]:
    """Fit one estimator on a fold, and predict its held-out samples.

    Returns
    -------
    Predictions, fit_seconds, score_seconds
    """
    train, test = fold.train, fold.test
    is_matrix = inputs.is_precomputed(estimator)
    parts = (
        (X[np.ix_(train, train)], X[np.ix_(test, train)])
        if is_matrix
        else (rows_of(X, train), rows_of(X, test))
    )
    own = None if weights is None else weights[train]
    machine, began = clone(estimator), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the results
        machine.fit(parts[0], y[train], own)
    fitted = time.perf_counter()
    squares = np.diagonal(X)[test] if is_matrix else None
    found = _predictions(machine, parts[1], squares)
    return found, fitted - began, time.perf_counter() - fitted


def _predictions(machine: QPEstimator, X: Samples, squares: Vector | None) -> Predictions:
    labels, proof = machine.predict(X), machine.certificate_
    decided = np.zeros(len(labels), dtype=bool)
    if is_classifier(machine):
        with suppress(InvalidParameterError):  # k(x, x) of a repaired kernel matrix is not known
            decided = proof.predict_certified(X, squares=squares).decided
        values = machine.decision_function(X)
        return Predictions(labels, decided, values, labels, labels, proof.relative_gap)
    unknown = np.full(len(labels), np.inf)
    low, high = -unknown, unknown
    with suppress(InvalidParameterError):
        bounds = proof.decision_bounds(X, squares=squares)
        low, high = bounds.lower, bounds.upper
    return Predictions(labels, decided, labels, low, high, proof.relative_gap)
