"""The JSON: strict, complete, as its schema and its documentation say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import qpsvm
from qpsvm import reports
from tests.reports.cases import ALL, MACHINES, report, solved

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def validator():
    schema = reports.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def read(text):
    """JSON as the standard has it: no NaN, no Infinity."""
    return json.loads(text, parse_constant=pytest.fail)


@pytest.mark.parametrize("name", ALL)
def test_every_report_obeys_the_schema(name, validator):
    content = read(report(name).to_json())
    validator.validate(content)
    assert content["schema"] == reports.SCHEMA
    assert content["passed"] == report(name).passed
    without = report(name).to_dict()
    assert without == {key: value for key, value in content.items() if key != "samples"} | {
        "machines": [{k: v for k, v in m.items() if k != "samples"} for m in content["machines"]]
    }


@pytest.mark.parametrize("name", MACHINES)
def test_every_sample_is_in_it(name):
    content = read(report(name).to_json())
    assert len(content["samples"]) == len(report(name).table)


def test_every_sample_of_every_machine_is_in_it():
    content = read(report("one vs rest").to_json())
    sizes = [len(machine["samples"]) for machine in content["machines"]]
    assert sizes == [part.data.n_samples for part in solved("one vs rest")[0].problems]
    assert content["samples"] == []


def test_a_page_of_several_obeys_the_schema(validator):
    row = reports.ComparisonRow("b", "linear", "dual", 0.1, "FAIL", "why", np.inf, np.nan, 1.0, 3)
    page = reports.Page(
        "t", "s", (report("plane"), report("tube")), reports.Comparison((row,), 1e-6), ("scs",)
    )
    content = read(reports.text_of(page, "json"))
    validator.validate(content)
    assert content["comparison"]["rows"][0]["objective"] == "Infinity"
    assert content["left_out"] == ["scs"]
    assert len(content["reports"]) == 2


def test_infinities_are_words():
    content = read(report("hard margin").to_json())
    assert {row["C"] for row in content["samples"]} == {"Infinity"}
    assert float(content["samples"][0]["C"]) == np.inf
    assert float(read(report("no vectors").to_json())["relative_gap"]) == np.inf


def test_a_new_key_would_be_noticed(validator):
    content = read(report("plane").to_json())
    for path in ((), ("problem",), ("data",), ("solver",), ("checks", 0), ("samples", 0)):
        part = content
        for step in path:
            part = part[step]
        part["surprise"] = 1
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(content)
        del part["surprise"]
    validator.validate(content)


@pytest.mark.parametrize("key", ["passed", "certificate", "checks", "data", "trace"])
def test_a_missing_key_would_be_noticed(validator, key):
    content = report("plane").to_dict()
    del content[key]
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(content)


def test_documentation_has_the_keys_of_the_schema():
    spec = importlib.util.spec_from_file_location("report_keys", DOCS / "report_keys.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (DOCS / "report.md").read_text("utf-8")
    assert script.updated(text) == text, "run: python docs/report_keys.py"
    for part in script.TITLES:
        for key in reports.schema()["$defs"][part]["properties"]:
            assert f"| `{key}` |" in text


def test_the_data_are_told_by_their_hash():
    problem, solution = solved("plane")
    X, y = problem.data.X, problem.data.targets
    again = qpsvm.SoftMargin(3.0).dual(np.array(X), np.array(y), kernel=problem.kernel)
    other = qpsvm.SoftMargin(3.0).dual(X + 1e-12, y, kernel=problem.kernel)
    hashes = [reports.build(p, qpsvm.solve(p)).to_dict()["data"]["sha256"] for p in (again, other)]
    assert hashes[0] == reports.build(problem, solution).to_dict()["data"]["sha256"]
    assert hashes[0] != hashes[1]
