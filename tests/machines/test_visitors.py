"""Every kind of problem calls the method of a visitor for its kind, with the solution as given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import chunked

X, Y = np.arange(6.0).reshape(6, 1), np.array([0, 0, 1, 1, 2, 2])
CHUNKS = chunked(X, Y > 1, rows=3)
FAMILY = qpsvm.SoftMargin(C=1.0)


class Named:
    """Visitor that returns the name of the method that was called, the problem and the solution."""

    def __getattr__(self, name: str) -> Callable[..., tuple[object, ...]]:
        return lambda problem, solution: (name, problem, solution)


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        (qpsvm.qp.QuadraticProgram([[1.0]], [1.0]), "program"),
        (FAMILY.dual(X, Y > 1), "machine"),
        (qpsvm.CrammerSinger(C=1.0).dual(X, Y), "machine"),
        (qpsvm.OneVsOne(FAMILY).dual(X, Y), "reduced"),
        (FAMILY.dual(CHUNKS), "chunked"),
        (FAMILY.dual(CHUNKS, kernel=qpsvm.kernels.RBF(gamma=1.0)), "chunked_kernel"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_problem_calls_the_method_for_its_kind(problem: object, name: str) -> None:
    solution = object()
    assert problem.accept(Named(), solution) == (name, problem, solution)  # type: ignore[attr-defined]
