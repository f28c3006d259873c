"""The score of an estimator on samples, with its name."""

from __future__ import annotations

from typing import Any

import numpy as np


def score_of(estimator: Any, X: Any, y: Any, groups: Any = None) -> tuple[str, float]:
    """Name and value of the score: accuracy, R squared, share of ordered pairs or of inliers.

    Parameters
    ----------
    estimator : fitted estimator
    X : array or CSR array of shape (m, d)
    y : array of shape (m,)
        Labels or targets; not used for novelty detectors.
    groups : array of shape (m,) or None
        Queries of a ranking.
    """
    from sklearn.base import is_classifier, is_outlier_detector, is_regressor

    if is_outlier_detector(estimator):
        return "share of samples inside", float(np.mean(estimator.predict(X) == 1))
    if is_classifier(estimator):
        return "accuracy", float(estimator.score(X, y))
    if is_regressor(estimator):
        return "R squared", float(estimator.score(X, y))
    return "share of pairs in order", float(estimator.score(X, y, groups=groups))


def score_line(name: str, value: float, where: str) -> str:
    """A score as a line of text; shares are printed in percent.

    Examples
    --------
    >>> score_line("accuracy", 0.98, "Training")
    'Training accuracy: 98.00 %'
    >>> score_line("R squared", 0.5, "")
    'R squared: 0.5000'
    """
    text = f"{value:.4f}" if name == "R squared" else f"{100.0 * value:.2f} %"
    line = f"{where} {name}: {text}".strip()
    return line[0].upper() + line[1:]
