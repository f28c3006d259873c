"""What a solve of a bare program costs above the solver's own time, for 5 to 200 variables.

Every pair times three ways of solving one program, one after the other, in one process:

- ``ours``: ``qpsvm.solve(QuadraticProgram(P, q, G, h, A, b, lb, ub), backend)``, from arrays to the
  verdict;
- ``bare``: the solver's own package, called directly with the same settings on dense arrays, its
  conversion and setup included;
- ``qpsolvers``: ``qpsolvers.solve_qp`` with the same solver and settings.

Programs are dense and random: n inequalities, one equality for every 20 variables, bounds on all
variables, and a Hessian that is definite (``strict``) or has half of the rank (``convex``). Times
are processor time, with ``QPSVM_CHILDREN=0``: solvers of qpsolvers run in this process, so that
all of their time is counted. ``--wall`` takes the wall clock, and child processes as they are.

Usage: ``python benchmarks/overhead/bare.py [--repeats 31] [--wall]``. Raw rows are appended to
``bare.jsonl`` beside this file; ``report.py`` makes the table from it.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROWS = Path(__file__).with_name("bare.jsonl")
SIZES = (5, 20, 50, 200)
NOT_THE_SOLVERS = ("solver", "backend", "verbose", "accept_unknown")
PACKAGES = ("numpy", "scipy", "osqp", "clarabel", "cvxopt", "piqp", "qpsolvers")


def arrays(n: int, kind: str) -> tuple[Any, ...]:
    """``P, q, G, h, A, b, lb, ub`` of a random convex program with a feasible point."""
    random = np.random.default_rng(n)
    F = random.standard_normal((n, n if kind == "strict" else max(1, n // 2)))
    P = F @ F.T / n + (0.1 * np.eye(n) if kind == "strict" else 0.0)
    x = random.uniform(-0.5, 0.5, n)
    G, A = random.standard_normal((n, n)), random.standard_normal((max(1, n // 20), n))
    h = G @ x + random.uniform(0.0, 1.0, n)
    return (P + P.T) / 2, random.standard_normal(n), G, h, A, A @ x, -np.ones(n), np.ones(n)


def osqp(data: tuple[Any, ...], settings: Mapping[str, Any]) -> Any:
    """``osqp.OSQP().setup(...)`` and ``solve``."""
    import osqp as package

    P, q, G, h, A, b, lb, ub = data
    solver = package.OSQP()
    solver.setup(
        sp.triu(sp.csc_matrix(P), format="csc"),
        q,
        sp.csc_matrix(np.vstack([G, A, np.eye(len(q))])),
        np.concatenate([np.full(len(h), -np.inf), b, lb]),
        np.concatenate([h, b, ub]),
        **settings,
    )
    return solver.solve().x


def clarabel(data: tuple[Any, ...], settings: Mapping[str, Any]) -> Any:
    """``clarabel.DefaultSolver(...).solve``."""
    import clarabel as package

    P, q, G, h, A, b, lb, ub = data
    own = package.DefaultSettings()
    own.verbose = False
    for name, value in settings.items():
        setattr(own, name, value)
    identity = np.eye(len(q))
    cones = [package.ZeroConeT(len(b)), package.NonnegativeConeT(len(h) + 2 * len(q))]
    rows = sp.csc_matrix(np.vstack([A, G, -identity, identity]))
    right = np.concatenate([b, h, -lb, ub])
    upper = sp.triu(sp.csc_matrix(P), format="csc")
    return np.array(package.DefaultSolver(upper, q, rows, right, cones, own).solve().x)


def cvxopt(data: tuple[Any, ...], settings: Mapping[str, Any]) -> Any:
    """``cvxopt.solvers.qp``."""
    from cvxopt import matrix, solvers

    P, q, G, h, A, b, lb, ub = data
    identity = np.eye(len(q))
    rows, right = np.vstack([G, -identity, identity]), np.concatenate([h, -lb, ub])
    result = solvers.qp(*map(matrix, (P, q, rows, right, A, b)), options=dict(settings))
    return np.array(result["x"]).ravel()


def piqp(data: tuple[Any, ...], settings: Mapping[str, Any]) -> Any:
    """``piqp.DenseSolver().setup(...)`` and ``solve``."""
    import piqp as package

    P, q, G, h, A, b, lb, ub = data
    solver = package.DenseSolver()
    for name, value in settings.items():
        setattr(solver.settings, name, value)
    solver.setup(P, q, A, b, G, None, h, lb, ub)
    solver.solve()
    return solver.result.x


BACKENDS: Mapping[str, Callable[..., Any]] = {
    "osqp": osqp,
    "qpsolvers:clarabel": clarabel,
    "cvxopt": cvxopt,
    "qpsolvers:piqp": piqp,
}


def rows_of(
    backend: str, n: int, kind: str, repeats: int, clock: Callable[[], float]
) -> list[dict[str, Any]]:
    """Triples of times of one program, garbage collected before each and not during it."""
    import qpsolvers

    import qpsvm

    data, solver = arrays(n, kind), BACKENDS[backend]
    first = qpsvm.solve(qpsvm.qp.QuadraticProgram(*data), backend)
    given = dict(first.statistics.settings)
    settings = {name: value for name, value in given.items() if name not in NOT_THE_SOLVERS}
    ways = {
        "ours": lambda: qpsvm.solve(qpsvm.qp.QuadraticProgram(*data), backend).x,
        "bare": lambda: solver(data, given if backend == "osqp" else settings),
        "qpsolvers": lambda: qpsolvers.solve_qp(*data, solver=solver.__name__, **settings),
    }
    rows = []
    for repeat in range(repeats + 1):
        taken = {}
        for name, way in ways.items():
            gc.collect()
            gc.disable()
            began = clock()
            way()
            taken[f"{name}_seconds"] = clock() - began
            gc.enable()
        if repeat:  # the first one warms up
            about = {"backend": backend, "n": n, "kind": kind, "repeat": repeat - 1}
            reached = {"status": first.status.value, "polished": first.statistics.polished}
            rows.append(about | taken | reached)
    return rows


def main() -> None:
    """Run all cells and append their rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--label", default="", help="written into every row, such as a commit")
    parser.add_argument("--wall", action="store_true", help="wall clock, with child processes")
    arguments = parser.parse_args()
    if not arguments.wall:
        os.environ["QPSVM_CHILDREN"] = "0"
    clock = time.perf_counter if arguments.wall else time.process_time
    context = {
        "label": arguments.label,
        "clock": "wall" if arguments.wall else "processor",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in PACKAGES},
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    with ROWS.open("a", encoding="utf-8") as file:
        for backend in BACKENDS:
            for kind in ("strict", "convex"):
                for n in SIZES:
                    repeats = arguments.repeats if n < 200 else max(5, arguments.repeats // 3)
                    for row in rows_of(backend, n, kind, repeats, clock):
                        file.write(json.dumps(row | context) + "\n")
                    file.flush()


if __name__ == "__main__":
    main()
