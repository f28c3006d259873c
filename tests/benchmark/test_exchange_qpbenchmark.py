"""A suite's programs as a test set, in the installed qpbenchmark."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import qpsvm
from benchmarks.data import load_samples
from benchmarks.programs import formulation_of, programs, write_test_set
from benchmarks.suite import Suite, suite_of
from qpsvm.exceptions import SuiteError
from qpsvm.qp.exchange import read_parquet
from tests.processes import run

COMPONENTS = Path(__file__).resolve().parents[2] / "benchmarks" / "qpbenchmark"

SEPARABLE = "strip(d=3, margin=0.5, n=40, seed=0)"
INSEPARABLE = "strip(d=3, margin=-0.5, n=40, seed=0)"


@pytest.fixture(scope="module")
def suite() -> Suite:
    one = {"contestants": ["cvxopt"], "eps": [1e-6]}
    hard = {"family": ["HardMargin"], "data": [SEPARABLE, INSEPARABLE]}
    soft = {"family": ["SoftMargin(C=1.0)"], "kernel": ["linear", "rbf"], "data": ["iris"]}
    return suite_of({"grid": [hard | one, soft | one]})


def name(family: str, data: str, kernel: str, form: str) -> str:
    return f"{family}, {data}, {kernel}, {form}"


def test_programs_are_named_and_the_same_as_the_suites(suite: Suite, tmp_path: Path) -> None:
    path = tmp_path / "set.parquet"
    names = write_test_set(suite, path)
    assert len(names) == 8
    stored = read_parquet(path)
    assert tuple(stored) == names
    samples = load_samples("iris")
    for form in ("primal", "dual"):
        problem = getattr(formulation_of("SoftMargin(C=1.0)"), form)(samples.X, samples.y)
        found = stored[name("SoftMargin(C=1.0)", "iris", "linear", form)]
        np.testing.assert_allclose(found.P.to_dense(), problem.qp.P.to_dense(), atol=1e-14)
        np.testing.assert_array_equal(found.q, problem.qp.q)
        np.testing.assert_array_equal(found.ub, problem.qp.ub)


def test_programs_too_large_are_left_out(suite: Suite, tmp_path: Path) -> None:
    small = dict(programs(suite, ("dual",), largest=2000))
    assert set(small) == {
        name("HardMargin", data, "linear", "dual") for data in (SEPARABLE, INSEPARABLE)
    }
    with pytest.raises(SuiteError, match="no program of at most 10 numbers"):
        write_test_set(suite, tmp_path / "set.parquet", largest=10)
    assert not (tmp_path / "set.parquet").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("solver", ["piqp", "clarabel"])
def test_qpbenchmark_runs_them(suite: Suite, tmp_path: Path, solver: str) -> None:
    names = write_test_set(suite, tmp_path / "programs.parquet")
    shutil.copy(COMPONENTS / "support_vector_machines.py", tmp_path)
    qpbenchmark(tmp_path, "run", "--solver", solver)
    results = pd.read_csv(tmp_path / "results.csv")
    results = results[results["settings"] == "high_accuracy"].set_index(["problem", "solver"])
    assert {key for key, _ in results.index} == set(names)
    for (problem, _), row in results.iterrows():
        solvable = INSEPARABLE not in problem
        assert row["found"] == solvable, problem
        if solvable:
            assert max(row["primal_residual"], row["dual_residual"], row["duality_gap"]) < 1e-6
    # what it solved is the machine: both forms have the optimum that is known by construction
    stored = read_parquet(tmp_path / "programs.parquet")
    for form, sign in (("primal", 1.0), ("dual", -1.0)):
        program = stored[name("HardMargin", SEPARABLE, "linear", form)]
        x = qpsvm.solve(program).x
        objective = 0.5 * x @ program.P.to_dense() @ x + program.q @ x
        np.testing.assert_allclose(sign * objective, 0.5 / 0.5**2, rtol=1e-6)


@pytest.mark.exhaustive
def test_the_script_exports_a_suite_by_name(tmp_path: Path) -> None:
    """From any folder, to where the test set looks for it."""
    file = tmp_path / "tiny.toml"
    file.write_text(
        '[[grid]]\nfamily = ["HardMargin"]\n'
        f'data = ["{SEPARABLE}"]\ncontestants = ["cvxopt"]\neps = [1e-6]\n',
        encoding="utf-8",
    )
    environment: Any = os.environ | {"QPSVM_PROGRAMS": str(tmp_path / "out.parquet")}
    done = run(
        [sys.executable, str(COMPONENTS / "export.py"), str(file)], env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "2 programs" in done.stdout
    assert len(read_parquet(tmp_path / "out.parquet")) == 2


def qpbenchmark(folder: Path, *arguments: str) -> None:
    program = "import sys; from qpbenchmark.benchmark import main; sys.exit(main())"
    done = run(
        [
            *(sys.executable, "-c", program, "support_vector_machines.py"),
            *("--results-path", "results.csv", *arguments, "--author", "qpsvm"),
        ],
        env={key: value for key, value in os.environ.items() if key != "QPSVM_PROGRAMS"},
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-3000:]
