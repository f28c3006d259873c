"""Your own linear constraints on the weights and the intercept of ``f(x) = w'x + b``.

===================================  =========================================================
``LinearConstraints(G, h, A, b)``    ``G (w, b) <= h`` and ``A (w, b) = b``
``nonnegative``, ``nonpositive``     ``w_j >= 0``, ``w_j <= 0``
``increasing``, ``decreasing``       the same, said of f: it never falls, or rises, with feature j
``bounded``, ``fixed``               ``lower <= w_j <= upper``, ``w_j = value``
``ordered``                          ``w_1 <= w_2 <= ... <= w_k`` over the columns in that order
``sum_of``                           ``at_least <= sum_j w_j <= at_most``
``fairness_band``                    the covariance of a sensitive column and f(x) within a bound
===================================  =========================================================

Columns go by name (a string, looked up in the DataFrame) or by position (an integer from 0, never a
label). Which columns and samples are meant is settled when the data is there: ``resolve`` turns a
constraint into rows, ``combine`` stacks the rows of several. Whatever has a ``resolve`` can join.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidDataError, InvalidParameterError, InvalidProgramError
from qpsvm.formulations.data import as_samples
from qpsvm.qp._arrays import (
    Matrix,
    Vector,
    as_matrix,
    as_vector,
    freeze,
    require_finite,
    restore_frozen,
)

__all__ = [
    "Constraint",
    "LinearConstraints",
    "bounded",
    "combine",
    "conflicting",
    "decreasing",
    "fairness_band",
    "fixed",
    "increasing",
    "nonnegative",
    "nonpositive",
    "ordered",
    "sum_of",
]

Column: TypeAlias = str | int
"""A name, or a position from 0."""
Names: TypeAlias = Sequence[str] | None
"""Column names of X, where it has any."""

NEGLIGIBLE = 1e-6
"""Share of a contradiction, relative to the largest, that a solver's noise may have: evidence is
exact to 1e-9, interior-point solvers leave a few digits more on rows that play no part."""


class Constraint(Protocol):
    """Anything that becomes rows once the data is known; the arguments are those of ``combine``."""

    def resolve(
        self, X: Any, feature_names: Names = None, sample_weight: Vector | None = None
    ) -> LinearConstraints: ...


# --- rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """``G (w, b) <= h`` and ``A (w, b) = b``.

    Parameters
    ----------
    G, h : array or sparse matrix of shape (m, d) or (m, d + 1), array of shape (m,); optional
        With d columns, one per feature, a row acts on w alone; the last of d + 1 columns
        multiplies the intercept. One row may come as a vector, equal entries of h as a number.
    A, b : array or sparse matrix of shape (k, d) or (k, d + 1), array of shape (k,); optional
    names : sequence of m + k str, optional
        What the rows mean, inequalities first; errors quote it. Default ``"G[0]"``, ``"A[0]"``.

    Raises
    ------
    InvalidProgramError
        No rows, one of a pair without the other, shapes that disagree, entries that are not finite
        numbers, names that do not go with the rows.

    Notes
    -----
    Arrays are copied and read-only; sparse ones become CSR.

    Examples
    --------
    >>> LinearConstraints(G=[[1.0, 1.0]], h=2.0, A=[0.0, 0.0, 1.0], b=-1.0)
    LinearConstraints(1 inequality, 1 equality)
    """

    G: Matrix = None
    h: Any = None
    A: Matrix = None
    b: Any = None
    names: Any = None

    def __post_init__(self) -> None:
        G, h = _rows(self.G, self.h, "G", "h")
        A, b = _rows(self.A, self.b, "A", "b")
        if G is None and A is None:
            raise InvalidProgramError(
                "LinearConstraints has no rows; pass G and h for G (w, b) <= h, A and b for "
                "A (w, b) = b, or both."
            )
        G = freeze(np.zeros((0, A.shape[1]))) if G is None else G
        A = freeze(np.zeros((0, G.shape[1]))) if A is None else A
        names = (self.names,) if isinstance(self.names, str) else self.names
        if names is None:
            names = [f"G[{i}]" for i in range(len(h))] + [f"A[{i}]" for i in range(len(b))]
        names = tuple(names)
        if len(names) != len(h) + len(b) or not all(isinstance(name, str) for name in names):
            raise InvalidProgramError(
                f"names is {names!r}; pass one string per row, {len(h)} for G and then {len(b)} "
                "for A."
            )
        for field, value in (("G", G), ("h", h), ("A", A), ("b", b), ("names", names)):
            object.__setattr__(self, field, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore_frozen(self, state)

    def __repr__(self) -> str:
        m, k = len(self.h), len(self.b)
        return (
            f"LinearConstraints({m} {'inequality' if m == 1 else 'inequalities'}, "
            f"{k} {'equality' if k == 1 else 'equalities'})"
        )

    def resolve(self, *_: Any) -> LinearConstraints:
        """These rows are what they are."""
        return self


def combine(
    constraints: Constraint | Sequence[Constraint],
    X: Any,
    feature_names: Names = None,
    sample_weight: Vector | None = None,
) -> LinearConstraints:
    """Stack constraints into one ``G (w, b) <= h``, ``A (w, b) = b`` for the samples X.

    Parameters
    ----------
    constraints : LinearConstraints, builder, or a list of them
    X : array or CSR array of shape (n, d)
        Checked samples, as training sets hold them.
    feature_names : sequence of d str, optional
    sample_weight : array of shape (n_given,), optional
        Where samples have weights: those of all rows given, of which X has the n above zero.

    Returns
    -------
    LinearConstraints
        G and A of shapes (m, d + 1) and (k, d + 1), in the order given; CSR if any of their rows
        came sparse, as rows about single columns do, else dense.

    Raises
    ------
    InvalidParameterError
        Not a constraint; rows of another width; a column that X does not have, or has twice.
    InvalidDataError
        Sensitive values that do not go with the rows of X, or are all the same.

    Examples
    --------
    >>> X = np.array([[30.0, 1.0], [50.0, 0.0]])
    >>> rows = [nonnegative("age"), fairness_band("sex", 0.1), LinearConstraints(A=[0, 0, 1], b=2)]
    >>> combine(rows, X, ("age", "sex")).names
    ('nonnegative: age', 'fairness band: sex, lower', 'fairness band: sex, upper', 'A[0]')
    """
    items: Any = constraints if isinstance(constraints, list | tuple) else [constraints]
    for item in items:
        if isinstance(item, type) or not hasattr(item, "resolve"):
            raise InvalidParameterError(
                f"constraints holds {item!r}; pass LinearConstraints(G=..., h=...), a builder with "
                "its arguments such as nonnegative('age'), or a list of these."
            )
    parts = [item.resolve(X, feature_names, sample_weight) for item in items]
    return LinearConstraints(
        G=_stack([part.G for part in parts], "G", X.shape[1]),
        h=np.concatenate([np.zeros(0), *(part.h for part in parts)]),
        A=_stack([part.A for part in parts], "A", X.shape[1]),
        b=np.concatenate([np.zeros(0), *(part.b for part in parts)]),
        names=[name for part in parts for name in part.names[: len(part.h)]]
        + [name for part in parts for name in part.names[len(part.h) :]],
    )


def conflicting(
    combined: LinearConstraints,
    multipliers_ineq: Any,
    multipliers_eq: Any,
    rtol: float = NEGLIGIBLE,
) -> list[str]:
    """Names of the rows that take part in a contradiction, the largest share first.

    Multipliers ``z >= 0`` and y prove by ``G'z + A'y = 0``, ``h'z + b'y < 0`` that no (w, b)
    satisfies all rows (Farkas' lemma; Boyd and Vandenberghe, *Convex Optimization*, section 5.8.3).
    The share of a row is ``|z_i| (|G_i|_1 + |h_i|)``, whatever the units it is written in.

    Parameters
    ----------
    combined : LinearConstraints
    multipliers_ineq, multipliers_eq : arrays of shapes (m,) and (k,)
        Negative entries of the first count as zero.
    rtol : float
        Shares up to rtol times the largest of these rows are left out.

    Raises
    ------
    InvalidProgramError
        Not one multiplier per row.

    Examples
    --------
    >>> rows = LinearConstraints(G=[[1.0], [-1.0], [0.5]], h=[1.0, -2.0, 9.0])
    >>> conflicting(rows, [1.0, 1.0, 0.0], [])  # w <= 1 and w >= 2
    ['G[1]', 'G[0]']
    """
    z = np.maximum(as_vector(multipliers_ineq, "multipliers_ineq", len(combined.h)), 0.0)
    y = np.abs(as_vector(multipliers_eq, "multipliers_eq", len(combined.b)))
    shares = np.concatenate(
        [
            z * (abs(combined.G).sum(axis=1) + np.abs(combined.h)),
            y * (abs(combined.A).sum(axis=1) + np.abs(combined.b)),
        ]
    )
    cutoff = rtol * float(np.max(shares, initial=0.0))
    order = np.argsort(-shares, kind="stable")
    return [combined.names[i] for i in order if shares[i] > cutoff]


# --- builders ------------------------------------------------------------------------------------


def nonnegative(*columns: Column) -> Constraint:
    """``w_j >= 0`` for the columns named, all of them if none is.

    A list of columns does as well, and then an empty one is refused.

    Examples
    --------
    >>> rows = nonnegative("age").resolve(np.eye(2), ("age", "sex"))
    >>> rows.G.toarray(), rows.h
    (array([[-1.,  0.]]), array([0.]))
    """
    return WeightConstraint("nonnegative", columns or None, lower=0.0)


def nonpositive(*columns: Column) -> Constraint:
    """``w_j <= 0`` for the columns named, all of them if none is."""
    return WeightConstraint("nonpositive", columns or None, upper=0.0)


def increasing(*columns: Column) -> Constraint:
    """``f(x + t e_j) >= f(x)`` for t > 0: f never falls as feature j rises, that is ``w_j >= 0``.

    All columns if none is named. For the indicator columns of one feature see ``ordered``.
    """
    return WeightConstraint("increasing", columns or None, lower=0.0)


def decreasing(*columns: Column) -> Constraint:
    """``f(x + t e_j) <= f(x)`` for t > 0: f never rises as feature j does, that is ``w_j <= 0``.

    All columns if none is named.
    """
    return WeightConstraint("decreasing", columns or None, upper=0.0)


def bounded(
    columns: Column | Sequence[Column] | None = None,
    lower: float = -math.inf,
    upper: float = math.inf,
) -> Constraint:
    """``lower <= w_j <= upper`` for a column, a list of them, or all (None).

    Examples
    --------
    >>> bounded(["age", "income"], lower=-1.0, upper=2.0).resolve(np.eye(2), ("age", "income")).h
    array([1., 1., 2., 2.])
    """
    return WeightConstraint("bounded", None if columns is None else (columns,), lower, upper)


def fixed(column: Column, value: float) -> Constraint:
    """``w_j = value``."""
    return WeightConstraint("fixed", (column,), value, value)


def ordered(*columns: Column) -> Constraint:
    """``w_1 <= w_2 <= ... <= w_k`` over two or more columns, in the order given.

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
    """``sum_j w_j = equals``, or ``at_least <= sum_j w_j <= at_most``, over the columns named.

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


def fairness_band(sensitive: Any, bound: float) -> Constraint:
    """``| 1/n sum_i (z_i - mean z) f(x_i) | <= bound``: f is all but uncorrelated with z.

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


@dataclass(frozen=True)
class WeightConstraint:
    """``lower <= T w_J <= upper`` for the weights w_J of some columns J, None for all.

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
        self, X: Any, feature_names: Names = None, _: Vector | None = None
    ) -> LinearConstraints:
        """A row for every row of T and finite bound; an equality where both bounds agree."""
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


@dataclass(frozen=True, eq=False)
class FairnessBand:
    """``-bound <= 1/n (z - mean z)'X w <= bound``; z is a column of X, or the values themselves."""

    sensitive: Column | Vector
    bound: float
    label: str = ""

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore_frozen(self, state)

    def resolve(
        self, X: Any, feature_names: Names = None, sample_weight: Vector | None = None
    ) -> LinearConstraints:
        """Two rows, one equality for a bound of zero; dense if X is."""
        weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        kept = weights > 0.0
        if isinstance(self.sensitive, str | int):
            (j,) = _positions((self.sensitive,), X.shape[1], feature_names)
            label, z = _label(j, feature_names), X[:, [j]]
            z = np.asarray(z.toarray() if sp.issparse(z) else z).ravel()
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


# --- columns -------------------------------------------------------------------------------------


def _columns(word: str, columns: tuple[Any, ...]) -> tuple[Column, ...]:
    """Columns one by one, or as one list; at least one, for ``ordered`` two."""
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


def _positions(columns: tuple[Column, ...], d: int, feature_names: Names) -> list[int]:
    """Where in X the columns are, each of them once."""
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


def _label(j: int, feature_names: Names) -> str:
    return f"column {j}" if feature_names is None else feature_names[j]


# --- small pieces --------------------------------------------------------------------------------


def _between(lower: float, rows: Matrix, upper: float, names: list[str]) -> LinearConstraints:
    """``lower <= rows w <= upper``: an equality, or a row for every finite side."""
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


def _stack(matrices: list[Matrix], name: str, d: int) -> Matrix:
    """The matrices that have rows, one above the other, each with d + 1 columns."""
    wide = []
    for matrix in matrices:
        m, width = matrix.shape
        if m and width not in (d, d + 1):
            raise InvalidParameterError(
                f"{name} has {width} columns and X has {d} features; pass {d} columns, one per "
                f"weight, or {d + 1}, the last for the intercept."
            )
        if m and sp.issparse(matrix):
            parts = (matrix.data, matrix.indices, matrix.indptr)
            wide.append(sp.csr_array(parts, shape=(m, d + 1)))
        elif m:
            wide.append(np.pad(matrix, ((0, 0), (0, d + 1 - width))))
    if any(sp.issparse(matrix) for matrix in wide):
        return sp.vstack([sp.csr_array(matrix) for matrix in wide], format="csr")
    return np.vstack([np.zeros((0, d + 1)), *wide])


def _rows(matrix: Any, right: Any, matrix_name: str, right_name: str) -> tuple[Matrix, Vector]:
    """A checked read-only copy of one pair; (None, no entries) if it was left out."""
    if (matrix is None) != (right is None):
        missing = matrix_name if matrix is None else right_name
        raise InvalidProgramError(
            f"{matrix_name} and {right_name} belong together, but {missing} is missing; pass both."
        )
    if matrix is None:
        return None, as_vector(None, right_name, 0)
    if sp.issparse(matrix) and matrix.ndim == 1:
        matrix = matrix.reshape(1, -1)
    try:
        width = (np.shape(matrix) or (0,))[-1]
    except ValueError as error:
        raise InvalidProgramError(
            f"{matrix_name} must have rows of one length ({error})."
        ) from error
    rows = as_matrix(matrix, matrix_name, width)
    if width == 0:
        raise InvalidProgramError(
            f"{matrix_name} has no columns; pass one per feature, then one for the intercept if it "
            "takes part."
        )
    vector = as_vector(right, right_name, rows.shape[0])
    require_finite(vector, right_name)
    return freeze(sp.csr_array(rows)) if sp.issparse(rows) else rows, vector


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _sensitive_values(values: Any) -> Vector:
    """One number per sample; two kinds of strings become 0 and 1."""
    column = values.toarray() if sp.issparse(values) else np.asanyarray(values)
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
