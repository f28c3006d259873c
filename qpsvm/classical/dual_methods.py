"""Classical methods for the dual program: SLSQP, SMO, coordinate descent, Frank-Wolfe, ADMM.

The loops are in ``qpsvm.solvers.classical``, one module per method with its equation; here each
iterate is certified as the machine it stands for.
"""

from __future__ import annotations

from qpsvm.classical.dual_runs import traced
from qpsvm.classical.result import ClassicalResult
from qpsvm.classical.settings import DEFAULTS, Limits, TraceSettings, require_above
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.problem import SVMProblem
from qpsvm.numerics.calls import explains_calls
from qpsvm.solvers.classical.settings import ClassicalSettings


@explains_calls
def slsqp(
    problem: SVMProblem,
    *,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
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
    limits = Limits(eps, max_seconds, max_steps)
    return traced(problem, "slsqp", ClassicalSettings(), limits, verbose, settings)


@explains_calls
def smo(
    problem: SVMProblem,
    *,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
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
    ``qpsvm.solvers.classical.smo``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.smo(problem).steps
    1
    """
    limits = Limits(eps, max_seconds, max_steps)
    return traced(problem, "smo", ClassicalSettings(), limits, verbose, settings)


@explains_calls
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
    return traced(problem, "coordinate-descent", own, limits, verbose, settings)


@explains_calls
def frank_wolfe(
    problem: SVMProblem,
    *,
    eps: float = 1e-6,
    max_seconds: float | None = 10.0,
    max_steps: int | None = None,
    verbose: bool = False,
    settings: TraceSettings = DEFAULTS,
) -> ClassicalResult:
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
    Source: Frank and Wolfe (1956), Jaggi (2013): ``qpsvm.solvers.classical.frank_wolfe``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.frank_wolfe(problem).relative_gap < 1e-6
    True
    """
    limits = Limits(eps, max_seconds, max_steps)
    return traced(problem, "frank-wolfe", ClassicalSettings(), limits, verbose, settings)


@explains_calls
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
    return traced(problem, "admm", ClassicalSettings(rho=rho or 0.0), limits, verbose, settings)
