"""Sharp mutations: machines in which everything fits, but for what they are a solution of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from benchmarks.soundness.blunt import VECTORS, one_value
from benchmarks.soundness.fields import Ground
from benchmarks.soundness.judge import EPS, Judge
from qpsvm.machines import Interval

SHARP = (0.5, 0.9, 1.1, 1.5, 3.0, 10.0, 100.0)
"""Multiples of eps that sharp mutants are from the optimum."""


# --- of another problem --------------------------------------------------------------------------


def stranger(ground: Ground, rng: Any) -> tuple[str, Any]:
    """A solution of another problem: as it is, in the problem's own frame, or made to fit."""
    if not ground.relatives:
        return one_value(ground, rng)
    what, other = ground.relatives[int(rng.integers(len(ground.relatives)))]
    s, how = ground.start, int(rng.integers(3))
    kind = f"solution of another problem: {what}"
    same = type(other) is type(s) and all(
        np.shape(getattr(other, name)) == np.shape(getattr(s, name))
        for name in (*VECTORS, "intercept")
    )
    if how == 0 or not same:
        return kind, other
    own = {field.name for field in fields(s)}
    frame = own.intersection((*VECTORS, "intercept", "width", "intercept_interval"))
    mutant = s.replace(**{name: getattr(other, name) for name in frame})
    if how == 1:
        return kind, mutant.replace(qp=other.qp)
    return kind, dressed(ground, mutant)


# --- everything fits but the optimality ----------------------------------------------------------


def dressed(ground: Ground, s: Any, *, best: bool = False) -> Any:
    """The machine with slack, interval and program's solution of its own.

    ``best``: with the best intercept and width for its weights as well.
    """
    model = ground.problem.model
    parts = {"expansion": s.expansion, "coef": s.coef}
    if ground.is_joint:
        made = model.recovered(s.qp, s.alpha, intercept=s.intercept, **parts).solution
    else:
        b, t = s.intercept, s.width
        made = model.recovered(
            s.qp, s.alpha, multipliers=s.constraint_multipliers, b=b, **parts
        ).solution
        if not best:
            scores = model.decision_values(made).scores
            slack = model.slack(model.violations(scores, b, t))
            made = made.replace(
                intercept=b, intercept_interval=Interval(b, b), width=t, slack=slack
            )
    return made.replace(qp=ground.problem.to_qp(made))


def consistent(ground: Ground, rng: Any) -> tuple[str, Any]:
    """A machine from a repaired alpha near the optimum's."""
    size = 10.0 ** rng.uniform(-9.0, 0.0)
    return "consistent, not optimal", _from_alpha(ground, _alpha_step(ground, rng), size)


def _alpha_step(ground: Ground, rng: Any) -> Any:
    a = ground.start.alpha
    unit = max(float(np.max(np.abs(a))), 1e-300)
    what = int(rng.integers(5))
    if what == 0:
        return -a
    if what == 1:
        return rng.normal(size=a.shape) * np.abs(a)
    if what == 2:
        return rng.normal(size=a.shape) * unit
    step = np.zeros(a.shape)
    flat = step.reshape(-1)
    i, j = rng.integers(flat.size, size=2)
    flat[i] = rng.choice([-1.0, 1.0]) * unit
    if what == 3:
        flat[j] -= rng.choice([-1.0, 1.0]) * flat[i]
    return step


def _from_alpha(ground: Ground, step: Any, size: float) -> Any:
    """Repaired alpha, weights from alpha, and everything else from these."""
    s, problem = ground.start, ground.problem
    model = problem.model
    point = model.feasible_dual(s.alpha + size * step, s.constraint_multipliers)
    if ground.is_joint:
        point = point.alpha
        changes = {"alpha": point, "expansion": point, "coef": model.coef(point)}
        draft = s.replace(intercept=model.intercepts(point), **changes)
    else:
        alpha, mu = point.alpha, point.constraint_multipliers
        draft = s.replace(alpha=alpha, constraint_multipliers=mu)
        if model.norm_curvature > 0.0:  # weights follow from alpha
            beta = model.expansion(alpha)
            coef = model.coef(beta, mu)
            b = s.intercept
            if model.intercept == "penalized":
                b = float(model.conditions.signs @ alpha) - model.balance_of_constraints(mu)
            draft = draft.replace(expansion=beta, coef=coef, intercept=b)
    if problem.form == "primal" and model.is_linear:
        draft = draft.replace(expansion=None)
    return dressed(ground, draft, best=True)


