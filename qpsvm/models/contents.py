"""Content of a model file as arrays by name: JSON text and numbers."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.certificates.reduced import ReducedReport
from qpsvm.data.fingerprints import fingerprint
from qpsvm.data.training_sets import TrainingSet
from qpsvm.display import one_line
from qpsvm.exceptions import InvalidParameterError, ModelFileError
from qpsvm.io.npz import Arrays
from qpsvm.kernels import Precomputed
from qpsvm.machines.arguments import require_pair
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.models.machine import needed_rows, numbers_of
from qpsvm.models.plain import FORMULATIONS, from_value
from qpsvm.models.record import CSR_PARTS, digest, metadata_of, packed, written
from qpsvm.models.scaling import Scaling
from qpsvm.models.training import sample_weight_of, targets_of
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import is_sparse
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.solution import QPSolution
from qpsvm.tables import Preparation
from qpsvm.verification import KKTReport

LABEL_KINDS = "biufUO"
"""Labels as booleans, integers, numbers and texts (also as Python objects)."""


def contents_of(
    problem: Any,
    solution: object,
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
            arrays |= _matrix_parts("support_vectors", X)
    arrays |= _of_data(data, scaling)
    _require_numbers(arrays, solution)
    versions = {name: importlib.metadata.version(name) for name in ("qpsvm", "numpy", "scipy")}
    statistics = parts[0][1].qp.statistics
    entries = {
        "versions": versions | {"backend": f"{statistics.backend} {statistics.version}".strip()},
        "formulation": _formulation(whole),
        "form": problem.form,
        "indefinite": policies.pop() if policies else "error",
        "constraints": from_value(_constraints(parts), "constraints"),
        "kernel": kernel,
        "classes": _classes(getattr(data, "classes", None)),
        "n_samples": data.n_samples,
        "n_given": data.n_given,
        "n_features": data.n_features,
        "feature_names": feature_names or data.feature_names,
        "preparation": _preparation(preparation, data.n_features),
        "zero_based": zero_based,
        "fingerprint": fingerprint(data),
        "machines": [
            {"shapes": {k: v.shape for k, v in own.items()}, "program": _program(part.qp)}
            for own, (_, part) in zip(numbers, parts, strict=True)
        ],
        "certificate": {} if report is None else report.to_dict(),
        "estimator": estimator,
        "sha256": {name: digest(array) for name, array in arrays.items()},
    }
    return arrays | written(entries)


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
    fields = metadata_of(contents["metadata"])
    plain = _preparation(preparation, fields.count("n_features"))
    entries = fields.entries | {"estimator": estimator, "preparation": plain}
    return contents | written(entries)


def _program(qp: QPSolution) -> dict[str, object]:
    """The solver's status and statistics, without vectors."""
    return {"status": qp.status.value, "native_status": qp.native_status, **vars(qp.statistics)}


def _formulation(formulation: object) -> object:
    name = type(formulation).__name__
    if FORMULATIONS.get(name) is not type(formulation):
        raise ModelFileError(
            f"A model of the formulation {name} cannot be saved; {', '.join(FORMULATIONS)} can."
        )
    return from_value(formulation, "formulation")


def _preparation(preparation: Preparation | None, n_features: int) -> object:
    """The preparation as plain data; None without one."""
    if preparation is not None and preparation.n_features != n_features:
        raise InvalidParameterError(
            f"The preparation gives {preparation.n_features} features, and the model was trained "
            f"with {n_features}; pass that of the training data."
        )
    return from_value(preparation, "preparation")


def _classes(classes: Labels | None) -> object:
    """Labels as plain data with their dtype; None without any."""
    if classes is None:
        return None
    plain = all(isinstance(label, bool | int | float | str) for label in classes.tolist())
    if classes.dtype.kind not in LABEL_KINDS or not plain:
        raise ModelFileError(
            f"The labels {', '.join(map(repr, classes[:3].tolist()))} (dtype {classes.dtype}) "
            "cannot be saved; use texts, numbers or booleans."
        )
    return from_value(classes, "labels")


def _constraints(parts: list[tuple[Any, object]]) -> object:
    """The rows on (w, b), which must be those of all machines."""
    given = [getattr(part.model, "constraints", None) for part, _ in parts]
    first = given[0]
    for other in given[1:]:
        if first is not None and not _same_rows(first, other):
            raise ModelFileError(
                "The machines of this reduction have different constraints, because they depend "
                "on the samples (a fairness band); train a machine for each class or pair by "
                "itself and save these."
            )
    return first


def _same_rows(one: Any, other: Any) -> bool:
    if one.rows.shape != other.rows.shape or one.names != other.names:
        return False
    apart = one.rows - other.rows
    rows_differ = apart.count_nonzero() if is_sparse(apart) else np.any(apart)
    return not rows_differ and np.array_equal(one.right, other.right)


def _of_data(data: TrainingSet, scaling: Scaling | None) -> Arrays:
    arrays: Arrays = {}
    for name, value in (("targets", targets_of(data)), ("weights", sample_weight_of(data))):
        if value is not None:
            arrays[name] = value
    if scaling is not None:
        arrays["scaling_scale"] = scaling.scale
        if scaling.mean is not None:
            arrays["scaling_mean"] = scaling.mean
    return arrays


def _matrix_parts(name: str, matrix: Stored) -> Arrays:
    if not is_sparse(matrix):
        return {name: np.asarray(matrix)}
    parts = (
        matrix.data,
        matrix.indices.astype(np.int64),
        matrix.indptr.astype(np.int64),
        np.array(matrix.shape, dtype=np.int64),
    )
    return {f"{name}_{part}": value for part, value in zip(CSR_PARTS, parts, strict=True)}


def _require_numbers(arrays: Arrays, solution: Any) -> None:
    for name, array in arrays.items():
        fine = ~np.isnan(array) if name == "intercept_interval" else np.isfinite(array)
        if not fine.all():
            raise ModelFileError(
                f"The solution cannot be saved: its {name} holds NaN or infinite numbers (status "
                f"{solution.status.value!r}); solve the problem first."
            )
