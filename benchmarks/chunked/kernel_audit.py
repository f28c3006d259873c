"""Audit of an RBF machine on samples in chunks, beside the time of its kernel values alone.

Usage, from the root of the repository::

    python -m benchmarks.chunked.kernel_audit FOLDER --support 20000 --workers 2

The machine is made up: support vectors are rows of the data chosen at random, with random dual
variables that are feasible. The time of an audit does not depend on how good the machine is.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import qpsvm
from benchmarks.chunked.measure import Memory, cluster
from qpsvm.chunked import chunked
from qpsvm.chunked.contents import run_pass
from qpsvm.kernels import RBF
from qpsvm.machines.prediction import KernelSums

SEED = 5


class MadeUp(SimpleNamespace):
    """A machine with the attributes of a fitted ``SVC``."""


def machine(folder: Path, n_support: int, rows: int) -> MadeUp:
    """A feasible machine with support vectors from the first chunk's rows."""
    samples = chunked(str(folder), "y")
    first = samples.chunks[0].content.read()
    rng = np.random.default_rng(SEED)
    y = np.asarray(first.y)
    half = n_support // 2
    chosen = np.concatenate(
        [np.sort(rng.choice(np.flatnonzero(y == label), half, replace=False)) for label in (0, 1)]
    )
    alpha = rng.random(half)
    return MadeUp(
        classes_=np.array([0, 1]),
        C=1.0,
        kernel="rbf",
        _gamma=1.0 / 28.0,
        class_weight_=np.ones(2),
        support_=chosen,
        support_vectors_=np.asarray(first.X[chosen], dtype=np.float64),
        dual_coef_=np.concatenate([-alpha, alpha])[None, :],
        intercept_=np.zeros(1),
        shape_fit_=(rows, 28),
    )


def tiles_alone(contents: Any, request: Any, number: int) -> float:
    """What the tiles take without anything around them: kernel values times coefficients."""
    del number
    vectors, beta, gamma = request
    total = 0.0
    for _, X in contents.blocks():
        total += float(KernelSums(RBF(gamma), vectors, beta)(X)[0])
    return total


def main() -> None:
    """Measure one audit and append a row."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--support", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "audits.jsonl")
    options = parser.parse_args()
    with Memory() as memory, cluster(options.workers or None):
        samples = chunked(str(options.folder), "y", rows=65_536)
        model = machine(options.folder, options.support, 0)
        request = model.support_vectors_, model.dual_coef_[0], model._gamma
        seconds: dict[str, list[float]] = {"tiles": [], "audit": []}
        for _ in range(2):
            began = time.perf_counter()
            run_pass(tiles_alone, "binary", samples.chunks, request, verbose=False)
            seconds["tiles"].append(time.perf_counter() - began)
            began = time.perf_counter()
            found = qpsvm.audit(model, samples)
            seconds["audit"].append(time.perf_counter() - began)
    row = {
        "data": options.folder.name,
        "rows": found.n_rows,
        "support": options.support,
        "workers": options.workers,
        "seconds": seconds,
        "over_tiles": min(seconds["audit"]) / min(seconds["tiles"]),
        "memory": memory.largest,
        "certificate": found.certificate.to_dict(),
    }
    print(
        f"{row['rows']} rows, {options.support} support vectors: tiles {seconds['tiles']}, audit "
        f"{seconds['audit']}, ratio {row['over_tiles']:.2f}, {memory.largest / 2**20:.0f} MB"
    )
    with options.output.open("a") as stream:
        stream.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
