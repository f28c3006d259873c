"""Settings of the solver of linear machines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LinearSettings:
    """Settings of the solver for linear machines, backend ``"ipm"``.

    Every field can be passed in ``options`` of ``qpsvm.solve``. None changes what the solver may
    call optimal: the gap of the whole program decides that.

    Attributes
    ----------
    copied_share : float
        Share of the samples below which those of the open variables are copied together.
    pair_cost : float
        Cost of a product of two features in a sparse matrix of pairs, in products of a dense
        matrix; measured. Pairs are prepared where they are less work.
    first_passes : int
        Passes of the first round of coordinate descent. Rates are measured from the second one on.
    small_size : int
        Variables up to which a solution of coordinate descent gets its last digits by Newton steps,
        so that they do not depend on the order of the samples.
    wide_size : int
        Programs with more weights than variables: so many variables above which working sets solve
        them.
    first_weight : float
        Weight of the first proximal term, in units of the mean of the diagonal of P.
    first_ramp : float
        How far that term draws the kinks of losses out, at least, in units of the largest entry of
        q.
    shrink : float
        Factor by which the weight falls from one proximal step to the next.
    newton_steps : int
        Newton steps of one proximal step, at most. Where they are not enough, its weight doubles.
    open_per_weight : int
        Variables that these steps look at, at least, for every weight.
    open_per_free : int
        The same for every variable that is between its bounds.
    largest_open_share : float
        Share of open variables above which they look at all.
    patience : int
        Proximal steps in which the gap has to fall to ``slow_factor`` of what it was. Sound
        programs gain more in one.
    slow_factor : float
        What it has to fall to, as a share.
    """

    copied_share: float = 0.5
    pair_cost: float = 12.0
    first_passes: int = 4
    small_size: int = 2000
    wide_size: int = 500
    first_weight: float = 0.01
    first_ramp: float = 2.0
    shrink: float = 0.2
    newton_steps: int = 40
    open_per_weight: int = 4
    open_per_free: int = 3
    largest_open_share: float = 0.5
    patience: int = 10
    slow_factor: float = 0.2


DEFAULTS = LinearSettings()
"""Default settings of the solver for linear support vector machines."""
