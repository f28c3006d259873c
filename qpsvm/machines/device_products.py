"""Products with a kernel matrix on a device, and their proof: what a GPU returns is not trusted.

A device evaluates ``s_i = sum_j k(x_i, x_j) v_j`` in double precision with compensated sums, kernel
values from squared differences and inner products as they are. They are within the bounds
``kernels.errors`` for those of the processor, as the exponential of the CUDA library is within
1 ulp, its tanh within 1 ulp, and all else is rounded once for every operation (``docs/gpu.md``).
So every sum has a bound e_i on its error, the same as on the processor, and two tests hold the
device to it:

1. *sums over all samples*: for random signs r, ``sum_i r_i s_i = sum_j v_j t_j`` with
   ``t_j = sum_i k(x_j, x_i) r_i``, which the device evaluates in another pass. Both sides differ by
   no more than the bounds on both. One sum that is wrong by more than all bounds together cannot
   hide, nor can, with probability 1/2 for each of the random vectors, any other set of them.
2. *a sample of rows*: the processor evaluates some sums again, compensated. Values that are wrong
   in every row, which agree with themselves, differ there by more than the bounds on both.

Source: Freivalds, "Probabilistic machines can use less running time", *IFIP Congress* (1977), for
the first test; Huang and Abraham, "Algorithm-based fault tolerance for matrix operations", *IEEE
Transactions on Computers* 33 (1984).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.device.base import Device, host_matrix
from qpsvm.device.product_form import ProductForm
from qpsvm.exceptions import DeviceResultError
from qpsvm.kernels.base import Kernel
from qpsvm.kernels.errors import gram_errors
from qpsvm.machines.score_errors import expansion_errors
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.compensated import summation_errors
from qpsvm.numerics.precision import EPS
from qpsvm.qp.sample_gram import SampleGram

REMEDY = (
    "The answer is not verified. Solve it again; if it happens again, check the GPU's memory "
    "(nvidia-smi -q -d ECC), or pass device='cpu'."
)


@dataclass(frozen=True)
class ProofSettings:
    """Settings of the tests of a device's sums.

    Attributes
    ----------
    vectors : int
        Random vectors of signs.
    rows, fewest_rows : int
        Rows that the processor evaluates again, at most, and at least.
    values : int
        Kernel values that this may take, as far as the fewest rows allow.
    """

    vectors: int = 2
    rows: int = 64
    fewest_rows: int = 8
    values: int = 2**22


DEFAULTS = ProofSettings()


@dataclass(frozen=True, eq=False)
class DeviceProducts:
    """Products with kernel matrices on a device, each of them tested.

    Parameters
    ----------
    device : Device
    settings : ProofSettings
    seed : int or None
        Of the random signs and rows; unpredictable if None.
    """

    device: Device
    settings: ProofSettings = DEFAULTS
    seed: int | None = None

    def __call__(self, gram: SampleGram, V: Dense, W: Dense) -> tuple[Dense, Dense] | None:
        """Return ``K V`` and ``K W``; None for a kernel that a device does not evaluate.

        Raises
        ------
        DeviceResultError
            The device's sums are not what they should be.
        """
        kernel = gram.kernel
        form = kernel.product_form() if isinstance(kernel, Kernel) else None
        B = np.hstack([V, W])
        used = np.flatnonzero(B.any(axis=1))
        if form is None or not used.size or not np.isfinite(B).all():
            return None
        assert isinstance(kernel, Kernel)
        sums = _Pass(self, kernel, form, gram, used, B).proven_sums()
        return sums[:, : V.shape[1]], sums[:, V.shape[1] :]


@dataclass(frozen=True, eq=False)
class _Pass:
    """One pass over a kernel matrix: the sums ``K B``, and their tests.

    Attributes
    ----------
    used : array of int of shape (k,)
        The rows of B that are not zero.
    B : array of shape (n, p)
    """

    by: DeviceProducts
    kernel: Kernel
    form: ProductForm
    gram: SampleGram
    used: Index
    B: Dense

    def proven_sums(self) -> Dense:
        """The sums, shape (n, p), after both tests."""
        device, rng = self.by.device, np.random.default_rng(self.by.seed)
        signs: Dense = rng.choice((-1.0, 1.0), (self.gram.size, self.by.settings.vectors))
        X = device.send(host_matrix(self.gram.X))
        Z = X[device.send(self.used)]
        sums = np.asarray(
            device.fetch(device.sums(self.form, X, Z, device.send(self.B[self.used])))
        )
        back = np.asarray(device.fetch(device.sums(self.form, Z, X, device.send(signs))))
        if sums.shape != self.B.shape or not np.isfinite(sums).all():
            raise DeviceResultError(f"Sums on {device.name} are not all finite numbers. {REMEDY}")
        errors = self._errors(sums)
        self._compare_totals(sums, errors, signs, back)
        self._compare_rows(sums, errors, rng)
        return sums

    def _errors(self, sums: Dense) -> Dense:
        """Bounds on the errors of all sums, shape (n, p)."""
        errors, weights = gram_errors(self.kernel, self.gram), np.abs(self.B)
        norms = np.sqrt(np.abs(self.gram.diagonal))
        sizes = np.outer(norms, norms @ weights)  # |k(x, z)| <= |phi(x)| |phi(z)|
        if self.kernel.is_nonnegative:
            for p, own in enumerate(weights.T):
                same = [q for q, b in enumerate(self.B.T) if np.array_equal(b, own)]
                if same:
                    sizes[:, p] = np.minimum(sizes[:, p], sums[:, same[0]])
        return expansion_errors(errors, sizes, weights, self._largest)

    @cached_property
    def _largest(self) -> Vector:
        """The largest magnitude of each row of K, at most."""
        norms = np.sqrt(np.abs(self.gram.diagonal))
        return np.asarray((1.0 + 1e-6) * norms * np.max(norms))

    def _compare_totals(self, sums: Dense, errors: Dense, signs: Dense, back: Dense) -> None:
        """Compare sums over all samples with those in the opposite order."""
        n, largest = self.gram.size, self._largest[self.used]
        of_back = summation_errors(n * largest, np.ones(n), largest)
        for b, own, error in zip(self.B[self.used].T, sums.T, errors.T, strict=True):
            for r, t in zip(signs.T, back.T, strict=True):
                terms = b * t
                left, right = math.fsum(r * own), math.fsum(terms)
                allowed = 2.0 * float(np.sum(error)) + float(np.abs(b) @ of_back)
                allowed += 2.0 * EPS * float(np.sum(np.abs(terms)))
                if not abs(left - right) <= allowed:
                    raise DeviceResultError(
                        f"Sums on {self.by.device.name} contradict each other: over all samples, "
                        f"with random signs, they are {left!r}, and in the opposite order "
                        f"{right!r}; rounding explains {allowed:.2g}. {REMEDY}"
                    )

    def _compare_rows(self, sums: Dense, errors: Dense, rng: np.random.Generator) -> None:
        """Compare the sums of a few samples with those of the processor."""
        own, n = self.by.settings, self.gram.size
        m = min(n, own.rows, max(own.fewest_rows, own.values // len(self.used)))
        rows = np.sort(rng.choice(n, m, replace=False))
        X = self.gram.X
        K = self.kernel.within(X)(X[rows], X[self.used])
        known = compensated.product(K, self.B[self.used])
        differ = ~(np.abs(known - sums[rows]) <= 2.0 * errors[rows])
        if differ.any():
            row, p = np.argwhere(differ)[0]
            raise DeviceResultError(
                f"The sum on {self.by.device.name} for sample {rows[row]} is "
                f"{sums[rows[row], p]!r}, and on the processor {known[row, p]!r}; rounding "
                f"explains {2.0 * errors[rows[row], p]:.2g}. {REMEDY}"
            )
