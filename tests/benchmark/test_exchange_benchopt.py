"""The components of ``benchmarks/benchopt`` in the installed benchopt, without a network."""

from __future__ import annotations

import math
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

import qpsvm
from benchmarks.data import load_samples
from tests.processes import run

COMPONENTS = Path(__file__).resolve().parents[2] / "benchmarks" / "benchopt"

LOADER = """
import numpy as np
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

MANIFEST = {"splice": {"task": "binary"}}

def binary(name):
    X, y = load_iris(return_X_y=True)
    return scale(X), np.where(y == 2, 1.0, -1.0)
"""


@pytest.fixture(scope="module")
def benchmark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The components, and beside them a folder of stored sets that needs no download."""
    folder = tmp_path_factory.mktemp("benchopt")
    (folder / "stored").mkdir()
    (folder / "stored" / "load.py").write_text(LOADER, encoding="utf-8")
    return Path(shutil.copytree(COMPONENTS, folder / "svm"))


def benchopt(folder: Path, *arguments: str) -> None:
    """Run it in that folder, with no configuration of the user's."""
    beside = str(Path(sys.executable).parent)  # ``benchopt test`` calls the first pytest it finds
    environment = os.environ | {
        "HOME": str(folder.parent),
        "QPSVM_DATA": str(folder.parent / "stored"),
        "PATH": os.pathsep.join([beside, os.environ.get("PATH", "")]),
    }
    done = run([sys.executable, "-m", "benchopt", *arguments], env=environment, cwd=folder.parent)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.exhaustive  # a run of the same components is below
def test_benchopt_finds_nothing_wrong_with_them(benchmark_folder: Path) -> None:
    """Its own test suite: names, parameters, every dataset and every solver once."""
    benchopt(benchmark_folder, "test", str(benchmark_folder), "--skip-install")


@pytest.mark.exhaustive
def test_a_run_shows_gaps_that_are_certified_here(benchmark_folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "results.parquet"
    solvers = ("libsvm", "liblinear[max_epochs=100000]", "qpsvm[backend=cvxopt,form=dual]")
    benchopt(
        benchmark_folder, "run", str(benchmark_folder), "-l", "--no-plot", "--no-cache",
        "--seed", "0", "-d", "bundled[set=breast_cancer]", "-o", "*[C=0.01]",
        *(word for name in solvers for word in ("-s", name)), "--output", str(output),
    )  # fmt: skip
    rows = pyarrow.parquet.read_table(output).to_pylist()
    curves: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        curves.setdefault((row["solver_name"], row["p_obj_intercept"]), []).append(row)
    assert set(curves) == {
        (solvers[0], "free"),
        (solvers[1], "penalized"),
        (solvers[2], "free"),
        (solvers[2], "penalized"),
    }
    samples = load_samples("breast_cancer")
    for (solver, intercept), curve in curves.items():
        family = qpsvm.SoftMargin(0.01, intercept=intercept)
        problem = family.dual(samples.X, samples.y)
        proof = qpsvm.certify(problem, qpsvm.solve(problem, eps=1e-10))
        best = proof.primal_objective
        tolerances = [row["stop_val"] for row in curve]
        np.testing.assert_allclose(tolerances, [10.0 ** -(k + 1) for k in range(len(curve))])
        for row in curve:
            gap, value = row["objective_relative_gap"], row["objective_value"]
            assert value >= best * (1 - 1e-9)
            if solver.startswith("liblinear"):
                assert math.isinf(gap)  # no multipliers, no proof
                continue
            # both bounds hold, and the gap is theirs
            assert row["objective_dual"] <= best * (1 + 1e-9)
            assert value - row["objective_dual"] >= gap * value * (1 - 1e-9)
        if solver.startswith("qpsvm"):
            assert curve[-1]["objective_relative_gap"] <= 1e-9
        else:
            assert curve[-1]["objective_value"] - best <= 1e-4 * best
