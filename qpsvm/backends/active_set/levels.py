"""A cascade of growing subsets: each one's machine is the guess for the next, three times as large.

A share of the samples with bounds 1 / share times as far apart makes about the same machine: the
sums over all samples become sums over some, each counted so often. So do the costs
``1/2 d_i x_i^2``, with share times d. The machine of a third of the samples is wrong about the
others by little, and only those in that band around their margins are in doubt (``smoothed``).

Source: Graf, Cosatto, Bottou, Dourdanovic and Vapnik, "Parallel support vector machines: the
cascade SVM", *Advances in Neural Information Processing Systems* 17 (2005), where the support
vectors of subsets are what the next level looks at; here all samples are, with scaled bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.backends.active_set.columns import KernelColumns
from qpsvm.backends.active_set.smoothed import (
    Smooth,
    Watch,
    feasible_point,
    smoothed_newton,
)
from qpsvm.qp._arrays import Index, Vector
from qpsvm.qp.box_polish import settle
from qpsvm.qp.box_program import BoxProgram
from qpsvm.qp.effort import Effort
from qpsvm.qp.kernel_quadratic import KernelQuadratic

FIRST = 500
"""Samples of the first subset, at least, which is solved exactly."""

GROWTH = 3.0

IN_DOUBT = 0.03
"""Share of the new samples that the band has to hold."""

LAST_BANDS = (1.0, 0.25)
"""Of all samples: the band, and a narrower one after it."""

_SEED = 0


@dataclass(frozen=True, eq=False)
class Level:
    """The program of some of the samples.

    Attributes
    ----------
    program : BoxProgram
    columns : KernelColumns
        Its P.
    variables : array of int of shape (m,)
        Of the whole program.
    is_new : array of bool of shape (m,)
        Not of the level before.
    """

    program: BoxProgram
    columns: KernelColumns
    variables: Index
    is_new: np.ndarray[tuple[int], np.dtype[np.bool_]]


def guess(program: BoxProgram, columns: KernelColumns, memory_limit: int, effort: Effort) -> Vector:
    """A point near the optimum.

    Parameters
    ----------
    program : BoxProgram
    columns : KernelColumns
        Its P.
    memory_limit : int
        Bytes for columns of one level.
    effort : Effort
        Watched once a step.
    """
    n = columns.P.gram.size
    order = np.random.default_rng(_SEED).permutation(n)
    sizes = [n]
    while sizes[-1] >= GROWTH * FIRST:
        sizes.append(int(sizes[-1] / GROWTH))
    v = np.zeros(program.size)  # of the whole program: zero where no sample was looked at
    y, known = np.zeros(len(program.b)), 0

    def watch() -> bool:
        return effort.may_go_on(np.inf)

    try:
        for size in reversed(sizes):
            level = _level(program, columns, order, known, size, memory_limit)
            if known == 0:
                at = _exactly(level, effort)
            else:
                at = _from(level, v[level.variables], y, known / size, watch, is_last=size == n)
            v[level.variables], y, known = at.v, at.y, size
            if effort.is_over:
                break
    except KeyboardInterrupt:
        effort.interrupt()
    if known < n:  # what the last level says, with bounds that are closer
        return program.clip(v * known / n)
    return feasible_point(level.program, at).x


def _exactly(level: Level, effort: Effort) -> Smooth:
    program = level.program
    start = program.clip(np.zeros(program.size))
    found = settle(program, start, largest=program.size, effort=effort)
    return Smooth(found.x, found.Px, found.x, found.Px, found.y)


def _from(
    level: Level, v: Vector, y: Vector, share: float, watch: Watch, *, is_last: bool
) -> Smooth:
    """The level before had that share of the samples of this one."""
    program = level.program
    Pv = program.P.product(v)
    # with bounds that are closer by that factor, its variables at a bound are there still
    at = Smooth(v, Pv, share * v, share * Pv, y)
    r = np.abs(program.gradient(Pv, y))[level.is_new]
    band = float(np.quantile(r, IN_DOUBT)) if len(r) else 0.0
    if not band > 0.0:
        return at
    for part in LAST_BANDS if is_last else LAST_BANDS[:1]:
        at = smoothed_newton(program, level.columns, at, part * band, watch)
    return at


def _level(
    program: BoxProgram,
    columns: KernelColumns,
    order: Index,
    known: int,
    size: int,
    memory_limit: int,
) -> Level:
    """The program of the first samples in that order."""
    P, n = columns.P, columns.P.gram.size
    own_samples = np.asarray(P.selection.samples(np.arange(P.size)))
    is_old = np.zeros(n, dtype=bool)
    is_old[order[:known]] = True
    is_new = np.concatenate([~is_old[own_samples], np.zeros(columns.n_slack, dtype=bool)])
    if size == n:
        return Level(program, columns, np.arange(program.size), is_new)
    samples = np.sort(order[:size])
    position = np.full(n, -1)
    position[samples] = np.arange(size)
    own = np.flatnonzero(position[own_samples] >= 0)
    variables = np.concatenate([own, np.arange(P.size, program.size)])
    share, scale = size / n, np.ones(len(variables))
    scale[: len(own)] = 1.0 / share
    part = KernelQuadratic(
        P.gram.of_samples(samples),
        P.selection.signs[own],
        position[own_samples[own]],
        share * P.diag[own],
        constant=P.constant,
    )
    own_columns = KernelColumns(part, columns.n_slack, memory_limit, columns.memory)
    diagonal = program.diagonal[variables]
    diagonal[: len(own)] -= (1.0 - share) * P.diag[own]
    return Level(
        replace(
            program,
            P=own_columns,
            q=program.q[variables],
            A=program.A[:, variables],
            lower=program.lower[variables] * scale,
            upper=program.upper[variables] * scale,
            diagonal=diagonal,
            unit=float(np.max(diagonal)) or 1.0,
        ),
        own_columns,
        variables,
        is_new[variables],
    )
