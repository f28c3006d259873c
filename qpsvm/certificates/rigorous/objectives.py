"""Enclosures of both objectives for machines of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.certificates.rigorous.arithmetic import Enclosure, require_ieee
from qpsvm.certificates.rigorous.joint import joint_enclosure
from qpsvm.certificates.rigorous.single import single_enclosure
from qpsvm.machines.joint.model import JointModel
from qpsvm.numerics.threads import one_blas_thread


@one_blas_thread()
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

    Raises
    ------
    ArithmeticModeError
        The processor does not round as IEEE 754 does.

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
    require_ieee()
    with np.errstate(all="ignore"):
        if isinstance(model, JointModel):
            return joint_enclosure(model, solution)
        return single_enclosure(model, solution)
