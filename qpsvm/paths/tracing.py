"""``svm_path``: machines along C, epsilon or nu, exact where events are few, else a sequence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Family
from qpsvm.kernels import KernelArgument
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import Samples, Targets, Weights, explains_calls, require_flag
from qpsvm.numerics.arrays import Vector
from qpsvm.paths.following import MachineSolver, Trace, follow
from qpsvm.paths.one_factor import OneFactor
from qpsvm.paths.one_matrix import OneMatrix
from qpsvm.paths.program import ParametricProgram, parametric_program
from qpsvm.paths.result import Path
from qpsvm.paths.settings import DEFAULTS, PathSettings, require_arguments
from qpsvm.paths.steps import Steps
from qpsvm.paths.training import Training, checked_values, warn_of_misses

Parameter: TypeAlias = Literal["C", "epsilon", "nu"]
"""A parameter along which there are paths."""

Values: TypeAlias = float | Sequence[float] | Vector | None
"""Values of a parameter; a number is one value."""

PathCallback = Callable[[float, SVMSolution], object]
"""Receives a value and its machine; returning False ends the path there."""


@explains_calls
def svm_path(
    X: Samples,
    y: Targets | None = None,
    *,
    C: Values = None,
    epsilon: Values = None,
    nu: Values = None,
    kernel: KernelArgument = "rbf",
    over: Parameter | None = None,
    values: Values = None,
    formulation: Family | None = None,
    sample_weight: Weights | None = None,
    indefinite: Indefinite = "error",
    exact: bool | Literal["auto"] = "auto",
    eps: float = 1e-8,
    callback: PathCallback | None = None,
    verbose: bool = False,
    settings: PathSettings = DEFAULTS,
) -> Path:
    r"""Machines for many values of one parameter, each verified.

    .. math::

        a(s) = a_k + (s - s_k) a_k' \quad \text{between two events } s_k \le s \le s_{k+1}

    The optimal dual variables are piecewise linear in C, epsilon or nu where the loss is not
    squared. The exact path finds all events: a free variable meets a bound, or the multiplier of a
    bound becomes zero. A path with too many variables or events, and one with a squared loss, is a
    sequence: each value is solved from the solution at the one before. Where the kernel matrix is
    kept, machines along C are found and verified several at a time.

    Parameters
    ----------
    X, y, kernel, sample_weight, indefinite
        As for ``SoftMargin.primal``.
    C, epsilon, nu : sequence of float, or float, optional
        The parameter of the formulation that moves, with the values to return machines for; an
        exact path covers all that is between the smallest and the largest. None: 50 values of C
        from 0.01 to 100.
    over : {"C", "epsilon", "nu"}, optional
        The name of that parameter, where a program chooses it: ``over="C", values=[0.1, 1.0]`` is
        ``C=[0.1, 1.0]``.
    values : sequence of float, or float, optional
        Its values; of C without ``over``.
    formulation : Family, optional
        Any with one decision function and that parameter. None: ``SoftMargin``,
        ``EpsilonRegression``, or ``NuClassification`` (``OneClass`` without y).
    exact : bool or "auto"
        True: follow the exact path, whatever the number of variables. "auto": up to
        ``settings.exact_variables``.
    eps : float
        Relative accuracy of every machine, as for ``qpsvm.solve``.
    callback : callable, optional
        Receives every value with its machine; returning False ends the path there.
    verbose : bool
        Print a line for every machine.
    settings : PathSettings
        Numbers that tune the search, none of which weakens a proof.

    Returns
    -------
    Path
        The machines, each with its certificate.

    Raises
    ------
    InvalidParameterError
        Several parameters, a formulation without the parameter, values outside its domain, or
        ``exact=True`` for a dual program that is not piecewise linear.
    InvalidDataError, KernelError, IndefiniteKernelError, MemoryLimitError
        As ``SoftMargin.dual``.
    KeyboardInterrupt
        Ctrl-C; its attribute ``solution`` is the path as far as it was traced, or None.

    Warns
    -----
    ToleranceNotReachedWarning
        The verifier measured more than ``eps`` for some of the machines.

    Notes
    -----
    The path is not trusted: every machine is verified, and solved where it does not pass. Where the
    exact path is lost for numerical reasons, a solver finds it again; see ``Path.is_exact``.

    Source: Hastie, Rosset, Tibshirani and Zhu, *JMLR* 5 (2004), for C; Wang, Yeung and Lochovsky,
    ICML 2006, for epsilon; all parameters here are cases of one parametric program
    (``qpsvm.paths.program``).

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1]
    >>> path = qpsvm.paths.svm_path(X, y, C=[0.1, 10.0], kernel="linear")
    >>> path
    Path(C in [0.1, 10], 2 machines, 2 optimal, exact, 1 changes of the active set)
    >>> round(float(path.solution_at(0.3).coef[0]), 6)
    0.6
    """
    require_arguments(eps, callback, settings)
    require_flag(verbose, "verbose")
    if not (isinstance(exact, bool | np.bool_) or (isinstance(exact, str) and exact == "auto")):
        raise InvalidParameterError(f"exact is {exact!r}; pass True, False or 'auto'.")
    over, values = _moved({"C": C, "epsilon": epsilon, "nu": nu}, over, values)
    training = Training.of(
        X,
        y,
        kernel=kernel,
        over=over,
        formulation=formulation,
        sample_weight=sample_weight,
        indefinite=indefinite,
    )
    if values is None:
        values = _default_values(over, settings)
    wanted = checked_values(values, over)
    for value in wanted[[0, -1]]:
        training.problem(float(value))  # refuses values outside the domain
    solutions, trace = list[SVMSolution](), None

    def path() -> Path:
        return Path(training, wanted[: len(solutions)], tuple(solutions), eps, trace)

    try:
        program = _program(training, wanted, exact)
        follows = program is not None and _is_followed(program, exact, settings)
        trace = _trace(training, program, wanted, settings) if program and follows else None
        jumps = program is not None and program.can_keep(settings.kept_bytes)
        steps = Steps(training, eps, trace, program if jumps else None, settings)
        machines = steps.machines(wanted)
        if trace is None:
            for sequence in (OneFactor, OneMatrix):
                shared = sequence.of(training, program, settings)
                machines = shared.machines(wanted, eps) if shared else machines
        for value, machine in zip(wanted.tolist(), machines, strict=False):
            solutions.append(machine)
            if verbose:
                print(f"{over} = {value:<12.6g} {solutions[-1]!r}")
            if callback is not None and callback(value, solutions[-1]) is False:
                break
    except KeyboardInterrupt as error:
        vars(error)["solution"] = path() if solutions else None
        raise
    warn_of_misses(over, wanted, solutions, eps)
    return path()


def _moved(
    named: Mapping[Parameter, Values], over: Parameter | None, values: Values
) -> tuple[Parameter, Values]:
    """The parameter that moves, and its values, from both ways to say it."""
    given: dict[Parameter, Values] = {k: v for k, v in named.items() if v is not None}
    if len(given) > 1 or (given and (over is not None or values is not None)):
        both = ", ".join(given) if len(given) > 1 else f"{next(iter(given))}, over or values"
        raise InvalidParameterError(
            f"{both} are given, and one parameter moves along a path; pass the values of one, and "
            "the others as numbers of the formulation: formulation=qpsvm.SoftMargin(C=10.0)."
        )
    return next(iter(given.items())) if given else ("C" if over is None else over, values)


def _default_values(over: str, settings: PathSettings) -> Vector:
    if over != "C":
        raise InvalidParameterError(
            f"{over} has no range that suits all data, and no values are given; pass them, such as "
            f"{over}=numpy.linspace(0.1, 0.5, 9)."
        )
    return np.geomspace(*settings.default_range, settings.default_values)


def _program(training: Training, values: Vector, exact: bool | str) -> ParametricProgram | None:
    """The parametric program, where the exact path or jumps between values can use it.

    Raises
    ------
    InvalidParameterError
        ``exact`` is True, and there is none.
    """
    low, high = float(values[0]), float(values[-1])
    program = parametric_program(training, low, high) if low < high else None
    if program is None and exact is True:
        raise InvalidParameterError(
            f"exact is True, and the dual of {training.formulation!r} is not piecewise linear in "
            f"{training.over} over [{low:g}, {high:g}] (a squared loss, or a single value); pass "
            "exact='auto'."
        )
    return program


def _is_followed(program: ParametricProgram, exact: bool | str, settings: PathSettings) -> bool:
    """Return whether the exact path is to be followed."""
    return exact is True or (exact == "auto" and len(program) <= settings.exact_variables)


def _trace(
    training: Training, program: ParametricProgram, values: Vector, settings: PathSettings
) -> Trace:
    """Follow the exact path over the range of the values."""
    ends = [program.from_parameter(float(value)) for value in values[[0, -1]]]
    return follow(program, min(ends), max(ends), _solver(training, program, settings), settings)


def _solver(
    training: Training, program: ParametricProgram, settings: PathSettings
) -> MachineSolver:
    """Find machines by the active-set method, each from the one found before."""
    last: list[SVMSolution] = []

    def solver(s: float) -> SVMSolution:
        start = last.pop() if last else None
        value, eps = program.to_parameter(s), settings.follow_eps
        last.append(training.solved(value, eps=eps, start=start, backend="active-set"))
        return last[-1]

    return solver
