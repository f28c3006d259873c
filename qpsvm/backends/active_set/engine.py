"""From a kernel program to its solution: a guess by parts, then working sets, exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.backends.active_set.columns import KernelColumns
from qpsvm.backends.active_set.parts import Parts
from qpsvm.qp._arrays import Vector
from qpsvm.qp.box_polish import largest_within, settle
from qpsvm.qp.box_program import Boxed, BoxProgram, Point
from qpsvm.qp.effort import Effort
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status

FOR_COLUMNS = 0.6
"""Share of the memory that is for kernel columns; the rest is for the matrices of working sets."""

REFINEMENTS = 3
"""Looks at the gradient anew, and working sets from there where it says that they are needed."""

TIGHTER = 0.1
"""Share of the gap asked for that working sets end with, and of that again after every look."""


@dataclass(frozen=True, eq=False)
class Found:
    """A point with its multipliers, and how far from the optimum it is at most, relative.

    It is called optimal only by a gradient that was evaluated anew for it.
    """

    solution: QPSolution
    gap: float
    is_optimal: bool


def minimise(
    program: QuadraticProgram,
    start: Vector | None,
    eps: float,
    *,
    memory_limit: int,
    effort: Effort,
) -> Found:
    """A point with that gap or less, or the best one when the effort is over.

    Parameters
    ----------
    program : QuadraticProgram
        That ``Boxed.suits``.
    start : array of shape (n,), optional
        A point near the optimum; without one parts of the samples say where it is.
    eps : float
        Relative gap with which it may end; as a rule the last step goes far below.
    memory_limit : int
        Bytes for kernel columns and matrices.
    effort : Effort
    """
    P, for_columns = program.P, int(FOR_COLUMNS * memory_limit)
    fits = not isinstance(P, KernelQuadratic) or 8 * P.gram.size**2 <= for_columns
    if isinstance(P, KernelQuadratic) and fits and P.gram.is_worth_keeping:
        _ = P.gram.dense  # for all who will ask: other programs of these samples, the verifier
    boxed, like = Boxed.of(program, memory_limit), QPSolution(Status.UNKNOWN)
    box = boxed.box
    as_others = box.P
    x = box.clip(np.zeros(box.size)) if start is None else boxed.start(like.replace(x=start))
    n_free: int | None = None
    is_optimal = False
    largest = largest_within(memory_limit - for_columns)
    try:
        if isinstance(P, KernelQuadratic):
            columns = KernelColumns(P, box.size - P.size, for_columns)
            box = replace(box, P=columns)
            if not fits and P.gram.is_worth_keeping:  # others keep what is not allowed here
                as_others = columns
            guess = None
            if start is None:
                guess = Parts(box, columns, for_columns, largest, effort).guess()
            if guess is not None:
                x, n_free = box.clip_scaled(guess.x), guess.n_free
        enough = TIGHTER * eps
        point = settle(box, x, largest=largest, effort=effort, eps=enough, expected_free=n_free)
        for left in range(REFINEMENTS, -1, -1):
            # the gradient as others will evaluate it, not as the sum of all that was added to it
            if effort.is_over:
                break
            point = replace(point, Px=as_others.product(point.x))
            is_optimal = box.is_optimal(point, eps)
            if is_optimal or left == 0:
                break
            enough *= TIGHTER
            point = settle(box, point.x, Px=point.Px, largest=largest, effort=effort, eps=enough)
    except KeyboardInterrupt:
        effort.interrupt()
        best = effort.best
        if best is None or len(best.x) != box.size:  # before the first point of all samples
            best = settle(box, x, largest=largest, effort=effort)
        point = best
    point = _handed_out(box, point)
    is_optimal = is_optimal and box.is_optimal(point, eps)
    point = replace(point, y=_with_signs(boxed, point.y))
    return Found(boxed.solution(point, like), box.relative_gap(point), is_optimal)


def _handed_out(box: BoxProgram, point: Point) -> Point:
    """With what is within rounding of its bound there, if that is no worse.

    A claim is about the point that is given. With x of 1e5 and more rounding is so wide that
    many variables moved by it change the gradient.
    """
    x = box.at_bounds(point)
    moved = replace(point, x=x, Px=point.Px + box.P.product(x - point.x))
    return moved if box.relative_gap(moved) <= box.relative_gap(point) else point


def _with_signs(boxed: Boxed, y: Vector) -> Vector:
    """The multipliers of inequalities are not negative, not even by rounding."""
    n_equalities = len(y) - len(boxed.inequalities)
    return np.concatenate([y[:n_equalities], np.maximum(y[n_equalities:], 0.0)])
