"""A table of samples that was read from a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qpsvm.files.text import Labels


@dataclass(frozen=True, eq=False)
class Table:
    """Samples with labels, groups and names of the features, where there are any.

    Attributes
    ----------
    X : array of shape (n, d)
    y, groups : arrays of shape (n,) or None
    feature_names : tuple of str or None
    """

    X: npt.NDArray[np.float64]
    y: Labels | None
    groups: Labels | None
    feature_names: tuple[str, ...] | None
