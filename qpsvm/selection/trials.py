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

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.selection.blocks import solved, spread
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import ABOVE, BELOW, Staircase
from qpsvm.selection.tableau import Tableau

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
    rates : array of shape (m, n)
        Change of the coefficients as that of the left-out sample grows and the others keep their
        steps.
    """

    samples: Index
    steps: Steps
    b: Vector
    beta: Dense
    rates: Dense

    def of(self, rows: Index | Mask) -> Machines:
        """Some of the machines."""
        return Machines(
            self.samples[rows], self.steps[rows], self.b[rows], self.beta[rows], self.rates[rows]
        )

    @classmethod
    def joined(cls, parts: list[Machines]) -> Machines:
        """Machines of several lots."""
        names = ("samples", "steps", "b", "beta", "rates")
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
    low, high = _ends(tableau.staircase)
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


def optimal(tableau: Tableau) -> tuple[Index, Vector] | None:
    """Steps and coefficients of the optimal machine of all samples; None if it is not found.

    The steps are those of the tableau, unless they came from a machine that was not accurate.
    """
    found = by_trials(tableau, np.array([NOBODY]))
    if not len(found.samples):
        return None
    return found.steps[0].astype(np.int64), found.beta[0]


def of_steps(tableau: Tableau, steps: Steps, samples: Index) -> Machines:
    """Return the machines of given steps, without those that the steps do not determine."""
    trial = Trial.of(tableau, steps, samples)
    return trial.machines(trial.is_determined)


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
    changes : array of shape (k, 2)
        Of the values that were given, for the machine and for its direction.
    x : array of shape (m, n)
        The values that follow in the tableau.
    """

    tableau: Tableau
    steps: Steps
    samples: Index
    row: Index
    column: Index
    follows: Mask
    changes: Dense
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
        target = np.where(is_left, 0.0, tableau.staircase.values()[step + 2, column])
        # a vertical step may have become another vertical one, a flat one another flat one
        is_beta = is_left | (follows == is_free)
        changes = np.zeros((len(row), 2))
        changes[:, 0] = target - np.where(is_beta, tableau.beta[column], tableau.f[column])
        changes[:, 1] = is_left
        S = np.flatnonzero(follows)
        given_left = np.flatnonzero((left[S] != NOBODY) & ~free[left[S]])
        across = tableau.T[column[S[given_left]], left[S[given_left]]]
        changes[S[given_left], 0] += across * tableau.beta[left[S[given_left]]]
        changes[S[given_left], 1] -= across
        others = np.flatnonzero(~follows & ~is_left)
        if len(others):
            rows, compact = np.unique(row[others], return_inverse=True)
            of_others = spread(tableau, compact, column[others], changes[others, 0], len(rows))
            place = np.full(m, -1)
            place[rows] = np.arange(len(rows))
            S_beside = S[place[row[S]] >= 0]
            changes[S_beside, 0] -= of_others[place[row[S_beside]], column[S_beside]]
        changes[S] = solved(tableau, row[S], column[S], changes[S])
        out = spread(tableau, row, column, changes[:, 0], m)
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
        x = np.where(self.follows, given[column] + self.changes[:, 0], self.x[row, column])
        step, is_left = self.steps[row, column] + 2, column == self.samples[row]
        beyond = ((x < low[step, column]) | (x > high[step, column])) & ~is_left
        rows = np.concatenate([others[0], row[beyond]])
        columns = np.concatenate([others[1], column[beyond]])
        x = np.concatenate([self.x[others], x[beyond]])
        step = self.steps[rows, columns] + 2
        after = np.where(x < low[step, columns], BELOW[step], ABOVE[step])
        # of equal samples one enters at a time: together they would depend on each other
        enters = np.flatnonzero((np.abs(after) == 1) & (np.abs(step - 2) != 1))
        group = rows[enters] * len(tableau.f) + tableau.equals[columns[enters]]
        _, first = np.unique(group, return_index=True)
        stays = np.delete(enters, first)
        after[stays] = step[stays] - 2
        self.steps[rows, columns] = after
        return np.asarray(np.bincount(rows, minlength=len(self.samples)) == 0)

    def machines(self, chosen: Mask) -> Machines:
        """Coefficients and rates of some of the machines."""
        tableau, free = self.tableau, self.tableau.is_free
        m = int(np.count_nonzero(chosen))
        kept = chosen[self.row]
        row, column = (np.cumsum(chosen) - 1)[self.row[kept]], self.column[kept]
        samples, steps, x = self.samples[chosen], self.steps[chosen], self.x[chosen]
        change, along = self.changes[kept].T
        step = steps[row, column]
        is_given, is_vertical = ~free[column], np.abs(step) == 1
        beta = np.where(free, x, tableau.beta)
        beta[row[is_given], column[is_given]] += change[is_given]
        values = tableau.staircase.values()[step + 2, column]
        beta[row[~is_vertical], column[~is_vertical]] = values[~is_vertical]  # not rounded
        rates = spread(tableau, row, column, along, m)
        rates[row[is_given], column[is_given]] = along[is_given]
        rates[np.abs(steps) != 1] = 0.0  # that of the others is rounding
        leaves = np.flatnonzero(samples != NOBODY)
        at = leaves, samples[leaves]
        beta[at], rates[at] = 0.0, 1.0
        b = tableau.b + np.bincount(row, change * tableau.of_b[column], m).astype(np.float64)
        return Machines(samples, steps, b, beta, rates)
