"""Dual coordinate descent on samples as they are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native.checks import (
    Array,
    Vector,
    described,
    require_array,
    require_at_least,
    require_box,
    require_disjoint,
    require_indices,
    require_not_negative,
    require_signs,
    require_vector,
    row_distance,
)
from qpsvm.native.library import CORE, DESCENT_STATE, CallStatus, run

MOST_VARIABLES = 2**31 - 1
"""Largest number of variables of a coordinate descent, whose order is drawn with 31 random bits."""

_DENSE = {np.dtype(np.float64): 0, np.dtype(np.float32): 1}
_INDICES = {np.dtype(np.int32): 2, np.dtype(np.int64): 3}
"""Numbers of the layouts in the core: of values, and of a CSR matrix what its indices add."""


class CoordinateDescent:
    """Coordinate descent for the duals of linear machines, which can be stopped after any pass.

    The program is::

        minimise  1/2 a'(Z Z' + diag(D)) a + q'a   subject to  l <= a <= u

    where row i of Z is ``s_i (x_r, B)`` with ``r = rows[i]``: B is a constant feature, so that
    ``B = 1`` is a penalised intercept and ``B = 0`` none. Variables at a bound with a gradient that
    keeps them there are shrunk, and looked at again before the run ends.

    Parameters
    ----------
    samples : array or CSR matrix of shape (m, d)
        x, of float64 or float32, the rows of an array each in one piece; a CSR matrix in
        canonical format, with indices of 32 or 64 bits. Read where it lies, never copied.
    linear, lower, upper : arrays of shape (n,)
        q, l and u; bounds may be infinite.
    signs, added : arrays of shape (n,), optional
        s (by default ones) and D >= 0 (by default zeros).
    rows : int64 array of shape (n,), optional
        By default ``0 ... m - 1``, and n = m.
    constant : float
        B.
    start : array of shape (n,), optional
        a, within the bounds. By default zeros, clipped to the bounds.
    seed : int
        Of the order in which variables are visited.

    Attributes
    ----------
    a : array of shape (n,)
        The present point.
    w : array of shape (d + 1,)
        ``Z'a``, as it was updated; the last entry belongs to B. The gradient is
        ``s_i (x_r, B)'w + D_i a_i + q_i``.

    Raises
    ------
    InvalidParameterError
        An array of another type, shape or layout than these, an index out of range, a bound or
        start that is no number, arrays that overlap.

    Examples
    --------
    Two samples, hinge loss with C = 1, and no intercept:

    >>> X, y = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0])
    >>> box = dict(linear=-np.ones(2), lower=np.zeros(2), upper=np.ones(2))
    >>> descent = CoordinateDescent(X, signs=y, **box)
    >>> descent.run(passes=10, tol=1e-9).name
    'DONE'
    >>> descent.a.tolist(), descent.w.tolist()
    ([1.0, 0.25], [1.0, -0.5, 0.0])
    """

    def __init__(
        self,
        samples: Any,
        *,
        linear: Vector,
        lower: Vector,
        upper: Vector,
        signs: Vector | None = None,
        added: Vector | None = None,
        rows: Array | None = None,
        constant: float = 0.0,
        start: Vector | None = None,
        seed: int = 0,
    ) -> None:
        self._samples, arrays = _checked_samples(samples)
        m, d = samples.shape
        n = m if rows is None else len(rows)
        if n > MOST_VARIABLES:
            raise InvalidParameterError(
                f"rows has {n} entries: at most {MOST_VARIABLES} variables are possible"
            )
        if rows is not None:
            require_array(rows, "rows", np.int64, (n,))
            require_indices(rows, "rows", m)
        require_vector(linear, "linear", n, finite=True)
        require_vector(lower, "lower", n)
        require_vector(upper, "upper", n)
        if signs is not None:
            require_signs(require_vector(signs, "signs", n), "signs")
        if added is not None:
            require_not_negative(added, "added", n)
        constant = require_at_least(constant, "constant", 0.0)
        if start is None:
            start = np.minimum(np.maximum(np.zeros(n), lower), upper)
        require_box(require_vector(start, "start", n), "start", lower, upper)
        self.a, self.w = start.copy(), np.empty(d + 1)
        self._curvature, self._order = np.empty(n), np.empty(n, np.int64)
        self._state = np.zeros(1, DESCENT_STATE)
        self._program = (n, rows, signs, linear, added, lower, upper, constant)
        own = {"a": self.a, "w": self.w}
        require_disjoint(own, arrays | {"linear": linear, "lower": lower, "upper": upper})
        place = self.a, self.w, self._curvature, self._order
        run("descent_begin", self._samples, self._program, *place, seed, self._state)

    @property
    def passes(self) -> int:
        """Number of complete passes so far."""
        return int(self._state["passes"][0])

    @property
    def violation(self) -> float:
        """Largest absolute projected gradient that the last complete pass met.

        It is of the active variables, each at its turn; infinite before the first pass.
        """
        return float(self._state["violation"][0])

    @property
    def n_active(self) -> int:
        """Number of variables that are not shrunk."""
        return int(self._state["n_active"][0])

    def run(self, passes: int, tol: float, *, work: int = CORE.entries_per_call) -> CallStatus:
        """Make passes until the violation of all variables is at most ``tol``.

        Parameters
        ----------
        passes : int
            At most so many more. However they are divided into calls, the results are the same.
        tol : float
            In units of the gradient.
        work : int
            Entries of samples between two looks for an interrupt.

        Returns
        -------
        CallStatus
            DONE, LIMIT after so many passes, UNBOUNDED where a variable without curvature descends
            for ever, NOT_FINITE where samples or ``w`` are not.
        """
        if work < 1:
            raise InvalidParameterError(f"work is {work!r}: it must be at least 1")
        tol = require_at_least(tol, "tol", 0.0, infinite=True)
        end, status = self.passes + passes, CallStatus.LIMIT
        place = self.a, self.w, self._curvature, self._order, self._state
        while status is CallStatus.LIMIT and self.passes < end:
            status = run("descent_run", self._samples, self._program, tol, end, work, *place)
        return status


def _checked_samples(samples: Any) -> tuple[tuple[Any, ...], dict[str, Array | None]]:
    """The fields of the core's samples, and the arrays that they point to."""
    if sp.issparse(samples):
        return _checked_csr(samples)
    if not isinstance(samples, np.ndarray) or samples.ndim != 2 or samples.dtype not in _DENSE:
        raise InvalidParameterError(
            f"samples are {described(samples)}: pass an array with two axes, or a CSR matrix, of "
            "float64 or float32"
        )
    stride = row_distance(samples, "samples")
    fields = (_DENSE[samples.dtype], samples.shape[1], stride, samples, None, None)
    return fields, {"samples": samples}


