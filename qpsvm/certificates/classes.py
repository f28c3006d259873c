"""Screening for a machine with one decision function per class.

A sample pays ``C_i max_m c_m`` with ``c_m = f_m(x_i) + 1 - f_y(x_i)`` for the other classes and
``c_y = 0`` for its own; ``tau_im = C_i ([m = y] - p_m)`` with p a distribution over the largest.
Two decision functions differ from the optimum's by at most ``sqrt(2) r |phi(x_i)|`` together, so
every c_m is known to an interval, and a class below another one for sure has ``p_m = 0``, whatever
``C_i`` is.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.certificates.optimum import NORM_ROUNDING
from qpsvm.certificates.rigorous import decision_enclosure
from qpsvm.certificates.rigorous.figures import own_norms
from qpsvm.certificates.rigorous.kernels import gram_product
from qpsvm.certificates.screening import BOUND, UNDECIDED, ZERO, Screening
from qpsvm.machines.joint.evaluation import JointEvaluation
from qpsvm.machines.joint.model import JointModel
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.numerics.arrays import Dense, Vector, freeze
from qpsvm.numerics.balls import UNDERFLOW, root
from qpsvm.numerics.precision import EPS
from qpsvm.qp.kernel_quadratic import KernelQuadratic


def screen_classes(model: JointModel, evaluation: JointEvaluation, radius: float) -> Screening:
    """Screen every pair of a sample and a class; return one row per sample."""
    solution, decisions, own = evaluation.solution, evaluation.decisions, model.own
    c = np.where(own, 0.0, decisions + 1.0 - decisions[own][:, None])
    norms = root(own_norms(model) ** 2 + model.constant)
    errors = _decision_errors(model, solution, decisions)
    errors += 4.0 * EPS * (1.0 + np.max(np.abs(decisions), axis=1))
    reach = NORM_ROUNDING * (math.sqrt(2.0) * radius * norms + 2.0 * errors)[:, None] + UNDERFLOW
    reach = np.where(own, 0.0, reach)
    surely, possibly = c - reach, c + reach
    idle = possibly < _largest_other(surely)
    alone = ~idle & (np.sum(~idle, axis=1) == 1)[:, None]
    status = np.full(c.shape, UNDECIDED, dtype=np.intp)
    status[idle] = np.where(own, BOUND, ZERO)[idle]
    status[alone] = np.where(own, ZERO, BOUND)[alone]
    return Screening(freeze(status.ravel()), freeze(np.zeros(0, dtype=np.intp)))


def _decision_errors(model: JointModel, solution: JointSolution, decisions: Dense) -> Vector:
    """Bound on the rounding of each training sample's decision values, shape (n,)."""
    if model.repair is None:
        values, errors = decision_enclosure(solution, model.data.X)
        return np.asarray(np.max(np.abs(decisions - values) + errors, axis=1))
    if not isinstance(model.gram, KernelQuadratic) or solution.expansion is None:
        return np.full(len(decisions), np.inf)
    # the repaired matrix is the problem
    own = gram_product(model.gram.gram, None, solution.expansion)
    scores = decisions - solution.intercept
    return np.asarray(np.max(np.abs(scores - own.mid) + own.rad, axis=1))


def _largest_other(values: np.ndarray) -> np.ndarray:
    """Largest other entry of its row for every entry; -inf where that is NaN."""
    values = np.where(np.isnan(values), -np.inf, values)
    first = np.argmax(values, axis=1)
    rows = np.arange(len(values))
    rest = values.copy()
    rest[rows, first] = -np.inf
    result = np.repeat(values[rows, first][:, None], values.shape[1], axis=1)
    result[rows, first] = np.max(rest, axis=1)
    return result
