"""Kernel estimators: a kernel from scikit-learn's parameters, support vectors in LIBSVM's layout.

With k > 2 classes, one against one, LIBSVM sorts the support vectors by class. The machine of the
classes i < j is positive for i; a support vector of class i has its coefficient in row j - 1, one
of class j in row i. With two classes, and everywhere else, decision values are positive for the
larger label. Source: Chang and Lin, "LIBSVM: a library for support vector machines", section 7.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from qpsvm.estimators import inputs
from qpsvm.estimators.base import QPEstimator
from qpsvm.estimators.inputs import parameters
from qpsvm.formulations import OneVsOne
from qpsvm.kernels import RBF, Kernel, KernelArgument, Polynomial, Precomputed, Sigmoid, as_kernel
from qpsvm.kernels.functions import Gamma, gamma_scale
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.prediction import KernelMachine
from qpsvm.machines.reduced import ReducedSolution
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Array, Dense, Index, Vector, freeze
from qpsvm.numerics.single_precision import Stored

WITH_GAMMA = ("rbf", "poly", "polynomial", "sigmoid")
"""Names of the kernels that have the parameter gamma."""


@dataclass(frozen=True, eq=False)
class SupportVectors:
    """Support vectors of a fitted estimator, with their coefficients.

    Attributes
    ----------
    solution : SVMSolution, JointSolution or ReducedSolution
    scales : tuple of float
        By what scikit-learn's decision function is larger, for every machine.
    codes : array of int of shape (n,) or None
        The class of each of the caller's rows; None if there are none.
    """

    solution: SVMSolution | JointSolution | ReducedSolution
    scales: tuple[float, ...]
    codes: Index | None = None

    @property
    def is_one_vs_one(self) -> bool:
        """Return whether LIBSVM's layout of pairs applies."""
        solution = self.solution
        return isinstance(solution, ReducedSolution) and isinstance(solution.reduction, OneVsOne)

    @cached_property
    def machines(self) -> tuple[KernelMachine, ...]:
        """Machines of the solution: one, or the parts of a reduction."""
        solution = self.solution
        return solution.solutions if isinstance(solution, ReducedSolution) else (solution,)

    @cached_property
    def support(self) -> Index:
        """Rows of the caller's X that are support vectors, sorted by class if there are classes."""
        machines: Any = self.machines
        return self._sorted(np.unique(np.concatenate([machine.support for machine in machines])))

    def _sorted(self, rows: Index) -> Index:
        if self.codes is not None:
            rows = rows[np.argsort(self.codes[rows], kind="stable")]
        return np.asarray(freeze(rows.astype(np.int32)))

    @cached_property
    def dual_coef(self) -> Dense:
        """Coefficients of the support vectors, shape (k - 1, m), (k, m) or (1, m)."""
        pairs = zip(self.machines, self.scales, strict=True)
        columns = [scale * self.coefficients(machine) for machine, scale in pairs]
        if not self.is_one_vs_one:
            return np.asarray(freeze(np.vstack([column.T for column in columns])))
        assert self.codes is not None
        k, classes = len(self.solution.classes), self.codes[self.support]
        rows = np.zeros((k - 1, len(self.support)))
        for (i, j), column in zip(itertools.combinations(range(k), 2), columns, strict=True):
            rows[j - 1, classes == i] = -column[classes == i, 0]
            rows[i, classes == j] = -column[classes == j, 0]
        return np.asarray(freeze(rows))

    def coefficients(self, machine: Any) -> Dense:
        """Coefficients of all support vectors in one machine, shape (m, 1) or (m, k)."""
        beta = machine.expansion
        beta = np.zeros((machine.data.n_samples, 1)) if beta is None else np.asarray(beta)
        if machine.repair is not None:
            beta = machine.repair.coefficients(beta)
        beta = beta[:, None] if beta.ndim == 1 else beta
        whole = np.zeros((machine.data.n_given, beta.shape[1]))
        whole[machine.data.kept] = beta
        return whole[self.support]

    def decisions(self, X: Samples) -> Dense:
        """Decision values of every machine, shape (m,), (m, k) or (m, p); X is checked."""
        solution = self.solution
        if isinstance(solution, ReducedSolution):
            return np.asarray(solution.checked_machine_values(X) * np.array(self.scales))
        return np.asarray(self.scales[0] * solution.checked_values(X))

    @property
    def is_linear(self) -> bool:
        """Return whether the machines have weights of the features."""
        return all(machine.coef is not None for machine in self.machines)

    @cached_property
    def samples(self) -> Stored:
        """The support vectors themselves, shape (m, d); (0, 0) for a given kernel matrix."""
        if isinstance(self.machines[0].kernel, Precomputed):
            return np.empty((0, 0))
        data = self.solution.data
        place = np.zeros(data.n_given, dtype=np.intp)
        place[data.kept] = np.arange(data.n_samples)
        return data.X[place[self.support]]

    @cached_property
    def coef(self) -> Dense:
        """Weights of a linear kernel, one row for each decision function."""
        rows = [np.atleast_2d(np.asarray(machine.coef)) for machine in self.machines]
        return np.asarray(freeze(np.vstack(self._scaled(rows))))

    @cached_property
    def intercept(self) -> Dense:
        """One intercept for each decision function."""
        values = [np.atleast_1d(machine.intercept) for machine in self.machines]
        return np.asarray(freeze(np.concatenate(self._scaled(values))))

    def _scaled(self, values: list[Any]) -> list[Any]:
        sign = -1.0 if self.is_one_vs_one else 1.0
        return [sign * scale * own for scale, own in zip(self.scales, values, strict=True)]


