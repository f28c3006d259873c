"""Settings of the interior-point solver, and the pieces that long vectors are divided into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import IN_CACHE


@dataclass(frozen=True)
class InteriorPointSettings:
    """Settings of the interior-point solver for linear machines, backend ``"ipm"``.

    Every field can be passed in ``options`` of ``qpsvm.solve``. None changes what the solver may
    call optimal: the gap of the whole program decides that.

    Attributes
    ----------
    boundary_share : float
        Share of the way to the nearest bound that a step goes. Mehrotra (1992) takes 0.995 or
        more; nearer to 1 risks iterates that stick to a bound.
    max_correctors : int
        Gondzio's correctors beyond Mehrotra's, per iteration. Each costs one solve with the factor
        that is there.
    long_step : float
        Length of a step that needs no further corrector.
    centrality_range : float
        Factor, up or down, by which complementarity products may differ from their target before
        further correctors bring them back; that of Gondzio (1996).
    heavy_beyond_rank : int
        Variables that are not eliminated, at most so many more than there are equations.
    heavy_share : float
        Share of the heaviest variable's weight below which variables are always eliminated.
    patience : int
        Iterations without a smaller gap after which rounding is taken to have stopped progress.
    long_patience : int
        The same while the gap exceeds the objective, where it may have to grow first.
    slow_iterations : int
        Iterations in which the gap has to fall by ``slow_factor``, or the solver gives way to
        another backend, where ``"auto"`` has one that stands by; 0: never. Sound programs gain
        more in two iterations.
    slow_factor : float
        What a gap below 1 has to fall to in ``slow_iterations``, as a share.
    slow_above_gap : float
        Relative gap below which the solver never gives way: slow iterations are near rounding.
    copied_share : float
        Share of the samples below which those of the active variables are copied together.
    pair_cost : float
        Cost of a product of two features in a sparse matrix of pairs, in products of a dense
        matrix; measured. Pairs are prepared where they are less work.
    inner_accuracy : float
        Accuracy of programs in some of the variables, as a share of ``eps``: a margin for what the
        other variables add.
    guess_above : int
        Number of variables above which a starting point is cheaper than iterations on all.
    wide_dense_size : int
        Programs with more weights than variables, up to this number of variables: iterations on
        all of them, without a starting point.
    first_passes : int
        Passes of the first round of coordinate descent. Rates are measured from the second one on.
    easy_gap : float
        Relative gap of coordinate descent up to which its point says which variables are undecided,
        without smoothing.
    open_per_weight : int
        Variables for every weight that are left undecided next to a point of coordinate descent
        and next to known weights, at least. With 3 more rounds are needed.
    rough_accuracy : float
        Relative accuracy of smoothed weights that further smoothing starts from.
    smoothing_steps : int
        Newton steps on the smoothed primal, at most.
    sample_size : int
        Variables of the sample that is smoothed first where there are more than twice as many.
    open_radius : float
        Variables are undecided if their gradients vanish within this many radii of the smoothed
        weights.
    fewest_open : int
        Variables that are undecided at least in other programs, and that are added at a time.
    largest_open_share : float
        Share of undecided variables above which the solver iterates on all.
    """

    boundary_share: float = 0.995
    max_correctors: int = 2
    long_step: float = 0.95
    centrality_range: float = 10.0
    heavy_beyond_rank: int = 10
    heavy_share: float = 1e-6
    patience: int = 12
    long_patience: int = 60
    slow_iterations: int = 10
    slow_factor: float = 0.2
    slow_above_gap: float = 1e-4
    copied_share: float = 0.5
    pair_cost: float = 12.0
    inner_accuracy: float = 0.25
    guess_above: int = 2000
    wide_dense_size: int = 500
    first_passes: int = 4
    easy_gap: float = 1e-3
    open_per_weight: int = 4
    rough_accuracy: float = 0.03
    smoothing_steps: int = 18
    sample_size: int = 20_000
    open_radius: float = 0.25
    fewest_open: int = 2000
    largest_open_share: float = 0.5


DEFAULTS = InteriorPointSettings()
"""Settings of a solve without options."""

FEW_ROWS = 32
"""Number of rows of G and A, at most, with which a program is taken as it is."""

CHUNK = IN_CACHE // (16 * np.dtype(np.float64).itemsize)
"""Number of variables in a piece of a loop over vectors: 16 vectors of it stay in the cache."""


def chunks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)``."""
    return (slice(i, i + CHUNK) for i in range(0, n, CHUNK))
