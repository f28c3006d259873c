"""Constraint rows: their type, their combination, and those that contradict each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias, cast

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidParameterError, InvalidProgramError
from qpsvm.numerics.arguments import MatrixLike, VectorLike, explains_constructor, scalar
from qpsvm.numerics.arrays import (
    Matrix,
    Vector,
    as_dense,
    as_matrix,
    as_vector,
    freeze,
    is_sparse,
    require_finite,
    restore_frozen,
)
from qpsvm.numerics.single_precision import Stored

Column: TypeAlias = str | int
"""A name, or a position from 0."""
Names: TypeAlias = Sequence[str] | None
"""Column names of X, where it has any."""


class Constraint(Protocol):
    """Protocol of constraints that become rows once the data are known, by ``resolve``."""

    def resolve(
        self, X: Stored, feature_names: Names = None, sample_weight: Vector | None = None
    ) -> LinearConstraints: ...


Constraints: TypeAlias = Constraint | Sequence[Constraint]
"""One constraint on the weights and the intercept, or several."""


@explains_constructor
@dataclass(frozen=True, eq=False, init=False)
class LinearConstraints:
    """The constraints ``G (w, b) <= h`` and ``A (w, b) = b``.

    Parameters
    ----------
    G, h : array or sparse matrix of shape (m, d) or (m, d + 1), array of shape (m,); optional
        With d columns, one per feature, a row acts on w alone; the last of d + 1 columns
        multiplies the intercept. One row may come as a vector, equal entries of h as a number.
    A, b : array or sparse matrix of shape (k, d) or (k, d + 1), array of shape (k,); optional
        Equalities, in the same way.
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

    G: Matrix
    h: Vector
    A: Matrix
    b: Vector
    names: tuple[str, ...]

    def __init__(
        self,
        G: MatrixLike | None = None,
        h: VectorLike | None = None,
        A: MatrixLike | None = None,
        b: VectorLike | None = None,
        names: str | Sequence[str] | None = None,
    ) -> None:
        G, h = _rows(G, h, "G", "h")
        A, b = _rows(A, b, "A", "b")
        given = G if A is None else A
        if given is None:
            raise InvalidProgramError(
                "LinearConstraints has no rows; pass G and h for G (w, b) <= h, A and b for "
                "A (w, b) = b, or both."
            )
        none = freeze(np.zeros((0, given.shape[1])))
        G, A = (none if rows is None else rows for rows in (G, A))
        if names is None:
            names = [f"G[{i}]" for i in range(len(h))] + [f"A[{i}]" for i in range(len(b))]
        names = scalar(names)
        is_one = isinstance(names, str) or not isinstance(names, Iterable)
        names = (names,) if is_one else tuple(names)  # type: ignore[assignment]
        if len(names) != len(h) + len(b) or not all(isinstance(name, str) for name in names):
            raise InvalidProgramError(
                f"names is {names!r}; pass one string per row, {len(h)} for G and then {len(b)} "
                "for A."
            )
        for field, value in (("G", G), ("h", h), ("A", A), ("b", b), ("names", names)):
            object.__setattr__(self, field, value)

    __setstate__ = restore_frozen

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.h) + len(self.b)

    @cached_property
    def rows(self) -> Matrix:
        """All rows, ``[G; A]``."""
        if is_sparse(self.G) or is_sparse(self.A):
            return freeze(sp.csr_array(sp.vstack([sp.csr_array(M) for M in (self.G, self.A)])))
        return freeze(np.vstack([self.G, self.A]))

    @cached_property
    def right(self) -> Vector:
        """All right-hand sides, ``(h, b)``."""
        return np.asarray(freeze(np.concatenate([self.h, self.b])))

    @cached_property
    def intercept_column(self) -> Vector:
        """Coefficients of the intercept, the last column of the rows."""
        return np.asarray(freeze(as_dense(self.rows[:, [-1]]).ravel()))

    @property
    def lower(self) -> Vector:
        """Lower bounds of the multipliers ``(z, y)``: 0 for inequalities, -inf for equalities."""
        return np.concatenate([np.zeros(len(self.h)), np.full(len(self.b), -np.inf)])

    def __repr__(self) -> str:
        m, k = len(self.h), len(self.b)
        return (
            f"LinearConstraints({m} {'inequality' if m == 1 else 'inequalities'}, "
            f"{k} {'equality' if k == 1 else 'equalities'})"
        )

    def resolve(
        self, X: Stored, feature_names: Names = None, sample_weight: Vector | None = None
    ) -> LinearConstraints:
        """Return these constraints unchanged."""
        del X, feature_names, sample_weight
        return self


def rows_between(lower: float, rows: Matrix, upper: float, names: list[str]) -> LinearConstraints:
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


