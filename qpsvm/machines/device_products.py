"""Products of kernel matrices and vectors on a GPU, each of them tested before it is used.

A device evaluates ``s_i = sum_j k(x_i, x_j) v_j`` in double precision with compensated sums, kernel
values from squared differences and inner products as they are. They are within the bounds
``kernels.errors`` for those of the processor, as the exponential of the CUDA library is within
1 ulp, its tanh within 1 ulp, and all else is rounded once for every operation (``docs/gpu.md``).
So every sum has a bound e_i on its error, the same as on the processor, and two tests hold the
device to it:

1. *sums over all samples*: for random signs r, ``sum_i r_i s_i = sum_j v_j t_j`` with
   ``t_j = sum_i k(x_j, x_i) r_i``, which the device evaluates in another pass. Both sides differ by
   no more than the bounds on both. A single sum that is wrong by more than twice all bounds
   together is always found; where several are wrong, one of them by so much, each random vector
   finds it with probability 1/2 at least.
2. *a sample of rows*: the processor evaluates some sums again, compensated. Values that are wrong
   in every row, which agree with themselves, differ there by more than the bounds on both.

Source: Freivalds, "Probabilistic machines can use less running time", *IFIP Congress* (1977), for
the first test; Huang and Abraham, "Algorithm-based fault tolerance for matrix operations", *IEEE
Transactions on Computers* 33 (1984).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from qpsvm.device.base import Device, host_matrix
from qpsvm.exceptions import DeviceResultError, MemoryLimitError
from qpsvm.kernels.errors import EntryErrors, entry_errors, gram_errors
from qpsvm.kernels.functions import Kernel
from qpsvm.machines.score_errors import expansion_errors, largest_values
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import Dense, Vector, row_blocks
from qpsvm.numerics.compensated import summation_errors
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.sample_gram import GramFunction, SampleGram

REMEDY = (
    "The answer is not verified. Solve it again; if it happens again, check the GPU's memory "
    "(nvidia-smi -q -d ECC), or pass device='cpu'."
)


@dataclass(frozen=True, eq=False)
class DeviceProducts:
    """Products of kernel matrices and vectors on a GPU, each of them tested.

    Parameters
    ----------
    device : Device
    seed : int or None
        Of the random signs and rows; unpredictable if None.
    vectors : int
        Random vectors of signs.
    rows : int
        Rows that the processor evaluates again, at most.
    """

    device: Device
    seed: int | None = None
    vectors: int = 2
    rows: int = 64

    def __call__(self, gram: SampleGram, V: Dense, W: Dense) -> tuple[Dense, Dense] | None:
        """Return ``K V`` and ``K W``; None for a kernel that a device does not evaluate.

        Raises
        ------
        DeviceResultError
            The device's sums are not what they should be.
        MemoryLimitError
            The samples do not fit into the device's memory.
        """
        kernel, B, X = gram.kernel, np.hstack([V, W]), gram.X
        used = np.flatnonzero(B.any(axis=1))
        if not _is_known(kernel, B[used]):
            return None
        errors = gram_errors(kernel, gram).of_part(np.arange(gram.size), used)
        norms = np.sqrt(np.abs(gram.diagonal))
        within = kernel.within(X)
        sums = _Pass(self, kernel, X, X[used], B[used], errors, norms, norms[used], within).sums()
        return sums[:, : V.shape[1]], sums[:, V.shape[1] :]

    def expansion(self, kernel: GramFunction, X: Stored, Z: Stored, B: Dense) -> Dense | None:
        """Return ``sum_j k(x_i, z_j) B_j``, shape (m, p), tested; None if no device can."""
        if not _is_known(kernel, B):
            return None
        errors = entry_errors(kernel, X, Z)
        norms = [np.sqrt(np.abs(kernel.diagonal(S))) for S in (X, Z)]
        return _Pass(self, kernel, X, Z, B, errors, norms[0], norms[1], kernel).sums()


def _is_known(kernel: GramFunction, B: Dense) -> TypeGuard[Kernel]:
    """Return whether a GPU can evaluate a kernel, and all of the coefficients are finite."""
    is_form = isinstance(kernel, Kernel) and kernel.product_form() is not None
    return is_form and B.size > 0 and bool(np.isfinite(B).all())


@dataclass(frozen=True, eq=False)
class _Pass:
    """The sums ``k(X, Z) B`` of one call, and the tests of them.

    Attributes
    ----------
    X, Z : arrays or CSR matrices of shapes (m, d) and (k, d)
    B : array of shape (k, p)
    errors : EntryErrors
        Of the kernel values.
    norms, norms_z : arrays of shape (m,) and (k,)
        ``sqrt(k(x, x))``.
    within : callable
        The kernel, as the processor evaluates it for these bounds.
    """

    by: DeviceProducts
    kernel: Kernel
    X: Stored
    Z: Stored
    B: Dense
    errors: EntryErrors
    norms: Vector
    norms_z: Vector
    within: GramFunction

    def sums(self) -> Dense:
        """Compute the sums ``k(X, Z) B``, shape (m, p), and test them in both ways."""
        device, form = self.by.device, self.kernel.product_form()
        assert form is not None
        self._require_memory()
        rng = np.random.default_rng(self.by.seed)
        signs: Dense = rng.choice((-1.0, 1.0), (len(self.norms), self.by.vectors))
        X, Z = (device.send(host_matrix(S)) for S in (self.X, self.Z))
        sums = np.asarray(device.fetch(device.sums(form, X, Z, device.send(self.B))))
        back = np.asarray(device.fetch(device.sums(form, Z, X, device.send(signs))))
        expected = len(self.norms), self.B.shape[1]
        if sums.shape != expected or not (np.isfinite(sums).all() and np.isfinite(back).all()):
            raise DeviceResultError(f"Sums on {device.name} are not all finite numbers. {REMEDY}")
        bounds = self._bounds(sums)
        self._compare_totals(sums, bounds, signs, back)
        self._compare_rows(sums, bounds, rng)
        return sums

    def _require_memory(self) -> None:
        """Raise MemoryLimitError where the samples and a copy of them exceed the free memory."""
        (m, d), k, free = self.X.shape, self.Z.shape[0], self.by.device.free_bytes()
        needed = 8 * (2 * (m + k) * d + 2 * (m + k) * (self.B.shape[1] + self.by.vectors))
        if needed > free:
            raise MemoryLimitError(
                f"Sums over {m} samples and {k} others take {needed:,} bytes of the device's "
                f"memory, of which {free:,} are free; pass device='cpu'.",
                needed,
                free,
            )

    def _bounds(self, sums: Dense) -> Dense:
        """Bounds on the errors of all sums, shape (m, p)."""
        weights = np.abs(self.B)
        sizes = np.outer(self.norms, self.norms_z @ weights)  # |k(x, z)| <= |phi(x)| |phi(z)|
        if self.kernel.is_nonnegative:
            for p, own in enumerate(weights.T):
                same = [q for q, b in enumerate(self.B.T) if np.array_equal(b, own)]
                if same:
                    sizes[:, p] = np.minimum(sizes[:, p], sums[:, same[0]])
        return expansion_errors(
            self.errors, sizes, weights, largest_values(self.norms, self.norms_z)
        )

    def _compare_totals(self, sums: Dense, bounds: Dense, signs: Dense, back: Dense) -> None:
        """Compare sums over all samples with those in the opposite order."""
        m, largest = len(self.norms), largest_values(self.norms_z, self.norms)
        of_back = summation_errors(m * largest, np.ones(m), largest)
        for b, own, bound in zip(self.B.T, sums.T, bounds.T, strict=True):
            for r, t in zip(signs.T, back.T, strict=True):
                terms = b * t
                left, right = math.fsum(r * own), math.fsum(terms)
                allowed = 2.0 * float(np.sum(bound)) + float(np.abs(b) @ of_back)
                allowed += 2.0 * EPS * float(np.sum(np.abs(terms)))
                if not abs(left - right) <= allowed:
                    raise DeviceResultError(
                        f"Sums on {self.by.device.name} contradict each other: over all samples, "
                        f"with random signs, they are {left!r}, and in the opposite order "
                        f"{right!r}; rounding explains {allowed:.2g}. {REMEDY}"
                    )

    def _compare_rows(self, sums: Dense, bounds: Dense, rng: np.random.Generator) -> None:
        """Compare the sums of a few samples with those of the processor."""
        m = len(self.norms)
        rows = np.sort(rng.choice(m, min(m, self.by.rows), replace=False))
        known = np.empty((len(rows), self.B.shape[1]))
        for part in row_blocks(len(rows), len(self.B)):
            known[part] = compensated.product(self.within(self.X[rows[part]], self.Z), self.B)
        differ = ~(np.abs(known - sums[rows]) <= 2.0 * bounds[rows])
        if differ.any():
            row, p = np.argwhere(differ)[0]
            raise DeviceResultError(
                f"The sum on {self.by.device.name} for sample {rows[row]} is "
                f"{sums[rows[row], p]!r}, and on the processor {known[row, p]!r}; rounding "
                f"explains {2.0 * bounds[rows[row], p]:.2g}. {REMEDY}"
            )
