"""Settings of passes over samples in chunks that are no options."""

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
    rare_share : float
        Share of the rows chosen in a chunk that each class has, if the chunk has as many of it;
        with 4 of 4,000 samples in one class, half of 15 solves did not end without it.
    seed : int
        Of the choice, together with the number of the chunk.
    """

    sample_rows: int = 100_000
    rare_share: float = 0.1
    seed: int = 20_020_607


@dataclass(frozen=True)
class BlockSettings:
    """Settings of the blocks of rows in which a chunk is evaluated.

    Attributes
    ----------
    block_bytes : int
        Size of a block in double precision. The passes over 3,000,000 rows of 28 features take
        3.0 s with 1 MiB, and 2.6 s with 2 or 4 MiB (two threads).
    """

    block_bytes: int = 2**21


FIRST_PASS = FirstPassSettings()
"""Settings of every first pass."""

BLOCKS = BlockSettings()
"""Settings of every evaluation."""
