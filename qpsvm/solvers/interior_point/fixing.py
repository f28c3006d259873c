"""Variables that are fixed on the way, at bounds where they will certainly end.

The gradient of variable i changes by at most ``norm(f_i)`` per unit of distance that the weights
and row multipliers still have to go, in the norm of the Newton system; the gap bounds the square of
that distance. A variable whose gradient is farther from zero than that is decided.
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.solvers.interior_point.accuracy import Accuracy
from qpsvm.solvers.interior_point.linear_system import LinearSystem
from qpsvm.solvers.interior_point.residuals import Residuals
from qpsvm.solvers.interior_point.variables import Variables


def undecided(
    system: LinearSystem, variables: Variables, residuals: Residuals, accuracy: Accuracy
) -> tuple[Index, Vector]:
    """Indices of undecided variables, and the bounds at which the others are fixed.

    Parameters
    ----------
    system : LinearSystem
        Of the last step, whose norm measures distances.
    variables, residuals : Variables, Residuals
        After the step.
    accuracy : Accuracy
        Before the step.
    """
    p = system.work.program
    radius = np.sqrt(max(accuracy.absolute_gap, 1e-300))
    distances = np.abs(variables.g) / (radius * system.newton.sizes())
    bounds = np.where(residuals.gradient > 0.0, p.lower, p.upper)
    inside = np.isinf(bounds) | (distances <= system.work.settings.fix_reach)
    return np.flatnonzero(inside), bounds
