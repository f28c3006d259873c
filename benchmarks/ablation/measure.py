"""Time the solvers with one heuristic switched off at a time.

Usage::

    python -m benchmarks.ablation.measure ipm [--repeats 3]
    python -m benchmarks.ablation.measure ipm-again --repeats 1
    python -m benchmarks.ablation.measure active-set
    python -m benchmarks.ablation.measure active-set-large --repeats 1
    python -m benchmarks.ablation.measure active-set-second --repeats 1
    python -m benchmarks.ablation.measure active-set-second-large --repeats 1
    python -m benchmarks.ablation.measure active-set-other --repeats 1

The programs are those of the suites ``linear`` and ``kernel`` that take a few seconds at most;
``-again``: those of up to three seconds, with rules that the first look left out;
``-large``: sets of 7,000 to 50,000 samples, up to C = 100, which take up to 80 s each.
Every solve asks for a certified gap of 1e-8, with one BLAS thread; processor seconds of the whole
call are counted. The solver as it is (``baseline``) is measured anew after every five heuristics.
Rows are appended to ``rows-<backend>.jsonl``; what is there is not measured again. ``report.py``
makes the page.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from threadpoolctl import threadpool_limits

import qpsvm
from benchmarks.ablation.heuristics import HEURISTICS, Heuristic
from benchmarks.cells import Instance
from benchmarks.data import Samples, load_samples
from benchmarks.programs import formulation_of, kernel_of
from benchmarks.suite import load_suite
from qpsvm.solvers.box.settings import BOX

HERE = Path(__file__).parent
EPS = 1e-8
TIME_LIMIT = 60.0
BASELINE = Heuristic("baseline", "", {})
BASELINE_EVERY = 5

SUITES = {
    "ipm": "linear",
    "ipm-again": "linear",
    "active-set": "kernel",
    "active-set-large": "kernel",
    "active-set-second": "kernel",
    "active-set-second-large": "kernel",
    "active-set-other": None,
}
LINEAR = (
    "splice", "phishing", "covtype20k", "a9a", "w8a", "ijcnn1", "reuters_moneyfx", "farm_ads",
    "cadata", "cpusmall",
)  # fmt: skip
DATA = {
    "ipm": LINEAR,
    "ipm-again": LINEAR,
    "active-set": (
        "splice", "madelon", "synthetic(d=20, n=5000, seed=0)", "usps", "phishing", "cadata",
        "cpusmall",
    ),
    "active-set-large": (
        "covtype20k", "synthetic(d=20, n=20000, seed=0)", "a9a", "w8a", "ijcnn1",
    ),
    "active-set-second": (
        "splice", "madelon", "synthetic(d=20, n=5000, seed=0)", "usps", "phishing",
    ),
    "active-set-second-large": ("covtype20k", "ijcnn1"),
}  # fmt: skip
"""Sets whose programs are measured."""
OTHERS = (
    Instance("OneClass(nu=0.1)", "phishing", "rbf(gamma='scale')"),
    Instance("OneClass(nu=0.1)", "usps", "rbf(gamma='scale')"),
    Instance("NuClassification(nu=0.2)", "synthetic(d=20, n=5000, seed=0)", "rbf(gamma='scale')"),
    Instance("NuClassification(nu=0.05)", "phishing", "rbf(gamma='scale')"),
    Instance("NuClassification(nu=0.02)", "usps", "rbf(gamma='scale')"),
    Instance("QuantileRegression(C=1.0)", "cpusmall", "rbf(gamma='scale')"),
    Instance("EpsilonRegression(C=1.0, epsilon=0.1)", "cpusmall", "rbf(gamma='scale')"),
    Instance("EpsilonRegression(C=10.0, epsilon=0.1)", "cpusmall", "rbf(gamma='scale')"),
)
"""Programs of ``active-set-other``."""
LEFT_OUT = {
    "ipm-again": (
        "SoftMargin(C=1.0), farm_ads, linear",
        "SoftMargin(C=100.0), farm_ads, linear",
        "SoftMargin(C=0.01, intercept='penalized'), farm_ads, linear",
        "SoftMargin(C=100.0, intercept='penalized'), farm_ads, linear",
    )
}
"""Programs that are not measured, to save time: two programs of ``farm_ads`` are enough."""
LARGEST_C = {"active-set-large": 100.0, "active-set-second-large": 100.0}
"""Larger C take more than a minute."""


def main() -> None:
    """Measure what is not there yet."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("backend", choices=sorted(SUITES))
    arguments.add_argument("--repeats", type=int, default=3)
    chosen = arguments.parse_args()
    path = HERE / f"rows-{chosen.backend}.jsonl"
    done = {_key(row) for row in _rows(path)}
    programs = list(instances(chosen.backend))
    heuristics = [one for one in HEURISTICS[chosen.backend] if one.is_measured]
    with threadpool_limits(1), path.open("a", encoding="utf-8") as rows:
        for instance in track(programs, f"{chosen.backend}, {len(heuristics)} heuristics"):
            samples = load_samples(instance.data)
            measured(chosen.backend, instance, samples, BASELINE)  # loads what is loaded once
            for repeat in range(chosen.repeats):
                for place, heuristic in enumerate(_with_baselines(heuristics)):
                    own = {"program": str(instance), "heuristic": heuristic.name}
                    own |= {"repeat": repeat, "place": place}
                    if _key(own) not in done:
                        row = own | measured(chosen.backend, instance, samples, heuristic)
                        rows.write(json.dumps(row) + "\n")
                        rows.flush()


