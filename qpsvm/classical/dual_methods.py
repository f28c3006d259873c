"""The textbooks' methods for the dual program, each with its trace.

The loops are in ``qpsvm.solvers.classical``, one module per method with its equation; here each
iterate is certified as the machine it stands for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qpsvm.classical.machines import machine_from_alpha, recovered
from qpsvm.classical.recording import Recorder
from qpsvm.classical.result import ClassicalResult
from qpsvm.classical.settings import DEFAULTS, Limits, TraceSettings, require_above
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.margin import HardMargin, SoftMargin
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.choices import require_flag
from qpsvm.solvers.classical.dual_ascent import unconstrained
from qpsvm.solvers.classical.methods import run
from qpsvm.solvers.classical.program import DualProgram
from qpsvm.solvers.classical.settings import ClassicalSettings


def dual_ascent(
    problem: SVMProblem,
    *,
    constrained: bool = True,
    rate: float | None = None,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
    """Gradient ascent on the dual, projected onto box and equality or not.

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
    Source: ``qpsvm.solvers.classical.dual_ascent``. The machine has weights from support vectors
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
    own = ClassicalSettings(rate=rate or 0.0)
    limits = Limits(eps, max_seconds, max_steps)

    def by_formulas(x: Vector) -> SVMSolution:
        return machine_from_alpha(problem, x)

    if constrained:
        machine = by_formulas if by_hand else None
        return _traced(problem, "dual-ascent", own, limits, verbose, settings, machine)
    if not by_hand:
        raise InvalidParameterError(
            "constrained is False, which is for SoftMargin and HardMargin without constraints, got "
            f"{problem.family}; pass constrained=True."
        )
    name = "dual-ascent, unconstrained"
    dual = DualProgram.of(problem.qp, name)
    recorder = Recorder(problem, name, by_formulas, limits, settings, verbose, as_it_is=True)
    return recorder.follow(dual.start(), unconstrained(dual, dual.start(), own))


def slsqp(
    problem: SVMProblem,
    *,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
    """SciPy's solver for nonlinear programs on the dual, with exact derivatives.

    ``minimise 1/2 alpha'H alpha - 1'alpha,  gradient H alpha - 1,  Jacobian of s'alpha: s``

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
    limits = Limits(eps, max_seconds, max_steps)
    return _traced(problem, "slsqp", ClassicalSettings(), limits, verbose, settings)


def smo(
    problem: SVMProblem,
    *,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
    """Sequential minimal optimisation: two dual variables at a time, solved by hand.

    ``a_i x_i <- a_i x_i + t,   a_j x_j <- a_j x_j - t,   t = (G_j - G_i) / kappa, clipped``

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
    ``qpsvm.solvers.classical.smo``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.smo(problem).steps
    1
    """
    limits = Limits(eps, max_seconds, max_steps)
    return _traced(problem, "smo", ClassicalSettings(), limits, verbose, settings)


def coordinate_descent(
    problem: SVMProblem,
    *,
    seed: int = 0,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
    """Dual coordinate descent: one dual variable at a time, for a penalised intercept or none.

    ``alpha_i <- clip(alpha_i - (s_i w'x_i - 1) / k(x_i, x_i), 0, C_i),   w = sum s_i alpha_i x_i``

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
    Source: Hsieh et al. (2008), ``qpsvm.solvers.classical.coordinate_descent``.

    Examples
    --------
    >>> import qpsvm
    >>> machine = qpsvm.SoftMargin(C=10.0, intercept="penalized")
    >>> qpsvm.classical.coordinate_descent(machine.dual([[0.0], [2.0]], [-1, 1])).reason
    'gap'
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidParameterError(f"seed is {seed!r}; pass a whole number of at least 0.")
    limits = Limits(eps, max_seconds, max_steps)
    own = ClassicalSettings(seed=seed)
    return _traced(problem, "coordinate-descent", own, limits, verbose, settings)


def frank_wolfe(
    problem: SVMProblem,
    *,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
    """Frank-Wolfe on the dual: towards the best vertex of the feasible set, no projections.

    ``v = argmin { g'v : v feasible },   alpha <- alpha + t (v - alpha),   g = H alpha - 1``

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
    Source: Frank and Wolfe (1956), Jaggi (2013): ``qpsvm.solvers.classical.frank_wolfe``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.frank_wolfe(problem).relative_gap < 1e-6
    True
    """
    limits = Limits(eps, max_seconds, max_steps)
    return _traced(problem, "frank-wolfe", ClassicalSettings(), limits, verbose, settings)


def admm(
    problem: SVMProblem,
    *,
    rho: float | None = None,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
    """The alternating direction method of multipliers on the dual: row and box in turn.

    ``x <- argmin { f(x) + rho/2 |x - z + u|^2 : s'x = 0 },  z <- clip(x + u),  u <- u + x - z``

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
    Source: Boyd et al. (2011), section 5.2: ``qpsvm.solvers.classical.admm``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.admm(problem).relative_gap < 1e-6
    True
    """
    if rho is not None:
        require_above(rho, 0.0, "rho")
    limits = Limits(eps, max_seconds, max_steps)
    return _traced(problem, "admm", ClassicalSettings(rho=rho or 0.0), limits, verbose, settings)


def _traced(
    problem: SVMProblem,
    name: str,
    own: ClassicalSettings,
    limits: Limits,
    verbose: bool,
    settings: TraceSettings,
    machine: Callable[[Vector], SVMSolution] | None = None,
) -> ClassicalResult:
    """Run a method of ``qpsvm.solvers.classical`` from zero, certified at checkpoints."""
    _require_dual(problem, name.replace("-", "_"))

    def best_intercept(x: Vector) -> SVMSolution:
        return recovered(problem, x)

    label = f"classical:{name}"
    recorder = Recorder(problem, label, machine or best_intercept, limits, settings, verbose)
    dual = DualProgram.of(problem.qp, label)
    recorder.begin(dual.start())
    with np.errstate(all="ignore"):  # what diverges is noticed at the next checkpoint
        run(name, problem.qp, dual, dual.start(), own, recorder.visit)
    return recorder.result()


def _require_dual(problem: object, method: str) -> None:
    if not isinstance(problem, SVMProblem) or problem.form != "dual":
        what = type(problem).__name__
        if isinstance(problem, SVMProblem):
            what = f"{problem.family} in its primal form"
        raise InvalidParameterError(
            f"{method} takes the dual of a training problem, got {what}; build one with "
            "qpsvm.SoftMargin(C=1.0).dual(X, y)."
        )
