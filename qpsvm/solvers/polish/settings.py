"""Settings of the polish."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PolishSettings:
    """Settings of the polish of any program.

    None changes what may be called optimal: every candidate is measured on the whole program.
    Work is counted as ``WorkBudget`` counts it, the sum of (number of unknowns)^3 over all
    factorisations, so that the same question gets the same answer on every machine.

    Attributes
    ----------
    work_limit : float
        Work of a polish within ``qpsvm.solve``: some ten seconds.
    general_work_limit : float
        Work of the general method, whoever asks: programs on which it does not settle in that
        time did not settle later either.
    repeats : int
        Runs over a box, each from the last and with a gradient from scratch: correcting one again
        and again adds up rounding.
    small_size : int
        Variables up to which a program over a box is also polished from zero, and by the general
        method.
    max_active_sets : int
        Active sets that are tried around one centre.
    max_centres : int
        Centres of the proximal term, at most.
    tries_per_set : int
        Times that the equations on one active set are solved and the result is measured: where
        they have many solutions, the next one may be better (with 6 of them a Crammer-Singer
        machine with C = 1e-11 is missed).
    first_sigma, largest_sigma, smallest_sigma : float
        Proximal weight relative to the largest curvature: the first, the one that is given up at,
        and the limit of the decrease.
    largest_dense, largest_sparse : int
        Unknowns of a system of equations, dense and sparse, for which there is memory.
    proximal_terms : tuple of float
        Relative proximal terms for solving the equations, one after the other: the first is large
        enough to factor a singular matrix; along directions with less curvature it converges
        slowly, and a smaller one follows.
    max_refinements : int
        Steps with one of these terms.
    refined : float
        Residual of the equations, relative to their right-hand side, at which these steps end: some
        tens of roundings.
    """

    work_limit: float = 1e12
    general_work_limit: float = 3e11
    repeats: int = 3
    small_size: int = 1000
    max_active_sets: int = 20
    max_centres: int = 60
    tries_per_set: int = 12
    first_sigma: float = 1e-3
    largest_sigma: float = 1.0
    smallest_sigma: float = 1e-9
    largest_dense: int = 4000
    largest_sparse: int = 200_000
    proximal_terms: tuple[float, ...] = (1e-7, 1e-10, 1e-13)
    max_refinements: int = 40
    refined: float = 1e-14


DEFAULTS = PolishSettings()
