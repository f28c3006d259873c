"""Checks that a problem and a solution handed in by the caller have types that go together.

Messages name the way to a problem from what a caller passed in place of one.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from qpsvm.exceptions import InvalidDataError, InvalidParameterError, MissingArgumentError
from qpsvm.machines.exact_types import require_stored, stored_program_solution
from qpsvm.machines.problem import Program, TrainingProblem
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.numerics.arguments import an
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution

BUILD = "qpsvm.SoftMargin(C=1.0).dual(X, y)"
CANONICAL = ("P", "q", "G", "h", "A", "b")
"""Matrices and vectors of the canonical form, in their order."""


def remedy_for(thing: object) -> str:
    """Say how to get a problem from what was passed in place of one.

    Examples
    --------
    >>> remedy_for([[0.0], [1.0]])
    'a formulation builds a problem from samples and labels: qpsvm.SoftMargin(C=1.0).dual(X, y)'
    >>> remedy_for("heart.csv")
    'read the file first: data = qpsvm.datasets.load(path), then qpsvm.SoftMargin(C=1.0).dual(data.X, data.y)'
    """  # noqa: E501 - a doctest's output cannot be broken
    kind = thing.__name__ if isinstance(thing, type) else type(thing).__name__
    return next(remedy for is_such, remedy in REMEDIES if is_such(thing)).format(kind=kind)


def _has(*names: str) -> Callable[[object], bool]:
    return lambda thing: all(hasattr(thing, name) for name in names)


def _is_fitted(thing: object) -> bool:
    return not isinstance(thing, type) and hasattr(thing, "fit") and hasattr(thing, "problem_")


def _is_estimator(thing: object) -> bool:
    """Return whether it is an estimator of qpsvm, or the class of one."""
    kind = thing if isinstance(thing, type) else type(thing)
    return hasattr(thing, "fit") and kind.__module__.startswith("qpsvm.")


REMEDIES: tuple[tuple[Callable[[object], bool], str], ...] = (
    (
        _has("dual", "training_set"),
        "a formulation builds the problem from samples and labels: {kind}(...).dual(X, y)",
    ),
    (
        _is_fitted,
        "the fitted estimator has its problem as problem_, its solution as solution_ and its "
        "certificate as certificate_",
    ),
    (
        _is_estimator,
        "an estimator solves its problem when it is fitted, {kind}(...).fit(X, y), and then has "
        "problem_, solution_ and certificate_",
    ),
    (
        _has("fit", "get_params"),
        "a model of another library is verified by qpsvm.audit(model, X, y)",
    ),
    (
        lambda thing: isinstance(thing, type) and hasattr(thing, "solution_type"),
        f"that is the class {{kind}}: pass a problem, such as {BUILD}",
    ),
    (
        lambda thing: isinstance(thing, tuple) and len(thing) == len(CANONICAL),
        f"pass the matrices as one program: qpsvm.qp.QuadraticProgram({', '.join(CANONICAL)})",
    ),
    (
        lambda thing: hasattr(thing, "native_status") or hasattr(thing, "qp"),
        "that is a solution: pass the problem that it solves",
    ),
    (
        lambda thing: isinstance(thing, str | os.PathLike),
        "read the file first: data = qpsvm.datasets.load(path), then "
        f"{BUILD.replace('X, y', 'data.X, data.y')}",
    ),
    (
        lambda thing: True,  # noqa: ARG005 - samples, or anything else
        f"a formulation builds a problem from samples and labels: {BUILD}",
    ),
)
"""What was passed, and how to get a problem from it; the first that fits counts."""


PROBLEMS = TrainingProblem, ReducedProblem, QuadraticProgram
"""Classes of the problems whose samples or matrices are in memory."""


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def takes_pair(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a function of (problem, solution) say what it misses where it gets only one of them."""
    name = _public_name(function)

    @functools.wraps(function)
    def checked(*args: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        if len(args) == 1 and "solution" not in keywords:
            given: object = args[0]
            remedy = (
                f"solve it first: {name}(problem, qpsvm.solve(problem))"
                if isinstance(given, PROBLEMS)
                else remedy_for(given)
            )
            raise MissingArgumentError(
                f"{name} takes a problem and its solution, got only {_kind(given)}; {remedy}."
            )
        return function(*args, **keywords)

    return checked


def _public_name(function: Callable[..., object]) -> str:
    """The name by which a function of the package is called."""
    part = function.__module__.split(".")[1]
    return (
        f"qpsvm.reports.{function.__name__}" if part == "reports" else f"qpsvm.{function.__name__}"
    )


def require_pair(
    caller: str,
    problem: object,
    solution: object,
    *,
    programs: bool = False,
    recovers: bool = False,
    others: tuple[type, ...] = (),
) -> None:
    """Refuse a pair of arguments that is not a problem with a solution of its type.

    Parameters
    ----------
    caller : str
        The function that is asked, for the message.
    problem, solution : object
        What it was handed.
    programs : bool
        Bare programs are taken, too.
    recovers : bool
        A QPSolution is taken as the solution of an SVM problem.
    others : tuple of type
        Types of problems that check a solution themselves.

    Raises
    ------
    InvalidParameterError
        Another kind of problem or solution, or a subclass of a solution, which can predict with
        something else than its stored numbers.
    """
    if isinstance(problem, others):
        return
    if isinstance(solution, PROBLEMS) and not isinstance(problem, PROBLEMS):
        raise InvalidParameterError(
            f"{caller} takes the problem first and its solution second, got ({_kind(problem)}, "
            f"{_kind(solution)}); exchange the two."
        )
    pairs = f"{caller} takes (SVMProblem, SVMSolution)"
    if programs:
        pairs += " or (QuadraticProgram, QPSolution)"
    pairs += f", got ({_kind(problem)}, {_kind(solution)})"
    expected = _expected(caller, problem, pairs, programs)
    if type(solution) is expected:
        if expected is QPSolution:
            require_program_solution(caller, solution)
        return
    if type(solution) is QPSolution and isinstance(problem, TrainingProblem):
        if recovers:
            require_program_solution(caller, solution)
            return
        remedy = "recover the machine first: problem.recover(solution)"
    elif isinstance(solution, expected | QPSolution):
        remedy = (
            f"{_kind(solution)} is a subclass, which can predict with something else than the "
            f"numbers that are verified: pass {expected.__name__} with the same fields"
        )
    elif isinstance(solution, PROBLEMS):
        remedy = "that is no solution but what is to be solved: pass qpsvm.solve(problem)"
    else:
        remedy = f"solutions of this problem are {expected.__name__}s: pass qpsvm.solve(problem)"
    raise InvalidParameterError(f"{pairs}; {remedy}.")


def require_program_solution(caller: str, solution: object) -> None:
    """Refuse everything but a plain QPSolution with vectors of float64.

    Raises
    ------
    InvalidParameterError
        Anything else.
    """
    if type(solution) is not QPSolution:
        what = "subclass of QPSolution" if isinstance(solution, QPSolution) else _kind(solution)
        raise InvalidParameterError(
            f"{caller} takes a QPSolution as evidence, got {what} ({_kind(solution)}); pass "
            "QPSolution(status, x, z, y, z_lower, z_upper)."
        )
    if stored_program_solution(solution) is not solution:
        raise InvalidParameterError(
            f"{caller} reads stored numbers only, and this QPSolution has an attribute or vector "
            "of another type than its class makes; build it anew: solution.replace()."
        )


def warm_start_for(problem: Program, start: Any) -> QPSolution | None:
    """Convert a warm start, of whatever accepted type, to a solution of the problem's program.

    Raises
    ------
    InvalidParameterError
        Anything else, or a solution without a point.
    """
    if isinstance(problem, TrainingProblem) and isinstance(start, problem.solution_type):
        try:
            require_stored(start, problem.solution_type)
            return problem.start_from(start)
        except InvalidParameterError:
            raise
        except InvalidDataError as error:
            raise InvalidParameterError(f"warm_start cannot be used: {error}") from error
        except (ValueError, IndexError, TypeError, AttributeError) as error:
            raise InvalidParameterError(
                "warm_start is a solution of another kind of problem (other features, conditions "
                f"or constraints: {error}); pass one of the same kind, or none."
            ) from error
    if start is not None and not isinstance(start, QPSolution):
        raise InvalidParameterError(
            f"warm_start is {an(start)}; pass a solution of such a problem or a QPSolution."
        )
    if start is not None and (start.x is None or not np.isfinite(start.x).all()):
        raise InvalidParameterError(
            "warm_start has no x, or NaN or infinite entries in it; pass a solution with a point."
        )
    return start


def _expected(caller: str, problem: object, pairs: str, programs: bool) -> type:
    """The type of solution that belongs to a problem."""
    if not isinstance(problem, PROBLEMS):
        raise InvalidParameterError(f"{pairs}; {remedy_for(problem)}.")
    if isinstance(problem, QuadraticProgram) and not programs:
        raise InvalidParameterError(
            f"{pairs}; {caller} is about machines: for a bare program there is "
            "qpsvm.verify(program, solution)."
        )
    return problem.solution_type


def _kind(thing: object) -> str:
    return type(thing).__name__
