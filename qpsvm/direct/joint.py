r"""Direct solution of a small machine with one decision function per class.

Steps of samples in the compiled core find which variables are at their bound. Over the others the
dual is quadratic, and its minimum under ``sum_m tau_im = 0`` one linear system away: with one free
variable of every sample, of class p_i, making up for its others, the Hessian of the rest is

.. math::

    H_{(i,m),(j,l)} = K_{ij} ([m = l] - [m = p_j] - [p_i = l] + [p_i = p_j])

The certificate is that of the verifier, from the same evaluation.
"""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np
from scipy.linalg.lapack import dposv

from qpsvm.backends.own_solvers import BY_ROUNDING
from qpsvm.backends.settings import Settings
from qpsvm.direct.machine import is_plain, statistics_of
from qpsvm.direct.settings import DIRECT
from qpsvm.formulations.crammer_singer import JointProblem
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.joint.model import JointModel
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.repair import nearest_rows
from qpsvm.native import CallStatus, descend_classes
from qpsvm.numerics.arrays import Dense, Mask, default_memory_limit
from qpsvm.numerics.precision import TINY
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.solution import QPSolution, Status


def solved_jointly(problem: JointProblem, settings: Settings) -> JointSolution | None:
    """Solve a small joint problem on its whole kernel matrix; None where steps do not end.

    The status is INACCURATE where nothing but the rounding of kernel values leaves the certificate
    too wide: no other solver would do better in double precision.

    Parameters
    ----------
    problem : JointProblem
    settings : Settings
        A callback, a limit, a warm start or options need the general way.
    """
    model = problem.model
    if not (is_plain(settings) and problem.form == "dual" and _suits(model)):
        return None
    began = perf_counter()
    with one_blas_thread(), np.errstate(all="ignore"):  # what overflows is not certified
        tau = np.zeros(model.own.shape)
        tolerance = DIRECT.tolerance * settings.eps
        K = _kernel_matrix(model)
        for count in range(1, DIRECT.certificates + 1):
            if not _minimise(model, K, tau, tolerance):
                return None
            alpha = nearest_rows(tau, model.upper)  # rows add up to zero
            found = model.of_tau(QPSolution(Status.OPTIMAL), alpha)
            gap, rounding = _relative_gap(model, found)
            if _nearly_holds(model, found, settings.eps):
                if gap + rounding <= DIRECT.gap_share * settings.eps:
                    return _solution(problem, found, Status.OPTIMAL, count, began)
                if gap <= DIRECT.aim * settings.eps:
                    return _solution(problem, found, Status.INACCURATE, count, began)
            tolerance *= min(DIRECT.tighter, DIRECT.aim * settings.eps / max(gap, TINY))
    return None


def _suits(model: JointModel) -> bool:
    n, k = model.own.shape
    is_small = n <= DIRECT.samples and 8 * n * (n + 8 * k) <= default_memory_limit() // 4
    if model.repair is not None or not is_small:
        return False
    if isinstance(model.gram, KernelQuadratic):
        return model.exact_kernel is not None
    return model.data.storage == "dense"


def _kernel_matrix(model: JointModel) -> Dense:
    if isinstance(model.gram, KernelQuadratic):
        return model.gram.gram.dense
    X = np.asarray(model.data.X, dtype=np.float64)
    return X @ X.T


def _minimise(model: JointModel, K: Dense, tau: Dense, tolerance: float) -> bool:
    """Minimise to a violation of ``tolerance``, tau in place; False where it is not reached."""
    n, codes = len(tau), np.ascontiguousarray(model.data.codes, dtype=np.int64)
    at_most, until = DIRECT.class_steps * n, max(DIRECT.numbers.rough, tolerance)
    upper, has_moved, work = model.upper, True, 0.0
    g = K @ tau + model.constant * np.sum(tau, axis=0) - model.own
    for _ in range(DIRECT.numbers.turns):
        run = descend_classes(
            K, codes, model.box, tau, g, constant=model.constant, tol=until, max_steps=at_most
        )
        if run.status is CallStatus.NOT_FINITE or (
            run.status is CallStatus.STALLED and not has_moved
        ):
            return False
        if run.status is CallStatus.DONE and until <= tolerance:
            return True
        until = tolerance
        moved = _newton_step(model, K, tau, g, tau < upper)
        has_moved = moved > 0
        work += moved**3 / 3.0
        if work > DIRECT.class_work:
            return False
        at_most = max(n, int(DIRECT.numbers.between * moved)) if moved else DIRECT.class_steps * n
    return False


