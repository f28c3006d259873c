"""Twelve fits that everybody tries first, beside scikit-learn's; the table of the README.

``SVC`` with the RBF and the linear kernel and ``LinearSVC``, defaults on both sides, on iris, wine,
breast cancer and digits, standardised. Processor time and wall clock of paired fits in one process,
with whatever number of BLAS threads the process has; the certified gap that each reaches.

Usage: ``python -m benchmarks.estimators.twelve`` appends to ``twelve.jsonl``;
``--table`` writes the table of the latest rows into README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets, svm
from sklearn.preprocessing import scale

import qpsvm
from qpsvm import estimators

ROWS = Path(__file__).with_name("twelve.jsonl")
README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- twelve -->\n", "<!-- /twelve -->\n"
SETS = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
MACHINES = ("SVC, RBF", "SVC, linear", "LinearSVC")


def pair(machine: str) -> tuple[Any, Any]:
    """The estimator of this package and scikit-learn's, not fitted."""
    if machine == "LinearSVC":
        return estimators.LinearSVC(), svm.LinearSVC()
    kernel = "rbf" if machine.endswith("RBF") else "linear"
    return estimators.SVC(kernel=kernel), svm.SVC(kernel=kernel)


def row(name: str, machine: str, repeats: int) -> dict[str, Any]:
    """Medians of paired fits."""
    X, y = SETS[name](return_X_y=True)
    X = scale(X)
    own, other = pair(machine)
    times: dict[str, list[float]] = {key: [] for key in ("cpu", "wall", "cpu_sk", "wall_sk")}
    for turn in range(repeats + 1):
        for each, suffix in ((own, ""), (other, "_sk")):
            wall, cpu = time.perf_counter(), time.process_time()
            each.fit(X, y)
            if turn:  # the first one warms up
                times["cpu" + suffix].append(time.process_time() - cpu)
                times["wall" + suffix].append(time.perf_counter() - wall)
    assert own.fit_status_ == 0
    proof: Any = own.certificate_
    gap = float(np.max(np.atleast_1d(proof.relative_gap)))
    return {
        "set": name,
        "machine": machine,
        **{key: statistics.median(values) for key, values in times.items()},
        "gap": gap,
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
        "qpsvm": qpsvm.__version__,
        "sklearn": version("scikit-learn"),
        "python": platform.python_version(),
    }


def latest() -> Iterator[dict[str, Any]]:
    """The latest row of every fit, default threads, in the order of the table."""
    lines = map(json.loads, ROWS.read_text(encoding="utf-8").splitlines())
    found = {(r["set"], r["machine"]): r for r in lines if r["threads"] == "default"}
    for name in SETS:
        for machine in MACHINES:
            yield found[name, machine]


def table() -> str:
    """The table of the README: milliseconds of both, with a ratio of processor times."""
    ratios, cells = list[float](), dict[str, list[str]]()
    for found in latest():
        ratios.append(found["cpu"] / found["cpu_sk"])
        text = f"{1e3 * found['cpu']:.1f} / {1e3 * found['cpu_sk']:.1f} ({ratios[-1]:.1f})"
        cells.setdefault(found["set"], []).append(text)
    lines = [f"| ms | {' | '.join(f'`{machine}`' for machine in MACHINES)} |", "|---|---|---|---|"]
    lines += [f"| {name} | {' | '.join(row)} |" for name, row in cells.items()]
    mean = float(np.exp(np.mean(np.log(ratios))))
    figures = (
        f"In the geometric mean {mean:.1f} times scikit-learn's time, at most {max(ratios):.1f}"
    )
    return "\n".join([*lines, "", f"{figures} times."]) + "\n"


def filled(page: str) -> str:
    """A page with the table in its place."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


def main() -> None:
    """Measure and append, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--table", action="store_true", help="write the table into README.md")
    arguments = parser.parse_args()
    if arguments.table:
        README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
        return
    with ROWS.open("a", encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in SETS:
            for machine in MACHINES:
                found = row(name, machine, arguments.repeats if name != "digits" else 7)
                file.write(json.dumps(found) + "\n")
                file.flush()
                print(f"{found['cpu'] / found['cpu_sk']:.2f}", name, machine, flush=True)


if __name__ == "__main__":
    main()
