"""The two constants of double precision that bounds on rounding are made of."""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(np.float64).eps)
"""Distance from 1 to the next larger number, 2.2e-16: twice the largest relative rounding error."""

TINY = float(np.finfo(np.float64).tiny)
"""Smallest normal number, 2.2e-308: below it, rounding is no longer relative."""
