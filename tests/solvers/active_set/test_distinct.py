"""Samples that are there several times, as one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qpsvm.kernels import RBF
from qpsvm.qp import KernelQuadratic, QuadraticProgram, SampleGram
from qpsvm.solvers.box.program import Boxed
from qpsvm.solvers.box.solver import Distinct
from qpsvm.solvers.budget import Point
from tests.tolerances import ROUNDING

PLENTY = 2**30
KERNEL = RBF(0.4)


def boxed(X, index, *, diag=0.0, kernel=KERNEL, rows=0):
    """Conditions on samples, the same bounds and costs for all; with inequality rows."""
    n = len(X) if index is None else len(index)
    P = KernelQuadratic(SampleGram(kernel, X), None, index, np.full(n, diag), constant=1.0)
    ub = np.inf if diag else 1.0
    inequalities = {"G": np.ones((rows, n)), "h": np.full(rows, 9.0)} if rows else {}
    program = QuadraticProgram(P, -np.ones(n), lb=0.0, ub=ub, **inequalities)
    return Boxed.of(program, PLENTY).box, P


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("diag", [0.0, 0.7])
@pytest.mark.parametrize("shared", [False, True])
def test_the_smaller_program_is_the_same_one(shared, diag, rows) -> None:
    rng = np.random.default_rng(0)
    X = np.tile(rng.standard_normal((15, 2)), (4, 1))
    index = np.repeat(np.arange(60), 2) if shared else None
    given, P = boxed(X, index, diag=diag, rows=rows)
    found = Distinct.of(given, P)
    assert found is not None
    assert found.P.size == found.P.gram.size == 15
    np.testing.assert_allclose(found.box.diagonal[:15], found.P.diagonal(), atol=ROUNDING)
    sums = found.box.clip(rng.uniform(0.0, 8.0, found.box.size))
    small = Point(sums, found.box.P.product(sums), rng.standard_normal(rows))
    large = found.undone(small)
    np.testing.assert_allclose(found.sums(large.x), sums, atol=ROUNDING)
    np.testing.assert_allclose(large.Px, given.P.product(large.x), atol=100 * ROUNDING)
    for measure in ("objective", "relative_gap"):
        one, other = getattr(found.box, measure)(small), getattr(given, measure)(large)
        if measure == "objective" or not diag:  # room without an end is taken to be 1 + x
            assert one == pytest.approx(other, rel=100 * ROUNDING)


def test_shares_add_up_to_their_sum() -> None:
    """Hundreds of products of the same two numbers are all rounded the same way."""
    rng = np.random.default_rng(1)
    counts = np.array([2, 3, 7, 500, 1300])
    X = np.repeat(rng.standard_normal((5, 2)), counts, axis=0)
    given, _ = boxed(X, None)
    found = Distinct.of(given, KernelQuadratic(SampleGram(KERNEL, X), None, None, None))
    assert found is not None
    sums = counts * rng.uniform(0.1, 0.9, 5)
    x = found.undone(Point(sums, np.zeros(5), np.zeros(0))).x
    ends = np.cumsum(counts)
    exact = [math.fsum(part) for part in np.split(x, ends[:-1])]
    np.testing.assert_allclose(exact, sums, rtol=2.0**-53)
    assert ((x >= 0.0) & (x <= 1.0)).all()


@pytest.mark.parametrize("X", [np.array([["ab"], ["b"]] * 40, dtype=object), np.arange(80) % 2])
def test_what_is_no_row_of_numbers_is_not_compared(X) -> None:
    def shared(left, right):
        return np.ones((len(left), len(right)))

    assert Distinct.of(*boxed(X, None, kernel=shared)) is None


def test_samples_that_all_differ_stay() -> None:
    assert Distinct.of(*boxed(np.arange(80.0)[:, None], None)) is None
