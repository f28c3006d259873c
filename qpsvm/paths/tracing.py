"""``svm_path`` and ``width_path``: machines along C, epsilon, nu or the width of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Family
from qpsvm.formulations.margin import SoftMargin
from qpsvm.kernels import RBF, KernelArgument
from qpsvm.kernels.functions import SharedDistances
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import (
    Samples,
    Targets,
    Weights,
    explains_calls,
    is_false,
    require_flag,
)
from qpsvm.numerics.arrays import Vector
from qpsvm.paths.following import PathTrace, follow
from qpsvm.paths.program import ParametricProgram, parametric_program
from qpsvm.paths.result import Path, WidthPath
from qpsvm.paths.sequences import machines_along
from qpsvm.paths.training import (
    DEFAULTS,
    PathSettings,
    Training,
    checked_values,
    require_arguments,
    solved,
    warn_of_misses,
)

Parameter: TypeAlias = Literal["C", "epsilon", "nu"]
"""A parameter along which there are paths."""

Values: TypeAlias = float | Sequence[float] | Vector | None
"""Values of a parameter; a number is one value."""

PathCallback = Callable[[float, SVMSolution], object]
"""Receives a value and its machine; returning False ends the path there."""

DEFAULT_C = np.geomspace(1e-2, 1e2, 50)
"""Values of C where none are given."""


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
    sequence. Along C its machines start from the solution at the value before where the kernel
    matrix is kept, or where there are several samples for each feature; others do so where they are
    too large for the short way of ``qpsvm.solve``.

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
        True: follow the exact path, whatever it takes. "auto": with up to
        ``settings.exact_variables`` variables, and where it is not lost on the way; else a
        sequence.
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
    exact path is lost for numerical reasons, a solver finds it again with ``exact=True``; see
    ``Path.is_exact``.

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
    training = Training.of(X, y, kernel, over, formulation, sample_weight, indefinite)
    if values is None:
        values = _default_values(over)
    wanted = checked_values(values, over)
    for value in wanted[[0, -1]]:
        training.problem(float(value))  # refuses values outside the domain
    solutions, trace = list[SVMSolution](), None

    def path() -> Path:
        return Path(training, wanted[: len(solutions)], tuple(solutions), eps, trace)

    try:
        program = _program(training, wanted, exact)
        if program is not None:
            trace = _trace(training, program, wanted, exact, settings)
        machines = None
        if trace is None:
            machines = machines_along(training, program, wanted, eps, settings)
        if machines is None:
            machines = _machines(training, wanted, eps, trace)
        for value, machine in zip(wanted.tolist(), machines, strict=False):
            solutions.append(machine)
            if verbose:
                print(f"{over} = {value:<12.6g} {solutions[-1]!r}")
            if callback is not None and is_false(callback(value, solutions[-1])):
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


def _default_values(over: str) -> Vector:
    if over != "C":
        raise InvalidParameterError(
            f"{over} has no range that suits all data, and no values are given; pass them, such as "
            f"{over}=numpy.linspace(0.1, 0.5, 9)."
        )
    return DEFAULT_C


def _program(training: Training, values: Vector, exact: bool | str) -> ParametricProgram | None:
    """The parametric program over the range of the values; None where there is none.

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


def _machines(
    training: Training, values: Vector, eps: float, trace: PathTrace | None = None
) -> Iterator[SVMSolution]:
    """Yield the verified machine of every value: of the exact path, or from the one before."""
    last: SVMSolution | None = None
    for value in values.tolist():
        alpha = None if trace is None else trace.at_parameter(value)
        last = training.accepted(value, alpha, eps, last)
        yield last


