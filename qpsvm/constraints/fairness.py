"""Fairness bands: bounds on the covariance of decision values and a sensitive variable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.constraints.columns import label_of, positions_of, require_columns
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
from qpsvm.numerics.arguments import Targets, explains_calls, is_real_number
from qpsvm.numerics.arrays import Vector, as_dense, freeze, is_sparse, restore_frozen
from qpsvm.numerics.single_precision import Stored

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

    __setstate__ = restore_frozen

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
