"""Covers of a range of C and choices of a search, judged by the exact programs behind them.

Usage, from the root of the repository::

    python -m benchmarks.soundness.choices --count 20000 --seed 0

For small problems (``small_problems``) the programs that a claim is about are solved in rational
numbers: of ``certified_path`` at some C of a machine's interval, of a search without each fold. A
claim is false

- if a machine of a proven cover exceeds the optimum at such a C by more than ``eps`` of its cost,
- if the score of an optimum on a fold is outside of the interval of that score,
- if a difference of two candidates is proven or equal, and other optima have another order.

The exit code is 1 if there is a false claim.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.soundness.rational import Row, dot, exact, optimum, times
from benchmarks.soundness.small_problems import (
    COSTS,
    Drawn,
    decision_ranges,
    draw,
    losses,
    program,
)
from qpsvm import paths
from qpsvm.exceptions import ToleranceNotReachedError
from qpsvm.selection import SVCSearch

BAND = Fraction(1) + Fraction(1, 10**6)
"""A figure within this factor of its tolerance is on it: a cover is computed in float64."""
COVERS = 0.25
"""Share of problems that a cover is asked for; the others are searched over."""
PLACES = 8
"""Values of C at which a cover is judged, beside the ends of an interval."""
FOLDS, CANDIDATES = 2, 3


def false_covers(drawn: Drawn, rng: Any, counts: Counter[str]) -> Iterator[str]:
    """Yield the values of C at which a machine of a proven cover is not within eps."""
    eps, high = float(10.0 ** rng.uniform(-7, -1)), drawn.C * float(10.0 ** rng.uniform(0.0, 2.0))
    (X, kernel), K = drawn.given, drawn.gram
    counts["covers"] += 1
    try:
        path = paths.certified_path(
            X, drawn.y, C=(drawn.C, high), kernel=kernel, formulation=drawn.family, eps=eps,
            sample_weight=drawn.weights,
        )  # fmt: skip
    except ToleranceNotReachedError:  # nothing is claimed
        return
    if not path.is_proven:
        return
    counts["proven covers"] += 1
    part = path.parts[int(rng.integers(len(path.parts)))]
    places = [part.begin.C, part.end.C, *rng.uniform(part.begin.C, part.end.C, PLACES)]
    for C in sorted(set(map(float, places))):
        counts["programs"] += 1
        given = replace(drawn, C=C)
        best = optimum(program(given, K))
        assert best is not None
        own, least = cost(given, K, part.machine.solution), cost_of(given, K, best.beta, best.b)
        if own - least > Fraction(eps) * BAND * own:
            excess = float((own - least) / own)
            yield f"cover: eps {eps!r} and excess {excess!r} at C = {C!r}, interval of {part}"


def cost(drawn: Drawn, K: list[Row], solution: Any) -> Fraction:
    """The objective of the library's machine, exactly, with the weights that it predicts with."""
    b = Fraction(float(solution.intercept))
    if solution.coef is None:
        return cost_of(drawn, K, exact(solution.expansion), b)
    w, rows = exact(solution.coef), exact(drawn.X)
    return _cost(drawn, dot(w, w), [dot(w, row) for row in rows], b)


def cost_of(drawn: Drawn, K: list[Row], beta: Row, b: Fraction) -> Fraction:
    """The objective of an expansion, exactly."""
    f = times(K, beta)
    return _cost(drawn, dot(beta, f), f, b)


def _cost(drawn: Drawn, square: Fraction, f: Row, b: Fraction) -> Fraction:
    size = square + (b * b if drawn.intercept == "penalized" else 0)
    return size / 2 + losses(drawn, [value + b for value in f])


