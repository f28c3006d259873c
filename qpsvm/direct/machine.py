"""Direct solution of one small machine: from its problem to a solution with its verdict."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from qpsvm.backends.settings import Settings
from qpsvm.direct.matrices import Features, KernelMatrix
from qpsvm.direct.program import Certified, DirectProgram, no_floor
from qpsvm.direct.settings import DIRECT
from qpsvm.kernels.products import is_faster_dense
from qpsvm.machines.dual_program import bound_multipliers
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.norms import SQUARED
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.settings import MACHINES
from qpsvm.machines.setup import stated_solution
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector, default_memory_limit, is_sparse
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.program import row_gradient
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.verification import verify_evaluated

ON_KERNEL = "the kernel matrix is small: steps of pairs on all of it"
ON_WEIGHTS = "the features are few: Newton's method on their weights"
"""Reasons that a solution's statistics give for the method that found it."""


def solved_directly(problem: SVMProblem, settings: Settings) -> SVMSolution | None:
    """Solve a small machine on its kernel matrix or few weights; None if that does not certify it.

    Parameters
    ----------
    problem : SVMProblem
    settings : Settings
        A callback, a limit, a warm start or options need the general way.
    """
    if not (is_plain(settings) and problem.form == "dual" and suits(problem.model)):
        return None
    began = perf_counter()
    with one_blas_thread(), np.errstate(all="ignore"):  # what overflows is not certified
        program = program_of(problem.model)
        found = program.solved(settings.eps)
        if found is None:
            return None
        solution = solution_of(problem, found, perf_counter() - began)
        if found.is_enough:
            return solution
        # more digits of decision values, for a narrower gap, or for multipliers and slack
        evaluation = problem.model.recovered(
            solution.qp,
            found.alpha,
            expansion=found.expansion,
            coef=found.coef,
            b=found.interval.midpoint,
        )
        qp = problem.to_qp(evaluation.solution)
        at_lower, at_upper = _nearer_bounds(problem, qp)
        qp = qp.replace(
            status=Status.OPTIMAL,
            statistics=solution.qp.statistics,
            z_lower=at_lower,
            z_upper=at_upper,
        )
        evaluation = evaluation.of(evaluation.solution.replace(qp=qp))
        report = verify_evaluated(problem, evaluation, eps=settings.eps)
    return evaluation.solution if report.passed else None


def is_plain(settings: Settings) -> bool:
    """Return whether a solve has no callback, limit, warm start or option of the solver."""
    return not (
        settings.verbose
        or settings.options
        or settings.callback is not None
        or settings.warm_start is not None
        or settings.max_iterations is not None
        or settings.time_limit is not None
        or settings.deadline.is_set
    )


def suits(model: SupportVectorModel) -> bool:
    """Return whether a machine is small, soft, and given by one sample in every condition."""
    c = model.conditions
    if c.selection is None or not _is_small(model):
        return False
    is_plain = model.constraints is None and model.repair is None and model.norm is SQUARED
    is_ball = c.norm_weight != 1.0 or c.minus_self_similarity
    if not is_plain or is_ball or c.is_hard.any():
        return False
    if c.width_sign and c.intercept != "free":
        return False
    is_bounded = not (np.isinf(c.lower) & np.isinf(c.upper)).any()
    if not (is_bounded and (np.abs(c.selection.signs) == 1.0).all()):
        return False
    return not isinstance(model.gram, KernelQuadratic) or model.exact_kernel is not None


def _features(model: SupportVectorModel) -> Features | None:
    """The samples of a linear machine; None where products of sparse rows are faster."""
    X = model.data.X
    if is_sparse(X):
        is_worth_it = X.shape[0] * X.shape[1] <= DIRECT.entries and is_faster_dense(X)
        return Features(X.toarray()) if is_worth_it else None
    return Features(np.asarray(X))


