"""The textbooks' dual methods by name, with a callback per iterate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.solvers.classical import (
    admm,
    coordinate_descent,
    dual_ascent,
    frank_wolfe,
    slsqp,
    smo,
)
from qpsvm.solvers.classical.program import DualProgram
from qpsvm.solvers.classical.settings import LIMITS, ClassicalSettings

Iterates = Callable[[DualProgram, Vector, ClassicalSettings], Iterator[Vector]]
"""A method: from a program and a feasible point to a stream of iterates."""

ITERATES: Mapping[str, Iterates] = {
    "dual-ascent": dual_ascent.projected,
    "smo": smo.pairs,
    "coordinate-descent": coordinate_descent.coordinates,
    "frank-wolfe": frank_wolfe.vertices,
    "admm": admm.splittings,
}

METHODS = (*ITERATES, "slsqp")
"""Names of all methods that solve a program."""

MAX_STEPS: Mapping[str, int] = {
    "dual-ascent": 10_000,
    "smo": 100_000,
    "coordinate-descent": 1_000_000,
    "frank-wolfe": 10_000,
    "admm": 10_000,
    "slsqp": 1_000,
}
"""Steps after which a backend gives up where its caller names no limit: some seconds on a thousand
samples. A step is a pair of SMO, a variable of coordinate descent, else a pass over the data."""


class Enough(Exception):  # noqa: N818 - a signal, not an error
    """Raised inside SciPy to stop SLSQP; caught before the caller."""


def run(
    name: str,
    program: QuadraticProgram,
    dual: DualProgram,
    x: Vector,
    settings: ClassicalSettings,
    visit: Callable[[Vector], bool],
) -> None:
    """Run a method from x until ``visit`` returns True or the method ends.

    Parameters
    ----------
    name : str
        One of ``METHODS``.
    program : QuadraticProgram
    dual : DualProgram
        The same program.
    x : array of shape (n,)
        Feasible.
    settings : ClassicalSettings
    visit : callable
        Called with each iterate, which may change in place afterwards; True ends the run.

    Raises
    ------
    UnsupportedProgramError
        The method does not take such a program.
    MemoryLimitError
        A matrix the method needs does not fit.
    """
    if name == "slsqp":
        _run_slsqp(program, x, visit)
        return
    for iterate in ITERATES[name](dual, x, settings):
        if visit(iterate):
            return


def _run_slsqp(program: QuadraticProgram, x: Vector, visit: Callable[[Vector], bool]) -> None:
    if program.n_variables > LIMITS.slsqp_variables:
        raise UnsupportedProgramError(
            f"SLSQP takes at most {LIMITS.slsqp_variables} variables, the program has "
            f"{program.n_variables}; use 'classical:smo' or 'cvxopt'."
        )
    most = 10 * program.n_variables + MAX_STEPS["slsqp"]

    def watch(iterate: Vector) -> None:
        if visit(iterate):
            raise Enough

    try:
        result = slsqp.minimised(program, x, watch, slsqp.options(len(x), most, {}))
    except Enough:
        return
    visit(result.x)  # where SLSQP ends is not always the last point of its callback
