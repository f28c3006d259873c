"""The form of a program that is solved in place of the given one, and the way back.

A chain of equivalent programs, each link a ``(program, inverse)`` of its own:

1. ``centring``: large offsets of columns are taken out;
2. ``equilibration``: rows and variables of very different sizes are scaled, by powers of two.

A program that needs neither is left as it is: the very object, so that nothing changes for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.qp.centring import centre
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
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
    """

    program: QuadraticProgram
    inverse: Reversible
    note: str = ""

    @classmethod
    def of(cls, program: QuadraticProgram) -> Reduced:
        """Reduce a program as far as it helps."""
        links, notes = list[Reversible](), list[str]()
        for transform, what in ((centre, "large offsets of columns taken out"),):
            following, inverse = transform(program)
            if following is not program:
                links.append(inverse)
                notes.append(what)
                program = following
        return cls(program, ReversibleChain(tuple(links)), "; ".join(notes))

    def restored(self, solution: QPSolution) -> QPSolution:
        """A solution of the given program, its statistics saying what was done."""
        if not self.note:
            return solution
        notes = filter(None, (self.note, solution.statistics.note))
        return self.inverse(solution).with_statistics(note="; ".join(notes))
