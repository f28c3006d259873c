"""Reduction of a program to an equivalent, better-scaled one, with its inverse.

A chain of equivalent programs, each link a ``(program, inverse)`` of its own:

1. ``rewriting``, of a bare program: bounds that were rows, factors, the unit of the objective;
2. ``centring``: large offsets of columns are taken out;
3. ``equilibration``: rows and variables of very different sizes are scaled, by powers of two.

A program that needs neither is left as it is: the very object, so that nothing changes for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.qp.centring import centre
from qpsvm.qp.equilibration import BAD_SPREAD, equilibrate
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.rewriting import rewritten, with_larger_prices
from qpsvm.qp.transforms import Reversible, ReversibleChain


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
