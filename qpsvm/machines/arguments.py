"""Checks that a problem and a solution handed in by the caller have types that go together."""

from __future__ import annotations

from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.exact_types import stored_program_solution
from qpsvm.machines.problem import TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution

BUILD = "formulations build one: qpsvm.SoftMargin(C=1.0).dual(X, y)"


def require_pair(
    caller: str,
    problem: object,
    solution: object,
    *,
    programs: bool = False,
    recovers: bool = False,
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

    Raises
    ------
    InvalidParameterError
        Another kind of problem or solution, or a subclass of a solution, which can predict with
        something else than its stored numbers.
    """
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
    elif isinstance(solution, TrainingProblem | ReducedProblem | QuadraticProgram):
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


def _expected(caller: str, problem: object, pairs: str, programs: bool) -> type:
    """The type of solution that belongs to a problem."""
    if isinstance(problem, ReducedProblem):
        return ReducedSolution
    if isinstance(problem, TrainingProblem):
        return problem.solution_type
    if not isinstance(problem, QuadraticProgram):
        raise InvalidParameterError(f"{pairs}; {BUILD}.")
    if not programs:
        raise InvalidParameterError(
            f"{pairs}; {caller} is about machines: for a bare program there is "
            "qpsvm.verify(program, solution)."
        )
    return QPSolution


def _kind(thing: object) -> str:
    return type(thing).__name__
