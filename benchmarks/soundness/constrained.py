"""Linear problems with constraints on (w, b) whose columns differ by many orders of magnitude.

Usage, from the root of the repository::

    python -m benchmarks.soundness.constrained --count 100 --seed 0

It prints what ``qpsvm.solve`` reports, by spread.

Every problem is feasible by construction: a point (w0, b0) is drawn first, and every rule is chosen
so that it holds there. Features are drawn with the sizes of columns ``10 ** uniform(0, log10
spread)``, or one column of that size beside others of size one; w0 is of the inverse sizes, so that
decision values are of the order of one. Labels and targets come from other weights than w0 (a hard
margin excepted), so that rules bind at most optima.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import qpsvm
from qpsvm import constraints as rules_of
from qpsvm.constraints.fairness import FairnessBand
from qpsvm.qp.kkt_residuals import RESIDUAL_NAMES

SPREADS = (1e0, 1e3, 1e6, 1e9, 1e12)
"""Size of the largest column, in units of the smallest."""

FAMILIES = ("soft margin", "squared hinge", "epsilon regression", "hard margin")
FORMS = ("dual", "primal")


@dataclass(frozen=True, eq=False)
class Case:
    """One problem, and a point at which all of its rules hold.

    Attributes
    ----------
    problem : SVMProblem
    family, form : str
    spread : float
    builders : tuple of str
        The rules, by the names of the functions that built them.
    w, b : array of shape (d,), float
        The point; ``G (w, b) <= h`` up to rounding.
    unconstrained : SVMProblem
        The same problem without the rules.
    """

    problem: Any
    family: str
    form: str
    spread: float
    builders: tuple[str, ...]
    w: Any
    b: float
    unconstrained: Any


def cases(seed: int, count: int, spreads: tuple[float, ...] = SPREADS) -> Iterator[Case]:
    """``count`` problems of every spread; the same seed gives the same problems."""
    for spread in spreads:
        for i in range(count):
            yield draw(np.random.default_rng((seed, round(math.log10(spread)), i)), spread)


def draw(rng: Any, spread: float) -> Case:
    """Any problem of one spread."""
    family, form = str(rng.choice(FAMILIES)), str(rng.choice(FORMS))
    n, d = int(rng.integers(20, 81)), int(rng.integers(4, 9))
    sizes = np.ones(d)
    if rng.random() < 0.5:
        sizes[int(rng.integers(d))] = 3.0 * spread if spread > 1.0 else 1.0
    else:
        sizes = 10.0 ** rng.uniform(0.0, np.log10(spread), d) if spread > 1.0 else sizes
    X = rng.normal(size=(n, d)) * sizes
    v, b = rng.normal(size=d), 0.3 * float(rng.normal())
    chosen = rng.permutation(len(BUILDERS))[: int(rng.integers(1, 4))]
    free = list(rng.permutation(d))
    # first what changes the point (on columns of their own), then what is read off it
    w = v / sizes
    on_columns, on_point = list[Any](), list[Any]()
    for k in chosen:
        name, build, needs_columns = BUILDERS[k]
        if needs_columns:
            columns = [int(free.pop()) for _ in range(min(int(rng.integers(1, 3)) + 1, len(free)))]
            if len(columns) >= 2:
                on_columns.append((name, build(rng, w, columns)))
        else:
            on_point.append((name, build))
    built = [*on_columns, *((name, build(rng, X, w, b)) for name, build in on_point)]
    if not built:
        built = [("nonnegative", _nonnegative(rng, w, [0, 1]))]
    rules = [rule for _, rule in built]
    f = X @ w + b
    toward = f if family == "hard margin" else X @ (rng.normal(size=d) / sizes)
    C = float(10.0 ** rng.uniform(-1.0, 2.0))
    if family == "epsilon regression":
        y = toward + 0.1 * rng.normal(size=n)
        made: Any = qpsvm.EpsilonRegression(C=C, epsilon=0.1)
    else:
        y = np.where(toward > np.median(toward), 1, -1)
        if family == "hard margin":
            y, X, rules, w, b = _separated(X, f, rules, w, b)
            made = qpsvm.HardMargin()
        else:
            loss = "squared_hinge" if family == "squared hinge" else "hinge"
            made = qpsvm.SoftMargin(C=C, loss=loss)
    build = getattr(made, form)
    names = tuple(name for name, _ in built)
    return Case(build(X, y, constraints=rules), family, form, spread, names, w, b, build(X, y))


def _separated(X: Any, f: Any, rules: list[Any], w: Any, b: float) -> Any:
    """The samples that (w, b) classifies with a margin of 1, at least one of each label.

    Samples are moved along w: the rules of the point stay as they are, because those that depend on
    samples (a fairness band) are left out.
    """
    y = np.where(f >= 0.0, 1, -1)
    if abs(int(np.sum(y))) == len(y):
        y[: len(y) // 2] *= -1
    short = np.maximum(0.0, 1.05 - y * f)
    step = w / float(w @ w)
    X = X + (y * short)[:, None] * step
    kept = [rule for rule in rules if not isinstance(rule, FairnessBand)]
    return y, X, kept or [rules_of.bounded(0, lower=float(w[0]) - abs(float(w[0])))], w, b


# --- one rule of every builder -------------------------------------------------------------------


def _nonnegative(rng: Any, w: Any, columns: list[int]) -> Any:
    w[columns] = np.abs(w[columns])
    build = rules_of.nonnegative if rng.random() < 0.5 else rules_of.increasing
    return build(*columns)


def _nonpositive(rng: Any, w: Any, columns: list[int]) -> Any:
    w[columns] = -np.abs(w[columns])
    build = rules_of.nonpositive if rng.random() < 0.5 else rules_of.decreasing
    return build(*columns)


def _ordered(_: Any, w: Any, columns: list[int]) -> Any:
    w[columns] = np.sort(w[columns])
    return rules_of.ordered(*columns)


def _fixed(rng: Any, w: Any, columns: list[int]) -> Any:
    j = columns[0]
    if rng.random() < 0.5:
        w[j] = 0.0
    return rules_of.fixed(j, float(w[j]))


def _bounded(rng: Any, w: Any, columns: list[int]) -> Any:
    low, high = float(np.min(w[columns])), float(np.max(w[columns]))
    width = 0.1 * max(abs(low), abs(high))
    sides = int(rng.integers(3))
    if sides == 0:
        return rules_of.bounded(columns, lower=low - width)
    if sides == 1:
        return rules_of.bounded(columns, upper=high + width)
    return rules_of.bounded(columns, lower=low - width, upper=high + width)


def _sum_of(rng: Any, _: Any, w: Any, __: float) -> Any:
    columns = [int(j) for j in rng.permutation(len(w))[: int(rng.integers(2, len(w) + 1))]]
    total = float(sum(w[j] for j in columns))
    room = 0.1 * float(np.max(np.abs(w[columns])))
    sides = int(rng.integers(3))
    if sides == 0:
        return rules_of.sum_of(*columns, equals=total)
    if sides == 1:
        return rules_of.sum_of(*columns, at_most=total + room)
    return rules_of.sum_of(*columns, at_least=total - room)


def _fairness_band(rng: Any, X: Any, w: Any, _: float) -> Any:
    n, d = X.shape
    if rng.random() < 0.5:
        z = (rng.random(n) < 0.5).astype(float)
        z[:2] = 0.0, 1.0
        sensitive: Any = z
    else:
        sensitive = int(rng.integers(d))
        z = X[:, sensitive]
    reached = abs(float((z - z.mean()) @ (X - X.mean(axis=0)) @ w) / n)
    return rules_of.fairness_band(sensitive, 1.01 * reached)


def _rows(rng: Any, X: Any, w: Any, b: float) -> Any:
    """Rows of any coefficients, of the size of the columns or its inverse, with b or without."""
    point = np.append(w, b)
    m, k = int(rng.integers(1, 3)), int(rng.integers(0, 2))
    sizes = np.append(np.max(np.abs(X), axis=0), 1.0)
    if rng.random() < 0.3:
        sizes = 1.0 / sizes
    rows = rng.normal(size=(m + k, len(point))) * sizes * (rng.random((m + k, len(point))) < 0.6)
    if rng.random() < 0.5:
        rows[:, -1] = 0.0
    rows[~rows.any(axis=1), 0] = sizes[0]
    right = rows @ point
    room = 0.1 * np.max(np.abs(rows * point), axis=1) * rng.random(m + k)
    equalities = {"A": rows[m:], "b": right[m:]} if k else {}
    return rules_of.LinearConstraints(G=rows[:m], h=right[:m] + room[:m], **equalities)


BUILDERS: tuple[tuple[str, Callable[..., Any], bool], ...] = (
    ("nonnegative", _nonnegative, True),
    ("nonpositive", _nonpositive, True),
    ("ordered", _ordered, True),
    ("fixed", _fixed, True),
    ("bounded", _bounded, True),
    ("sum_of", _sum_of, False),
    ("fairness_band", _fairness_band, False),
    ("LinearConstraints", _rows, False),
)
"""Name, function, and whether it takes columns of its own (and may change the point there)."""


# --- what solve reports --------------------------------------------------------------------------


def main() -> None:
    """Print how many problems are reported OPTIMAL, by spread, and why the others are not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40, help="problems of every spread")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds of every solve")
    parser.add_argument("--show", action="store_true", help="one line for every refusal")
    given = parser.parse_args()
    for spread in SPREADS:
        outcomes, slowest, began = Counter[str](), 0.0, time.perf_counter()
        for number, case in enumerate(cases(given.seed, given.count, (spread,))):
            started = time.perf_counter()
            outcome, detail = _outcome(case, given.backend, given.time_limit)
            slowest = max(slowest, time.perf_counter() - started)
            outcomes[outcome] += 1
            if given.show and outcome != "optimal":
                print(
                    f"  {spread:g} #{number} {case.family}, {case.form}, {case.builders}: {detail}"
                )
        seconds = time.perf_counter() - began
        times = f"{seconds:.1f} s, slowest {slowest:.1f} s"
        print(f"{spread:g}: {dict(outcomes)}; {times}", flush=True)


def _outcome(case: Case, backend: str, time_limit: float) -> tuple[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            solution = qpsvm.solve(case.problem, backend, time_limit=time_limit)
        except qpsvm.exceptions.QPSVMError as error:
            return type(error).__name__, str(error)[:160]
    if solution.status is qpsvm.qp.Status.OPTIMAL:
        return "optimal", ""
    report = qpsvm.verify(case.problem, solution)
    own = [c for c in report.checks if c.name not in RESIDUAL_NAMES]
    if all(c.passed for c in own):
        return "certified, residuals above eps", _failed(report, solution)
    return solution.status.value, _failed(report, solution)


def _failed(report: Any, solution: Any) -> str:
    failed = [f"{c.name} {c.scaled:.1e}" for c in report.checks if not c.passed]
    return f"{', '.join(failed)} [{solution.qp.statistics.backend}]"


if __name__ == "__main__":
    main()
