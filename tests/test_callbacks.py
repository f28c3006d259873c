"""A callback ends what it watches by False, Python's or NumPy's, and by no other answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.paths import svm_path, width_path
from qpsvm.qp.solution import Status

pytestmark = pytest.mark.filterwarnings("ignore")  # of what was not finished

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] + RNG.normal(size=60) > 0.0, 1, -1)

ANSWERS = [
    (False, True),
    (np.False_, True),
    (np.float64(1.0) < 0.5, True),
    (True, False),
    (np.True_, False),
    (None, False),
    (0, False),
    (np.array([]), False),
]


@pytest.mark.parametrize(("answer", "ends"), ANSWERS, ids=repr)
def test_false_of_either_kind_ends_a_path(answer: Any, ends: bool) -> None:
    values = [0.1, 1.0, 10.0]
    paths = (
        svm_path(X, Y, C=values, exact=False, callback=lambda *_: answer),
        width_path(X, Y, gamma=values, callback=lambda *_: answer),
    )
    for path in paths:
        assert list(path.values) == (values[:1] if ends else values)


def events_and_status(backend: str, answer: Any) -> tuple[Status, int]:
    """Of a solve whose callback always gives one answer."""
    if backend == "in chunks":
        problem: Any = qpsvm.SoftMargin(C=10.0).dual(chunked(X, Y, rows=16), None)
        backend = "auto"
    else:
        problem = qpsvm.SoftMargin(C=10.0).dual(X, Y)
    seen = []

    def callback(event: qpsvm.backends.Progress) -> Any:
        seen.append(event)
        return answer

    return qpsvm.solve(problem, backend, callback=callback).status, len(seen)


@pytest.mark.parametrize("backend", ["slsqp", "in chunks"])
def test_false_of_either_kind_ends_a_solve(backend: str) -> None:
    stopped, whole = (events_and_status(backend, answer) for answer in (False, None))
    assert stopped[1] < whole[1]
    for answer, ends in ANSWERS:
        assert events_and_status(backend, answer) == (stopped if ends else whole)
