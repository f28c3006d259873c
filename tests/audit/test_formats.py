"""An audit in every format that reports have."""

from __future__ import annotations

import functools
import json
import re
from itertools import product

import numpy as np
import pytest
from sklearn.svm import SVC

import qpsvm
from qpsvm import reports
from qpsvm.exceptions import InvalidParameterError

DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
WAYS = {
    "html": "to_html",
    "json": "to_json",
    "md": "to_markdown",
    "tex": "to_latex",
    "txt": "to_text",
}


@functools.cache
def things():
    """A report, and audits of one machine and of several."""
    X = np.random.default_rng(5).normal(size=(60, 3))
    two, three = np.where(X[:, 0] > 0.2, "in", "out"), np.digitize(X[:, 0], (-0.4, 0.4))
    problem = qpsvm.SoftMargin().dual(X, two)
    return {
        "report": reports.build(problem, qpsvm.solve(problem)),
        "one machine": qpsvm.audit(SVC(kernel="linear").fit(X, two), X, two),
        "several machines": qpsvm.audit(SVC(kernel="linear").fit(X, three), X, three),
    }


def page_of(thing):
    return thing.report() if isinstance(thing, qpsvm.Audit) else thing


# pages with pictures take a second each: the quick run draws those of one audit
@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        pytest.param(
            *(name, suffix),
            marks=pytest.mark.exhaustive if suffix == "html" else (),
        )
        for name, suffix in product(["report", "one machine", "several machines"], WAYS)
        if (name, suffix) != ("several machines", "html")  # seconds of pictures, as those of one
    ],
)
def test_every_format_is_that_of_the_page(name, suffix, tmp_path):
    thing = things()[name]
    shown = DATE.sub("", getattr(thing, WAYS[suffix])())
    assert shown == DATE.sub("", reports.text_of(page_of(thing), suffix))
    thing.save(tmp_path / f"found.{suffix}")
    assert DATE.sub("", (tmp_path / f"found.{suffix}").read_text("utf-8")) == shown


def test_the_figures_are_the_audits_own():
    found = things()["several machines"]
    content = json.loads(found.to_json())
    assert content["headline"] == found.verdict
    assert len(content["reports"]) == len(found.machines) == 3
    gaps = [report["relative_gap"] for report in content["reports"]]
    assert gaps == [machine.relative_gap for machine in found.machines]


def test_there_is_one_implementation():
    for way in (*WAYS.values(), "save"):
        assert getattr(qpsvm.Audit, way) is getattr(reports.Report, way)


def test_another_suffix_is_refused(tmp_path):
    for name in ("report", "one machine"):
        with pytest.raises(InvalidParameterError, match=r"use \.html, "):
            things()[name].save(tmp_path / "found.pdf")
    assert list(tmp_path.iterdir()) == []
