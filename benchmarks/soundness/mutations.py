"""Random changes of a certified solution: ``mutate`` draws one.

Blunt ones break a number, a sign, an index or a scale of one vector; sharp ones change the machine
and make everything else fit, so that nothing but its optimality is wrong, by a chosen multiple of
eps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from benchmarks.soundness.judge import EPS, Judge
from qpsvm.kernels import RBF
from qpsvm.machines import Interval
from tests.mutation.mutants import QP_VECTORS, strangers

VECTORS = ("alpha", "expansion", "coef", "slack", "constraint_multipliers")
NUMBERS = ("intercept", "width", "lower end", "upper end")
SHARP = (0.5, 0.9, 1.1, 1.5, 3.0, 10.0, 100.0)
"""Multiples of eps that sharp mutants are from the optimum."""


@dataclass(frozen=True, eq=False)
class Ground:
    """One problem with its certified solution, and solutions of problems like it.

    Attributes
    ----------
    judge : Judge
    relatives : list of (str, solution)
        What differs, and the solution of that problem.
    """

    judge: Judge
    relatives: list[tuple[str, Any]]

    @property
    def problem(self) -> Any:
        return self.judge.problem

    @property
    def start(self) -> Any:
        return self.judge.start

    @property
    def is_joint(self) -> bool:
        """One decision function per class."""
        return bool(np.ndim(self.start.alpha) == 2)


def mutate(ground: Ground, rng: Any) -> tuple[str, Any]:
    """(what kind of mutation, the mutant)."""
    kinds = list(KINDS)
    weights = np.array([KINDS[kind] for kind in kinds], dtype=np.float64)
    make = kinds[int(rng.choice(len(kinds), p=weights / np.sum(weights)))]
    with np.errstate(all="ignore"):
        kind, mutant = make(ground, rng)
    return kind, mutant


# --- where the numbers are -----------------------------------------------------------------------


def places(s: Any) -> list[str]:
    """Names of everything that holds numbers: vectors, single numbers, vectors of the program."""
    names = [name for name in (*VECTORS, *NUMBERS) if _filled(s, name)]
    return names + [f"qp.{name}" for name in QP_VECTORS if np.size(getattr(s.qp, name))]


def _filled(s: Any, name: str) -> bool:
    return read(s, name) is not None and bool(np.size(read(s, name)))


def read(s: Any, name: str) -> Any:
    """What is there, as an array; None where the solution has no such thing."""
    if name.startswith("qp."):
        return getattr(s.qp, name[3:])
    if name.endswith(" end"):
        interval = getattr(s, "intercept_interval", None)
        return None if interval is None else np.array([getattr(interval, name[:-4])])
    value = getattr(s, name, None)
    return None if value is None else np.asarray(value, dtype=np.float64)


def write(s: Any, name: str, value: Any) -> Any:
    """The solution with something else there."""
    if name.startswith("qp."):
        return s.replace(qp=s.qp.replace(**{name[3:]: value}))
    if name.endswith(" end"):
        ends = s.intercept_interval._asdict() | {name[:-4]: None if value is None else value[0]}
        return s.replace(intercept_interval=Interval(*ends.values()))
    current = getattr(s, name)
    if np.ndim(current) == 0 and value is not None:
        value = np.asarray(value).item()
    return s.replace(**{name: value})


def _changed(s: Any, rng: Any, change: Callable[[Any, int, Any], Any]) -> Any:
    """``change(vector, index, rng)`` applied to a copy of any vector, flat."""
    name = str(rng.choice(places(s)))
    value = read(s, name)
    flat = np.array(value, dtype=np.float64).ravel()
    result = change(flat, int(rng.integers(len(flat))), rng)
    return write(s, name, None if result is None else np.reshape(result, value.shape))


# --- blunt ---------------------------------------------------------------------------------------


def one_value(ground: Ground, rng: Any) -> tuple[str, Any]:
    def change(v: Any, i: int, rng: Any) -> Any:
        unit = rng.choice([abs(v[i]), float(np.max(np.abs(v))), 1.0])
        what = int(rng.integers(6))
        if what < 4:
            v[i] += rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-12.0, 6.0) * unit
        elif what == 4:
            v[i] = rng.choice([0.0, float(np.max(v)), float(np.min(v)), np.nextafter(v[i], np.inf)])
        else:
            v[i] = v[(i + 1) % len(v)]
        return v

    return "one value", _changed(ground.start, rng, change)


def one_sign(ground: Ground, rng: Any) -> tuple[str, Any]:
    def change(v: Any, i: int, rng: Any) -> Any:
        if rng.random() < 0.2:
            return -v
        used = np.flatnonzero(v)
        i = int(rng.choice(used)) if len(used) else i
        v[i] = -v[i]
        return v

    return "one sign", _changed(ground.start, rng, change)


def one_index(ground: Ground, rng: Any) -> tuple[str, Any]:
    def change(v: Any, i: int, rng: Any) -> Any:
        what = int(rng.integers(4))
        if what == 0:
            return np.roll(v, 1)
        if what == 1:
            return v[::-1].copy()
        j = (i + 1) % len(v) if what == 2 else int(rng.integers(len(v)))
        v[[i, j]] = v[[j, i]]
        return v

    return "one index", _changed(ground.start, rng, change)


def scaled(ground: Ground, rng: Any) -> tuple[str, Any]:
    factor = 1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** -rng.uniform(0.0, 12.0)
    return "a scaled vector", _changed(ground.start, rng, lambda v, *_: factor * v)


def rounded(ground: Ground, rng: Any) -> tuple[str, Any]:
    def single(v: Any, *_: Any) -> Any:
        return v.astype(np.float32).astype(np.float64)

    mutant = ground.start
    if rng.random() < 0.5:
        return "rounded to float32", _changed(mutant, rng, single)
    for name in places(mutant):
        value = read(mutant, name)
        mutant = write(mutant, name, np.reshape(single(value), value.shape))
    return "rounded to float32", mutant


def not_a_number(ground: Ground, rng: Any) -> tuple[str, Any]:
    def change(v: Any, i: int, rng: Any) -> Any:
        what = int(rng.integers(6))
        if what == 0:
            return None
        if what == 1:
            return np.full(len(v), np.nan)
        v[i] = [np.nan, np.inf, -np.inf, 1e308][what - 2]
        return v

    return "NaN, infinite, missing", _changed(ground.start, rng, change)


def two_values(ground: Ground, rng: Any) -> tuple[str, Any]:
    """Two entries of one vector moved so that their sum stays, or two vectors moved."""

    def change(v: Any, i: int, rng: Any) -> Any:
        step = 10.0 ** rng.uniform(-12.0, 1.0) * float(np.max(np.abs(v)))
        j = int(rng.integers(len(v)))
        v[i] += step
        v[j] += rng.choice([-1.0, 1.0]) * step
        return v

    if rng.random() < 0.5:
        return "two values", _changed(ground.start, rng, change)
    first = one_value(ground, rng)[1]
    return "two values", one_value(Ground(replace(ground.judge, start=first), []), rng)[1]


def swapped_samples(ground: Ground, rng: Any) -> tuple[str, Any]:
    """Two samples in each other's place: in the data, in all vectors of samples, or in both."""
    s = ground.start
    n = s.data.n_samples
    order = np.arange(n)
    i, j = rng.integers(n, size=2)
    order[[i, j]] = order[[j, i]]
    which = int(rng.integers(4))
    mutant = s
    if which != 1:
        data = replace(s.data, X=s.data.X[order])
        if which == 2:
            names = [name for name in ("signs", "codes", "values") if hasattr(data, name)]
            data = replace(data, **{name: getattr(data, name)[order] for name in names})
        mutant = mutant.replace(data=data)
    if which != 0:
        for name in ("alpha", "expansion", "slack"):
            v = getattr(s, name)
            if v is not None and len(v) in (n, 2 * n):
                copies = np.concatenate([order, order + n]) if len(v) == 2 * n else order
                mutant = mutant.replace(**{name: v[copies]})
        if which == 3:
            mutant = mutant.replace(qp=ground.problem.to_qp(mutant.replace(data=s.data)))
    return "swapped samples", mutant


