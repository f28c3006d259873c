"""Linear independence of rows, proven by factorisations or in exact arithmetic.

Positive definiteness is tested by a factorisation, up to its rounding. Whether one row is a
combination of others is a question about exact numbers: a singular value of 1e-16 may be zero or
not. Modulo a prime every double is a whole number (``m 2^e`` with whole m), and elimination rounds
nothing. The rank modulo a prime is never above the true one, and below it only if the prime divides
certain minors. The primes are drawn with the matrix itself as the seed: the same for the same
matrix, and nobody can write a matrix down for primes that follow from it.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from qpsvm.numerics.arrays import EIGENVALUE_SIZE, Dense, Index, Matrix, as_dense
from qpsvm.numerics.cholesky import factored_in_place


def is_definite(matrix: Matrix, shift: float) -> bool:
    """Return whether a symmetric ``P + shift I`` has a factorisation with positive pivots.

    Of a sparse matrix it is ``L D L'`` without exchanges of pivots, of a dense one Cholesky's.
    """
    if not sp.issparse(matrix):
        shifted = np.array(matrix, order="C")
        shifted.flat[:: len(shifted) + 1] += shift
        try:
            factored_in_place(shifted)
        except np.linalg.LinAlgError:
            return False
        return True
    sparse = sp.csc_array(matrix + shift * sp.eye_array(matrix.shape[0]))
    mode = {"SymmetricMode": True}
    try:
        factor = splu(sparse, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=mode)
    except RuntimeError:  # a pivot of zero
        return False
    unexchanged = np.array_equal(factor.perm_r, factor.perm_c)
    return bool(unexchanged and (factor.U.diagonal() > 0.0).all())


def connected_rows(rows: Matrix) -> list[Index]:
    """Split rows into groups that have no variable in common."""
    m = rows.shape[0]
    if m == 0:
        return []
    if not sp.issparse(rows):
        if (rows != 0.0).all(axis=0).any():  # one variable is in all of them
            return [np.arange(m)]
        rows = sp.csr_array(rows)
    graph = sp.block_array([[None, rows], [rows.T, None]], format="csr")
    labels = connected_components(graph, directed=False)[1][:m]
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return [np.asarray(group) for group in np.split(order, ends)]


INDEPENDENCE = (1e-1, 1e-2, 1e-3, 1e-4)
"""Lower bounds on singular values of rows of length one that are tried in turn."""


def proven_independence(rows: Matrix) -> float | None:
    """Compute a lower bound above zero on the smallest singular value; None if none is found.

    ``B B' - s^2 I`` has a Cholesky factor if all singular values of B are above s.

    Parameters
    ----------
    rows : array or CSR array of shape (m, n)
        B, whose rows have length one.
    """
    try:
        products = rows @ rows.T
        is_small = products.shape[0] <= EIGENVALUE_SIZE
        matrix = as_dense(products) if is_small else products
        return next((s for s in INDEPENDENCE if is_definite(matrix, -s * s)), None)
    except MemoryError:  # too much fill in the factor: nothing is proven
        return None


# --- ranks in exact arithmetic -------------------------------------------------------------------


WITNESSES = (2, 3, 5, 7)
"""Bases with which Miller's and Rabin's test errs on no number below 3,215,031,751."""

Residues = NDArray[np.int64]


def primes_for(*parts: Dense) -> tuple[int, ...]:
    """Draw primes between 2^30 and 2^31 with some arrays as the seed.

    Products of two residues fit into 64 bits.

    Examples
    --------
    >>> primes = primes_for(np.eye(2))
    >>> primes == primes_for(np.eye(2)), primes == primes_for(2.0 * np.eye(2))
    (True, False)
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    random = np.random.default_rng(np.frombuffer(digest.digest(), dtype=np.uint32))
    found = list[int]()
    # all have to agree: a prime below 2^31 divides a given number with a chance of 1e-9
    while len(found) < 3:
        number = int(random.integers(2**30, 2**31)) | 1
        if is_prime(number) and number not in found:
            found.append(number)
    return tuple(found)


def is_prime(number: int) -> bool:
    """Return whether an odd number between 9 and 2^31 is prime.

    Source: Rabin (1980), "Probabilistic algorithm for testing primality"; Jaeschke (1993) for the
    bases.

    Examples
    --------
    >>> [n for n in range(9, 40, 2) if is_prime(n)]
    [11, 13, 17, 19, 23, 29, 31, 37]
    """
    twos = ((number - 1) & (1 - number)).bit_length() - 1
    odd = (number - 1) >> twos
    for base in WITNESSES:
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        if not any((power := power * power % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True


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
