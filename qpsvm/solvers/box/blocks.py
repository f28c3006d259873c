"""Block decomposition for kernel duals: the most violating variables, solved by steps of pairs.

With ``P = S K S + c s s' + diag(d)`` and factors s_i that have one absolute value, the variables
``v_i = s_i x_i`` have the Hessian ``K + c 11' + diag(d / s^2)``, and a row of labels becomes a sum
of all v. The rows of a nu machine keep the sum over either class.

A round takes a block of variables: half of them from the last block, the free ones first; the other
half are those whose conditions are violated most, as many that should rise as fall. Their part of
the kernel matrix is evaluated as a matrix product, and the compiled core minimises over them, by
steps of two variables at a time and Newton steps in turn, until their violation is small beside
that of all. What changed enters the
gradient of all through its columns of the kernel matrix, which stay in memory.

A program that fits into one block is solved there. Of a larger one the last digits are left to
Newton steps on the free variables (``working_sets``): where bounds are far apart, steps of
pairs are many.

Sources: Joachims, "Making large-scale SVM learning practical", in *Advances in Kernel Methods*
(1999), section 11.2 (blocks); Fan, Chen and Lin, "Working set selection using second order
information for training SVM", *JMLR* 6 (2005) (pairs); Wen, Shi, Li, He and Chen, "ThunderSVM",
*JMLR* 19 (2018) (half of every block is kept).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from qpsvm.native import CallStatus, MachineRun, RunNumbers, SmallMachine, descend_pairs
from qpsvm.native.loops import Kept
from qpsvm.numerics.arrays import Array, Dense, Index, Vector
from qpsvm.qp.sample_quadratic import SampleQuadratic
from qpsvm.solvers.box.curvature import KernelColumns
from qpsvm.solvers.box.program import BoxProgram, feasible, row_multipliers
from qpsvm.solvers.box.settings import DEFAULTS, ActiveSetSettings
from qpsvm.solvers.budget import Point, WorkBudget

RUN = RunNumbers()

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
        one, other_end = s * box.lower[:n], s * box.upper[:n]
        bounds = np.minimum(one, other_end), np.maximum(one, other_end)
        samples = np.asarray(P.selection.samples(np.arange(n)))
        return cls(s, samples, *bounds, P.diag / size[0] ** 2, P.constant, group, rows)

    @property
    def n_groups(self) -> int:
        """Number of sums that are kept."""
        return int(self.rows.shape[1])

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

    # --- of arrays of NumPy, or of a device: xp is their module -----------------------------------

    def is_free(self, v: Any) -> Any:
        """Return whether each variable is strictly between its bounds."""
        return (v > self.lower) & (v < self.upper)

    def violations(self, xp: Any, v: Any, g: Any) -> tuple[Any, Any]:
        """Return each variable's violation of optimality as one that rises, and as one that falls.

        What a unit of v lowers the objective by, together with the best partner of its group where
        a sum is kept; minus infinity at the bound.
        """
        rising = xp.where(v < self.upper, -g, -xp.inf)
        falling = xp.where(v > self.lower, g, -xp.inf)
        for number in range(self.n_groups):
            own = self.group == number if self.n_groups > 1 else slice(None)
            up, down = rising[own], falling[own]
            rising[own], falling[own] = up + xp.max(down), down + xp.max(up)
        return rising, falling

    def next_block(
        self, xp: Any, last: Any, size: int, is_free: Any, violations: tuple[Any, Any]
    ) -> Any:
        """Choose a block: free variables of the last one, and the largest violations."""
        chosen = xp.zeros(len(is_free), dtype=bool)
        if len(last):
            rank = xp.where(is_free[last], xp.inf, xp.maximum(*violations)[last])
            chosen[last[largest_of(xp, rank, size // 2)]] = True
        groups = max(1, self.n_groups)
        room = -(-(size - int(chosen.sum())) // (2 * groups))
        for number in range(groups):
            own = self.group == number if groups > 1 else True
            for direction in violations:
                violation = xp.where(own & ~chosen, direction, -xp.inf)
                worst = largest_of(xp, violation, room)
                chosen[worst[violation[worst] > 0.0]] = True
        return xp.flatnonzero(chosen)

    # --- of a block -------------------------------------------------------------------------------

    def by_pairs(
        self, K: Dense, places: Index, block: Index, v: Vector, g: Vector, tol: float, most: int
    ) -> bool:
        """Minimise over a block by steps of pairs, in place; return whether that was the end.

        Parameters
        ----------
        K : array of shape (k, k)
            The kernel matrix of the block's samples.
        places : array of int of shape (m,)
            The row of K of every variable.
        block : array of int of shape (m,)
        v, g : arrays of shape (m,)
            The point and its gradient.
        tol : float
            Violation to end with.
        most : int
            Steps per variable, at most.
        """
        of_places = {}
        if not np.array_equal(places, np.arange(len(K))):  # two variables share a row
            places = places.astype(np.int64)
            of_places = {"offsets": places * len(K), "columns": places}
            K = K.ravel()
        steps = descend_pairs(
            K,
            v,
            g,
            self.lower[block],
            self.upper[block],
            kept=_KEPT[self.n_groups],
            tol=tol,
            max_steps=most * len(block),
            groups=self.group[block],
            added=self.added[block],
            constant=self.constant,
            **of_places,
        )
        return steps.status is CallStatus.DONE

    def by_newton_steps(
        self, K: Dense, places: Index, block: Index, v: Vector, g: Vector, tol: float
    ) -> Vector | None:
        """Minimise over a block by pairs and Newton steps in turn; None where more is left to do.

        The variables and their gradient change in place; what is left is for steps of pairs.
        """
        lower, upper = self.lower[block], self.upper[block]
        if (lower > 0.0).any() or (upper < 0.0).any():
            return None
        if np.count_nonzero((v > lower) & (v < upper)) > RUN.most:
            return None  # the run would end where it begins
        rows = None if np.array_equal(places, np.arange(len(K))) else places.astype(np.int64)
        is_second = self.group[block] > 0  # keeps its own sum, as negative labels do
        machine = SmallMachine(
            K,
            np.where(is_second, -1.0, 1.0),
            np.zeros(len(block)),
            np.where(is_second, -upper, lower),
            np.where(is_second, -lower, upper),
            curved=self.added[block],
            rows=rows,
            is_free=self.n_groups > 0,
            constant=self.constant,
            side=1.0 if self.n_groups == 2 else 0.0,
        )
        run = machine.run(tol, RUN, MachineRun(CallStatus.DONE, v, v, g, 0))
        return run.v if run.status is CallStatus.DONE else None


def largest_of(xp: Any, values: Any, count: int) -> Any:
    """Places of the largest entries, in any order."""
    if count >= len(values):
        return xp.arange(len(values))
    return xp.argpartition(-values, count)[:count]


def block_decomposition(
    box: BoxProgram,
    start: Point | Vector | None,
    budget: WorkBudget,
    *,
    eps: float,
    settings: ActiveSetSettings = DEFAULTS,
) -> Point | None:
    """Minimise the dual of a kernel machine by block decomposition; None where it does not apply.

    Parameters
    ----------
    box : BoxProgram
    start : Point or array of shape (n,), optional
        Without one the descent begins with as many variables at a bound as possible.
    budget : WorkBudget
        Watched before every block.
    eps : float
        Residual, relative to the entries of q, with which one block that holds all may end.
    settings : ActiveSetSettings
    """
    columns = box.P
    if not isinstance(columns, KernelColumns):
        return None
    program = PairProgram.of(box, columns.P)
    if program is None:
        return None
    point = feasible(box, program.filled(box) if start is None else start)
    if not box.rows_hold(point.x):
        return None
    s, n, own = program.s, len(program.s), settings
    is_whole = n <= min(own.whole_size, budget.largest)
    share, most = (eps, own.whole_steps) if is_whole else (own.handover, own.steps_per_variable)
    block, is_done = np.zeros(0, dtype=np.intp), True
    for _ in range(own.max_blocks):
        v, g = s * point.x[:n], (point.Px + box.q)[:n] / s
        if not np.isfinite(g).all():
            return None
        budget.best, budget.gap = point, partial(box.relative_gap, point)
        violations = program.violations(np, v, g)
        worst = max(float(np.max(violations)), 0.0)
        target = share * box.scale(point) / abs(float(s[0]))
        if not is_done or worst <= target or not budget.may_go_on(worst):
            break
        block, is_free = np.arange(n) if is_whole else block, program.is_free(v)
        if not is_whole:
            wanted = max(own.smallest_block, int(1.5 * np.count_nonzero(is_free)))
            size = min(n, budget.largest, wanted)
            block = program.next_block(np, block, size, is_free, violations)
        # a block that others have to follow is solved to a share of the violation of all
        tol = target if len(block) == n else max(own.tightening * target, 0.05 * worst)
        x = point.x.copy()
        x[block], is_done = _minimised(program, columns, block, v[block], g[block], tol, most)
        x[block] /= s[block]
        point = box.moved(point, box.clip(x))
    return replace(point, y=row_multipliers(box, point.x, point.Px, point.y))


def _minimised(
    program: PairProgram,
    columns: KernelColumns,
    block: Index,
    v: Vector,
    g: Vector,
    tol: float,
    most: int,
) -> tuple[Vector, bool]:
    """Minimise over a block of variables; return them, and whether their violation is small."""
    samples, places = np.unique(program.samples[block], return_inverse=True)
    K = columns.square(samples)
    found = program.by_newton_steps(K, places, block, v, g, tol)
    if found is not None:
        return found, True
    is_done = program.by_pairs(K, places, block, v, g, tol, most)
    return v, is_done
