"""What stochastic methods reach on the same chunks in the same time, and in ten times that.

Usage, from the root of the repository::

    python -m benchmarks.chunked.peers FOLDER --C 1

Each learner reads the same Parquet chunks one after the other, in one process. When it has had the
seconds that ``qpsvm.solve`` took to a certified 1e-6 (and ten times these), its weights are held
against the lower bound of that solve: ``(P(w, b) - D) / P(w, b)``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

import qpsvm
from qpsvm.chunked import ChunkedProblem
from qpsvm.chunked.machine import Machine

EPS = 1e-6


class Sgd:
    """scikit-learn's ``SGDClassifier``, one call of ``partial_fit`` per chunk."""

    name = "SGDClassifier.partial_fit"

    def __init__(self, C: float, n: int, average: bool) -> None:
        self.name += ", averaged" if average else ""
        self._model = SGDClassifier(loss="hinge", alpha=1.0 / (C * n), average=average)

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        """One pass over the rows of a chunk."""
        self._model.partial_fit(X, y, classes=np.array([0, 1]))

    def machine(self) -> Machine:
        """The weights so far."""
        return Machine(self._model.coef_[0].astype(float), float(self._model.intercept_[0]), 0.0)


class VowpalWabbit:
    """Vowpal Wabbit's hinge loss through its Python package."""

    name = "Vowpal Wabbit"

    def __init__(self, C: float, n: int) -> None:
        from vowpalwabbit import Workspace

        self._vw = Workspace(f"--loss_function hinge --l2 {1.0 / (C * n):.17g} --quiet")
        self._d = 0

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        """One pass over the rows of a chunk, as VW's text format has them."""
        self._d = X.shape[1]
        for row, label in zip(X, np.where(y > 0, 1, -1), strict=True):
            self._vw.learn(f"{label} | " + " ".join(f"{j}:{v:.7g}" for j, v in enumerate(row)))

    def machine(self) -> Machine:
        """The weights so far, from its answers to unit vectors."""
        b = float(self._vw.predict("|"))
        w = [float(self._vw.predict(f"| {j}:1")) - b for j in range(self._d)]
        return Machine(np.array(w), b, 0.0)


def learners(C: float, n: int) -> Iterator[Callable[[], Any]]:
    """Makers of everything that is installed."""
    yield lambda: Sgd(C, n, average=False)
    yield lambda: Sgd(C, n, average=True)
    try:
        import vowpalwabbit  # noqa: F401
    except ImportError:
        return
    yield lambda: VowpalWabbit(C, n)


def gap(problem: ChunkedProblem, machine: Machine, bound: float) -> float:
    """Relative distance of the machine's objective from a lower bound."""
    results = problem.run(problem.request((machine,)))
    from qpsvm.chunked.certificate import primal_objective

    objective, _ = primal_objective(problem.template, machine, results)
    return (objective - bound) / abs(objective)


def main() -> None:
    """Measure, and append a row per learner and time."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "peers.jsonl")
    options = parser.parse_args()
    began = time.perf_counter()
    problem = qpsvm.SoftMargin(C=options.C).dual(str(options.folder), "y")
    solution = qpsvm.solve(problem, eps=EPS)
    seconds = time.perf_counter() - began
    bound = solution.certificate.dual_objective
    shared = {"data": options.folder.name, "rows": problem.totals.n_rows, "C": options.C}
    found = [{**shared, "name": "qpsvm", "seconds": seconds, "gap": solution.relative_gap}]
    for make in learners(options.C, problem.totals.n_rows):
        learner, spent, limits = make(), 0.0, [seconds, 10.0 * seconds]
        rng = np.random.default_rng(0)
        while limits:
            for k in rng.permutation(len(problem.samples.chunks)):
                began = time.perf_counter()
                raw = problem.samples.chunks[k].content.read()
                learner.learn(raw.X, np.asarray(raw.y))
                spent += time.perf_counter() - began
                if limits and spent >= limits[0]:
                    limits.pop(0)
                    reached = gap(problem, learner.machine(), bound)
                    row = {**shared, "name": learner.name, "seconds": spent, "gap": reached}
                    print(row, flush=True)
                    found.append(row)
                if not limits:
                    break
    with options.output.open("a") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in found)


if __name__ == "__main__":
    main()