def _checked_csr(samples: Any) -> tuple[tuple[Any, ...], dict[str, Array | None]]:
    if samples.format != "csr" or samples.ndim != 2:
        raise InvalidParameterError(
            f"samples are a sparse matrix in the format {samples.format!r}: pass samples.tocsr()"
        )
    values, starts, indices = samples.data, samples.indptr, samples.indices
    is_known = values.dtype in _DENSE and indices.dtype in _INDICES
    if not is_known or starts.dtype != indices.dtype:
        raise InvalidParameterError(
            f"samples have values of {values.dtype}, indices of {indices.dtype} and indptr of "
            f"{starts.dtype}: values must be float64 or float32, both others int32 or both int64"
        )
    m, d = samples.shape
    require_array(values, "samples.data", values.dtype.type, (None,))
    require_array(starts, "samples.indptr", starts.dtype.type, (m + 1,))
    require_array(indices, "samples.indices", indices.dtype.type, (None,))
    if starts[0] < 0 or np.any(starts[1:] < starts[:-1]):
        raise InvalidParameterError("samples.indptr decreases: build the CSR matrix anew")
    if starts[-1] > min(len(values), len(indices)):
        raise InvalidParameterError(
            f"samples.indptr ends at {starts[-1]}, and there are {len(values)} values and "
            f"{len(indices)} indices: build the CSR matrix anew"
        )
    require_indices(indices[: starts[-1]], "samples.indices", d)
    if not samples.has_canonical_format:
        raise InvalidParameterError(
            "samples are a CSR matrix with repeated or unsorted features in a row: call "
            "samples.sum_duplicates() first"
        )
    names = "samples.data", "samples.indptr", "samples.indices"
    layout = 2 * _DENSE[values.dtype] + _INDICES[indices.dtype]
    fields = (layout, d, 0, values, starts, indices)
    return fields, dict(zip(names, (values, starts, indices), strict=True))
