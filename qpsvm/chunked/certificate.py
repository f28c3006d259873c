"""Sums over the conditions of all chunks, the bounds on the optimum that follow, and the verdict.

Sums are compensated, and have the same bits in every process that computes them. The lower bound
of a dual point a is::

    sum (p a - d/2 a^2) - 1/(2 kappa) |X'R'a|^2  [- 1/2 (1'R'a - price_b)^2]

for every a within its bounds with ``1'R'a = price_b`` (free intercept) and ``e 1'a <= price_t``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from qpsvm.chunked.machine import Machine
from qpsvm.chunked.template import Template, Terms
from qpsvm.chunked.totals import Totals
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.arrays import Dense, Matrix, Vector
from qpsvm.numerics.balls import UNDERFLOW
from qpsvm.numerics.compensated import Total
from qpsvm.numerics.precision import EPS, TINY

Sums = TypeVar("Sums", bound=tuple[Total, ...])

# --- sums ----------------------------------------------------------------------------------------


def added(parts: Sequence[Total]) -> Total:
    """Add up compensated sums in their order, with the roundings that they kept."""
    total = Total(parts[0].value.shape)
    for part in parts:
        total.add_total(part)
    return total


def summed(parts: Sequence[Sums]) -> Sums:
    """Add up tuples of sums over chunks, each sum in the order of the chunks."""
    kind: Any = type(parts[0])
    found: Sums = kind(*map(added, zip(*parts, strict=True)))
    return found


class FixedSums(NamedTuple):
    """Sums over conditions whose dual variables are fixed, by the sign of ``r a``.

    Index 0 is for ``r a < 0``, index 1 for ``r a > 0``.

    Parameters
    ----------
    weights : Total of shape (2, d)
        ``sum r a x``.
    signed, total, linear, quadratic : Totals of shape (2,)
        ``sum r a``, ``sum a``, ``sum p a`` and ``sum d a^2``.
    rounding : Total of shape (3,)
        Bounds on the rounding of ``signed`` and ``total``, of ``weights`` (their norm), and of
        ``linear - quadratic / 2``, each of both groups together.
    """

    weights: Total
    signed: Total
    total: Total
    linear: Total
    quadratic: Total
    rounding: Total

    @classmethod
    def empty(cls, d: int) -> Self:
        """Sums over no conditions, of d features."""
        return cls(Total((2, d)), *(Total((size,)) for size in (2, 2, 2, 2, 3)))

    def add(self, X: Matrix, terms: Terms, a: Dense, squares: Vector) -> None:
        """Add the conditions on the rows of X, all sides, with dual variables a."""
        ra, linear, quadratic = terms.signs * a, a * terms.required, terms.curvature * a * a
        groups = np.stack([ra < 0.0, ra > 0.0])
        # the sides of one sample are in different groups, so nothing is rounded here
        by_row = np.where(groups, ra, 0.0).sum(axis=1)
        self.weights.add_terms(np.asarray((X.T @ by_row.T).T))
        self.signed.add_terms(by_row.sum(axis=1))
        self.total.add_terms(np.where(groups, a, 0.0).sum(axis=(1, 2)))
        self.linear.add_terms(np.where(groups, linear, 0.0).sum(axis=(1, 2)))
        self.quadratic.add_terms(np.where(groups, quadratic, 0.0).sum(axis=(1, 2)))
        sizes = np.abs(a).sum(axis=0)
        terms_of_sums = [
            float(np.sum(sizes)),
            float(sizes @ np.sqrt(squares)),
            float(np.sum(np.abs(linear)) + np.sum(quadratic)),
        ]
        self.rounding.add_terms(rounding_unit(a.size, X.shape[1]) * np.array(terms_of_sums))


def rounding_unit(n: int, d: int) -> float:
    """Bound on the rounding of a sum over a block of n conditions, relative to its terms.

    Whatever the order of the sum, each of its terms takes part in at most n - 1 additions; |x|^2 of
    d features may be one of its factors; sums of blocks are compensated.
    Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 4.2.
    """
    return 1.0625 * (n + d + 16) * EPS


# --- lower bounds -------------------------------------------------------------------------------


class DualBound(NamedTuple):
    """A lower bound on the optimum of a problem on samples in chunks.

    Parameters
    ----------
    objective : float
        The dual objective of a feasible point; minus infinity if there is none.
    rounding : float
        Bound on its rounding, absolute.
    """

    objective: float
    rounding: float


NO_BOUND = DualBound(-math.inf, math.inf)
"""For sums that prove nothing."""


def dual_bound(form: Template, sums: FixedSums) -> DualBound:
    """Bound the optimum from below by a feasible dual point close to the one summed up.

    The dual variables of one group, or of both, are multiplied by numbers from 0 to 1: within their
    bounds they remain whatever these are. What rounding hides of feasibility could be taken off in
    the same way, and its cost is part of ``rounding``. Where nothing can be taken off, because more
    is required, the missing part is multiplied by the largest value that an optimal intercept or
    width can have (``_offset_bounds``).

    Parameters
    ----------
    form : Template
    sums : FixedSums
        Over all conditions.
    """
    signed, missing = sums.signed.value, float(sums.rounding.value[0])
    sizes = float(np.sum(np.abs(signed))) + abs(form.intercept_price) + abs(form.width_price)
    missing += 8.0 * EPS * sizes  # of the sums of both groups, here
    if not math.isfinite(missing):
        return NO_BOUND
    factors, balance = np.ones(2), form.intercept_price
    if form.intercept == "free":
        factors = _balanced(signed, balance, missing)
    factors, short = _within_width(form, factors, sums.total.value, missing)
    value, rounding, cost_of_shrinking = _objective(form, factors, sums)
    cost = 0.0
    own = factors * signed
    if form.intercept == "free" and (balance or own.any()):
        rest = float(np.sum(own)) - balance
        for side, part in ((1, rest + missing), (0, missing - rest)):
            amount = max(0.0, part)
            if abs(own[side]) >= 2.0 * amount:
                cost += cost_of_shrinking(side, amount / max(abs(own[side]), TINY))
                short += amount
            else:
                cost += amount * _offset_bounds(form)[0]
    if form.width_sign < 0.0 and short > 0.0:
        cost += short * _offset_bounds(form)[1]
    rounding = float(rounding + cost)
    if not (math.isfinite(value) and math.isfinite(rounding)):
        return NO_BOUND
    return DualBound(value, rounding)


def _balanced(signed: Vector, balance: float, missing: float) -> Vector:
    """Factors that shrink dual variables until those of both classes add up to the same.

    More, because what is too much can be taken off the positive group exactly.
    """
    factors = np.ones(2)
    wanted = balance + 2.0 * missing if balance > 0.0 else balance
    excess = float(np.sum(signed)) - wanted
    if excess > 0.0:
        factors[1] = max(0.0, 1.0 - excess / signed[1])
    elif excess < 0.0 and signed[0] < 0.0:
        factors[0] = max(0.0, 1.0 - excess / signed[0])
    if not balance and float(np.min(np.abs(factors * signed))) <= 4.0 * missing:
        return np.zeros(2)  # nothing but rounding; all dual variables may be zero
    return factors


def _within_width(
    form: Template, factors: Vector, total: Vector, missing: float
) -> tuple[Vector, float]:
    """Factors with which ``1'a <= price_t``, and what a sum that has to be large may lack."""
    amount = float(factors @ total)
    if form.width_sign > 0.0:
        excess = amount + missing - form.width_price
        if excess > 0.0 and not form.intercept_price:
            return factors * max(0.0, 1.0 - excess / max(amount, TINY)), 0.0
        return (factors, 0.0) if excess <= 0.0 else (np.full(2, np.nan), 0.0)
    if form.width_sign < 0.0:
        return factors, -form.width_price - amount + missing
    return factors, 0.0


