"""Reports as files, and the comparison of backends."""

from __future__ import annotations

import dataclasses
import json
import os
import re

import numpy as np
import pytest

from qpsvm import reports
from qpsvm.exceptions import InvalidParameterError, MissingPackageError
from tests.reports.cases import report

SUFFIXES = ("html", "htm", "json", "md", "tex", "txt")
DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_suffix_says_how(tmp_path, suffix):
    path = tmp_path / f"r.{suffix.upper()}"
    reports.write(path, report("program"))
    assert os.listdir(tmp_path) == [path.name]
    content = path.read_text("utf-8")
    assert DATE.sub("", content) == DATE.sub("", reports.text_of(report("program"), suffix))
    beginning = {"html": "<!doctype html>", "htm": "<!doctype html>", "json": "{", "md": "# "}
    assert content.startswith(beginning.get(suffix, ""))


@pytest.mark.parametrize("suffix", ["json", "html", "md", "tex", "txt"])
def test_paths_that_are_no_unicode_are_written(tmp_path, suffix):
    built, source = report("two classes"), os.fsdecode(b"caf\xe9.csv")
    path = tmp_path / f"r.{suffix}"
    reports.write(path, dataclasses.replace(built, source=source))
    content = path.read_text("utf-8")
    assert "caf" in content
    if suffix == "json":
        assert json.loads(content)["data"]["source"] == source


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("r.pdf", r"suffix '\.pdf'; use \.html, "),
        ("r", "use"),
        ("no/r.json", "choose another path"),
    ],
)
def test_bad_paths(tmp_path, name, words):
    with pytest.raises(InvalidParameterError, match=words):
        reports.write(tmp_path / name, report("program"))
    with pytest.raises(InvalidParameterError, match=words):
        reports.require_reportable(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_folder_is_no_path(tmp_path):
    (tmp_path / "r.json").mkdir()
    with pytest.raises(InvalidParameterError, match="it is a folder"):
        reports.require_reportable(tmp_path / "r.json")


def test_missing_packages_name_the_pip_line(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for suffix in ("html", "md", "tex"):
        with pytest.raises(MissingPackageError, match=r'pip install "qpsvm\[report\]"'):
            reports.write(tmp_path / f"r.{suffix}", report("program"))
    for suffix in ("json", "txt"):
        reports.require_reportable(tmp_path / f"r.{suffix}")
        reports.write(tmp_path / f"r.{suffix}", report("program"))
    assert sorted(os.listdir(tmp_path)) == ["r.json", "r.txt"]


def test_a_failed_report_says_so_in_every_format():
    built = report("no intercept")
    assert json.loads(built.to_json())["passed"] is False
    assert json.loads(built.to_json())["grade"] == "unproven"
    assert '<strong id="verdict">NOT PROVEN</strong>' in built.to_html()
    assert "**NOT PROVEN**" in built.to_markdown()
    assert r"\textbf{NOT PROVEN}" in built.to_latex()
    assert built.to_text().splitlines()[0].startswith("NOT PROVEN at eps=1e-08")


# --- comparison ------------------------------------------------------------------------------


def row(objective, kernel="linear", verdict="PASS"):
    return reports.ComparisonRow("b", kernel, "dual", 0.0, verdict, "", objective)


def test_comparison_computes_agreement_from_its_rows():
    agreeing = reports.Comparison((row(10.0), row(10.000001), row(99.0, "rbf")), 1e-6)
    assert agreeing.agree
    assert agreeing.passed
    assert agreeing.spread("linear") == pytest.approx(1e-7)
    assert not reports.Comparison((row(10.0), row(10.1)), 1e-6).agree
    assert not reports.Comparison((row(10.0), row(np.nan)), 1e-6).agree
    assert not reports.Comparison((row(10.0), row(10.0, verdict="FAIL")), 1e-6).passed
    assert reports.Comparison((row(10.0), row(None, verdict="skipped")), 1e-6).passed
    assert not reports.Comparison((row(None, verdict="skipped"),), 1e-6).passed


@pytest.mark.parametrize("suffix", ["html", "md", "tex", "txt"])
def test_comparison_is_on_the_page(suffix):
    rows = (
        reports.ComparisonRow("cvxopt", "linear", "dual", 0.1, "PASS", "", 1.5, 1e-9, 1e-10, 3),
        reports.ComparisonRow("osqp", "linear", "primal", 0.1, "PASS", "", 1.5, 1e-9, 1e-10, 3),
        reports.ComparisonRow("slsqp", "linear", "primal", 0.1, "skipped", "too large"),
    )
    comparison = reports.Comparison(rows, 1e-6)
    page = reports.Page("A title", "A subtitle", (report("program"),), comparison, ("scs (same)",))
    text = reports.text_of(page, suffix)
    for words in ("cvxopt", "osqp", "skipped: slsqp, linear primal: too large", "scs (same)"):
        assert words in text
    assert page.passed
    assert "2 of 3 solves verified" in text


def test_a_page_without_anything_has_not_passed():
    assert not reports.Page("t", "s", ()).passed
