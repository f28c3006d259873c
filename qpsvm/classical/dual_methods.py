"""Classical methods for the dual program, from gradient ascent to ADMM.

The loops and their equations are in ``qpsvm.solvers.classical``; here each iterate is certified as
the machine it stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Unpack

import numpy as np

from qpsvm.backends.settings import require_above, require_count
from qpsvm.classical.machines import machine_from_alpha
from qpsvm.classical.recording import ClassicalResult, Limits, Recorder, RunOptions, textbook_method
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.margin import HardMargin, SoftMargin
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import require_flag
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.classical.driver import following, method_of
from qpsvm.solvers.classical.first_order import unconstrained
from qpsvm.solvers.classical.program import DEFAULTS, ClassicalSettings, DualProgram


@textbook_method
def slsqp(problem: SVMProblem, **run: Unpack[RunOptions]) -> ClassicalResult:
    r"""Maximise the dual objective with SciPy's SLSQP and exact derivatives.

    .. math::

        \min_\alpha \; \tfrac{1}{2} \alpha^\top H \alpha - 1^\top \alpha, \quad \text{gradient } H
        \alpha - 1, \quad \text{Jacobian of } s^\top \alpha \text{: } s

    Parameters
    ----------
    problem : SVMProblem
        A dual program of at most 1,500 variables, with bounds and at most one equality row.
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
    UnsupportedProgramError
        A program with other rows, or a larger one.

    Notes
    -----
    Source: Kraft (1988), ``qpsvm.solvers.classical.slsqp``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.slsqp(problem).relative_gap < 1e-6
    True
    """
    return traced(problem, "slsqp", **run)


@textbook_method
def smo(problem: SVMProblem, **run: Unpack[RunOptions]) -> ClassicalResult:
    r"""Sequential minimal optimisation: maximise the dual over two variables at a time.

    .. math::

        a_i x_i \gets a_i x_i + t, \quad a_j x_j \gets a_j x_j - t, \quad t = (G_j - G_i) / \kappa
        \text{, clipped}

    Parameters
    ----------
    problem : SVMProblem
        A dual program with bounds and one equality row: a machine with a free intercept.
    eps, max_seconds, max_steps, verbose, settings
        As for ``dual_ascent``. A step is one pair.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.
    UnsupportedProgramError
        A program without the equality row, or with other rows.

    Notes
    -----
    Source: Platt (1998), with the pairs of Fan, Chen and Lin (2005); the equations are in
    ``qpsvm.solvers.classical.coordinates``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.smo(problem).steps
    1
    """
    return traced(problem, "smo", **run)


@textbook_method
def coordinate_descent(
    problem: SVMProblem,
    *,
    seed: int = 0,
    **run: Unpack[RunOptions],
) -> ClassicalResult:
    r"""Dual coordinate descent: maximise the dual over one variable at a time.

    .. math::

        \alpha_i \gets \operatorname{clip}(\alpha_i - (s_i w^\top x_i - 1) / k(x_i, x_i), 0, C_i),
        \quad w = \sum s_i \alpha_i x_i

    Parameters
    ----------
    problem : SVMProblem
        A dual program with bounds alone.
    seed : int
        Of the order of the variables, which is drawn anew for every pass.
    eps, max_seconds, max_steps, verbose, settings
        As for ``dual_ascent``. A step is one variable.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.
    UnsupportedProgramError
        A program with rows: a free intercept.

    Notes
    -----
    Source: Hsieh et al. (2008), ``qpsvm.solvers.classical.coordinates``.

    Examples
    --------
    >>> import qpsvm
    >>> machine = qpsvm.SoftMargin(C=10.0, intercept="penalized")
    >>> qpsvm.classical.coordinate_descent(machine.dual([[0.0], [2.0]], [-1, 1])).reason
    'gap'
    """
    require_count(seed, "seed", least=0)
    return traced(problem, "coordinate-descent", ClassicalSettings(seed=int(seed)), **run)


@textbook_method
def frank_wolfe(problem: SVMProblem, **run: Unpack[RunOptions]) -> ClassicalResult:
    r"""Frank-Wolfe method on the dual: steps towards vertices of the feasible set.

    .. math::

        v = \operatorname{argmin} \{ g^\top v : v \text{ feasible} \}, \quad \alpha \gets \alpha + t
        (v - \alpha), \quad g = H \alpha - 1

    Parameters
    ----------
    problem : SVMProblem
        A dual program with a bounded box and at most one equality row: the hinge loss.
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
    UnsupportedProgramError
        A program with other rows, or an unbounded box (squared hinge, hard margin).

    Notes
    -----
    Source: Frank and Wolfe (1956), Jaggi (2013): ``qpsvm.solvers.classical.first_order``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.frank_wolfe(problem).relative_gap < 1e-6
    True
    """
    return traced(problem, "frank-wolfe", **run)


@textbook_method
def admm(
    problem: SVMProblem,
    *,
    rho: float | None = None,
    **run: Unpack[RunOptions],
) -> ClassicalResult:
    r"""Alternating direction method of multipliers on the dual: equality row and box in turn.

    .. math::

        x \gets \operatorname{argmin} \{ f(x) + \tfrac{\rho}{2} \lVert x - z + u \rVert^2 : s^\top x
        = 0 \}, \quad z \gets \operatorname{clip}(x + u), \quad u \gets u + x - z

    Parameters
    ----------
    problem : SVMProblem
        A dual program with bounds and at most one equality row.
    rho : float, optional
        The mean diagonal entry of H if None.
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
    UnsupportedProgramError
        A program with other rows.
    MemoryLimitError
        The kernel matrix does not fit into memory.

    Notes
    -----
    Source: Boyd et al. (2011), section 5.2: ``qpsvm.solvers.classical.first_order``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.admm(problem).relative_gap < 1e-6
    True
    """
    if rho is not None:
        require_above(rho, 0.0, "rho")
    return traced(problem, "admm", ClassicalSettings(rho=rho or 0.0), **run)


# --- the run --------------------------------------------------------------------------------------


def traced(
    problem: SVMProblem,
    name: str,
    own: ClassicalSettings = DEFAULTS,
    machine: Callable[[Vector], SVMSolution] | None = None,
    *,
    is_constrained: bool = True,
    **run: Unpack[RunOptions],
) -> ClassicalResult:
    """Run a textbook method on a dual program and record the certified gap as it goes.

    Its machines have the best intercept for their weights, unless ``machine`` builds others.
    Without constraints the method is gradient ascent.
    """
    _require_dual(problem, name)

    def recovered(x: Vector) -> SVMSolution:
        # a copy: some methods change their iterate in place
        return problem.recover(QPSolution(Status.UNKNOWN, x=x.copy()))

    label = f"classical:{name}" if is_constrained else f"{name}, unconstrained"
    dual = DualProgram(problem.qp, label)
    start, limits = dual.project(np.zeros(len(dual.q))), Limits(**run)
    recorder = Recorder(
        problem, label, machine or recovered, start, limits, as_it_is=not is_constrained
    )
    if is_constrained:
        return recorder.run(method_of(name, dual, start, own))
    return recorder.run(following(unconstrained(dual, start, own)))


def _require_dual(problem: object, method: str) -> None:
    """Raise InvalidParameterError unless the problem is the dual of a training problem."""
    what = type(problem).__name__
    if isinstance(problem, SVMProblem):
        if problem.form == "dual":
            return
        what = f"{problem.family} in its primal form"
    raise InvalidParameterError(
        f"{method.replace('-', '_')} takes the dual of a training problem, got {what}; build one "
        "with qpsvm.SoftMargin(C=1.0).dual(X, y)."
    )


@textbook_method
def dual_ascent(
    problem: SVMProblem,
    *,
    constrained: bool = True,
    rate: float | None = None,
    **run: Unpack[RunOptions],
) -> ClassicalResult:
    """Maximise the dual objective by gradient steps, each projected onto the constraints.

    ``alpha <- proj(alpha + eta (1 - H alpha)),   H = ss' o K``

    Parameters
    ----------
    problem : SVMProblem
        A dual program with bounds and at most one equality row.
    constrained : bool
        Project onto ``0 <= alpha <= C`` and ``s'alpha = 0``, both exactly. Without it alpha leaves
        both, and its value is no bound on anything: the trace has an infinite gap.
    rate : float, optional
        eta; ``1 / L`` with an estimate of the largest eigenvalue L of H if None. Above ``2 / L``
        the ascent diverges.
    eps : float
        The certified relative gap to stop at, between 0 and 1.
    max_seconds : float, optional
        Seconds of the method, certificates not counted; None for no limit.
    max_steps : int, optional
        Steps of the method; None for no limit.
    verbose : bool
        Print a line for every checkpoint.
    settings : TraceSettings
        When the machine is certified, and by which clock the method is timed.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.
    UnsupportedProgramError
        A program with other rows.

    Notes
    -----
    Source: ``qpsvm.solvers.classical.first_order``. The machine has weights from support vectors
    and the intercept averaged over free ones (``machine_from_alpha``).

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.dual_ascent(problem).relative_gap < 1e-6
    True
    >>> qpsvm.classical.dual_ascent(problem, constrained=False, max_steps=3).relative_gap
    inf
    """
    require_flag(constrained, "constrained")
    if rate is not None:
        require_above(rate, 0.0, "rate")
    _require_dual(problem, "dual_ascent")
    is_classifier = isinstance(problem.formulation, SoftMargin | HardMargin)
    by_hand = is_classifier and problem.model.constraints is None
    if not (constrained or by_hand):
        raise InvalidParameterError(
            "constrained is False, which is for SoftMargin and HardMargin without constraints, got "
            f"{problem.family}; pass constrained=True."
        )
    machine = partial(machine_from_alpha, problem) if by_hand else None
    own = ClassicalSettings(rate=rate or 0.0)
    return traced(problem, "dual-ascent", own, machine, is_constrained=constrained, **run)