def instances(name: str) -> Iterator[Instance]:
    """The programs of a solver's suite on the sets that are measured."""
    suite = SUITES[name]
    if suite is None:
        yield from OTHERS
        return
    for instance in load_suite(suite).instances():
        C = getattr(formulation_of(instance.family), "C", 0.0)
        is_measured = instance.data in DATA[name] and str(instance) not in LEFT_OUT.get(name, ())
        if is_measured and LARGEST_C.get(name, math.inf) >= C:
            yield instance


def measured(
    name: str, instance: Instance, samples: Samples, heuristic: Heuristic
) -> dict[str, Any]:
    """Processor seconds, outcome and a digest of the answer of one solve."""
    backend = name
    for suffix in ("-large", "-second", "-other", "-again"):
        backend = backend.removesuffix(suffix)
    formulation = formulation_of(instance.family)
    problem = formulation.dual(samples.X, samples.y, kernel=kernel_of(instance.kernel))
    gc.collect()
    gc.disable()
    undo = _shared(heuristic.shared)
    try:
        began, answer = time.process_time(), ""
        try:
            solution = qpsvm.solve(
                problem, backend, eps=EPS, time_limit=TIME_LIMIT, options=heuristic.options
            )
            outcome = solution.status.value
            seconds = time.process_time() - began
            answer = hashlib.md5(np.asarray(solution.alpha).tobytes()).hexdigest()[:10]
        except qpsvm.exceptions.QPSVMError as error:
            outcome, seconds = type(error).__name__, time.process_time() - began
        return {"seconds": seconds, "outcome": outcome, "answer": answer}
    finally:
        _shared(undo)
        gc.enable()


def _shared(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Change settings that every solve uses; return what they were."""
    before = {}
    for name, value in fields.items():
        before[name] = getattr(BOX, name)
        object.__setattr__(BOX, name, value)
    return before


def _with_baselines(heuristics: list[Heuristic]) -> Iterator[Heuristic]:
    for k, heuristic in enumerate(heuristics):
        if k % BASELINE_EVERY == 0:
            yield BASELINE
        yield heuristic


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["program"], row["heuristic"], row["repeat"], row["place"]


if __name__ == "__main__":
    main()
