"""Machines without one sample, from the optimality conditions of the full machine as a linear map.

On a vertical step of a sample's subdifferential ``f_j`` is given and ``beta_j`` follows, on a flat
one the reverse. The tableau T maps what is given to what follows, linearly, for the steps of one
optimal machine: the principal pivot transform of K.

A machine without sample i has ``beta_i = 0``; a few other samples change their steps. With S those
whose step became flat or vertical, and sample i if its coefficient followed, solve
``T_SS u_S = r_S`` for what was given and now follows, move the samples that are beyond the end of a
step to the next one, and solve again. All machines are tried at once: of each the few samples on
another step are a row of a sparse matrix.

Sources: Tsatsomeros, "Principal pivot transforms", *Linear Algebra and its Applications* 307
(2000); Cauwenberghs and Poggio, "Incremental and decremental support vector machine learning",
NIPS 2000, for the downdate of one sample; Hintermueller, Ito and Kunisch, "The primal-dual active
set strategy as a semismooth Newton method", *SIAM J. Optim.* 13 (2002), for the trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.numerics.balls import gamma, outward
from qpsvm.selection.kernel_matrix import KernelBlock
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.subdifferential import ABOVE, AT_A, BELOW, Subdifferential

StepCodes: TypeAlias = NDArray[np.int8]
"""The step of every sample, in one byte."""


@short_repr
@dataclass(frozen=True, eq=False)
class Program:
    """Kernel, losses and rounding errors of a training problem that samples are left out of.

    Attributes
    ----------
    kernel : KernelBlock
    loss : Subdifferential
    upper_bound_error : float
        Relative error of its ``C_i``.
    is_free : bool
        Whether coefficients have to add up to zero: with a free intercept.
    equals : array of int of shape (n,)
        The index of the first sample that is equal.
    """

    kernel: KernelBlock
    loss: Subdifferential
    upper_bound_error: float
    is_free: bool
    equals: Index

    @cached_property
    def twins(self) -> Index:
        """The samples that are equal to another one."""
        return np.flatnonzero(np.bincount(self.equals)[self.equals] > 1)

    @cached_property
    def has_few_features(self) -> bool:
        """Return whether leave-one-out refits are faster over the weights w than over alpha."""
        features, n = self.kernel.features, len(self.equals)
        return features is not None and features.are_few(n, False)

    def missed(self, beta: Dense) -> Vector:
        """Bound on ``|sum(beta)|`` of each machine, which is zero up to rounding, shape (m,)."""
        size = np.sum(np.abs(beta), axis=1)
        return np.asarray(self.is_free * outward(gamma(2 * beta.shape[1] + 4) * size))


@short_repr
@dataclass(frozen=True, eq=False)
class Tableau:
    """Linear map from fixed to dependent decision values and coefficients of one machine.

    Attributes
    ----------
    program : Program
    T : array of shape (n, n)
    steps : array of int of shape (n,)
    f, beta : arrays of shape (n,)
        On their steps exactly; what follows is what T makes of it.
    b : float
    of_b : array of shape (n,)
        Change of b with what is given.
    """

    program: Program
    T: Dense
    steps: Index
    f: Vector
    beta: Vector
    b: float
    of_b: Vector

    @classmethod
    def of(cls, program: Program, beta: Vector) -> Tableau | None:
        """Build the tableau of an optimal machine; None if its steps do not determine it.

        Parameters
        ----------
        program : Program
        beta : array of shape (n,)
            Coefficients that are nearly its own.
        """
        beta = distinct(program, beta)
        steps = program.loss.steps(beta, LEAVE_ONE_OUT.eps)
        K, is_free = program.kernel.values, program.is_free
        n, free = len(K), np.abs(steps) == 1
        F, N = np.flatnonzero(free), np.flatnonzero(~free)
        if is_free and not len(F):
            return None  # any intercept of an interval is optimal
        k, m = len(F), len(F) + is_free
        M, across = np.ones((m, m)), np.ones((len(N), m))
        M[:k, :k], across[:, :k] = K[np.ix_(F, F)], K[np.ix_(N, F)]
        M[k:, k:] = 0.0
        inverse = _inverse(M)
        if inverse is None:
            return None
        moved = across @ inverse
        columns = np.empty((n, n))  # row by row a column of T: a few of these are added up often
        columns[np.ix_(F, F)] = inverse[:k, :k]
        columns[np.ix_(F, N)] = moved[:, :k].T
        columns[np.ix_(N, F)] = -moved[:, :k]
        columns[np.ix_(N, N)] = K[np.ix_(N, N)] - moved @ across.T
        of_b = np.zeros(n)
        if is_free:
            of_b[F], of_b[N] = inverse[-1, :-1], -moved[:, -1]
        beta, b = program.loss.fixed_values(steps), 0.0
        right = np.concatenate([beta[F] - across[:, :k].T @ beta[N], np.zeros(m - k)])
        right[k:] -= np.sum(beta[N])
        f_of_F, found = beta[F], inverse @ right
        beta[F] = found[:k]
        b = float(np.sum(found[k:]))
        f = K @ beta + b
        f[F] = f_of_F
        return cls(program, columns.T, steps, f, beta, b, of_b)

    @cached_property
    def is_free(self) -> Mask:
        """Mask of the samples whose coefficient is not fixed by their step, shape (n,)."""
        return np.asarray(np.abs(self.steps) == 1)

    @cached_property
    def scale(self) -> Vector:
        """Scale of the rows and columns of T, which has units of K and of 1/K; shape (n,)."""
        root = np.sqrt(float(np.max(np.diagonal(self.program.kernel.values), initial=0.0)) or 1.0)
        return np.asarray(np.where(self.is_free, root, 1.0 / root))

    def span_errors(self, samples: Index) -> int:
        """Number of some samples with ``alpha_i kappa_i >= s_i f(x_i)``, for a classifier."""
        diagonal = np.diagonal(self.T)
        with np.errstate(divide="ignore"):
            kappa = np.where(self.is_free, 1.0 / diagonal, diagonal)
        signs = np.where(self.program.loss.upper > 0.0, 1.0, -1.0)
        return int(np.count_nonzero((np.abs(self.beta) * kappa >= signs * self.f)[samples]))


def _inverse(M: Dense) -> Dense | None:
    """The inverse of a symmetric matrix; None if its condition number is too large."""
    if not len(M):
        return M
    try:
        inverse = np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return None
    inverse = 0.5 * (inverse + inverse.T)
    norms = [np.max(np.sum(np.abs(A), axis=0), initial=0.0) for A in (M, inverse)]
    return inverse if norms[0] * norms[1] < 1.0 / LEAVE_ONE_OUT.dependent else None


def distinct(program: Program, beta: Vector) -> Vector:
    """Rewrite a machine so that of equal samples at most one lies between its bounds.

    Equal samples on one step can share their coefficients in many ways, and no tableau would exist:
    the first of them take as much as they can.

    Parameters
    ----------
    program : Program
    beta : array of shape (n,)

    Returns
    -------
    array of shape (n,)
    """
    beta, loss = beta.copy(), program.loss
    steps = loss.steps(beta, LEAVE_ONE_OUT.eps)
    free = program.twins[np.abs(steps[program.twins]) == 1]
    place = np.column_stack([program.equals[free], steps[free]])
    kinds, group = np.unique(place, axis=0, return_inverse=True)
    for k in range(len(kinds)):
        own = free[group.ravel() == k]
        room = np.where(steps[own] == AT_A, loss.upper[own], loss.lowest[own])
        before, total = np.cumsum(room) - room, np.sum(beta[own])
        ends = np.minimum(room, 0.0), np.maximum(room, 0.0)
        beta[own] = np.clip(total - before, *ends)
    return beta


@short_repr
@dataclass(frozen=True, eq=False)
class LeftOutMachines:
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
    steps: StepCodes
    b: Vector
    beta: Dense

    @property
    def vertical(self) -> Mask:
        """Mask of the samples on vertical steps, without the one that is left out, shape (m, n)."""
        vertical = np.abs(self.steps) == 1
        vertical[np.arange(len(vertical)), self.samples] = False
        return np.asarray(vertical)

    def of(self, rows: Index | Mask) -> LeftOutMachines:
        """Some of the machines."""
        return LeftOutMachines(self.samples[rows], self.steps[rows], self.b[rows], self.beta[rows])

    @classmethod
    def joined(cls, parts: list[LeftOutMachines]) -> LeftOutMachines:
        """Machines of several lots."""
        names = ("samples", "steps", "b", "beta")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def by_trials(tableau: Tableau, samples: Index) -> LeftOutMachines:
    """Find machines without one sample each; those whose trials do not end are left out.

    Parameters
    ----------
    tableau : Tableau
    samples : array of int of shape (m,)
    """
    steps = np.tile(tableau.steps.astype(np.int8), (len(samples), 1))
    ends, found = _ends(tableau.program.loss), []
    for _ in range(LEAVE_ONE_OUT.trials):
        are_few = np.count_nonzero(steps != tableau.steps, axis=1) <= LEAVE_ONE_OUT.most_changed
        steps, samples = steps[are_few], samples[are_few]
        trial = _Trial.of(tableau, steps, samples)
        is_determined = np.isfinite(trial.x).all(axis=1)
        is_stable = trial.move(*ends)  # in place
        found.append(trial.machines(is_stable & is_determined))
        goes_on = ~is_stable & is_determined
        steps, samples = steps[goes_on], samples[goes_on]
        if not len(samples):
            break
    return LeftOutMachines.joined(found)


def _ends(loss: Subdifferential) -> tuple[Dense, Dense]:
    """Ends of all steps, widened by rounding, shape (5, n)."""
    width, noise = np.maximum(loss.upper, -loss.lowest), LEAVE_ONE_OUT.noise
    low, high = (ends.copy() for ends in loss.ends)
    for ends, outwards in ((low, -noise), (high, noise)):
        is_known, size = np.isfinite(ends), np.maximum(np.abs(ends), 1.0)
        size[1::2] = width
        ends[is_known] += outwards * size[is_known]
    return low, high


class _Trial(NamedTuple):
    """Decision values and coefficients of machines with given steps.

    Samples on another step than the tableau's, and left-out ones, are entries (row, column).

    Parameters
    ----------
    tableau : Tableau
    steps : array of int of shape (m, n)
    samples : array of int of shape (m,)
    row, column : arrays of int of shape (k,)
        In the order of the rows.
    changes : array of shape (k,)
        Of the values that the tableau takes as given.
    x : array of shape (m, n)
        The values that follow in the tableau.
    """

    tableau: Tableau
    steps: StepCodes
    samples: Index
    row: Index
    column: Index
    changes: Vector
    x: Dense

    @classmethod
    def of(cls, tableau: Tableau, steps: StepCodes, samples: Index) -> _Trial:
        """Solve for the machines of given steps."""
        free, f, beta = tableau.is_free, tableau.f, tableau.beta
        is_entry = steps != tableau.steps.astype(np.int8)
        is_entry[np.arange(len(samples)), samples] = True
        row, column = np.nonzero(is_entry)
        step, is_left = steps[row, column], column == samples[row]
        is_flat = is_left | (np.abs(step) != 1)
        target = np.where(is_left, 0.0, tableau.program.loss.values()[step + 2, column])
        changes = target - np.where(is_flat, beta[column], f[column])
        follows = is_flat == free[column]
        S, given = (np.flatnonzero(mask) for mask in (follows, ~follows))
        x = _spread(tableau, row[given], column[given], changes[given], len(steps))
        changes[S] -= x[row[S], column[S]]
        changes[S] = _solved(tableau, row[S], column[S], changes[S])
        x += _spread(tableau, row[S], column[S], changes[S], len(steps))
        x += np.where(free, beta, f)
        return cls(tableau, steps, samples, row, column, changes, x)

    def move(self, low: Dense, high: Dense) -> Mask:
        """Move samples beyond the ends of their steps to the next; mask the machines without any.

        Parameters
        ----------
        low, high : arrays of shape (5, n)
            The ends.
        """
        tableau, steps, row, column = self.tableau, self.steps, self.row, self.column
        everywhere, base = np.arange(len(tableau.f)), tableau.steps + 2
        is_beyond = (self.x < low[base, everywhere]) | (self.x > high[base, everywhere])
        is_beyond[row, column] = False
        rows, columns = np.nonzero(is_beyond)
        given = np.where(tableau.is_free, tableau.f, tableau.beta)[column] + self.changes
        is_vertical = np.abs(steps[row, column]) == 1  # its coefficient is looked at
        own = np.where(is_vertical == tableau.is_free[column], self.x[row, column], given)
        rows, columns = np.concatenate([rows, row]), np.concatenate([columns, column])
        x = np.concatenate([self.x[is_beyond], own])
        step = steps[rows, columns] + 2
        is_below, is_above = x < low[step, columns], x > high[step, columns]
        chosen = np.flatnonzero((is_below | is_above) & (columns != self.samples[rows]))
        rows, columns, step = rows[chosen], columns[chosen], step[chosen]
        after = np.where(is_below[chosen], BELOW[step], ABOVE[step])
        # of equal samples one enters at a time: together they would depend on each other
        enters = np.flatnonzero((np.abs(after) == 1) & (np.abs(step - 2) != 1))
        group = rows[enters] * len(tableau.f) + tableau.program.equals[columns[enters]]
        stays = np.delete(enters, np.unique(group, return_index=True)[1])
        after[stays] = step[stays] - 2
        steps[rows, columns] = after
        return np.asarray(np.bincount(rows, minlength=len(self.samples)) == 0)

    def machines(self, chosen: Mask) -> LeftOutMachines:
        """Coefficients of some of the machines."""
        tableau, free, kept = self.tableau, self.tableau.is_free, chosen[self.row]
        row, column = (np.cumsum(chosen) - 1)[self.row[kept]], self.column[kept]
        samples, steps, changes = self.samples[chosen], self.steps[chosen], self.changes[kept]
        beta = np.where(free, self.x[chosen], tableau.beta)
        is_given = ~free[column]
        beta[row[is_given], column[is_given]] += changes[is_given]
        step = steps[row, column]
        is_flat = np.abs(step) != 1
        exact = tableau.program.loss.values()[step + 2, column]
        beta[row[is_flat], column[is_flat]] = exact[is_flat]  # not rounded
        beta[np.arange(len(samples)), samples] = 0.0
        of_b = np.bincount(row, changes * tableau.of_b[column], len(samples))
        return LeftOutMachines(samples, steps, tableau.b + of_b.astype(np.float64), beta)


def _spread(tableau: Tableau, row: Index, column: Index, changes: Vector, m: int) -> Dense:
    """Changes of dependent values ``U T'`` for changes U of fixed values, shape (m, n)."""
    starts, shape = np.searchsorted(row, np.arange(m + 1)), (m, len(tableau.f))
    return np.asarray(csr_array((changes, column, starts), shape=shape) @ tableau.T.T)


def _solved(tableau: Tableau, row: Index, column: Index, right: Vector) -> Vector:
    """Solve ``T_SS u = r`` for the samples S of each row, those of one size together.

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
    for size in np.unique(sizes).tolist():
        own = starts[sizes == size]
        entries = own[:, None] + np.arange(size)
        index = column[entries]
        scale = tableau.scale[index]
        blocks = tableau.T[index[:, :, None], index[:, None, :]]
        blocks *= scale[:, :, None] * scale[:, None, :]
        scaled = scale * right[entries]
        solution = _solutions(blocks, scaled)
        largest, given = (np.max(np.abs(each), axis=1) for each in (solution, scaled))
        solution[~(largest * LEAVE_ONE_OUT.dependent < given)] = np.nan
        found[entries] = scale * solution
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
