"""Separate fits of each candidate and fold, where kernel matrices cannot be shared.

Kernels that are not positive semidefinite by their type (matrices and functions of the caller's,
the sigmoid), more samples than ``SearchSettings.largest_matrix`` allows, and scorers that need a
fitted estimator. Every machine has its own certificate.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import _safe_split

from qpsvm.estimators import inputs
from qpsvm.estimators.base import QPEstimator
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Vector
from qpsvm.selection.scores import Predictions, ScoreInterval, of_estimator
from qpsvm.selection.tasks import Fold


def run_separately(
    estimator: QPEstimator,
    X: Any,
    y: Any,
    weights: Vector | None,
    fold: Fold,
    scorer: Callable[..., float] | None,
) -> tuple[Predictions, ScoreInterval | None, float, float]:
    """Fit one estimator on a fold, and predict its held-out samples.

    Parameters
    ----------
    estimator : QPEstimator
    X, y
        Samples and targets in the containers of the caller, of which rows can be taken; the kernel
        matrix as an array.
    weights : array of shape (n,) or None
    fold : Fold
    scorer : callable or None
        A function of (estimator, X, y).

    Returns
    -------
    Predictions
    ScoreInterval or None
        By the scorer, if there is one.
    fit_seconds, score_seconds : float
    """
    train, test = fold.train, fold.test
    machine, began = clone(estimator), time.perf_counter()
    samples, targets = _safe_split(machine, X, y, train)
    others, their_targets = _safe_split(machine, X, y, test, train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the results
        machine.fit(samples, targets, None if weights is None else weights[train])
    fitted = time.perf_counter()
    squares = np.diagonal(X)[test] if inputs.is_precomputed(estimator) else None
    found, score = _predictions(machine, inputs.samples(machine, others), squares), None
    if scorer is not None:
        own = None if weights is None else weights[test]
        score = of_estimator(machine, others, their_targets, scorer, own)
    return found, score, fitted - began, time.perf_counter() - fitted


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
