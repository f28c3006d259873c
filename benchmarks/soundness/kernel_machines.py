"""Small machines of any kernel, judged by kernel values with 60 digits and more.

Inner products and squared distances of the float64 samples are rational numbers; only exp is
rounded, to ``rational.DIGITS`` digits. The optimum is that of a program whose kernel matrix is
rounded to ``BITS`` bits, because Lemke's method takes exact numbers. It is *proven* for the kernel
itself: the cost of its machine and the value of its dual point, both with all digits, bound the
optimum and agree to ``CLOSED``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.soundness.bare import BAND
from benchmarks.soundness.exact_machines import SMALLEST, ExactMachines
from benchmarks.soundness.rational import ZERO, Optimum, Row, dot, optimum, times
from qpsvm.certificates import Certificate

BITS = (140, 280, 600, 1200)
"""Bits of the kernel values of the program that is solved; more where the proof needs them."""
LARGEST_WORK = 5e6
"""Largest ``N^2.5`` times bits of a number, for Lemke's method with N rows: about a minute.

A pivot multiplies and divides N^2 numbers that have up to N times the bits.
"""
CLOSED = Fraction(1, 10**25)
"""Largest distance of cost and dual value of an optimum that is known, per unit of the cost."""
FLOOR_BAND = Fraction(101, 100)
"""How far the verifier's floor may be from the documented one: it is a convention, no claim."""
SMALLEST_WEIGHTS = Fraction(1, 1000)
"""Where only the samples set a scale, the floor is the objective of weights of this share of it."""


