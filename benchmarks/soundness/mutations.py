"""Random changes of a certified solution: ``mutate`` draws one.

Blunt ones break a number, a sign, an index or a scale of one vector; sharp ones change the machine
and make everything else fit, so that nothing but its optimality is wrong, by a chosen multiple of
eps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.soundness import blunt, fitting
from benchmarks.soundness.fields import Ground

KINDS: dict[Callable[[Ground, Any], tuple[str, Any]], float] = {
    blunt.one_value: 3.0,
    blunt.one_sign: 1.0,
    blunt.one_index: 1.0,
    blunt.scaled: 1.0,
    blunt.rounded: 0.3,
    blunt.not_a_number: 1.0,
    blunt.two_values: 1.0,
    blunt.swapped_samples: 0.7,
    blunt.program: 1.0,
    blunt.another_frame: 0.3,
    fitting.stranger: 2.0,
    fitting.consistent: 1.5,
    fitting.sharp: 4.0,
}


def mutate(ground: Ground, rng: Any) -> tuple[str, Any]:
    """(what kind of mutation, the mutant)."""
    kinds = list(KINDS)
    weights = np.array([KINDS[kind] for kind in kinds], dtype=np.float64)
    make = kinds[int(rng.choice(len(kinds), p=weights / np.sum(weights)))]
    with np.errstate(all="ignore"):
        kind, mutant = make(ground, rng)
    return kind, mutant
