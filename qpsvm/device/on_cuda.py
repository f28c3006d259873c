"""Arrays and kernel values on an NVIDIA GPU, by CuPy, which is imported when it is first used."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from qpsvm.device.base import Device, DeviceArray, ProductForm, Solver
from qpsvm.exceptions import DeviceError
from qpsvm.numerics.arguments import require_choice

SOURCE = Path(__file__).with_name("kernels.cu")
"""CUDA source of kernel values and their sums."""

THREADS, GROUP = 128, 16
"""Threads of a block, and samples whose kernel values one has in registers, as in the source."""

MOST_SUMS = 4
"""Sums over the same kernel values, at most, in one pass."""

KINDS = ("product", "power", "tanh", "exponential")
"""Kinds of a ``ProductForm``, in the order of their numbers in the source."""

KEPT_FROM = 8192
"""Number of samples from which their transpose is kept until another large array is asked for."""

MOST_GROUPS = 65535
"""Blocks that CUDA allows in the second dimension of a grid."""


class OnCuda(Device):
    """The first CUDA GPU.

    Raises
    ------
    DeviceError
        CuPy is not installed, or finds no GPU.
    """

    def __init__(self) -> None:
        try:
            import cupy
            import cupyx
            import cupyx.scipy.linalg
        except ImportError as error:
            raise DeviceError(
                f"device='cuda' needs CuPy, which cannot be imported ({error}); run: "
                "pip install 'qpsvm[gpu]', or pass device='cpu'."
            ) from error
        try:
            number = cupy.cuda.Device()
            properties = cupy.cuda.runtime.getDeviceProperties(number.id)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceError(
                f"device='cuda' finds no usable GPU ({error}): it needs an NVIDIA GPU with its "
                "driver. Pass device='cpu' to solve on the processor."
            ) from error
        self.xp, self._cupyx = cupy, cupyx
        self.name = properties["name"].decode()
        self._module = _compiled(cupy)
        self._room: Any = None
        self._last: tuple[DeviceArray, DeviceArray] | None = None

    def fetch(self, array: DeviceArray, *, reused: bool = False) -> Any:
        if not reused:
            return self.xp.asnumpy(array)
        size = int(array.size)
        if self._room is None or self._room.size < size:
            self._room = self._cupyx.empty_pinned(size)  # the GPU writes there by itself
        out = self._room[:size].reshape(array.shape)
        array.get(out=out)
        return out

    def free_bytes(self) -> int:
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.Device().mem_info[0] + pool.free_bytes())

    def values(self, form: ProductForm, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        xp, (n, d), k = self.xp, X.shape, len(Z)
        out, XT = xp.empty((k, n)), self._features_first(X)
        run = self._module.get_function("kernel_rows")
        for begin in range(0, k, MOST_GROUPS * GROUP):
            some, part = Z[begin : begin + MOST_GROUPS * GROUP], out[begin:]
            grid = -(-n // THREADS), -(-len(some) // GROUP)
            run(grid, (THREADS,), (XT, some, *_sizes(n, len(some), d), *_numbers(form), part))
        return out

    def sums(
        self, form: ProductForm, X: DeviceArray, Z: DeviceArray, V: DeviceArray
    ) -> DeviceArray:
        xp, (n, d), p = self.xp, X.shape, V.shape[1]
        if p > MOST_SUMS:
            parts = [self.sums(form, X, Z, V[:, b : b + MOST_SUMS]) for b in range(0, p, MOST_SUMS)]
            return xp.concatenate(parts, axis=1)
        out, XT, V = xp.full((n, p), xp.nan), self._features_first(X), xp.ascontiguousarray(V)
        run = self._module.get_function(f"kernel_sums_{p}")
        sizes, numbers = _sizes(n, len(Z), d), _numbers(form)
        run((-(-n // THREADS),), (THREADS,), (XT, Z, V, *sizes, *numbers, out))
        return out

    def combination(
        self, rows: DeviceArray, places: DeviceArray, weights: DeviceArray
    ) -> DeviceArray:
        n, m = rows.shape[1], len(places)
        out = self.xp.empty(n)
        arguments = rows, places.astype(np.int64), weights, np.int64(m), np.int64(n), out
        self._module.get_function("combination")((-(-n // THREADS),), (THREADS,), arguments)
        return out

    def factored(self, A: DeviceArray) -> Solver | None:
        if not len(A):
            return lambda B: B
        L = self.xp.linalg.cholesky(A)
        if not bool(self.xp.isfinite(L[-1]).all()):  # the last row depends on all others
            return None
        solve = partial(self._cupyx.scipy.linalg.solve_triangular, L, lower=True)
        return lambda B: solve(solve(B), trans=1)

    def _features_first(self, X: DeviceArray) -> DeviceArray:
        """Return the transpose of samples, shape (d, n); that of the last large array is kept."""
        if len(X) < KEPT_FROM:
            return self.xp.ascontiguousarray(X.T)
        if self._last is None or self._last[0] is not X:
            self._last = X, self.xp.ascontiguousarray(X.T)
        return self._last[1]


@cache
def _compiled(cupy: Any) -> Any:
    return cupy.RawModule(code=SOURCE.read_text(encoding="utf-8"), options=("--std=c++14",))


def _sizes(*numbers: int) -> tuple[Any, ...]:
    return tuple(np.int64(number) for number in numbers)


def _numbers(form: ProductForm) -> tuple[Any, ...]:
    kind = np.int32(KINDS.index(form.kind))
    return kind, np.float64(form.gamma), np.float64(form.coef0), np.int32(form.degree)


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
