"""Division of long vectors into chunks that fit a processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

CHUNK = 8192
"""Variables taken at once."""


def chunks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)``."""
    return (slice(i, i + CHUNK) for i in range(0, n, CHUNK))
