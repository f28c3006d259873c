"""Objectives of a problem on samples in chunks in exact arithmetic, for small problems."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.chunked.contents import checked
from qpsvm.chunked.evaluation import RowConditions
from qpsvm.chunked.machine import ChunkedDual, Machine

Vector = list[Fraction]


def exact(values: Any) -> Vector:
    return [Fraction(float(v)) for v in values]


def dot(a: Vector, b: Vector) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


@dataclass(frozen=True)
class Exact:
    """All conditions of a problem, chunk after chunk, side after side, as rational numbers."""

    form: Any
    rows: list[Vector]
    signs: Vector
    required: Vector
    lower: Any
    upper: Any
    curvature: Vector
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, problem: Any) -> Exact:
        form, sizes = problem.template, list[int]()
        rows, parts = list[Vector](), list[Any]()
        for chunk in problem.samples.chunks:
            content = chunk.content
            raw = content.compute() if hasattr(content, "compute") else content()
            contents = checked(raw, problem.task)
            X = np.asarray(contents.X[: contents.n_rows])
            terms = RowConditions.of(contents, form).terms
            rows += [exact(x) for _ in form.signs for x in X]
            parts.append(terms)
            sizes.append(terms.signs.size)

        def all_of(name: str) -> Any:
            return np.concatenate([getattr(part, name).ravel() for part in parts])

        return cls(
            form,
            rows,
            exact(all_of("signs")),
            exact(all_of("required")),
            all_of("lower"),
            all_of("upper"),
            exact(all_of("curvature")),
            tuple(sizes),
        )

    def __len__(self) -> int:
        return len(self.rows)

    def primal(self, machine: Machine) -> Fraction:
        """The objective of a machine."""
        form, w = self.form, exact(machine.coef)
        b, t = Fraction(machine.intercept), Fraction(machine.width)
        total = Fraction(form.norm_weight) / 2 * dot(w, w)
        total += Fraction(form.intercept_price) * b + Fraction(form.width_price) * t
        if form.intercept == "penalized":
            total += b * b / 2
        for x, r, p, low, high, d in zip(
            self.rows,
            self.signs,
            self.required,
            self.lower,
            self.upper,
            self.curvature,
            strict=True,
        ):
            v = p - r * (dot(x, w) + b) - Fraction(form.width_sign) * t
            if d:
                a = max(v / d, Fraction(low)) if np.isfinite(low) else v / d
                a = min(a, Fraction(high)) if np.isfinite(high) else a
                total += a * v - d * a * a / 2
            else:
                total += (Fraction(high) if v > 0 else Fraction(low)) * v
        return total

    def dual(self, a: Vector) -> Fraction:
        """The dual objective, whether a is feasible or not."""
        form = self.form
        ra = [r * v for r, v in zip(self.signs, a, strict=True)]
        u = [dot(ra, list(column)) for column in zip(*self.rows, strict=True)]
        total = dot(self.required, a) - dot(self.curvature, [v * v for v in a]) / 2
        total -= dot(u, u) / (2 * Fraction(form.norm_weight))
        if form.intercept == "penalized":
            total -= (sum(ra) - Fraction(form.intercept_price)) ** 2 / 2
        return total

    def repaired(self, a: Vector) -> Vector | None:
        """A feasible point close to a, by shrinking variables; None if that leads to none."""
        form, ra = self.form, [r * v for r, v in zip(self.signs, a, strict=True)]
        if form.intercept == "free":
            excess = sum(ra, Fraction(0)) - Fraction(form.intercept_price)
            side = sum((v for v in ra if v * excess > 0), Fraction(0))
            if excess and (not side or excess / side > 1):
                return None
            shrink = 1 - excess / side if excess else Fraction(1)
            a = [v * shrink if q * excess > 0 else v for v, q in zip(a, ra, strict=True)]
        if form.width_sign > 0 and sum(a) > Fraction(form.width_price):
            factor = Fraction(form.width_price) / sum(a)
            a = [v * factor for v in a]
        if form.width_sign < 0 and sum(a) < -Fraction(form.width_price):
            return None
        return a

    def point(self, a: Any) -> ChunkedDual:
        """The dual point that lists every variable."""
        centre = Machine(np.zeros(len(self.rows[0])), 0.0, 0.0)
        parts = np.split(np.asarray(a, dtype=np.float64), np.cumsum(self.sizes)[:-1])
        return ChunkedDual(centre, tuple(np.arange(n) for n in self.sizes), tuple(parts))
