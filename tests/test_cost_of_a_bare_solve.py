"""What surrounds the solver in a solve of a small bare program: counts of calls, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.qp import QuadraticProgram

PACKAGE = qpsvm.__file__.rpartition("/")[0]


def program(n: int = 12) -> QuadraticProgram:
    """A dense strictly convex program with rows, an equality and bounds."""
    random = np.random.default_rng(n)
    F, x = random.standard_normal((n, n)), random.uniform(-0.5, 0.5, n)
    G, A = random.standard_normal((n, n)), random.standard_normal((1, n))
    h, P = G @ x + random.uniform(0.0, 1.0, n), F @ F.T + np.eye(n)
    return QuadraticProgram(P, random.standard_normal(n), G, h, A, A @ x, -1.0, 1.0)


def calls_of(action: Callable[[], Any]) -> tuple[list[CodeType], int]:
    """The package's functions that an action calls, and how often it makes a sparse matrix."""
    called, made = list[CodeType](), 0
    constructors = {sp.csc_array.__init__.__code__, sp.coo_array.__init__.__code__}

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal made
        if event == "call":
            made += frame.f_code in constructors
            if frame.f_code.co_filename.startswith(PACKAGE):
                called.append(frame.f_code)

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return called, made


@pytest.mark.parametrize(
    ("backend", "most_calls", "most_matrices"),
    [("osqp", 750, 8), ("cvxopt", 900, 0), ("qpsolvers:piqp", 750, 0)],
)
def test_a_bare_solve_makes_few_calls(
    monkeypatch: pytest.MonkeyPatch, backend: str, most_calls: int, most_matrices: int
) -> None:
    monkeypatch.setenv("QPSVM_CHILDREN", "0")
    qpsvm.solve(program(), backend)  # imports
    called, made = calls_of(lambda: qpsvm.solve(program(), backend))
    assert len(called) <= most_calls
    assert made <= most_matrices


def test_what_a_verdict_needs_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QPSVM_CHILDREN", "0")
    called, _ = calls_of(lambda: qpsvm.solve(program(), "qpsolvers:piqp"))
    names = [code.co_name for code in called]
    assert names.count("is_definite") == 1
    assert names.count("nearest_feasible") == 1
    assert names.count("repaired_dual_objective") == 1  # of the residuals
    # at the solver's point, at the feasible one beside it, and at that of a Newton step
    assert names.count("product_with_error") <= 3