def _trace(
    training: Training,
    program: ParametricProgram,
    values: Vector,
    exact: bool | str,
    settings: PathSettings,
) -> PathTrace | None:
    """Follow the exact path over the range of the values; None where a sequence is asked for.

    By "auto" that is where there are many variables, and where the path is lost: at many equal
    samples it may be at every other event, which takes much longer than all machines do.
    """
    is_asked = exact is True
    if not is_asked and not (exact == "auto" and len(program) <= settings.exact_variables):
        return None
    if not is_asked:
        settings = replace(settings, max_restarts=0)
    last: SVMSolution | None = None

    def solver(s: float) -> SVMSolution:
        nonlocal last
        problem = training.problem(program.change(s))
        last = solved(problem, settings.tightest, last, "active-set")
        return last

    ends = [program.change(float(value)) for value in values[[0, -1]]]
    trace = follow(program, min(ends), max(ends), solver, settings)
    return trace if is_asked or trace.reached >= max(ends) else None


@explains_calls
def width_path(
    X: Samples,
    y: Targets | None = None,
    *,
    gamma: float | Sequence[float] | Vector,
    formulation: Family | None = None,
    sample_weight: Weights | None = None,
    eps: float = 1e-8,
    callback: Callable[[float, SVMSolution], object] | None = None,
    settings: PathSettings = DEFAULTS,
) -> WidthPath:
    r"""Machines with the kernel ``exp(-gamma |x - z|^2)`` for many gamma, each verified.

    .. math::

        K_\gamma = \exp(-\gamma D), \quad D_{ij} = \lVert x_i - x_j \rVert^2

    D is computed once, up to ``settings.distance_bytes``; for more samples every width evaluates
    the columns of its matrix that it needs. Each width is solved from the solution before.

    Parameters
    ----------
    X, y, sample_weight
        As for ``SoftMargin.primal``.
    gamma : sequence of float, or float
        Values above 0.
    formulation : Family, optional
        Any with one decision function. None: ``SoftMargin()``.
    eps : float
        Relative accuracy of every machine, as for ``qpsvm.solve``.
    callback : callable, optional
        Receives every gamma with its machine; returning False ends the path there.
    settings : PathSettings
        Numbers that tune the search, none of which weakens a proof.

    Returns
    -------
    WidthPath
        The machines, each with its certificate.

    Raises
    ------
    InvalidParameterError
        No gamma, or one that is not a finite number above 0; a formulation of another kind.
    InvalidDataError
        As ``SoftMargin.dual``.

    Warns
    -----
    ToleranceNotReachedWarning
        The verifier measured more than ``eps`` for some of the machines.

    Notes
    -----
    Machines are verified with the shared matrix, whose entries differ from those of ``RBF`` by
    rounding; ``certificates`` evaluate each kernel anew.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1]
    >>> path = qpsvm.paths.width_path(X, y, gamma=[0.1, 1.0, 10.0])
    >>> path
    WidthPath(SoftMargin(C=1.0), gamma in [0.1, 10], 3 machines)
    >>> bool(path.relative_gaps.max() < 1e-8)
    True
    """
    require_arguments(eps, callback, settings)
    wanted = checked_values(gamma, "gamma")
    kernels = [RBF(value) for value in wanted.tolist()]  # refuses what is none
    family = SoftMargin() if formulation is None else formulation
    if not isinstance(family, Family):
        raise InvalidParameterError(
            f"formulation is {family!r}; pass one with one decision function, such as "
            "qpsvm.SoftMargin(C=10.0)."
        )
    data = family.training_set(X, y, kernels[0], sample_weight)
    shared = None
    if 8 * data.n_samples**2 <= settings.distance_bytes:
        shared = SharedDistances(data.X, float(wanted[-1]))
    solutions = list[SVMSolution]()
    for kernel, value in zip(kernels, wanted.tolist(), strict=True):
        K = None if shared is None else (shared.gram(value), None)
        problem = family.of_training_set(data, kernel, "dual", gram=K)
        solutions.append(solved(problem, eps, solutions[-1] if solutions else None))
        if callback is not None and is_false(callback(value, solutions[-1])):
            break
    warn_of_misses("gamma", wanted, solutions, eps)
    return WidthPath(family, data, wanted[: len(solutions)], tuple(solutions))
