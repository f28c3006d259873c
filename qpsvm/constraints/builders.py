"""Constraints on weights by column name or position, resolved to rows when the data are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.constraints.columns import label_of, positions_of, require_columns
from qpsvm.constraints.rows import Column, Constraint, LinearConstraints, Names, rows_between
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import explains_calls, is_real_number
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import Stored


@explains_calls
def nonnegative(*columns: Column) -> Constraint:
    """Require ``w_j >= 0`` for the named columns, or for all.

    A list of columns does as well, and then an empty one is refused.

    Parameters
    ----------
    *columns : str or int
        Columns by name or position; all columns if there is none.

    Returns
    -------
    Constraint
        A rule that becomes rows when the columns of the data are known.

    Examples
    --------
    >>> rows = nonnegative("age").resolve(np.eye(2), ("age", "sex"))
    >>> rows.G.toarray(), rows.h
    (array([[-1.,  0.]]), array([0.]))
    """
    return WeightConstraint("nonnegative", columns or None, lower=0.0)


@explains_calls
def nonpositive(*columns: Column) -> Constraint:
    """Require ``w_j <= 0`` for the named columns, or for all.

    Parameters
    ----------
    *columns : str or int
        Columns by name or position; all columns if there is none.

    Returns
    -------
    Constraint
        A rule that becomes rows when the columns of the data are known.

    Examples
    --------
    >>> rows = nonpositive("age").resolve(np.eye(2), ("age", "sex"))
    >>> rows.G.toarray(), rows.h
    (array([[1., 0.]]), array([0.]))
    """
    return WeightConstraint("nonpositive", columns or None, upper=0.0)


@explains_calls
def increasing(*columns: Column) -> Constraint:
    """Require f to be nondecreasing in feature j, that is ``w_j >= 0``.

    For the indicator columns of one feature see ``ordered``.

    Parameters
    ----------
    *columns : str or int
        Columns by name or position; all columns if there is none.

    Returns
    -------
    Constraint
        A rule that becomes rows when the columns of the data are known.

    Examples
    --------
    >>> increasing("age").resolve(np.eye(2), ("age", "sex")).names
    ('increasing: age',)
    """
    return WeightConstraint("increasing", columns or None, lower=0.0)


@explains_calls
def decreasing(*columns: Column) -> Constraint:
    """Require f to be nonincreasing in feature j, that is ``w_j <= 0``.

    Parameters
    ----------
    *columns : str or int
        Columns by name or position; all columns if there is none.

    Returns
    -------
    Constraint
        A rule that becomes rows when the columns of the data are known.

    Examples
    --------
    >>> decreasing("age").resolve(np.eye(2), ("age", "sex")).names
    ('decreasing: age',)
    """
    return WeightConstraint("decreasing", columns or None, upper=0.0)


@explains_calls
def bounded(
    columns: Column | Sequence[Column] | None = None,
    lower: float = -math.inf,
    upper: float = math.inf,
) -> Constraint:
    """Require ``lower <= w_j <= upper`` for a column, a list of columns, or all (None).

    Parameters
    ----------
    columns : str, int, sequence of these or None
        Columns by name or position; None for all.
    lower, upper : float
        Bounds of each weight; infinite for none.

    Returns
    -------
    Constraint
        A rule that becomes rows when the columns of the data are known.

    Examples
    --------
    >>> bounded(["age", "income"], lower=-1.0, upper=2.0).resolve(np.eye(2), ("age", "income")).h
    array([1., 1., 2., 2.])
    """
    return WeightConstraint("bounded", None if columns is None else (columns,), lower, upper)


@explains_calls
def fixed(column: Column, value: float) -> Constraint:
    """Require ``w_j = value``.

    Parameters
    ----------
    column : str or int
        A column by name or position.
    value : float
        The weight it must have.

    Returns
    -------
    Constraint
        A rule that becomes rows when the columns of the data are known.

    Examples
    --------
    >>> rows = fixed("age", 0.5).resolve(np.eye(2), ("age", "sex"))
    >>> rows.A.toarray(), rows.b
    (array([[1., 0.]]), array([0.5]))
    """
    return WeightConstraint("fixed", (column,), value, value)


@explains_calls
def ordered(*columns: Column) -> Constraint:
    """Require ``w_1 <= w_2 <= w_3`` and so on, for two or more columns in the given order.

    For the indicator columns of an ordinal feature: f never falls from one level to the next.
    Name them from high to low for the opposite.

    Parameters
    ----------
    *columns : str or int
        Two or more columns by name or position.

    Returns
    -------
    Constraint
        A rule that becomes rows when the columns of the data are known.

    Examples
    --------
    >>> ordered("low", "mid", "high").resolve(np.eye(3), ("high", "low", "mid")).names
    ('ordered: low <= mid', 'ordered: mid <= high')
    """
    return WeightConstraint("ordered", columns, lower=0.0, form="steps")


@explains_calls
def sum_of(
    *columns: Column,
    equals: float | None = None,
    at_most: float = math.inf,
    at_least: float = -math.inf,
) -> Constraint:
    """Require ``sum_j w_j = equals``, or ``at_least <= sum_j w_j <= at_most``, over named columns.

    Parameters
    ----------
    *columns : str or int
        Columns by name or position; all columns if there is none.
    equals : float, optional
        What the weights must add up to; not beside the other two.
    at_most, at_least : float
        Bounds of their sum; infinite for none.

    Returns
    -------
    Constraint
        A rule that becomes rows when the columns of the data are known.

    Raises
    ------
    InvalidParameterError
        ``equals`` beside one of the others.

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
        if not (is_real_number(lower) and is_real_number(upper) and lower <= upper) or (
            math.isinf(lower) and math.isinf(upper)
        ):
            raise InvalidParameterError(
                f"{self.word}: the bounds are {lower!r} and {upper!r}; pass numbers, the smaller "
                "one below, at least one of them finite."
            )
        if self.columns is not None:
            object.__setattr__(self, "columns", require_columns(self.word, self.columns))

    def resolve(
        self, X: Stored, feature_names: Names = None, sample_weight: Vector | None = None
    ) -> LinearConstraints:
        """One row for every row of T and finite bound; an equality where both bounds agree."""
        del sample_weight
        d = X.shape[1]
        J = list(range(d)) if self.columns is None else positions_of(self.columns, d, feature_names)
        labels = [label_of(j, feature_names) for j in J]
        rows = sp.csr_array((np.ones(len(J)), (np.arange(len(J)), J)), shape=(len(J), d))
        if self.form == "steps":
            rows = rows[1:] - rows[:-1]
            labels = [f"{a} <= {b}" for a, b in pairwise(labels)]
        elif self.form == "sum":
            rows = sp.csr_array(np.ones((1, len(J)))) @ rows
            short = [*labels[:3], "...", labels[-1]] if len(J) > 5 else labels
            labels = [" + ".join(short)]
        return rows_between(
            self.lower, rows, self.upper, [f"{self.word}: {label}" for label in labels]
        )
