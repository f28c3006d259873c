"""Machines of one kernel matrix along growing boxes: each is optimal, from the one before."""

from __future__ import annotations

import numpy as np
import pytest

from qpsvm.direct import related
from qpsvm.direct.related import RelatedMachines
from qpsvm.solvers.box.program import BoxProgram, row_multipliers
from qpsvm.solvers.box.related import RelatedPrograms
from qpsvm.solvers.budget import Point

SCALES = [0.01, 0.1, 1.0, 1.5, 100.0, 1000.0]
EPS = 1e-9


def machines(rows, *, is_free=True) -> tuple[RelatedMachines, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    F = rng.normal(size=(60, 20))
    K = np.exp(-0.05 * np.sum((F[:, None] - F[None]) ** 2, axis=2))
    n = 60 if rows is None else len(rows)
    upwards = rng.uniform(size=n) < 0.5
    signs, upper = np.where(upwards, 1.0, -1.0), np.where(upwards, 2.0, 1.0)
    return RelatedMachines(K, signs, np.ones(n), rows, is_free), np.zeros(n), upper


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("rows", [None, np.arange(90) % 60])
def test_every_machine_is_optimal(rows, compiled, monkeypatch) -> None:
    if not compiled:
        monkeypatch.setattr(related, "DIRECT", related.DIRECT.__class__(samples=0))
    found, low, high = machines(rows)
    P, q = RelatedPrograms(found.K, rows), -found.signs
    for scale, v in zip(SCALES, found.along(low, high, SCALES, EPS), strict=True):
        lower, upper = np.sort([found.signs * low, scale * found.signs * high], axis=0)
        box = BoxProgram(P.P, q, P.ones, np.zeros(1), lower, upper, P.diagonal, P.unit)
        assert (lower <= v).all()
        assert (v <= upper).all()
        Pv = P.P.product(v)
        assert box.relative_gap(Point(v, Pv, row_multipliers(box, v, Pv, np.zeros(1)))) <= 10 * EPS


def test_machines_that_no_bound_holds_stay() -> None:
    found, low, high = machines(None)
    last, largest = [*found.along(low, high, [1e3, 1e6], EPS)]
    np.testing.assert_array_equal(last, largest)


def test_without_a_free_intercept_no_sum_is_kept() -> None:
    found, low, high = machines(None, is_free=False)
    v = found.solved(low, high, np.zeros(60), EPS)
    gradient = found.signs * (found.K @ v) - 1.0
    a = found.signs * v
    assert np.max(np.minimum(np.maximum(-gradient, 0.0), high - a)) < 1e-8
    assert np.max(np.minimum(np.maximum(gradient, 0.0), a)) < 1e-8
