"""``qpsvm audit``: what is printed, written, and returned."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from qpsvm.cli import app
from tests.audit.foreign_models.data import CLASSES, TARGETS, TWO, X
from tests.strategies import listed

FOLDER = Path(__file__).parent / "foreign_models"


@pytest.fixture
def data(tmp_path):
    """Writes X with other labels; returns the path."""

    def write(y):
        path = tmp_path / "data.svm"
        dump_svmlight_file(X, y, str(path), zero_based=False)
        return path

    return write


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def test_a_model_that_is_not_optimal_says_why_and_exits_with_1(data):
    result = run(FOLDER / "libsvm_nu_svc.model", data(TWO))
    assert result.exit_code == 1
    assert "the objective exceeds the optimum by" in result.stdout
    assert "nu = 0.3" in result.stdout  # inferred
    assert re.search(r"certified gap\s+FAIL", result.stdout)


def test_several_machines_are_a_table(data):
    result = run(FOLDER / "libsvm_rbf.model", data(CLASSES))
    assert result.exit_code == 1
    for name in ("0 against 1", "0 against 2", "1 against 2"):
        assert re.search(rf"{name}.*(SAME PREDICTIONS|WITHIN A BOUND|WRONG)", result.stdout)
    assert "the worst of 3 machines, exceeds the optimum by" in result.stdout
    assert max(map(len, result.stdout.splitlines()[2:7])) <= 100


def test_a_model_that_is_optimal_at_eps_exits_with_0(data):
    arguments = (FOLDER / "libsvm_rbf.model", data(CLASSES), "--eps", "0.1")
    result = run(*arguments, "--C", "10", "--no-optimum")
    assert result.exit_code == 0
    assert "OPTIMAL at eps=0.1: Optimal: the certified relative gap of '" in result.stdout
    assert "the worst of 3 machines, is" in result.stdout
    assert "inferred" not in result.stdout


def test_json_holds_every_machine(data):
    result = run(FOLDER / "libsvm_rbf.model", data(CLASSES), "--json")
    content = json.loads(result.stdout)
    assert result.exit_code == 1
    assert content["passed"] is False
    assert content["library"]["name"] == "LIBSVM"
    assert [machine["name"] for machine in content["machines"]] == [
        "0 against 1",
        "0 against 2",
        "1 against 2",
    ]
    for machine in content["machines"]:
        assert machine["optimum"]["excess"] >= 0.0
        assert 0.0 <= machine["rounding"]["share"] <= 1.0
        assert machine["relative_gap"] <= content["relative_gap"]
    assert content["verdict"].startswith("Not optimal")


@listed("suffix", ["json", "md", "tex", "txt", "html"], quick=4)
def test_a_report_is_written(data, tmp_path, suffix):
    report = tmp_path / f"report.{suffix}"
    model = FOLDER / "libsvm_epsilon_svr.model"
    result = run(model, data(TARGETS), "--epsilon", "0.05", "--report", report)
    assert result.exit_code == 1
    assert f"Report written to {report}" in result.stderr
    text = report.read_text(encoding="utf-8")
    assert "LIBSVM" in text
    assert "exceeds the optimum by" in " ".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["libsvm_linear.model"], "pass C"),
        (["libsvm_linear.model", "--C", "1", "--nu", "0.1"], "nu was given"),
        (["libsvm_rbf.model"], "classes 0, 1, 2, y has -1, 1"),
        (["missing.model"], "Cannot read"),
        (["liblinear_L2R_L1LOSS_SVC_DUAL.model", "--C", "1", "--no-optimum"], "no multipliers"),
        (["data.py"], "begin with svm_type"),
        (["libsvm_linear.model", "--C", "1", "--report", "x.doc"], ".doc"),
        (["libsvm_linear.model", "--C", "1", "--eps", "3"], "eps is 3"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_audited_exits_with_2_and_one_line(data, arguments, complaint):
    result = run(FOLDER / arguments[0], data(TWO), *arguments[1:])
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("Error: ")
    assert complaint in lines[0]


def test_a_certificate_of_nothing_is_not_a_pass(data, tmp_path):
    # zero weights and an infinite loss of digits: whatever is wrong, it is not optimal
    text = {"formulation": {"name": "SoftMargin", "C": 1.0}, "coef": [0.0] * 4, "intercept": 0.0}
    model = tmp_path / "model.json"
    model.write_text(json.dumps(text))
    result = run(model, data(TWO))
    assert result.exit_code == 1
    assert np.isfinite(json.loads(run(model, data(TWO), "--json").stdout)["relative_gap"])
