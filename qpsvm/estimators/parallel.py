"""Solving the parts of a reduction at the same time, by joblib."""

from __future__ import annotations

from functools import partial
from typing import Any

from qpsvm.backends.base import Backend, Settings
from qpsvm.direct.together import solved_together
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.warm_start import NothingKnownError
from qpsvm.numerics.arguments import is_finite_number
from qpsvm.numerics.arrays import Dense, Index
from qpsvm.numerics.threads import in_parallel
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram
from qpsvm.solving import Answer, put_together, solve_with


def solve_in_parallel(
    problem: Any, backend: str | Backend, settings: Settings, start: Any, n_jobs: int | None
) -> Answer[Any]:
    """Solve a problem; the parts of a reduction by ``n_jobs`` workers.

    Parameters
    ----------
    problem : SVMProblem, JointProblem or ReducedProblem
    backend : str or Backend
    settings : Settings
    start : solution or None
        The warm start.
    n_jobs : int or None
        As joblib has it: None is 1, unless a ``joblib.parallel_config`` says otherwise. Threads by
        default: they share the kernel values.

    Returns
    -------
    Answer

    Raises
    ------
    InvalidParameterError
        ``n_jobs`` is not a whole number, or 0.
    KeyboardInterrupt
        Ctrl-C, with the attribute ``solution``: None for a reduction.
    """
    require_workers(n_jobs)
    if not isinstance(problem, ReducedProblem) or len(problem.names) == 1:
        return solve_with(problem, backend, settings, start)
    if start is None and backend == "auto":
        whole = solved_together(problem, settings)
        if whole is not None:
            return Answer(whole)
    n_parts = len(problem.names)
    starts = start.solutions if isinstance(start, ReducedSolution) else (None,) * n_parts
    if len(starts) != n_parts:
        starts = (None,) * n_parts
    calls = (
        partial(_solve_part, part, _whole_gram(part), backend, settings, own)
        for part, own in zip(problem.problems, starts, strict=True)
    )
    try:
        answers = in_parallel(calls, n_jobs)
    except KeyboardInterrupt as error:
        vars(error)["solution"] = None  # that of a part is no machine for all classes
        raise
    return put_together(problem, answers)


def _whole_gram(part: SVMProblem) -> tuple[Dense, Index] | None:
    """Shared kernel matrix of a part, and the rows of it that the part uses.

    Processes get them as an argument, which joblib stores once for all: without them they would
    evaluate their own, which differ by rounding.
    """
    gram = part.model.gram
    if not isinstance(gram, KernelQuadratic) or gram.gram.whole is None:
        return None
    whole, members = gram.gram.whole
    return whole.dense, members


def require_workers(n_jobs: object) -> None:
    """Check a number of workers.

    Raises
    ------
    InvalidParameterError
        Not a whole number, or 0.
    """
    is_whole = is_finite_number(n_jobs) and n_jobs == int(n_jobs)
    if n_jobs is not None and not (is_whole and n_jobs != 0):
        raise InvalidParameterError(
            f"n_jobs is {n_jobs!r}; pass a whole number of workers, -1 for all cores, or None."
        )


def _solve_part(
    part: SVMProblem,
    shared: tuple[Dense, Index] | None,
    backend: str | Backend,
    settings: Settings,
    start: Any,
) -> Answer[Any]:
    gram = part.model.gram
    if shared is not None and isinstance(gram, KernelQuadratic):
        known = gram.gram.whole
        if known is None or not known[0].is_kept:
            gram.gram.whole = SampleGram.of_matrix(shared[0]), shared[1]
    try:
        return solve_with(part, backend, settings, start)
    except NothingKnownError:
        return solve_with(part, backend, settings, None)
