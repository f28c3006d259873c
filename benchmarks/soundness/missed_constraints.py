"""Answers that miss constraints whose columns differ by many orders of magnitude, judged exactly.

Usage, from the root of the repository::

    python -m benchmarks.soundness.missed_constraints --count 3400 --seed 21

The problems are those of ``constrained``. For each, ``qpsvm.verify`` gets the optimum without the
constraints, points between it and the constrained optimum, perturbed optima, and one weight that is
moved alone; with the multipliers of the constrained optimum or with zeros. An answer is harmful

- if it misses a row by more than eps times the sum of the row's terms, or
- if its objective exceeds a rigorous upper bound of the optimum by more than eps, relative,

both in rational numbers. The exit code is 1 if a harmful answer passes.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import qpsvm
from benchmarks.soundness.constrained import Case, cases
from qpsvm.exceptions import QPSVMError

EPS = 1e-8
SPREADS = (1e6, 1e9, 1e12)
SECONDS = 0.2
"""Of a solve; what was not solved has no perturbed optimum."""


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(v)) for v in values]


def misses_a_row(case: Case, w: list[Fraction], b: Fraction) -> bool:
    """Whether a row is missed by more than EPS times the sum of its terms."""
    rules, point = case.problem.model.constraints, [*w, b]
    rows = rules.rows.toarray() if hasattr(rules.rows, "toarray") else np.asarray(rules.rows)
    for k, (row, right) in enumerate(zip(rows, rules.right, strict=True)):
        terms = [r * v for r, v in zip(exact(row), point, strict=True)]
        over = sum(terms) - Fraction(float(right))
        if k >= case.problem.model.n_inequalities:
            over = abs(over)
        if over > Fraction(EPS) * (sum(map(abs, terms)) + abs(Fraction(float(right)))):
            return True
    return False


def objective(case: Case, w: list[Fraction], b: Fraction) -> Fraction | None:
    """The exact objective of weights; None for a hard margin that they do not have."""
    c, X = case.problem.model.conditions, case.problem.data.X
    f = [sum(x * v for x, v in zip(exact(row), w, strict=True)) + b for row in X]
    total = sum(v * v for v in w) / 2
    rows = c.rows.tocsr()
    for k in range(len(c)):
        entries = slice(rows.indptr[k], rows.indptr[k + 1])
        value = sum(
            Fraction(float(r)) * f[i]
            for r, i in zip(rows.data[entries], rows.indices[entries], strict=True)
        )
        short = Fraction(float(c.required[k])) - value
        if short > 0 and c.is_hard[k]:
            return None if short > Fraction(EPS) else total
        if short > 0:
            curvature, price = float(c.curvature[k]), float(c.upper[k])
            total += short * short / (2 * Fraction(curvature)) if curvature else (
                Fraction(price) * short
            )  # fmt: skip
    return total


def answers(case: Case, rng: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield (kind, answer, constrained optimum or None)."""
    optimum = free = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for problem in (case.problem, case.unconstrained):
            try:
                found = qpsvm.solve(problem, time_limit=SECONDS)
            except QPSVMError:
                found = None
            if problem is case.problem:
                optimum = found
            else:
                free = found
    m = case.problem.model.n_constraints
    if optimum is not None and optimum.status is not qpsvm.qp.Status.OPTIMAL:
        optimum = None
    like = optimum or case.problem.recover(_empty(case.problem))
    if free is not None:
        own = {"coef": free.coef, "intercept": free.intercept, "expansion": free.expansion}
        for name, multipliers in (("zeros", np.zeros(m)), ("its own", like.constraint_multipliers)):
            moved = like.replace(alpha=free.alpha, constraint_multipliers=multipliers, **own)
            yield f"unconstrained, multipliers {name}", moved, optimum
        yield "unconstrained, alphas of the optimum", like.replace(**own), optimum
    if optimum is None:
        return
    if free is not None:
        t = float(10.0 ** rng.uniform(-9.0, 0.0))
        between = (1.0 - t) * optimum.coef + t * free.coef
        yield "between both", optimum.replace(coef=between), optimum
    t, w = float(10.0 ** rng.uniform(-8.0, -1.0)), optimum.coef
    yield "perturbed", optimum.replace(coef=w * (1.0 + t * rng.normal(size=len(w)))), optimum
    j, alone = int(rng.integers(len(w))), w.copy()
    alone[j] += t * max(abs(alone[j]), float(np.min(np.abs(w))))
    zeros = np.zeros(m) if rng.random() < 0.5 else optimum.constraint_multipliers
    moved = optimum.replace(coef=alone, constraint_multipliers=zeros)
    yield "one weight moved", moved, optimum


def _empty(problem: Any) -> Any:
    program = problem.qp
    x, z, y = np.zeros(program.n_variables), np.zeros(len(program.h)), np.zeros(len(program.b))
    zeros = np.zeros(program.n_variables)
    status = qpsvm.qp.Status.UNKNOWN
    return qpsvm.qp.QPSolution(status, x=x, z=z, y=y, z_lower=zeros, z_upper=zeros)


def main() -> None:
    """Print what became of the answers, by spread."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="problems of every spread")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    false = 0
    for spread in SPREADS:
        outcomes, kinds, began = Counter[str](), Counter[str](), time.perf_counter()
        for number, case in enumerate(cases(given.seed, given.count, (spread,))):
            rng = np.random.default_rng((given.seed, number))
            upper: dict[int, Fraction] = {}
            for kind, answer, optimum in answers(case, rng):
                kinds[kind] += 1
                passed = bool(qpsvm.verify(case.problem, answer, eps=EPS).passed)
                w, b = exact(answer.coef), Fraction(float(answer.intercept))
                harmful = misses_a_row(case, w, b)
                if not harmful and optimum is not None:
                    if id(optimum) not in upper:
                        proof = qpsvm.certify(case.problem, optimum, rigorous=True)
                        best = proof.primal_objective + max(proof.gap_upper, 0.0)
                        upper[id(optimum)] = Fraction(best) if np.isfinite(best) else Fraction(0)
                    cost, best = objective(case, w, b), upper[id(optimum)]
                    harmful = cost is None or bool(best and cost > best + Fraction(EPS) * cost)
                word = "harmful" if harmful else "harmless"
                outcomes[f"{'passed' if passed else 'refused'}, {word}"] += 1
                if passed and harmful:
                    false += 1
                    print(f"FALSE PASS: {spread:g} #{number}, {kind}, {case.builders}", flush=True)
        seconds = time.perf_counter() - began
        print(f"{spread:g}: {dict(outcomes)}; {dict(kinds)}; {seconds:.0f} s", flush=True)
    sys.exit(min(false, 1))


if __name__ == "__main__":
    main()
