"""Constraints by column name or position, resolved to rows when the data are known."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.constraints.columns import _columns, _label, _positions
from qpsvm.constraints.rows import Column, Constraint, LinearConstraints, Names
from qpsvm.data.samples import as_samples
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.numerics.arguments import Targets
from qpsvm.numerics.arrays import (
    Matrix,
    Vector,
    as_dense,
    freeze,
    is_sparse,
    restore_frozen,
)
from qpsvm.numerics.single_precision import Stored


def nonnegative(*columns: Column) -> Constraint:
    """Require ``w_j >= 0`` for the named columns, or for all.

    A list of columns does as well, and then an empty one is refused.

    Examples
    --------
    >>> rows = nonnegative("age").resolve(np.eye(2), ("age", "sex"))
    >>> rows.G.toarray(), rows.h
    (array([[-1.,  0.]]), array([0.]))
    """
    return WeightConstraint("nonnegative", columns or None, lower=0.0)


def nonpositive(*columns: Column) -> Constraint:
    """Require ``w_j <= 0`` for the named columns, or for all."""
    return WeightConstraint("nonpositive", columns or None, upper=0.0)


def increasing(*columns: Column) -> Constraint:
    """Require f to be nondecreasing in feature j, that is ``w_j >= 0``.

    All columns if none is named. For the indicator columns of one feature see ``ordered``.
    """
    return WeightConstraint("increasing", columns or None, lower=0.0)


def decreasing(*columns: Column) -> Constraint:
    """Require f to be nonincreasing in feature j, that is ``w_j <= 0``.

    All columns if none is named.
    """
    return WeightConstraint("decreasing", columns or None, upper=0.0)


def bounded(
    columns: Column | Sequence[Column] | None = None,
    lower: float = -math.inf,
    upper: float = math.inf,
) -> Constraint:
    """Require ``lower <= w_j <= upper`` for a column, a list of columns, or all (None).

    Examples
    --------
    >>> bounded(["age", "income"], lower=-1.0, upper=2.0).resolve(np.eye(2), ("age", "income")).h
    array([1., 1., 2., 2.])
    """
    return WeightConstraint("bounded", None if columns is None else (columns,), lower, upper)


def fixed(column: Column, value: float) -> Constraint:
    """Require ``w_j = value``."""
    return WeightConstraint("fixed", (column,), value, value)


def ordered(*columns: Column) -> Constraint:
    """Require ``w_1 <= w_2 <= ... <= w_k`` for two or more columns in the given order.

    For the indicator columns of an ordinal feature: f never falls from one level to the next.
    Name them from high to low for the opposite.

    Examples
    --------
    >>> ordered("low", "mid", "high").resolve(np.eye(3), ("high", "low", "mid")).names
    ('ordered: low <= mid', 'ordered: mid <= high')
    """
    return WeightConstraint("ordered", columns, lower=0.0, form="steps")


def sum_of(
    *columns: Column,
    equals: float | None = None,
    at_most: float = math.inf,
    at_least: float = -math.inf,
) -> Constraint:
    """Require ``sum_j w_j = equals``, or ``at_least <= sum_j w_j <= at_most``, over named columns.

    Over all columns if none is named.

    Examples
    --------
    >>> rows = sum_of("tv", "radio", at_most=1.0).resolve(np.eye(3), ("tv", "radio", "web"))
    >>> rows.G.toarray(), rows.h, rows.names
    (array([[1., 1., 0.]]), array([1.]), ('sum of: tv + radio',))
    """
    if equals is not None:
        if (at_least, at_most) != (-math.inf, math.inf):
            raise InvalidParameterError(
                f"sum of: equals is {equals!r} beside at_least={at_least!r}, at_most={at_most!r}; "
                "pass equals alone, or the other two."
            )
        at_least = at_most = equals
    return WeightConstraint("sum of", columns or None, at_least, at_most, "sum")


def fairness_band(sensitive: Column | Targets, bound: float) -> Constraint:
    """Bound the covariance of f and z: ``| 1/n sum_i (z_i - mean z) f(x_i) | <= bound``.

    Parameters
    ----------
    sensitive : str, int or array of shape (n,)
        z: a column of X by name or position; or one value per row given, which need not be in X:
        numbers, booleans, or two kinds of strings (0 for the first in sorted order, 1 for the
        second).
    bound : float
        In units of z times f, 0 (then it is an equality) or more.

    Raises
    ------
    InvalidParameterError
        Another bound.
    InvalidDataError
        Values that are none of these; when resolved: not one per row, or all the same.

    Notes
    -----
    Because ``sum_i (z_i - mean z) = 0`` the row is ``1/n (z - mean z)'X`` for w and exactly zero
    for the intercept. Sample weights enter mean and covariance, so that a weight of 2 is a repeated
    row here as well. For z in {0, 1}, with a share p of ones, the covariance is ``p (1 - p)`` times
    the difference of the two groups' mean decision values.

    Source: Zafar, Valera, Gomez Rodriguez and Gummadi, "Fairness constraints: mechanisms for fair
    classification", AISTATS 2017, section 3.

    Examples
    --------
    >>> fairness_band(["f", "m"], 0.1).resolve(np.array([[1.0, 5.0], [3.0, 4.0]])).G
    array([[-0.5 ,  0.25],
           [ 0.5 , -0.25]])
    """
    if not _is_number(bound) or not 0 <= bound < math.inf:
        raise InvalidParameterError(f"bound is {bound!r}; it must be a finite number, 0 or more.")
    if isinstance(sensitive, str | int | np.integer):
        return FairnessBand(_columns("fairness band", (sensitive,))[0], float(bound))
    label = getattr(sensitive, "name", None)  # a Series has one
    label = label if isinstance(label, str) else "given values"
    return FairnessBand(_sensitive_values(sensitive), float(bound), label)


# --- what they build -----------------------------------------------------------------------------


@short_repr
@dataclass(frozen=True)
class WeightConstraint:
    """The constraint ``lower <= T w_J <= upper`` on the weights of columns J (None for all).

    The form is T: ``"each"`` the identity, ``"steps"`` the differences of neighbours, ``"sum"``
    one row of ones. An infinite bound is none.

    Raises
    ------
    InvalidParameterError
        Too few columns, or neither names nor positions; bounds that are not numbers, exclude each
        other, or are both infinite.
    """

    word: str
    columns: tuple[Any, ...] | None
    lower: float = -math.inf
    upper: float = math.inf
    form: Literal["each", "steps", "sum"] = "each"

    def __post_init__(self) -> None:
        lower, upper = self.lower, self.upper
        if not (_is_number(lower) and _is_number(upper) and lower <= upper) or (
            math.isinf(lower) and math.isinf(upper)
        ):
            raise InvalidParameterError(
                f"{self.word}: the bounds are {lower!r} and {upper!r}; pass numbers, the smaller "
                "one below, at least one of them finite."
            )
        if self.columns is not None:
            object.__setattr__(self, "columns", _columns(self.word, self.columns))

    def resolve(
        self, X: Stored, feature_names: Names = None, sample_weight: Vector | None = None
    ) -> LinearConstraints:
        """One row for every row of T and finite bound; an equality where both bounds agree."""
        del sample_weight
        d = X.shape[1]
        J = list(range(d)) if self.columns is None else _positions(self.columns, d, feature_names)
        labels = [_label(j, feature_names) for j in J]
        rows = sp.csr_array((np.ones(len(J)), (np.arange(len(J)), J)), shape=(len(J), d))
        if self.form == "steps":
            rows = rows[1:] - rows[:-1]
            labels = [f"{a} <= {b}" for a, b in pairwise(labels)]
        elif self.form == "sum":
            rows = sp.csr_array(np.ones((1, len(J)))) @ rows
            short = [*labels[:3], "...", labels[-1]] if len(J) > 5 else labels
            labels = [" + ".join(short)]
        return _between(self.lower, rows, self.upper, [f"{self.word}: {label}" for label in labels])


@short_repr
@dataclass(frozen=True, eq=False)
class FairnessBand:
    """The constraint ``-bound <= 1/n (z - mean z)'X w <= bound`` for a column or vector z."""

    sensitive: Column | Vector
    bound: float
    label: str = ""

    def __setstate__(self, state: dict[str, object]) -> None:
        restore_frozen(self, state)

    def resolve(
        self, X: Stored, feature_names: Names = None, sample_weight: Vector | None = None
    ) -> LinearConstraints:
        """Two rows, or one equality if the bound is zero; dense if X is dense."""
        weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        kept = weights > 0.0
        if isinstance(self.sensitive, str | int):
            (j,) = _positions((self.sensitive,), X.shape[1], feature_names)
            label, z = _label(j, feature_names), X[:, [j]]
            z = as_dense(z).ravel()
        elif len(self.sensitive) == len(weights):
            label, z = self.label, self.sensitive[kept]
        else:
            raise InvalidDataError(
                f"sensitive has {len(self.sensitive)} values for {len(weights)} rows of X; pass "
                "one value per row, and drop the same rows from both."
            )
        if np.min(z) == np.max(z):
            raise InvalidDataError(
                f"The sensitive values ({label}) are all {z[0]:g}, which no f depends on; pass "
                "samples of both groups, or leave the fairness band out."
            )
        shares = weights[kept] / np.sum(weights)
        centred = shares * (z - shares @ z)
        if sp.issparse(X):
            rows = sp.csr_array((X.T @ centred)[None])
        else:  # a common offset of the samples cancels; taking it out keeps its rounding out
            rows = (centred @ (X - shares @ X))[None]
        return _between(-self.bound, rows, self.bound, [f"fairness band: {label}"])


