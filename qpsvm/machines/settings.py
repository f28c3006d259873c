"""Settings of trained machines: thresholds for zero weights and dual variables, and repairs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineSettings:
    """Settings of recovery, of the scale of a gap, and of how consistent a machine must be.

    All sizes are relative, to what each attribute names.

    Attributes
    ----------
    support : float
        Share of ``alpha_unit`` above which ``|alpha_i|`` makes sample i a support vector: an
        interior-point solver leaves 1e-9 where the optimum has zero.
    cancelling : float
        Share of the terms of ``sum_i s_i a_i phi(x_i)`` below which w counts as cancelled: with
        the tolerance sqrt(eps) = 1e-4 the difference may then be 1e-8 of the terms.
    smallest_weights : float
        Where the optimum may be exactly zero, a gap relative to the objective would ask for more
        digits than its terms have. The gap is then relative to no less than the objective of
        weights smaller by this factor than the samples allow.
    least_change : float
        The same where w = 0 is known to be optimal: the gap is relative to no less than the
        objective of weights that change some decision value by this share of a unit.
    smallest_margin : float
        Weights whose margin is smaller than this do not count as separating: the squares of such
        numbers would underflow. Absolute.
    largest_repair : float
        Largest change of a solver's point, in units of a variable, by which a recovery may repair
        it: what ``dual_repair`` allows at ``eps = 1e-4``.
    most_primal_variables : int
        Variables up to which the primal program is solved for a badly scaled dual one: the solvers
        that keep the digits factor a matrix of all of them.
    bad_spread : float
        Ratio of sizes from which the primal program is solved for a dual one. The rounding of
        alpha changes decision values by the square of that ratio, in units of the last place of C:
        below 1e4 by 1e-8.
    probed_columns : int
        Columns of a kernel matrix of the caller's own, at most, that are evaluated again at the end
        of a solve, to see that they are still what was kept. All are where a verdict is asked for.
    product_roundings : float
        Roundings of a product such as ``C x class weight x sample weight / W``, at most, for both
        objectives together.
    certified : float
        Relative accuracy for which ``certify`` evaluates as many digits as it takes, if a machine
        has it.
    refined_share : float
        Share of the tolerance that errors of decision values may add to a gap where they are not
        evaluated with digits to spare.
    on_boundary : float
        Share of the offset of a machine without labels (rho, or the squared radius of a ball) up to
        which a decision value counts as zero: the samples that define the boundary are on it, and
        rounding must not put them on either side.
    """

    support: float = 1e-6
    cancelling: float = 1e-4
    smallest_weights: float = 1e-3
    least_change: float = 1e-2
    smallest_margin: float = 1e-100
    largest_repair: float = 1e-2
    most_primal_variables: int = 3000
    bad_spread: float = 1e4
    probed_columns: int = 8
    product_roundings: float = 16.0
    certified: float = 1e-10
    refined_share: float = 0.1
    on_boundary: float = 1e-8


MACHINES = MachineSettings()
"""Settings that ``solve``, ``verify`` and ``certify`` use."""
