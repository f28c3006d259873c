"""The vectors of a solution, checked for presence, shape and finiteness."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution


def checked_vectors(
    program: QuadraticProgram, solution: QPSolution
) -> tuple[tuple[Vector, Vector, Vector, Vector, Vector] | None, tuple[str, ...]]:
    """Return the five vectors of a solution, or the reason why one is unusable."""
    n = program.n_variables
    lengths = {
        "x": n,
        "z": program.n_inequalities,
        "y": program.n_equalities,
        "z_lower": n,
        "z_upper": n,
    }
    problems, vectors = [], []
    for name, length in lengths.items():
        vector: Vector | None = getattr(solution, name)
        if vector is None:
            problems.append(f"{name} is missing")
            continue
        if vector.shape != (length,):
            problems.append(f"{name} has shape {vector.shape}, the program needs ({length},)")
        elif not np.isfinite(vector).all():
            problems.append(f"{name} has NaN or infinite entries")
        vectors.append(vector)
    if problems:
        return None, tuple(problems)
    x, z, y, z_lower, z_upper = vectors
    return (x, z, y, z_lower, z_upper), ()
