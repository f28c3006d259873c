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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what runs a share of the exhaustive tests."""
    count = "run one in N of the tests that are chosen, drawn by their names and --draw"
    parser.addoption("--one-in", type=int, default=1, metavar="N", help=count)
    parser.addoption("--draw", default="", metavar="TEXT", help="every text draws other tests")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Choose of products of parameters before ``-m`` chooses, and by ``--one-in`` after it."""
    from tests.strategies import drawn, product_of, spared

    products = defaultdict(list)
    for item in items:
        if product_of(item) and item.get_closest_marker("exhaustive") is None:
            products[item.nodeid.partition("[")[0]].append(item)
    for tests in products.values():
        for item in spared(tests):
            item.add_marker("exhaustive")
    result = yield
    one_in, draw = config.option.one_in, config.option.draw
    rest = [item for item in items if not drawn(item.nodeid, one_in, draw)]
    if rest:
        config.hook.pytest_deselected(items=rest)
        items[:] = [item for item in items if drawn(item.nodeid, one_in, draw)]
    return result


@pytest.fixture(scope="session", autouse=True)
def interrupts_arrive() -> Iterator[None]:
    """Where SIGINT is ignored (``nohup``, ``&`` in a script), children would ignore it, too."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
