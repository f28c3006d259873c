"""Few rows ``Ax = b``, ``Gx <= h`` as equalities, with a slack variable per inequality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Dense, Matrix, Vector, as_dense


@dataclass(frozen=True, eq=False)
class SlackRows:
    """``Ax = b`` and ``Gx <= h`` as ``M (x, s) = right`` with ``s >= 0``.

    Attributes
    ----------
    matrix : array of shape (p + m, n + m)
        M, its rows divided by ``scales``.
    right : array of shape (p + m,)
    scales : array of shape (p + m,)
        The largest entry of every row of A and G; 1 where that is zero.
    n_slack : int
        m, the number of inequalities, which come last.
    """

    matrix: Dense
    right: Vector
    scales: Vector
    n_slack: int

    @classmethod
    def of(cls, A: Matrix, b: Vector, G: Matrix, h: Vector) -> SlackRows:
        """Add the slack variables and scale the rows to a largest entry of 1."""
        p, m = len(b), len(h)
        rows = np.vstack([as_dense(A), as_dense(G)]) if m else as_dense(A)
        scales = np.max(np.abs(rows), axis=1, initial=0.0)
        scales[scales == 0.0] = 1.0
        if (scales != 1.0).any():
            rows = rows / scales[:, None]
        if m:
            rows = np.hstack([rows, np.vstack([np.zeros((p, m)), np.eye(m)])])
        return cls(rows, np.concatenate([b, h]) / scales, scales, m)

    @property
    def n_equalities(self) -> int:
        """Number of equalities p."""
        return len(self.right) - self.n_slack

    def extended(self, v: Vector, slack: Vector | float = 0.0) -> Vector:
        """Append the entries of the slack variables to a vector of x."""
        return np.append(v, np.broadcast_to(slack, self.n_slack)) if self.n_slack else v

    def slack(self, x: Vector) -> Vector:
        """Compute the slacks ``h - Gx`` of the inequalities, rows scaled to largest entry one."""
        own = slice(self.n_equalities, None)
        return np.asarray(self.right[own] - self.matrix[own, : len(x)] @ x)

    def multipliers(self, y: Vector) -> tuple[Vector, Vector]:
        """The multipliers of ``Ax = b`` and of ``Gx <= h``, from those of the scaled rows."""
        of_rows, p = y / self.scales, self.n_equalities
        return of_rows[:p], np.maximum(of_rows[p:], 0.0)
