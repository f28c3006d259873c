"""Strong duality, family by family: every form built separately, solved by every backend.

For one family, data set and kernel the primal and the dual program have the same optimum, so
whatever backend solves either, the certified intervals [dual objective, primal objective] must
all overlap. One row per (family, data, kernel, form, backend): status, certified gap, worst check,
both objectives, seconds.

Usage: ``python benchmarks/duality/measure.py [--time-limit 60]``. Rows already in ``rows.jsonl``
are not measured again; ``report.py`` makes ``docs/duality.md`` from that file alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_blobs
from sklearn.preprocessing import minmax_scale, scale

import qpsvm
from qpsvm import kernels

ROWS = Path(__file__).with_name("rows.jsonl")
EPS = 1e-8
BACKENDS = ("cvxopt", "osqp", "cvxpy:CLARABEL", "qpsolvers:piqp")

CLASSIFIERS = (
    qpsvm.SoftMargin(C=1.0),
    qpsvm.SoftMargin(C=1.0, intercept="penalized"),
    qpsvm.SoftMargin(C=1.0, loss="squared_hinge"),
    qpsvm.SoftMargin(C=100.0, average_loss=True, class_weight="balanced"),
    qpsvm.NuClassification(nu=0.2),
    qpsvm.LeastSquares(C=1.0),
    qpsvm.L1Norm(C=1.0),
)
REGRESSIONS = (
    qpsvm.EpsilonRegression(C=1.0, epsilon=0.1),
    qpsvm.EpsilonRegression(C=1.0, epsilon=0.1, loss="squared_epsilon_insensitive"),
    qpsvm.NuRegression(nu=0.5, C=100.0),
    qpsvm.QuantileRegression(tau=0.9, C=1.0),
)
NOVELTY = (qpsvm.OneClass(nu=0.1), qpsvm.DataDescription(C=0.05))
HARD = (qpsvm.HardMargin(),)
MULTICLASS = (qpsvm.CrammerSinger(C=1.0),)
RANKING = (qpsvm.Ranking(C=1.0),)


def problems() -> Iterator[tuple[str, str, Any, Any, Any]]:
    """(data, kind of data, family, X, y)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    score = X @ np.array([1.0, -2.0, 0.5, 0.0, 0.0]) + 0.5 * rng.normal(size=120)
    blobs, blob_labels = make_blobs(60, centers=[[-3, -3], [3, 3]], random_state=0)
    cancer, cancer_labels = (part[:250] for part in load_breast_cancer(return_X_y=True))
    diabetes, progression = (part[:250] for part in load_diabetes(return_X_y=True))
    iris, species = load_iris(return_X_y=True)
    cancer, diabetes, iris = scale(cancer), scale(diabetes), scale(iris)
    progression = progression / 100.0
    classes = [("synthetic", X, score > 0), ("breast cancer, 250", cancer, cancer_labels)]
    separable = [("blobs", blobs, blob_labels), ("iris 0/1", iris[:100], species[:100])]
    targets = [("synthetic", X, score), ("diabetes, 250", diabetes, progression)]
    # away from the origin, so that a hyperplane can keep it on its other side
    samples = [("synthetic + 3", X + 3.0, None), ("breast cancer, 250", minmax_scale(cancer), None)]
    order = [
        ("synthetic, 40", X[:40], np.round(score[:40])),
        ("diabetes, 40", diabetes[:40], np.round(2.0 * progression[:40])),
    ]
    several = [("synthetic", X, np.digitize(score, [-1.0, 1.0])), ("iris", iris, species)]
    for kind, families, sets in (
        ("two classes", CLASSIFIERS, classes),
        ("separable classes", HARD, separable),
        ("targets", REGRESSIONS, targets),
        ("samples", NOVELTY, samples),
        ("order", RANKING, order),
        ("several classes", MULTICLASS, several),
    ):
        for family in families:
            for name, features, target in sets:
                yield name, kind, family, features, target


def measure(problem: Any, backend: str, time_limit: float) -> dict[str, Any]:
    """One solve, and what the verifier says of it."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = qpsvm.solve(problem, backend, eps=EPS, time_limit=time_limit)
    except qpsvm.exceptions.QPSVMError as error:
        return {"status": type(error).__name__, "seconds": time.perf_counter() - began}
    seconds = time.perf_counter() - began
    report = qpsvm.verify(problem, solution, eps=EPS)
    proof = report.certificate
    assert proof is not None
    return {
        "status": solution.status.value,
        "passed": report.passed,
        "gap": proof.relative_gap,
        "worst": report.worst,
        "primal_objective": proof.primal_objective,
        "dual_objective": proof.dual_objective,
        "polished": solution.qp.statistics.polished,
        "escalated": solution.qp.statistics.escalated,
        "seconds": seconds,
    }


def main() -> None:
    """Append the rows that are missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds per solve")
    limit = parser.parse_args().time_limit
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.exists() else []
    done = {tuple(json.loads(line)["cell"]) for line in lines}
    machine = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {
            n: version(n) for n in ("qpsvm", "numpy", "cvxopt", "osqp", "clarabel", "piqp")
        },
    }
    with ROWS.open("a", encoding="utf-8") as stream:
        for data, kind, family, X, y in problems():
            for kernel in (kernels.Linear(), kernels.RBF()):
                for form in ("primal", "dual"):
                    cells = {b: (kind, repr(family), data, kernel.name, form, b) for b in BACKENDS}
                    if all(cell in done for cell in cells.values()):
                        continue
                    problem = getattr(family, form)(X, y, kernel=kernel)
                    size = [
                        problem.qp.n_variables,
                        problem.qp.n_inequalities + problem.qp.n_equalities,
                    ]
                    for backend, cell in cells.items():
                        if cell in done:
                            continue
                        row = {"cell": cell, "size": size, **measure(problem, backend, limit)}
                        stream.write(json.dumps(row | machine) + "\n")
                        stream.flush()
                        print(*cell, row["status"], f"{row['seconds']:.2f} s", flush=True)


if __name__ == "__main__":
    main()
