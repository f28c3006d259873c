"""Dual variables of all samples in chunks, stored as a rule and a list of exceptions.

The dual variable of a decided condition follows from its violation at a machine, those of open
conditions are listed (``qpsvm.chunked.evaluation``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from qpsvm.chunked.contents import Contents
from qpsvm.chunked.leverage import Leverage
from qpsvm.chunked.machine import Machine, stored_machine
from qpsvm.chunked.open_conditions import Nearest, distances, taken
from qpsvm.chunked.sums import Decided
from qpsvm.chunked.violations import Request, coded, violations_of
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.machines.losses import slopes
from qpsvm.machines.prediction import as_float64
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.rows import row_squares


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A dual variable for every condition on every sample.

    Attributes
    ----------
    centre : Machine
        Its violations decide.
    bands : tuple of float
        Of every chunk: conditions with ``|v| / s`` up to this are open. Empty if none is anywhere.
    open : tuple of arrays
        The dual variables of the open conditions of every chunk, in the order of its blocks.
    one_sided : bool
        Conditions with ``v`` above the band are open as well.
    leverage : Leverage
        The band is in units of the square root of each sample's.
    """

    centre: Machine
    bands: tuple[float, ...] = ()
    open: tuple[Vector, ...] = ()
    one_sided: bool = False
    leverage: Leverage = field(default_factory=Leverage.equal)

    @property
    def n_open(self) -> int:
        """Number of open conditions."""
        return sum(len(own) for own in self.open)


def stored_point(point: object) -> DualPoint:
    """Copy of the numbers of a dual point as float64.

    Raises
    ------
    InvalidParameterError
        Not a dual point, or one that lists bands and open conditions of other chunks.
    """
    if type(point) is not DualPoint:
        raise InvalidParameterError(f"A DualPoint is expected, got {type(point).__name__}.")
    if not isinstance(point.open, tuple | list):
        raise InvalidParameterError("The dual point has no list of open dual variables.")
    bands = as_float64(point.bands, "bands")
    listed = [as_float64(part, "open") for part in point.open]
    listed = [np.zeros(0) if part is None else part for part in listed]
    if bands is None or bands.shape != (len(listed),) or any(part.ndim != 1 for part in listed):
        raise InvalidParameterError(
            "The dual point is not complete: it must list a band and a vector of open dual "
            "variables for every chunk."
        )
    if type(point.leverage) is not Leverage:
        raise InvalidParameterError("The dual point has no leverage of samples.")
    factor = as_float64(point.leverage.factor, "factor")
    if factor is None or factor.ndim != 2:
        raise InvalidParameterError("The leverage of a dual point has no factor, a square matrix.")
    if not isinstance(point.one_sided, bool | np.bool_):
        raise InvalidParameterError(
            f"one_sided of the dual point is {point.one_sided!r}; it must be True or False."
        )
    centre = stored_machine(point.centre)
    bands_of = tuple(bands.tolist())
    return DualPoint(centre, bands_of, tuple(listed), bool(point.one_sided), Leverage(factor))


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
        roots = point.leverage.roots(X) if band >= 0.0 else np.ones(X.shape[0])
        near.add(distances(v, roots, one_sided=point.one_sided), rows, band)
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
