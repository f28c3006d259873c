"""Kernel duals as the compiled steps of pairs take them, in the coefficients of the expansion.

With ``P = S K S + c s s' + diag(d)`` and factors s_i that have one absolute value, the variables
``v_i = s_i x_i`` have the Hessian ``K + c 11' + diag(d / s^2)``, and a row of labels becomes a sum
of all v. The rows of a nu machine keep the sum over either class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.native.loops import Kept
from qpsvm.numerics.arrays import Array, Dense, Index, Vector
from qpsvm.qp.sample_quadratic import SampleQuadratic
from qpsvm.solvers.box.program import BoxProgram

_KEPT: tuple[Kept, ...] = ("none", "sum", "sums")


@dataclass(frozen=True, eq=False)
class PairProgram:
    """A kernel dual in ``v_i = s_i x_i``, with the sums over groups that its rows keep.

    Slack variables, behind the others in the box program, stay where they are.

    Attributes
    ----------
    s : array of shape (n,)
        Factors of the variables, with one absolute value.
    samples : array of int of shape (n,)
        The sample of every variable.
    lower, upper, added : arrays of shape (n,)
        Bounds of v, and what the Hessian's diagonal has beside the kernel.
    constant : float
        c.
    group : int8 array of shape (n,)
        The group of every variable.
    rows : array of shape (p, g)
        What a unit of v in each group adds to every row; ``g = 0`` where there are no rows.
    """

    s: Vector
    samples: Index
    lower: Vector
    upper: Vector
    added: Vector
    constant: float
    group: Array
    rows: Dense

    @classmethod
    def of(cls, box: BoxProgram, P: SampleQuadratic) -> PairProgram | None:
        """Convert a box program whose equality rows fix at most two sums; None for any other."""
        n = P.size
        s = P.selection.signs
        size = np.abs(s)
        if not n or size[0] == 0.0 or (size != size[0]).any() or P.constant < 0.0:
            return None
        # the first variable of each group, and the column of the rows that its members share
        per_unit = box.A[:, :n] / s
        group, members = np.zeros(n, dtype=np.int8), [0]
        other = (per_unit != per_unit[:, :1]).any(axis=0)
        if other.any():
            members.append(int(np.argmax(other)))
            group[other] = 1
            if (per_unit[:, other] != per_unit[:, members[1:]]).any():
                return None
        rows = per_unit[:, members]
        if not rows.any():
            rows = rows[:, :0]
        elif len(members) == 2 and np.linalg.matrix_rank(rows) < 2:
            return None  # one sum of two kinds of variables
        ends = s * box.lower[:n], s * box.upper[:n]
        samples = np.asarray(P.selection.samples(np.arange(n)))
        added = P.diag / size[0] ** 2
        return cls(s, samples, *_ordered(*ends), added, P.constant, group, rows)

    @property
    def kept(self) -> Kept:
        """Name of the kind of equality rows, as ``descend_pairs`` takes it."""
        return _KEPT[self.rows.shape[1]]

    def filled(self, box: BoxProgram) -> Vector:
        """Return a feasible point with as few variables strictly between their bounds as possible.

        Zero where that does; else the first variables of each group are at their other bound, as in
        LIBSVM.
        """
        n = len(self.s)
        x = box.clip(np.zeros(box.size))
        missed = box.b - box.A @ x
        if not missed.any() or not self.rows.size:
            return x
        v = self.s * x[:n]
        wanted = np.linalg.lstsq(self.rows, missed, rcond=None)[0]
        for number, amount in enumerate(wanted):
            own = np.flatnonzero(self.group == number)
            room = (self.upper[own] - v[own]) if amount > 0.0 else (v[own] - self.lower[own])
            before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
            v[own] += np.sign(amount) * np.clip(abs(amount) - before, 0.0, room)
        return box.clip(np.concatenate([v / self.s, x[n:]]))

    def violations(self, v: Vector, g: Vector) -> tuple[Vector, Vector]:
        """Return each variable's violation of optimality as one that rises, and as one that falls.

        What a unit of v lowers the objective by, together with the best partner of its group where
        a sum is kept; minus infinity at the bound.
        """
        rising = np.where(v < self.upper, -g, -np.inf)
        falling = np.where(v > self.lower, g, -np.inf)
        for number in range(self.rows.shape[1]):
            own = self.group == number
            most = np.max(rising[own], initial=-np.inf), np.max(falling[own], initial=-np.inf)
            rising[own] += most[1]
            falling[own] += most[0]
        return rising, falling


def _ordered(one: Vector, other: Vector) -> tuple[Vector, Vector]:
    return np.minimum(one, other), np.maximum(one, other)
