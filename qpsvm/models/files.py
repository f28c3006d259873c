"""The model file: an uncompressed NPZ of arrays of numbers and one JSON text.

``metadata`` holds the JSON as bytes; every other member is an array. Nothing in it is code, nothing
is unpickled, and nothing is believed: ``load`` checks every checksum, size, kind and name,
``SavedModel.verify`` the values.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.data.fingerprints import fingerprint
from qpsvm.display import one_line
from qpsvm.exceptions import InvalidParameterError, ModelFileError
from qpsvm.io.members import matrix_members
from qpsvm.io.npz import Arrays
from qpsvm.kernels import Precomputed
from qpsvm.machines.arguments import require_pair
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.models.machine import needed_rows, numbers_of, sample_weight_of, targets_of
from qpsvm.models.plain import from_value
from qpsvm.models.reading import model_of
from qpsvm.models.record import MODEL, count, digest, not_finite, packed, sealed
from qpsvm.models.saved import SavedModel, Scaling
from qpsvm.numerics.arguments import explains_calls, require_kind, require_path
from qpsvm.qp.solution import QPSolution
from qpsvm.tables import Preparation
from qpsvm.verification import KKTReport, ReducedReport
from qpsvm.verification.verdicts import is_about


@explains_calls
def save(
    path: str | os.PathLike[str],
    problem: object,
    solution: object,
    report: object = None,
    *,
    scaling: Scaling | None = None,
    feature_names: tuple[str, ...] | None = None,
    preparation: Preparation | None = None,
    zero_based: bool | None = None,
) -> None:
    """Write a model, completely or not at all.

    Parameters
    ----------
    path : path
        By custom ``something.npz``; an existing file is replaced.
    problem : SVMProblem, JointProblem or ReducedProblem
        The problem that was solved.
    solution : SVMSolution, JointSolution or ReducedSolution
        Its solution.
    report : KKTReport or ReducedReport, optional
        The verdict of ``qpsvm.verify``, to be kept with the model.
    scaling : Scaling, optional
        The scaling that was applied to the data before ``problem`` was built.
    feature_names : tuple of str, optional
        By default those of the problem's data.
    preparation : Preparation, optional
        The way from the columns of a table to the features: ``DataFile.preparation``.
    zero_based : bool, optional
        How the LIBSVM file of the training data counts its features, ``DataFile.zero_based``.

    Raises
    ------
    ModelFileError
        A kernel, parameter or label that cannot be written as plain data; NaN; a path that cannot
        be written.
    InvalidDataError
        The solution belongs to another problem.
    InvalidParameterError
        Arguments of the wrong kind.

    Examples
    --------
    >>> import qpsvm, tempfile
    >>> X, y = [[0.0], [1.0], [3.0]], ["a", "a", "b"]
    >>> problem = qpsvm.SoftMargin(C=10.0).dual(X, y, sample_weight=[1.0, 2.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(f"{folder}/model.npz", problem, qpsvm.solve(problem))
    ...     model = load(f"{folder}/model.npz")
    >>> model.predict([[4.0]]), model.verify(X, y).passed
    (array(['b'], dtype='<U1'), True)
    """
    require_path(path)
    require_kind(scaling, Scaling | None, "scaling", "Scaling.fit(X), or None")
    require_kind(preparation, Preparation | None, "preparation", "DataFile.preparation, or None")
    require_kind(feature_names, list | tuple | None, "feature_names", "a list of names, or None")
    contents = contents_of(
        problem,
        solution,
        report,
        scaling=scaling,
        feature_names=feature_names,
        preparation=preparation,
        zero_based=zero_based,
    )
    MODEL.write(path, contents)


@explains_calls
def load(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model file, trusting nothing in it.

    Parameters
    ----------
    path : path
        Written by ``save``, or by an estimator: ``qpsvm.load`` returns the estimator itself.

    Returns
    -------
    SavedModel
        The machine with its formulation and scaling, and what was verified when it was written.

    Raises
    ------
    ModelFileError
        Not a model file, damaged, changed, of another version, or holding anything but what
        ``save`` writes.

    Examples
    --------
    >>> import qpsvm, tempfile
    >>> problem = qpsvm.SoftMargin().dual([[0.0], [2.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qpsvm.models.save(f"{folder}/model.npz", problem, qpsvm.solve(problem))
    ...     machine = qpsvm.models.load(f"{folder}/model.npz")
    >>> machine.predict([[1.9]])
    array(['b'], dtype='<U1')
    """
    return model_in(path, MODEL.read(path))


def model_in(path: str | os.PathLike[str], arrays: Arrays) -> SavedModel:
    """Build the model that the arrays of a file describe.

    Raises
    ------
    ModelFileError
        Anything but what ``save`` writes; the message has the path.
    """
    try:
        return model_of(arrays)
    except ModelFileError as error:
        raise unusable(path, error) from error


def unusable(path: str | os.PathLike[str], reason: ModelFileError) -> ModelFileError:
    """Build the error for a file with a wrong content."""
    return ModelFileError(f"{os.fspath(path)!r} is not a usable qpsvm model: {reason}")


# --- what is written ------------------------------------------------------------------------------


def contents_of(
    problem: Any,
    solution: Any,
    report: Any = None,
    *,
    scaling: Scaling | None = None,
    feature_names: tuple[str, ...] | None = None,
    preparation: Preparation | None = None,
    zero_based: bool | None = None,
    estimator: Mapping[str, object] | None = None,
    support: bool = False,
) -> Arrays:
    """Collect the arrays of a model file.

    Parameters
    ----------
    problem, solution, report, scaling, feature_names, preparation, zero_based
        As for ``save``.
    estimator : mapping, optional
        The estimator that the model belongs to, as plain data.
    support : bool
        Keep the support vectors also where predictions do not need them.

    Raises
    ------
    ModelFileError, InvalidDataError, InvalidParameterError
        As ``save``.
    """
    require_pair("models.save", problem, solution)
    if report is not None and type(report) not in (KKTReport, ReducedReport):
        raise InvalidParameterError(
            f"models.save takes a KKTReport as report, got {type(report).__name__}; pass what "
            "qpsvm.verify(problem, solution) returned, or nothing."
        )
    is_reduced = isinstance(problem, ReducedProblem)
    parts: list[tuple[Any, Any]]
    parts = problem.parts(solution) if is_reduced else [(problem, solution)]
    first, data = parts[0][0], problem.data
    whole = problem.reduction if is_reduced else problem.formulation
    policies = {p.kernel_repair.policy for p, _ in parts if p.kernel_repair is not None}
    kernel = from_value(first.kernel, "kernel")
    for part, own in parts:
        part.model.require_own(own)
    if report is not None and report.problem != one_line(problem):
        raise InvalidParameterError(
            f"report is about {report.problem}, and the problem is {one_line(problem)}; pass what "
            "qpsvm.verify(problem, solution) returned, or nothing."
        )
    numbers = [numbers_of(own) for _, own in parts]
    arrays = packed(numbers)
    if not isinstance(first.kernel, Precomputed):
        rows = np.unique(np.concatenate([needed_rows(own, support=support) for own in numbers]))
        arrays["rows"] = rows
        if len(rows):
            X = data.X[np.searchsorted(data.kept, rows)]
            arrays |= matrix_members("support_vectors", X, np.int64)
    others = {
        "targets": targets_of(data),
        "weights": sample_weight_of(data),
        "scaling_mean": getattr(scaling, "mean", None),
        "scaling_scale": getattr(scaling, "scale", None),
    }
    arrays |= {name: value for name, value in others.items() if value is not None}
    wrong = not_finite(arrays)
    if wrong is not None:
        raise ModelFileError(
            f"The solution cannot be saved: its {wrong} holds NaN or infinite numbers (status "
            f"{solution.status.value!r}); solve the problem first."
        )
    own_reports = getattr(report, "reports", (report,))
    for known, (part, own) in zip(own_reports, parts, strict=False):
        if known is not None and not is_about(known.certificate, part, own):
            raise InvalidParameterError(
                "report is about other samples or another solution than these; pass what "
                "qpsvm.verify(problem, solution) returned, or nothing."
            )
    versions = {name: importlib.metadata.version(name) for name in ("qpsvm", "numpy", "scipy")}
    statistics = parts[0][1].qp.statistics
    entries = {
        "versions": versions | {"backend": f"{statistics.backend} {statistics.version}".strip()},
        "formulation": from_value(whole, "formulation"),
        "form": problem.form,
        "indefinite": policies.pop() if policies else "error",
        "constraints": _constraints(parts),
        "kernel": kernel,
        "classes": from_value(getattr(data, "classes", None), "labels"),
        "n_samples": data.n_samples,
        "n_given": data.n_given,
        "n_features": data.n_features,
        "feature_names": feature_names or data.feature_names,
        "preparation": _preparation(preparation, data.n_features),
        "zero_based": zero_based,
        "fingerprint": fingerprint(data),
        "machines": [
            {"shapes": {k: v.shape for k, v in own.items()}, "program": _claims(part.qp)}
            for own, (_, part) in zip(numbers, parts, strict=True)
        ],
        "certificate": {} if report is None else report.to_dict(),
        "estimator": estimator,
        "sha256": {name: digest(array) for name, array in arrays.items()},
    }
    return arrays | sealed(MODEL.metadata(entries))


def with_estimator(
    contents: Arrays, estimator: Mapping[str, object], preparation: Preparation | None
) -> Arrays:
    """Replace the description of the estimator and the preparation in a file's arrays.

    Raises
    ------
    ModelFileError
        Their metadata are none.
    InvalidParameterError
        A preparation with another number of features.
    """
    data = MODEL.entries_of(contents)
    plain = _preparation(preparation, count(data, "n_features"))
    entries = data | {"estimator": estimator, "preparation": plain}
    return contents | sealed(MODEL.metadata(entries))


def _claims(qp: QPSolution) -> dict[str, object]:
    """The solver's status and statistics, without vectors."""
    return {"status": qp.status.value, "native_status": qp.native_status, **vars(qp.statistics)}


def _preparation(preparation: Preparation | None, n_features: int) -> object:
    """The preparation as plain data; None without one."""
    if preparation is not None and preparation.n_features != n_features:
        raise InvalidParameterError(
            f"The preparation gives {preparation.n_features} features, and the model was trained "
            f"with {n_features}; pass that of the training data."
        )
    return from_value(preparation, "preparation")


def _constraints(parts: list[tuple[Any, object]]) -> object:
    """The rows on (w, b) as plain data, which must be those of all machines."""
    first, *others = (
        from_value(getattr(part.model, "constraints", None), "constraints") for part, _ in parts
    )
    if any(other != first for other in others):
        raise ModelFileError(
            "The machines of this reduction have different constraints, because they depend "
            "on the samples (a fairness band); train a machine for each class or pair by "
            "itself and save these."
        )
    return first
