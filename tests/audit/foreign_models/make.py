"""Writes the model files of this folder with the libraries themselves, and what they say.

    pip install libsvm-official==3.37.0 liblinear-official==2.50.0 thundersvm-cpu==0.3.3
    python -m tests.audit.foreign_models.make

``expected.json`` holds for every file the rows that the library names as support vectors (where it
does) and its decision values for the first samples.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.audit.foreign_models.data import CLASSES, LIBLINEAR, LIBSVM, N_DECISIONS, TARGETS, X

FOLDER = Path(__file__).parent


def libsvm() -> Iterator[tuple[str, Any]]:
    from libsvm import svmutil

    for name, (options, y) in LIBSVM.items():
        rows = X
        if name == "precomputed":
            rows = np.hstack([np.arange(1, len(X) + 1)[:, None], X @ X.T])
        problem = svmutil.svm_problem(y, rows, isKernel=name == "precomputed")
        model = svmutil.svm_train(problem, svmutil.svm_parameter(f"{options} -q"))
        svmutil.svm_save_model(str(FOLDER / f"libsvm_{name}.model"), model)
        _, _, decisions = svmutil.svm_predict([], rows[:N_DECISIONS], model, "-q")
        yield (
            f"libsvm_{name}",
            {"rows": [i - 1 for i in model.get_sv_indices()], "decisions": decisions},
        )


def liblinear() -> Iterator[tuple[str, Any]]:
    from liblinear import liblinearutil

    for name, (options, y) in LIBLINEAR.items():
        problem = liblinearutil.problem(y, X, bias=float(options.split("-B ")[-1]))
        model = liblinearutil.train(problem, liblinearutil.parameter(f"{options} -q"))
        liblinearutil.save_model(str(FOLDER / f"liblinear_{name}.model"), model)
        _, _, decisions = liblinearutil.predict([], X[:N_DECISIONS], model, "-q")
        yield f"liblinear_{name}", {"decisions": decisions}


def thundersvm() -> Iterator[tuple[str, Any]]:
    import thundersvm

    two = (CLASSES > 0).astype(int)
    for name, model, y in (
        ("rbf", thundersvm.SVC(kernel="rbf", gamma=0.123456789, C=10), CLASSES),
        ("linear", thundersvm.SVC(kernel="linear"), two),
        ("probability", thundersvm.SVC(kernel="rbf", gamma=0.5, probability=1), CLASSES),
        ("svr", thundersvm.SVR(kernel="polynomial", degree=2, gamma=0.1, coef0=1 / 3), TARGETS),
        ("one_class", thundersvm.OneClassSVM(kernel="sigmoid", gamma=0.01, nu=0.2), two),
    ):
        model.fit(X, y)
        model.save_to_file(str(FOLDER / f"thundersvm_{name}.model"))
        expected: dict[str, Any] = {}
        if name != "svr":
            expected["decisions"] = model.decision_function(X[:N_DECISIONS]).tolist()
        yield f"thundersvm_{name}", expected


if __name__ == "__main__":
    written = dict(sorted([*libsvm(), *liblinear(), *thundersvm()]))
    lines = [f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in written.items()]
    (FOLDER / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    sys.stdout.write(f"{len(written)} models\n")