def _weights_moved(ground: Ground, step: Any, size: float) -> Any:
    s = ground.start
    name = "coef" if s.coef is not None else "expansion"
    moved = s.replace(**{name: getattr(s, name) + size * step})
    return dressed(ground, moved, best=bool(ground.problem.model.norm_curvature))


def _number_moved(ground: Ground, name: str, step: Any, size: float) -> Any:
    return dressed(
        ground, ground.start.replace(**{name: getattr(ground.start, name) + size * step})
    )


def _alpha_moved(ground: Ground, step: Any, size: float) -> Any:
    s, model = ground.start, ground.problem.model
    point = model.feasible_dual(s.alpha + size * step, s.constraint_multipliers)
    alpha = getattr(point, "alpha", point)
    changes = {"alpha": alpha}
    if ground.problem.form == "dual" and model.norm_curvature > 0.0:
        changes["expansion"] = alpha if ground.is_joint else model.expansion(alpha)
    mutant = s.replace(**changes)
    return mutant.replace(qp=ground.problem.to_qp(mutant))


def sharp(ground: Ground, rng: Any) -> tuple[str, Any]:
    """A move of the machine that is a chosen multiple of eps from the optimum."""
    s, model = ground.start, ground.problem.model
    goal = float(rng.choice(SHARP))
    moves: list[Callable[[float], Any]] = []
    weights = s.coef if s.coef is not None else s.expansion
    unit = max(float(np.max(np.abs(weights))), 1e-300)
    direction = rng.normal(size=weights.shape) * (unit if rng.random() < 0.5 else np.abs(weights))
    if rng.random() < 0.2:
        direction = -weights
    moves.append(lambda size: _weights_moved(ground, direction, size))
    alpha_step = _alpha_step(ground, rng)
    moves.append(lambda size: _from_alpha(ground, alpha_step, size))
    moves.append(lambda size: _alpha_moved(ground, alpha_step, size))
    if ground.is_joint:
        if model.constant:
            toward = rng.normal(size=s.intercept.shape)
            moves.append(lambda size: _number_moved(ground, "intercept", toward, size))
    else:
        sign = float(rng.choice([-1.0, 1.0]))
        if model.intercept != "none":
            toward_b = sign * max(abs(s.intercept), model.unit)
            moves.append(lambda size: _number_moved(ground, "intercept", toward_b, size))
        if model.conditions.width_sign:
            toward_t = sign * max(s.width, model.unit)
            moves.append(lambda size: _number_moved(ground, "width", toward_t, size))
    move = moves[int(rng.integers(len(moves)))]
    found = _at(ground.judge, move, goal * EPS)
    if found is None:
        return consistent(ground, rng)
    return f"fits, {goal:g} eps from the optimum", found


def _at(judge: Judge, move: Callable[[float], Any], goal: float) -> Any:
    """The move whose suboptimality is the goal, primal or dual, whichever is larger; None: none."""

    def apart(s: Any) -> float:
        primal = float(judge.suboptimality(s))
        size = judge.size(judge.book.cost(s))
        dual = float(judge.dual_suboptimality(s.alpha, s.constraint_multipliers, size))
        worst = max(primal, dual)
        return worst if np.isfinite(worst) else np.inf

    low, high = 1e-14, 10.0
    if not apart(move(high)) > goal:
        return None
    for _ in range(24):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if apart(move(middle)) > goal else (middle, high)
        if high / low < 1.002:
            break
    found = move(high)
    return found if 0.9 * goal <= apart(found) <= 1.1 * goal else None
