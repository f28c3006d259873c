"""Direct solution of all two-class machines of a multi-class one, on one kernel matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from time import perf_counter

import numpy as np

from qpsvm.backends.settings import Settings
from qpsvm.direct.machine import is_plain, solution_of
from qpsvm.direct.matrices import Features, KernelMatrix
from qpsvm.direct.program import Certified, DirectProgram
from qpsvm.direct.settings import DIRECT
from qpsvm.kernels.errors import gram_errors
from qpsvm.machines.conditions import squared_spread
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution, SharedMatrix, Side, Together
from qpsvm.machines.solution import SVMSolution
from qpsvm.native import BlockMachine, CallStatus, SmallMachine
from qpsvm.numerics.arrays import Index
from qpsvm.numerics.precision import TINY
from qpsvm.numerics.threads import for_each, one_blas_thread


def solved_together(problem: ReducedProblem, settings: Settings) -> ReducedSolution | None:
    """Solve all machines of a reduction on their kernel matrix; None where one is not certified.

    Parameters
    ----------
    problem : ReducedProblem
    settings : Settings
    """
    shared = problem.shared
    if shared is None or not is_plain(settings) or not _is_small(shared):
        return None
    began = perf_counter()
    with one_blas_thread(), np.errstate(all="ignore"):  # what overflows is not certified
        found = _certified(shared, settings.eps)
    if found is None:
        return None  # each by itself, with values of more digits
    beta = np.zeros((len(shared.order), len(found)))
    for column, (side, one) in enumerate(zip(shared.sides, found, strict=True)):
        beta[shared.order[_places(side)], column] = one.expansion
    weights = [one.coef for one in found if one.coef is not None]
    coef = np.array(weights) if weights else None
    intercepts = np.array([one.interval.midpoint for one in found])
    widths = tuple([one.width for one in found])
    seconds = perf_counter() - began
    build = partial(_solutions, problem, found, seconds / len(found))
    whole = Together(shared.kernel, beta, coef, intercepts, widths, build)
    return ReducedSolution.of_all(whole, problem.data, problem.reduction)


def _are_few(shared: SharedMatrix) -> bool:
    """Return whether Newton's method on the weights of all machines is cheap."""
    sizes = [len(side.signs) for side in shared.sides]
    features = Features(shared.X)
    return shared.gram is None and all(features.are_few(m, shared.is_squared) for m in sizes)


def _is_small(shared: SharedMatrix) -> bool:
    if _are_few(shared):
        return shared.X.size <= DIRECT.entries
    return max(len(side.signs) for side in shared.sides) <= DIRECT.samples


def _certified(shared: SharedMatrix, eps: float) -> list[Certified] | None:
    """Solve all machines, in blocks of one matrix where that is enough; None where one fails."""
    matrix: KernelMatrix | Features = Features(shared.X)
    if shared.gram is not None:
        matrix = KernelMatrix.of(shared.gram.dense, gram_errors(shared.kernel, shared.gram))
    sides, machine, are_few = shared.sides, _machine(shared), _are_few(shared)
    ends = [0, *accumulate(len(side.signs) for side in sides)]
    parts = [machine.part(slice(*both)) for both in pairwise(ends)]
    answers: list[Certified | None] = [None] * len(sides)
    if not are_few or shared.is_squared:
        answers = _solved_at_once(shared, matrix, machine, parts, eps)
    rest = [k for k, one in enumerate(answers) if one is None]

    def alone(places: slice) -> None:
        for k in rest[places]:
            side = sides[k]
            own = matrix if len(side.places) == 1 else matrix.of_samples(_places(side))
            part = parts[k] if are_few else replace(parts[k], K=own.K)
            unit = shared.total * own.squared_spread() if shared.total else 1.0
            one = DirectProgram(part, own, unit).solved(eps)
            if one is None or not one.is_enough:
                return
            answers[k] = one

    for_each(alone, _groups([len(parts[k].signs) for k in rest]))
    found = [one for one in answers if one is not None]
    return found if len(found) == len(sides) else None


def _groups(sizes: Sequence[int]) -> list[slice]:
    """Cut a list of machines into such as are solved by one thread, by the sizes of their matrices.

    Each is worth a call, and none is much longer: calls of the core cannot be interrupted.
    """
    ends, values = [0], 0
    for k, size in enumerate(sizes):
        if values + size * size > DIRECT.part and k > ends[-1]:
            ends.append(k)
            values = 0
        values += size * size
    ends.append(len(sizes))
    return [slice(*both) for both in pairwise(ends) if both[0] < both[1]]


