"""Both objectives of a machine, enclosed: what ``rigorous=True`` adds to a certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.certificates.rigorous.joint import joint_bounds
from qpsvm.certificates.rigorous.primal import constraints_hold
from qpsvm.certificates.rigorous.single import single_bounds
from qpsvm.machines.joint.model import JointModel


@dataclass(frozen=True)
class Enclosure:
    """Bounds on both objectives that hold in exact arithmetic on the given float64 data.

    Attributes
    ----------
    objective_upper : float
        At least the objective of the machine as it predicts; that of a hard margin is of (w, b)
        scaled up until its smallest margin is 1. Infinite where nothing is known.
    feasible : bool
        Whether every hard condition and every constraint on (w, b) provably holds (of a hard
        margin: for the scaled machine).
    dual_lower : float
        At most the optimum: at most the dual objective of some exactly feasible dual point. Minus
        infinity where none was found.
    """

    objective_upper: float
    feasible: bool
    dual_lower: float

    @property
    def primal_upper(self) -> float:
        """``objective_upper``; infinite unless the machine is feasible beyond doubt."""
        return self.objective_upper if self.feasible else math.inf

    @property
    def gap_upper(self) -> float:
        """The objective is at most this far above the optimum, in exact arithmetic."""
        gap = self.primal_upper - self.dual_lower
        return max(0.0, math.nextafter(gap, math.inf)) if not math.isnan(gap) else math.inf


def enclose(model: Any, solution: Any) -> Enclosure:
    """Enclose both objectives of a solution.

    Parameters
    ----------
    model : SupportVectorModel or JointModel
    solution : SVMSolution or JointSolution
        One that ``model.require_own`` accepts. Numbers that are not finite give no bound.

    Returns
    -------
    Enclosure

    Notes
    -----
    ``docs/rounding.md`` has the proof and what it assumes: IEEE 754, rounding to nearest, products
    of matrices that are sums of products in any order, and exp, tanh and power to 4 ulp. Kernel
    matrices that are data (precomputed, a callable's, repaired) count as positive semidefinite.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> bounds = enclose(problem.model, qpsvm.solve(problem))
    >>> bounds.dual_lower <= 0.5 <= bounds.primal_upper
    True
    """
    with np.errstate(all="ignore"):
        if isinstance(model, JointModel):
            upper, holds, lower = joint_bounds(model, solution)
        else:
            upper, holds, lower = single_bounds(model, solution)
            if holds and model.constraints is not None:
                point = np.append(solution.coef, solution.intercept)
                holds = constraints_hold(model.constraints, point)
    return Enclosure(upper if not math.isnan(upper) else math.inf, holds, lower)
