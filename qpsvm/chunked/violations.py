"""Violations of the conditions on the rows of a chunk by a machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from qpsvm.chunked.contents import Contents
from qpsvm.chunked.leverage import Leverage
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.template import Template, Terms
from qpsvm.chunked.totals import checksum
from qpsvm.data.targets import same_labels
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Index, Matrix, Vector
from qpsvm.numerics.rows import row_squares


@dataclass(frozen=True, eq=False)
class Request:
    """Request of a pass: the machines to measure, and the sums that are wanted.

    Attributes
    ----------
    template : Template
    classes : array of shape (2,) or None
        The labels, (negative, positive).
    machines : tuple of Machine
        Where the losses are wanted; the first one is the centre.
    band : float or None
        h; None if no sums are wanted.
    most_open : tuple of int
        Open conditions that each chunk may return; the band is narrowed where there are more. Empty
        if no sums are wanted.
    leverage : Leverage
        Violations are compared with the square root of each sample's.
    smoothing : float or None
        Where a kink is rounded off, in the units of the band; None if no derivatives are wanted.
    majorised : bool
        The Hessian of quadratics above the losses is wanted as well.
    one_sided : bool
        Conditions with ``v`` above the band are open as well.
    checksums : tuple of int
        Of every chunk, as the first pass found them.
    """

    template: Template
    classes: Labels | None
    machines: tuple[Machine, ...]
    band: float | None = None
    most_open: tuple[int, ...] = ()
    leverage: Leverage = field(default_factory=Leverage.equal)
    smoothing: float | None = None
    majorised: bool = False
    one_sided: bool = False
    checksums: tuple[int, ...] = ()


def require_unchanged(contents: Contents, request: Request, name: str, number: int) -> None:
    """Refuse a chunk that is not, bit for bit, the one of the first pass.

    What the first pass found (prices, numbers of rows, scales of a gap) holds for its samples only.

    Parameters
    ----------
    contents : Contents
    request : Request
    name : str
        Of the chunk.
    number : int
        Of the chunk.

    Raises
    ------
    InvalidDataError
        Other samples, labels, targets or weights.
    """
    if checksum(contents) != request.checksums[number]:
        raise InvalidDataError(
            f"Chunk {name}: its samples, labels or weights have changed since the problem was "
            "built; build it again. A Dask collection that is computed anew in every pass, to "
            "other last digits, has to be stored first (persist)."
        )


def coded(contents: Contents, request: Request, name: str) -> tuple[Index, Vector | None]:
    """The class of every row of a chunk, and the targets of a regression."""
    form = request.template
    for machine in request.machines[:1]:
        if len(machine.coef) != contents.n_features:
            raise InvalidDataError(
                f"Chunk {name} has {contents.n_features} features and the machine "
                f"{len(machine.coef)}; the samples have changed."
            )
    if form.task == "regression":
        assert contents.y is not None
        return np.zeros(contents.n_rows, dtype=np.intp), np.asarray(contents.y)
    if form.task == "unlabelled":
        return np.zeros(contents.n_rows, dtype=np.intp), None
    assert contents.y is not None
    assert request.classes is not None
    codes = np.searchsorted(request.classes, contents.y).clip(0, 1)
    unknown = np.flatnonzero(~same_labels(request.classes[codes], contents.y))
    if unknown.size:
        raise InvalidDataError(
            f"Chunk {name}: row {unknown[0]} has the label {contents.y[unknown[0]]!r}, which was "
            "not there when the problem was built; build it again."
        )
    return np.asarray(codes, dtype=np.intp), None


def terms_of(
    contents: Contents,
    form: Template,
    codes: Index,
    targets: Vector | None,
    rows: slice,
    squares: Vector,
) -> Terms:
    """Conditions on a block of rows."""
    own = None if targets is None else targets[rows]
    return form.terms(codes[rows], own, contents.weights[rows], squares)


def violations(
    contents: Contents,
    form: Template,
    codes: Index,
    targets: Vector | None,
    rows: slice,
    X: Matrix,
    point: Vector,
) -> Vector:
    """Violations of the conditions on a block of rows by the machine (w, b, t)."""
    squares = row_squares(X) if form.ball else np.zeros(X.shape[0])
    terms = terms_of(contents, form, codes, targets, rows, squares)
    return violations_of(X, terms, form, point)


def violations_of(X: Matrix, terms: Terms, form: Template, point: Vector) -> Vector:
    """``v = p - r (X w + b) - e t`` of the conditions on the rows of X, side after side."""
    f = np.tile(np.asarray(X @ point[:-2]) + point[-2], len(form.signs))
    return np.asarray(terms.required - terms.signs * f - form.width_sign * point[-1])


def allowed(machine: Machine, form: Template) -> Machine:
    """Replace an intercept or a width that the family does not have by NaN."""
    has_intercept, has_width = form.intercept != "none", form.width_sign != 0.0
    return Machine(
        machine.coef,
        machine.intercept if has_intercept or machine.intercept == 0.0 else math.nan,
        machine.width if has_width or machine.width == 0.0 else math.nan,
    )
