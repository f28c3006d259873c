"""Entries of the tables of a report."""

from __future__ import annotations

import math

from benchmarks.metrics.times import NO_BOUND, Timing
from qpsvm.reports.blocks import Cell
from qpsvm.reports.numbers import NOTHING, figure, residual


def short(number: float) -> str:
    """Write a number with three digits; a dash if it is not finite."""
    return figure(number, 3) if math.isfinite(number) else NOTHING


def percent(share: float) -> str:
    """Write a share as a percentage without decimals."""
    return f"{100.0 * share:.0f} %"


def interval(low: float, high: float) -> Cell:
    """Write an interval as "low to high"; a dash if it is unknown."""
    known = math.isfinite(low) and math.isfinite(high)
    return Cell(f"{short(low)} to {short(high)}", low) if known else Cell(NOTHING)


def bracket(low: float, high: float) -> str:
    """Write an interval in brackets, to follow a number; nothing if it is unknown."""
    known = math.isfinite(low) and math.isfinite(high)
    return f" ({short(low)} to {short(high)})" if known else ""


def time_cell(timing: Timing | None) -> Cell:
    """Write seconds with half their interval, or the outcome and the smallest gap.

    A dash where there is nothing to measure, "no bound" where nothing is known to measure it by.
    """
    if timing is not None and timing.outcome == NO_BOUND:
        return Cell(NO_BOUND)
    if timing is None or not timing.attempted:
        return Cell(NOTHING)
    if timing.reached:
        half = timing.high / timing.seconds - 1.0
        spread = f" ± {100.0 * half:.0f}%" if math.isfinite(half) else ""
        return Cell(f"{short(timing.seconds)}{spread}", timing.seconds)
    reached = f", {residual(timing.gap)}" if math.isfinite(timing.gap) else ""
    return Cell(f"{timing.outcome}{reached}", math.inf)
