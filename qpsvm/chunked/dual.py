"""Dual points of samples in chunks, and the lower bound on the optimum that they give.

A dual point is a rule and some numbers: the dual variable of a decided condition follows from its
violation at a machine, those of open conditions are listed (``qpsvm.chunked.evaluation``). The
lower bound is::

    sum (p a - d/2 a^2) - 1/(2 kappa) |X'R'a|^2  [- 1/2 (1'R'a - price_b)^2]

for every a within its bounds with ``1'R'a = price_b`` (free intercept) and ``e 1'a <= price_t``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.chunked.contents import Contents
from qpsvm.chunked.evaluation import (
    Decided,
    Machine,
    Nearest,
    Request,
    coded,
    stored_machine,
    taken,
    violations_of,
)
from qpsvm.chunked.template import Template
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.machines.losses import slopes
from qpsvm.machines.prediction import as_float64
from qpsvm.numerics.arrays import IN_CACHE, Vector
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A dual variable for every condition on every sample.

    Attributes
    ----------
    centre : Machine
        Its violations decide.
    bands : tuple of float
        Of every chunk: conditions with ``|v|`` up to this are open. Empty if none is anywhere.
    open : tuple of arrays
        The dual variables of the open conditions of every chunk, in the order of its blocks.
    """

    centre: Machine
    bands: tuple[float, ...] = ()
    open: tuple[Vector, ...] = ()

    @property
    def n_open(self) -> int:
        """Number of open conditions."""
        return sum(len(own) for own in self.open)


def stored_point(point: object) -> DualPoint:
    """The numbers of a dual point as float64.

    Raises
    ------
    InvalidParameterError
        Not a dual point, or one that lists bands and open conditions of other chunks.
    """
    if type(point) is not DualPoint or len(point.bands) != len(point.open):
        raise InvalidParameterError("The solution has no complete dual point.")
    listed = (as_float64(part, "open") for part in point.open)
    return DualPoint(
        stored_machine(point.centre),
        tuple(float(band) for band in point.bands),
        tuple(np.zeros(0) if part is None else part for part in listed),
    )


@dataclass(frozen=True)
class DualBound:
    """A lower bound on the optimum.

    Attributes
    ----------
    objective : float
        The dual objective of a feasible point; minus infinity if there is none.
    rounding : float
        Bound on its rounding, absolute.
    """

    objective: float
    rounding: float


def dual_of_chunk(
    contents: Contents, request: Request, point: DualPoint, name: str, number: int
) -> Decided:
    """Sum up the dual variables of one chunk, all within their bounds.

    Raises
    ------
    InvalidDataError
        The dual point is of other samples.
    """
    form = request.template
    codes, targets = coded(contents, request, name)
    sums, at, given = Decided.empty(contents.n_features), 0, np.zeros(0)
    band = -1.0
    if point.bands:
        band, given = point.bands[number], point.open[number]
    for rows, X in contents.blocks():
        squares = row_squares(X)
        own = None if targets is None else targets[rows]
        terms = form.terms(codes[rows], own, contents.weights[rows], squares)
        v = violations_of(X, terms, form, point.centre.vector)
        a = slopes(v, terms.lower, terms.upper, terms.curvature)
        near = Nearest(len(v))
        near.add(v, rows, band)
        ((_, which),) = near.rows(band)
        listed = given[at : at + len(which)]
        if len(listed) < len(which):
            break
        at += len(which)
        box = taken(terms, which)
        a[which] = np.clip(np.where(np.isnan(listed), 0.0, listed), box.lower, box.upper)
        sums.add(X, terms, a, squares)
    else:
        if at == len(given):
            return sums
    raise InvalidDataError(
        f"Chunk {name}: the solution lists {len(given)} open dual variables and the chunk has "
        "another number of them; the samples have changed, or the solution is of another problem."
    )


def dual_sums(parts: Sequence[Decided], n_features: int) -> Decided:
    """Add up the sums of all chunks, in their order."""
    total = Decided.empty(n_features)
    for part in parts:
        total.add_sums(part)
    return total


def dual_bound(form: Template, sums: Decided, machine: Machine) -> DualBound:
    """The dual objective of a point that is exactly feasible, close to the one summed up.

    Where ``1'R'a`` misses its value, the dual variables on one side are multiplied by a number
    below 1; where only rounding is missing, it is charged at the price of the machine's intercept.

    Parameters
    ----------
    form : Template
    sums : Decided
        Over all conditions.
    machine : Machine
        For the price of what rounding leaves of feasibility.
    """
    weights, signed = sums.weights.value, sums.signed.value
    linear, quadratic = sums.linear.value, sums.quadratic.value
    size = float(sums.size.value[0])
    block = max(1, IN_CACHE // (8 * max(1, weights.shape[1])))
    unit = (block + 16) * EPS  # of the product of a block; sums of blocks are compensated
    factors, missed = np.ones(2), 0.0
    excess = float(np.sum(signed)) - form.intercept_price
    if form.intercept == "free":
        if abs(excess) > unit * size:
            side = int(excess > 0.0)
            share = excess / signed[side] if signed[side] else math.inf
            if not 0.0 <= share <= 1.0:
                return DualBound(-math.inf, math.inf)
            factors[side] = 1.0 - share
            excess = unit * size
        missed = abs(excess) * (2.0 * abs(machine.intercept) + 1.0)
    if form.width_sign:
        over = form.width_sign * float(np.sum(factors * sums.total.value)) - form.width_price
        if over > unit * size:
            return DualBound(-math.inf, math.inf)
        missed += max(0.0, over) * (2.0 * abs(machine.width) + 1.0)
    u = factors @ weights
    square = float(u @ u) / form.norm_weight
    if form.intercept == "penalized":
        square += excess * excess
    objective = float(factors @ linear - 0.5 * (factors * factors) @ quadratic) - 0.5 * square
    lengths = math.sqrt(square) / math.sqrt(form.norm_weight) + abs(excess) + 1.0
    rounding = unit * size * lengths + unit * float(np.sum(np.abs(quadratic))) + missed
    return DualBound(objective, rounding + 16.0 * EPS * (abs(objective) + square))