# --- small pieces ----------------------------------------------------------------------------


def _between(lower: float, rows: Matrix, upper: float, names: list[str]) -> LinearConstraints:
    """Rows of ``lower <= rows w <= upper``: an equality, or one inequality per finite side."""
    m = len(names)
    if lower == upper:
        return LinearConstraints(A=rows, b=np.full(m, lower), names=names)
    sides = [(-rows, 0.0 - lower, "lower"), (rows, upper, "upper")]
    sides = [side for side in sides if math.isfinite(side[1])]
    stack = sp.vstack if sp.issparse(rows) else np.vstack
    return LinearConstraints(
        G=stack([matrix for matrix, _, _ in sides]),
        h=np.repeat([bound for _, bound, _ in sides], m),
        names=[f"{n}, {side}" if len(sides) == 2 else n for _, _, side in sides for n in names],
    )


def _is_number(value: object) -> bool:
    """Return whether a value is a real number that is a float, infinity included."""
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool) and abs(int(value)) <= sys.float_info.max
    return isinstance(value, float | np.floating)


def _sensitive_values(values: Targets) -> Vector:
    """Convert z to one number per sample; two distinct strings become 0 and 1."""
    column = values.toarray() if is_sparse(values) else np.asanyarray(values)
    if column.dtype.kind == "U":  # NumPy has turned ["f", nan] into text
        column = np.asanyarray(values, dtype=object)
    if column.ndim != 1 and column.shape[1:] != (1,):
        raise InvalidDataError(
            f"sensitive has shape {column.shape}; pass a column of X, or one value per row."
        )
    if column.dtype.kind != "O" or not any(isinstance(label, str) for label in column.flat):
        return np.asarray(as_samples(column.reshape(-1, 1), "sensitive")[:, 0])
    groups = sorted(set(column.ravel().tolist()), key=str)
    if len(groups) != 2 or not all(isinstance(label, str) for label in groups):
        shown = ", ".join(map(repr, groups[:6])) + ", ..." * (len(groups) > 6)
        raise InvalidDataError(
            f"sensitive holds {shown}; pass numbers, or two kinds of strings with none missing "
            "(with more groups one band for each: sensitive == group)."
        )
    return np.asarray(freeze((column.ravel() == groups[1]).astype(np.float64)))
