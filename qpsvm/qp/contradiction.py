"""Exact proofs that linear constraints and bounds have no common solution (Farkas' lemma)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Matrix, Vector, as_dense
from qpsvm.numerics.exact_rank import null_space
from qpsvm.numerics.precision import TINY
from qpsvm.qp.feasibility_settings import FEASIBILITY
from qpsvm.qp.restrictions import Restrictions


def is_contradiction(given: Restrictions, index: Index, rows: Matrix, miss: Vector) -> bool:
    """Return whether multipliers near the given ones prove that rows contradict each other.

    By Farkas' lemma, in rational numbers.

    Parameters
    ----------
    given : Restrictions
    index : array of int of shape (k,)
        The rows in question.
    rows : array or sparse matrix of shape (k, n)
    miss : array of shape (k,)
        Multipliers from which those of the proof are made.
    """
    rows = sp.csr_array(rows)
    miss = miss / np.max(np.abs(miss), initial=TINY)
    as_they_are = [Fraction(v) for v in miss.tolist()]
    return _is_farkas(given, index, rows, as_they_are) or _is_farkas(
        given, index, rows, _cancelling(given, rows, miss)
    )


def _cancelling(given: Restrictions, rows: sp.csr_array, miss: Vector) -> list[Fraction]:
    """Find rational multipliers near the given ones with ``v'R = 0`` in unbounded variables."""
    if rows.shape[0] > FEASIBILITY.most_cancelling_rows:
        return []
    sums, terms = rows.T @ miss, abs(rows).T @ np.abs(miss)
    ends = np.where(sums > 0.0, given.lower, given.upper)
    cancels = (terms > 0.0) & (np.isinf(ends) | (np.abs(sums) <= FEASIBILITY.cancelled * terms))
    matrix = as_dense(rows[:, np.flatnonzero(cancels)]).T
    basis = null_space([[Fraction(v) for v in row] for row in matrix.tolist()], rows.shape[0])
    if not basis:
        return []
    B = np.array([[float(v) for v in vector] for vector in basis])
    share = np.linalg.lstsq(B.T, miss, rcond=None)[0]
    weights = [Fraction(float(s)) for s in share]
    return [
        sum((w * vector[k] for w, vector in zip(weights, basis, strict=True)), Fraction(0))
        for k in range(rows.shape[0])
    ]


def _is_farkas(
    given: Restrictions, index: Index, rows: sp.csr_array, multipliers: list[Fraction]
) -> bool:
    """Return whether multipliers v prove ``v'R x > v'r`` for all x within bounds, exactly."""
    sums: dict[int, Fraction] = {}
    least = Fraction(0)
    if not multipliers:
        return False
    for k, v in enumerate(multipliers):
        if v == 0 or (v < 0 and not given.is_equality[index[k]]):
            return False  # of a row without a multiplier nothing is known
        least -= v * Fraction(float(given.right[index[k]]))
        for place in range(rows.indptr[k], rows.indptr[k + 1]):
            j = int(rows.indices[place])
            sums[j] = sums.get(j, Fraction(0)) + v * Fraction(float(rows.data[place]))
    for j, c in sums.items():
        if c == 0:
            continue
        end = float(given.lower[j] if c > 0 else given.upper[j])
        if not math.isfinite(end):
            return False
        least += c * Fraction(end)
    return least > 0
