"""A store with every kind of row, of known times and gaps."""

from __future__ import annotations

from benchmarks.cells import Cell, Instance
from benchmarks.rows import Row
from benchmarks.store import Results, open_store

FREE, PENALISED = "SoftMargin(C={C})", "SoftMargin(C={C}, intercept='penalized')"
TARGETS = (1e-3, 1e-6)
EPS = (1e-3, 1e-6)
SIZES = (500, 2000, 8000)
OPTIMUM = 10.0

FAST, SLOW, LIAR, LATE = "fast(form='dual')", "slow", "liar", "late"
PEER, CRASHING, BOUNDS = "peer:Linear", "crashing", "reference"
CONTESTANTS = (FAST, SLOW, LIAR, LATE, PEER, CRASHING, BOUNDS)
SECONDS = {FAST: 1e-5, SLOW: 4e-5, LIAR: 5e-6, LATE: 2e-3, PEER: 2e-6, CRASHING: 3e-5}

HEADER = {
    "suite": {"name": "synthetic", "description": "Times by a formula.", "targets": TARGETS},
    "machine": {"processor": "Abacus <b>9000</b>", "cores": 2, "memory": 8e9},
    "qpsvm": "0.0",
    "created": "2024-01-01T00:00:00+00:00",
    "command": "python -m benchmarks run synthetic --store s.jsonl",
}


def instances():
    return [
        Instance(family.format(C=C), f"synthetic(d=5, n={n}, seed=0)")
        for family in (FREE, PENALISED)
        for C in (1.0, 100.0)
        for n in SIZES
    ]


def rows():
    """Who is cut off, who lies and who crashes is known."""
    return tuple(
        row
        for instance in instances()
        for who in CONTESTANTS
        for row in sweep(instance, who)
        if taking_part(instance, who)
    )


def taking_part(instance, who):
    return "penalized" not in instance.family or who in (FAST, PEER, LIAR)


def sweep(instance, who):
    for tightness, eps in enumerate(EPS):
        repeats = 2 if who in (FAST, LIAR) else 1
        for repeat in range(repeats):
            yield measured(instance, who, eps, tightness, repeat)


def measured(instance, who, eps, tightness, repeat):
    n = int(instance.data.partition("n=")[2].partition(",")[0])
    hard = "C=100.0" in instance.family
    cell = Cell(instance, who, eps, repeat=repeat, time_limit=10.0)
    common = {
        "n": n, "d": 5, "density": 1.0, "size": OPTIMUM, "problem_hash": str(hash_of(instance)),
        "version": "1.2.3", "settings": {"tolerance": eps, "nothing": None}, "suite": "synthetic",
        "peak_bytes": 1e8 + 1e3 * n, "iterations": 10 * (tightness + 1),
    }  # fmt: skip
    if who == BOUNDS:
        return Row(cell, "optimal", primal=OPTIMUM, dual=OPTIMUM, gap=0.0, **common)
    seconds = SECONDS[who] * n * (1 + tightness) * (3.0 if hard else 1.0) * (1.0 + 0.02 * repeat)
    gap = eps / 2
    if who == PEER and "penalized" not in instance.family:
        return Row(cell, "unsupported", message="another intercept")
    if who == CRASHING and hard:
        return Row(cell, "crash", message="SIGSEGV")
    if seconds > cell.time_limit:
        return Row(cell, "time limit", total_seconds=10.0, message="10 s", **common)
    if who == LIAR and hard:
        found = answer(3e-2 / (1 + tightness))
        return Row(
            cell, "false optimal", claimed="optimal", verified="fail", total_seconds=seconds,
            message="relative_gap", **found, **common,
        )  # fmt: skip
    outcome = "above eps" if who == PEER else "optimal"
    found = answer(10 * eps if who == PEER else gap)
    return Row(cell, outcome, claimed="optimal", total_seconds=seconds, **found, **common)


def answer(gap):
    """A machine that is so far from the optimum."""
    return {"primal": OPTIMUM * (1.0 + gap), "dual": OPTIMUM * (1.0 - gap), "gap": 2.0 * gap}


def hash_of(instance):
    return instances().index(instance)


def results():
    return Results(HEADER, rows())


def write(path):
    """The same as a store on disk."""
    with open_store(path) as store:
        store.begin(HEADER)
        for row in rows():
            store.append(row)
