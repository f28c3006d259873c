"""Plan of a pass: which conditions it leaves open, and whether it sums up a Hessian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.chunked.open_conditions import distances
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.numerics.arrays import Mask, Vector
from qpsvm.passes.guess import RowSample
from qpsvm.passes.settings import PassSettings
from qpsvm.passes.state import BAND, NEWTON, State


@dataclass(frozen=True)
class Plan:
    """Choices for one pass over the samples: band, kind of step, room for open conditions.

    Attributes
    ----------
    kind : str
        The kind of step that follows it: ``BAND`` or ``NEWTON``.
    band : float
        Conditions within it are open.
    smoothing : float or None
        Where a kink is rounded off, for a step of Newton's method.
    one_sided : bool
        All violated conditions are open.
    most_open : tuple of int
        Open conditions that each chunk may return.
    """

    kind: str
    band: float
    smoothing: float | None
    one_sided: bool
    most_open: tuple[int, ...]

    @classmethod
    def of(
        cls,
        problem: ChunkedProblem,
        sample: RowSample,
        state: State,
        settings: PassSettings,
        most_open: int,
    ) -> Plan:
        """Choose band and kind of step of the next pass, by the violations on a sample of rows.

        A band that memory allows is tried, where it is several times as wide as the error;
        otherwise a step of Newton's method. A kind of step that was of no use at this machine is
        not tried again before the other one.

        Parameters
        ----------
        problem : ChunkedProblem
        sample : RowSample
        state : State
        settings : PassSettings
        most_open : int
            Open conditions for which there is memory.
        """
        form = problem.template
        violations = sample.violations(problem, state.machine)
        one_sided = _is_one_sided(problem, sample, violations, settings.one_sided * most_open)
        roots = sample.roots(state.leverage)
        distance = distances(violations, roots, one_sided=one_sided)
        allowed = sample.band_of(distance, settings.fill * most_open, settings.beyond_band)
        least = settings.least_band * float(np.median(np.abs(violations)))
        is_newton = allowed < settings.narrow * state.error
        if state.rejected:
            is_newton = state.rejected == BAND
        is_newton = form.is_curved or (is_newton and not one_sided)
        band = allowed
        if not (one_sided or state.is_careful):
            band = min(allowed, max(settings.wide * state.error, least))
        return cls(
            kind=NEWTON if is_newton else BAND,
            band=band,
            smoothing=max(settings.smoothing * state.error, least) if is_newton else None,
            one_sided=one_sided,
            most_open=_allowances(problem, sample, distance <= band, most_open, settings),
        )


def _is_one_sided(
    problem: ChunkedProblem, sample: RowSample, violations: Vector, most: float
) -> bool:
    """Return whether there is room for every violated condition: classes that hardly overlap.

    Decisions at the upper bound are then not needed. A wrong one, of a sample far on the wrong side
    of a rough guess, pulls the next machine away without end.
    """
    form = problem.template
    if form.is_curved or (form.lower != 0.0).any():
        return False
    return float(np.sum(sample.shares[violations > 0.0])) <= most


def _allowances(
    problem: ChunkedProblem,
    sample: RowSample,
    is_near: Mask,
    most_open: int,
    settings: PassSettings,
) -> tuple[int, ...]:
    """Open conditions that each chunk may return: twice as many as its part of the sample says.

    Chunks may be sorted, so that one has most of the open conditions. All together return about
    twice as many as memory is for, at most.
    """
    totals = problem.totals
    near = np.where(is_near, sample.shares, 0.0)
    sizes = np.array([part.n_rows for part in totals.sample]) * len(problem.template.signs)
    expected = np.zeros(problem.n_chunks)
    used = [n > 0 for n in totals.n_rows_by_chunk]
    expected[used] = [float(np.sum(part)) for part in np.split(near, np.cumsum(sizes)[:-1])]
    equal = 2.0 * (1.0 - settings.fill) * most_open / problem.n_chunks
    return tuple((2.0 * expected + equal + settings.least_open).astype(int).tolist())
