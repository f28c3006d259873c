"""Reports: what is in the JSON and the page, and that nobody's text becomes markup."""

from __future__ import annotations

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import qpsvm
from qpsvm import plotting, reports
from qpsvm.exceptions import InvalidParameterError, MissingPackageError
from qpsvm.models import Scaling
from qpsvm.reports.html import EXPLANATIONS

VOID = {"meta", "link", "img", "source", "br", "input"}


def solved(kernel="linear", *, n=300, labels=("malignant", "benign"), eps=1e-8, family=None):
    X, y = load_breast_cancer(return_X_y=True)
    X = Scaling.fit(X[:n])(X[:n])
    problem = (family or qpsvm.SoftMargin()).dual(X, np.array(labels)[y[:n]], kernel=kernel)
    solution = qpsvm.solve(problem, eps=eps)
    return problem, solution, qpsvm.verify(problem, solution, eps=eps)


@pytest.fixture(scope="module")
def report():
    problem, solution, verified = solved(qpsvm.kernels.RBF(gamma=0.05))
    return reports.build(problem, solution, verified, source="breast cancer")


@pytest.fixture(scope="module")
def page(report):
    rows = (
        reports.ComparisonRow("cvxopt", "linear", "dual", 0.1, "PASS", "", 1.0, 1e-9, 1e-10, 3),
        reports.ComparisonRow("osqp", "linear", "primal", 0.1, "PASS", "", 1.0, 1e-9, 1e-10, 3),
        reports.ComparisonRow("slsqp", "linear", "primal", 0.1, "skipped", "too large"),
    )
    comparison = reports.Comparison(rows, 1e-6)
    return reports.Page("A title", "A subtitle", (report,), comparison, ("scs (the same)",))


