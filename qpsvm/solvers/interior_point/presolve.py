"""Presolve: fix determined variables and merge identical ones, with an exact inverse.

* Variables that their bounds fix, or that are in no row of A and have a row of zeros in F, get
  their values at once.
* Variables with equal rows of F, equal q and equal columns of A are one variable: only their sum
  matters. It is shared out in proportion to the room that each has.

Rows and weights stay as they are, and so do their multipliers. (Columns of F need no scaling:
Cholesky's factorisation rounds alike whatever it is.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.arrays import Index, Mask, Vector
from qpsvm.numerics.duplicates import WORTH, Merged
from qpsvm.qp.solution import QPSolution
from qpsvm.qp.transforms import Chain, Inverse
from qpsvm.solvers.interior_point.factor_settings import FACTORS
from qpsvm.solvers.interior_point.program import FactorProgram


@dataclass(frozen=True, eq=False)
class RestoreVariables:
    """Inverse of presolve: x of all variables.

    Attributes
    ----------
    given : FactorProgram
    base : array of shape (n,)
        What is known at once; zero for the others.
    left : array of int
        The others.
    merged : Merged or None
        Of these.
    """

    given: FactorProgram
    base: Vector
    left: Index
    merged: Merged | None

    def __call__(self, solution: QPSolution) -> QPSolution:
        x, own = self.base.copy(), np.asarray(solution.x)
        x[self.left] = own if self.merged is None else self.merged.undone(own)
        return solution.replace(x=np.clip(x, self.given.lower, self.given.upper))

    def forward(self, solution: QPSolution) -> QPSolution:
        """Translate a solution to the smaller program that presolve has left."""
        own = np.asarray(solution.x)[self.left]
        return solution.replace(x=own if self.merged is None else self.merged.sums(own))


def presolve(program: FactorProgram) -> tuple[FactorProgram, Inverse]:
    """Presolve a program; return it unchanged where nothing can be removed."""
    base, is_known = _known(program)
    left = np.flatnonzero(~is_known)
    merged = _merged(program, left)
    if merged is None and len(left) == program.size:
        return program, Chain()
    kept = left if merged is None else left[merged.kept]
    smaller = program.restricted(kept, base, copied_below=WORTH)
    if merged is not None:
        smaller = replace(smaller, d=merged.diag, lower=merged.lower, upper=merged.upper)
    return smaller, RestoreVariables(program, base, left, merged)


def _known(p: FactorProgram) -> tuple[Vector, Mask]:
    """Values of variables that their bounds or costs alone determine, and a mask of them."""
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(p.lower), np.abs(p.upper))
        fixed = p.upper - p.lower <= FACTORS.equal_bounds * size
    fixed &= np.isfinite(p.lower) & np.isfinite(p.upper)
    values = np.where(fixed, p.lower, 0.0)
    alone = (p.F.diagonal() + p.d == p.d) & ~p.A.any(axis=0) & ~fixed
    if alone.any():
        i = np.flatnonzero(alone)
        q, d = p.q[i], p.d[i]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.where(d > 0.0, -q / d, np.where(q > 0.0, -np.inf, np.inf))
        best[q == 0.0] = 0.0
        values[i] = np.clip(best, p.lower[i], p.upper[i])
        alone[i] = np.isfinite(values[i])  # else there is no optimum, which the search will find
        values[i] = np.where(alone[i], values[i], 0.0)
    return values, fixed | alone


def _merged(p: FactorProgram, left: Index) -> Merged | None:
    """The remaining variables with identical ones merged."""
    R = p.F.selection
    samples = R.samples(left) if R.index is not None or len(left) < R.size else None
    others = [R.signs[left], p.q[left], *p.A[:, left]]
    return Merged.of(p.F.samples, samples, others, (p.lower[left], p.upper[left]), p.d[left])
