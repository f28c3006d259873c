"""Settings of the working-set method for box programs, and of its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.numerics.precision import EPS


@dataclass(frozen=True)
class WorkingSetSettings:
    """Settings of the working-set method and of the proximal Newton steps inside it.

    None changes what may be called optimal: gap and residuals of the whole program decide that.

    Attributes
    ----------
    smallest_working_set : int
        Variables of a working set, at least; it is the whole of a program with no more.
    largest_set : int
        Variables of a working set, at most: a set without some of the free variables is never the
        last one.
    set_size : float
        Size of a working set per free or violating variable.
    max_sets, max_whole_sets : int
        Working sets, at most; and corrections where every set is the whole program.
    full_steps, searched_steps : int
        Newton steps of full length, and with a line search, per proximal point.
    max_proximal_points : int
        Proximal points per working set, at most.
    first_sigma : float
        First proximal weight, relative to the violation and the largest curvature. Smaller: fewer
        proximal points, of more Newton steps each.
    smallest_sigma, largest_sigma : float
        Limits of the proximal weight, relative to the largest curvature.
    """

    smallest_working_set: int = 400
    largest_set: int = 9000
    set_size: float = 2.0
    max_sets: int = 2000
    max_whole_sets: int = 100
    full_steps: int = 10
    searched_steps: int = 60
    max_proximal_points: int = 100
    first_sigma: float = 0.01
    smallest_sigma: float = 1e-11
    largest_sigma: float = 1e3


DEFAULTS = WorkingSetSettings()


@dataclass(frozen=True)
class BoxProgramSettings:
    """Settings of the arithmetic of box programs: factors, refinement, rows, and rounding.

    Attributes
    ----------
    max_rows : int
        Rows up to which a program counts as one with few: what is done with them is dense.
    max_columns : int
        Columns of a factor of P up to which it is used instead of working sets; more save nothing.
    changes_per_update : int
        Variables per changed one, at least, for a factor to be updated: an update takes a third of
        the time of a new factor.
    smallest_updated_sigma : float
        Proximal weight, relative to the largest curvature, below which an updated factor loses too
        many digits.
    all_rows_share : int
        A product with a stored matrix reads all rows if at least one in so many is needed, and
        copies these otherwise.
    least_progress : float
        A working set must lower the objective by this share of its terms, or halve the residual.
    work_of_an_entry : float
        Steps of a factorisation that take as long as evaluating one kernel value.
    shrinking : tuple of (int, float)
        Newton steps that an easy proximal point takes at most, and the factor of the proximal
        weight after one.
    accepted_slope : float
        Share to which the slope must fall within a full step for it to need no search.
    sum_rounding : float
        Change of the objective, and violation of a row, that is only rounding, relative to the
        terms of the sum.
    refinement_steps : int
        Steps of iterative refinement, at most: each removes all digits that the factors have.
    refined_terms : tuple of float
        Proximal weights for refinement, relative to the curvature: the first one that can be
        factored is taken.
    missed_row : float
        Violation of a row, relative to its terms, with which a point is none of the program.
    row_steps : int
        Newton steps for the multipliers of the rows, at most.
    rows_solved : float
        Violation of the rows at which these steps end, relative to the rows' terms.
    smallest_weight : float
        Smallest eigenvalue that these steps divide by, in units of one over the largest curvature.
    offset_per_residual : float
        Offset of a gradient from zero, in the largest residual: an evaluation of P in another order
        rounds as far the other way.
    offset_per_rounding : float
        The same, in bounds on rounding: the sign of a gradient is then certain.
    matrices : int
        Matrices of the size of the working set that exist at a time, by the code.
    gradient_rounding : float
        Bound on the rounding of an entry of the gradient, relative to the norm of its terms.
    """

    max_rows: int = 32
    max_columns: int = 1000
    changes_per_update: int = 10
    smallest_updated_sigma: float = 1e-6
    all_rows_share: int = 3
    least_progress: float = 1e-14
    work_of_an_entry: float = 300.0
    shrinking: tuple[int, float] = (15, 0.1)
    accepted_slope: float = 0.1
    sum_rounding: float = 1e-13
    refinement_steps: int = 5
    refined_terms: tuple[float, ...] = (1e-12, 1e-10, 1e-8)
    missed_row: float = 1e-6
    row_steps: int = 30
    rows_solved: float = 1e-14
    smallest_weight: float = 1e-6
    offset_per_residual: float = 4.0
    offset_per_rounding: float = 2.0
    matrices: int = 3
    gradient_rounding: float = 32.0 * EPS


BOX = BoxProgramSettings()
"""Settings that every box program is solved with."""
