"""How much is tried, and what every process of the suite has in common.

Two Hypothesis profiles: ``quick``, the default, draws a twentieth of the examples of ``exhaustive``
(``--hypothesis-profile=exhaustive``). Neither has a deadline: that a machine is busy is no error.
"""

from __future__ import annotations

import gc
import os
import signal
from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import settings

# One thread of linear algebra per process: the processes of xdist fill the machine already. Said
# before anything imports NumPy, and inherited by the processes that run the tests.
for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# The suite starts some hundred processes, and each would compile the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# ``tests.strategies.examples`` scales the counts that tests name themselves
settings.register_profile("quick", deadline=None, max_examples=5)
settings.register_profile("exhaustive", deadline=None, max_examples=100)
settings.load_profile("quick")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without collecting garbage: nearly all of what is made then stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before ``-m`` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave so many of a product of parameters to the quick run that each value still occurs."""
    from tests.strategies import product_of, spared

    products = defaultdict(list)
    for item in items:
        if product_of(item) and item.get_closest_marker("exhaustive") is None:
            products[item.nodeid.partition("[")[0]].append(item)
    for tests in products.values():
        for item in spared(tests):
            item.add_marker("exhaustive")


@pytest.fixture(scope="session", autouse=True)
def interrupts_arrive() -> Iterator[None]:
    """Where SIGINT is ignored (``nohup``, ``&`` in a script), children would ignore it, too."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
