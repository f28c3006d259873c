"""Choice of a device: the backend on it, and certificates and predictions with its products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from qpsvm.backends.base import Backend
from qpsvm.backends.engines import ActiveSetBackend
from qpsvm.device import Device, device_named
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.device_products import DeviceProducts
from qpsvm.numerics.calls import explains_calls
from qpsvm.qp.sample_gram import products_by, products_elsewhere

ON_DEVICES = ("auto", "active-set")
"""Backends that a device can take the place of."""


@explains_calls
@contextmanager
def on_device(device: str | Device) -> Iterator[None]:
    """Let certificates, verdicts and predictions of kernel machines use a device.

    Its sums are tested before anything uses them (``docs/gpu.md``).

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        As for ``solve``; ``"auto"`` changes nothing.

    Yields
    ------
    None

    Raises
    ------
    DeviceError
        There is no GPU that can be used; inside the context also where its results are refused.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [1.0], [3.0]], [0, 0, 1], kernel="rbf")
    >>> solution = qpsvm.solve(problem)
    >>> with qpsvm.on_device("cpu"):  # "cuda"
    ...     solution.predict([[2.8]])
    array([1])
    """
    chosen = device_named(device)
    products = None if chosen is None else DeviceProducts(chosen)
    with products_by(products_elsewhere() if device == "auto" else products):
        yield


@contextmanager
def solving_on(device: str | Device, backend: str | Backend) -> Iterator[str | Backend]:
    """Provide the backend for a device; the verifier multiplies on it as well, with its tests.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"} or Device
    backend : str or Backend

    Raises
    ------
    DeviceError
        There is no GPU that can be used.
    InvalidParameterError
        A backend that solves on the processor alone.
    """
    chosen = device_named(device)
    if chosen is None:
        yield backend
        return
    if not isinstance(backend, ActiveSetBackend) or backend.device is None:
        if backend not in ON_DEVICES:
            raise InvalidParameterError(
                f"backend {backend!r} solves on the processor; with device='cuda' pass "
                "backend='auto', or device='cpu'."
            )
        backend = ActiveSetBackend(chosen)
    with on_device(chosen):
        yield backend
