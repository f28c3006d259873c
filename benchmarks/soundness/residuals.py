"""The table of ``qpsvm.qp.kkt``, evaluated densely and in extended precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.soundness.dual_points import LD, ROUNDING

EPS = 1e-8
BAND = 1.0 + 1e-6
"""A figure within this factor of its tolerance is on it: the verifier computes in float64."""


def program_is_not_solved(program: Any, qp: Any) -> Iterator[str]:
    """Which of the KKT conditions are missed by more than ``EPS``."""
    vectors = [getattr(qp, name, None) for name in ("x", "z", "y", "z_lower", "z_upper")]
    lengths = [program.n_variables, len(program.h), len(program.b), *[program.n_variables] * 2]
    if any(v is None or np.shape(v) != (m,) for v, m in zip(vectors, lengths, strict=True)):
        yield "no solution of the program"
        return
    x, z, y, z_lower, z_upper = (np.asarray(v, dtype=LD) for v in vectors)
    P, G, A = (np.asarray(_dense(M), dtype=LD) for M in (program.P, program.G, program.A))
    q, h, b, lb, ub = (np.asarray(v, LD) for v in (program.q, program.h, program.b, program.lb,
                                                   program.ub))  # fmt: skip
    largest = max(np.max(np.abs(q)), np.max(np.abs(np.diagonal(P))))
    unit = min(LD(1.0), largest) if largest > 0 else LD(1.0)
    Px, bounds = P @ x, z_lower - z_upper
    r = Px + q + G.T @ z + A.T @ y - bounds
    noise = np.abs(P) @ np.abs(x) + np.abs(q) + np.abs(G.T) @ np.abs(z) + np.abs(A.T) @ np.abs(y)
    noise = noise + np.abs(z_lower) + np.abs(z_upper)
    scale = np.maximum(unit, np.maximum(np.abs(q), np.abs(Px)))
    room = 64 * ROUNDING
    found = [("gradient", np.abs(r), scale, noise)]
    for name, M, right, sign in (("inequality", G, h, 0), ("equality", A, b, 1)):
        if len(right):
            over = M @ x - right
            over = np.abs(over) if sign else np.maximum(over, 0)
            terms = np.abs(M) @ np.abs(x)
            found.append((name, over, terms + np.abs(right), terms))
    for name, bound, below in (("lower bound", lb, lb - x), ("upper bound", ub, x - ub)):
        own = min(LD(1), np.max(np.abs(x))) or LD(1)
        wide = np.maximum(own, np.where(np.isfinite(bound), np.abs(bound), own))
        wide = np.where(ub > lb, np.minimum(ub - lb, wide), wide)
        found.append((name, np.maximum(below, 0), wide, np.abs(x)))
    norms = np.max(np.abs(G), axis=1) if len(h) else np.zeros(0, LD)
    norms = np.concatenate([np.where(norms > 0, norms, 1), np.ones(2 * len(x))])
    multipliers = np.concatenate([z, z_lower, z_upper])
    q_scale = max(unit, np.max(np.abs(q)))
    found.append(("sign", np.maximum(-multipliers, 0), q_scale / norms, 0))
    slacks = np.concatenate([h - G @ x, x - lb, ub - x])
    objective = x @ Px / 2 + q @ x
    size = max(LD(1.0), x @ Px / 2 + abs(q @ x))  # the table's: the objective's terms at the point
    products = np.abs(multipliers * np.where(np.isinf(slacks), LD(np.inf), slacks))
    products = np.where(multipliers == 0, 0, products)
    spread = np.concatenate([np.abs(G) @ np.abs(x) + np.abs(h), *[np.abs(x)] * 2])
    found.append(("complementarity", products, size, np.abs(multipliers) * spread))
    dual = -(x @ Px) / 2 - h @ z - b @ y
    dual = dual + np.sum(np.where(np.isfinite(lb), lb, 0) * z_lower)
    dual = dual - np.sum(np.where(np.isfinite(ub), ub, 0) * z_upper)
    total = np.abs(x) @ (np.abs(P) @ np.abs(x)) + np.abs(q) @ np.abs(x) + np.abs(h) @ np.abs(z)
    total = total + np.abs(b) @ np.abs(y)
    found.append(("gap", np.abs([objective - dual]), size, total))
    for name, absolute, unit_of, noise_of in found:
        if not np.all(absolute <= unit_of * EPS * BAND + room * noise_of):
            worst = float(np.max(absolute / np.maximum(unit_of, LD(1e-300))))
            yield f"the program's {name} is off by {worst:.1e}"


def _dense(matrix: Any) -> Any:
    for method in ("to_dense", "toarray"):
        if hasattr(matrix, method):
            return getattr(matrix, method)()
    return matrix
