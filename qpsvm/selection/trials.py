"""Leave-one-out machines of many samples at once, by an active-set method.

A machine without sample i has ``beta_i = 0``; a few other samples change their steps. With S those
whose step became flat or vertical, and sample i if its coefficient followed, solve
``T_SS u_S = r_S`` for what was given and now follows, move the samples that are beyond the end of a
step to the next one, and solve again. All machines are tried at once: of each the few samples on
another step are a row of a sparse matrix.

Sources: Cauwenberghs and Poggio, "Incremental and decremental support vector machine learning",
NIPS 2000, for the downdate of one sample; Hintermueller, Ito and Kunisch, "The primal-dual active
set strategy as a semismooth Newton method", *SIAM J. Optim.* 13 (2002), for the trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import ABOVE, BELOW, Staircase
from qpsvm.selection.tableau import Program, Tableau, independent

NOBODY = -1
"""In place of a sample where none is left out."""

Steps: TypeAlias = NDArray[np.int8]
"""The step of every sample, in one byte."""


@short_repr
@dataclass(frozen=True, eq=False)
class Machines:
    """Machines of given steps, one a row, each without one sample.

    Attributes
    ----------
    samples : array of int of shape (m,)
        The sample that each machine is without.
    steps : array of int of shape (m, n)
    b : array of shape (m,)
        Intercepts.
    beta : array of shape (m, n)
    """

    samples: Index
    steps: Steps
    b: Vector
    beta: Dense

    @property
    def vertical(self) -> Mask:
        """Mask of the samples on vertical steps, without the one that is left out, shape (m, n)."""
        vertical = np.abs(self.steps) == 1
        vertical[np.arange(len(vertical)), self.samples] = False
        return np.asarray(vertical)

    def of(self, rows: Index | Mask) -> Machines:
        """Some of the machines."""
        return Machines(self.samples[rows], self.steps[rows], self.b[rows], self.beta[rows])

    @classmethod
    def joined(cls, parts: list[Machines]) -> Machines:
        """Machines of several lots."""
        names = ("samples", "steps", "b", "beta")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def by_trials(tableau: Tableau, samples: Index) -> Machines:
    """Find machines without one sample each; those whose trials do not end are left out.

    Parameters
    ----------
    tableau : Tableau
    samples : array of int of shape (m,)
        ``NOBODY`` for the machine of all samples.
    """
    steps = np.tile(tableau.steps.astype(np.int8), (len(samples), 1))
    low, high = _ends(tableau.program.stair)
    found = []
    for _ in range(LEAVE_ONE_OUT.trials):
        trial = Trial.of(tableau, steps, samples)
        is_stable = trial.improve(low, high)  # in place
        found.append(trial.machines(is_stable & trial.is_determined))
        goes_on = ~is_stable & trial.is_determined
        steps, samples = steps[goes_on], samples[goes_on]
        if not len(samples):
            break
    return Machines.joined(found)


def full_tableau(program: Program, beta: Vector) -> Tableau | None:
    """The tableau of the optimal machine, from coefficients that are nearly its own.

    None where it is not found, or does not exist.
    """
    for _ in range(LEAVE_ONE_OUT.rounds):
        beta = independent(program, beta)
        steps = program.stair.steps(beta, LEAVE_ONE_OUT.end_of_step)
        tableau = Tableau.of(program, steps)
        found = None if tableau is None else by_trials(tableau, np.array([NOBODY]))
        if found is None or not len(found.samples):
            return None
        beta = found.beta[0]
        if (found.steps[0] == steps).all():
            return tableau
    return None


def _ends(staircase: Staircase) -> tuple[Dense, Dense]:
    """Ends of all steps, widened by rounding, shape (5, n)."""
    low, high = (ends.copy() for ends in staircase.ends)
    widths = np.maximum(staircase.upper, -staircase.lowest)
    for ends, outwards in ((low, -LEAVE_ONE_OUT.noise), (high, LEAVE_ONE_OUT.noise)):
        ends[1::2] += outwards * widths
        flat = ends[::2]
        np.add(flat, outwards * np.maximum(np.abs(flat), 1.0), out=flat, where=np.isfinite(flat))
    return low, high


@dataclass(frozen=True, eq=False)
class Trial:
    """Decision values and coefficients of machines with given steps.

    The samples on another step than the tableau's, and the left-out ones, are entries (row, column)
    of a sparse matrix, in the order of the rows.

    Attributes
    ----------
    tableau : Tableau
    steps : array of int of shape (m, n)
    samples : array of int of shape (m,)
    row, column : arrays of int of shape (k,)
    follows : bool array of shape (k,)
        Entries of S.
    changes : array of shape (k,)
        Of the values that were given.
    x : array of shape (m, n)
        The values that follow in the tableau.
    """

    tableau: Tableau
    steps: Steps
    samples: Index
    row: Index
    column: Index
    follows: Mask
    changes: Vector
    x: Dense

    @classmethod
    def of(cls, tableau: Tableau, steps: Steps, samples: Index) -> Trial:
        """Solve for the machines of given steps."""
        free, m = tableau.is_free, len(samples)
        is_entry = steps != tableau.steps.astype(np.int8)
        leaves = np.flatnonzero(samples != NOBODY)
        is_entry[leaves, samples[leaves]] = True
        row, column = np.nonzero(is_entry)
        step, left = steps[row, column], samples[row]
        is_left, is_free = column == left, free[column]
        follows = np.where(is_left, is_free, (np.abs(step) == 1) != is_free)
        target = np.where(is_left, 0.0, tableau.program.stair.values()[step + 2, column])
        # a vertical step may have become another vertical one, a flat one another flat one
        is_beta = is_left | (follows == is_free)
        changes = target - np.where(is_beta, tableau.beta[column], tableau.f[column])
        S = np.flatnonzero(follows)
        given_left = np.flatnonzero((left[S] != NOBODY) & ~free[left[S]])
        across = tableau.T[column[S[given_left]], left[S[given_left]]]
        changes[S[given_left]] += across * tableau.beta[left[S[given_left]]]
        others = np.flatnonzero(~follows & ~is_left)
        if len(others):
            rows, compact = np.unique(row[others], return_inverse=True)
            of_others = _spread(tableau, compact, column[others], changes[others], len(rows))
            place = np.full(m, -1)
            place[rows] = np.arange(len(rows))
            S_beside = S[place[row[S]] >= 0]
            changes[S_beside] -= of_others[place[row[S_beside]], column[S_beside]]
        changes[S] = _solved(tableau, row[S], column[S], changes[S])
        out = _spread(tableau, row, column, changes, m)
        out += np.where(free, tableau.beta, tableau.f)
        return cls(tableau, steps, samples, row, column, follows, changes, out)

    @property
    def is_determined(self) -> Mask:
        """Machines that the steps determine, shape (m,)."""
        return np.asarray(np.isfinite(self.x).all(axis=1))

    def improve(self, low: Dense, high: Dense) -> Mask:
        """Change active sets where samples have left their ranges; mask the machines without any.

        Parameters
        ----------
        low, high : arrays of shape (5, n)
            The ends.
        """
        tableau, row, column = self.tableau, self.row, self.column
        all_samples = np.arange(len(tableau.f))
        own_low, own_high = (ends[tableau.steps + 2, all_samples] for ends in (low, high))
        is_beyond = self.x < own_low
        is_beyond |= self.x > own_high
        is_beyond[row, column] = False
        others = np.nonzero(is_beyond)
        given = np.where(tableau.is_free, tableau.f, tableau.beta)
        x = np.where(self.follows, given[column] + self.changes, self.x[row, column])
        step, is_left = self.steps[row, column] + 2, column == self.samples[row]
        beyond = ((x < low[step, column]) | (x > high[step, column])) & ~is_left
        rows = np.concatenate([others[0], row[beyond]])
        columns = np.concatenate([others[1], column[beyond]])
        x = np.concatenate([self.x[others], x[beyond]])
        step = self.steps[rows, columns] + 2
        after = np.where(x < low[step, columns], BELOW[step], ABOVE[step])
        # of equal samples one enters at a time: together they would depend on each other
        enters = np.flatnonzero((np.abs(after) == 1) & (np.abs(step - 2) != 1))
        group = rows[enters] * len(tableau.f) + tableau.program.equals[columns[enters]]
        _, first = np.unique(group, return_index=True)
        stays = np.delete(enters, first)
        after[stays] = step[stays] - 2
        self.steps[rows, columns] = after
        return np.asarray(np.bincount(rows, minlength=len(self.samples)) == 0)

    def machines(self, chosen: Mask) -> Machines:
        """Coefficients of some of the machines."""
        tableau, free = self.tableau, self.tableau.is_free
        m = int(np.count_nonzero(chosen))
        kept = chosen[self.row]
        row, column = (np.cumsum(chosen) - 1)[self.row[kept]], self.column[kept]
        samples, steps, x = self.samples[chosen], self.steps[chosen], self.x[chosen]
        change = self.changes[kept]
        step = steps[row, column]
        is_given, is_vertical = ~free[column], np.abs(step) == 1
        beta = np.where(free, x, tableau.beta)
        beta[row[is_given], column[is_given]] += change[is_given]
        values = tableau.program.stair.values()[step + 2, column]
        beta[row[~is_vertical], column[~is_vertical]] = values[~is_vertical]  # not rounded
        leaves = np.flatnonzero(samples != NOBODY)
        beta[leaves, samples[leaves]] = 0.0
        b = tableau.b + np.bincount(row, change * tableau.of_b[column], m).astype(np.float64)
        return Machines(samples, steps, b, beta)


def _spread(tableau: Tableau, row: Index, column: Index, change: Vector, m: int) -> Dense:
    """Changes of dependent values ``U T'`` for changes U of fixed values, shape (m, n)."""
    used = change != 0.0
    starts = np.searchsorted(row[used], np.arange(m + 1))
    shape = (m, len(tableau.f))
    return np.asarray(csr_array((change[used], column[used], starts), shape=shape) @ tableau.T.T)


