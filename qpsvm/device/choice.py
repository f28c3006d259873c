"""Devices by their names, as the argument ``device`` of ``solve`` has them."""

from __future__ import annotations

from qpsvm.device.base import Device
from qpsvm.device.on_cuda import OnCuda
from qpsvm.numerics.arguments import require_choice

NAMES = ("auto", "cpu", "cuda")
"""What the argument ``device`` can be."""


def device_named(name: str | Device) -> Device | None:
    """Return the device with a name; None for the processor, which ``"auto"`` means as well.

    Parameters
    ----------
    name : {"auto", "cpu", "cuda"} or Device

    Raises
    ------
    DeviceError
        ``"cuda"`` without CuPy or without a GPU: never the processor in its place.
    InvalidParameterError
        Another name.

    Examples
    --------
    >>> device_named("cpu") is None
    True
    """
    if isinstance(name, Device):
        return name
    require_choice(name, NAMES, "device")
    return OnCuda() if name == "cuda" else None
