"""Machines and dual points on samples in chunks, and leverages of samples.

A linear machine is ``f(x) = w'x + b`` with the half-width t of a margin or tube. The dual variables
of all samples are stored as a rule and a list of exceptions: that of a fixed condition follows
from its violation at a machine, those of undecided conditions are listed with their numbers
(``qpsvm.chunked.evaluation``).

Let H be the Hessian of the objective in (w, b), its kinks rounded off. Where the machine is known
up to an error of size e in the norm of H, the decision value of x is known up to ``e s(x)``::

    |x'dw + db| <= e s(x),    s(x)^2 = (x, 1)' H^-1 (x, 1)

The number s^2 is the *leverage* of the sample. A sample with a rare, large feature has a high one:
few others say anything about the weight of that feature. So a violation is small or large in
comparison with s, not by itself.

Source: Cook and Weisberg, *Residuals and Influence in Regression* (1982), section 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.machines.prediction import as_float64
from qpsvm.numerics.arrays import IN_CACHE, Dense, Index, Matrix, Vector, row_blocks
from qpsvm.numerics.precision import TINY
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import SinglePrecision


@dataclass(frozen=True, eq=False)
class Machine:
    """A linear machine ``f(x) = w'x + b`` with the half-width t.

    Attributes
    ----------
    coef : array of shape (d,)
    intercept, width : float
    """

    coef: Vector
    intercept: float
    width: float

    @property
    def vector(self) -> Vector:
        """The vector (w, b, t) of weights, intercept and width."""
        return np.concatenate([self.coef, [self.intercept, self.width]])

    @classmethod
    def of(cls, vector: Vector) -> Machine:
        """The machine of (w, b, t); a negative width becomes zero."""
        return cls(vector[:-2].copy(), float(vector[-2]), max(0.0, float(vector[-1])))


@dataclass(frozen=True, eq=False)
class Leverage:
    """Leverages ``s(x)^2 = (x, 1)' H^-1 (x, 1)`` of samples.

    Attributes
    ----------
    factor : array of shape (d + 1, d + 1) or (0, 0)
        T with ``T T' = H^-1``, upper triangular; empty if every leverage is taken for 1.
    """

    factor: Dense

    @classmethod
    def equal(cls) -> Leverage:
        """Every leverage is taken for 1."""
        return cls(np.zeros((0, 0)))

    @classmethod
    def of_hessian(cls, H: Dense, ridge: float, *, has_intercept: bool) -> Leverage | None:
        """Factor the inverse of a Hessian in (w, b); None if it is not positive definite.

        Parameters
        ----------
        H : array of shape (d + 1, d + 1)
        ridge : float
            Added to its diagonal, which is scaled to ones.
        has_intercept : bool
            Otherwise b is zero, and certain.
        """
        factor, used = np.zeros_like(H), len(H) if has_intercept else len(H) - 1
        H = H[:used, :used]
        if not np.isfinite(H).all():
            return None
        scaled, scale = scaled_hessian(H, ridge)
        try:
            lower = cholesky(scaled, lower=True)
            inverse = solve_triangular(lower, np.diag(scale), lower=True)
        except LinAlgError:  # not positive definite
            return None
        factor[:used, :used] = inverse.T
        return cls(factor) if np.isfinite(factor).all() else None

    def roots(self, X: Matrix | SinglePrecision) -> Vector:
        """Square roots s of the leverages of the rows of X.

        Parameters
        ----------
        X : array, CSR array or SinglePrecision of shape (m, d)

        Returns
        -------
        array of shape (m,)
            Above zero.
        """
        n, d = X.shape
        roots = np.ones(n)
        if self.factor.size:
            for rows in row_blocks(n, d, IN_CACHE):
                products = np.asarray(X[rows] @ self.factor[:-1]) + self.factor[-1]
                roots[rows] = np.sqrt(np.maximum(row_squares(products), TINY))
        return roots

    def divided(self, size: float) -> Leverage:
        """Leverages whose roots are divided by a number."""
        return Leverage(self.factor / size)


def scaled_hessian(H: Dense, ridge: float) -> tuple[Dense, Vector]:
    """A Hessian scaled to a diagonal of ones, with a ridge, and the scales of its variables."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), TINY))
    scaled = H * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] += ridge
    return scaled, scale


@dataclass(frozen=True, eq=False)
class ChunkedDual:
    """A dual variable for every condition on every sample.

    Attributes
    ----------
    centre : Machine
        Its violations decide on the conditions that are not listed.
    numbers : tuple of arrays of int
        The undecided conditions of every chunk, numbered side after side. Empty if none is
        anywhere.
    open : tuple of arrays
        Their dual variables.
    """

    centre: Machine
    numbers: tuple[Index, ...] = ()
    open: tuple[Vector, ...] = ()


# --- machines and dual points of whatever origin -------------------------------------------------


def stored_machine(machine: object, n_features: int) -> Machine:
    """Copy of the numbers of a machine as float64; NaN where one is missing or a width negative.

    Raises
    ------
    InvalidParameterError
        Not a machine.
    InvalidDataError
        One of other features.
    """
    if type(machine) is not Machine:
        raise InvalidParameterError(f"A machine is expected, got {type(machine).__name__}.")
    coef = as_float64(machine.coef, "coef")
    if np.shape(coef) != (n_features,):
        raise InvalidDataError(
            f"The solution has weights of shape {np.shape(coef)}, the problem has "
            f"{n_features} features; it is of another problem."
        )
    width = _number(machine.width, "width")
    intercept = _number(machine.intercept, "intercept")
    return Machine(coef.copy(), intercept, width if width >= 0.0 else np.nan)


def _number(value: object, name: str) -> float:
    """A stored number, NaN for a missing one or for an array of another size than 1."""
    found = as_float64(value, name)
    return float(found.reshape(-1)[0]) if found is not None and found.size == 1 else np.nan


def stored_point(point: object, n_features: int, n_chunks: int) -> ChunkedDual:
    """Copy of the numbers of a dual point as float64.

    Raises
    ------
    InvalidParameterError
        Not a dual point, or one that is not complete.
    InvalidDataError
        One of other features or chunks.
    """
    if type(point) is not ChunkedDual:
        raise InvalidParameterError(f"A ChunkedDual is expected, got {type(point).__name__}.")
    if not all(isinstance(own, tuple | list) for own in (point.numbers, point.open)):
        raise InvalidParameterError("The dual point has no list of undecided dual variables.")
    numbers = tuple(whole_numbers(part, "numbers") for part in point.numbers)
    listed = tuple(as_float64([] if part is None else part, "open") for part in point.open)
    shapes = [part.shape for part in listed]
    if [part.shape for part in numbers] != shapes or any(len(shape) != 1 for shape in shapes):
        raise InvalidParameterError(
            "The dual point is not complete: it must list the number and the dual variable of "
            "every undecided condition, in two vectors for each chunk."
        )
    if len(listed) not in (0, n_chunks):
        raise InvalidDataError(
            f"The dual point is of {len(listed)} chunks and the problem has {n_chunks}; it is of "
            "another problem."
        )
    return ChunkedDual(stored_machine(point.centre, n_features), numbers, listed)


def whole_numbers(values: object, name: str) -> Index:
    """Copy of stored whole numbers.

    Raises
    ------
    InvalidDataError
        Numbers of another type.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidDataError(f"{name} is of type {array.dtype}; pass whole numbers.")
    return array.astype(np.intp)
