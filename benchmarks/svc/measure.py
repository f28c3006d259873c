"""How far LIBSVM's answers and ours are from the optimum, row by row.

Breast cancer (bundled with scikit-learn), standardised, RBF with ``gamma="scale"``: the certified
relative gap of what ``examples/is_this_svc_optimal.py`` prints. Appends to ``rows.jsonl``; the
table in the README is that of the last row of each C and contestant (``report.py``).

Usage: ``python benchmarks/svc/measure.py``
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import qpsvm

ROWS = Path(__file__).with_name("rows.jsonl")
PRICES = (1.0, 100.0, 1e4)
TOLERANCES = (1e-3, 1e-10)
"""LIBSVM's own default, and so tight that only its float32 kernel is left."""


def main() -> None:
    """Measure and append."""
    about = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {
            "qpsvm": qpsvm.__version__,
            **{name: importlib.metadata.version(name) for name in ("numpy", "scikit-learn")},
        },
    }
    with ROWS.open("a", encoding="utf-8") as stream:
        for row in measure():
            stream.write(json.dumps(row | about) + "\n")


def measure() -> Iterator[dict[str, float | str]]:
    """One row per C and contestant: its certified relative gap."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for C in PRICES:
        problem = qpsvm.SoftMargin(C=C).dual(X, y, kernel="rbf")
        for tol in TOLERANCES:
            model = SVC(C=C, gamma="scale", tol=tol).fit(X, y)
            gap = qpsvm.audit(model, X, y, optimum=False).relative_gap
            yield {"C": C, "what": f"LIBSVM, tol={tol:g}", "relative_gap": gap}
        gap = qpsvm.certify(problem, qpsvm.solve(problem)).relative_gap
        yield {"C": C, "what": "qpsvm", "relative_gap": gap}


if __name__ == "__main__":
    main()
