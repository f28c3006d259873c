"""What contestants leave behind in a process is put right after every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.contestants.peers import restore_arithmetic


@pytest.fixture(autouse=True)
def arithmetic_as_it_was() -> Iterator[None]:
    """Loading Snap ML makes subnormal numbers zero, for the tests of other rooms as well."""
    yield
    restore_arithmetic()
