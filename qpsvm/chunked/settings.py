"""Settings of passes over samples in chunks that are no options."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChunkSettings:
    """Settings of the blocks of a chunk, and of the rows that the first guess is trained on.

    Attributes
    ----------
    block_bytes : int
        Size of the blocks of rows in which a chunk is evaluated, in double precision. The passes
        over 3,000,000 rows of 28 features take 3.0 s with 1 MiB, and 2.6 s with 2 or 4 MiB (two
        threads).
    sample_rows : int
        Rows that are chosen at random, about: the guess is off by 1 / sqrt(sample_rows) of the
        margin, and training it takes about a second.
    rare_share : float
        Share of the rows chosen in a chunk that each class has, if the chunk has as many of it;
        with 4 of 4,000 samples in one class, half of 15 solves did not end without it.
    seed : int
        Of the choice, together with the number of the chunk.
    """

    block_bytes: int = 2**21
    sample_rows: int = 100_000
    rare_share: float = 0.1
    seed: int = 20_020_607


CHUNKS = ChunkSettings()
"""Settings of every pass."""
