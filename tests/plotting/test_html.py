"""The HTML representation of estimators: scikit-learn's diagram, and the certificate below it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from qpsvm import estimators
from qpsvm.estimators import base

X, y = make_blobs(40, centers=2, random_state=0)
X3, y3 = make_blobs(40, centers=3, random_state=0)
LINE = re.compile(r'<p class="qpsvm-certificate">.*?</p>')


def certificate(text):
    """The text of the certificate's paragraph, which is well-formed and stands at the end."""
    (line,) = LINE.findall(text)
    assert text.endswith(line)
    return "".join(ET.fromstring(line).itertext())


FITTED = {
    "two classes": estimators.SVC().fit(X, y),
    "three classes": estimators.SVC().fit(X3, y3),
    "one program": estimators.SVC(multi_class="crammer_singer").fit(X3, y3),
    "linear": estimators.LinearSVC().fit(X, y),
    "regression": estimators.SVR().fit(X, y),
    "novelty": estimators.OneClassSVM().fit(X),
    "ranking": estimators.SVMRanker().fit(X, y),
}


@pytest.mark.parametrize("name", FITTED)
def test_a_fitted_estimator_shows_its_gap(name):
    machine = FITTED[name]
    text = certificate(machine._repr_html_())
    assert text.startswith("Certified optimal to eps = 1e-08: ")
    assert f"{machine.certificate_.relative_gap:.1e}" in text
    assert certificate(machine._repr_mimebundle_()["text/html"]) == text
    assert "qpsvm" not in machine._repr_mimebundle_()["text/plain"]


def test_before_fit_nothing_is_said():
    assert "qpsvm-certificate" not in estimators.SVC()._repr_html_()


def test_a_pipeline_keeps_its_diagram():
    text = make_pipeline(StandardScaler(), estimators.SVC()).fit(X, y)._repr_html_()
    assert LINE.findall(text) == []
    assert re.search(r"Pipeline.*StandardScaler.*SVC", text, re.DOTALL)


def test_what_is_not_certified_is_called_so():
    with pytest.warns(UserWarning, match="not certified"):
        machine = estimators.SVC(eps=1e-20).fit(X, y)
    assert certificate(machine._repr_html_()).startswith("Not certified to eps = 1e-20: ")


def test_labels_are_no_markup():
    labels = np.array(["<b>no", "<i>yes"])[y]
    assert certificate(estimators.SVC(class_weight={"<b>no": 2.0}).fit(X, labels)._repr_html_())


def test_many_samples_are_not_certified_for_a_picture(monkeypatch):
    monkeypatch.setattr(base, "QUICK_SAMPLES", 10)
    machine = estimators.SVC().fit(X, y)
    text = certificate(machine._repr_html_())
    assert text.startswith("Certified optimal to eps = 1e-08: certificate_ has the gap.")
    pipeline = make_pipeline(machine)
    assert "not yet" in pipeline._repr_html_()
    assert "certificate" not in vars(machine._proof)
    gap = machine.certificate_.relative_gap
    assert f"{gap:.1e}" in certificate(machine._repr_html_())
