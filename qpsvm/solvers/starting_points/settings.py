"""Settings of the search for starting points, which users cannot set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StartingPointSettings:
    """Costs, rounding and limits of starting points; none changes what may be called optimal.

    Seconds are those of one core. Only their ratios matter: they decide how long a starting point
    is sought, by counts of operations and not by the clock, so that the same program always has
    the same answer.

    Attributes
    ----------
    seconds_per_entry : float
        Of a pass of coordinate descent, for a stored entry of a sparse F; measured.
    seconds_per_copied_entry : float
        The same for an entry of an array, which LIBLINEAR copies to lists; measured.
    seconds_per_step : float
        Of a Newton step on the smoothed primal, whatever its size; measured.
    seconds_per_variable : float
        Of such a step, for a variable; measured.
    seconds_per_product : float
        Of such a step, for a product of two entries of F; measured.
    newton_steps : float
        Newton steps, and factorisations of working sets, that coordinate descent is weighed
        against.
    bytes_per_entry : int
        Memory that coordinate descent takes for an entry of F: 12 for a sparse copy, 16 for
        LIBLINEAR's own.
    largest_copy : int
        Bytes of these copies above which coordinate descent is not tried; chosen to fit on small
        machines.
    private_feature : float
        Size of a sample's own feature. A power of two, so that multiplying by it is exact, whose
        square is less than the rounding of the diagonal.
    at_bound : float
        Distance from a bound, as a share of the range, that is the rounding of sums of steps.
    free_gradient : float
        Gradient, in margins, up to which a variable counts as free where coordinate descent was
        cut off; otherwise its tolerance says so.
    ridge : float
        Added to the diagonal of the matrix of free variables, as a share of its mean: rows of F
        may depend on each other.
    working_set_bytes : int
        Memory for the matrices of working sets, at most: the same on all but small machines, so
        that they have the same answers.
    overshoot : float
        A Newton step may go beyond the maximum on its line until its slope, downwards, is this
        share of the first one.
    trials : int
        Lengths of a Newton step that are tried, at most: regula falsi settles sooner.
    least_products : int
        Products with the Hessian of squared hinges below which factorisations are preferred; a few
        Newton steps take that many.
    forcing : float
        Accuracy of the systems of Newton steps relative to their right side, at most; nearer to the
        optimum it is the share of the first residual that is left, for quadratic convergence
        (Dembo, Eisenstat and Steihaug, *SIAM J. Numer. Anal.* 19, 1982).
    small_residual : float
        Share of the first residual of the weights at which Newton steps end, once the gap is small
        enough.
    least_descent : float
        Share of the slope that a step of conjugate gradients has to descend by: Armijo's constant.
    halvings : int
        Of such a step, at most; beyond them it descends by rounding only.
    seed : int
        Of the sample of variables that is smoothed first; any does.
    """

    seconds_per_entry: float = 5e-9
    seconds_per_copied_entry: float = 12e-9
    seconds_per_step: float = 5e-4
    seconds_per_variable: float = 50e-9
    seconds_per_product: float = 5e-11
    newton_steps: float = 10.0
    bytes_per_entry: int = 28
    largest_copy: int = 2**30
    private_feature: float = 2.0**-30
    at_bound: float = 1e-12
    free_gradient: float = 0.05
    ridge: float = 1e-10
    working_set_bytes: int = 2 * 2**30
    overshoot: float = 0.5
    trials: int = 6
    least_products: int = 100
    forcing: float = 0.1
    small_residual: float = 1e-11
    least_descent: float = 1e-4
    halvings: int = 20
    seed: int = 0


STARTS = StartingPointSettings()
"""Settings of every search for a starting point."""