def _newton_step(model: JointModel, K: Dense, tau: Dense, g: Dense, is_free: Mask) -> int:
    """Move tau towards the minimum over its free variables, within the bounds of all of them.

    What leaves the feasible set on the way is projected onto it, if that lowers the objective by
    more than the way to the first bound, which is taken otherwise. The gradient moves with it.
    Returns how many variables are free, 0 where no step was made.
    """
    upper = model.upper
    several = is_free & (np.count_nonzero(is_free, axis=1) > 1)[:, None]
    pivot = np.argmax(np.where(several, upper - tau, -np.inf), axis=1)  # farthest from it
    rest = several.copy()
    rest[np.arange(len(tau)), pivot] = False
    i, m = np.nonzero(rest)
    if not 0 < len(i) <= DIRECT.class_variables:
        return 0
    p = pivot[i]
    shared = (m[:, None] == m).astype(np.float64) - (m[:, None] == p) - (p[:, None] == m)
    H = (K[np.ix_(i, i)] + model.constant) * (shared + (p[:, None] == p))
    H[np.diag_indices(len(i))] += DIRECT.numbers.ridge * float(np.max(np.diagonal(H)))
    slope = g[i, m] - g[i, p]
    _, z, failed = dposv(H, -slope, lower=1)
    if failed or not np.isfinite(z).all():
        return 0
    step = np.zeros(tau.shape)
    step[i, m] = z
    np.subtract.at(step, (i, p), z)
    rises = step > 0.0
    first = min(1.0, float(np.min((upper - tau)[rises] / step[rises], initial=1.0)))
    wanted = (first - 0.5 * first * first) * float(slope @ z)  # below zero
    for length in (1.0, first):
        after = np.minimum(nearest_rows(tau + length * step, upper), upper)
        change = after - tau
        used = np.flatnonzero(change.any(axis=1))
        moved = K[:, used] @ change[used] + model.constant * np.sum(change, axis=0)
        if length == first or float(np.sum(change * (g + 0.5 * moved))) <= wanted:
            break
    if not len(used):
        return 0
    tau[:] = after
    g += moved
    return len(i)


def _relative_gap(model: JointModel, found: Evaluation) -> tuple[float, float]:
    """The duality gap, and the rounding of both objectives, relative to the primal one."""
    primal, dual = model.primal_objective(found), model.dual_objective(found)
    rounding = model.rounding(found, primal) * abs(primal) + model.dual_rounding(found, primal)
    scale = primal - rounding
    if not scale > 0.0:
        return math.inf, math.inf
    return abs(primal - dual) / scale, rounding / scale


def _nearly_holds(model: JointModel, found: Evaluation, eps: float) -> bool:
    """Return whether complementary slackness nearly holds, in the units of the verifier."""
    violation = model.sample_table(found).violation
    return float(np.max(violation)) <= DIRECT.natural_share * math.sqrt(eps)


def _solution(
    problem: JointProblem, found: Evaluation, status: Status, count: int, began: float
) -> JointSolution:
    statistics = statistics_of(count, perf_counter() - began)
    qp = problem.recovery.to_qp(found).replace(
        status=status,
        statistics=statistics,
        native_status="" if status is Status.OPTIMAL else BY_ROUNDING,
    )
    own: JointSolution = found.solution.replace(qp=qp)
    return own
