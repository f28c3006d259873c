"""Left-out predictions that are called decided, judged by the exact programs without the sample.

Usage, from the root of the repository::

    python -m benchmarks.soundness.left_out --count 20000 --seed 0

For every sample of a small problem (``small_problems``) the program without it, with the prices
that it has then, is solved in rational numbers. A claim of ``qpsvm.selection.leave_one_out`` is
false

- if a label is decided that is not that of every optimum,
- if the decision value of an optimum is not within the radius of the one that is stated.

The exit code is 1 if there is a false claim.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import qpsvm
from benchmarks.soundness.small_problems import Drawn, decision_ranges, draw


def false_claims(drawn: Drawn, counts: Counter[str]) -> Iterator[str]:
    """Yield the claims about left-out samples that are not so, and count all of them."""
    problem = drawn.problem()
    found = qpsvm.selection.leave_one_out(problem)
    K, everyone = drawn.gram, range(len(drawn.y))
    for i in everyone:
        ((low, high),) = decision_ranges(drawn, K, [j for j in everyone if j != i], [i])
        value, radius = float(found.decisions[i]), float(found.radius[i])
        counts["programs"] += 1
        counts["decided"] += bool(found.decided[i])
        counts["finite"] += bool(np.isfinite(radius))
        if drawn.epsilon is None:
            counts["labels"] += 1
            counts["decided labels"] += bool(found.decided[i])
            counts["unique labels"] += bool(low > 0 or high < 0)
        said = f"value {value!r}, radius {radius!r}, {found.how[i]}"
        said += f"; exact [{float(low)!r}, {float(high)!r}]"
        if np.isfinite(radius):
            ends = Fraction(value) - Fraction(radius), Fraction(value) + Fraction(radius)
            if not (ends[0] <= low and high <= ends[1]):
                yield f"sample {i}: outside of the radius: {said}"
        elif found.decided[i]:
            yield f"sample {i}: decided without a radius: {said}"
        if found.decided[i] and drawn.epsilon is None:
            label = int(found.predictions[i])
            if not (low > 0 if label == 1 else high <= 0):
                yield f"sample {i}: label {label} decided: {said}"


def main() -> None:
    """Print what was claimed, by trait and by prices, and every false claim."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="left-out programs, at least")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tables: dict[str, Counter[str]] = {}
    false, total, number, began = 0, 0, 0, time.perf_counter()
    while total < given.count:
        drawn, counts = draw(np.random.default_rng([given.seed, number])), Counter[str]()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for claim in false_claims(drawn, counts):
                false += 1
                counts["false"] += 1
                print(f"FALSE: draw {number}: {claim}; {drawn}", flush=True)
        for row in ("all", drawn.trait, f"prices: {drawn.pricing}"):
            tables.setdefault(row, Counter()).update(counts)
        total, number = total + counts["programs"], number + 1
    columns = (
        "programs",
        "finite",
        "decided",
        "labels",
        "decided labels",
        "unique labels",
        "false",
    )
    print(f"seed {given.seed}: {number} problems, {time.perf_counter() - began:.0f} s")
    print(f"{'':24}" + "".join(f"{name:>16}" for name in columns))
    for row, counts in sorted(tables.items()):
        print(f"{row:24}" + "".join(f"{counts[name]:16}" for name in columns))
    sys.exit(min(false, 1))


if __name__ == "__main__":
    main()