class AllCoefficients(SupportVectors):
    """Samples with nonzero coefficients, however small, in scikit-learn's layout.

    Files of other programs have no weights of a linear kernel besides: there every coefficient
    counts, also those that are too small to make a sample a support vector.
    """

    @cached_property
    def support(self) -> Index:
        machines: Any = self.machines
        rows = [machine.support for machine in machines]
        for machine in machines:
            beta = machine.expansion
            if beta is not None:
                if machine.repair is not None:
                    beta = machine.repair.coefficients(beta)
                rows.append(machine.data.kept[np.unique(np.nonzero(beta)[0])])
        return self._sorted(np.unique(np.concatenate(rows)))


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
    if not isinstance(kernel, str) or kernel not in WITH_GAMMA:
        return as_kernel(kernel)
    if isinstance(gamma, str) and gamma == "scale" and weights is not None:
        gamma = gamma_scale(X, weights)
    if kernel == "rbf":
        return RBF(gamma=gamma)
    if kernel == "sigmoid":
        return Sigmoid(gamma=gamma, coef0=estimator.coef0)
    return Polynomial(gamma=gamma, degree=estimator.degree, coef0=estimator.coef0)


def _of_vectors(name: str, text: str) -> Any:
    """An attribute that the support vectors of a fitted estimator have, computed when read."""
    return property(lambda self: getattr(self._libsvm, name), doc=text)


@parameters
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

    kernel: KernelArgument = "rbf"
    degree: int = 3
    gamma: Gamma = "scale"
    coef0: float = 0.0
    indefinite: Indefinite = "error"
    memory_limit: int | None = None
    device: str = "auto"

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
        from qpsvm.estimators import libsvm_file

        libsvm_file.write(self, self._all_coefficients, path)

    @property
    def _libsvm(self) -> SupportVectors:
        check_is_fitted(self)
        return self._vectors

    def _values(self, X: Samples) -> Dense:
        return self._libsvm.decisions(inputs.samples(self, X))

    support_ = _of_vectors("support", "Rows of X that are support vectors, shape (n_SV,).")
    support_vectors_ = _of_vectors("samples", "The support vectors, shape (n_SV, d).")
    dual_coef_ = _of_vectors("dual_coef", "Coefficients of the support vectors.")
    intercept_ = _of_vectors("intercept", "Intercepts of all decision functions.")

    @property
    def n_support_(self) -> Any:
        """Number of support vectors, shape (1,)."""
        return np.array([len(self.support_)], dtype=np.int32)

    @property
    def coef_(self) -> Array:
        """Weights of the features, for the linear kernel."""
        if not self._libsvm.is_linear:
            raise AttributeError("coef_ is only available when using a linear kernel")
        return self._libsvm.coef