def combine(
    constraints: Constraints,
    X: Stored,
    feature_names: Names = None,
    sample_weight: Vector | None = None,
) -> LinearConstraints:
    """Stack constraints into one ``G (w, b) <= h``, ``A (w, b) = b`` for the samples X.

    Parameters
    ----------
    constraints : LinearConstraints, builder, or a list of them
        As ``SoftMargin.dual`` takes them.
    X : array or CSR array of shape (n, d)
        Checked samples, as training sets hold them.
    feature_names : sequence of d str, optional
        Names of the columns, for builders that name columns.
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
    >>> from qpsvm.constraints import fairness_band, nonnegative
    >>> X = np.array([[30.0, 1.0], [50.0, 0.0]])
    >>> rows = [nonnegative("age"), fairness_band("sex", 0.1), LinearConstraints(A=[0, 0, 1], b=2)]
    >>> combine(rows, X, ("age", "sex")).names
    ('nonnegative: age', 'fairness band: sex, lower', 'fairness band: sex, upper', 'A[0]')
    """
    items: Sequence[Constraint] = (
        constraints if isinstance(constraints, list | tuple) else [cast("Constraint", constraints)]
    )
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


NEGLIGIBLE = 1e-6
"""Share of a contradiction, relative to the largest, that a solver's noise may have: certificates
are exact to 1e-9, interior-point solvers leave a few digits more on rows that play no part."""


def conflicting(
    combined: LinearConstraints,
    multipliers_ineq: VectorLike,
    multipliers_eq: VectorLike,
    rtol: float = NEGLIGIBLE,
) -> list[str]:
    r"""Names of the rows that contradict each other, the largest share first.

    Multipliers :math:`z \ge 0` and y prove by :math:`G^\top z + A^\top y = 0`, :math:`h^\top z +
    b^\top y < 0` that no (w, b) satisfies all rows (Farkas' lemma; Boyd and Vandenberghe, *Convex
    Optimization*, section 5.8.3). The share of a row is its largest share of the terms of one of
    these sums, whatever the units it is written in: a small number may be what the others need to
    cancel.

    Parameters
    ----------
    combined : LinearConstraints
        All rows, as ``combine`` stacks them.
    multipliers_ineq, multipliers_eq : arrays of shapes (m,) and (k,)
        Negative entries of the first count as zero.
    rtol : float
        Shares up to rtol times the largest of these rows are left out.

    Returns
    -------
    list of str
        Names of rows, as ``LinearConstraints.names`` has them.

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
    multipliers = np.concatenate([z, y])
    terms = sp.csr_array(abs(sp.csr_array(combined.rows)) * multipliers[:, None])
    of_right = multipliers * np.abs(combined.right)
    totals = np.asarray(terms.sum(axis=0)).ravel()
    terms.data = terms.data / np.where(totals > 0.0, totals, 1.0)[terms.indices]
    shares = of_right / (float(np.sum(of_right)) or 1.0)
    shares = np.maximum(shares, as_dense(terms.max(axis=1)).ravel())
    cutoff = rtol * float(np.max(shares, initial=0.0))
    order = np.argsort(-shares, kind="stable")
    return [combined.names[i] for i in order if shares[i] > cutoff]


# --- small pieces ----------------------------------------------------------------------------


def _stack(matrices: list[Matrix], name: str, d: int) -> Matrix:
    """Stack the given matrices vertically, each with d + 1 columns."""
    wide = []
    for matrix in matrices:
        m, width = matrix.shape
        if m and width not in (d, d + 1):
            raise InvalidParameterError(
                f"{name} has {width} columns and X has {d} features; pass {d} columns, one per "
                f"weight, or {d + 1}, the last for the intercept."
            )
        if m and is_sparse(matrix):
            parts = (matrix.data, matrix.indices, matrix.indptr)
            wide.append(sp.csr_array(parts, shape=(m, d + 1)))
        elif m:
            wide.append(np.pad(matrix, ((0, 0), (0, d + 1 - width))))
    if any(is_sparse(matrix) for matrix in wide):
        return sp.vstack([sp.csr_array(matrix) for matrix in wide], format="csr")
    return np.vstack([np.zeros((0, d + 1)), *wide])


def _rows(
    matrix: MatrixLike | None, right: VectorLike | None, matrix_name: str, right_name: str
) -> tuple[Matrix | None, Vector]:
    """A checked read-only copy of a matrix and its right-hand side; (None, empty) if left out."""
    if (matrix is None) != (right is None):
        missing = matrix_name if matrix is None else right_name
        raise InvalidProgramError(
            f"{matrix_name} and {right_name} belong together, but {missing} is missing; pass both."
        )
    if matrix is None:
        return None, as_vector(None, right_name, 0)
    if is_sparse(matrix) and matrix.ndim == 1:
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
    return freeze(sp.csr_array(rows)) if is_sparse(rows) else rows, vector
