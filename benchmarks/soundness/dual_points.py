"""Points of a dual program: value, feasibility, and the nearest feasible one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.families import Dual

LD = np.longdouble
ROUNDING = float(np.finfo(np.float64).eps)


def value(D: Dual, v: Any) -> Any:
    """``-(1/2 v'Pv + q'v)``, which is at most the optimum for a feasible v."""
    return -(v @ (D.P @ v) / 2 + D.q @ v)


def terms(D: Dual, v: Any) -> Any:
    """The sum of the absolute terms of ``value``."""
    size = np.abs(v)
    return size @ (np.abs(D.P) @ size) / 2 + np.abs(D.q) @ size


def infeasibility(D: Dual, v: Any) -> Any:
    """The worst of box, sums and inequalities, each relative to its terms; NaN passes through."""
    size = np.abs(v)
    worst = [LD(0.0)]
    worst.append(np.max(np.maximum(D.lower - v, v - D.upper) / np.maximum(size, 1e-300)))
    if len(D.b):
        scale = np.abs(D.A) @ size + np.abs(D.b)
        worst.append(np.max(np.abs(D.A @ v - D.b) / np.maximum(scale, 1e-300)))
    if len(D.h):
        scale = np.abs(D.G) @ size + np.abs(D.h)
        worst.append(np.max((D.G @ v - D.h) / np.maximum(scale, 1e-300)))
    return np.max(np.array(worst))


def repaired(D: Dual, v: Any) -> Any:
    """A feasible point near v: clipped; then the sums are set right by what is inside the box."""
    v = np.clip(v, D.lower, D.upper)
    for _ in range(6):
        over = D.G @ v - D.h
        rows = np.flatnonzero(over > 0) if 0 < len(D.h) <= 2 else []
        M = np.vstack([D.A, D.G[rows]]) if len(rows) else D.A
        if not len(M):
            break
        right = np.concatenate([D.b, D.h[rows]]) if len(rows) else D.b
        room = np.minimum(v - D.lower, D.upper - v)
        room = np.where(np.isinf(room), np.maximum(np.abs(v), np.max(np.abs(v))), room)
        scaled = np.asarray(M * room, dtype=np.float64)
        scale = float(np.max(np.abs(scaled))) or 1.0
        gram = (scaled / scale) @ (np.asarray(M, dtype=np.float64)).T
        step = np.linalg.lstsq(gram, np.asarray(M @ v - right, dtype=np.float64), rcond=None)[0]
        v = np.clip(v - room * (M.T @ (step / LD(scale))), D.lower, D.upper)
    if len(D.h) > 2:  # the 1-norm's rows: zero is feasible
        v = v / max(LD(1.0), np.max(D.G @ v))
    return v
