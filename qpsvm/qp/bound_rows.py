"""Rows of ``Gx <= h`` with one variable each, written as the bounds that they are.

The textbook's program has ``G = [-I; I]``; a row ``a x_j <= r`` says ``x_j <= r / a`` for a
positive a, and ``x_j >= r / a`` for a negative one. A bound is a matter of one comparison, while
the proof that hundreds of rows hold beside a point takes a factorisation.

A quotient is rounded inwards: a point within the bounds satisfies the rows in exact arithmetic.
Bounds that would cross by that stay rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Mask, Vector
from qpsvm.numerics.precision import product_parts
from qpsvm.numerics.rows import take_rows, terms_per_row
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.qp.transforms import Identity, Reversible

SAFE = 2.0**-400, 2.0**400
"""Range of the numbers of a row whose quotient and products neither overflow nor underflow; other
rows stay rows."""


@dataclass(frozen=True, eq=False)
class BoundsAsRows:
    """Inverse of ``rows_as_bounds``: multipliers of bounds that were rows, as those of the rows.

    Attributes
    ----------
    kept : array of int
        The rows that are no bounds.
    row, variable : arrays of int of shape (k,)
        The rows that are bounds, and their variables.
    entry : array of shape (k,)
        The numbers a.
    lower, upper : arrays of int of shape (n,)
        Position among those rows of the one that gives the bound of each variable; -1 where the
        program's own bound is tighter.
    inexact : array of shape (n,)
        How far the tighter bound of a variable may lie from its exact quotient.
    """

    kept: Index
    row: Index
    variable: Index
    entry: Vector
    lower: Index
    upper: Index
    inexact: Vector

    def __call__(self, solution: QPSolution) -> QPSolution:
        z, z_lower, z_upper = solution.z, solution.z_lower, solution.z_upper
        n = len(self.lower)
        fits = z is not None and z.shape == self.kept.shape
        if not fits or z_lower is None or z_upper is None or len(z_lower) != n or len(z_upper) != n:
            return solution.replace(z=None, z_lower=None, z_upper=None)
        full = np.zeros(len(self.kept) + len(self.row))
        full[self.kept] = z
        remaining = []
        for owner, multipliers in ((self.lower, z_lower), (self.upper, z_upper)):
            owned = owner >= 0
            position = owner[owned]
            full[self.row[position]] = multipliers[owned] / np.abs(self.entry[position])
            remaining.append(np.where(owned, 0.0, multipliers))
        return solution.replace(z=full, z_lower=remaining[0], z_upper=remaining[1])

    def forward(self, solution: QPSolution) -> QPSolution:
        """Map a solution of the program with rows to the one with bounds."""
        z, z_lower, z_upper = solution.z, solution.z_lower, solution.z_upper
        if z is None or z_lower is None or z_upper is None:
            return solution.replace(z=None, z_lower=None, z_upper=None)
        pressed, is_upper = z[self.row] * np.abs(self.entry), self.entry > 0.0
        z_lower, z_upper = z_lower.copy(), z_upper.copy()
        np.add.at(z_lower, self.variable[~is_upper], pressed[~is_upper])
        np.add.at(z_upper, self.variable[is_upper], pressed[is_upper])
        return solution.replace(z=z[self.kept], z_lower=z_lower, z_upper=z_upper)


def rows_as_bounds(program: QuadraticProgram) -> tuple[QuadraticProgram, Reversible]:
    """Write rows with a single variable as bounds; see the module's docstring.

    Returns
    -------
    program : QuadraticProgram
        The very program where no row is a bound.
    inverse : Reversible
        ``BoundsAsRows``, or the identity.

    Examples
    --------
    >>> textbook = QuadraticProgram([[1.0]], [-3.0], G=[[-1.0], [2.0]], h=[0.0, 4.0])
    >>> program, _ = rows_as_bounds(textbook)
    >>> program.n_inequalities, program.lb, program.ub
    (0, array([0.]), array([2.]))
    """
    row, variable, entry = _single_entries(program)
    if len(row) == 0:
        return program, Identity()
    quotient, inexact = _inwards(entry, program.h[row])
    is_upper = entry > 0.0
    lb, lower = _tightest(program.lb, variable, np.where(is_upper, -np.inf, quotient), +1.0)
    ub, upper = _tightest(program.ub, variable, np.where(is_upper, quotient, np.inf), -1.0)
    lb, ub = lb + 0.0, ub + 0.0  # no negative zeros
    crossing = lb > ub
    if crossing.any():  # rows that contradict each other, or an equation in two rows
        lb, ub = np.where(crossing, program.lb, lb), np.where(crossing, program.ub, ub)
        lower, upper = np.where(crossing, -1, lower), np.where(crossing, -1, upper)
    is_bound = ~crossing[variable]
    if not is_bound.any():
        return program, Identity()
    position = np.cumsum(is_bound) - 1
    row, variable, entry = row[is_bound], variable[is_bound], entry[is_bound]
    lower, upper = (np.where(owner >= 0, position[owner], -1) for owner in (lower, upper))
    margin = np.zeros(program.n_variables)
    np.maximum.at(margin, variable, inexact[is_bound])
    kept = np.setdiff1d(np.arange(program.n_inequalities), row)
    bounded = program.replace(G=take_rows(program.G, kept), h=program.h[kept], lb=lb, ub=ub)
    return bounded, BoundsAsRows(kept, row, variable, entry, lower, upper, margin)


def _single_entries(program: QuadraticProgram) -> tuple[Index, Index, Vector]:
    """Rows with one entry and numbers of ordinary size: their indices, variables and entries."""
    none = np.zeros(0, dtype=np.intp)
    if program.n_inequalities == 0:
        return none, none, np.zeros(0)
    count = _entries_per_row(program)
    row = np.flatnonzero((count == 1) & np.isfinite(program.h))
    if len(row) == 0:
        return none, none, np.zeros(0)
    rows = take_rows(program.G, row)
    if sp.issparse(rows):
        compressed = sp.csr_array(rows)
        compressed.eliminate_zeros()
        variable, entry = compressed.indices.astype(np.intp), compressed.data
    else:
        variable = np.argmax(rows != 0.0, axis=1)
        entry = rows[np.arange(len(row)), variable]
    right = np.abs(program.h[row])
    is_safe = _is_safe(np.abs(entry)) & (_is_safe(right) | (right == 0.0))
    return row[is_safe], variable[is_safe], np.asarray(entry[is_safe])


def _entries_per_row(program: QuadraticProgram) -> Vector:
    if not sp.issparse(program.G):
        return terms_per_row(program.G)
    used = sp.csr_array(program.G, copy=True)
    used.eliminate_zeros()
    return terms_per_row(used)


def _is_safe(numbers: Vector) -> Mask:
    return (numbers >= SAFE[0]) & (numbers <= SAFE[1])


def _inwards(entry: Vector, right: Vector) -> tuple[Vector, Vector]:
    """The bounds ``right / entry``, rounded inwards, and how far the exact ones may be."""
    quotient = right / entry + 0.0  # no negative zero
    product, lost = product_parts(entry, quotient)
    beyond = (product - right) + lost  # exact in sign: the two first terms differ by an ulp at most
    inside = np.where(entry > 0.0, -np.inf, np.inf)
    rounded = np.where(beyond > 0.0, np.nextafter(quotient, inside), quotient)
    return rounded, np.where(beyond == 0.0, 0.0, 2.0 * np.spacing(np.abs(quotient)))


def _tightest(bound: Vector, variable: Index, values: Vector, sign: float) -> tuple[Vector, Index]:
    """Combine bounds with those that single-variable rows imply; return bounds and their rows."""
    tightest, owner = sign * bound, np.full(len(bound), -1, dtype=np.intp)
    order = np.argsort(sign * values, kind="stable")  # the last one written is the tightest
    ordered = order[sign * values[order] > tightest[variable[order]]]
    tightest[variable[ordered]] = sign * values[ordered]
    owner[variable[ordered]] = ordered
    return sign * tightest, owner
