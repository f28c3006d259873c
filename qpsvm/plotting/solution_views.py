"""Pictures of a solution alone, from its alphas, conditions and training samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.numerics.arguments import an
from qpsvm.numerics.arrays import Vector
from qpsvm.plotting.complementarity import Complementarity, Condition

AT_A_BOUND = 1e-6
"""Share of the largest alpha within which an alpha counts as being at one of its bounds."""


def of_solution(solution: Any) -> Complementarity:
    """Picture of alpha against the value of each condition, ``R f`` of the training samples.

    Where the conditions require different values, by how much each exceeds what it requires.

    Parameters
    ----------
    solution : SVMSolution
        Of any family with one decision function.

    Raises
    ------
    InvalidParameterError
        A solution with a decision function for each class.
    InvalidDataError
        No condition has a finite value and alpha.
    """
    c = getattr(solution, "conditions", None)
    if c is None:
        raise InvalidParameterError(
            f"The solution is {an(solution)}, with a decision function for each class; pass "
            "qpsvm.reports.build(problem, solution)."
        )
    values = c.row_sums(solution.decision_function(solution.data.X))
    least = (
        np.zeros(len(c))
        if c.minus_self_similarity
        else c.required - c.width_sign * _width(solution)
    )
    is_same = bool(np.ptp(least) == 0.0)
    x = values if is_same else values - least
    alpha, variable, upper = _shares(np.asarray(solution.alpha), c.upper)
    curvature = float(c.curvature[0]) if not np.ptp(c.curvature) and is_same else 0.0
    finite = np.isfinite(x) & np.isfinite(alpha)
    if not finite.any():
        raise InvalidDataError("No sample has a finite margin and alpha; verify the solution.")
    slightly = AT_A_BOUND * float(np.max(np.abs(alpha[finite]), initial=0.0))
    case = np.where(alpha <= slightly, 0, np.where(alpha >= upper - slightly, 2, 1))
    line = Condition(float(least[0]) if is_same else 0.0, 0.0, float(np.max(upper)), curvature)
    one_line = not np.ptp(c.curvature) and not c.lower.any() and not np.ptp(upper)
    return Complementarity(
        heading="Alpha against margin",
        x=x[finite],
        y=alpha[finite],
        case=case[finite],
        conditions=(line,) if one_line else (),
        quantity="margin y f(x)" if is_same else "margin beyond the required one",
        variable=variable,
        noun="sample" if len(c) == solution.data.n_samples else "condition",
    )


def _width(solution: Any) -> float:
    return float(getattr(solution, "width", 0.0) or 0.0)


def _shares(alpha: Vector, upper: Vector) -> tuple[Vector, str, Vector]:
    """Alpha with its name and upper bounds: as shares of these where they differ."""
    if np.isfinite(upper).all() and np.ptp(upper) > 0.0:
        return alpha / upper, "alpha / C", np.ones(len(upper))
    return alpha, "alpha", upper
