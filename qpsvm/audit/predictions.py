"""How many labels a model predicts otherwise than the exact optimum does.

A sample that the optimum has on its boundary is predicted by rounding alone (in one-class models
that are all free support vectors): where ``|f*(x)|``, or the lead of the first of several classes,
is below sqrt(eps) units, nothing differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.data import RegressionTrainingSet
from qpsvm.qp._arrays import Dense


def differences(data: Any, model: Any, optimum: Any, boundary: float) -> int | None:
    """Number of samples whose label differs; None where numbers are predicted.

    Parameters
    ----------
    data : TrainingSet
    model, optimum : arrays of shape (n,), or (n, k) with one value per class
        Decision values of the same samples.
    boundary : float
        How close to the boundary a sample is on neither side.
    """
    if isinstance(data, RegressionTrainingSet):
        return None
    if np.ndim(optimum) > 1:
        return of_classes(model, optimum, boundary)
    sure = np.abs(optimum) > boundary
    return int(np.count_nonzero(sure & ((model > 0.0) != (optimum > 0.0))))


def of_classes(model: Dense, optimum: Dense, boundary: float) -> int:
    """The same where the largest of k values decides, shape (n, k)."""
    ranked = np.sort(optimum, axis=1)
    sure = ranked[:, -1] - ranked[:, -2] > boundary
    return int(np.count_nonzero(sure & (np.argmax(model, axis=1) != np.argmax(optimum, axis=1))))
