"""What qpsvm costs on top of the solver's own package, and on top of the bare kernel matrix.

Every row pairs two ways of doing the same thing, one after the other, in one process:

- ``build``: the dual's Hessian through qpsvm against ``K = kernel(X, X)`` and the sign product;
- ``solve``: ``qpsvm.solve(program, backend)`` against the backend's own package, called directly
  with the same matrices and the same settings; ``first solve``: the same on a program just made
  from a bare matrix, with the check of its convexity; ``svm``: from the samples on;
- ``import``: ``import qpsvm`` in a fresh interpreter, against importing NumPy and scipy.sparse.

Usage: ``python benchmarks/overhead/measure.py [--repeats 7] [--slow]``. Raw rows are appended to
``rows.jsonl`` beside this file; ``report.py`` makes the table from that file alone.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import direct
import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

import qpsvm
from qpsvm.machines import SVMProblem

ROWS = Path(__file__).with_name("rows.jsonl")


def data(n: int, d: int) -> tuple[Any, Any]:
    """Two overlapping classes, standardised; the seed is fixed."""
    X, y = make_classification(
        n, d, n_informative=d // 2, n_redundant=0, class_sep=1.0, flip_y=0.05, random_state=0
    )
    return StandardScaler().fit_transform(X), y


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    """Wall clock of one call, garbage collected before and not during it."""
    gc.collect()
    gc.disable()
    try:
        began = time.perf_counter()
        result = action()
        return time.perf_counter() - began, result
    finally:
        gc.enable()


def pairs(
    name: str, n: int, ours: Callable[[], Any], bare: Callable[[], Any], repeats: int
) -> list[dict[str, Any]]:
    """One warm-up of each, then ``repeats`` pairs, alternating which goes first."""
    ours(), bare()
    rows = []
    for repeat in range(repeats):
        order = (("ours", ours), ("bare", bare))
        taken: dict[str, float] = {}
        values: dict[str, Any] = {}
        for who, action in order if repeat % 2 == 0 else reversed(order):
            taken[who], values[who] = seconds(action)
        rows.append(
            {
                "cell": name,
                "n": n,
                "repeat": repeat,
                "ours_seconds": taken["ours"],
                "bare_seconds": taken["bare"],
                "ours_value": values["ours"],
                "bare_value": values["bare"],
            }
        )
        print(f"{name:24} n={n} {taken['ours']:.4f} / {taken['bare']:.4f}", flush=True)
    return rows


def build(repeats: int, n: int = 5000, d: int = 50) -> list[dict[str, Any]]:
    """The dual's P against the kernel matrix and its sign product."""
    X, y = data(n, d)
    signs = np.where(y == 1, 1.0, -1.0)
    kernel = qpsvm.kernels.RBF(gamma=1.0 / d)
    rows = []

    def ours() -> float:
        problem = qpsvm.SoftMargin(C=1.0).dual(X, y, kernel=kernel)
        return float(problem.canonical().P[0, -1])

    def bare() -> float:
        K = kernel(X, X)
        P = K * signs[:, None]
        P *= signs
        return float(P[0, -1])

    def scikit_learn() -> float:
        from sklearn.metrics.pairwise import rbf_kernel

        P = rbf_kernel(X, gamma=1.0 / d) * signs[:, None]
        P *= signs
        return float(P[0, -1])

    rows += pairs("build RBF dual", n, ours, bare, repeats)
    rows += pairs("build, scikit-learn RBF", n, ours, scikit_learn, repeats)
    return rows


def solve(
    backend: str, repeats: int, *, first: bool, n: int = 1000, d: int = 20
) -> list[dict[str, Any]]:
    """A dense RBF dual: through qpsvm, and by the package's own call.

    ``first``: a new program for every call, so that each pays for the check that a matrix handed
    in is positive semidefinite. (A program built by a formulation needs none.)
    """
    X, y = data(n, d)
    dense = qpsvm.SoftMargin(C=1.0).dual(X, y, kernel="rbf")

    # the same stored matrix for both: building it is the other benchmark's subject
    def stored() -> qpsvm.qp.QuadraticProgram:
        return qpsvm.qp.QuadraticProgram(
            dense.qp.P.to_dense(), dense.qp.q, None, None, dense.qp.A, dense.qp.b, 0.0, dense.qp.ub
        )

    program = stored()
    settings = dict(qpsvm.solve(program, backend).statistics.settings)
    programs = iter([stored() if first else program for _ in range(repeats + 1)])

    def ours() -> float:
        solution = qpsvm.solve(next(programs), backend)
        return program.objective(solution.x)

    def bare() -> float:
        return program.objective(direct.CALLS[backend](program, settings))

    name = f"first solve {backend}" if first else f"solve {backend}"
    return pairs(name, n, ours, bare, repeats)


def svm(backend: str, repeats: int, n: int = 1000, d: int = 20) -> list[dict[str, Any]]:
    """The same from the samples on: formulation, kernel, solve, recovery, verification."""
    X, y = data(n, d)

    def problem() -> SVMProblem:
        return qpsvm.SoftMargin(C=1.0).dual(X, y, kernel="rbf")

    settings = dict(qpsvm.solve(problem(), backend).qp.statistics.settings)

    def ours() -> float:
        made = problem()
        return made.qp.objective(qpsvm.solve(made, backend).alpha)

    def bare() -> float:
        program = problem().qp
        return program.objective(direct.CALLS[backend](program, settings))

    return pairs(f"svm {backend}", n, ours, bare, repeats)


def imports(repeats: int) -> list[dict[str, Any]]:
    """Fresh interpreters."""

    def run(code: str) -> Callable[[], float]:
        timed = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"

        def action() -> float:
            done = subprocess.run(
                [sys.executable, "-c", timed], capture_output=True, text=True, check=True
            )
            return float(done.stdout)

        return action

    ours, bare = run("import qpsvm"), run("import numpy, scipy.sparse")
    ours(), bare()
    return [
        {
            "cell": "import qpsvm",
            "n": 0,
            "repeat": repeat,
            "ours_seconds": ours(),
            "bare_seconds": bare(),
        }
        for repeat in range(repeats)
    ]


def main() -> None:
    """Run what was asked for and append the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", help="run only cells whose name contains this")
    parser.add_argument("--slow", action="store_true", help="also SLSQP, which takes minutes")
    arguments = parser.parse_args()
    quick = [name for name in direct.CALLS if name != "slsqp"]
    cells: dict[str, Callable[[int], list[dict[str, Any]]]] = {"import": imports, "build": build}
    cells |= {f"solve {b}": lambda repeats, b=b: solve(b, repeats, first=False) for b in quick}
    cells |= {f"first {b}": lambda repeats, b=b: solve(b, repeats, first=True) for b in quick}
    cells |= {f"svm {b}": lambda repeats, b=b: svm(b, repeats) for b in quick}
    if arguments.slow:
        cells["solve slsqp"] = lambda repeats: solve("slsqp", min(repeats, 2), first=False)
    context = {
        "qpsvm": qpsvm.__version__,
        "python": platform.python_version(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "versions": {
            p: version(p) for p in ("numpy", "scipy", "cvxopt", "osqp", "cvxpy", "scikit-learn")
        },
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    with ROWS.open("a", encoding="utf-8") as file:
        for name, cell in cells.items():
            if arguments.only is None or arguments.only in name:
                for row in cell(arguments.repeats):
                    file.write(json.dumps(row | context) + "\n")
                file.flush()


if __name__ == "__main__":
    main()
