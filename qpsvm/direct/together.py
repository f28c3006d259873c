"""Direct solution of all two-class machines of a multi-class one, on one kernel matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter

import numpy as np

from qpsvm.backends.settings import Settings
from qpsvm.direct.machine import is_plain, solution_of
from qpsvm.direct.matrices import Features, KernelMatrix
from qpsvm.direct.program import Certified, DirectProgram
from qpsvm.direct.settings import DIRECT
from qpsvm.kernels.errors import gram_errors
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution, SharedMatrix, Side, Together
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Index
from qpsvm.numerics.threads import for_each, one_blas_thread


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
    began = perf_counter()
    sides, found = shared.sides, list[Certified]()
    answers: list[Certified | None] = [None] * len(sides)

    def solve(places: slice) -> None:
        for k, matrix in zip(range(*places.indices(len(sides))), matrices(places), strict=True):
            program = _program(shared, sides[k], matrix)
            one = program.solved(settings.eps)
            if one is None or not one.is_enough:
                return
            answers[k] = one

    with one_blas_thread(), np.errstate(all="ignore"):  # what overflows is not certified
        matrices = _matrices(shared)
        for_each(solve, [slice(k, k + DIRECT.part) for k in range(0, len(sides), DIRECT.part)])
        for one in answers:
            if one is None:
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
    sizes = [len(side.signs) for side in shared.sides]
    if shared.gram is None:
        features = Features(shared.X)
        if all(features.are_few(size, shared.is_squared) for size in sizes):
            return shared.X.size <= DIRECT.entries
    return max(sizes) <= DIRECT.samples


def _matrices(
    shared: SharedMatrix,
) -> Callable[[slice], Iterator[KernelMatrix | Features]]:
    """Return a function that yields the matrices of some machines, in memory used again by each."""
    sides = shared.sides
    if shared.gram is None:  # inner products of two classes are computed sooner than copied
        features = Features(shared.X)

        def of_features(places: slice) -> Iterator[Features]:
            for side in sides[places]:
                yield features if len(side.places) == 1 else Features(shared.X[_places(side)])

        return of_features
    whole = KernelMatrix.of(shared.gram.dense, gram_errors(shared.kernel, shared.gram))

    def of_kernel(places: slice) -> Iterator[KernelMatrix]:
        some, K = sides[places], whole.K
        largest = max([len(side.signs) for side in some if len(side.places) > 1], default=0)
        memory = np.empty(largest * largest)
        for side in some:
            if len(side.places) == 1:
                yield whole
                continue
            first, second = side.places
            m, k = len(side.signs), first.stop - first.start
            block = memory[: m * m].reshape(m, m)
            block[:k, :k], block[:k, k:] = K[first, first], K[first, second]
            block[k:, :k], block[k:, k:] = K[second, first], K[second, second]
            yield whole.block(block, _places(side))

    return of_kernel


def _program(shared: SharedMatrix, side: Side, matrix: KernelMatrix | Features) -> DirectProgram:
    n = len(side.signs)
    zero, upper, curved = np.zeros(n), side.C, None
    if shared.is_squared:
        upper, curved = np.full(n, np.inf), 0.5 / side.C
    required = np.full(n, 0.0 if shared.total else 1.0)
    return DirectProgram.of(
        matrix,
        (side.signs, required, zero, upper),
        curved,
        unit=shared.total * matrix.squared_spread() if shared.total else 1.0,
        is_free=shared.intercept == "free",
        constant=float(shared.intercept == "penalized"),
        side=-1.0 if shared.total else 0.0,
        total=shared.total,
    )


def _places(side: Side) -> Index:
    return np.concatenate([np.arange(place.start, place.stop) for place in side.places])


def _solutions(
    problem: ReducedProblem, found: Sequence[Certified], seconds: float
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
