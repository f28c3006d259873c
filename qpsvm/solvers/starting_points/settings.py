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
    seconds_per_visit : float
        Of a pass of coordinate descent, for a variable; measured.
    seconds_per_sparse_entry, seconds_per_dense_entry : float
        What comes to these for an entry of its sample; measured.
    seconds_per_step : float
        Of a Newton step on the smoothed primal, whatever its size; measured.
    seconds_per_variable : float
        Of such a step, for a variable; measured.
    seconds_per_product : float
        Of such a step, for a product of two entries of F; measured.
    newton_steps : float
        Newton steps of the smoothed primal, and interior-point iterations, that coordinate descent
        is weighed against, of each kind; measured.
    factorizations : float
        Factorisations of working sets that it is weighed against with more weights than variables;
        measured.
    presolve_passes : float
        Passes over all samples that a presolve takes as long as; measured.
    free_gradient : float
        Gradient, in margins, up to which a variable counts as free next to weights of coordinate
        descent, at least; more where its last pass met a larger one.
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
    seed : int
        Of the sample of variables that is smoothed first, and of the order of descent; any does.
    """

    seconds_per_visit: float = 1e-7
    seconds_per_sparse_entry: float = 7e-9
    seconds_per_dense_entry: float = 1e-9
    seconds_per_step: float = 5e-4
    seconds_per_variable: float = 50e-9
    seconds_per_product: float = 5e-11
    newton_steps: float = 20.0
    factorizations: float = 10.0
    presolve_passes: float = 4.0
    free_gradient: float = 0.05
    ridge: float = 1e-10
    working_set_bytes: int = 2 * 2**30
    overshoot: float = 0.5
    trials: int = 6
    seed: int = 0


STARTS = StartingPointSettings()
"""Settings of every search for a starting point."""
