"""A trained model as loaded from a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import scipy.sparse as sp

from qpsvm.data import BinaryTrainingSet
from qpsvm.data.fingerprints import fingerprint
from qpsvm.data.samples import as_samples, feature_names
from qpsvm.exceptions import ModelFileError
from qpsvm.formulations.family import Family
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.kkt_report import KKTReport
from qpsvm.machines import Interval, SVMProblem, SVMSolution
from qpsvm.machines.form import Form
from qpsvm.machines.offsets import best_offsets
from qpsvm.models.scaling import Scaling
from qpsvm.numerics.arguments import Labels, Samples, Targets
from qpsvm.numerics.arrays import Index, Matrix, Vector, row_blocks
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kkt_residuals import Check
from qpsvm.qp.solution import QPSolution
from qpsvm.verification import verify


@dataclass(frozen=True, eq=False)
class SavedModel:
    """The content of a model file: it can predict, and be verified with its training data.

    Attributes
    ----------
    formulation : object
        ``SoftMargin(C=1.0)`` ..., what the model was trained as.
    form : "primal" or "dual"
    kernel : Kernel
        With every parameter a number.
    classes : array of shape (2,)
        The two labels, (negative, positive), of the kind they had.
    n_samples, n_features : int
        Of the training data.
    feature_names : tuple of str or None
    alpha, slack : arrays of shape (n_samples,)
    expansion : array of shape (n_samples,) or None
        Only where it is not ``s_i alpha_i`` (kernel primal).
    coef : array of shape (n_features,) or None
    intercept : float
    support_vectors : array or CSR array, or None
        The training rows a kernel model needs to predict, in order.
    support_weights : array or None
        Their coefficients in the expansion.
    scaling : Scaling or None
        Applied to every X handed in.
    qp : QPSolution
        The program's own solution: a claim, as everything here.
    fingerprint : str
        Of the (scaled) training data.
    versions : mapping
        Of qpsvm, NumPy, SciPy and the solver when the model was saved.
    certificate : mapping
        What the verifier had found then.
    """

    formulation: Family
    form: Form
    kernel: Kernel
    classes: Labels
    n_samples: int
    n_features: int
    feature_names: tuple[str, ...] | None
    alpha: Vector
    slack: Vector
    expansion: Vector | None
    coef: Vector | None
    intercept: float
    support_vectors: Matrix | None
    support_weights: Vector | None
    scaling: Scaling | None
    qp: QPSolution
    fingerprint: str
    versions: Mapping[str, str] = field(default_factory=dict)
    certificate: Mapping[str, object] = field(default_factory=dict)

    # --- predicting ----------------------------------------------------------------------------

    def decision_function(self, X: Samples) -> Vector:
        """``f(x)`` for every row of X; positive means the second class.

        Raises
        ------
        ModelFileError
            X has another number of columns, or other column names, than the training data.
        InvalidDataError
            X is not a table of finite numbers.
        """
        samples = self._samples(X)
        if self.coef is not None:
            return np.asarray(samples @ self.coef) + self.intercept
        weights, centres = self.support_weights, self.support_vectors
        assert weights is not None  # the reader makes sure of it
        if isinstance(self.kernel, Precomputed):
            return np.asarray(samples @ weights) + self.intercept
        assert centres is not None  # and of this
        decision = np.empty(samples.shape[0])
        for rows in row_blocks(samples.shape[0], max(1, len(weights))):
            decision[rows] = self.kernel(samples[rows], centres) @ weights
        return decision + self.intercept

    def predict(self, X: Samples) -> Labels:
        """Predict the label of every row of X, in the type of the training labels."""
        return self.classes[(self.decision_function(X) > 0).astype(np.intp)]

    # --- verifying -----------------------------------------------------------------------------

    def problem(self, X: Samples, y: Targets | None) -> SVMProblem:
        """Rebuild the training problem from the training data.

        Raises
        ------
        ModelFileError
            The data are not those the model was trained on: another size, other labels, other
            values.
        InvalidDataError
            They are no training data at all.
        """
        samples = self._samples(X)
        if samples.shape[0] != self.n_samples:
            raise ModelFileError(
                f"The model was trained on {self.n_samples} samples, the data have "
                f"{samples.shape[0]}; pass the training data."
            )
        build = self.formulation.primal if self.form == "primal" else self.formulation.dual
        problem: SVMProblem = build(samples, y, kernel=self.kernel)
        data = cast(BinaryTrainingSet, problem.data)  # what every family in a file is about
        found, expected = data.classes.tolist(), self.classes.tolist()
        if found != expected:
            raise ModelFileError(
                f"The model tells {expected[0]!r} from {expected[1]!r}, the data have the labels "
                f"{found[0]!r} and {found[1]!r}; pass the training data."
            )
        if fingerprint(data) != self.fingerprint:
            raise ModelFileError(
                "The data have the size and the labels of the training data, but other values, "
                "weights or another order (their SHA-256 differs); pass the training data as it "
                "was."
            )
        return problem

    def solution(self, problem: SVMProblem) -> SVMSolution:
        """Build the solution that the file claims, for ``qpsvm.verify``.

        Box, kernel, data and intercept interval are the problem's own; alpha, coef, expansion,
        intercept, slack and the program's vectors are the file's.

        Raises
        ------
        ModelFileError
            The problem has another number of samples.
        """
        if problem.data.n_samples != self.n_samples:
            raise ModelFileError(
                f"The model has {self.n_samples} samples, the problem {problem.data.n_samples}; "
                "build it with model.problem(X, y)."
            )
        expansion = self.expansion
        if expansion is None and (self.form == "dual" or self.coef is None):
            expansion = problem.model.expansion(self.alpha)
        solution = SVMSolution(
            alpha=self.alpha,
            expansion=expansion,
            coef=self.coef,
            intercept=self.intercept,
            intercept_interval=Interval(self.intercept, self.intercept),
            width=0.0,
            slack=self.slack,
            constraint_multipliers=np.zeros(0),
            conditions=problem.model.conditions,
            kernel=problem.kernel,
            data=problem.data,
            qp=self.qp,
        )
        scores = problem.model.decision_values(solution).scores
        interval, _ = best_offsets(problem.model, scores, self.intercept, 0.0)
        if interval.upper > interval.lower:
            return solution.replace(intercept_interval=interval)
        return solution  # one point, which is the intercept up to rounding if it is right

    def verify(self, X: Samples, y: Targets | None, *, eps: float = 1e-8) -> KKTReport:
        """Verify the model on its training data, and that it predicts with verified numbers.

        The rows and coefficients a kernel model predicts with are copies in the file: the check
        ``predictions`` asks that they are those of the training data and of the verified solution,
        to the last bit (scaled 0: they are, 1: they are not).

        Raises
        ------
        ModelFileError, InvalidDataError
            As ``problem``.
        """
        problem = self.problem(X, y)
        solution = self.solution(problem)
        report = verify(problem, solution, eps=eps)
        apart = self._copies_differ(problem, solution)
        check = Check("predictions", apart, 0.0 if apart == 0.0 else 1.0, report.eps)
        return dataclasses.replace(report, checks=(*report.checks, check))

    def _copies_differ(self, problem: SVMProblem, solution: SVMSolution) -> float:
        """Largest difference between numbers that the file stores twice."""
        if self.coef is not None or solution.expansion is None or self.support_weights is None:
            return 0.0  # predicts with coef, which is what was verified
        if self.support_vectors is None:
            return _difference(self.support_weights, solution.expansion)
        rows = support_rows(solution.expansion)
        weights = _difference(self.support_weights, solution.expansion[rows])
        return max(weights, _difference(self.support_vectors, problem.data.X[rows]))

    # --- small pieces --------------------------------------------------------------------------

    def _samples(self, X: Samples) -> Matrix:
        samples = as_samples(X)
        if samples.shape[1] != self.n_features:
            raise ModelFileError(
                f"The model was trained on {self.n_features} columns, the data have "
                f"{samples.shape[1]}; pass the same columns."
            )
        names, trained = feature_names(X), self.feature_names
        if names is not None and trained is not None and names != trained:
            i = next(i for i, (a, b) in enumerate(zip(names, trained, strict=True)) if a != b)
            raise ModelFileError(
                f"Column {i} of the data is {names[i]!r}, the model was trained with "
                f"{trained[i]!r} there; pass the columns in that order."
            )
        return samples if self.scaling is None else self.scaling(samples)

    def __repr__(self) -> str:
        return (
            f"SavedModel({self.formulation!r}, {self.form}, {self.kernel} kernel, "
            f"{self.n_samples} samples x {self.n_features} features)"
        )


def support_rows(expansion: Vector) -> Index:
    """Rows with a nonzero coefficient, all that a prediction needs."""
    return np.flatnonzero(expansion)


def _difference(given: Matrix, expected: Stored) -> float:
    """Largest absolute difference; infinite for different shapes."""
    if given.shape != expected.shape:
        return np.inf
    if sp.issparse(given) or sp.issparse(expected):
        apart = (sp.csr_array(given) - sp.csr_array(expected)).data
    else:
        apart = given - expected
    return float(np.max(np.abs(apart), initial=0.0))
