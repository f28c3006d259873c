"""Steps of Newton's method for a machine, from gradient and Hessian summed over all chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from qpsvm.chunked.evaluation import ChunkResult
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.sums import Sum
from qpsvm.chunked.template import Template
from qpsvm.numerics.arrays import Dense
from qpsvm.numerics.precision import TINY


def newton_step(
    form: Template, machine: Machine, results: Sequence[ChunkResult], ridge: float
) -> Machine:
    """The minimiser of the quadratic model of the objective at a machine.

    The machine itself where numbers overflow, or the model has no minimiser.

    Parameters
    ----------
    form : Template
    machine : Machine
        The centre of the pass.
    results : sequence of ChunkResult
        With gradient and Hessian.
    ridge : float
        Added to the diagonal of the Hessian, which is scaled to ones.
    """
    d = len(machine.coef)
    gradient, hessian = Sum((d + 2,)), Sum((d + 2, d + 2))
    for result in results:
        assert result.gradient is not None
        assert result.hessian is not None
        gradient.add_sum(result.gradient)
        hessian.add_sum(result.hessian)
    penalty = np.full(d + 2, form.norm_weight)
    penalty[d:] = (float(form.intercept == "penalized"), 0.0)
    theta = machine.vector
    g = gradient.value + penalty * theta
    g[d:] += (form.intercept_price, form.width_price)
    H = hessian.value + np.diag(penalty)
    used = np.ones(d + 2, dtype=bool)
    used[d:] = (form.intercept != "none", form.width_sign != 0.0)
    step = np.zeros(d + 2)
    try:
        step[used] = _solved(H[np.ix_(used, used)], g[used], ridge)
    except (ValueError, LinAlgError):  # not finite; not positive definite
        return machine
    return Machine.of(theta - step) if np.isfinite(step).all() else machine


def _solved(H: Dense, g: Dense, ridge: float) -> Dense:
    """Solve ``H x = g`` for a positive semidefinite matrix, scaled to a diagonal of ones."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), TINY))
    scaled = H * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] += ridge
    return np.asarray(scale * cho_solve(cho_factor(scaled), scale * g))