class Balance(HTMLParser):
    """Every element that opens also closes, in order; collects what tests ask for."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse(html):
    parser = Balance()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def embedded(html):
    found = re.search(r'<script type="application/json" id="qpsvm-data">(.*?)</script>', html)
    return json.loads(found.group(1), parse_constant=pytest.fail)


# --- JSON ------------------------------------------------------------------------------------


def test_dictionary_is_strict_json_and_complete(report):
    content = json.loads(json.dumps(report.to_dict(samples=True), allow_nan=False))
    assert content["schema"] == 1
    assert content["passed"] is True
    assert content["problem"]["kernel"] == "rbf(gamma=0.05)"
    assert content["data"]["class_counts"] == [154, 146]
    assert content["data"]["classes"] == ["benign", "malignant"]
    assert content["relative_gap"] == report.verified.relative_gap
    assert {check["name"] for check in content["checks"]} >= {"stationarity", "certified_gap"}
    assert len(content["samples"]) == 300
    violations = [row["violation"] for row in content["samples"]]
    assert violations == sorted(violations, reverse=True)


def test_infinities_are_words(tmp_path):
    X, y = load_iris(return_X_y=True)
    problem = qpsvm.HardMargin().dual(X[:100], y[:100])
    solution = qpsvm.solve(problem)
    built = reports.build(problem, solution, qpsvm.verify(problem, solution))
    path = tmp_path / "r.json"
    reports.write(path, reports.Page("t", "s", (built,)))
    content = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert {row["C"] for row in content["samples"]} == {"Infinity"}
    assert float(content["samples"][0]["C"]) == np.inf


def test_a_failed_report(tmp_path):
    problem, solution, _ = solved()
    broken = solution.replace(intercept=np.nan)
    verified = qpsvm.verify(problem, broken)
    built = reports.build(problem, broken, verified)
    assert not built.passed
    page = reports.Page("t", "s", (built,))
    for name in ("r.json", "r.html"):
        reports.write(tmp_path / name, page)
    assert json.loads((tmp_path / "r.json").read_text())["passed"] is False
    html = (tmp_path / "r.html").read_text()
    assert '<strong id="verdict">FAIL</strong>' in html
    parse(html)


# --- HTML ------------------------------------------------------------------------------------


def test_page_is_well_formed_and_self_contained(page):
    html = reports.render(page)
    parser = parse(html)
    for tag, attributes in parser.tags:
        for name in ("src", "href", "srcset"):
            assert attributes.get(name, "data:").startswith("data:"), (tag, attributes)
    assert "http" not in re.sub(r"data:image/svg\+xml;base64,[^\"]*", "", html)
    assert "@import" not in html
    assert "url(" not in html


def test_page_is_accessible(page):
    parser = parse(reports.render(page))
    tags = parser.tags
    assert [tag for tag, _ in tags].count("h1") == 1
    assert tags[0] == ("html", {"lang": "en"})
    tables = [tag for tag, _ in tags if tag == "table"]
    assert len(tables) == 3
    assert len([tag for tag, _ in tags if tag == "caption"]) == len(tables)
    assert all(a.get("scope") in ("row", "col") for tag, a in tags if tag == "th")
    images = [a for tag, a in tags if tag == "img"]
    assert images
    assert all("Histogram" in a["alt"] for a in images)
    ids = {a["id"] for _, a in tags if "id" in a}
    labelled = [a["aria-labelledby"] for _, a in tags if "aria-labelledby" in a]
    assert labelled
    assert set(labelled) <= ids


def test_page_shows_the_figures(page, report):
    text = " ".join("".join(parse(reports.render(page)).text).split())
    for words in (
        "PASS", f"{report.verified.objective:.9g}", "SoftMargin(C=1.0)",
        report.statistics.backend, "skipped slsqp, linear primal: too large",
        "not run scs (the same)", "The 200 samples with the largest violations of 300",
        "the exact optimum lies between",
    ):  # fmt: skip
        assert words in text, words


def test_embedded_json_holds_every_sample(page):
    content = embedded(reports.render(page))
    assert len(content["reports"][0]["samples"]) == 300
    assert content["comparison"]["agree"] is True


def test_hostile_texts_stay_texts():
    evil = "</script><script>alert(1)</script>"
    problem, solution, verified = solved(n=120, labels=(evil, '"><img src=x onerror=alert(2)>'))
    built = reports.build(problem, solution, verified, source=evil)
    row = reports.ComparisonRow(evil, evil, evil, 0.0, "FAIL", evil)
    page = reports.Page(evil, evil, (built,), reports.Comparison((row,), 1e-6), (evil,))
    html = reports.render(page)
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert html.count("<script") == 1
    parse(html)
    assert embedded(html)["title"] == evil


def test_dollar_signs_are_no_formulas():
    problem, solution, verified = solved(n=120, labels=("$\\frac{", "_b$"))
    svg = plotting.decision_histogram_svg(verified.samples, problem.data.classes.tolist())
    ET.fromstring(svg)
    assert solution.status is qpsvm.qp.Status.OPTIMAL


def test_picture_leaves_no_global_state(report):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    reports.render(reports.Page("t", "s", (report,)))
    assert dict(mpl.rcParams) == before


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"), [("r.pdf", r"use \.html or \.json"), ("no/r.json", "choose another path")]
)
def test_bad_paths(tmp_path, report, name, words):
    page = reports.Page("t", "s", (report,))
    with pytest.raises(InvalidParameterError, match=words):
        reports.write(tmp_path / name, page)
    with pytest.raises(InvalidParameterError, match=words):
        reports.require_reportable(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_folder_is_no_path(tmp_path):
    (tmp_path / "r.json").mkdir()
    with pytest.raises(InvalidParameterError, match="it is a folder"):
        reports.require_reportable(tmp_path / "r.json")


def test_missing_packages_name_the_pip_line(tmp_path, report, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r'pip install "qpsvm\[report\]"'):
        reports.write(tmp_path / "r.html", reports.Page("t", "s", (report,)))
    reports.write(tmp_path / "r.json", reports.Page("t", "s", (report,)))
    assert os.listdir(tmp_path) == ["r.json"]


# --- comparison ------------------------------------------------------------------------------


def test_comparison_computes_agreement_from_its_rows():
    def row(objective, kernel="linear", verdict="PASS"):
        return reports.ComparisonRow("b", kernel, "dual", 0.0, verdict, "", objective)

    agreeing = reports.Comparison((row(10.0), row(10.000001), row(99.0, "rbf")), 1e-6)
    assert agreeing.agree
    assert agreeing.passed
    assert agreeing.spread("linear") == pytest.approx(1e-7)
    assert not reports.Comparison((row(10.0), row(10.1)), 1e-6).agree
    assert not reports.Comparison((row(10.0), row(np.nan)), 1e-6).agree
    assert not reports.Comparison((row(10.0), row(10.0, verdict="FAIL")), 1e-6).passed
    assert reports.Comparison((row(10.0), row(None, verdict="skipped")), 1e-6).passed
    assert not reports.Comparison((row(None, verdict="skipped"),), 1e-6).passed


# --- in a browser ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chromium():
    found = which("chromium") or which("chromium-browser") or which("google-chrome")
    if found is None and os.environ.get("QPSVM_REQUIRE_CHROMIUM"):
        pytest.fail("QPSVM_REQUIRE_CHROMIUM is set and there is no Chromium on the PATH")
    if found is None:
        pytest.skip("no Chromium on the PATH")
    return found


@pytest.mark.parametrize("size", ["1280,1000", "500,900"])
def test_a_browser_shows_it_without_complaint(chromium, page, report, tmp_path, size):
    path = tmp_path / "report.html"
    reports.write(path, page)
    result = subprocess.run(
        [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--enable-logging=stderr", f"--window-size={size}",
            f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", Path(path).as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in result.stderr
    dom = result.stdout
    assert f'data-figure="objective">{report.verified.objective:.9g}<' in dom
    assert f'data-figure="relative-gap">{report.relative_gap:.1e}<' in dom
    assert f'data-figure="support">{report.verified.summary.n_support}<' in dom
    assert dom.count('<th scope="row" class="n">') == 200
    assert '<strong id="verdict">PASS</strong>' in dom


@pytest.mark.parametrize("family", [qpsvm.SoftMargin(), qpsvm.HardMargin()], ids=repr)
def test_every_check_is_explained(family):
    problem, _, verified = solved(n=40, family=family)
    del problem
    missing = {check.name for check in verified.checks} - set(EXPLANATIONS)
    assert not missing, f"no explanation of {missing} in reports/html.py"
