"""The exact optimum of any small quadratic program, and what a point of it is worth.

Numbers go in as floats (each of them a rational number) and nothing is rounded from there on: a
program is brought into the form of ``rational.quadratic_program``, and its point counts as optimal
when its objective *equals* that of its multipliers. Nothing here knows of the library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from benchmarks.soundness.rational import ONE, ZERO, Row, dot, exact, quadratic_program, times

OPTIMAL, INFEASIBLE, UNBOUNDED = "optimal", "infeasible", "unbounded"


@dataclass(frozen=True)
class Answer:
    """What is true of a program: its status, and where there is one its optimum.

    Multipliers are those of ``Px + q + G'z + A'y - z_lower + z_upper = 0``.
    """

    status: str
    value: Fraction = ZERO
    x: Row | None = None
    z: Row | None = None
    y: Row | None = None
    z_lower: Row | None = None
    z_upper: Row | None = None


@dataclass(frozen=True)
class Miss:
    """A row or bound that a point misses: by how much, and the sum of the absolute terms."""

    name: str
    amount: Fraction
    terms: Fraction


@dataclass(frozen=True)
class ExactProgram:
    """``min 1/2 x'Px + q'x`` subject to ``Gx <= h, Ax = b, lb <= x <= ub``; None for no bound."""

    P: list[Row]
    q: Row
    G: list[Row]
    h: Row
    A: list[Row]
    b: Row
    lb: list[Fraction | None]
    ub: list[Fraction | None]

    @classmethod
    def of(cls, P: Any, q: Any, G: Any, h: Any, A: Any, b: Any, lb: Any, ub: Any) -> ExactProgram:
        """From floats; rows with an infinite right side do not bind and are left out."""
        bounds = [[None if math.isinf(v) else Fraction(v) for v in side] for side in (lb, ub)]
        kept = [(row, side) for row, side in zip(exact(G), h, strict=True) if not math.isinf(side)]
        return cls(
            exact(P), exact(q), [row for row, _ in kept], [Fraction(side) for _, side in kept],
            exact(A), exact(b), *bounds,
        )  # fmt: skip

    # --- a point ---------------------------------------------------------------------------------

    def objective(self, x: Row) -> Fraction:
        """``1/2 x'Px + q'x``."""
        return dot(x, times(self.P, x)) / 2 + dot(self.q, x)

    def terms(self, x: Row) -> Fraction:
        """The sum of the absolute terms of the objective."""
        size = [abs(v) for v in x]
        P = [[abs(v) for v in row] for row in self.P]
        return dot(size, times(P, size)) / 2 + dot([abs(v) for v in self.q], size)

    def objective_scale(self, x: Row) -> Fraction:
        """What the distance from the optimum is relative to: the two terms of the objective.

        ``1/2 x'Px + |q'x|``, never more than ``max(1, |objective|)``, and not below a millionth of
        the objective of one variable of size ``max(1, |x_j|)``: an optimum may be zero.
        """
        quadratic, linear = dot(x, times(self.P, x)) / 2, dot(self.q, x)
        sizes = [max(Fraction(1), abs(v)) for v in x]
        own = [
            abs(q) * s + abs(row[j]) * s * s / 2
            for j, (q, row, s) in enumerate(zip(self.q, self.P, sizes, strict=True))
        ]
        terms = max(abs(quadratic) + abs(linear), max(own) / 10**6)
        return min(terms, max(Fraction(1), abs(quadratic + linear)))

    def misses(self, x: Row) -> Iterator[Miss]:
        """Every row and bound that does not hold exactly."""
        sides = [("G", self.G, self.h, False), ("A", self.A, self.b, True)]
        for name, rows, right, both in sides:
            for j, (row, side) in enumerate(zip(rows, right, strict=True)):
                off = dot(row, x) - side
                off = abs(off) if both else off
                if off > 0:
                    size = sum((abs(a * v) for a, v in zip(row, x, strict=True)), start=abs(side))
                    yield Miss(f"{name}[{j}]", off, size)
        for name, bounds, sign in (("lower bound", self.lb, -1), ("upper bound", self.ub, 1)):
            for i, (bound, v) in enumerate(zip(bounds, x, strict=True)):
                if bound is not None and sign * (v - bound) > 0:
                    yield Miss(f"{name}[{i}]", abs(v - bound), abs(v) + abs(bound))

    def clipped(self, x: Row) -> Row:
        """The nearest point within the bounds; x itself if it is."""
        inside = [v if low is None or v > low else low for v, low in zip(x, self.lb, strict=True)]
        inside = [
            v if high is None or v < high else high for v, high in zip(inside, self.ub, strict=True)
        ]
        return x if inside == x else inside

    # --- the optimum -----------------------------------------------------------------------------

    @cached_property
    def answer(self) -> Answer:
        """The exact optimum, proved by equal objectives; or that there is none."""
        bent = [i for i, row in enumerate(self.P) if row[i] < 0]
        if bent:
            return self._with_concave(bent)
        found = self._solved(self.P, self.q)
        if found is None:
            nothing = [[ZERO] * len(self.q) for _ in self.q]
            feasible = self._solved(nothing, [ZERO] * len(self.q))
            return Answer(INFEASIBLE if feasible is None else UNBOUNDED)
        answer = self._with_multipliers(*found)
        self._require_proof(answer)
        return answer

    @cached_property
    def _columns(self) -> list[tuple[int, int, Fraction]]:
        """(variable, sign, start): x = start + sign t with t >= 0; free variables have two."""
        columns = []
        for i, (low, high) in enumerate(zip(self.lb, self.ub, strict=True)):
            if low is not None:
                columns.append((i, 1, low))
            elif high is not None:
                columns.append((i, -1, high))
            else:
                columns += [(i, 1, ZERO), (i, -1, ZERO)]
        return columns

    @cached_property
    def _start(self) -> Row:
        start = [ZERO] * len(self.q)
        for i, _, value in self._columns:
            start[i] = value
        return start

    def _solved(self, P: list[Row], q: Row) -> tuple[Row, Row] | None:
        """x, and the multipliers of rows, equalities (twice) and upper bounds of two-sided x."""

        def of_t(row: Row) -> Row:
            return [sign * row[i] for i, sign, _ in self._columns]

        start = self._start
        G = [of_t([-v for v in row]) for row in self.G]
        g = [dot(row, start) - side for row, side in zip(self.G, self.h, strict=True)]
        for sign in (1, -1):
            G += [of_t([sign * v for v in row]) for row in self.A]
            g += [sign * (side - dot(row, start)) for row, side in zip(self.A, self.b, strict=True)]
        for k in self._boxed:
            G.append([-ONE if i == k else ZERO for i, _, _ in self._columns])
            g.append(self.lb[k] - self.ub[k])
        hessian = [[sign * v for v in of_t(P[i])] for i, sign, _ in self._columns]
        slope = [v + c for v, c in zip(times(P, start), q, strict=True)]
        found = quadratic_program(hessian, of_t(slope), G, g)
        if found is None:
            return None
        t, multipliers = found
        x = list(start)
        for (i, sign, _), value in zip(self._columns, t, strict=True):
            x[i] += sign * value
        return x, multipliers

    @cached_property
    def _boxed(self) -> list[int]:
        return [
            i for i, (low, high) in enumerate(zip(self.lb, self.ub, strict=True))
            if low is not None and high is not None
        ]  # fmt: skip

    def _with_multipliers(self, x: Row, v: Row) -> Answer:
        m, p = len(self.h), len(self.b)
        z = v[:m]
        y = [down - up for up, down in zip(v[m : m + p], v[m + p : m + 2 * p], strict=True)]
        gradient = [a + c for a, c in zip(times(self.P, x), self.q, strict=True)]
        for rows, multipliers in ((self.G, z), (self.A, y)):
            for row, weight in zip(rows, multipliers, strict=True):
                if weight:
                    gradient = [a + weight * c for a, c in zip(gradient, row, strict=True)]
        lower, upper = [ZERO] * len(x), [ZERO] * len(x)
        for i, slope in enumerate(gradient):
            if slope > 0:
                lower[i] = slope
            else:
                upper[i] = -slope
        return Answer(OPTIMAL, self.objective(x), x, z, y, lower, upper)

    def _require_proof(self, answer: Answer) -> None:
        """Feasible, multipliers of the right sign and place, and equal objectives."""
        x = answer.x
        assert x is not None
        dual = -dot(x, times(self.P, x)) / 2 - dot(self.h, answer.z) - dot(self.b, answer.y)
        for bounds, multipliers, sign in (
            (self.lb, answer.z_lower, 1), (self.ub, answer.z_upper, -1),
        ):  # fmt: skip
            for bound, weight in zip(bounds, multipliers, strict=True):
                if weight and bound is None:
                    raise ArithmeticError("The judge is wrong: a multiplier without a bound.")
                dual += sign * weight * (bound or ZERO)
        if any(self.misses(x)) or any(v < 0 for v in answer.z) or dual != answer.value:
            raise ArithmeticError(
                f"The judge is wrong: {float(answer.value)} is not {float(dual)}."
            )

    def _with_concave(self, bent: list[int]) -> Answer:
        """Variables that curve downwards and touch nothing else: each goes to its better end."""
        for i in bent:
            alone = all(not row[i] for row in [*self.G, *self.A])
            if not alone or any(v for j, v in enumerate(self.P[i]) if j != i):
                raise ArithmeticError("A program whose concave variables are not on their own.")
        lb, ub, P, q = list(self.lb), list(self.ub), [list(row) for row in self.P], list(self.q)
        endless = False
        for i in bent:
            low, high = lb[i], ub[i]
            if low is None or high is None:
                endless = True
                lb[i] = ub[i] = low if low is not None else (high or ZERO)
            else:
                ends = {end: P[i][i] * end * end / 2 + q[i] * end for end in (low, high)}
                lb[i] = ub[i] = min(ends, key=lambda end: ends[end])
            P[i][i] = ZERO
        others = ExactProgram(P, q, self.G, self.h, self.A, self.b, lb, ub).answer
        if others.status != OPTIMAL:
            return others
        if endless:
            return Answer(UNBOUNDED)
        return replace(others, value=self.objective(others.x))

    # --- that there is none ----------------------------------------------------------------------

    def is_clearly_unbounded(self, share: Fraction) -> bool:
        """Whether the objective falls along some ray by more than a share of its own terms.

        Otherwise it may have an optimum for slightly other coefficients: with free variables that
        is decided by the last digit of a float.
        """
        n = len(self.q)
        bent = [i for i, row in enumerate(self.P) if row[i] < 0]
        if any(self.lb[i] is None or self.ub[i] is None for i in bent):
            return True

        def split(rows: list[Row]) -> list[Row]:
            return [[*row, *(-v for v in row)] for row in rows]

        flat = [row for i, row in enumerate(self.P) if i not in bent]
        floor = [None if low is None else ZERO for low in self.lb]
        roof = [ONE if high is None else ZERO for high in self.ub]
        slope = [v + share * abs(v) for v in self.q] + [-v + share * abs(v) for v in self.q]
        ray = ExactProgram(
            [[ZERO] * (2 * n) for _ in slope], slope, split(self.G), [ZERO] * len(self.h),
            split([*flat, *self.A]), [ZERO] * (len(flat) + len(self.b)), [ZERO] * (2 * n),
            [*roof, *(ONE if low is None else ZERO for low in floor)],
        )  # fmt: skip
        return ray.answer.value < 0