def _solved(tableau: Tableau, row: Index, column: Index, right: Vector) -> Vector:
    """Solve ``T_SS u = r`` for the samples S of each row.

    Systems of similar size are solved together, filled up to the same size.

    Parameters
    ----------
    tableau : Tableau
    row, column : arrays of int of shape (k,)
    right : array of shape (k,)

    Returns
    -------
    array of shape (k,)
        Not a number for samples that depend on each other.
    """
    found = np.full(right.shape, np.nan)
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    sizes = np.diff(starts, append=len(row))
    widths = 2 ** np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    for width in np.unique(widths).tolist():
        chosen, at_once = np.flatnonzero(widths == width), max(1, LEAVE_ONE_OUT.block // width**2)
        for first in range(0, len(chosen), at_once):
            some = chosen[first : first + at_once]
            is_inside = np.arange(width) < sizes[some, None]
            entries = starts[some, None] + np.where(is_inside, np.arange(width), 0)
            index = column[entries]
            scale = np.where(is_inside, tableau.scale[index], 0.0)
            blocks = tableau.T[index[:, :, None], index[:, None, :]]
            blocks *= scale[:, :, None] * scale[:, None, :]
            blocks[:, np.arange(width), np.arange(width)] += ~is_inside
            scaled = scale * right[entries]
            solution = _solutions(blocks, scaled)
            largest, given = (np.max(np.abs(each), axis=1) for each in (solution, scaled))
            solution[~(largest * LEAVE_ONE_OUT.dependent < given)] = np.nan
            found[entries[is_inside]] = (scale * solution)[is_inside]
    return found


def _solutions(A: Dense, right: Dense) -> Dense:
    """Solve several linear systems; not a number where one is singular."""
    try:
        return np.asarray(np.linalg.solve(A, right[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        if len(A) == 1:
            return np.full(right.shape, np.nan)
    return np.concatenate(
        [_solutions(*pair) for pair in zip(A[:, None], right[:, None], strict=True)]
    )
