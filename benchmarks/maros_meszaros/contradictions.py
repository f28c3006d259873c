"""Check, in rational numbers, that some Maros-Meszaros programs have no feasible point.

Usage: ``python -m benchmarks.maros_meszaros.contradictions FOLDER``

``contradictions.json`` has multipliers for rows and bounds of seven programs: ``lb3`` for
``-x_3 <= -lb_3``, ``ub3`` for ``x_3 <= ub_3``, ``G3`` and ``A3`` for rows. Multiplied and added,
the left-hand sides vanish and the right-hand side is negative: a Farkas proof. It is about the
numbers as they are stored, among them right-hand sides of -1e-16 where zero was meant. A verifier
that asks for a feasible point cannot pass any answer to these programs.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import scipy.sparse as sp

from benchmarks.maros_meszaros.programs import load
from qpsvm.qp import QuadraticProgram

PROOFS = Path(__file__).with_name("contradictions.json")


def main() -> None:
    """Check every proof."""
    folder = Path(sys.argv[1])
    for name, multipliers in json.loads(PROOFS.read_text(encoding="utf-8")).items():
        program = load(folder / f"{name}.mat")
        right = contradiction(program, {k: Fraction(v) for k, v in multipliers.items()})
        print(f"{name}: 0 <= {float(right):.3g}, from {len(multipliers)} rows and bounds")


def contradiction(program: QuadraticProgram, multipliers: dict[str, Fraction]) -> Fraction:
    """The right-hand side below zero of a combination of rows whose left-hand side vanishes.

    Raises
    ------
    ValueError
        It proves nothing: a negative multiplier of an inequality, a sum that does not vanish, or a
        right-hand side that is not negative.
    """
    left: dict[int, Fraction] = defaultdict(Fraction)
    right = Fraction(0)
    G, A = sp.csr_array(program.G), sp.csr_array(program.A)
    for name, multiplier in multipliers.items():
        kind, place = name.rstrip("0123456789"), int(name.lstrip("lbuGA"))
        if multiplier < 0 and kind != "A":
            raise ValueError(f"the multiplier of {name} is negative: {multiplier}")
        if kind in ("lb", "ub"):
            sign = 1 if kind == "ub" else -1
            bound = program.ub if kind == "ub" else program.lb
            left[place] += sign * multiplier
            right += sign * multiplier * Fraction(float(bound[place]))
        else:
            rows, sides = (G, program.h) if kind == "G" else (A, program.b)
            right += multiplier * Fraction(float(sides[place]))
            for k in range(rows.indptr[place], rows.indptr[place + 1]):
                left[int(rows.indices[k])] += multiplier * Fraction(float(rows.data[k]))
    if any(left.values()) or not right < 0:
        raise ValueError("the combination is no contradiction")
    return right


if __name__ == "__main__":
    main()
