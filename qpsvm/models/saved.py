"""A trained model as loaded from a file, and the scaling that is stored with it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.data.fingerprints import fingerprint
from qpsvm.data.samples import as_samples, feature_names
from qpsvm.display import short_repr
from qpsvm.exceptions import ModelFileError
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.setup import Form
from qpsvm.models.machine import Numbers, SavedMachine, solution_of, targets_of
from qpsvm.numerics.arguments import Labels, Samples, Targets, explains_constructor
from qpsvm.numerics.arrays import Array, Dense, Matrix, Vector, is_sparse
from qpsvm.numerics.precision import TINY
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kkt_residuals import Check
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.tables import Preparation
from qpsvm.verification import KKTReport, ReducedReport, verify


@explains_constructor
@short_repr
@dataclass(frozen=True, eq=False)
class Scaling:
    """``(x - mean) / scale``, column by column.

    Attributes
    ----------
    mean : array of shape (d,) or None
        None for sparse data, which are scaled and not centred: centring would fill them. (Linear
        machines with a free intercept and RBF machines are the same either way.)
    scale : array of shape (d,)
        Positive; 1 for a constant column.
    """

    mean: Vector | None
    scale: Vector

    @classmethod
    def fit(cls, X: Samples) -> Scaling:
        """Mean and standard deviation (divided by n) of every column.

        Raises
        ------
        InvalidDataError
            X is not a table of finite numbers.
        """
        from sklearn.preprocessing import StandardScaler

        samples = as_samples(X)
        fitted = StandardScaler(with_mean=not is_sparse(samples)).fit(samples)
        return cls(None if is_sparse(samples) else fitted.mean_, fitted.scale_)

    def __call__(self, X: Samples) -> Matrix:
        """The scaled samples, as an array or CSR array."""
        samples = as_samples(X)
        if is_sparse(samples):
            scaled = samples.copy()
            scaled.data = samples.data / self.scale[samples.indices]
            return scaled
        return (samples if self.mean is None else samples - self.mean) / self.scale


@dataclass(frozen=True, eq=False)
class SavedModel:
    """The content of a model file: it can predict, and be verified with its training data.

    Attributes
    ----------
    formulation : object
        ``SoftMargin(C=1.0)`` ..., what the model was trained as.
    form : "primal" or "dual"
    indefinite : {"error", "clip", "flip", "shift"}
        How an indefinite kernel was repaired; "error" if it was not.
    constraints : LinearConstraints or None
        The rows on (w, b).
    kernel : Kernel
        With every parameter a number.
    classes : array of shape (k,) or None
        The labels of a classifier, sorted, of the kind they had.
    n_samples, n_given, n_features : int
        Training samples, the caller's rows (with those of weight zero), columns.
    feature_names : tuple of str or None
    sample_weight : array of shape (n_given,) or None
    targets : array of shape (n_samples,) or None
        Targets, or places of the labels among ``classes``.
    machine : SavedMachine or ReducedSolution
        The machine that predicts.
    numbers : tuple of mapping
        The stored arrays of every machine.
    programs : tuple of QPSolution
        Status and statistics of every machine's program: a claim, as everything here.
    scaling : Scaling or None
        Applied to every X handed in.
    preparation : Preparation or None
        The way from the columns of a table to X: ``qpsvm.datasets.load(path, preparation=...)``.
    fingerprint : str
        Hash of the (scaled) training data.
    versions : mapping
        Versions of qpsvm, NumPy, SciPy and the solver when the model was saved.
    certificate : mapping
        The report of the verifier when the model was saved, a claim; empty if there was none.
    estimator : mapping or None
        The estimator that was saved, as plain data.
    zero_based : bool or None
        How the LIBSVM file of the training data counts its features: from 0, or from 1. None for
        other data.
    """

    formulation: Any
    form: Form
    indefinite: Indefinite
    constraints: Any
    kernel: Kernel
    classes: Labels | None
    n_samples: int
    n_given: int
    n_features: int
    feature_names: tuple[str, ...] | None
    sample_weight: Vector | None
    targets: Labels | None
    machine: SavedMachine | ReducedSolution
    numbers: tuple[Numbers, ...]
    programs: tuple[QPSolution, ...]
    scaling: Scaling | None
    fingerprint: str
    versions: Mapping[str, str] = field(default_factory=dict)
    certificate: Mapping[str, object] = field(default_factory=dict)
    estimator: Mapping[str, object] | None = None
    preparation: Preparation | None = None
    zero_based: bool | None = None

    # --- predicting ----------------------------------------------------------------------------

    def decision_function(self, X: Samples) -> Dense:
        """Decision values of every row of X, shape (m,) or (m, k), bit for bit as before saving.

        Raises
        ------
        ModelFileError
            X has another number of columns, or other column names, than the training data.
        InvalidDataError
            X is not a table of finite numbers.
        """
        return self.machine.decision_function(self._samples(X))

    def predict(self, X: Samples) -> Array:
        """Predict a label or number for every row of X, in the type of the training labels."""
        return self.machine.predict(self._samples(X))

    def score(self, X: Samples, y: Targets) -> float:
        """Score the predictions for X against y, as the solution did."""
        return self.machine.score(self._samples(X), y)

    # --- verifying -----------------------------------------------------------------------------

    def problem(
        self, X: Samples, y: Targets | None = None, *, groups: Targets | None = None
    ) -> Any:
        """Rebuild the training problem from the training data.

        Parameters
        ----------
        X, y
            The training data. Sample weights and constraints are in the file.
        groups : array of shape (n_given,), optional
            Query groups of a ``Ranking``.

        Returns
        -------
        SVMProblem, JointProblem or ReducedProblem

        Raises
        ------
        ModelFileError
            The data are not those the model was trained on: another size, other labels, other
            values.
        InvalidDataError
            They are no training data at all.
        """
        samples: Stored = self._samples(X)
        n_rows = samples.shape[0] if hasattr(samples, "shape") else len(samples)
        if n_rows != self.n_given:
            raise ModelFileError(
                f"The model was trained on {self.n_given} samples, the data have "
                f"{n_rows}; pass the training data."
            )
        options: dict[str, object] = {"constraints": self.constraints, "groups": groups}
        options = {name: value for name, value in options.items() if value is not None}
        problem = getattr(self.formulation, self.form)(
            samples,
            y,
            kernel=self.kernel,
            sample_weight=self.sample_weight,
            indefinite=self.indefinite,
            **options,
        )
        self._require_same(problem.data)
        return problem

    def _require_same(self, data: Any) -> None:
        """Refuse training data with other labels or values."""
        if self.classes is not None and data.classes.tolist() != self.classes.tolist():
            found, expected = (
                " and ".join(map(repr, labels.tolist())) for labels in (data.classes, self.classes)
            )
            raise ModelFileError(
                f"The model tells {expected} apart, the data have the labels {found}; pass the "
                "training data."
            )
        if fingerprint(data) != self.fingerprint:
            raise ModelFileError(
                "The data have the size and the labels of the training data, but other values, "
                "weights or another order (their SHA-256 differs); pass the training data as it "
                "was."
            )

    def solution(self, problem: Any) -> Any:
        """Build the solution that the file claims, for ``qpsvm.verify``.

        Box, kernel and data are the problem's own; every number is the file's, but its status is
        unknown: ``verified`` gives it one.

        Returns
        -------
        SVMSolution, JointSolution or ReducedSolution

        Raises
        ------
        ModelFileError
            The problem has another number of samples or machines.
        """
        parts = problem.problems if isinstance(problem, ReducedProblem) else (problem,)
        if problem.data.n_samples != self.n_samples or len(parts) != len(self.numbers):
            raise ModelFileError(
                f"The model has {self.n_samples} samples and {len(self.numbers)} machines, the "
                f"problem {problem.data.n_samples} and {len(parts)}; build it with "
                "model.problem(X, y)."
            )
        solutions = tuple(map(solution_of, parts, self.numbers, self.programs))
        if not isinstance(problem, ReducedProblem):
            return solutions[0]
        return ReducedSolution(solutions, problem.data, problem.reduction)  # type: ignore[arg-type]

    def verify(
        self,
        X: Samples,
        y: Targets | None = None,
        *,
        groups: Targets | None = None,
        eps: float = 1e-8,
    ) -> KKTReport | ReducedReport:
        """Verify the model on its training data, and that it predicts with verified numbers.

        What the file stores twice, for predictions without the training data, is held against
        them: the check ``predictions`` asks that rows, targets and support vectors are those of
        the training data and of the verified solution, to the last bit (scaled 0: they are, 1:
        they are not).

        Returns
        -------
        KKTReport or ReducedReport

        Raises
        ------
        ModelFileError, InvalidDataError
            As ``problem``.
        """
        return self.verified(self.problem(X, y, groups=groups), eps)[1]

    def verified(self, problem: Any, eps: float) -> tuple[Any, KKTReport | ReducedReport]:
        """Build the solution that the file claims, with a status by its report; return both.

        Raises
        ------
        ModelFileError
            As ``solution``.
        """
        solution = self.solution(problem)
        report: KKTReport | ReducedReport = verify(problem, solution, eps=eps)
        check = predictions_check(self.machine, self.targets, problem, solution, report.eps)
        if isinstance(report, KKTReport):
            report = dataclasses.replace(report, checks=(*report.checks, check))
            return _with_status(solution, report), report
        if not check.passed:
            note = "the file predicts with other numbers than those it states as its solution"
            report = dataclasses.replace(report, notes=(*report.notes, note))
        if report.reports:
            parts = tuple(map(_with_status, solution.solutions, report.reports))
            solution = dataclasses.replace(solution, solutions=parts)
        return solution, report

    # --- small pieces --------------------------------------------------------------------------

    def _samples(self, X: Samples) -> Samples:
        """X itself, if its columns are those of the training data, or X scaled."""
        samples: Matrix = as_samples(X)
        widths = {self.n_features}
        if isinstance(self.kernel, Precomputed):
            widths.add(self.n_given)
        if samples.shape[1] not in widths:
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
        return X if self.scaling is None else self.scaling(samples)

    def __repr__(self) -> str:
        return (
            f"SavedModel({self.formulation!r}, {self.form}, {self.kernel} kernel, "
            f"{self.n_samples} samples x {self.n_features} features)"
        )


def _with_status(solution: Any, report: KKTReport) -> Any:
    """The solution with the status that its report gives it."""
    status = Status.OPTIMAL if report.passed else Status.INACCURATE
    return solution.replace(qp=solution.qp.replace(status=status))


# --- the prediction data beside the verified solution ---------------------------------------------


def predictions_check(
    machine: SavedMachine | ReducedSolution,
    targets: Array | None,
    problem: Any,
    solution: Any,
    eps: float,
) -> Check:
    """Check that a model predicts with the samples and coefficients of a verified solution.

    Scaled 0 where they are the same to the last bit, 1 where they are not. The coefficients of a
    repaired kernel follow from eigenvectors, which may come out with other last bits: there it is
    the relative difference.
    """
    own = targets_of(problem.data)
    same = own is targets if own is None or targets is None else np.array_equal(own, targets)
    machines: Any = getattr(machine, "solutions", (machine,))
    solutions = getattr(solution, "solutions", (solution,))
    delta = 0.0
    for saved, verified in zip(machines, solutions, strict=True):
        same = same and np.array_equal(saved.support, verified.support)
        same = same and _has_samples_of(verified, saved)
        if same and verified.repair is not None and verified.expansion is not None:
            delta = float(np.maximum(delta, _coefficients_differ(saved, verified)))  # NaN stays
    if not same:
        return Check("predictions", math.inf, 1.0, eps)
    return Check("predictions", delta, delta, eps)


def _has_samples_of(solution: Any, machine: SavedMachine) -> bool:
    """Return whether a machine's samples are the same rows of the training data."""
    kept, rows = solution.data.kept, machine.data.kept
    if isinstance(machine.kernel, Precomputed):
        return np.array_equal(rows, kept)
    if not np.isin(rows, kept).all():
        return False
    stored, given = machine.data.X, solution.data.X[np.searchsorted(kept, rows)]
    if stored.shape != given.shape:
        return False
    if sp.issparse(stored) or sp.issparse(given):
        delta = (sp.csr_array(stored) - sp.csr_array(given)).data
    else:
        delta = np.asarray(stored) - np.asarray(given)
    return not np.any(delta)  # NaN is true


def _coefficients_differ(machine: SavedMachine, solution: Any) -> float:
    whole = solution.repair.coefficients(solution.expansion)
    own = whole[np.searchsorted(solution.data.kept, machine.data.kept)]
    if machine.expansion is None or own.shape != machine.expansion.shape:
        return math.inf
    size = max(float(np.max(np.abs(whole), initial=0.0)), TINY)
    return float(np.max(np.abs(own - machine.expansion), initial=0.0)) / size
