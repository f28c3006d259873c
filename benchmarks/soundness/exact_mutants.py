"""Machines that may not pass: of fewer constraints, moved, unpriced, disguised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.soundness import disguises
from benchmarks.soundness.exact_machines import ExactMachines
from benchmarks.soundness.rational import Optimum, gram, optimum
from qpsvm.machines import Interval
from qpsvm.machines.setup import stated_solution

DISGUISED = "an object that predicts something else"
SHARP = (0.5, 0.9, 1.1, 1.5, 3.0, 10.0, 100.0)
"""Multiples of eps that sharp mutants are from the optimum."""


class Start:
    """A training problem with the machine of its exact optimum, rounded."""

    def __init__(self, machines: ExactMachines) -> None:
        self.machines = machines
        self.problem = machines.problem
        assert machines.best is not None
        self.solution = self.of(machines.best, list(range(len(machines.rules))))
        self._others: dict[int, Any] = {}

    def of(self, best: Optimum, kept: list[int]) -> Any:
        """The machine of an optimum under the constraints that were kept."""
        m, model = self.machines, self.problem.model
        n_conditions = len(m.program.conditions)
        mu = np.zeros(len(m.rules))
        mu[kept] = _floats(best.alpha[n_conditions:])
        beta = list(best.beta[: m.program.n]) + [Fraction(0)] * len(m.rules)
        for place, k in enumerate(kept):
            beta[m.program.n + k] = best.beta[m.program.n + place]
        b, t = float(_floats([best.b])[0]), float(_floats([best.t])[0])
        coef = _floats(m.weights_of(beta)) if m.is_linear else None
        expansion = _floats(best.beta[: m.program.n])
        draft = stated_solution(
            model,
            _floats(best.alpha[:n_conditions]),
            b,
            coef=coef,
            expansion=None if m.is_linear and self.problem.form == "primal" else expansion,
            constraint_multipliers=mu,
            width=t,
        )
        return self.dressed(draft)

    def dressed(self, s: Any, *, best: bool = False) -> Any:
        """The machine with slack, interval and program's solution of its own."""
        model = self.problem.model
        made = model.recovered(
            s.qp, s.alpha, expansion=s.expansion, coef=s.coef, b=s.intercept,
            multipliers=s.constraint_multipliers,
        ).solution  # fmt: skip
        if not best:
            scores = model.decision_values(made).scores
            slack = model.slack(model.violations(scores, s.intercept, s.width))
            made = made.replace(
                intercept=s.intercept,
                intercept_interval=Interval(s.intercept, s.intercept),
                width=s.width,
                slack=slack,
            )
        return made.replace(qp=self.problem.to_qp(made))

    def without(self, k: int) -> Any:
        """The exact optimum without constraint k (-1: without any); None if there is none."""
        if k not in self._others:
            m = self.machines
            kept = [i for i in range(len(m.rules)) if k >= 0 and i != k]
            rules = [m.rules[i] for i in kept]
            rows = m.X + [[-v for v in rule.g] for rule in rules]
            program = replace(m.program, rules=rules, K=gram("linear", rows, rows))
            best = optimum(program)
            self._others[k] = None if best is None else self.of(best, kept)
        return self._others[k]


def _floats(values: Any) -> Any:
    largest = Fraction(10**200)
    return np.array([float(min(max(v, -largest), largest)) for v in values])


MOVED = ("coef", "expansion", "alpha", "constraint_multipliers", "intercept", "width")
"""What a machine is and what bounds it; the rest can be made to fit."""

# --- mutations -----------------------------------------------------------------------------------


def as_it_is(start: Start, _: Any) -> tuple[str, Any]:
    return "the optimum, rounded", start.solution


def best_offset(start: Start, _: Any) -> tuple[str, Any]:
    return "the optimum, rounded", start.dressed(start.solution, best=True)


def unconstrained(start: Start, rng: Any) -> tuple[str, Any]:
    """The machine without one constraint, or without any, as it is or with multipliers."""
    rules = start.machines.rules
    if not rules:
        return moved(start, rng)
    k = -1 if rng.random() < 0.5 else int(rng.integers(len(rules)))
    other = start.without(k)
    if other is None:
        return unpriced(start, rng)
    if rng.random() < 0.3:
        mixed = other.replace(
            alpha=start.solution.alpha,
            constraint_multipliers=start.solution.constraint_multipliers,
        )
        return "the machine without a constraint", start.dressed(mixed)
    if rng.random() < 0.3:
        share = 10.0 ** rng.uniform(-9, 0)
        changes = {
            name: (1 - share) * getattr(start.solution, name) + share * getattr(other, name)
            for name in ("alpha", "expansion", "coef", "intercept", "constraint_multipliers")
            if getattr(other, name) is not None and getattr(start.solution, name) is not None
        }
        return "between two machines", start.dressed(start.solution.replace(**changes))
    return "the machine without a constraint", other


def moved(start: Start, rng: Any) -> tuple[str, Any]:
    """Weights or alpha moved by a relative amount, everything else made to fit."""
    s, size = start.solution, 10.0 ** rng.uniform(-11, 0)
    names = [name for name in MOVED if np.size(getattr(s, name)) and getattr(s, name) is not None]
    name = names[int(rng.integers(len(names)))]
    v = np.asarray(getattr(s, name))
    largest = float(np.max(np.abs(v)))
    unit = np.abs(v) if rng.random() < 0.6 else max(largest, 1e-300)
    changed = v + size * unit * rng.normal(size=v.shape) * (rng.random(v.shape) < 0.7)
    mutant = s.replace(**{name: float(changed) if changed.ndim == 0 else changed})
    return f"moved: {name}", start.dressed(mutant, best=bool(rng.random() < 0.4))


