"""All losses of the library by one formula: the support function of an interval.

A condition that is violated by v costs::

    loss(v) = max { a v - d/2 a^2  :  lower <= a <= upper }

and the maximising a is its dual variable. The interval and d decide which loss it is:

==========================  ===========  ==========  =========  =========================
loss                        lower        upper       d          loss(v)
==========================  ===========  ==========  =========  =========================
hinge                       0            C           0          ``C max(0, v)``
squared hinge               0            infinity    1/(2C)     ``C max(0, v)^2``
hard margin                 0            infinity    0          0, infinite for v > 0
pinball                     -C (1-tau)   C tau       0          ``C tau v``, ``-C (1-tau) v``
squared                     -infinity    infinity    1/C        ``C/2 v^2``
==========================  ===========  ==========  =========  =========================

Source: Rockafellar, *Convex Analysis* (1970), section 12; Boyd and Vandenberghe, *Convex
Optimization*, section 3.3 (the loss is the conjugate of ``d/2 a^2`` restricted to the interval).
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Vector


def slopes(v: Vector, lower: Vector, upper: Vector, d: Vector) -> Vector:
    """The slope of every loss at v (at a kink, the larger one), shape (n,)."""
    with np.errstate(all="ignore"):
        flat = np.where(v >= 0.0, upper, lower)
        if not d.any():
            return flat
        return np.where(d > 0.0, np.clip(v / np.where(d > 0.0, d, 1.0), lower, upper), flat)


def losses(v: Vector, lower: Vector, upper: Vector, d: Vector) -> Vector:
    """Compute the loss of every condition; vectors of other shapes are broadcast."""
    with np.errstate(all="ignore"):
        if not d.any() and np.isfinite(lower).all() and np.isfinite(upper).all():
            return np.maximum(lower * v, upper * v)
        a = np.where(v == 0.0, 0.0, slopes(v, lower, upper, d))  # infinity times zero is zero here
        return np.where(d > 0.0, a * v - 0.5 * d * a * a, a * v)  # a may be infinite without d
