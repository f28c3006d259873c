"""Translation of LIBSVM's numbers to qpsvm's programs; its model files.

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

**Files** contain no training parameters except those of the kernel. Parameters that the caller does
not give are inferred from the coefficients c if possible, with sample weights u and their sum n:

==================  ===========================================================================
C (C-SVC, SVR)      the largest ``|c_i| / u_i``, if several samples of one side have exactly that
nu (nu-SVC)         ``sum|c_i|`` over n times the largest, likewise
nu (nu-SVR)         ``sum|c_i| / (C n)``
nu (one-class)      ``sum c_i / n``
==================  ===========================================================================

(A model that is optimal for some C is also optimal for C equal to its largest alpha; the converse
does not hold.)

Source: Chang and Lin, "LIBSVM: a library for support vector machines", *ACM TIST* 2 (2011),
sections 2 and 7.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from qpsvm.audits.claims import Claim, FittedMachines, Library, Reading, multipliers
from qpsvm.audits.inputs import Inputs
from qpsvm.audits.libsvm_model import FEW_DIGITS, LibsvmModel
from qpsvm.exceptions import AuditRefusedError, IndefiniteKernelError, ModelFileError
from qpsvm.formulations import (
    EpsilonRegression,
    NuClassification,
    NuRegression,
    OneClass,
    OneVsOne,
    SoftMargin,
)
from qpsvm.formulations.family import Family
from qpsvm.kernels import Kernel
from qpsvm.machines import SVMProblem
from qpsvm.numerics.arguments import Targets
from qpsvm.numerics.arrays import Dense, Index, Vector, is_sparse
from qpsvm.numerics.single_precision import Stored

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "c_svc": ("C",),
    "nu_svc": ("nu",),
    "one_class": ("nu",),
    "epsilon_svr": ("C", "epsilon"),
    "nu_svr": ("C", "nu"),
}
"""Types of models, and the parameters of their training."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Expansions(FittedMachines):
    """The coefficients of a LIBSVM model on its training data.

    Attributes
    ----------
    svm_type : str
        One of ``PARAMETERS``.
    kernel : Kernel
    rows : array of int of shape (m,)
        Which sample each support vector is.
    coefficients : array of shape (k - 1, m)
        One row for a model that is one machine.
    intercepts : array of shape (k (k - 1) / 2,)
    break_ties : bool
        Whether equal numbers of votes are told apart by the sums of the decision values; otherwise
        the first of these classes is predicted.
    """

    svm_type: str
    kernel: Kernel
    rows: Index
    coefficients: Dense
    intercepts: Vector
    break_ties: bool = False

    def trained_with(self, y: Targets | None, parameters: Mapping[str, float]) -> Reading:
        """Read the model as the solution of the programs with these parameters."""
        C, nu = parameters.get("C", 1.0), parameters.get("nu", 1.0)
        if self.svm_type in ("c_svc", "nu_svc"):
            formulation = SoftMargin(C) if self.svm_type == "c_svc" else NuClassification(nu)
            return self.classifier(OneVsOne(formulation, break_ties=self.break_ties))
        if self.svm_type == "one_class":
            return self.machine(OneClass(nu), y)
        if self.svm_type == "nu_svr":
            return self.machine(NuRegression(nu, C * float(np.sum(self.weights))), y)
        return self.machine(EpsilonRegression(C, parameters["epsilon"]), y)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The classes of every machine of a classifier, by number."""
        return list(itertools.combinations(range(len(np.asarray(self.classes))), 2))

    def expansion(self, m: int) -> Vector:
        """Dual coefficients of all n training samples in the m-th decision function."""
        expansion = np.zeros(len(self.weights))
        if self.classes is None:
            expansion[self.rows] = self.coefficients[0]
            return expansion
        i, j = self.pairs[m]
        for label, row in ((i, j - 1), (j, i)):
            members = self.codes[self.rows] == label
            expansion[self.rows[members]] = self.coefficients[row, members]
        return expansion

    def problem(self, formulation: Family, y: Targets | None, weights: Vector) -> SVMProblem:
        """Build the dual program that one of the machines claims to solve.

        Raises
        ------
        AuditRefusedError
            An indefinite kernel.
        """
        try:
            return formulation.dual(self.samples, y, kernel=self.kernel, sample_weight=weights)
        except IndefiniteKernelError as error:
            raise AuditRefusedError(
                f"The kernel matrix of {self.model} ({self.kernel}) has the eigenvalue "
                f"{error.smallest_eigenvalue:.6g}: its dual is not convex, and nothing bounds the "
                "optimum; use a positive semidefinite kernel."
            ) from error

    def claim(self, name: str, problem: SVMProblem, m: int, sign: float) -> Claim:
        """Read coefficients as dual variables, of which none may be negative.

        Raises
        ------
        AuditRefusedError
            There are no coefficients, or one has another sign than its label.
        """
        expansion, n = self.expansion(m), float(np.sum(problem.data.weights))
        factor, solver_scale, is_nu = sign, 1.0, self.svm_type == "nu_svc"
        match problem.formulation:
            case OneClass(nu=nu):
                factor = solver_scale = nu * n
            case NuClassification(nu=nu):
                factor, solver_scale = sign * float(np.sum(np.abs(expansion))) / nu, n
        if factor == 0.0:
            raise AuditRefusedError(
                f"{self.model} has no support vectors, so that its margin is not determined."
            )
        alpha = multipliers(problem, expansion / factor)
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


# --- model files ------------------------------------------------------------------------------


def read_file(model: LibsvmModel, inputs: Inputs) -> Reading:
    """Read a model file and find the rows of X that are its support vectors."""
    inputs.require_only(PARAMETERS[model.svm_type], model.svm_type)
    samples = inputs.samples()
    weights, labels, codes = inputs.weights(samples.shape[0]), model.labels, np.zeros(0, np.intp)
    if labels is not None:  # before rows are looked for: other labels are told as such
        codes = inputs.codes(labels, weights)
    model, rows = _with_training_rows(model, samples, inputs)
    found = Expansions(
        svm_type=model.svm_type,
        model=f"{model.svm_type} model {os.path.basename(model.source)!r}",
        library=Library(model.written_by, float32_kernel=True),
        kernel=model.kernel,
        samples=samples,
        weights=weights,
        rows=rows,
        coefficients=model.coefficients.T,
        intercepts=-model.rho,
        codes=codes,
        classes=labels,
        first_is_positive=True,
    )
    found = _as_stored(found, model)
    parameters = dict[str, float]()
    for name in PARAMETERS[model.svm_type]:
        value = getattr(inputs, name)
        if value is None:
            value, source = _inferred(found, name, parameters.get("C", 1.0))
            if source:
                remark = f"{name} = {value!r} is inferred from the {source}"
                found = replace(found, remarks=(*found.remarks, remark))
        parameters[name] = value
    return found.trained_with(inputs.y, parameters)


def _with_training_rows(
    model: LibsvmModel, samples: Stored, inputs: Inputs
) -> tuple[LibsvmModel, Index]:
    """The model with its indices counted as in X, and the rows of X that its vectors are."""
    try:
        return model, model.training_rows(samples, inputs.y)
    except ModelFileError:
        if model.support_vectors is not None and not model.zero_based:
            other = model.counted_from_zero()
            with suppress(ModelFileError):
                return other, other.training_rows(samples, inputs.y)
        raise


# --- what the file does not say ---------------------------------------------------------------


def _inferred(found: Expansions, name: str, C: float) -> tuple[float, str]:
    """A parameter of the training as the coefficients have it, and what of them tells it."""
    n, c = float(np.sum(found.weights)), found.coefficients
    match found.svm_type, name:
        case _, "C":
            value, source = _bound(c / found.weights[found.rows]), "largest coefficients"
        case "one_class", _:
            value, source = float(np.sum(c)) / n, ""  # as its dual has it
        case "nu_svr", _:
            value, source = float(np.sum(np.abs(c))) / (C * n), "sum of the coefficients"
        case "nu_svc", _:
            value, source = _share(found), "largest coefficients and their sum"
        case _:
            raise AuditRefusedError(
                f"{found.model} does not store the {name} of its training; pass {name}."
            )
    if value is None:
        raise AuditRefusedError(
            f"{found.model} does not store its {name}, and {name} cannot be inferred because no "
            f"two coefficients of one sign equal the largest; pass {name}."
        )
    return value, source


def _share(found: Expansions) -> float | None:
    """The nu of a nu-SVC, from the coefficients of a pair of classes in which some are equal."""
    for m, pair in enumerate(found.pairs):
        own = found.expansion(m)
        used = np.flatnonzero(own)
        largest = _bound(own[used] / found.weights[used])
        if largest is not None:
            n = float(np.sum(found.weights[np.isin(found.codes, pair)]))
            return float(np.sum(np.abs(own))) / (largest * n)
    return None


def _bound(coefficients: Dense) -> float | None:
    """The largest absolute coefficient, if at least two of one sign reach it; else None.

    (Two of different signs are equal in every model with two support vectors.)
    """
    values = np.ravel(coefficients)
    largest = float(np.max(np.abs(values), initial=0.0))
    same = 1e-12  # relative difference of equal coefficients that are printed with 16 digits
    at_bound = values[np.abs(values) >= largest * (1.0 - same)]
    several = max(int(np.sum(at_bound > 0.0)), int(np.sum(at_bound < 0.0))) > 1
    return largest if several and largest > 0.0 else None


def _as_stored(found: Expansions, model: LibsvmModel) -> Expansions:
    """Allow for the rounding of numbers that a LIBSVM file writes with few digits."""
    remarks = list[str]()
    if model.support_vectors is not None and model.total_sv:
        own, theirs = found.samples[found.rows], sp.csr_array(model.support_vectors)
        theirs.resize(own.shape)
        if abs(sp.csr_array(own) - theirs).max() > 0.0:
            vectors = theirs if is_sparse(found.samples) else theirs.toarray()
            found = replace(found, own_vectors=(found.rows, vectors))
            remarks.append(
                f"the file stores its support vectors with {model.sv_digits} digits; the audit "
                "uses the matching rows of X, and labels that this may change are undecided"
            )
    if model.parameter_digits <= FEW_DIGITS:
        remarks.append(
            f"the file stores gamma, coef0 and rho with {FEW_DIGITS} digits; the audit uses them "
            "as they are"
        )
    return replace(found, remarks=tuple(remarks))
