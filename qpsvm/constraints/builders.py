"""Constraints by column name or position, resolved to rows when the data are known."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.constraints.rows import (
    Column,
    Constraint,
    Constraints,
    LinearConstraints,
    Names,
    rows_between,
)
from qpsvm.data.samples import as_samples
from qpsvm.data.targets import require_exact_vector
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.numerics.arguments import Targets, explains_calls, is_real_number, scalar
from qpsvm.numerics.arrays import Vector, as_dense, freeze, is_sparse, restore_frozen
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


# --- fairness ------------------------------------------------------------------------------------

GIVEN = "given values"
"""Label of sensitive values without a name."""


@explains_calls
def fairness_band(sensitive: Column | Targets | None, bound: float) -> Constraint:
    r"""Require ``| 1/n sum_i (z_i - mean z) f(x_i) | <= bound`` for a sensitive variable z.

    Parameters
    ----------
    sensitive : str, int, array of shape (n,) or None
        z: a column of X by name or position; or one value per row given, which need not be in X:
        numbers, booleans, or two kinds of strings (0 for the first in sorted order, 1 for the
        second). None: the values are passed to the ``fit`` of an estimator.
    bound : float
        In units of z times f, 0 (then it is an equality) or more.

    Returns
    -------
    Constraint
        A rule that becomes rows when the columns of the data are known.

    Raises
    ------
    InvalidParameterError
        Another bound.
    InvalidDataError
        Values that are none of these; when resolved: not one per row, or all the same.

    Notes
    -----
    Because :math:`\sum_i (z_i - \bar z) = 0` the row is :math:`\tfrac{1}{n} (z - \bar z)^\top X`
    for w and exactly zero for the intercept. Sample weights enter mean and covariance, so that a
    weight of 2 is a repeated row here as well. For z in {0, 1}, with a share p of ones, the
    covariance is ``p (1 - p)`` times the difference of the two groups' mean decision values.

    In cross-validation every fold has other rows. Pass the values beside y, and they are split as y
    is: ``cross_val_score(SVC(kernel="linear", constraints=fairness_band(None, 0.1)), X, y,
    params={"sensitive": z})``. Values that ``fit`` is given take the place of those of the band.

    Source: Zafar, Valera, Gomez Rodriguez and Gummadi, "Fairness constraints: mechanisms for fair
    classification", AISTATS 2017, section 3.

    Examples
    --------
    >>> fairness_band(["f", "m"], 0.1).resolve(np.array([[1.0, 5.0], [3.0, 4.0]])).G
    array([[-0.5 ,  0.25],
           [ 0.5 , -0.25]])
    """
    if not is_real_number(bound) or not 0 <= bound < math.inf:
        raise InvalidParameterError(f"bound is {bound!r}; it must be a finite number, 0 or more.")
    if isinstance(sensitive, str | int | np.integer):
        return FairnessBand(require_columns("fairness band", (sensitive,))[0], float(bound))
    if sensitive is None:
        return FairnessBand(None, float(bound), GIVEN)
    return FairnessBand(_sensitive_values(sensitive), float(bound), _label(sensitive))


def with_sensitive(constraints: Constraints | None, values: Targets) -> Constraints:
    """Replace the values of fairness bands that are not about a column of X.

    Parameters
    ----------
    constraints : constraint, list of constraints, or None
    values : array of shape (n,)
        As for ``fairness_band``.

    Returns
    -------
    list of Constraint

    Raises
    ------
    InvalidParameterError
        There is no such fairness band.
    InvalidDataError
        Values that ``fairness_band`` does not take.

    Examples
    --------
    >>> (band,) = with_sensitive(fairness_band(None, 0.1), ["f", "m", "f"])
    >>> band.sensitive
    array([0., 1., 0.])
    """
    given = constraints if isinstance(constraints, list | tuple) else [constraints]
    z, label, replaced = _sensitive_values(values), _label(values), list[Any]()
    for item in given:
        if isinstance(item, FairnessBand) and not isinstance(item.sensitive, str | int):
            replaced.append(FairnessBand(z, item.bound, label))
        else:
            replaced.append(item)
    if all(new is old for new, old in zip(replaced, given, strict=True)):
        raise InvalidParameterError(
            f"sensitive was passed, and the constraints are {constraints!r}: no fairness band "
            "takes the values. Pass constraints=fairness_band(None, bound) to the estimator."
        )
    return replaced


@short_repr
@dataclass(frozen=True, eq=False)
class FairnessBand:
    """The constraint ``-bound <= 1/n (z - mean z)'X w <= bound`` for a column or vector z."""

    sensitive: Column | Vector | None
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
            (j,) = positions_of((self.sensitive,), X.shape[1], feature_names)
            label, z = label_of(j, feature_names), X[:, [j]]
            z = as_dense(z).ravel()
        elif self.sensitive is None:
            raise InvalidDataError(
                "The fairness band has no sensitive values; pass them beside y, "
                "estimator.fit(X, y, sensitive=values), or to fairness_band(values, bound)."
            )
        elif len(self.sensitive) == len(weights):
            label, z = self.label, self.sensitive[kept]
        else:
            raise InvalidDataError(
                f"sensitive has {len(self.sensitive)} values for {len(weights)} rows of X; pass "
                "one value per row, and drop the same rows from both. In cross-validation pass the "
                "values beside y, which splits them: params={'sensitive': values}."
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
        return rows_between(-self.bound, rows, self.bound, [f"fairness band: {label}"])


def _label(values: Targets) -> str:
    """Name of the values, where they have one, as a Series does."""
    name = getattr(values, "name", None)
    return name if isinstance(name, str) else GIVEN


def _sensitive_values(values: Targets) -> Vector:
    """Convert a sensitive variable to one number per sample; two strings become 0 and 1."""
    column = values.toarray() if is_sparse(values) else np.asanyarray(values)
    if column.dtype.kind == "U":  # NumPy has turned ["f", nan] into text
        column = np.asanyarray(values, dtype=object)
    if column.ndim != 1 and column.shape[1:] != (1,):
        raise InvalidDataError(
            f"sensitive has shape {column.shape}; pass a column of X, or one value per row."
        )
    if column.dtype.kind != "O" or not any(isinstance(label, str) for label in column.flat):
        numbers = np.asarray(as_samples(column.reshape(-1, 1), "sensitive")[:, 0])
        require_exact_vector(numbers, values, "sensitive")
        return numbers
    groups = sorted(set(column.ravel().tolist()), key=str)
    if len(groups) != 2 or not all(isinstance(label, str) for label in groups):
        shown = ", ".join(map(repr, groups[:6])) + ", ..." * (len(groups) > 6)
        raise InvalidDataError(
            f"sensitive holds {shown}; pass numbers, or two kinds of strings with none missing "
            "(with more groups one band for each: sensitive == group)."
        )
    return np.asarray(freeze((column.ravel() == groups[1]).astype(np.float64)))


# --- columns -------------------------------------------------------------------------------------


def require_columns(word: str, columns: tuple[Any, ...]) -> tuple[Column, ...]:
    """Normalise columns given one by one or as one list; require at least one (two if ordered)."""
    columns = tuple(map(scalar, columns))
    if len(columns) == 1 and isinstance(columns[0], list | tuple | np.ndarray):
        columns = tuple(columns[0])
    least = 2 if word == "ordered" else 1
    valid = [isinstance(c, str | int | np.integer) and not isinstance(c, bool) for c in columns]
    if len(columns) < least or not all(valid):
        raise InvalidParameterError(
            f"{word}: columns is {columns!r}; pass at least {least}, names (strings) or positions "
            "(integers), one by one or in a list."
        )
    return tuple(str(c) if isinstance(c, str) else int(c) for c in columns)


def positions_of(columns: tuple[Column, ...], d: int, feature_names: Names) -> list[int]:
    """Positions of the columns in X, without repetition."""
    named: dict[str, list[int]] = {}
    for j, name in enumerate(feature_names or ()):
        named.setdefault(name, []).append(j)
    positions = [_position(column, d, named) for column in columns]
    if len(set(positions)) < len(positions):
        twice = next(c for j, c in zip(positions, columns, strict=True) if positions.count(j) > 1)
        raise InvalidParameterError(f"Column {twice!r} is among {columns} twice; give it once.")
    return positions


def _position(column: Column, d: int, named: dict[str, list[int]]) -> int:
    found = named.get(str(column), [])
    if isinstance(column, int):
        if not 0 <= column < d:
            raise InvalidParameterError(
                f"Column {column} is out of range; X has {d} columns, 0 to {d - 1}."
            )
        if found not in ([], [column]):
            raise InvalidParameterError(
                f"Column {column} could be the one at that position or the one named "
                f"{str(column)!r}; pass its name as a string."
            )
        return column
    if len(found) > 1:
        raise InvalidParameterError(
            f"X has {len(found)} columns named {column!r}; give one of the positions {found}."
        )
    if not found:
        folded = {name.casefold(): name for name in named}
        near = [folded[name] for name in difflib.get_close_matches(column.casefold(), folded)]
        if near:
            hint = f"did you mean {' or '.join(map(repr, near))}?"
        elif named:
            hint = f"it has {', '.join(map(repr, list(named)[:6]))}{', ...' * (len(named) > 6)}."
        else:
            hint = (
                "no column has a name. Pass a DataFrame whose columns are all named by strings, or "
                "give the position."
            )
        raise InvalidParameterError(f"X has no column {column!r}; {hint}")
    return found[0]


def label_of(j: int, feature_names: Names) -> str:
    """The name of a column, or its position in words."""
    return f"column {j}" if feature_names is None else feature_names[j]
