"""Refinement: nearer to the optimum than sums in double precision can tell."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from qpsvm.kernels import Polynomial
from qpsvm.numerics import compensated
from qpsvm.qp import KernelQuadratic, QuadraticProgram, SampleGram
from qpsvm.solvers.box.program import Boxed
from qpsvm.solvers.box.working_sets import refine, working_set_method
from qpsvm.solvers.budget import Point, WorkBudget

PLENTY = 2**30


def program(seed, *, copies=1, C=1e4):
    """Of a classifier whose kernel values are exact, and of so few samples that C is too large."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.choice([-1.0, 1.0], (80 // copies, 16)), copies, axis=0)
    y = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0)
    P = KernelQuadratic(SampleGram(Polynomial(gamma=0.125, degree=3, coef0=1.0), X), y)
    n = len(X)
    qp = QuadraticProgram(P, -np.ones(n), A=y[None], b=np.zeros(1), lb=0.0, ub=C)
    return Boxed.of(qp, PLENTY).box, P


def with_compensated_gradient(P, point):
    return replace(point, Px=compensated.product(P.to_dense(), point.x[:, None])[:, 0], drift=0.0)


def settled(box, P):
    """Where working sets end, and a little away from there."""
    point = working_set_method(box, np.zeros(box.size), WorkBudget(largest=1000))
    free = box.is_free(point.x)
    x = np.where(free, point.x * (1.0 + 1e-11 * np.cos(np.arange(box.size))), point.x)
    return with_compensated_gradient(P, replace(point, x=box.clip(x)))


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_gap_falls_and_the_point_stays_one(seed, copies) -> None:
    """With copies the matrix of the free variables is singular."""
    box, P = program(seed, copies=copies)
    before = settled(box, P)
    found = refine(box, before, WorkBudget(largest=1000))
    seen = with_compensated_gradient(P, found)  # its own gradient needs no second look
    assert box.relative_gap(seen) <= 0.1 * box.relative_gap(before)
    assert box.relative_gap(seen) <= 2.0 * box.relative_gap(found) + 1e-14
    assert (found.x >= box.lower).all()
    assert (found.x <= box.upper).all()
    assert box.rows_hold(found.x)


@pytest.mark.parametrize("largest", [0, 3])
def test_without_memory_the_point_stays(largest) -> None:
    box, P = program(0)
    before = settled(box, P)
    assert refine(box, before, WorkBudget(largest=largest)) is before


def test_without_free_variables_the_point_stays() -> None:
    box, _ = program(0)
    point = Point(np.zeros(box.size), np.zeros(box.size), np.zeros(1))
    assert refine(box, point, WorkBudget(largest=1000)) is point


def test_who_ends_the_effort_gets_the_point() -> None:
    box, P = program(0)
    before = settled(box, P)
    ended = WorkBudget(largest=1000, watch=lambda _: False)
    assert refine(box, before, ended) is before


def test_numbers_that_are_none_are_not_refined() -> None:
    box, P = program(0)
    before = replace(settled(box, P), Px=np.full(box.size, math.nan))
    assert refine(box, before, WorkBudget(largest=1000)) is before