def _offset_bounds(form: Template) -> tuple[float, float]:
    """Bounds on ``|b|`` and t of some optimal machine, infinite where none is known.

    For unlabelled samples ``1'a = price_b``, so that ``|kappa w| = |X'a| <= radius price_b``; and
    some optimal b is at a kink, ``b = p - w'x``. For a margin of variable width ``1'a = |price_t|``
    unless t = 0, and some optimal t is at kinks, ``t <= |w| radius + |b|`` where b is not free.
    """
    largest_p = float(np.max(np.abs(form.offsets))) + (form.radius**2 if form.ball else 0.0)
    intercept = width = math.inf
    if form.task == "unlabelled":
        intercept = form.radius**2 * abs(form.intercept_price) / form.norm_weight + largest_p
    if form.width_sign < 0.0 and form.task == "binary":
        sum_a = abs(form.width_price)
        own = sum_a if form.intercept == "penalized" else 0.0
        width = form.radius**2 * sum_a / form.norm_weight + largest_p + own
    return 1.0625 * intercept, 1.0625 * width


def _objective(
    form: Template, factors: Vector, sums: FixedSums
) -> tuple[float, float, Callable[[int, float], float]]:
    """The dual objective at a point whose groups are multiplied by factors, and its rounding.

    With a function that bounds the loss where a group is multiplied by ``1 - share`` once more, by
    the first and second derivatives in the factors.
    """
    weights = factors[:, None] * sums.weights.value
    linear, quadratic = factors * sums.linear.value, factors * factors * sums.quadratic.value
    signed_error, weight_error, linear_error = sums.rounding.value.tolist()
    u, kappa = weights.sum(axis=0), form.norm_weight
    square = float(u @ u) / kappa
    products, squares = weights @ u / kappa, np.sum(weights * weights, axis=1) / kappa
    error = linear_error + (math.sqrt(square / kappa) + weight_error / kappa) * weight_error
    if form.intercept == "penalized":
        own = factors * sums.signed.value
        b = float(np.sum(own)) - form.intercept_price
        square += b * b
        products, squares = products + b * own, squares + own * own
        error += (abs(b) + signed_error) * signed_error
        error += 8.0 * EPS * abs(b) * float(np.sum(np.abs(own)) + abs(form.intercept_price))
    size = float(np.sum(np.abs(linear)) + np.sum(quadratic)) + square
    # of each part of w: it is a sum of two numbers that may cancel
    parts = float(np.linalg.norm(np.abs(weights).sum(axis=0))) * math.sqrt(square / kappa)
    error += (len(u) + 16) * EPS * (size + parts)
    slopes, curvatures = linear - quadratic - products, quadratic + squares
    slope_error = 2.0 * error + (len(u) + 16) * EPS * float(np.sum(squares))
    slope_error += 2.0 * weight_error * math.sqrt(float(np.max(squares)) / kappa)

    def cost_of_shrinking(side: int, share: float) -> float:
        slope = abs(float(slopes[side])) + slope_error
        return float(share * slope + 0.5 * share * share * curvatures[side])

    value = float(np.sum(linear) - 0.5 * np.sum(quadratic)) - 0.5 * square
    return value, error, cost_of_shrinking


