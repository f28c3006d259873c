"""The two-class problems inside scikit-learn's bundled sets, standardised."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

SETS = {
    "breast_cancer": (datasets.load_breast_cancer, None),
    "iris 0-1": (datasets.load_iris, (0, 1)),
    "iris 1-2": (datasets.load_iris, (1, 2)),
    "wine 0-1": (datasets.load_wine, (0, 1)),
    "wine 1-2": (datasets.load_wine, (1, 2)),
    "digits 3-8": (datasets.load_digits, (3, 8)),
    "digits 1-7": (datasets.load_digits, (1, 7)),
}


def bundled(name: str) -> tuple[Any, Any]:
    """Samples and labels of the set of that name."""
    load, pair = SETS[name]
    X, y = load(return_X_y=True)
    if pair is not None:
        chosen = np.isin(y, pair)
        X, y = X[chosen], y[chosen]
    return StandardScaler().fit_transform(X), y
