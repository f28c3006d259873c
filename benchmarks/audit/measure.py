"""What an audit costs: seconds and memory beside one product of the kernel matrix with a vector.

For every set a LIBSVM model is fitted (not measured), then five times in turn

* ``K v`` for a dense v, in blocks of rows, by the same kernel code;
* ``qpsvm.audit(model, X, y, optimum=False)``.

The largest memory of each is measured in a run of its own with tracemalloc, which NumPy reports
to. One row per measurement in ``rows.jsonl``; ``report.py`` makes the table of
``docs/audit.md`` from that file.

Usage: ``QPSVM_DATA=... python benchmarks/audit/measure.py`` (covtype20k needs the folder).
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import time
import tracemalloc
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import qpsvm
from qpsvm import kernels
from qpsvm.kernels.gram import gram

ROWS = Path(__file__).with_name("rows.jsonl")
REPEATS = 5
N = 20_000


def sets() -> Iterator[tuple[str, Any, Any]]:
    """(name, X, y) of 20000 samples each."""
    for noise in (0.05, 0.9):  # few support vectors, and nearly all samples
        X, y = make_classification(N, 20, n_informative=10, flip_y=noise, random_state=0)
        yield f"synthetic, {noise:.0%} noise", StandardScaler().fit_transform(X), y
    folder = os.environ.get("QPSVM_DATA")
    if folder:
        spec = importlib.util.spec_from_file_location("loader", Path(folder) / "load.py")
        assert spec is not None
        assert spec.loader is not None
        loader = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loader)
        X, y = loader.binary("covtype20k")
        yield "covtype20k", X, y


def timed(work: Callable[[], Any]) -> dict[str, float]:
    """Wall clock and processor seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}


def peak(work: Callable[[], Any]) -> int:
    """Bytes at the worst moment of one call, beside what was there before."""
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def main() -> None:
    """Measure, and append."""
    machine = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("qpsvm", "numpy", "scikit-learn")},
    }
    with ROWS.open("a", encoding="utf-8") as stream:
        for name, X, y in sets():
            model = SVC(C=1.0, gamma="scale", cache_size=500).fit(X, y)
            v = np.random.default_rng(0).normal(size=len(X))
            kernel = kernels.RBF(model._gamma)

            def product(kernel: Any = kernel, X: Any = X, v: Any = v) -> None:
                gram(kernel, X)[0].matvec(v)

            def audit(model: Any = model, X: Any = X, y: Any = y) -> None:
                qpsvm.audit(model, X, y, optimum=False)

            facts = {
                "set": name,
                "n": len(X),
                "features": X.shape[1],
                "support": len(model.support_),
                **machine,
            }
            works = {"product": product, "audit": audit}
            for what, work in works.items():
                row = facts | {"what": what, "peak_bytes": peak(work)}
                stream.write(json.dumps(row) + "\n")
            for _ in range(REPEATS):
                for what, work in works.items():
                    row = facts | {"what": what} | timed(work)
                    stream.write(json.dumps(row) + "\n")
                    stream.flush()
                    print(name, what, f"{row['seconds']:.2f} s", flush=True)


if __name__ == "__main__":
    main()
