"""Settings of the first pass over samples in chunks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FirstPassSettings:
    """Settings of the random choice of rows that the first guess is trained on.

    Attributes
    ----------
    sample_rows : int
        Rows that are chosen, about: the guess is off by 1 / sqrt(sample_rows) of the margin, and
        training it takes about a second.
    seed : int
        Of the choice, together with the number of the chunk.
    """

    sample_rows: int = 100_000
    seed: int = 20_020_607


FIRST_PASS = FirstPassSettings()
