"""Choice of the device of a solve: the backend on it, and the verifier's products on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from qpsvm.backends.base import Backend
from qpsvm.backends.on_device import OnDeviceBackend
from qpsvm.device import Device
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.device_products import DeviceProducts
from qpsvm.qp.sample_gram import products_by

ON_DEVICES = ("auto", "active-set")
"""Backends that a device can take the place of."""


@contextmanager
def solving_on(device: Device | None, backend: str | Backend) -> Iterator[str | Backend]:
    """Provide the backend for a device; the verifier multiplies on it as well, with its tests.

    Parameters
    ----------
    device : Device or None
        None for the processor: the backend as it was asked for.
    backend : str or Backend

    Raises
    ------
    InvalidParameterError
        A backend that solves on the processor alone.
    """
    if device is None:
        yield backend
        return
    if not isinstance(backend, OnDeviceBackend):
        if backend not in ON_DEVICES:
            raise InvalidParameterError(
                f"backend {backend!r} solves on the processor; with device='cuda' pass "
                "backend='auto', or device='cpu'."
            )
        backend = OnDeviceBackend(device)
    with products_by(DeviceProducts(device)):
        yield backend
