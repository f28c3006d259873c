"""Devices that tests run on: NumPy always, a GPU where there is one."""

from __future__ import annotations

from functools import cache

import pytest

from qpsvm.device import Device, OnNumPy
from qpsvm.device.on_cuda import OnCuda
from qpsvm.exceptions import DeviceError


@cache
def why_no_gpu() -> str:
    """The reason why there is no GPU; empty where there is one."""
    try:
        OnCuda()
    except DeviceError as error:
        return str(error)
    return ""


DEVICES = [
    "numpy",
    pytest.param(
        "cuda",
        marks=[pytest.mark.cuda, pytest.mark.skipif(bool(why_no_gpu()), reason=why_no_gpu())],
    ),
]
"""Names for ``device_for``; the GPU's tests skip with the reason where there is none."""


def device_for(name: str) -> Device:
    """The device of a name in ``DEVICES``."""
    return OnNumPy() if name == "numpy" else OnCuda()
