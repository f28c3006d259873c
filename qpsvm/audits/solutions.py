"""Solutions of a program, made of plain numbers from any source."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.audits.claims import Claim, Library, Problem, Solution, multipliers
from qpsvm.exceptions import InvalidDataError
from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.machines.stated_solution import stated_solution
from qpsvm.numerics.arrays import Vector


def solution_of(
    problem: Problem,
    *,
    alpha: ArrayLike | None = None,
    coef: ArrayLike | None = None,
    intercept: float = 0.0,
    width: float | None = None,
) -> SVMSolution:
    """Make a solution of a program, for ``qpsvm.verify``, of plain numbers from any source.

    Nothing is improved and nothing is claimed of it. Weights without alpha get multipliers of zero,
    which prove nothing: only the primal objective of such a solution says something.

    Parameters
    ----------
    problem : SVMProblem
        In either form. Problems of several decision functions are refused.
    alpha : array of shape (N,), optional
        Dual variables. For the two sides of a tube also ``alpha - alpha*`` of shape (n,).
    coef : array of shape (d,), optional
        Weights, of a linear kernel; by default those that follow from alpha.
    intercept : float
        b, zero where the problem has none.
    width : float, optional
        rho of ``NuClassification``, epsilon of ``NuRegression``; by default the best one for these
        weights.

    Returns
    -------
    SVMSolution
        The numbers as they are, with status UNKNOWN.

    Raises
    ------
    InvalidDataError
        Neither alpha nor coef; numbers that are missing, not finite or of another shape; a problem
        of several decision functions; constraints on (w, b) and no alpha.
    AuditRefusedError
        A sample of weight zero has a coefficient.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> solution = qpsvm.audits.solution_of(problem, alpha=[0.5, 0.5], intercept=-1.0)
    >>> qpsvm.verify(problem, solution).passed
    True
    """
    if not isinstance(problem, SVMProblem):
        raise InvalidDataError(
            f"alpha or coef alone are no solution of {problem.family}; pass a complete one."
        )
    b = _number(intercept, "intercept")
    given = Claim(
        name="",
        problem=problem,
        intercept=b,
        alpha=None if alpha is None else _alpha(problem, alpha),
        coef=None if coef is None else _vector(coef, problem.data.n_features, "coef"),
        width=None if width is None else _number(width, "width"),
    )
    if given.alpha is None:
        draft: Solution = _without_multipliers(problem, given.coef, b)
    else:
        draft = given.draft()
        if problem.form == "primal" and problem.model.is_linear:
            draft = draft.replace(expansion=None)  # such a program has w, and no coefficients
    solution = given.completed(draft, Library("")).solution
    assert isinstance(solution, SVMSolution)  # as the draft is
    return solution


def _without_multipliers(problem: SVMProblem, coef: Vector | None, b: float) -> SVMSolution:
    model = problem.model
    if not model.is_linear or coef is None:
        raise InvalidDataError("There is neither alpha nor coef of a linear kernel; pass one.")
    if model.constraints is not None:
        raise InvalidDataError(
            f"Weights alone, which may violate the constraints, bound no optimum of "
            f"{problem.family}; pass alpha, too."
        )
    return stated_solution(model, np.zeros(len(model.conditions)), b, coef=coef)


def _alpha(problem: SVMProblem, alpha: ArrayLike) -> Vector:
    """Dual variables, shape (N,); ``alpha - alpha*`` where a sample has two sides."""
    n, N = problem.data.n_given, len(problem.model.conditions)
    if 2 * problem.data.n_samples == N and np.shape(alpha) == (n,):
        return multipliers(problem, _vector(alpha, n, "alpha"))
    return _vector(alpha, N, "alpha")


def _vector(values: ArrayLike, size: int, name: str) -> Vector:
    if np.iscomplexobj(values) or np.shape(values) != (size,):
        raise InvalidDataError(f"{name} has shape {np.shape(values)}, the program needs ({size},).")
    vector = np.asarray(values, dtype=np.float64)
    if not np.isfinite(vector).all():
        raise InvalidDataError(f"{name} has {int(np.sum(~np.isfinite(vector)))} NaN or infinities.")
    return vector


def _number(value: float, name: str) -> float:
    if np.iscomplexobj(value) or np.shape(value) != () or not math.isfinite(float(value)):
        raise InvalidDataError(f"{name} is {value!r}; it must be a finite number.")
    return float(value)
