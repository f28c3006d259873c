"""Blocks of the kernel matrix, and its products with vectors, evaluated on a GPU when needed.

The matrix is never stored, unless it was given. A column is evaluated when a product reads it, and
kept while the memory limit allows; without room it is evaluated again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qpsvm.device.base import Device, DeviceArray, ProductForm, host_matrix
from qpsvm.exceptions import MemoryLimitError, UnsupportedProgramError
from qpsvm.numerics.arrays import Index, row_blocks
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.sample_quadratic import SampleQuadratic
from qpsvm.solvers.device.settings import DeviceSettings

VECTORS = 24
"""Vectors of one entry per variable that the method keeps in the GPU's memory, at most."""

COLUMN_BYTES = 2**27
"""Bytes of new columns of the kernel matrix that are evaluated at a time."""


class DeviceKernelMatrix:
    """The kernel matrix of the samples of a dual program, evaluated on a GPU when needed.

    Parameters
    ----------
    P : KernelQuadratic or LowRankQuadratic
    device : Device
    settings : DeviceSettings

    Attributes
    ----------
    largest_set : int
        Variables of a working set whose matrices have room.
    capacity : int
        Columns that have room.

    Raises
    ------
    UnsupportedProgramError
        A kernel function that is known to Python alone.
    MemoryLimitError
        The samples, or a matrix that was given, take more memory than there is.
    """

    def __init__(self, P: SampleQuadratic, device: Device, settings: DeviceSettings) -> None:
        self.device, self.form = device, _form(P)
        data, copies = (_matrix(P), 1) if self.form is None else (_samples(P), 2)
        n, width = data.shape
        free, limit = device.free_bytes(), settings.memory_limit
        limit = int(0.8 * free) if limit is None else min(int(limit), free)
        fixed = 8 * (copies * n * width + VECTORS * (P.size + n))
        fixed += min(COLUMN_BYTES, 8 * n * n) if self.form is not None else 0
        smallest = fixed + 8 * 3 * min(settings.block_size, P.size) ** 2
        if smallest > limit:
            raise MemoryLimitError(
                f"{n} samples and {P.size} variables take {smallest:,} bytes of the device's "
                f"memory, the limit is {limit:,} bytes; raise options={{'memory_limit': bytes}} as "
                "far as the device allows, use a smaller block_size, or device='cpu'.",
                smallest,
                limit,
            )
        room = (limit - fixed) // 8
        sets = min(3 * min(settings.largest_set, P.size) ** 2, room // 2)
        self.largest_set = min(P.size, max(math.isqrt(sets // 3), settings.block_size))
        is_kept = self.form is not None and width >= settings.cached_from
        self.capacity = min(n, max(0, room - 3 * self.largest_set**2) // n) if is_kept else 0
        self.data = device.send(data)
        self._columns: DeviceArray = None
        self._slot: Index = np.full(n, -1)
        self._used = 0

    def square(self, samples: DeviceArray) -> DeviceArray:
        """``K[samples][:, samples]`` as a fresh array of the device."""
        if self.form is None:
            return self.device.xp.ascontiguousarray(self.data[samples][:, samples])
        chosen = self.data[samples]
        return self.device.values(self.form, chosen, chosen)

    def product(self, samples: Index, weights: DeviceArray) -> DeviceArray:
        """``K[:, samples] weights``, shape (n,); columns that it reads are kept, if there is room.

        Parameters
        ----------
        samples : array of int of shape (k,)
            In the host's memory, each at most once.
        weights : array of the device, shape (k,)
        """
        if self.form is None:
            return self.device.combination(self.data, self.device.send(samples), weights)
        if not self.capacity:
            return self._summed(samples, weights)
        self._keep(samples)
        slots = self._slot[samples]
        kept = np.flatnonzero(slots >= 0)
        send = self.device.send
        total = self.device.combination(self._columns, send(slots[kept]), weights[send(kept)])
        if len(kept) < len(samples):
            others = np.flatnonzero(slots < 0)
            total = total + self._summed(samples[others], weights[send(others)])
        return total

    def compensated_product(self, v: DeviceArray) -> DeviceArray:
        """``K v`` with compensated sums, shape (n,)."""
        xp = self.device.xp
        used = xp.flatnonzero(v)
        if self.form is None:
            return self.device.combination(self.data, used, v[used])
        return self.device.sums(self.form, self.data, self.data[used], v[used, None])[:, 0]

    def _summed(self, samples: Index, weights: DeviceArray) -> DeviceArray:
        assert self.form is not None
        Z = self.data[self.device.send(samples)]
        return self.device.sums(self.form, self.data, Z, weights[:, None])[:, 0]

    def _keep(self, samples: Index) -> None:
        """Evaluate columns that are not kept, as many as there is room for."""
        assert self.form is not None
        xp, n = self.device.xp, len(self._slot)
        new = samples[self._slot[samples] < 0]
        if self._columns is None:
            self._columns = xp.empty((self.capacity, n))
        if self._used + len(new) > self.capacity:
            self._slot[:], self._used, new = -1, 0, samples  # forgotten; these are read next
        new = new[: self.capacity - self._used]
        for block in row_blocks(len(new), n, COLUMN_BYTES):
            some = new[block]
            places = slice(self._used, self._used + len(some))
            Z = self.data[self.device.send(some)]
            self._columns[places] = self.device.values(self.form, self.data, Z)
            self._slot[some] = np.arange(places.start, places.stop)
            self._used = places.stop


def _form(P: SampleQuadratic) -> ProductForm | None:
    """The kernel as a function of products; None for a matrix that is stored."""
    if isinstance(P, LowRankQuadratic):
        return ProductForm("product")
    if not isinstance(P, KernelQuadratic):
        raise UnsupportedProgramError(
            f"device='cuda' takes the duals of kernel machines; this program has a "
            f"{type(P).__name__} for a Hessian. Pass device='cpu'."
        )
    form: Any = getattr(P.gram.kernel, "product_form", None)
    return None if form is None else form()


def _samples(P: SampleQuadratic) -> Any:
    if isinstance(P, LowRankQuadratic):
        return host_matrix(P.samples)
    assert isinstance(P, KernelQuadratic)
    return host_matrix(P.gram.X)


def _matrix(P: SampleQuadratic) -> Any:
    """A stored kernel matrix; one that Python evaluates is not evaluated on the processor."""
    assert isinstance(P, KernelQuadratic)
    if not P.gram.is_worth_keeping:
        raise UnsupportedProgramError(
            "The kernel is a Python function, or one of combinations of samples, which a GPU "
            f"cannot evaluate, and its matrix of {P.gram.size} samples is not stored. Pass "
            "device='cpu', or the matrix with kernel='precomputed'."
        )
    return P.gram.dense
