"""Translation of LIBSVM's numbers to qpsvm's programs, for estimators and files.

``f(x) = sum_i c_i k(x_i, x) + b``, with n the sum of the sample weights of a machine:

===========  ======================================  ==============================  =============
LIBSVM       coefficients c                          program                         factor
===========  ======================================  ==============================  =============
C-SVC        ``s alpha``                             ``SoftMargin(C)``               1
nu-SVC       ``s alpha / rho`` (``1'alpha = nu n``)  ``NuClassification(nu)``        ``1'|c| / nu``
epsilon-SVR  ``alpha - alpha*``                      ``EpsilonRegression(C)``        1
nu-SVR       ``alpha - alpha*``                      ``NuRegression(nu, C n)``       1
one-class    ``alpha`` (``1'alpha = nu n``)          ``OneClass(nu)``                ``nu n``
===========  ======================================  ==============================  =============

LIBSVM's coefficients and decision values are ``factor`` times those of the program. nu-SVC does not
store rho, which follows from ``1'alpha = nu`` at the optimum. nu-SVR does not store epsilon;
predictions do not depend on it, and the optimal one for w and b is used.

For several classes there is a machine for every pair ``i < j``, in the library's own order of
classes: row ``j - 1`` of the coefficients has those of class i, row i those of class j.

Source: Chang and Lin, "LIBSVM: a library for support vector machines", *ACM TIST* 2 (2011),
sections 2 and 7.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.audits.claims import Claim, Reading, multipliers
from qpsvm.audits.readers.inputs import require_weights
from qpsvm.data import BinaryTrainingSet
from qpsvm.exceptions import AuditRefusedError, IndefiniteKernelError
from qpsvm.formulations import (
    EpsilonRegression,
    NuClassification,
    NuRegression,
    OneClass,
    OneVsOne,
    SoftMargin,
)
from qpsvm.formulations.family import Classifier, Family
from qpsvm.kernels import Kernel
from qpsvm.machines import SVMProblem
from qpsvm.numerics.arguments import Targets
from qpsvm.numerics.arrays import Dense, Index, Vector

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "c_svc": ("C",),
    "nu_svc": ("nu",),
    "one_class": ("nu",),
    "epsilon_svr": ("C", "epsilon"),
    "nu_svr": ("C", "nu"),
}
"""Types of models, and the parameters of their training."""

CLASSIFIERS = ("c_svc", "nu_svc")


@dataclass(frozen=True, eq=False, kw_only=True)
class Expansions(Reading):
    """The coefficients of a LIBSVM model on its training data, to be read as solutions.

    Attributes
    ----------
    svm_type : str
        One of ``PARAMETERS``.
    kernel : Kernel
    weights : array of shape (n,)
        Sample weights.
    rows : array of int of shape (m,)
        Which sample each support vector is.
    coefficients : array of shape (k - 1, m)
        One row for a model that is one machine.
    intercepts : array of shape (k (k - 1) / 2,)
    codes : array of int of shape (n,)
        The class of every sample as an index into ``classes``; empty without classes.
    class_weight : array of shape (k,) or None
        Multiplies the sample weights.
    break_ties : bool
        Whether equal numbers of votes are told apart by the sums of the decision values; otherwise
        the first of these classes is predicted.
    """

    svm_type: str
    kernel: Kernel
    weights: Vector
    rows: Index
    coefficients: Dense
    intercepts: Vector
    codes: Index
    class_weight: Vector | None = None
    break_ties: bool = False

    def trained_with(self, y: Targets | None, parameters: Mapping[str, float]) -> Reading:
        """Read the model as the solution of the programs with these parameters."""
        n, C, nu = float(np.sum(self.weights)), parameters.get("C", 1.0), parameters.get("nu", 1.0)
        if self.svm_type == "c_svc":
            return self._pairs(SoftMargin(C))
        if self.svm_type == "nu_svc":
            return self._pairs(NuClassification(nu))
        if self.svm_type == "one_class":
            return self._machine(OneClass(nu), y, nu * n)
        if self.svm_type == "nu_svr":
            return self._machine(NuRegression(nu, C * n), y)
        return self._machine(EpsilonRegression(C, parameters["epsilon"]), y)

    def expansion(self, i: int, j: int) -> Vector:
        """Coefficients of all samples in the two-class machine of classes i < j, shape (n,)."""
        expansion = np.zeros(len(self.codes))
        for label, row in ((i, j - 1), (j, i)):
            members = self.codes[self.rows] == label
            expansion[self.rows[members]] = self.coefficients[row, members]
        return expansion

    def _machine(self, formulation: Family, y: Targets | None, factor: float = 1.0) -> Reading:
        """Read a regressor or one-class model: one program for all samples."""
        expansion = np.zeros(len(self.weights))
        expansion[self.rows] = self.coefficients[0]
        problem = self._problem(formulation, y, self.weights)
        claim = self._claim("", problem, expansion, 0, factor, factor)
        return replace(self, claims=(claim,))

    def _pairs(self, formulation: Classifier) -> Reading:
        """Read a classifier: one program per pair of classes."""
        codes, classes = self.codes, np.asarray(self.classes)
        factors = np.ones(len(classes)) if self.class_weight is None else self.class_weight
        weights = self.weights * factors[codes]
        require_weights(codes, classes, weights)
        reduction = OneVsOne(formulation, break_ties=self.break_ties)
        pairs = itertools.combinations(range(len(classes)), 2)
        claims = []
        for p, (split, (i, j)) in enumerate(
            zip(reduction.splits(codes, classes), pairs, strict=True)
        ):
            expansion = self.expansion(i, j)
            taking_part = np.where(split.members, weights, 0.0)
            problem = self._problem(formulation, split.labels, taking_part)
            data = problem.data
            assert isinstance(data, BinaryTrainingSet)  # of a program for two classes
            positive = classes[i if self.first_is_positive else j]
            factor, scale = 1.0 if data.classes[1] == positive else -1.0, 1.0
            if isinstance(formulation, NuClassification):
                factor *= float(np.sum(np.abs(expansion))) / formulation.nu
                scale = float(np.sum(taking_part))
            name = split.name if len(classes) > 2 else ""
            claims.append(self._claim(name, problem, expansion, p, factor, scale))
        several = reduction if len(classes) > 2 else None
        return replace(self, claims=tuple(claims), reduction=several)

    def _problem(self, formulation: Family, y: Targets | None, weights: Vector) -> SVMProblem:
        try:
            return formulation.dual(self.samples, y, kernel=self.kernel, sample_weight=weights)
        except IndefiniteKernelError as error:
            raise AuditRefusedError(
                f"The kernel matrix of {self.model} ({self.kernel}) has the eigenvalue "
                f"{error.smallest_eigenvalue:.6g}: its dual is not convex, and nothing bounds the "
                "optimum; use a positive semidefinite kernel."
            ) from error

    def _claim(
        self,
        name: str,
        problem: SVMProblem,
        expansion: Vector,
        m: int,
        factor: float,
        solver_scale: float,
    ) -> Claim:
        if factor == 0.0:
            raise AuditRefusedError(
                f"{self.model} has no support vectors, so that its margin is not determined."
            )
        alpha = multipliers(problem, expansion / factor)
        is_nu = isinstance(problem.formulation, NuClassification)
        if is_nu and (alpha <= 0.0).all():
            raise AuditRefusedError(
                f"Every coefficient of {self.model} has the wrong sign for its label: LIBSVM "
                "divided by a margin rho below zero, at which it stopped, or the labels are others "
                "than those of the fit; fit with a smaller tolerance, or pass the labels of the "
                "fit."
            )
        if (alpha < 0.0).any():
            row = int(problem.data.kept[np.argmax(alpha < 0.0)])
            raise AuditRefusedError(
                f"The coefficient of row {row} has the wrong sign for its label; pass the labels "
                f"that {self.model} was fitted with."
            )
        return Claim(
            name=name,
            problem=problem,
            intercept=float(self.intercepts[m]) / factor,
            alpha=alpha,
            width=1.0 / abs(factor) if is_nu else None,
            factor=factor,
            solver_scale=solver_scale,
        )
