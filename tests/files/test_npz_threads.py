"""NPZ files can be read in several threads at once."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from qpsvm.exceptions import QPSVMError
from qpsvm.io import npz


@pytest.fixture
def many_switches() -> Iterator[None]:
    """Let threads take turns in the middle of whatever allocates, as a busy process does."""

    def pause(_phase: str, _info: dict[str, int]) -> None:
        time.sleep(1e-6)

    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.callbacks.append(pause)
    gc.set_threshold(3)
    yield
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(pause)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("many_switches")
def test_threads_may_read_at_once(tmp_path: Path) -> None:
    path, failures = tmp_path / "a.npz", list[Exception]()
    np.savez(path, X=np.arange(6.0).reshape(2, 3), y=np.array([1, -1]))

    def read() -> None:
        try:
            for _ in range(40):
                arrays = npz.read(path, QPSVMError, limit_bytes=10_000, only=["X"])
                assert arrays["X"][1, 2] == 5.0
        except Exception as error:  # noqa: BLE001 -- a thread's exception is lost otherwise
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
