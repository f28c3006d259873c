"""From approximate solutions to proofs: what ``qpsvm.polish`` takes, and what it reaches.

Four kinds of rows:

``libsvm``  one pair per row: LIBSVM (scikit-learn's ``SVC``) with its default tolerance of 1e-3,
            and the polish of what ``SVC(tol=1e-2)`` returns, alternating. Certificates of all
            three. The polish runs in a process that has never fitted anything, so that its peak
            memory is its own.
``osqp``    duals of small and medium size, as the backend returns them at ``eps=1e-3``.
``random``  random dual feasible points of every family, in both forms.
``far``     random dual feasible points of the programs of ``libsvm``.

Usage::

    export QPSVM_DATA=... OPENBLAS_NUM_THREADS=1
    python benchmarks/polish/measure.py [libsvm|osqp|random|far]

covtype20k and ijcnn1 come from that folder. LIBSVM uses one thread; the polish uses as many as
BLAS is given, so both are given one. Rows are appended to ``rows.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import qpsvm
from qpsvm import kernels
from qpsvm.backends import Settings
from qpsvm.qp import QPSolution, Status

ROWS = Path(__file__).with_name("rows.jsonl")
SETS = [(name, C) for name in ("covtype20k", "ijcnn1") for C in (1.0, 100.0)]
CACHE_MB = 200
"""``cache_size`` of both fits: scikit-learn's default. 1000 takes longer where it was tried."""


# --- one thing measured ---------------------------------------------------------------------------


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What it returns, and the wall clock and processor seconds it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = call()
    return result, {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
    }


