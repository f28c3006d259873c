"""Description of the machine that explains its times, without names of hosts or people."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping
from pathlib import Path

from qpsvm.backends import installed_version

PACKAGES = ("numpy", "scipy", "scikit-learn")
"""Packages whose versions are recorded for every contestant."""


@functools.cache
def describe() -> Mapping[str, str | int]:
    """Describe this machine: processor, usable cores, memory, system, Python, BLAS.

    Returns
    -------
    mapping of str to text or number
        ``memory`` in bytes; what the system does not tell is an empty text or zero.

    Examples
    --------
    >>> describe()["cores"] >= 1
    True
    """
    return {
        "processor": _processor(),
        "cores": _cores(),
        "memory": _memory(),
        "system": platform.system(),
        "python": platform.python_version(),
        "blas": _blas(),
        **{name: installed_version(name) for name in PACKAGES},
    }


def load() -> float:
    """Load average of the last minute; NaN where the system has none."""
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return float("nan")


def peak_bytes() -> float:
    """Largest resident memory of this process so far, NaN where that is unknown."""
    try:
        # not getrusage: its maximum survives exec and starts at the parent's size
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return float("nan")
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return 1024.0 * int(lines["VmHWM"].split()[0]) if "VmHWM" in lines else float("nan")


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 0


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _blas() -> str:
    """Libraries of linear algebra that are loaded, NumPy's among them."""
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return ", ".join(sorted({f"{pool['internal_api']} {pool['version']}" for pool in pools}))
