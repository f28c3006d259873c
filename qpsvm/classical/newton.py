r"""Newton's method on the primal of the squared hinge, in weights or in an expansion.

The squared hinge is differentiable, and quadratic as long as the same samples violate their
margins. With those samples V and :math:`C = \operatorname{diag}(C_i)`, in weights (Chapelle's
section 3)::

    F(w, b) = 1/2 |w|^2 + sum_{i in V} C_i (s_i - w'x_i - b)^2
    gradient: w - 2 X_V'C (s - f)_V,       Hessian: I + 2 X_V'C X_V        (and b likewise)

and with the representer expansion :math:`f(x) = \sum_j \beta_j k(x_j, x) + b` (section 4), where
the Newton step has a closed form: beta vanishes outside V, and::

    (K_VV + 1/2 C^{-1}) beta_V + b 1 = s_V,     1'beta_V = 0

A step that leaves V as it was is the last one: then F is that quadratic, and its minimum is reached
exactly. Steps that do not decrease F enough are halved. The dual variables are the slopes of the
loss, :math:`\alpha_i = 2 C_i \max(0, 1 - s_i f(x_i))`.

Sources: Chapelle, "Training a support vector machine in the primal", *Neural Computation* 19
(2007), sections 3 and 4; finite convergence: Keerthi and DeCoste, *JMLR* 6 (2005), theorem 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qpsvm.classical.machines import require_problem
from qpsvm.classical.newton_variables import InExpansion, InWeights, SquaredHinge
from qpsvm.classical.recording import Recorder
from qpsvm.classical.result import ClassicalResult
from qpsvm.classical.settings import DEFAULTS, METHODS, Limits, TraceSettings
from qpsvm.formulations.margin import SoftMargin
from qpsvm.machines.problem import SVMProblem
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.calls import explains_calls


@explains_calls
def newton(
    problem: SVMProblem,
    *,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
    r"""Newton's method on the primal of the squared hinge, in the weights of a linear machine.

    .. math::

        (I + 2 X_V^\top C X_V) d = w - 2 X_V^\top C (s - f)_V, \quad w \gets w - t d

    Parameters
    ----------
    problem : SVMProblem
        Of ``SoftMargin(loss="squared_hinge")`` with the linear kernel, in either form.
    eps, max_seconds, max_steps, verbose, settings
        As for ``dual_ascent``.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.

    Notes
    -----
    Source: Chapelle (2007), section 3.

    Examples
    --------
    >>> import qpsvm
    >>> machine = qpsvm.SoftMargin(C=10.0, loss="squared_hinge")
    >>> qpsvm.classical.newton(machine.primal([[0.0], [2.0]], [-1, 1])).relative_gap < 1e-12
    True
    """
    require_problem(problem, "newton", (SoftMargin,), loss="squared_hinge", kernel="linear")
    F, limits = InWeights(problem), Limits(eps, max_seconds, max_steps)
    recorder = Recorder(problem, "newton", F.machine, limits, settings, verbose)
    return recorder.follow(F.start(), _steps(F))


@explains_calls
def kernel_newton(
    problem: SVMProblem,
    *,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
    r"""Minimise the squared-hinge primal of a kernel machine by Newton's method.

    .. math::

        (K_{VV} + \tfrac{1}{2} C^{-1}) \beta_V + b 1 = s_V, \quad 1^\top \beta_V = 0, \quad \beta_i
        = 0 \text{ for } i \notin V

    Parameters
    ----------
    problem : SVMProblem
        Of ``SoftMargin(loss="squared_hinge")`` with any kernel, in either form.
    eps, max_seconds, max_steps, verbose, settings
        As for ``dual_ascent``.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.
    MemoryLimitError
        The kernel matrix does not fit into memory.

    Notes
    -----
    Source: Chapelle (2007), section 4, equations 4.4 and 4.5.

    Examples
    --------
    >>> import qpsvm
    >>> machine = qpsvm.SoftMargin(C=10.0, loss="squared_hinge")
    >>> problem = machine.dual([[0.0], [2.0]], [-1, 1], kernel="rbf")
    >>> qpsvm.classical.kernel_newton(problem).relative_gap < 1e-12
    True
    """
    require_problem(problem, "kernel_newton", (SoftMargin,), loss="squared_hinge")
    F, limits = InExpansion(problem), Limits(eps, max_seconds, max_steps)
    recorder = Recorder(problem, "kernel_newton", F.machine, limits, settings, verbose)
    return recorder.follow(F.start(), _steps(F))


# --- the loop ------------------------------------------------------------------------------------


def _steps(F: SquaredHinge) -> Iterator[Vector]:
    v = F.start()
    f = F.values(v)
    while True:
        violated = F.signs * f < 1.0
        d = F.target(v, violated) - v
        slope, before, t = float(F.gradient(v, f) @ d), F.cost(v, f), 1.0
        if not slope < 0.0:
            return
        while True:
            ahead = v + t * d
            values = F.values(ahead)
            if F.cost(ahead, values) <= before + METHODS.sufficient_decrease * t * slope:
                break
            t *= 0.5
            if t < METHODS.shortest_step:
                return
        v, f = ahead, values
        yield v
        if t == 1.0 and np.array_equal(F.signs * f < 1.0, violated):
            return


# --- weights -------------------------------------------------------------------------------------


# --- the expansion -------------------------------------------------------------------------------
