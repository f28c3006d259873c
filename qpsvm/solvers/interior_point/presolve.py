"""Presolve: fix determined variables and merge identical ones, with an exact inverse.

* Variables that their bounds fix, or that are in no row of A and have a row of zeros in F, get
  their values at once.
* Variables with equal rows of F, equal q and equal columns of A are one variable: only their sum
  matters. It is shared out in proportion to the room that each has.

Rows and weights stay as they are, and so do their multipliers. (Columns of F need no scaling:
Cholesky's factorisation rounds alike whatever it is.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.numerics.duplicates import WORTH, Merged
from qpsvm.numerics.single_precision import rows_of
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.solvers.interior_point.factor import Factor
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import DEFAULTS, InteriorPointSettings
from qpsvm.solvers.interior_point.structured import StructuredProgram

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Bounds that are no further apart, relative, are one value."""

ROOM = 1e-3
"""Slack beyond what a row can have: a row that holds with equality everywhere needs some."""


@dataclass(frozen=True, eq=False)
class PresolveInverse:
    """Map from the presolved variables back to all variables.

    Attributes
    ----------
    base : array of shape (n,)
        What is known at once; zero for the others.
    left : array of int
        The others.
    merged : Merged or None
        Of these.
    kept : array of int
        The first of every group, all that are left if none are merged.
    lower, upper, d : arrays of shape (kept,)
        Of the groups.
    """

    base: Vector
    left: Index
    merged: Merged | None
    kept: Index
    lower: Vector
    upper: Vector
    d: Vector

    @classmethod
    def of(cls, given: StructuredProgram, rows: Dense) -> PresolveInverse | None:
        """Find what can be left out; None if nothing can."""
        base, is_known = _known(given, rows)
        left = np.flatnonzero(~is_known)
        merged = _merged(given, rows, left)
        if merged is None:
            if len(left) == len(base):
                return None
            bounds = given.lower[left], given.upper[left]
            return cls(base, left, None, left, *bounds, given.P.diag[left])
        kept = left[merged.kept]
        return cls(base, left, merged, kept, merged.lower, merged.upper, merged.diag)

    def undone(self, X: Vector) -> Vector:
        """The variables that were."""
        x = self.base.copy()
        x[self.left] = X if self.merged is None else self.merged.undone(X)
        return x


@dataclass(frozen=True, eq=False)
class Presolved:
    """A presolved program with the map back.

    Attributes
    ----------
    given : StructuredProgram
    program : FactorProgram
        With a slack variable for every row of G, last.
    reduction : PresolveInverse or None
    scales : array of shape (p + m,)
        What the rows of A and G were divided by.
    """

    given: StructuredProgram
    program: FactorProgram
    reduction: PresolveInverse | None
    scales: Vector

    @classmethod
    def of(cls, given: StructuredProgram, settings: InteriorPointSettings = DEFAULTS) -> Presolved:
        """Presolve a program; arrays that do not change are not copied."""
        P, m = given.P, len(given.h)
        rows = np.vstack([given.A, given.G]) if m else given.A
        scales = np.max(np.abs(rows), axis=1, initial=0.0)
        scales[scales == 0.0] = 1.0
        if (scales != 1.0).any():
            rows = rows / scales[:, None]
        b = np.concatenate([given.b, given.h]) / scales
        reduction = PresolveInverse.of(given, rows)
        if reduction is None:
            F = _factor(P, None, m, settings)
            lower, upper, d, q = given.lower, given.upper, P.diag, given.q
            offset, constant = given.offset, given.constant
        else:
            base, kept = reduction.base, reduction.kept
            F = _factor(P, kept, m, settings)
            lower, upper, d = reduction.lower, reduction.upper, reduction.d
            offset, b = given.offset + P.weights(base), b - rows @ base
            constant = given.constant + float(base @ (given.q + 0.5 * P.diag * base))
            q, rows = given.q[kept], rows[:, kept]
        if m:
            most = _most(rows[len(given.b) :], b, lower, upper)
            upper = np.concatenate([upper, most])
            lower, q, d = (np.concatenate([v, np.zeros(m)]) for v in (lower, q, d))
            rows = np.hstack([rows, np.vstack([np.zeros((len(given.b), m)), np.eye(m)])])
        program = FactorProgram(
            F=F, d=d, q=q, A=rows, b=b, lower=lower, upper=upper, offset=offset, constant=constant
        )
        return cls(given, program, reduction, scales)

    def point(self, X: Vector, y: Vector) -> tuple[Vector, Vector, Vector]:
        """``x`` and the multipliers of A and G in the original program."""
        given, multipliers = self.given, y / self.scales
        p, n = len(given.b), len(given.q)
        own = X[: len(X) - len(given.h)]
        x = own[:n] if self.reduction is None else self.reduction.undone(own)
        x = np.clip(x, given.lower, given.upper)  # shares round
        return x, multipliers[:p], np.maximum(multipliers[p:], 0.0)


def _known(given: StructuredProgram, rows: Dense) -> tuple[Vector, Mask]:
    """Values of variables that their bounds or costs alone determine, and a mask of them."""
    P, lower, upper = given.P, given.lower, given.upper
    with np.errstate(invalid="ignore"):
        fixed = upper - lower <= ROUNDING * np.maximum(np.abs(lower), np.abs(upper))
    fixed &= np.isfinite(lower) & np.isfinite(upper)
    values = np.where(fixed, lower, 0.0)
    alone = (P.diagonal() == P.diag) & ~rows.any(axis=0) & ~fixed
    if alone.any():
        i = np.flatnonzero(alone)
        q, d = given.q[i], P.diag[i]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.where(d > 0.0, -q / d, np.where(q > 0.0, -np.inf, np.inf))
        best[q == 0.0] = 0.0
        values[i] = np.clip(best, lower[i], upper[i])
        alone[i] = np.isfinite(values[i])  # else there is no optimum, which the search will find
        values[i] = np.where(alone[i], values[i], 0.0)
    return values, fixed | alone


def _merged(given: StructuredProgram, rows: Dense, left: Index) -> Merged | None:
    """The remaining variables with identical ones merged."""
    P, R = given.P, given.P.selection
    samples = R.samples(left) if R.index is not None or len(left) < R.size else None
    others = [R.signs[left], given.q[left], *rows[:, left]]
    return Merged.of(
        P.samples, samples, others, (given.lower[left], given.upper[left]), P.diag[left]
    )


def _factor(
    P: LowRankQuadratic, kept: Index | None, zeros: int, settings: InteriorPointSettings
) -> Factor:
    """The factor of the remaining variables, without samples that none of them uses."""
    R, X = P.selection, P.samples
    if kept is None:
        return Factor(X, R.signs, R.index, zeros, P.constant, settings)
    own = R.samples(kept)
    used = np.unique(own)
    if len(used) < WORTH * X.shape[0]:
        X, own = rows_of(X, used), np.searchsorted(used, own)
    in_order = len(own) == X.shape[0] and np.array_equal(own, np.arange(len(own)))
    return Factor(X, R.signs[kept], None if in_order else own, zeros, P.constant, settings)


def _most(G: Dense, b: Vector, lower: Vector, upper: Vector) -> Vector:
    """Upper bounds on the slack of every row: ``h - min Gx`` over the box, and some room."""
    h = b[len(b) - len(G) :]
    with np.errstate(invalid="ignore"):
        least = np.where(G > 0.0, G * lower, np.where(G < 0.0, G * upper, 0.0)).sum(axis=1)
    most = np.maximum(h - least, 0.0)
    return np.asarray(np.where(np.isfinite(most), most + ROOM * np.maximum(most, 1.0), np.inf))
