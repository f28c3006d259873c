"""Direct solution of all two-class machines of a multi-class one, on one kernel matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from time import perf_counter

import numpy as np

from qpsvm.backends.settings import Settings
from qpsvm.direct.machine import is_plain, solution_of
from qpsvm.direct.matrices import Features, KernelMatrix
from qpsvm.direct.program import Certified, DirectProgram
from qpsvm.direct.settings import DIRECT
from qpsvm.kernels.errors import gram_errors
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.solution import SVMSolution
from qpsvm.machines.together import SharedMatrix, Side, Together
from qpsvm.native import SmallMachine
from qpsvm.numerics.arrays import Index
from qpsvm.numerics.rows import common_offset
from qpsvm.numerics.threads import one_blas_thread


def solved_together(problem: ReducedProblem, settings: Settings) -> ReducedSolution | None:
    """Solve all machines of a reduction on their kernel matrix; None where one is not certified.

    Parameters
    ----------
    problem : ReducedProblem
    settings : Settings
    """
    shared = problem.shared
    if shared is None or not is_plain(settings):
        return None
    if not _is_small(shared):
        return None
    if shared.gram is None and common_offset(shared.X) is not None:
        return None
    began = perf_counter()
    with one_blas_thread(), np.errstate(all="ignore"):  # what overflows is not certified
        found = list[Certified]()
        for side, matrix in zip(shared.sides, _matrices(shared), strict=True):
            program = _program(shared, side, matrix)
            one = program.solved(settings.eps)
            if one is None or not program.states_enough_digits(one, settings.eps):
                return None  # each by itself, with values of more digits
            found.append(one)
        beta = np.zeros((len(shared.order), len(found)))
        for column, (side, one) in enumerate(zip(shared.sides, found, strict=True)):
            beta[_places(side), column] = one.expansion
    beta[shared.order] = beta.copy()
    weights = [one.coef for one in found if one.coef is not None]
    coef = np.array(weights) if weights else None
    intercepts = np.array([one.interval.midpoint for one in found])
    widths = tuple([one.width for one in found])
    seconds = perf_counter() - began
    build = partial(_solutions, problem, found, seconds / len(found))
    whole = Together(shared.kernel, beta, coef, intercepts, widths, build)
    return ReducedSolution.of_all(whole, problem.data, problem.reduction)


def _is_small(shared: SharedMatrix) -> bool:
    if shared.gram is None and shared.is_squared and Features(shared.X).are_few:
        return shared.X.size <= DIRECT.entries
    return max([len(side.signs) for side in shared.sides]) <= DIRECT.samples


def _matrices(shared: SharedMatrix) -> Iterator[KernelMatrix | Features]:
    """Yield the kernel matrix of every machine, in memory that the next one uses again."""
    whole: KernelMatrix | Features
    if shared.gram is not None:
        errors = gram_errors(shared.kernel, shared.gram)
        whole = KernelMatrix.of(shared.gram.dense, errors)
    else:
        whole = Features(shared.X)
        if shared.is_squared and whole.are_few:  # Newton's method needs no products of samples
            for side in shared.sides:
                yield whole if len(side.places) == 1 else Features(shared.X[_places(side)])
            return
    largest = max([len(side.signs) for side in shared.sides if len(side.places) > 1], default=0)
    memory, K = np.empty(largest * largest), whole.K
    for side in shared.sides:
        if len(side.places) == 1:
            yield whole
            continue
        first, second = side.places
        m, k = len(side.signs), first.stop - first.start
        block = memory[: m * m].reshape(m, m)
        block[:k, :k], block[:k, k:] = K[first, first], K[first, second]
        block[k:, :k], block[k:, k:] = K[second, first], K[second, second]
        yield whole.block(block, _places(side))


def _program(shared: SharedMatrix, side: Side, matrix: KernelMatrix | Features) -> DirectProgram:
    n = len(side.signs)
    zero, upper, curved = np.zeros(n), side.prices, None
    if shared.is_squared:
        upper, curved = np.full(n, np.inf), 0.5 / side.prices
    is_free, constant = shared.intercept == "free", float(shared.intercept == "penalized")
    K = None if isinstance(matrix, Features) and shared.is_squared and matrix.are_few else matrix.K
    required, margin = np.full(n, 0.0 if shared.total else 1.0), -1.0 if shared.total else 0.0
    machine = SmallMachine(
        K,
        side.signs,
        required,
        zero,
        upper,
        curved=curved,
        is_free=is_free,
        constant=constant,
        side=margin,
        total=shared.total,
    )
    unit = shared.total * matrix.squared_spread() if shared.total else 1.0
    return DirectProgram(machine, matrix, unit)


def _places(side: Side) -> Index:
    return np.concatenate([np.arange(place.start, place.stop) for place in side.places])


def _solutions(
    problem: ReducedProblem,
    found: Sequence[Certified],
    seconds: float,
) -> tuple[SVMSolution, ...]:
    """Build the solutions of all machines, in the order of their problems' samples."""
    shared, built = problem.shared, list[SVMSolution]()
    assert shared is not None
    for part, side, one in zip(problem.problems, shared.sides, found, strict=True):
        order = np.argsort(shared.order[_places(side)])
        alpha, beta, values = (each[order] for each in (one.alpha, one.expansion, one.values))
        own = one._replace(alpha=alpha, expansion=beta, values=values)
        built.append(solution_of(part, own, seconds))
    return tuple(built)
