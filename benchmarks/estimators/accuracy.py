"""Accuracy and certified gap of estimators beside scikit-learn's with the same parameters.

Every row has both machines on one data set: the score on held-out samples (accuracy, or R^2), the
share of held-out predictions that agree, the certified relative gap of ours, and the seconds of
both fits.

Usage: ``QPSVM_DATA=folder python -m benchmarks.estimators.accuracy [--sets usps ...]``, with the
folder of the stored data sets. Rows are appended to ``accuracy.jsonl``; ``report.py`` makes the
table.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets, svm
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import qpsvm
from qpsvm import estimators

ROWS = Path(__file__).with_name("accuracy.jsonl")


def bundled(load: Callable[..., Any]) -> Any:
    """Training and test halves of a standardised set of scikit-learn's."""
    X, y = load(return_X_y=True)
    if load is datasets.load_diabetes:
        y = scale(y)
    stratify = None if load is datasets.load_diabetes else y
    return train_test_split(scale(X), y, random_state=0, test_size=0.5, stratify=stratify)


def stored(name: str) -> Any:
    """Training and test samples of a stored set; halves where it has no test samples."""
    load = runpy.run_path(str(Path(os.environ["QPSVM_DATA"]) / "load.py"))["load"]
    data = load(name)
    if data["X_test"] is not None:
        X, X_test = (_with_narrow_indices(data[part]) for part in ("X", "X_test"))
        return X, X_test, data["y"], data["y_test"]
    X, y = scale(data["X"]), scale(data["y"].astype(np.float64))
    return train_test_split(X, y, random_state=0, test_size=0.5)


def _with_narrow_indices(X: Any) -> Any:
    """Sparse matrices with indices of 32 bits: scikit-learn's machines take no others."""
    if not sp.issparse(X):
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_matrix((X.data, indices, indptr), shape=X.shape)


CASES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "iris": (lambda: bundled(datasets.load_iris), ("SVC",)),
    "wine": (lambda: bundled(datasets.load_wine), ("SVC",)),
    "breast_cancer": (lambda: bundled(datasets.load_breast_cancer), ("SVC", "LinearSVC")),
    "digits": (lambda: bundled(datasets.load_digits), ("SVC",)),
    "diabetes": (lambda: bundled(datasets.load_diabetes), ("SVR", "LinearSVR")),
    "usps": (lambda: stored("usps"), ("SVC",)),
    "cadata": (lambda: stored("cadata"), ("SVR", "LinearSVR")),
    "a9a": (lambda: stored("a9a"), ("LinearSVC", "SVC")),
}

KEYWORDS: dict[str, dict[str, Any]] = {
    "LinearSVC": {"loss": "hinge"},
    "LinearSVR": {"epsilon": 0.1},
}
THEIRS: dict[str, dict[str, Any]] = {
    "LinearSVC": {"max_iter": 100_000},
    "LinearSVR": {"max_iter": 100_000},
}


def rows(name: str) -> Iterator[dict[str, Any]]:
    """All rows of one set."""
    read, kinds = CASES[name]
    X, X_test, y, y_test = read()
    for kind in kinds:
        keywords = KEYWORDS.get(kind, {})
        ours = getattr(estimators, kind)(**keywords)
        theirs = getattr(svm, kind)(**keywords, **THEIRS.get(kind, {}))
        seconds = []
        for machine in (ours, theirs):
            began = time.perf_counter()
            machine.fit(X, y)
            seconds.append(time.perf_counter() - began)
        found, other = ours.predict(X_test), theirs.predict(X_test)
        same = (
            np.mean(found == other)
            if kind.endswith("SVC")
            else np.mean(np.abs(found - other) <= 1e-2)
        )
        yield {
            "set": name,
            "estimator": kind,
            "n": X.shape[0],
            "d": X.shape[1],
            "score": float(ours.score(X_test, y_test)),
            "their_score": float(theirs.score(X_test, y_test)),
            "agreement": float(same),
            "gap": float(ours.certificate_.relative_gap),
            "seconds": seconds[0],
            "their_seconds": seconds[1],
            "qpsvm": qpsvm.__version__,
            "sklearn": version("scikit-learn"),
        }


def main() -> None:
    """Measure and append."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=tuple(CASES))
    with ROWS.open("a", encoding="utf-8") as file:
        for name in parser.parse_args().sets:
            for row in rows(name):
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(name, row["estimator"], flush=True)


if __name__ == "__main__":
    main()
