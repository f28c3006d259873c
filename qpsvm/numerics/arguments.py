"""Type aliases of unchecked public arguments (samples, targets, weights), and a number check."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.numerics.arrays import Array

VectorLike: TypeAlias = npt.ArrayLike
"""Numbers in one row: an array, a list, a column of a DataFrame; a number where all are equal."""

MatrixLike: TypeAlias = npt.ArrayLike | sp.sparray | sp.spmatrix
"""A table of numbers: an array, a sparse matrix, a DataFrame, a list of rows."""

Samples: TypeAlias = MatrixLike | Sequence[object]
"""Samples: a table of numbers with one in each row, or a list of objects for some kernels."""

Targets: TypeAlias = npt.ArrayLike | Sequence[object]
"""One label, target or group per sample: an array, a list, a column of a DataFrame."""

Weights: TypeAlias = VectorLike
"""One factor per sample, not negative."""

Labels: TypeAlias = Array
"""Labels, targets or groups as an array, of whatever dtype they came in."""


def is_real_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number that is a float, infinity included; no boolean."""
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool) and abs(int(value)) <= sys.float_info.max
    return isinstance(value, float | np.floating)


def is_finite_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number; no boolean."""
    return is_real_number(value) and math.isfinite(value)
