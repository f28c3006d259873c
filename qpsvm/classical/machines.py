r"""Machines made of dual variables, weights, or the coefficients of an expansion.

Weights from support vectors, and the intercept averaged over the free ones, as the textbooks do::

    w = sum_{alpha_i > 0} alpha_i s_i x_i
    b = mean { s_i - w'x_i  :  0 < alpha_i < C_i }

Source: Cristianini and Shawe-Taylor, *An Introduction to Support Vector Machines* (2000), section
6.1.2; the average: Burges, "A tutorial on support vector machines for pattern recognition", *Data
Mining and Knowledge Discovery* 2 (1998), section 3.4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.margin import HardMargin, SoftMargin
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.setup import stated_solution
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import explains_calls
from qpsvm.numerics.arrays import Vector, as_vector

INSIDE = 1e-8
"""Share of ``C_i`` by which a free alpha is away from both ends of its box."""


@explains_calls
def machine_from_alpha(problem: SVMProblem, alpha: ArrayLike) -> SVMSolution:
    r"""Compute weights and intercept of a machine from its dual variables alpha.

    .. math::

        w = \sum \alpha_i s_i x_i, \quad b = \operatorname{mean} \{ s_i - w^\top x_i : 0 < \alpha_i
        < C_i \}

    Parameters
    ----------
    problem : SVMProblem
        Of ``SoftMargin`` or ``HardMargin``, with any kernel.
    alpha : array of shape (n,)
        Feasible or not.

    Returns
    -------
    SVMSolution
        Where no support vector is free, with the midpoint of the best intercepts.

    Raises
    ------
    InvalidParameterError
        A problem of another family.
    InvalidProgramError
        Alpha of another length.

    Notes
    -----
    At the optimum all free support vectors give the same b. Before it they do not, and their
    average is not the best intercept for w, which ``problem.recover`` computes: a sum of hinges is
    minimised by a weighted median.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> machine = qpsvm.classical.machine_from_alpha(problem, [0.5, 0.5])
    >>> machine.coef, machine.intercept
    (array([1.]), -1.0)
    """
    require_problem(problem, "machine_from_alpha", (SoftMargin, HardMargin))
    model, c = problem.model, problem.model.conditions
    a = as_vector(alpha, "alpha", len(c))
    expansion = model.expansion(a)
    machine = stated(problem, a, coef=model.coef(expansion), expansion=expansion)
    if model.intercept == "none":
        return machine
    if model.intercept == "penalized":  # b is the weight of a feature of ones
        return _with_intercept(problem, machine, float(c.signs @ a))
    unit = np.minimum(c.upper, np.max(np.abs(a), initial=0.0))
    free = (a > INSIDE * unit) & (a < c.upper * (1.0 - INSIDE))
    if not free.any():
        return _with_intercept(problem, machine, machine.intercept_interval.midpoint)
    scores = model.decision_values(machine).scores
    # s_i f(x_i) = 1, and 1 - alpha_i / (2 C_i) for the squared hinge
    values = c.signs * (1.0 - c.curvature * a) - scores
    return _with_intercept(problem, machine, float(np.mean(values[free])))


def stated(
    problem: SVMProblem,
    alpha: Vector,
    *,
    coef: Vector | None = None,
    expansion: Vector | None = None,
    intercept: float = 0.0,
) -> SVMSolution:
    """Build the machine with given weights and intercept, and alpha for the lower bound."""
    model = problem.model
    if coef is not None:  # the weights say it all, unless the program is about alpha
        expansion = model.expansion(alpha) if problem.form == "dual" else None
    machine = stated_solution(
        model,
        alpha.copy(),
        intercept,
        coef=None if coef is None else coef.copy(),
        expansion=expansion,
    )
    best = model.optimal_intercepts(model.decision_values(machine))
    return _with_intercept(problem, machine.replace(intercept_interval=best), intercept)


def _with_intercept(problem: SVMProblem, machine: SVMSolution, b: float) -> SVMSolution:
    model = problem.model
    v = model.violations(model.decision_values(machine).scores, b, 0.0)
    return machine.replace(intercept=b, slack=model.slack(v))


def require_problem(
    problem: object, method: str, families: tuple[type[object], ...], **wanted: str
) -> None:
    """Raise InvalidParameterError unless the problem is of one of the families, and as wanted.

    Parameters
    ----------
    problem : object
    method : str
        Who asks, for the message.
    families : tuple of type
    **wanted : str
        ``loss``, ``form`` or ``kernel`` that it must have; ``"linear"`` is the only kernel.
    """
    names = " or ".join(family.__name__ for family in families)
    words = ", ".join(f"{name} {value!r}" for name, value in wanted.items())
    expected = f"{method} takes a problem of {names}{f' with {words}' if words else ''}"
    if not isinstance(problem, SVMProblem):
        raise InvalidParameterError(
            f"{expected}, got {type(problem).__name__}; build one with "
            f"qpsvm.{families[0].__name__}().dual(X, y)."
        )
    formulation, model = problem.formulation, problem.model
    found = {
        "loss": getattr(formulation, "loss", "hinge"),
        "form": problem.form,
        "kernel": "linear" if model.is_linear else str(model.kernel),
    }
    fits = isinstance(formulation, families) and all(
        found[name] == value for name, value in wanted.items()
    )
    if not fits or model.constraints is not None:
        extra = " and constraints" if model.constraints is not None else ""
        raise InvalidParameterError(
            f"{expected} and without constraints, got {problem.family} in its {problem.form} form "
            f"with kernel {found['kernel']!r}{extra}."
        )
