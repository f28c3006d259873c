"""Machines for ascending C that share their work: linear ones, and those over one kernel matrix.

The dual of a linear machine has as many variables as samples, and at the optimum about as many of
them are between their bounds as there are weights. Which ones is nearly known from the weights at
the last C: proximal steps (``solvers.linear.proximal``) begin at the last solution, and their
Newton steps look at the samples nearest to their margins.

Over a kernel matrix that is kept, each machine is solved from the one before (``direct.related``).

What does not depend on C is done once. Every machine is certified from its dual variables alone: by
the certificate of the short way where there are the arrays for it, else by the verifier. One that
does not pass is solved like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import TypeAlias

import numpy as np

from qpsvm.direct.machine import program_of, solution_of, suits
from qpsvm.direct.program import DirectProgram
from qpsvm.direct.related import RelatedMachines
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.duplicates import clip_scaled
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.paths.program import ParametricProgram
from qpsvm.paths.training import PathSettings, Training, accepted, feasible_alpha
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.solution import Status
from qpsvm.solvers.linear.factor import Factor
from qpsvm.solvers.linear.program import FactorProgram, Point
from qpsvm.solvers.linear.proximal import first_weight, solve_by_proximal_steps
from qpsvm.solvers.linear.search import Search, SearchResult
from qpsvm.solvers.linear.settings import DEFAULTS
from qpsvm.solvers.linear.solver import solve

Alphas: TypeAlias = Iterator[Vector]
"""Dual variables of the machine at each C."""

Machines: TypeAlias = Iterator[SVMSolution]
"""The machine at each C."""


@one_blas_thread()
def machines_along(
    training: Training,
    program: ParametricProgram | None,
    values: Vector,
    eps: float,
    settings: PathSettings,
) -> Machines | None:
    """Return the verified machines of ascending C, or None where they have nothing to share.

    They have where C is the parameter and the loss is not squared; with a linear kernel, if there
    are several samples for each feature, and with others, if the intercept is free and the kernel
    matrix may be kept.

    Parameters
    ----------
    training : Training
    program : ParametricProgram or None
        Of the range of the values.
    values : array of shape (m,)
    eps : float
    settings : PathSettings
    """
    if program is None or training.over != "C" or not program.is_scaled_box:
        return None
    tight = settings.sequence_share * eps
    alphas = _over_weights(program, values, tight) or _over_matrix(program, values, tight, settings)
    return None if alphas is None else _certified(training, values, alphas, eps)


def _certified(training: Training, values: Vector, alphas: Alphas, eps: float) -> Machines:
    """Yield a verified machine for the dual variables of each C."""
    with one_blas_thread():
        model = training.problem(float(values[0])).model
        is_kept = isinstance(model.gram, KernelQuadratic) and model.kernel_errors is not None
        shared = program_of(model) if is_kept or suits(model) else None
    for C in values.tolist():
        problem = training.problem(C)
        with one_blas_thread():
            alpha = next(alphas)
            machine = None if shared is None else _by_arrays(shared, problem, alpha, eps)
            if machine is None:
                machine = accepted(problem, feasible_alpha(problem, alpha), eps)
        yield machine


@np.errstate(all="ignore")  # what overflows is not certified
def _by_arrays(
    shared: DirectProgram, problem: SVMProblem, alpha: Vector, eps: float
) -> SVMSolution | None:
    """Build the machine of dual variables; None where the certificate of arrays is too wide."""
    began, c = perf_counter(), problem.model.conditions
    lower, upper = np.ascontiguousarray(c.lower), np.ascontiguousarray(c.upper)
    program = replace(shared, machine=replace(shared.machine, lower=lower, upper=upper))
    found = program.certified(clip_scaled(alpha, lower, upper))
    if found is None or not found.passes(eps) or not program.states_enough_digits(found, eps):
        return None
    return solution_of(problem, found, perf_counter() - began)


# --- dual variables -------------------------------------------------------------------------------


def _over_weights(program: ParametricProgram, values: Vector, eps: float) -> Alphas | None:
    """Dual variables of linear machines; None for others, and with few samples per feature."""
    P, n = program.P, len(program)
    if not isinstance(P, LowRankQuadratic) or P.diag.any():
        return None
    if DEFAULTS.open_per_weight * P.rank > DEFAULTS.largest_open_share * n:
        return None
    unit = FactorProgram(
        F=Factor.of(P),
        d=np.zeros(n),
        q=-program.required.value,
        A=program.rows,
        b=np.zeros(len(program.rows)),
        lower=program.lower.slope,
        upper=program.upper.slope,
        offset=np.zeros(P.rank),
    )
    return _next_to_weights(unit, values, eps)


def _next_to_weights(unit: FactorProgram, values: Vector, eps: float) -> Alphas:
    """Yield the dual variables of linear machines, each solved next to the solution of the last."""
    last: SearchResult | None = None
    before = 1.0
    for C in values.tolist():
        if last is not None:
            last = replace(last, x=(C / before) * last.x)
        program = replace(unit, lower=C * unit.lower, upper=C * unit.upper)
        last, before = _solved(program, last, eps), C
        yield last.x


@np.errstate(all="ignore")  # an objective that is not finite ends the search
def _solved(program: FactorProgram, last: SearchResult | None, eps: float) -> SearchResult:
    found, most_iterations = None, 1000
    if last is not None:
        search = Search(program, eps, most_iterations, lambda *_: None)
        x = np.clip(last.x, program.lower, program.upper)
        at = Point.of(program, x, last.y, last.w)
        # near a solution a hundredth of the usual proximal term is enough
        found = solve_by_proximal_steps(search, at, 0.01 * first_weight(program))
    if found is None or found.status is not Status.OPTIMAL:
        found = solve(program, eps, most_iterations, lambda *_: None)
    return found


def _over_matrix(
    program: ParametricProgram, values: Vector, eps: float, settings: PathSettings
) -> Alphas | None:
    """Dual variables over a kernel matrix that is kept; None if it may not be, or for other duals.

    These have no free intercept, or rows beside its own.
    """
    P = program.P
    if not isinstance(P, KernelQuadratic) or 8 * P.gram.size**2 > settings.kept_bytes:
        return None
    signs, rows = P.selection.signs, P.selection.index
    is_plain = len(program.rows) == 1 and not (P.constant or P.diag.any())
    if not is_plain or not np.array_equal(program.rows[0], signs):
        return None
    related = RelatedMachines(P.gram.dense, signs, program.required.value, rows)
    box = program.lower.slope, program.upper.slope
    return (signs * v for v in related.along(*box, values.tolist(), eps))