def program(ground: Ground, rng: Any) -> tuple[str, Any]:
    """Several vectors of the program's solution moved, in proportion or at random."""
    s, size = ground.start, 10.0 ** rng.uniform(-12.0, 0.0)
    qp = s.qp
    for name in QP_VECTORS:
        v = getattr(qp, name)
        if v.size and rng.random() < 0.6:
            unit = max(float(np.max(np.abs(v))), 1e-3)
            noise = rng.normal(size=v.size) * (np.abs(v) if rng.random() < 0.5 else unit)
            qp = qp.replace(**{name: v + size * noise})
    return "the program's solution", s.replace(qp=qp)


def another_frame(ground: Ground, rng: Any) -> tuple[str, Any]:
    """The same numbers for another kernel, other conditions, labels or data."""
    if ground.is_joint:
        others = _joint_strangers(ground.start)
    else:
        others = [mutant for _, mutant in strangers(ground.start)]
    return "asked something else", others[int(rng.integers(len(others)))]


def _joint_strangers(s: Any) -> list[Any]:
    data = s.data
    return [
        s.replace(upper=1.001 * s.upper),
        s.replace(kernel=RBF(0.4001)),
        s.replace(data=replace(data, classes=data.classes[::-1])),
        s.replace(data=replace(data, codes=data.codes[::-1])),
        s.replace(data=replace(data, X=data.X[::-1])),
    ]


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
        made = model.solution(s.qp, s.alpha, intercept=s.intercept, **parts)
    else:
        b, t = s.intercept, s.width
        made = model.solution(
            s.qp, s.alpha, multipliers=s.constraint_multipliers, b=b, t=t, **parts
        )
        if not best:
            scores, _ = model.scores_and_norm(made)
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
                b = float(model.conditions.signs @ alpha) - model.constrained_price(mu)
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
        if model.conditions.width:
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


KINDS: dict[Callable[[Ground, Any], tuple[str, Any]], float] = {
    one_value: 3.0,
    one_sign: 1.0,
    one_index: 1.0,
    scaled: 1.0,
    rounded: 0.3,
    not_a_number: 1.0,
    two_values: 1.0,
    swapped_samples: 0.7,
    program: 1.0,
    another_frame: 0.3,
    stranger: 2.0,
    consistent: 1.5,
    sharp: 4.0,
}