# --- certificates -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChunkedCertificate:
    """Bounds on the optimum of a problem on samples in chunks.

    The optimum is between ``dual_objective`` and ``primal_objective``, up to ``rounding``.

    Attributes
    ----------
    primal_objective : float
        Of the machine.
    dual_objective : float
        Of a feasible dual point; minus infinity if there is none.
    rounding : float
        Bound on the rounding of both, absolute.
    floor : float
        Smallest scale of the relative gap.
    norm_weight : float
        kappa.
    """

    primal_objective: float
    dual_objective: float
    rounding: float
    floor: float
    norm_weight: float

    @classmethod
    def of(
        cls, form: Template, totals: Totals, primal: float, rounding: float, dual: DualBound
    ) -> ChunkedCertificate:
        """The certificate of two objectives with their roundings."""
        floor = _floor(form, totals)
        return cls(primal, dual.objective, rounding + dual.rounding, floor, form.norm_weight)

    @property
    def gap(self) -> float:
        """Primal objective minus dual objective."""
        return self.primal_objective - self.dual_objective

    @property
    def gap_upper(self) -> float:
        """Upper bound on the objective minus the optimum, rounding and underflow included."""
        upper = abs(self.gap) + self.rounding + UNDERFLOW
        return upper if math.isfinite(upper) else math.inf

    @property
    def scale(self) -> float:
        """Scale that gaps are relative to: the larger of objective (its magnitude) and floor."""
        return max(abs(self.primal_objective), self.floor, TINY)

    @property
    def relative_gap(self) -> float:
        """The relative duality gap, without its rounding."""
        gap = abs(self.gap) / self.scale
        return gap if math.isfinite(gap) else math.inf

    @property
    def relative_gap_upper(self) -> float:
        """Upper bound on the relative duality gap, rounding included: it decides the verdict."""
        return self.gap_upper / self.scale

    @property
    def weight_error(self) -> float:
        """Bound ``sqrt(2 gap / kappa)`` on the distance from the optimal weights."""
        return math.sqrt(2.0 * self.gap_upper / self.norm_weight)

    def passed(self, eps: float) -> bool:
        """Return whether ``relative_gap_upper`` is at most ``eps``."""
        return bool(self.relative_gap_upper <= eps)

    def __str__(self) -> str:
        return (
            f"relative gap {self.relative_gap_upper:.2e}, rounding included\n{_interval(self)}\n"
            f"  weights within {self.weight_error:.1e} of the optimal ones"
        )

    def to_dict(self) -> dict[str, object]:
        """All figures by name, for JSON; infinities stay infinities."""
        names = ("primal_objective", "dual_objective", "gap", "gap_upper", "relative_gap")
        return {
            name: getattr(self, name)
            for name in (*names, "relative_gap_upper", "rounding", "weight_error")
        }