def peak_megabytes() -> float:
    """The most memory this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def polished(problem: Any, start: Any) -> dict[str, Any]:
    """The polish, and the certificates before and after."""
    counts: list[int] = [0]

    def count(event: qpsvm.backends.Progress) -> None:
        counts.append(event.iteration or 0)

    result, times = timed(lambda: qpsvm.polish(problem, start, callback=count))
    peak = peak_megabytes()
    before, after = qpsvm.certify(problem, start), qpsvm.certify(problem, result)
    row = {
        "gap_before": before.relative_gap,
        "gap_after": after.relative_gap,
        "rounding": after.rounding,
        "status": result.status.value,
        "factorisations": counts[-1],
        "peak_mb": peak,
        **times,
    }
    if isinstance(result, qpsvm.SVMSolution):
        c = result.conditions
        row["free"] = int(np.count_nonzero((result.alpha > c.lower) & (result.alpha < c.upper)))
        row["support"] = result.n_support
    return row


def machine_of(problem: Any, alpha: Any, b: float = 0.0) -> Any:
    """Alphas from elsewhere as a solution of the problem."""
    model = problem.model
    beta = model.expansion(alpha)
    return model.recovered(
        QPSolution(Status.UNKNOWN), alpha, expansion=beta, coef=model.coef(beta), b=b
    ).solution


# --- from LIBSVM ----------------------------------------------------------------------------------


def stored(name: str) -> tuple[Any, Any]:
    """A stored set, dense, labels -1 and 1."""
    sys.path.insert(0, os.environ["QPSVM_DATA"])
    from load import binary

    X, y = binary(name)
    return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X), y


def libsvm_row(name: str, C: float) -> dict[str, Any]:
    """A default fit, then the polish of a loose one, in processes of their own."""
    row: dict[str, Any] = {"kind": "libsvm", "cell": [name, C], "cache_mb": CACHE_MB}
    with tempfile.TemporaryDirectory() as folder:
        for part in ("default", "loose", "polish"):
            row[part] = in_a_process(part, name, C, Path(folder, "alpha.npz"))
    return row


def in_a_process(part: str, name: str, C: float, path: Path) -> dict[str, Any]:
    """``libsvm_part`` in a fresh interpreter."""
    command = [sys.executable, __file__, "--part", part, name, str(C), str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def libsvm_part(part: str, name: str, C: float, path: Path) -> dict[str, Any]:
    """What a process of its own does."""
    X, y = stored(name)
    family = qpsvm.SoftMargin(C=C)
    problem = family.dual(X, y, kernel="rbf")  # gamma="scale" on both sides
    if part == "far":
        return polished(problem, at_random(problem, np.random.default_rng(0)))
    if part == "polish":
        saved = np.load(path)
        start = machine_of(problem, saved["alpha"], float(saved["b"]))
        # a problem that has not multiplied its kernel with anything yet
        return polished(family.dual(X, y, kernel="rbf"), start)
    tol = 1e-3 if part == "default" else 1e-2
    svc, times = timed(lambda: SVC(C=C, tol=tol, cache_size=CACHE_MB).fit(X, y))
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    peak = peak_megabytes()
    if part == "loose":
        np.savez(path, alpha=alpha, b=svc.intercept_[0])
        return {**times, "peak_mb": peak}
    proof = qpsvm.certify(problem, machine_of(problem, alpha, float(svc.intercept_[0])))
    return {**times, "peak_mb": peak, "gap": proof.relative_gap}


# --- from OSQP and from random points -------------------------------------------------------------


def small_sets() -> dict[str, tuple[Any, Any]]:
    """Bundled with scikit-learn, standardised."""
    cancer, labels = load_breast_cancer(return_X_y=True)
    diabetes, progression = load_diabetes(return_X_y=True)
    iris, species = load_iris(return_X_y=True)
    return {
        "breast cancer": (scale(cancer), np.where(labels == 1, 1.0, -1.0)),
        "diabetes": (scale(diabetes), progression / 100.0),
        "iris": (scale(iris), species),
    }


def medium_set() -> tuple[Any, Any]:
    """Two thousand rows of covtype20k."""
    X, y = stored("covtype20k")
    chosen = np.random.default_rng(0).permutation(len(y))[:2000]
    return X[chosen], y[chosen]


FAMILIES = (
    (qpsvm.SoftMargin(C=1.0), "breast cancer"),
    (qpsvm.SoftMargin(C=1e3), "breast cancer"),
    (qpsvm.SoftMargin(C=1.0, loss="squared_hinge"), "breast cancer"),
    (qpsvm.SoftMargin(C=1.0, intercept="penalized"), "breast cancer"),
    (qpsvm.NuClassification(nu=0.2), "breast cancer"),
    (qpsvm.LeastSquares(C=1.0), "breast cancer"),
    (qpsvm.EpsilonRegression(C=1.0, epsilon=0.1), "diabetes"),
    (
        qpsvm.EpsilonRegression(C=1.0, epsilon=0.1, loss="squared_epsilon_insensitive"),
        "diabetes",
    ),
    (qpsvm.NuRegression(nu=0.5, C=100.0), "diabetes"),
    (qpsvm.QuantileRegression(tau=0.9, C=1.0), "diabetes"),
    (qpsvm.OneClass(nu=0.1), "breast cancer"),
    (qpsvm.DataDescription(C=0.05), "breast cancer"),
    (qpsvm.HardMargin(), "iris"),
    (qpsvm.Ranking(C=1.0), "diabetes"),
)


def small_problems() -> Iterator[tuple[list[Any], Any]]:
    """(cell, problem) of every family, kernel and form."""
    sets = small_sets()
    for family, data in FAMILIES:
        X, y = sets[data]
        if isinstance(family, qpsvm.HardMargin):
            X, y = X[:100], y[:100]  # setosa and versicolor can be separated
        if isinstance(family, qpsvm.Ranking):
            X, y = X[:60], np.round(2.0 * y[:60])
        if isinstance(family, qpsvm.OneClass | qpsvm.DataDescription):
            X, y = X + 5.0, None  # away from the origin
        for kernel in (kernels.Linear(), kernels.RBF()):
            for form in ("dual", "primal"):
                problem = getattr(family, form)(X, y, kernel=kernel)
                yield [repr(family), data, kernel.name, form], problem


def osqp_rows() -> Iterator[dict[str, Any]]:
    """What OSQP returns at three digits, before the tolerance contract looks at it."""
    osqp = qpsvm.backends.get("osqp")
    settings = Settings(eps=1e-3, options={"polishing": False})  # it has a polish of its own
    cells = [(cell, p) for cell, p in small_problems() if cell[-1] == "dual"]
    X, y = medium_set()
    for C in (1.0, 100.0):
        family = qpsvm.SoftMargin(C=C)
        cells.append(
            ([repr(family), "covtype, 2000", "rbf", "dual"], family.dual(X, y, kernel="rbf"))
        )
    for cell, problem in cells:
        raw, times = timed(lambda p=problem: osqp.solve(p.qp, settings))
        start = problem.recover(raw)
        yield {"kind": "osqp", "cell": cell, "solve": times, "polish": polished(problem, start)}


def random_rows() -> Iterator[dict[str, Any]]:
    """A random dual feasible point of every problem, polished."""
    rng = np.random.default_rng(0)
    for cell, problem in small_problems():
        start = at_random(problem, rng)
        yield {"kind": "random", "cell": cell, "polish": polished(problem, start)}


def at_random(problem: Any, rng: np.random.Generator) -> Any:
    """The machine of random alphas between their bounds, made feasible."""
    c = problem.model.conditions
    lower = np.where(np.isfinite(c.lower), c.lower, -1.0)
    upper = np.where(np.isfinite(c.upper), c.upper, 1.0)
    return machine_of(problem, problem.model.feasible_dual(rng.uniform(lower, upper)).alpha)


def far_rows() -> Iterator[dict[str, Any]]:
    """Large programs from random points."""
    for name, C in SETS:
        found = in_a_process("far", name, C, Path())
        yield {"kind": "far", "cell": [repr(qpsvm.SoftMargin(C=C)), name], "polish": found}


# --- rows -----------------------------------------------------------------------------------------


def libsvm_rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Every set once, then every set again."""
    for _ in range(repeats):
        for name, C in SETS:
            yield libsvm_row(name, C)


def main() -> None:
    """Append rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=["libsvm", "osqp", "random", "far"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--part", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        part, name, C, path = arguments.part
        print(json.dumps(libsvm_part(part, name, float(C), Path(path))))
        return
    machine = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
        "versions": {n: version(n) for n in ("qpsvm", "numpy", "scipy", "scikit-learn", "osqp")},
    }
    sources = {
        "libsvm": lambda: libsvm_rows(arguments.repeats),
        "osqp": osqp_rows,
        "random": random_rows,
        "far": far_rows,
    }
    with ROWS.open("a", encoding="utf-8") as stream:
        for kind in arguments.kinds:
            for row in sources[kind]():
                load = os.getloadavg()[0]
                stream.write(json.dumps(row | machine | {"load": load}) + "\n")
                stream.flush()
                after = row["polish"]
                print(kind, *row["cell"], f"{after['seconds']:.2f} s, {after['gap_after']:.1e}")


if __name__ == "__main__":
    main()
