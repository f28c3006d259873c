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
from typing import Any

import numpy as np

import qpsvm
from benchmarks.chunked.measure import Memory, cluster
from qpsvm.chunked import Expansion, chunked
from qpsvm.chunked.contents import run_pass
from qpsvm.kernels import RBF

SEED = 5


def made_up(samples: Any, n_support: int) -> Expansion:
    """A feasible machine with support vectors from the first chunk's rows."""
    first = samples.chunks[0].content()
    rng = np.random.default_rng(SEED)
    y = np.asarray(first.y)
    half = n_support // 2
    chosen = np.concatenate(
        [np.sort(rng.choice(np.flatnonzero(y == label), half, replace=False)) for label in (0, 1)]
    )
    vectors, alpha = np.asarray(first.X[chosen], dtype=np.float64), rng.random(half)
    kernel = RBF(1.0 / vectors.shape[1])
    return Expansion(kernel, vectors, chosen, np.concatenate([-alpha, alpha]), 0.0)


def tiles_alone(contents: Any, machine: Expansion, number: int) -> float:
    """What the tiles take without anything around them: kernel values times coefficients."""
    del number
    return float(sum(np.sum(machine.values(X)) for _, X in contents.blocks()))


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
        machine = made_up(samples, options.support)
        seconds: dict[str, list[float]] = {"tiles": [], "audit": []}
        for _ in range(2):
            began = time.perf_counter()
            run_pass(tiles_alone, "binary", samples.chunks, machine)
            seconds["tiles"].append(time.perf_counter() - began)
            began = time.perf_counter()
            problem = qpsvm.SoftMargin(C=1.0).dual(samples, kernel=machine.kernel)
            certificate = qpsvm.certify(problem, machine)
            seconds["audit"].append(time.perf_counter() - began)
    row = {
        "data": options.folder.name,
        "rows": problem.totals.n_rows,
        "support": options.support,
        "workers": options.workers,
        "seconds": seconds,
        "over_tiles": min(seconds["audit"]) / min(seconds["tiles"]),
        "memory": memory.largest,
        "certificate": certificate.to_dict(),
    }
    print(
        f"{row['rows']} rows, {options.support} support vectors: tiles {seconds['tiles']}, audit "
        f"{seconds['audit']}, ratio {row['over_tiles']:.2f}, {memory.largest / 2**20:.0f} MB"
    )
    with options.output.open("a") as stream:
        stream.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