def _solved_at_once(
    shared: SharedMatrix,
    matrix: KernelMatrix | Features,
    machine: SmallMachine,
    parts: Sequence[SmallMachine],
    eps: float,
) -> list[Certified | None]:
    """Solve machines, several in one call; None for those that are not certified so.

    ``machine`` has the conditions of all of them, one behind the other.
    """
    sizes = [len(part.signs) for part in parts]
    ends = [0, *accumulate(sizes)]
    pieces = np.array([_pieces(side) for side in shared.sides])
    X, by_newton = matrix.X if isinstance(matrix, Features) else None, _are_few(shared)
    K = None if by_newton else matrix.K
    numbers = DIRECT.newton if by_newton else DIRECT.numbers
    units = np.array([_unit(shared, matrix, side) for side in shared.sides])
    limits = np.zeros((len(parts), 5))
    limits[:, 0] = DIRECT.tolerance * eps * np.maximum(units, TINY)
    if shared.total:
        limits[:, 0] *= DIRECT.tighter
    limits[:, 1] = DIRECT.numbers.rough * units
    limits[:, 2] = [matrix.work(size) for size in sizes]
    limits[:, 3] = units
    answers: list[Certified | None] = [None] * len(parts)

    def certified(k: int, block: BlockMachine) -> Certified | None:
        has_ended = block.status is CallStatus.STALLED and not by_newton
        if not (block.status is CallStatus.DONE or has_ended):
            return None
        program = DirectProgram(parts[k], matrix, float(units[k]))
        found = program.of_bounds(block.alpha, block.bounds, block.weights)
        if found is None:
            return None
        if found.passes(eps):
            is_enough = program.states_enough_digits(found, eps)
            return found._replace(points=1, by_newton=by_newton, is_enough=is_enough)
        if program.is_widened_at_kinks(found, eps):
            limits[k, 4] = DIRECT.stated * eps * found.scale
            limits[k, 0] = DIRECT.tighter * limits[k, 4]
        else:
            limits[k, 0] *= min(DIRECT.tighter, DIRECT.aim * eps / found.relative_gap)
        return None

    def solve(group: slice) -> None:
        own = machine.part(slice(ends[group.start], ends[group.stop]))
        given = pieces[group], limits[group], numbers, matrix.errors
        for k, block in enumerate(own.solve_together(K, X, *given), group.start):
            if answers[k] is None:
                answers[k] = certified(k, block)

    groups = _groups(sizes)
    for_each(solve, groups)
    if not by_newton:  # once more, with the limits that the first certificates ask for
        for_each(solve, [group for group in groups if None in answers[group]])
    return [one if one is not None and one.is_enough else None for one in answers]


def _machine(shared: SharedMatrix) -> SmallMachine:
    """Put the conditions of all machines together, one machine behind the other."""
    signs = np.concatenate([side.signs for side in shared.sides])
    upper, curved = np.concatenate([side.C for side in shared.sides]), None
    if shared.is_squared:
        upper, curved = np.full(len(upper), np.inf), 0.5 / upper
    return SmallMachine(
        None,
        signs,
        np.full(len(signs), 0.0 if shared.total else 1.0),
        np.zeros(len(signs)),
        upper,
        curved,
        is_free=shared.intercept == "free",
        constant=float(shared.intercept == "penalized"),
        side=-1.0 if shared.total else 0.0,
        total=shared.total,
    )


def _unit(shared: SharedMatrix, matrix: KernelMatrix | Features, side: Side) -> float:
    """The scale of margin violations: 1, or for nu machines the squared spread of their samples."""
    if not shared.total:
        return 1.0
    K, count = matrix.K, len(side.signs)
    products = [sum(K[a, b].sum(axis=1) for b in side.places) for a in side.places]
    diagonal = np.concatenate([matrix.diagonal[place] for place in side.places])
    return shared.total * squared_spread(diagonal, np.concatenate(products) / count)


def _pieces(side: Side) -> list[int]:
    """Begin and length of the two pieces of rows that are the samples of a machine."""
    both = [*side.places, slice(0, 0)][:2]
    return [number for place in both for number in (place.start, place.stop - place.start)]


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