@dataclass(frozen=True)
class ChunkedReport:
    """The verdict on a machine on samples in chunks.

    Attributes
    ----------
    eps : float
    certificate : ChunkedCertificate
    problem : str
        In one line.
    """

    eps: float
    certificate: ChunkedCertificate
    problem: str

    @property
    def passed(self) -> bool:
        """Return whether the machine is proven to be optimal to a relative gap of ``eps``."""
        return self.certificate.passed(self.eps)

    @property
    def relative_gap(self) -> float:
        """The certified relative gap."""
        return self.certificate.relative_gap

    def to_dict(self) -> dict[str, object]:
        """The report as a dictionary of plain Python types, for JSON."""
        return {
            "problem": self.problem,
            "passed": self.passed,
            "eps": self.eps,
            "certificate": self.certificate.to_dict(),
        }

    def __str__(self) -> str:
        c = self.certificate
        return (
            f"{'PASS' if self.passed else 'FAIL'} at eps={self.eps:g}: {self.problem}\n"
            f"  certified gap {c.gap_upper:.2e}, relative {c.relative_gap_upper:.2e}\n"
            f"{_interval(c)}"
        )


def _interval(c: ChunkedCertificate) -> str:
    """The interval of the optimum, as a line of a text."""
    interval = f"[{c.dual_objective:.12g}, {c.primal_objective:.12g}]"
    return f"  optimum in {interval}, up to {c.rounding:.1e} of rounding"


def primal_objective(
    form: Template, machine: Machine, results: Sequence[Any], which: int = 0
) -> tuple[float, float]:
    """The primal objective of a machine from the losses of all chunks, and its rounding.

    Results have ``losses`` at several machines, of which ``which`` is one, and ``loss_rounding``,
    a bound on the rounding of those at the first one.
    """
    total = Total((1,))
    for result in results:
        total.add_terms(result.losses[which : which + 1])
    w, b, t = machine.coef, machine.intercept, machine.width
    penalty = 0.5 * form.norm_weight * float(w @ w)
    if form.intercept == "penalized":
        penalty += 0.5 * b * b
    own = penalty + form.intercept_price * b + form.width_price * t
    objective = float(own + total.value[0])
    sizes = penalty + abs(form.intercept_price * b) + abs(form.width_price * t) + abs(objective)
    rounding = sum(result.loss_rounding for result in results)
    return objective, float(rounding + (len(w) + len(results) + 16) * EPS * sizes)


def _floor(form: Template, totals: Totals) -> float:
    """Smallest scale of a gap, above zero where w = 0 may be optimal.

    As ``PrimalDualPair.objective_floor`` in ``qpsvm.machines.primal_dual``, with the spread of the
    sample of the rows, which is that of all rows or smaller, about.
    """
    if form.relative_to_spread:
        unit = form.unit * totals.squared_spread
        return min(1.0, 0.5 * MACHINES.smallest_weights**2 * form.unit * unit)
    if form.task != "regression":
        return 0.0
    smallest, largest = totals.targets
    half = 0.5 * (largest - smallest)
    if form.intercept != "free":
        half = max(abs(largest), abs(smallest))
    if half > -float(np.max(form.offsets)):
        return 0.0
    square = max(totals.largest_square, TINY)
    return min(1.0, 0.5 * form.norm_weight * (MACHINES.least_change * form.unit) ** 2 / square)
