"""Reduction of a program to an equivalent, better-scaled one, with its inverse.

A chain of equivalent programs, each link a ``(program, inverse)`` of its own:

1. ``rewriting``, of a bare program: bounds that were rows, factors, the unit of the objective;
2. ``centring``: large offsets of columns are taken out;
3. ``equilibration``: rows and variables of very different sizes are scaled, by powers of two.

A program that needs neither is left as it is: the very object, so that nothing changes for it.

Rewriting is for programs of a user's own: the same program may be written in many ways, and none of
them should cost time or digits:

1. rows with a single variable become bounds (``bound_rows``);
2. a dense Hessian that is a Gram matrix but for rounding becomes its factor (``convexity``),
   where that is much smaller;
3. an objective in a unit far from 1 is multiplied by a power of two. Solvers stop at an accuracy
   that is absolute for small objectives, and an objective times 1e-12 is the same program.

Programs of machines are built in their best form. They need the third step alone, where prices are
so small that solvers would stop at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.qp.bound_rows import rows_as_bounds
from qpsvm.qp.centring import centre
from qpsvm.qp.equilibration import BAD_SPREAD, equilibrate
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.scaling import scale
from qpsvm.qp.stored_quadratic import DenseQuadratic
from qpsvm.qp.transforms import Identity, Reversible, ReversibleChain


@dataclass(frozen=True)
class RewritingSettings:
    """Settings of how programs are rewritten for solvers; none changes what a program means.

    Attributes
    ----------
    largest_rank : float
        Columns of a factor, as a share of the variables, up to which it replaces a dense Hessian:
        with more columns products with the factor take longer than those with the matrix.
    ordinary : (float, float)
        Range of the largest linear term (of the largest curvature where there is none) in which an
        objective is left in its unit: solvers have absolute tolerances.
    tiny_prices : float
        Largest linear term of a training problem's program below which its objective is multiplied.
    """

    largest_rank: float = 0.5
    ordinary: tuple[float, float] = (2.0**-10, 2.0**10)
    tiny_prices: float = 2.0**-30


REWRITING = RewritingSettings()
"""Settings with which every solve rewrites its program for the solver."""

LARGEST_EXPONENT = 1022
"""The largest even exponent of a power of two that float64 has."""


def rewritten(program: QuadraticProgram) -> tuple[QuadraticProgram, Reversible]:
    """Write a bare program as solvers take it best; see the module's docstring.

    Returns
    -------
    program : QuadraticProgram
        The very program where nothing needs to be done.
    inverse : Reversible

    Examples
    --------
    >>> textbook = QuadraticProgram([[1e-9]], [-3e-9], G=[[-1.0], [1.0]], h=[0.0, 2.0])
    >>> program, _ = rewritten(textbook)
    >>> program.n_inequalities, bool(0.5 < -program.q[0] < 4.0)
    (0, True)
    """
    bounded, rows = rows_as_bounds(program)
    with_factor = _with_factor(bounded)
    scaled, unit = _in_ordinary_unit(with_factor)
    return scaled, ReversibleChain((rows, unit))


def with_larger_prices(program: QuadraticProgram) -> tuple[QuadraticProgram, Reversible]:
    """Scale up the objective of a program whose linear terms are tiny; return the way back, too."""
    is_tiny = 0.0 < float(np.max(np.abs(program.q), initial=0.0)) < REWRITING.tiny_prices
    return _in_ordinary_unit(program) if is_tiny else (program, Identity())


def _with_factor(program: QuadraticProgram) -> QuadraticProgram:
    if not isinstance(program.P, DenseQuadratic):
        return program
    F = program.convexity.factor
    if F is None or F.shape[1] > REWRITING.largest_rank * len(F):
        return program
    return program.replace(P=LowRankQuadratic(F))


def _in_ordinary_unit(program: QuadraticProgram) -> tuple[QuadraticProgram, Reversible]:
    unit = float(np.max(np.abs(program.q), initial=0.0))
    if unit == 0.0:
        unit = float(np.max(np.abs(program.P.diagonal())))
    if (
        unit == 0.0
        or not math.isfinite(unit)
        or REWRITING.ordinary[0] <= unit <= REWRITING.ordinary[1]
    ):
        return program, Identity()
    # an even exponent: the root of the factor is exact, too
    exponent = min(-2 * (math.frexp(unit)[1] // 2), LARGEST_EXPONENT)
    return scale(program, objective=math.ldexp(1.0, exponent))


@dataclass(frozen=True, eq=False)
class Reduced:
    """An equivalent program that is easier to solve.

    Attributes
    ----------
    program : QuadraticProgram
    inverse : Reversible
        The way back to the given program; ``inverse.forward`` is the way there.
    note : str
        What was done, in words; empty if nothing.
    is_scaled : bool
        Whether rows or variables differed so much that they were scaled.
    """

    program: QuadraticProgram
    inverse: Reversible
    note: str = ""
    is_scaled: bool = False

    @classmethod
    def of(
        cls, program: QuadraticProgram, bad_spread: float = BAD_SPREAD, *, is_bare: bool = False
    ) -> Reduced:
        """Reduce a program as far as it helps; ``bad_spread`` as ``equilibrate`` takes it."""
        written, way = rewritten(program) if is_bare else with_larger_prices(program)
        centred, offsets = centre(written)
        scaled, scales = equilibrate(centred, bad_spread)
        notes = []
        if centred is not written:
            notes.append("large offsets of columns taken out")
        if scaled is not centred:
            notes.append("rows and variables of very different sizes scaled")
        chain = ReversibleChain((way, offsets, scales))
        return cls(scaled, chain, "; ".join(notes), scaled is not centred)
