"""Blunt mutations: a number, a sign, an index, a scale, the order of samples, the frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.soundness.fields import Ground
from qpsvm.kernels import RBF
from qpsvm.machines import Interval
from tests.mutation.mutants import QP_VECTORS, strangers

VECTORS = ("alpha", "expansion", "coef", "slack", "constraint_multipliers")
NUMBERS = ("intercept", "width", "lower end", "upper end")

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
