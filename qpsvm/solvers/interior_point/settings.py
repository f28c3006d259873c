"""Settings of the interior-point engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InteriorPointSettings:
    """Settings of the interior-point engine for linear machines, backend ``"ipm"``.

    Every field can be passed in ``options`` of ``qpsvm.solve``. None changes what the engine may
    call optimal: the gap of the whole program decides that.

    Attributes
    ----------
    boundary_share : float
        Share of the way to the nearest bound that a step goes. Mehrotra (1992) takes 0.995 or
        more; nearer to 1 risks iterates that stick to a bound.
    max_correctors : int
        Gondzio's correctors beyond Mehrotra's, per iteration. Each costs one solve with the factor
        that is there.
    corrector_factor : float
        A further corrector aims at a step of this factor times the length so far, and ...
    corrector_increment : float
        ... so much more, at most 1. Both are those of OOQP (Gertz and Wright, 2003).
    long_step : float
        Length of a step that needs no further corrector.
    centrality_range : float
        Factor, up or down, by which complementarity products may differ from their target before
        further correctors bring them back; that of Gondzio (1996).
    proximal_floor : float
        Least proximal term, as a share of the least curvature that counts: at rounding's size.
    proximal_floor_heavy : float
        The same while the heaviest variables are not eliminated: it keeps dependent rows apart.
    proximal_limit : float
        Proximal term that grows no further, as a share of the mean of the Hessian's diagonal.
    proximal_growth : float
        Factor of the proximal term after an inaccurate direction; it falls by the same factor
        after an accurate one.
    largest_direction_error : float
        Relative error of ``dw = F'dx`` above which the system is factored again with a stronger
        regularization.
    heavy_beyond_rank : int
        Variables that are not eliminated, at most so many more than there are equations.
    heavy_share : float
        Share of the heaviest variable's weight below which variables are always eliminated.
    projections : int
        Random projections by which sizes of rows are estimated, to within a factor of two.
    patience : int
        Iterations without a smaller gap after which rounding is taken to have stopped progress.
    long_patience : int
        The same while the gap exceeds the objective, where it may have to grow first.
    slow_iterations : int
        Iterations in which the gap has to fall by ``slow_factor``, or the engine gives way to
        another backend, where ``"auto"`` has one that stands by; 0: never. Sound programs gain
        more in two iterations.
    slow_factor : float
        What a gap below 1 has to fall to in ``slow_iterations``, as a share.
    slow_above_gap : float
        Relative gap below which the engine never gives way: slow iterations are near rounding.
    copied_share : float
        Share of the samples below which those of the active variables are copied together.
    pair_cost : float
        Cost of a product of two features in a sparse matrix of pairs, in products of a dense
        matrix; measured. Pairs are prepared where they are less work.
    few_rows : int
        Number of rows of G and A, at most, with which a program is taken as it is.
    largest_factored_hessian : int
        Number of variables up to which a dense Hessian is factored: less than a second.
    slack_room : float
        Share by which a slack variable may exceed what its row can have: a row that holds with
        equality everywhere needs some.
    inner_accuracy : float
        Accuracy of programs in some of the variables, as a share of ``eps``: a margin for what the
        other variables add.
    guess_above : int
        Number of variables above which a starting point is cheaper than iterations on all.
    wide_dense_size : int
        Programs with more weights than variables, up to this number of variables: iterations on
        all of them, without a starting point.
    wide_largest_dense_size : int
        Number of variables above which a matrix of all of them is too large.
    descent_tolerance : float
        Tolerance of coordinate descent that is a starting point, in margins.
    free_passes : int
        Passes of coordinate descent that is a starting point of a program with a free intercept.
    easy_passes : int
        The same with more weights than variables: working sets need a nearly exact one.
    first_passes : int
        Passes of the first round of coordinate descent. Rates are measured from the second one on.
    growth : float
        Factor by which a round multiplies the passes made so far.
    aimed_share : float
        Gap that a round aims at, as a share of ``eps``.
    easy_gap : float
        Relative gap of coordinate descent up to which its point says which variables are undecided,
        without smoothing.
    open_per_weight : int
        Variables for every weight that are left undecided next to a point of coordinate descent
        and next to known weights, at least. With 3 more rounds are needed.
    rough_accuracy : float
        Relative accuracy of smoothed weights that further smoothing starts from.
    guess_accuracy : float
        Relative accuracy of smoothed weights that undecided variables are chosen by: the barriers
        of all variables together, as a share of the cost.
    smoothing_factor : float
        Factor by which the barrier weight falls.
    smoothing_steps : int
        Newton steps on the smoothed primal, at most.
    sample_size : int
        Variables of the sample that is smoothed first where there are more than twice as many.
    open_radius : float
        Variables are undecided if their gradients vanish within this many radii of the smoothed
        weights.
    open_share_of_poor_guess : float
        Share of the variables that stay undecided where smoothing did not reach its accuracy.
    near_margin : float
        Distance from the margin, in margins, within which a variable is undecided where smoothing
        failed and the weights of coordinate descent choose.
    fewest_open : int
        Variables that are undecided at least in other programs, and that are added at a time.
    largest_open_share : float
        Share of undecided variables above which the engine iterates on all.
    known_smoothing : float
        Barrier weight at which the interior-point method begins next to known weights, as a share
        of their cost. A smaller one takes fewer iterations where bounds hardly changed, and with
        less than a thousandth some programs are not solved.
    """

    boundary_share: float = 0.995
    max_correctors: int = 2
    corrector_factor: float = 1.08
    corrector_increment: float = 0.08
    long_step: float = 0.95
    centrality_range: float = 10.0
    proximal_floor: float = 1e-14
    proximal_floor_heavy: float = 1e-10
    proximal_limit: float = 1e-6
    proximal_growth: float = 100.0
    largest_direction_error: float = 1e-4
    heavy_beyond_rank: int = 10
    heavy_share: float = 1e-6
    projections: int = 16
    patience: int = 12
    long_patience: int = 60
    slow_iterations: int = 10
    slow_factor: float = 0.2
    slow_above_gap: float = 1e-4
    copied_share: float = 0.5
    pair_cost: float = 12.0
    few_rows: int = 32
    largest_factored_hessian: int = 1000
    slack_room: float = 1e-3
    inner_accuracy: float = 0.25
    guess_above: int = 2000
    wide_dense_size: int = 500
    wide_largest_dense_size: int = 10_000
    descent_tolerance: float = 1e-5
    free_passes: int = 6
    easy_passes: int = 300
    first_passes: int = 4
    growth: float = 2.5
    aimed_share: float = 0.7
    easy_gap: float = 1e-3
    open_per_weight: int = 4
    rough_accuracy: float = 0.03
    guess_accuracy: float = 0.005
    smoothing_factor: float = 0.2
    smoothing_steps: int = 18
    sample_size: int = 20_000
    open_radius: float = 0.25
    open_share_of_poor_guess: float = 0.25
    near_margin: float = 0.5
    fewest_open: int = 2000
    largest_open_share: float = 0.5
    known_smoothing: float = 0.01


DEFAULTS = InteriorPointSettings()
"""Settings of a solve without options."""
