"""Kernel classifiers that follow scikit-learn: ``SVC`` and ``NuSVC``."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np

from qpsvm.certificates import Certificate
from qpsvm.certificates.predictions import DecisionBounds
from qpsvm.constraints import Constraints
from qpsvm.estimators.base import Formulation
from qpsvm.estimators.classifier import KernelClassifier
from qpsvm.exceptions import NuReducedWarning
from qpsvm.formulations import (
    CrammerSinger,
    NuClassification,
    SoftMargin,
)
from qpsvm.formulations.family import Classifier
from qpsvm.formulations.nu import ROUNDED_SHARES
from qpsvm.formulations.prices import ClassWeight
from qpsvm.kernels import KernelArgument
from qpsvm.kernels.functions import Gamma
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Vector


class SVC(KernelClassifier):
    r"""C-support vector classification, solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + \sum_i C_i \max(0, 1 - s_i (w^\top \phi(x_i) + b))

    Parameters
    ----------
    C : float
        Price of a margin violation, above 0 and finite.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable
        A name, an object of ``qpsvm.kernels``, or a function ``(X, Z) -> kernel values``.
    degree : int
        Degree of the polynomial kernel; ignored otherwise.
    gamma : {"scale", "auto"} or float
        Coefficient of the RBF, polynomial and sigmoid kernels; ignored otherwise. "scale" is
        ``1 / (d var X)``, in which samples count by their weights; "auto" is ``1 / d``.
    coef0 : float
        Constant term of the polynomial and sigmoid kernels; ignored otherwise.
    class_weight : dict, "balanced" or None
        Factors of C by label, each a label in y; "balanced" makes the sums of C_i of all classes
        equal.
    decision_function_shape : {"ovr", "ovo"}
        With three or more classes, whether ``decision_function`` has a column per class or per
        pair of classes.
    break_ties : bool
        Whether decision values decide between classes with equally many votes (``"ovr"`` only).
    multi_class : {"ovo", "ovr", "crammer_singer"}
        With three or more classes: a machine per pair of them, one per class, or one program for
        all.
    eps : float
        Relative duality gap and scaled residuals to be certified.
    backend : str
        As for ``qpsvm.solve``.
    constraints : LinearConstraints, builder, or list of them, optional
        Linear constraints on (w, b), for the linear kernel; see ``qpsvm.constraints``.
    indefinite : {"error", "clip", "flip", "shift"}
        What to do with a kernel matrix that has negative eigenvalues.
    memory_limit : int, optional
        Bytes available for kernel values; by default a quarter of the machine's memory.
    device : {"auto", "cpu", "cuda"}
        ``"cuda"`` solves and verifies on an NVIDIA GPU, whose memory ``memory_limit`` then limits.
    warm_start : bool
        Whether ``fit`` starts from the solution of the previous ``fit``.
    n_jobs : int, optional
        Number of machines solved in parallel with more than two classes; as in joblib.
    max_iter : int
        Largest number of iterations of the backend; -1 for its own limit.
    verbose : bool
        Print progress.
    tol : float, optional
        Another name of ``eps``, the one of scikit-learn; pass one of the two.
    cache_size, shrinking, random_state : ignored
        Accepted, and without effect: scikit-learn's class has them. ``memory_limit`` limits the
        memory for kernel values, the engine decides when to shrink, and nothing is random.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    qpsvm.SoftMargin : The formulation, for those who want to see the program.
    LinearSVC : For linear machines as LIBLINEAR defines them.

    Notes
    -----
    Minimises the same objective as ``sklearn.svm.SVC``.
    Source: Cortes and Vapnik, *Machine Learning* 20 (1995),
    section 3; one against one: Knerr, Personnaz and Dreyfus (1990).

    Examples
    --------
    >>> from qpsvm.estimators import SVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = SVC(C=10.0).fit(X, y)
    >>> round(machine.score(X, y), 2)
    0.99
    >>> machine.certificate_.relative_gap <= 1e-8
    True
    >>> machine.predict_certified(X).fraction_decided
    1.0
    """

    _ways_to_several = (*KernelClassifier._ways_to_several, "crammer_singer")

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: KernelArgument = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        multi_class: Literal["ovo", "ovr", "crammer_singer"] = "ovo",
        eps: float = 1e-8,
        backend: str = "auto",
        constraints: Constraints | None = None,
        indefinite: Indefinite = "error",
        memory_limit: int | None = None,
        device: str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        max_iter: int = -1,
        verbose: bool = False,
        tol: float | None = None,
        cache_size: object = None,
        shrinking: object = None,
        random_state: object = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.multi_class = multi_class
        self.eps = eps
        self.backend = backend
        self.constraints = constraints
        self.indefinite = indefinite
        self.memory_limit = memory_limit
        self.device = device
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.random_state = random_state

    def _two_classes(self, weights: Vector) -> Classifier:
        return SoftMargin(C=self.C, class_weight=self._class_factors(weights))

    def _of_many_classes(self, weights: Vector) -> Formulation:
        if self.multi_class == "crammer_singer":
            return CrammerSinger(C=self.C, class_weight=self._class_factors(weights))
        return super()._of_many_classes(weights)


class NuSVC(KernelClassifier):
    r"""Nu-support vector classification, solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} w^\top w - \nu \rho + \tfrac{1}{n} \sum_i \max(0, \rho - s_i (w^\top
        \phi(x_i) + b)), \quad \rho \ge 0

    Parameters
    ----------
    nu : float
        In (0, 1]: bounds the share of margin errors from above, that of support vectors from
        below. Feasible up to twice the smaller class's share of the weights (of every pair of
        classes); a larger one is reduced to that, with a warning.
    kernel, degree, gamma, coef0
        As for ``SVC``.
    class_weight : dict, "balanced" or None
        Factors of the sample weights by label, each a label in y.
    decision_function_shape, break_ties
        As for ``SVC``.
    multi_class : {"ovo", "ovr"}
        With three or more classes: a machine per pair of them, or one per class.
    eps, backend, constraints, indefinite, memory_limit, device
        As for ``SVC``.
    warm_start, n_jobs, max_iter, verbose
        As for ``SVC``.
    tol, cache_size, shrinking, random_state
        As for ``SVC``.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    qpsvm.NuClassification : The formulation.

    Notes
    -----
    Decision values are those of the machine with margin 1, ``f(x) / rho``, as scikit-learn has
    them. Source: Schoelkopf, Smola, Williamson and Bartlett, *Neural Computation* 12 (2000),
    section 4.

    Examples
    --------
    >>> from qpsvm.estimators import NuSVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = NuSVC(nu=0.1).fit(X, y)
    >>> round(machine.score(X, y), 2), machine.certificate_.relative_gap <= 1e-8
    (0.99, True)
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: KernelArgument = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        eps: float = 1e-8,
        backend: str = "auto",
        constraints: Constraints | None = None,
        indefinite: Indefinite = "error",
        memory_limit: int | None = None,
        device: str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        max_iter: int = -1,
        verbose: bool = False,
        tol: float | None = None,
        cache_size: object = None,
        shrinking: object = None,
        random_state: object = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.multi_class = multi_class
        self.eps = eps
        self.backend = backend
        self.constraints = constraints
        self.indefinite = indefinite
        self.memory_limit = memory_limit
        self.device = device
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.random_state = random_state

    def _two_classes(self, weights: Vector) -> Classifier:
        formulation = NuClassification(nu=self.nu, class_weight=self._class_factors(weights))
        totals = np.bincount(self._codes, weights, minlength=len(self.classes_))
        if len(totals) < 2 or not totals.all():  # the formulation refuses a single class
            return formulation
        largest = _largest_nu(totals.astype(np.float64), self.class_weight_, self.multi_class)
        if self.nu <= largest * (1.0 + 0.5 * ROUNDED_SHARES):
            return formulation
        largest *= 1.0 - ROUNDED_SHARES  # which rounding does not make infeasible
        warnings.warn(
            f"nu is {self.nu!r}, and these classes allow at most {largest:.6g}, twice the smaller "
            "one's share of the weights; that is what was fitted.",
            NuReducedWarning,
            stacklevel=6,
        )
        return replace(formulation, nu=largest)

    def _scale(self, width: float, weights: Vector) -> float:
        del weights
        return 1.0 / width if width > 0.0 else 1.0

    def _certified_bounds(self, proof: Certificate, X: Samples) -> DecisionBounds:
        bounds, optimum = super()._certified_bounds(proof, X), proof.optimum
        assert optimum is not None  # every machine has one decision function
        return bounds.divided(proof.solution.width, optimum.width)

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()
        # class weights bound the multipliers of each class, whose sums stay equal: they do not
        # move the boundary as far as scikit-learn's check of class weights asks
        tags.classifier_tags.poor_score = True
        return tags


def _largest_nu(totals: Vector, factors: Vector, multi_class: str) -> float:
    """The largest nu that is feasible for all machines of several classes.

    Parameters
    ----------
    totals, factors : arrays of shape (k,)
        The sum of the sample weights of every class, and what multiplies them.
    multi_class : {"ovo", "ovr"}
    """
    own = totals * factors
    if multi_class == "ovr" and len(own) > 2:  # the factors count as sample weights
        return 2.0 * float(min(np.min(own), np.sum(own) - np.max(own)) / np.sum(own))
    i, j = np.triu_indices(len(own), 1)
    return 2.0 * float(np.min(np.minimum(own[i], own[j]) / (totals[i] + totals[j])))