@dataclass(frozen=True, eq=False)
class KernelMachines(ExactMachines):
    """One training problem whose kernel values may be nothing but rounding in float64.

    ``best.value`` is the cost of the best machine that is known, hence at least the optimum: what
    exceeds it exceeds the optimum.
    """

    @property
    def best(self) -> Optimum | None:
        """The optimum, proven to ``CLOSED``; None if there is none or if it is not known."""
        return self._optimum[1]

    @property
    def unknown(self) -> str:
        """Why there is no best machine."""
        return self._optimum[0]

    @cached_property
    def _optimum(self) -> tuple[str, Optimum | None]:
        for bits in BITS:
            K = rounded(self.program.K, bits)
            rows = 2 * len(self.program.conditions) + 2
            if rows**2.5 * (length(K) + 100) > LARGEST_WORK:  # prices have bits as well
                return "too large for the judge", None
            found = optimum(replace(self.program, K=K))
            if found is None:
                return "no optimum", None
            w = self.weights_of(found.beta) if self.is_linear else found.beta
            cost = self.cost(w, found.b, found.t)
            if cost != math.inf and cost - self._dual_value(found.alpha) <= CLOSED * abs(cost):
                return "", replace(found, value=cost)
        return "not judged", None

    def _dual_value(self, alpha: Row) -> Fraction:
        """The dual objective of an exactly feasible point, which is at most the optimum."""
        p = self.program
        rows = zip(*(c.row for c in p.conditions), strict=True)
        beta = [dot(alpha, column) / p.kappa for column in rows]
        square = p.kappa * dot(beta, times(p.K, beta))
        square += sum((c.curvature * a * a for c, a in zip(p.conditions, alpha, strict=True)), ZERO)
        if p.intercept == "penalized":
            square += dot([c.balance for c in p.conditions], alpha) ** 2
        return dot(alpha, [c.required for c in p.conditions]) - square / 2

    # --- may it pass? ----------------------------------------------------------------------------

    def size(self, cost: Fraction) -> Fraction:
        """What the gap is relative to: the objective, but no less than the documented floor."""
        return max(abs(cost), self.floor, SMALLEST)

    @cached_property
    def floor(self) -> Fraction:
        """The floor; computed here where it depends on more than the diagonal of the kernel."""
        conditions = self.problem.model.conditions
        if not conditions.relative_to_spread:
            return Fraction(float(self.problem.model.objective_floor)) * FLOOR_BAND
        n, K = self.program.n, self.program.K
        means = [sum(row, ZERO) / n for row in K]
        spread = max(K[i][i] - 2 * means[i] for i in range(n)) + sum(means, ZERO) / n
        unit = Fraction(float(conditions.unit)) * (spread if spread > 0 else 1)
        return min(Fraction(1), SMALLEST_WEIGHTS**2 * unit / 2) * FLOOR_BAND

    def relative_excess(self, s: Any) -> Fraction | None:
        """By how much a machine exceeds the optimum, as it predicts; None: costs infinitely much.

        The larger of that and of what is missed of a hard margin.
        """
        found = self.read(s)
        cost = math.inf if found is None else self.cost(*found)
        if cost == math.inf or found is None or self.best is None:
            return None
        excess = (cost - self.best.value) / self.size(Fraction(cost))
        if self.is_hard and self.y is not None:
            f = self.machine_of(*found).f
            excess = max(excess, 1 - min(s * v for s, v in zip(self.y, f, strict=True)))
        return Fraction(excess)

    def harm_at(self, s: Any, eps: float) -> Iterator[str]:
        """Why a machine may not pass at ``eps``: rounding is no excuse."""
        excess = self.relative_excess(s)
        if excess is None:
            yield "costs infinitely much"
        elif excess > Fraction(eps) * BAND:
            share = float(excess / Fraction(eps))
            yield f"exceeds the optimum by {float(excess):.3g}, {share:.4g} eps"

    def prediction_error(self, s: Any) -> float:
        """Largest error of a decision value of a new sample, per unit of the sum of its terms."""
        found = self.read(s)
        assert found is not None
        w, b, _ = found
        given = np.asarray(s.decision_function(self.new_samples), dtype=np.float64)
        if not np.all(np.isfinite(given)):
            return math.inf
        pairs = zip(given, self.values(w, b), self.value_terms(w, b), strict=True)
        return max(float(abs(Fraction(v) - f) / max(size, SMALLEST)) for v, f, size in pairs)

    # --- does the certificate tell the truth? ----------------------------------------------------

    def contradictions(self, s: Any, certificate: Any) -> Iterator[str]:
        """What a certificate says that is not so; the words before the colon say of what."""
        found = self.read(s)
        if found is None or self.best is None:
            return
        rigor = "rigorous" if getattr(certificate, "rigorous", False) else "estimated"
        cost = self.cost(*found)
        if cost != math.inf:
            yield from (f"{what}" for what in self._gaps(certificate, cost, rigor))
        if not isinstance(certificate, Certificate):
            return
        if certificate.enclosure is not None:
            ends = (
                float(certificate.enclosure.primal_upper),
                float(certificate.enclosure.dual_lower),
            )
            if np.isfinite(ends[0]) and cost != math.inf and Fraction(ends[0]) < cost:
                yield f"upper bound, rigorous: {ends[0]!r} below the cost {float(cost)!r}"
            if np.isfinite(ends[1]) and Fraction(ends[1]) > self.best.value:
                yield f"lower bound, rigorous: {ends[1]!r} above {float(self.best.value)!r}"
        elif cost != math.inf:
            figures = self._figures(certificate, cost, self.best.value)
            yield from (f"figure, {rigor}: {what}" for what in figures)
        yield from (f"alpha, {rigor}: {what}" for what in self._statuses(certificate))
        yield from (f"optimum, {rigor}: {what}" for what in self._bounds(certificate))

    def _gaps(self, certificate: Any, cost: Fraction, rigor: str) -> Iterator[str]:
        """Upper bounds on the gap that are below it."""
        assert self.best is not None
        true, size = cost - self.best.value, self.size(cost)
        upper, share = float(certificate.gap_upper), float(certificate.relative_gap_upper)
        if np.isfinite(upper) and true > Fraction(upper):
            yield f"gap, {rigor}: at most {upper!r}, and it is {float(true)!r}"
        if np.isfinite(share) and true > Fraction(share) * BAND * size:
            yield f"relative gap, {rigor}: at most {share!r}, and it is {float(true / size)!r}"

    @property
    def _intercept_moves(self) -> None:
        """An optimum that is known up to its last digits does not tell."""


def length(K: list[Row]) -> int:
    """Bits of the largest entry of K, as a whole number over the common denominator."""
    common = math.lcm(*(value.denominator for row in K for value in row))
    return max(int(abs(value) * common).bit_length() for row in K for value in row)


def rounded(K: list[Row], bits: int) -> list[Row]:
    """K to about so many bits of ``sqrt(K_ii K_jj)``, and positive definite; K itself if short."""
    longest = max(max(v.numerator.bit_length(), v.denominator.bit_length()) for r in K for v in r)
    if longest <= bits:
        return K
    powers = [_half_exponent(K[i][i]) for i in range(len(K))]
    scale = Fraction(2) ** bits

    def entry(i: int, j: int) -> Fraction:
        unit = Fraction(2) ** (powers[i] + powers[j])
        return Fraction(round(K[i][j] / unit * scale) + (i == j) * len(K)) / scale * unit

    return [[entry(i, j) for j in range(len(K))] for i in range(len(K))]


def _half_exponent(value: Fraction) -> int:
    """e with ``2^(2 e)`` near the value; 0 for 0."""
    if not value:
        return 0
    return (value.numerator.bit_length() - value.denominator.bit_length() + 1) // 2
