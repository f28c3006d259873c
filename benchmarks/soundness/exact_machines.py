"""Small training problems whose optimum is known exactly, and the judge of their machines.

Cost, conditions and constraints are the textbook's, in rational numbers from the floats that a
user gives (``tests.certificates.textbook`` has the families); the optimum is that of ``rational``.
From the library come the problem to be verified and the floor that its gap is relative to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.soundness.bare import BAND, EPS, ROUNDINGS, UNIT
from benchmarks.soundness.rational import (
    ZERO,
    Machine,
    Optimum,
    Program,
    Row,
    Rule,
    dot,
    exact,
    gram,
    machine,
    optimum,
    times,
)
from tests.certificates.textbook import scaled_up

REACH = Fraction(1, 10**12)
"""Distance of weights that is rounding, per unit of weights."""
PREDICTION = Fraction(1, 10**11)
"""Rounding of a decision value, per unit of the sum of its absolute terms."""
SMALL_STEP = Fraction(1, 2**4000)
"""A move of the intercept that reaches no other breakpoint of the cost of small numbers."""
SMALLEST = Fraction(2.0**-1022)
"""Figures that are relative to zero are relative to the smallest normal double."""


@dataclass(frozen=True, eq=False)
class ExactMachines:
    """One training problem with its exact optimum.

    Attributes
    ----------
    name : str
        Of the family.
    trait : str
        What makes it hard.
    problem : SVMProblem
        The library's.
    program : Program
        The textbook's.
    X, new : lists of rows
        Exact samples; those that predictions are compared on.
    y : list of int, or None
        Signs of a classifier.
    kernel : (name, parameters)
    """

    name: str
    trait: str
    problem: Any
    program: Program
    X: list[Row]
    y: list[int] | None
    kernel: tuple[str, dict[str, Any]]
    new_samples: Any

    @cached_property
    def best(self) -> Optimum | None:
        """The exact optimum; None if there is none."""
        return optimum(self.program)

    @property
    def is_linear(self) -> bool:
        return self.kernel[0] == "linear"

    @property
    def rules(self) -> Sequence[Rule]:
        return self.program.rules

    # --- machines --------------------------------------------------------------------------------

    def weights_of(self, beta: Row) -> Row:
        """``sum_i beta_i x_i - sum_k mu_k g_k``: coefficients of samples, then of rules."""
        rows = self.X + [[-v for v in rule.g] for rule in self.rules]
        return [dot(beta, column) for column in zip(*rows, strict=True)]

    @cached_property
    def best_weights(self) -> Row:
        """w of the optimum, or beta where there are no features."""
        assert self.best is not None
        return self.weights_of(self.best.beta) if self.is_linear else self.best.beta

    @cached_property
    def new(self) -> tuple[list[Row], Row]:
        """Kernel values of new samples with the data (or their features), and with themselves."""
        name, parameters = self.kernel
        rows = exact(self.new_samples)
        squares = [gram(name, [z], [z], **parameters)[0][0] for z in rows]
        return (rows if self.is_linear else gram(name, rows, self.X, **parameters)), squares

    def values(self, w: Row, b: Fraction) -> Row:
        """Decision values of the new samples."""
        rows, squares = self.new
        own = squares if self.name == "ball" else [ZERO] * len(squares)
        return [dot(row, w) + b - k for row, k in zip(rows, own, strict=True)]

    def value_terms(self, w: Row, b: Fraction) -> Row:
        """The sums of absolute terms of ``values``."""
        rows, squares = self.new
        own = squares if self.name == "ball" else [ZERO] * len(squares)
        return [
            sum((abs(a * v) for a, v in zip(row, w, strict=True)), start=abs(b) + abs(k))
            for row, k in zip(rows, own, strict=True)
        ]

    def read(self, s: Any) -> tuple[Row, Fraction, Fraction] | None:
        """(w or beta, b, t) of a solution's stored numbers; None if they are no machine."""
        stored = s.coef if self.is_linear and s.coef is not None else s.expansion
        if self.is_linear and s.coef is None and stored is not None:
            return None
        try:
            numbers = [float(v) for v in np.asarray(stored, dtype=np.float64).ravel()]
            ends = float(s.intercept), float(s.width)
        except (TypeError, ValueError):
            return None
        length = len(self.X[0]) if self.is_linear else self.program.n
        if len(numbers) != length or not np.all(np.isfinite([*numbers, *ends])):
            return None
        return exact(numbers), Fraction(ends[0]), Fraction(ends[1])

    def machine_of(self, w: Row, b: Fraction, t: Fraction) -> Machine:
        """What the textbook's cost depends on."""
        if self.is_linear:
            return Machine(dot(w, w), [dot(x, w) + b for x in self.X], b, t)
        return machine(self.program.K, self.program.n, w, b, t)

    def cost(self, w: Row, b: Fraction, t: Fraction) -> Any:
        """The textbook's objective, whatever is missed of the rules; infinite for no machine."""
        if self.program.intercept == "none" and b != 0:
            return np.inf
        if t < 0 or (not self.program.width and t != 0):
            return np.inf
        m = self.machine_of(w, b, t)
        if self.is_hard:
            assert self.y is not None
            m = scaled_up(m, self.y)
        return self.program.cost(m)

    @property
    def is_hard(self) -> bool:
        """Whether margins must hold; the cost is then that of a multiple that has them."""
        return self.name == "hard margin"

    # --- may it pass? ----------------------------------------------------------------------------

    def harm(self, s: Any, certificate: Any) -> Iterator[str]:
        """Why a solution may not pass at ``EPS``; nothing if it may."""
        found = self.read(s)
        if found is None:
            yield "no machine"
            return
        w, b, t = found
        yield from self._misses(w, b)
        if self.is_hard:
            assert self.y is not None
            f = self.machine_of(w, b, t).f
            short = 1 - min(sign * value for sign, value in zip(self.y, f, strict=True))
            if short > EPS * BAND + Fraction(min(float(certificate.rounding), EPS)):
                yield f"misses a margin by {float(short):.2e}"
        cost = self.cost(w, b, t)
        if cost == np.inf:
            yield "costs infinitely much"
            return
        assert self.best is not None
        size = max(abs(cost), Fraction(float(certificate.floor)))
        allowed = (EPS * BAND + Fraction(min(float(certificate.rounding), EPS))) * size
        off = cost - self.best.value
        if abs(off) > allowed:
            where = "above" if off > 0 else "below"
            share = float(abs(off) / size / Fraction(EPS)) if size else np.inf
            yield f"costs {share:.4g} eps {where} the optimum"
        elif self._is_strongly_convex:
            yield from self._is_elsewhere(w, b, 2 * allowed)
        yield from self._predicts_otherwise(s, w, b)

    def excess(self, s: Any, certificate: Any) -> float | None:
        """How far the cost is from the optimum, in units of ``EPS``; None for no machine."""
        found = self.read(s)
        if found is None or self.best is None:
            return None
        cost = self.cost(*found)
        size = max(abs(cost), Fraction(float(certificate.floor)))
        return float(abs(cost - self.best.value) / size) / EPS if cost != np.inf and size else None

    def _misses(self, w: Row, b: Fraction) -> Iterator[str]:
        room = EPS * BAND + ROUNDINGS * UNIT
        for k, rule in enumerate(self.rules):
            off = dot(rule.g, w) + rule.on_b * b - rule.h
            off = abs(off) if rule.is_equality else off
            terms = sum((abs(g * v) for g, v in zip(rule.g, w, strict=True)), start=abs(rule.h))
            terms += abs(rule.on_b * b)
            tiny = Fraction(5e-324) * 64 * sum(map(abs, rule.g), start=abs(rule.on_b))  # denormals
            if off > room * terms + tiny:
                share = float(off / terms) if terms else np.inf
                yield f"misses constraint {k} by {share:.2e} of its terms"

    @property
    def _is_strongly_convex(self) -> bool:
        return self.program.kappa > 0

    def _is_elsewhere(self, w: Row, b: Fraction, distance: Fraction) -> Iterator[str]:
        """``kappa/2 |w - w*|^2`` is at most what the two costs are apart, and rounding."""
        best = self.best_weights
        if not self.is_linear:
            best = best[: self.program.n]
        step = [v - u for v, u in zip(w, best, strict=True)]
        square = dot(step, step if self.is_linear else times(self.program.K, step))
        size = dot(best, best if self.is_linear else times(self.program.K, best))
        if self.program.intercept == "penalized":
            assert self.best is not None
            square += (b - self.best.b) ** 2
            size += self.best.b**2
        reach = 2 * distance / self.program.kappa
        if not self.rules and square > reach + REACH * size:
            yield "weights are farther from the optimum's than its cost allows"

    def _predicts_otherwise(self, s: Any, w: Row, b: Fraction) -> Iterator[str]:
        predicted = np.asarray(s.decision_function(self.new_samples), dtype=np.float64)
        values, terms = self.values(w, b), self.value_terms(w, b)
        tiny = Fraction(5e-324) * 64 * len(w)
        for given, value, size in zip(predicted, values, terms, strict=True):
            if not np.isfinite(given) or abs(Fraction(given) - value) > PREDICTION * size + tiny:
                yield "predicts something else than was judged"
                return
        on_boundary = np.abs(predicted) <= getattr(s, "zero_below", 0.0)  # which is inside
        own = self._labels(np.where(on_boundary, 0.0, predicted))
        if not np.array_equal(s.predict(self.new_samples), own):
            yield "predicts other labels than its decision values"

    def _labels(self, predicted: Any) -> Any:
        return self.problem.data.predictions(predicted)

    # --- does the certificate tell the truth? ----------------------------------------------------

    def contradictions(self, s: Any, certificate: Any) -> Iterator[str]:
        """What a certificate says that is not so."""
        found = self.read(s)
        if found is None or self.best is None:
            return
        cost, value = self.cost(*found), self.best.value
        upper = float(certificate.gap_upper)
        if np.isfinite(upper) and cost != np.inf and cost - value > Fraction(upper):
            yield f"a gap of at most {upper!r} where it is {float(cost - value)!r}"
        enclosure = certificate.enclosure
        if enclosure is not None:
            ends = float(enclosure.primal_upper), float(enclosure.dual_lower)
            if np.isfinite(ends[0]) and cost != np.inf and Fraction(ends[0]) < cost:
                yield f"a rigorous upper bound of {ends[0]!r} below the cost"
            if np.isfinite(ends[1]) and Fraction(ends[1]) > value:
                yield f"a rigorous lower bound of {ends[1]!r} above the optimum"
        elif cost != np.inf:
            yield from self._figures(certificate, cost, value)
        yield from self._statuses(certificate)
        yield from self._bounds(certificate)

    def _figures(self, certificate: Any, cost: Fraction, value: Fraction) -> Iterator[str]:
        """Figures without rigor are true to the rounding they state."""
        hidden = certificate.objective_rounding
        numbers = certificate.primal_objective, certificate.dual_objective, hidden
        if not np.all(np.isfinite(numbers)):
            return
        primal, dual, rounding = (Fraction(float(v)) for v in numbers)
        size = max(abs(primal), Fraction(float(certificate.floor)), SMALLEST)
        room = (rounding + 2 * UNIT) * size + Fraction(1, 10**300)  # and that of the figure itself
        stated = f"(rounding {float(rounding):.1e})"
        if not self.is_hard and abs(primal - cost) > room:
            yield f"a cost of {float(primal)!r} that is {float(cost)!r} {stated}"
        if dual - room > value:
            yield f"a lower bound of {float(dual)!r} above the optimum {float(value)!r} {stated}"

    def _statuses(self, certificate: Any) -> Iterator[str]:
        assert self.best is not None
        names = ("undecided", "zero", "free", "bound")
        status = certificate.screening.status
        for k, condition in enumerate(self.program.conditions):
            claim, a = names[int(status[k])], self.best.alpha[k]
            ends = [end for end in (condition.lower, condition.upper) if end is not None]
            true = {
                "undecided": True,
                "zero": a == 0,
                "bound": a in ends,
                "free": a not in ends,
            }[claim]
            if not true:
                yield f"alpha[{k}] is said to be {claim!r} and is {float(a)!r}"
        unique = certificate.intercept_is_unique
        if unique is not None and self.program.intercept == "free" and not self.program.width:
            moves = self._intercept_moves
            if moves is not None and unique == moves:
                yield f"the intercept is said to be {'' if unique else 'not '}unique and is not so"

    @cached_property
    def _intercept_moves(self) -> bool | None:
        """Whether b of the optimum can move without cost; None if that is not looked at."""
        if self.rules or self.best is None or not self._is_strongly_convex:
            return None
        w = self.best_weights if self.is_linear else self.best_weights[: self.program.n]
        return any(
            self.cost(w, self.best.b + step, self.best.t) == self.best.value
            for step in (SMALL_STEP, -SMALL_STEP)
        )

    def _bounds(self, certificate: Any) -> Iterator[str]:
        assert self.best is not None
        interval, b = certificate.intercept_bounds, self.best.b
        if interval is not None and not _between(interval.lower, b, interval.upper):
            yield f"bounds on the intercept {tuple(interval)} without {float(b)!r}"
        w = self.best_weights if self.is_linear else self.best_weights[: self.program.n]
        bounds = certificate.decision_bounds(self.new_samples)
        truth = self.values(w, b)
        for low, value, high in zip(bounds.lower, truth, bounds.upper, strict=True):
            if not _between(low, value, high):
                yield f"a decision value in [{low!r}, {high!r}] that is {float(value)!r}"
        if self.y is not None:
            certified = certificate.predict_certified(self.new_samples)
            negative, positive = self.problem.data.classes
            for label, sure, value in zip(certified.labels, certified.decided, truth, strict=True):
                if sure and value and label != (positive if value > 0 else negative):
                    yield "a certified label that is not the optimum's"


def _between(low: float, value: Fraction, high: float) -> bool:
    """Infinite and missing ends hold; an optimum beyond the range of floats is not compared."""
    if abs(value) > Fraction(10**300):
        return True
    below = (np.isinf(low) and low < 0) or (np.isfinite(low) and Fraction(float(low)) <= value)
    above = (np.isinf(high) and high > 0) or (np.isfinite(high) and value <= Fraction(float(high)))
    return bool(below and above)
