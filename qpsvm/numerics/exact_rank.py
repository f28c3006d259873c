"""The rank of a matrix of doubles in exact arithmetic, computed modulo prime numbers.

Whether one row is a combination of others is a question about exact numbers: a singular value of
1e-16 may be zero or not. Modulo a prime every double is a whole number (``m 2^e`` with whole m),
and elimination rounds nothing. The rank modulo a prime is never above the true one, and below it
only if the prime divides certain minors; several large primes make this practically impossible.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from qpsvm.numerics.arrays import Dense

PRIMES = (2147483647, 2147483629, 2147483587)
"""Moduli: the three largest primes below 2^31, so that products of residues fit into 64 bits."""

Residues = NDArray[np.int64]


def residues(values: Dense, prime: int) -> Residues:
    """Convert finite doubles, as exact fractions, to residues modulo a prime.

    Examples
    --------
    >>> residues(np.array([3.0, -1.0, 0.5]), 7).tolist()
    [3, 6, 4]
    """
    found, used = np.zeros(values.shape, dtype=np.int64), values != 0.0
    fractions, exponents = np.frexp(values[used])
    whole = np.ldexp(fractions, 53).astype(np.int64) % prime
    powers, place = np.unique(exponents, return_inverse=True)
    factors = np.array([pow(2, int(e) - 53, prime) for e in powers], dtype=np.int64)
    found[used] = whole * factors[place] % prime
    return found


def rank(matrix: Residues, prime: int) -> int:
    """The rank of a matrix of residues, by elimination.

    Examples
    --------
    >>> rank(np.array([[1, 2], [3, 6]]), 7)
    1
    """
    rows, found = matrix.copy(), 0
    for column in range(rows.shape[1]):
        below = np.flatnonzero(rows[found:, column])
        if not below.size:
            continue
        pivot = found + int(below[0])
        rows[[found, pivot]] = rows[[pivot, found]]
        rows[found] = rows[found] * pow(int(rows[found, column]), -1, prime) % prime
        others = found + 1 + np.flatnonzero(rows[found + 1 :, column])
        rows[others] = (rows[others] - rows[others, column, None] * rows[found] % prime) % prime
        found += 1
        if found == len(rows):
            break
    return found


def null_space(matrix: list[list[Fraction]], n_columns: int) -> list[list[Fraction]]:
    """A basis of the vectors v with ``A v = 0``, in rational numbers.

    Examples
    --------
    >>> [[str(v) for v in vector] for vector in null_space([[Fraction(1), Fraction(3)]], 2)]
    [['-3', '1']]
    """
    rows, pivots = [list(row) for row in matrix], list[int]()
    for column in range(n_columns):
        k = len(pivots)
        below = next((i for i in range(k, len(rows)) if rows[i][column]), None)
        if below is None:
            continue
        rows[k], rows[below] = rows[below], rows[k]
        first = rows[k][column]
        rows[k] = [v / first for v in rows[k]]
        for i, row in enumerate(rows):
            if i != k and row[column]:
                factor = row[column]
                rows[i] = [v - factor * p for v, p in zip(row, rows[k], strict=True)]
        pivots.append(column)
    basis = []
    for free in (j for j in range(n_columns) if j not in pivots):
        vector = [Fraction(int(j == free)) for j in range(n_columns)]
        for k, pivot in enumerate(pivots):
            vector[pivot] = -rows[k][free]
        basis.append(vector)
    return basis
