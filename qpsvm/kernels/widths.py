"""RBF kernel matrices of several widths from one matrix of squared distances."""

from __future__ import annotations

import numpy as np

from qpsvm.kernels.exponents import Exponents, exponentials
from qpsvm.kernels.functions import RBF
from qpsvm.numerics.arrays import Dense
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram


class SharedDistances:
    """Squared distances of samples, ``K_gamma = exp(-gamma D)`` for every gamma up to a largest.

    They are kept as exponents of the largest gamma: those of a smaller one are a fraction of them,
    and so are their errors. Where norms are so large that exponents need differences of samples,
    and which of them depends on gamma, nothing is shared.

    Parameters
    ----------
    X : array, CSR matrix or SinglePrecision of shape (n, d)
    largest_gamma : float

    Examples
    --------
    >>> shared = SharedDistances(np.array([[0.0], [2.0]]), 1.0)
    >>> shared.gram(0.5).to_dense().round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    def __init__(self, X: Stored, largest_gamma: float) -> None:
        self.X, self.largest_gamma = X, largest_gamma
        self._samples = X if hasattr(X, "indptr") else np.asarray(X)
        self.exponents: Dense | None = None
        if Exponents.of(self._samples, self._samples, largest_gamma).are_exact:
            self.exponents = RBF(largest_gamma).exponents(self._samples)

    def gram(self, gamma: float) -> KernelQuadratic:
        """The kernel matrix of one width, evaluated."""
        if self.exponents is None:
            K = RBF(gamma)(self._samples, self._samples)
        else:
            K = self.exponents.copy()
            exponentials(K, gamma / self.largest_gamma)
        samples = SampleGram.of_values(RBF(gamma), self.X, K, positive_semidefinite=True)
        return KernelQuadratic(samples)