def unpriced(start: Start, rng: Any) -> tuple[str, Any]:
    """Multipliers set to zero: of constraints, of some samples, of all."""
    s = start.solution
    changes: dict[str, Any] = {}
    if len(start.machines.rules) and rng.random() < 0.7:
        v = s.constraint_multipliers
        changes["constraint_multipliers"] = v * (rng.random(len(v)) < rng.choice([0.0, 0.5]))
    if not changes or rng.random() < 0.4:
        changes["alpha"] = s.alpha * (rng.random(len(s.alpha)) < rng.choice([0.0, 0.5, 0.9]))
    return "multipliers set to zero", start.dressed(s.replace(**changes))


def hidden(start: Start, rng: Any) -> tuple[str, Any]:
    """A miss of a constraint that is small beside the largest column and the largest weight."""
    s, rules = start.solution, start.machines.rules
    if not rules or s.coef is None:
        return moved(start, rng)
    row = np.abs(np.array([float(v) for v in rules[int(rng.integers(len(rules)))].g]))
    used = np.flatnonzero(row)
    if not len(used):
        return moved(start, rng)
    j = int(used[np.argmin(row[used])]) if rng.random() < 0.7 else int(rng.choice(used))
    w = s.coef.copy()
    widest = float(np.max(row)) * max(float(np.max(np.abs(w))), 1e-300)
    step = 10.0 ** rng.uniform(-2, 0) * 1e-8 * widest / row[j]
    w[j] += float(rng.choice([-1.0, 1.0])) * step
    mutant = s.replace(coef=w)
    if rng.random() < 0.4:
        mutant = mutant.replace(constraint_multipliers=0 * s.constraint_multipliers)
    return "a miss in a small column", start.dressed(mutant, best=bool(rng.random() < 0.5))


def scaled(start: Start, rng: Any) -> tuple[str, Any]:
    s = start.solution
    names = [n for n in ("coef", "expansion", "alpha", "constraint_multipliers", "slack")
             if getattr(s, n) is not None and np.size(getattr(s, n))]  # fmt: skip
    name = names[int(rng.integers(len(names)))]
    factor = 1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** -rng.uniform(0, 12)
    return "a scaled vector", s.replace(**{name: factor * getattr(s, name)})


def tiny_numbers(start: Start, rng: Any) -> tuple[str, Any]:
    """Denormal numbers where zeros are, or vanishing alphas."""
    s = start.solution
    names = [n for n in ("alpha", "coef", "expansion") if getattr(s, n) is not None]
    name = names[int(rng.integers(len(names)))]
    v = getattr(s, name).copy()
    if rng.random() < 0.5:
        v[v == 0] = float(rng.choice([5e-324, 1e-322, -1e-322, 1e-310]))
    else:
        v = v * float(rng.choice([1e-310, 1e-200, 1e-320]))
    return "denormal numbers", start.dressed(s.replace(**{name: v}))


def sharp(start: Start, rng: Any) -> tuple[str, Any]:
    """Weights or intercept moved until the cost is a multiple of eps from the optimum."""
    m, s = start.machines, start.solution
    assert m.best is not None
    goal = float(rng.choice(SHARP))
    name = "coef" if s.coef is not None else "expansion"
    v = getattr(s, name)
    direction = rng.normal(size=v.shape) * np.abs(v)
    if m.program.intercept != "none" and rng.random() < 0.3:
        name, v = "intercept", np.asarray(s.intercept)
        direction = np.asarray(max(abs(s.intercept), 1e-3) * rng.choice([-1.0, 1.0]))

    def at(size: float) -> Any:
        value = v + size * direction
        return s.replace(**{name: value if value.ndim else float(value)})

    def apart(mutant: Any) -> float:
        found = m.read(mutant)
        cost = np.inf if found is None else m.cost(*found)
        if cost == np.inf:
            return np.inf
        size = max(abs(cost), Fraction(float(m.problem.model.objective_floor)))
        return float(abs(cost - m.best.value) / size) if size else np.inf

    low, high = 1e-13, 10.0
    if not apart(at(high)) > goal * 1e-8:
        return moved(start, rng)
    for _ in range(16):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if apart(at(middle)) > goal * 1e-8 else (middle, high)
        if high / low < 1.01:
            break
    if not 0.85 * goal * 1e-8 <= apart(at(high)) <= 1.15 * goal * 1e-8:
        return moved(start, rng)
    return f"fits, {goal:g} eps from the optimum", start.dressed(at(high))


def disguised(start: Start, rng: Any) -> tuple[str, Any]:
    """Optimal numbers in an object that predicts something else."""
    return DISGUISED, disguises.of(start.solution, rng)


KINDS: dict[Callable[[Start, Any], tuple[str, Any]], float] = {
    as_it_is: 0.5,
    best_offset: 0.5,
    unconstrained: 3.0,
    moved: 4.0,
    unpriced: 2.0,
    hidden: 3.0,
    scaled: 1.0,
    tiny_numbers: 0.5,
    sharp: 1.0,
    disguised: 1.0,
}


def mutate(start: Start, rng: Any) -> tuple[str, Any]:
    """(what kind of mutation, the mutant)."""
    kinds = list(KINDS)
    weights = np.array(list(KINDS.values()))
    return kinds[int(rng.choice(len(kinds), p=weights / np.sum(weights)))](start, rng)
