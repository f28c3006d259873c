"""Other learners on the same chunks: their gaps in qpsvm's time, and in ten times that.

Usage, from the root of the repository::

    python -m benchmarks.chunked.peers FOLDER --C 1
    python -m benchmarks.chunked.peers FOLDER --C 1 --only spark

Stochastic learners read the same Parquet chunks one after the other, in one process. When one has
had the seconds that ``qpsvm.solve`` took to a certified 1e-6 (and ten times these), its weights are
held against the lower bound of that solve: ``(P(w, b) - D) / P(w, b)``. Spark's ``LinearSVC`` takes
a number of iterations instead: every fit starts anew with a larger one, until a fit takes longer
than ten times qpsvm's seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

import qpsvm
from benchmarks.chunked.spark_peer import SparkLinearSVC
from qpsvm.chunked import ChunkedProblem
from qpsvm.chunked.certificate import primal_objective
from qpsvm.chunked.evaluation import Request
from qpsvm.chunked.machine import Machine

EPS = 1e-6
BUDGETS = (1.0, 10.0)
"""How long the learners may take, in units of qpsvm's seconds."""

ITERATIONS = (1, 2, 3, 5, 7, 10, 15, 20, 50, 100, 200, 500)
NAMES = ("sgd", "vw", "spark")

Row = dict[str, Any]


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


def learners(names: Collection[str], C: float, n: int) -> Iterator[Any]:
    """The stochastic learners of these names that are installed."""
    if "sgd" in names:
        yield Sgd(C, n, average=False)
        yield Sgd(C, n, average=True)
    if "vw" in names and importlib.util.find_spec("vowpalwabbit"):
        yield VowpalWabbit(C, n)


def gap(problem: ChunkedProblem, machine: Machine, bound: float) -> float:
    """Relative distance of the machine's objective from a lower bound."""
    results = problem.run(Request(problem.template, (machine,)))
    objective, _ = primal_objective(problem.template, machine, results)
    return (objective - bound) / abs(objective)


def chunk_after_chunk(
    problem: ChunkedProblem, learner: Any, judge: Callable[[Machine], float], limits: list[float]
) -> Iterator[Row]:
    """A row for every limit, once the learner has had so many seconds."""
    spent, rng, limits = 0.0, np.random.default_rng(0), list(limits)
    while True:
        for k in rng.permutation(len(problem.samples.chunks)):
            began = time.perf_counter()
            raw = problem.samples.chunks[k].content()
            learner.learn(raw.X, np.asarray(raw.y))
            spent += time.perf_counter() - began
            if spent >= limits[0]:
                limits.pop(0)
                yield {"name": learner.name, "seconds": spent, "gap": judge(learner.machine())}
            if not limits:
                return


def fit_after_fit(
    fit: Callable[[int], tuple[Machine, int]], judge: Callable[[Machine], float], limit: float
) -> Iterator[Row]:
    """A row for every fit from zero, with more and more iterations, that ends within the limit.

    The last fit is the first that stops by itself, or takes longer.
    """
    for most in ITERATIONS:
        began = time.perf_counter()
        machine, iterations = fit(most)
        seconds = time.perf_counter() - began
        if seconds > limit:
            return
        yield {"seconds": seconds, "gap": judge(machine), "iterations": iterations}
        if iterations < most:
            return


def spark_rows(
    folder: Path, C: float, judge: Callable[[Machine], float], limit: float
) -> Iterator[Row]:
    """The rows of Spark's fits."""
    spark = SparkLinearSVC(folder, C)
    prepared = {
        "seconds_start": spark.seconds_start,
        "seconds_load": spark.seconds_load,
        "version": spark.version,
    }
    try:
        for row in fit_after_fit(spark.fit, judge, limit):
            yield {"name": spark.name, **row, **prepared}
    finally:
        spark.stop()


def main() -> None:
    """Measure, and append the rows: qpsvm's, unless there is a choice of learners, and theirs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--only", nargs="+", choices=NAMES, help="these alone, and not qpsvm")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "peers.jsonl")
    options = parser.parse_args()
    names = options.only or NAMES
    began = time.perf_counter()
    problem = qpsvm.SoftMargin(C=options.C).dual(str(options.folder), "y")
    solution = qpsvm.solve(problem, eps=EPS)
    seconds = time.perf_counter() - began
    limits = [budget * seconds for budget in BUDGETS]
    n = problem.totals.n_rows
    judge = partial(gap, problem, bound=solution.certificate.dual_objective)
    own = {"name": "qpsvm", "seconds": seconds, "gap": solution.relative_gap}
    found: list[Iterable[Row]] = [] if options.only else [[own]]
    for learner in learners(names, options.C, n):
        found.append(chunk_after_chunk(problem, learner, judge, limits))
    if "spark" in names and importlib.util.find_spec("pyspark"):
        found.append(spark_rows(options.folder, options.C, judge, limits[-1]))
    print(own)
    shared = {"data": options.folder.name, "rows": n, "C": options.C}
    for row in chain.from_iterable(found):
        print(row, flush=True)
        with options.output.open("a") as stream:
            stream.write(json.dumps({**shared, **row}) + "\n")


if __name__ == "__main__":
    main()
