"""Small programs whose answer is known, one for each way a program can be special."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.qp import QuadraticProgram


@dataclass(frozen=True)
class Case:
    """A program and its optimum; ``x`` and ``y`` where they are unique."""

    program: QuadraticProgram
    objective: float
    x: tuple[float, ...] | None = None
    y: tuple[float, ...] | None = None


def _textbook() -> Case:
    """Min 1/2 x1^2 + 3 x1 + 4 x2: P is singular, the optimum is a vertex."""
    program = QuadraticProgram(
        np.diag([1.0, 0.0]),
        [3.0, 4.0],
        G=[[-1.0, -3.0], [2.0, 5.0], [3.0, 4.0]],
        h=[-15.0, 100.0, 80.0],
        lb=0.0,
    )
    return Case(program, 20.0, (0.0, 5.0))


def _equality() -> Case:
    """Projection of a point on a plane: x = c - A'(AA')^-1 (Ac - b), y = (AA')^-1 (Ac - b)."""
    c, A, b = np.array([1.0, 2.0, 3.0]), np.array([[1.0, 1.0, 1.0]]), np.array([3.0])
    y = np.linalg.solve(A @ A.T, A @ c - b)
    x = c - A.T @ y
    value = 0.5 * float(x @ x) - float(c @ x)
    return Case(QuadraticProgram(np.eye(3), -c, A=A, b=b), value, tuple(x), tuple(y))


def _two_equalities() -> Case:
    """Dense P, two rows: the KKT system is one linear system."""
    P = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    q, b = np.array([1.0, -2.0, 0.5]), np.array([1.0, -1.0])
    A = np.array([[1.0, 2.0, -1.0], [0.0, 1.0, 1.0]])
    system = np.block([[P, A.T], [A, np.zeros((2, 2))]])
    solved = np.linalg.solve(system, np.concatenate([-q, b]))
    x, y = solved[:3], solved[3:]
    return Case(
        QuadraticProgram(P, q, A=A, b=b), float(0.5 * x @ P @ x + q @ x), tuple(x), tuple(y)
    )


OPTIMAL: Mapping[str, Case] = {
    "textbook": _textbook(),
    "equality": _equality(),
    "two equalities": _two_equalities(),
    # a row, its double, and a row through the same vertex
    "degenerate": Case(
        QuadraticProgram(
            np.eye(2),
            [-2.0, -2.0],
            G=[[1.0, 1.0], [2.0, 2.0], [1.0, 0.0], [0.0, 1.0]],
            h=[2.0, 4.0, 1.0, 1.0],
        ),
        -3.0,
        (1.0, 1.0),
    ),
    "infinite bounds": Case(
        QuadraticProgram(
            np.eye(3), [-3.0, 1.0, 2.0], lb=[-np.inf, 0, -np.inf], ub=[2, np.inf, np.inf]
        ),
        -6.0,
        (2.0, 0.0, -2.0),
    ),
    "infinite rows": Case(
        QuadraticProgram(np.eye(2), [-3.0, -1.0], G=[[1.0, 0.0], [0.0, 1.0]], h=[np.inf, 0.5]),
        -4.875,
        (3.0, 0.5),
    ),
    "no constraints": Case(QuadraticProgram(2 * np.eye(2), [-2.0, 4.0]), -5.0, (1.0, -2.0)),
    "fixed variable": Case(
        QuadraticProgram(np.eye(2), [1.0, -1.0], lb=[0.5, -np.inf], ub=[0.5, 10.0]),
        0.125,
        (0.5, 1.0),
    ),
    "redundant equalities": Case(
        QuadraticProgram(
            np.eye(2), [0.0, 0.0], A=[[1.0, 1.0], [2.0, 2.0], [-1.0, -1.0]], b=[2.0, 4.0, -2.0]
        ),
        1.0,
        (1.0, 1.0),
    ),
    "one variable": Case(QuadraticProgram([[1.0]], [-3.0], ub=[2.0]), -4.0, (2.0,)),
    # the third variable is in the equality alone
    "singular": Case(
        QuadraticProgram(
            np.diag([1.0, 1.0, 0.0]), [-1.0, 0.5, 0.0], A=[[1.0, 1.0, 1.0]], b=[3.0], lb=0.0, ub=5.0
        ),
        -0.5,
        (1.0, 0.0, 2.0),
    ),
}

SINGULAR = frozenset({"textbook", "singular"})
"""Cases whose P is not positive definite."""

LINEAR: Mapping[str, Case] = {
    "linear": Case(
        QuadraticProgram(None, [-1.0, -2.0], G=[[1.0, 1.0], [1.0, 3.0]], h=[4.0, 6.0], lb=0.0),
        -5.0,
        (3.0, 1.0),
    ),
    "linear with an equality": Case(
        QuadraticProgram(None, [1.0, 2.0, 3.0], A=[[1.0, 1.0, 1.0]], b=[1.0], lb=0.0),
        1.0,
        (1.0, 0.0, 0.0),
        (-1.0,),
    ),
}

INFEASIBLE: Mapping[str, QuadraticProgram] = {
    "rows": QuadraticProgram(np.eye(2), [1.0, 1.0], G=[[1.0, 1.0], [-1.0, -1.0]], h=[-1.0, -1.0]),
    "equality against bounds": QuadraticProgram(
        np.eye(2), [1.0, 1.0], A=[[1.0, 1.0]], b=[5.0], lb=0.0, ub=1.0
    ),
    "equalities": QuadraticProgram(np.eye(2), [1.0, 1.0], A=[[1.0, 1.0], [2.0, 2.0]], b=[1.0, 3.0]),
}

UNBOUNDED: Mapping[str, QuadraticProgram] = {
    "half line": QuadraticProgram(np.diag([1.0, 0.0]), [1.0, -1.0], lb=0.0),
    "line": QuadraticProgram(np.diag([1.0, 0.0]), [1.0, -1.0]),
    "linear": QuadraticProgram(None, [-1.0, 1.0], lb=0.0),
}


def larger(n: int = 40) -> QuadraticProgram:
    """A box, an equality and a dense P: enough work for a few iterations of any solver."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 5))
    signs = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    P = np.outer(signs, signs) * np.exp(-0.2 * distances)
    return QuadraticProgram(P, -np.ones(n), A=signs[None], b=[0.0], lb=0.0, ub=1.0)


def sparse_primal(n: int = 30) -> QuadraticProgram:
    """A sparse P and a sparse G: the shape of a support vector machine's primal."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    signs = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    P = sp.diags_array(np.concatenate([np.ones(3), np.zeros(n + 1)])).tocsc()
    G = sp.hstack([sp.csc_array(-signs[:, None] * X), -signs[:, None], -sp.eye_array(n)])
    q = np.concatenate([np.zeros(4), np.ones(n)])
    lb = np.concatenate([np.full(4, -np.inf), np.zeros(n)])
    return QuadraticProgram(P, q, sp.csc_array(G), -np.ones(n), lb=lb)
