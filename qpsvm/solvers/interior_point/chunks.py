"""Vectors by parts that stay in a processor's cache, with the temporary arrays made of them."""

from __future__ import annotations

from collections.abc import Iterator

CHUNK = 8192
"""Variables taken at once."""


def chunks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)``."""
    return (slice(i, i + CHUNK) for i in range(0, n, CHUNK))