def _is_small(model: SupportVectorModel) -> bool:
    n, c = model.gram.size, model.conditions
    if model.is_linear:
        matrix = _features(model)
        if matrix is None:
            return False
        if matrix.are_few(len(c), c.curvature[0] > 0.0):
            return matrix.X.size <= DIRECT.entries
    return n <= DIRECT.samples and 8 * n * n <= default_memory_limit() // 4


def program_of(model: SupportVectorModel) -> DirectProgram:
    """Build the arrays of a machine for which ``suits`` is true."""
    c, gram = model.conditions, model.gram
    assert c.selection is not None  # as it suits
    matrix: KernelMatrix | Features | None = None
    if not isinstance(gram, KernelQuadratic):
        matrix = _features(model)
    elif model.kernel_errors is not None:
        matrix = KernelMatrix.of(gram.gram.dense, model.kernel_errors)
    assert matrix is not None  # as it suits
    unit = c.unit * matrix.squared_spread() if c.relative_to_spread else c.unit

    def floor(objective: float) -> float:
        # up to rounding it is half of this, and takes a product with the kernel matrix to compute
        largest = MACHINES.smallest_weights**2 * c.unit * unit
        return model.objective_floor if objective <= largest else 0.0

    return DirectProgram.of(
        matrix,
        (c.signs, c.required, c.lower, c.upper),
        c.curvature if c.curvature[0] > 0.0 else None,
        c.selection.index,
        unit,
        floor if c.relative_to_spread else no_floor,
        is_free=c.intercept == "free",
        constant=model.constant,
        cost=c.intercept_price,
        side=c.width_sign,
        total=c.width_sign * c.width_price,
    )


def statistics_of(points: int, seconds: float, note: str = ON_KERNEL) -> SolveStatistics:
    """The statistics of a solution that was certified at its n-th dual point."""
    return SolveStatistics(
        backend="active-set",
        iterations=points,
        solve_seconds=seconds,
        seconds={"short way": seconds},
        asked=("active-set",),
        settings=vars(DIRECT).copy(),
        note=note,
    )


def _nearer_bounds(problem: SVMProblem, qp: QPSolution) -> tuple[Vector, Vector]:
    """Multipliers of the variables that are nearer to a bound than their gradient moves them.

    They are those of alpha itself, whose weights differ in rounding from the ones that predict. The
    residual of the gradient of the others is left to stationarity.
    """
    model, program, alpha = problem.model, problem.qp, np.asarray(qp.x)
    c, rows = model.conditions, row_gradient(program, np.asarray(qp.z), np.asarray(qp.y))
    gradient = program.P.matvec(alpha) + program.q + rows
    at_lower, at_upper = np.maximum(gradient, 0.0), np.maximum(-gradient, 0.0)
    above, below = alpha - c.lower, c.upper - alpha
    largest = float(np.max(np.abs(model.gram.diagonal()))) + float(np.max(c.curvature))
    at_lower = np.where(largest * above <= at_lower, at_lower, 0.0)
    return at_lower, np.where(largest * below <= at_upper, at_upper, 0.0)


def solution_of(problem: SVMProblem, found: Certified, seconds: float) -> SVMSolution:
    """Build the solution of a certified machine, with the program's own one."""
    model, b = problem.model, found.interval.midpoint
    note = ON_WEIGHTS if found.by_newton else ON_KERNEL
    c, v = model.conditions, model.violations(found.values, b, found.width)
    at_lower, at_upper = bound_multipliers(c.curvature * found.alpha - v, c.lower, c.upper)
    qp = QPSolution(
        Status.OPTIMAL,
        x=found.alpha,
        z=np.array([found.width] if c.width_sign else []),
        y=np.full(int(c.intercept == "free"), b),
        z_lower=at_lower,
        z_upper=at_upper,
        statistics=statistics_of(found.points, seconds, note),
    )
    return stated_solution(
        model,
        found.alpha,
        b,
        expansion=found.expansion,
        coef=found.coef,
        intercept_interval=found.interval,
        width=found.width,
        slack=model.slack(v),
        qp=qp,
    )