def false_choices(drawn: Drawn, rng: Any, counts: Counter[str]) -> Iterator[str]:
    """Yield the intervals and verdicts of a search that the exact scores contradict."""
    n, X, K = len(drawn.y), drawn.given[0], drawn.gram
    folds = _folds(drawn, rng)
    if folds is None:
        return
    name, p = drawn.kernel
    more: dict[str, Any] = {"kernel": name}
    if name == "polynomial":
        more = {"kernel": "poly", "gamma": [p["gamma"]], "degree": p["p"], "coef0": p["c"]}
    elif name == "rbf":
        more["gamma"] = [p["gamma"]]
    costs = sorted(map(float, rng.choice(sorted(set(COSTS)), CANDIDATES, replace=False)))
    search = SVCSearch(C=costs, cv=folds, class_weight=drawn.class_weight, refit=False, **more)
    search.fit(X, drawn.y)
    counts["searches"] += 1
    ranges = []
    for k, candidate in enumerate(search.choice_.candidates):
        given, ends = replace(drawn, C=float(candidate["C"])), [Fraction(0), Fraction(0)]
        for train, test in folds:
            counts["programs"] += 1
            low, high = _score_range(given, K, list(train), list(test))
            ends = [ends[0] + low / len(folds), ends[1] + high / len(folds)]
        ranges.append(ends)
        lower, upper = search.choice_.lower[k], search.choice_.upper[k]
        slack = Fraction(n, 10**15)
        if not Fraction(lower) - slack <= ends[0] <= ends[1] <= Fraction(upper) + slack:
            stated = f"[{lower!r}, {upper!r}]"
            yield f"score: {candidate} in {stated}, exact {list(map(float, ends))}"
    for i, one in enumerate(ranges):
        for j, other in enumerate(ranges[:i]):
            said = search.choice_.between(i, j)
            counts[f"{said} differences"] += 1
            is_apart = one[0] > other[1] or other[0] > one[1]
            if (said == "proven" and not is_apart) or (
                said == "equal" and not one[0] == one[1] == other[0] == other[1]
            ):
                yield f"difference: {said}, exact {one} and {other}"


def _folds(drawn: Drawn, rng: Any) -> list[tuple[Any, Any]] | None:
    """Splits with two classes in each training part; None where none is found."""
    n, found = len(drawn.y), list[tuple[Any, Any]]()
    for _ in range(20):
        test = np.sort(rng.choice(n, int(rng.integers(1, n // 2 + 1)), replace=False))
        train = np.setdiff1d(np.arange(n), test)
        if len(set(drawn.y[train].tolist())) == 2:
            found.append((train, test))
        if len(found) == FOLDS:
            return found
    return None


def _score_range(
    drawn: Drawn, K: list[Row], train: list[int], test: list[int]
) -> tuple[Fraction, Fraction]:
    """Smallest and largest accuracy on a fold of all optima of the others.

    The test samples' decision values move together with the intercept: their accuracy is constant
    between the intercepts at which one of them changes its sign.
    """
    ranges = decision_ranges(drawn, K, train, test)
    labels = [int(drawn.y[i]) for i in test]
    width = ranges[0][1] - ranges[0][0]
    steps = {Fraction(0), width} | {-low for low, _ in ranges if 0 <= -low <= width}
    ordered = sorted(steps)
    places = [*ordered, *((a + b) / 2 for a, b in itertools.pairwise(ordered))]
    scores = [
        Fraction(sum((low + t > 0) == (s == 1) for (low, _), s in zip(ranges, labels, strict=True)))
        / len(test)
        for t in places
    ]
    return min(scores), max(scores)


def main() -> None:
    """Print what was claimed, and every false claim."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="exact programs, at least")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts, number, began = Counter[str](), 0, time.perf_counter()
    while counts["programs"] < given.count:
        rng = np.random.default_rng([given.seed, 1, number])
        drawn = draw(rng)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for claim in judged(drawn, rng, counts):
                counts["FALSE"] += 1
                print(f"FALSE: draw {number}: {claim}; {drawn}", flush=True)
        number += 1
    print(f"seed {given.seed}: {number} problems, {time.perf_counter() - began:.0f} s")
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    sys.exit(min(counts["FALSE"], 1))


def judged(drawn: Drawn, rng: Any, counts: Counter[str]) -> Iterator[str]:
    """Yield the false claims about a problem: of a cover, or of a search where it allows one."""
    is_searched = (
        drawn.epsilon is None
        and drawn.intercept == "free"
        and drawn.weights is None
        and not drawn.average
    )
    if is_searched and rng.random() > COVERS:
        yield from false_choices(drawn, rng, counts)
    elif drawn.epsilon is None:
        yield from false_covers(drawn, rng, counts)


if __name__ == "__main__":
    main()
