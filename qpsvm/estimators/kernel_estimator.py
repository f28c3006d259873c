"""Base class of estimators with a kernel: parameters and attributes as in ``sklearn.svm``.

``kernel_of`` converts scikit-learn's kernel parameters to a kernel.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from qpsvm.estimators import inputs, libsvm_file
from qpsvm.estimators.base import QPEstimator
from qpsvm.estimators.vectors import AllCoefficients, SupportVectors
from qpsvm.kernels import RBF, Kernel, KernelArgument, Polynomial, Sigmoid, as_kernel
from qpsvm.kernels.functions import Gamma
from qpsvm.machines.reduced import ReducedSolution
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Array, Dense, Vector
from qpsvm.numerics.single_precision import Stored


def kernel_of(estimator: Any, X: Stored, weights: Vector | None) -> Kernel:
    """Build the kernel from an estimator's ``kernel``, ``gamma``, ``degree`` and ``coef0``.

    ``gamma="scale"`` is ``1 / (d v)`` with v the variance of all entries of X, in which a sample
    counts by its weight: a weight of 2 and a repeated row give the same machine.

    Parameters
    ----------
    estimator : QPEstimator
    X : array or CSR matrix of shape (n, d), or objects
    weights : array of shape (n,) or None

    Raises
    ------
    InvalidParameterError
        A kernel or parameter that is none.
    """
    kernel, gamma = estimator.kernel, estimator.gamma
    if isinstance(gamma, str) and gamma == "scale" and weights is not None:
        gamma = 1.0 / (X.shape[1] * (_variance(X, weights) or 1.0))
    if isinstance(kernel, str):
        if kernel in ("poly", "polynomial"):
            return Polynomial(gamma=gamma, degree=estimator.degree, coef0=estimator.coef0)
        if kernel == "rbf":
            return RBF(gamma=gamma)
        if kernel == "sigmoid":
            return Sigmoid(gamma=gamma, coef0=estimator.coef0)
    return as_kernel(kernel)


def _variance(X: Any, weights: Vector) -> float:
    """The variance of all entries of X, each with the weight of its row."""
    share = weights / (np.sum(weights) * X.shape[1])
    if sp.issparse(X):
        mean = float(share @ np.asarray(X.sum(axis=1), dtype=np.float64).ravel())
        square = float(share @ np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel())
        return square - mean**2
    X = np.asarray(X, dtype=np.float64)
    mean = float(share @ X.sum(axis=1))
    return float(share @ np.square(X - mean).sum(axis=1))


class KernelEstimator(QPEstimator):
    """Base class of estimators with a kernel.

    Attributes
    ----------
    support_ : array of int of shape (n_SV,)
        Rows of X that are support vectors; sorted by class, if there are classes.
    support_vectors_ : array or sparse matrix of shape (n_SV, d)
        Empty with a precomputed kernel.
    dual_coef_ : array of shape (1, n_SV)
        Their coefficients in the decision function; for k > 2 classes (k - 1, n_SV) in LIBSVM's
        layout, or (k, n_SV) where every class has a decision function.
    coef_ : array of shape (1, d), (k (k - 1) / 2, d) or (k, d)
        Weights of the features; linear kernel only.
    intercept_ : array of shape (1,), (k (k - 1) / 2,) or (k,)
    """

    kernel: KernelArgument
    gamma: Gamma

    def _kernel(self, X: Samples, weights: Vector | None) -> Kernel:
        return kernel_of(self, X, weights)

    def _scale(self, width: float, weights: Vector) -> float:
        """Factor between scikit-learn's decision function and the formulation's."""
        del width, weights
        return 1.0

    def _fitted(self, weights: Vector) -> None:
        own: Any = self._predictor
        widths = own.widths if isinstance(own, ReducedSolution) else (getattr(own, "width", 0.0),)
        self._scales = tuple([self._scale(width, weights) for width in widths])

    def _arrange(self) -> None:
        codes = getattr(self, "_codes", None)
        self._vectors = SupportVectors(self._predictor, self._scales, codes)

    @property
    def _all_coefficients(self) -> AllCoefficients:
        own = self._libsvm
        return AllCoefficients(own.solution, own.scales, own.codes)

    def to_libsvm(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a model file that LIBSVM reads, or nothing at all.

        Parameters
        ----------
        path : path
            ``svm-predict`` reads it, and so does ``qpsvm.audits.files.read_model``. Numbers are
            written in full: what is read is the same to the last bit.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ModelFileError
            What LIBSVM does not have: another estimator than ``SVC``, ``NuSVC``, ``SVR``,
            ``NuSVR`` and ``OneClassSVM``, labels that are no whole numbers, one machine per class,
            constraints, a kernel function; a path that cannot be written.

        Notes
        -----
        ``break_ties`` is not in the file: LIBSVM gives equally many votes to the first class.
        """
        libsvm_file.write(self, self._all_coefficients, path)

    @property
    def _libsvm(self) -> SupportVectors:
        check_is_fitted(self)
        return self._vectors

    def _values(self, X: Samples) -> Dense:
        return self._libsvm.decisions(inputs.samples(self, X))

    @property
    def support_(self) -> Array:
        """Rows of X that are support vectors, shape (n_SV,)."""
        return self._libsvm.support

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, shape (n_SV, d)."""
        return self._libsvm.samples

    @property
    def n_support_(self) -> Any:
        """Number of support vectors, shape (1,)."""
        return np.array([len(self.support_)], dtype=np.int32)

    @property
    def dual_coef_(self) -> Any:
        """Coefficients of the support vectors."""
        return self._libsvm.dual_coef

    @property
    def intercept_(self) -> Any:
        """Intercepts of all decision functions."""
        return self._libsvm.intercept

    @property
    def coef_(self) -> Array:
        """Weights of the features, for the linear kernel."""
        if not self._libsvm.is_linear:
            raise AttributeError("coef_ is only available when using a linear kernel")
        return self._libsvm.coef
