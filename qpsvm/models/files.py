"""The model file: an uncompressed NPZ of float64 arrays and one JSON text.

``metadata`` holds the JSON as bytes; every other member is a vector or matrix of numbers. Nothing
in it is code, nothing is unpickled, and nothing is believed: ``load`` checks every size, kind and
name, ``SavedModel.verify`` the values.
"""

from __future__ import annotations

import importlib.metadata
import os

import numpy as np

from qpsvm.data import BinaryTrainingSet
from qpsvm.data.fingerprints import fingerprint
from qpsvm.exceptions import InvalidParameterError, ModelFileError
from qpsvm.files import atomic, json_text, npz
from qpsvm.files.npz import Arrays
from qpsvm.kernels import Linear, Precomputed
from qpsvm.kkt_report import KKTReport
from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.machines.arguments import require_pair
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.models import metadata
from qpsvm.models.array_reader import CSR_PARTS, ArrayReader
from qpsvm.models.saved import SavedModel, support_rows
from qpsvm.models.scaling import Scaling
from qpsvm.numerics.arrays import default_memory_limit, is_sparse
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.solution import QPSolution

_QP_VECTORS = ("x", "z", "y", "z_lower", "z_upper")


# --- writing ---------------------------------------------------------------------------------


def save(
    path: str | os.PathLike[str],
    problem: SVMProblem,
    solution: SVMSolution,
    report: KKTReport,
    *,
    scaling: Scaling | None = None,
    feature_names: tuple[str, ...] | None = None,
) -> None:
    """Write a model, completely or not at all.

    Parameters
    ----------
    path : path
        By custom ``something.npz``; an existing file is replaced.
    problem, solution, report : SVMProblem, SVMSolution, KKTReport
        What was solved, the answer, and what ``qpsvm.verify`` said.
    scaling : Scaling, optional
        What was applied to the data before ``problem`` was built.
    feature_names : tuple of str, optional
        By default those of the problem's data.

    Raises
    ------
    ModelFileError
        Several classes as several machines (the message says how to save these); a kernel,
        parameter or label that cannot be written as plain data; NaN; a path that cannot be
        written.
    InvalidDataError
        The solution belongs to another problem.
    InvalidParameterError
        Arguments of the wrong kind.
    """
    given: object = problem  # whatever its type says
    if isinstance(given, ReducedProblem):
        raise _of_several_machines(given)
    require_pair("models.save", problem, solution)
    if type(report) is not KKTReport:
        raise InvalidParameterError(
            f"models.save takes a KKTReport as report, got {type(report).__name__}; pass what "
            "qpsvm.verify(problem, solution) returned."
        )
    data, kernel = _plain_training_set(problem), metadata.from_kernel(problem.kernel)
    problem.model.require_own(solution)
    arrays = _arrays(problem, solution, scaling)
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ModelFileError(
                f"The solution cannot be saved: its {name} holds NaN or infinite numbers (status "
                f"{solution.status.value!r}); solve the problem first."
            )
    text = json_text.dumps(
        {
            "format": metadata.FORMAT,
            "format_version": metadata.FORMAT_VERSION,
            "versions": _versions(solution),
            "formulation": metadata.from_formulation(problem.formulation),
            "form": problem.form,
            "kernel": kernel,
            "classes": metadata.from_classes(data.classes),
            "n_samples": data.n_samples,
            "n_features": data.n_features,
            "feature_names": feature_names or data.feature_names,
            "fingerprint": fingerprint(data),
            "qp": metadata.from_qp(solution.qp),
            "certificate": report.to_dict(),
        }
    )
    arrays["metadata"] = np.frombuffer(text.encode(), dtype=np.uint8)
    try:
        with atomic.replacing(path) as stream:
            npz.write(stream, arrays)
    except OSError as error:
        raise ModelFileError(
            f"Cannot write the model to {os.fspath(path)!r}: {error.strerror or error}; choose "
            "another path."
        ) from error


def _of_several_machines(problem: ReducedProblem) -> ModelFileError:
    """Build the error for a reduction, which must be saved machine by machine."""
    of_all_rows = all(part.data.n_given == part.data.n_samples for part in problem.problems)
    remedy = (
        "save its machines, each in a file of its own: for i, (part, machine) in "
        "enumerate(problem.parts(solution)): qpsvm.models.save(f'{i}.npz', part, machine, "
        "qpsvm.verify(part, machine))"
        if of_all_rows
        else "train a machine on the rows of every pair by itself and save these, or use "
        "OneVsRest, whose machines can be saved as they are"
    )
    return ModelFileError(
        f"A model of {problem!r} cannot be saved in one file, which holds one two-class machine; "
        f"{remedy}."
    )


def _plain_training_set(problem: SVMProblem) -> BinaryTrainingSet:
    """The training data, if the problem can be rebuilt from X and y alone; else raise."""
    data = problem.data
    if not isinstance(problem, SVMProblem) or not isinstance(data, BinaryTrainingSet):
        raise ModelFileError(
            f"A model of {problem!r} cannot be saved; {', '.join(metadata.FORMULATIONS)} can."
        )
    extras = {
        "sample weights": bool((data.weights != 1.0).any()) or data.n_given != data.n_samples,
        "constraints": problem.model.constraints is not None,
        "a repaired kernel": problem.kernel_repair is not None,
    }
    for name, present in extras.items():
        if present:
            raise ModelFileError(
                f"A model with {name} cannot be saved: a file says how to build its problem from "
                "X and y alone."
            )
    return data


def _arrays(problem: SVMProblem, solution: SVMSolution, scaling: Scaling | None) -> Arrays:
    arrays: Arrays = {
        "alpha": solution.alpha,
        "slack": solution.slack,
        "intercept": np.array([solution.intercept]),
    }
    if solution.coef is not None:
        arrays["coef"] = solution.coef
    elif solution.expansion is not None:
        weights = solution.expansion
        if not np.array_equal(weights, problem.model.expansion(solution.alpha)):
            arrays["expansion"] = weights
        if not isinstance(problem.kernel, Precomputed):
            rows = support_rows(weights)
            weights = weights[rows]
            arrays |= _matrix_parts("support_vectors", problem.data.X[rows])
        arrays["support_weights"] = weights
    else:
        raise ModelFileError(
            "The solution has neither coef nor expansion: there is nothing to save."
        )
    if scaling is not None:
        arrays["scaling_scale"] = scaling.scale
        if scaling.mean is not None:
            arrays["scaling_mean"] = scaling.mean
    for name in _QP_VECTORS:
        vector = getattr(solution.qp, name)
        if vector is not None:
            arrays[f"qp_{name}"] = vector
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


def _versions(solution: SVMSolution) -> dict[str, str]:
    statistics = solution.qp.statistics
    versions = {name: importlib.metadata.version(name) for name in ("qpsvm", "numpy", "scipy")}
    return versions | {"backend": f"{statistics.backend} {statistics.version}".strip()}


# --- reading ---------------------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model file, trusting nothing in it.

    Raises
    ------
    ModelFileError
        Not a model file, damaged, made by a newer version, or holding anything but what ``save``
        writes.
    """
    limit = default_memory_limit()
    arrays = npz.read(path, ModelFileError, limit_bytes=limit, compressed=False)
    try:
        return _model(arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} is not a usable qpsvm model: {error}") from error


def _model(arrays: Arrays) -> SavedModel:
    if "metadata" not in arrays:
        raise ModelFileError("it has no metadata; write models with qpsvm.models.save.")
    fields = metadata.read(arrays.pop("metadata"))
    reader = ArrayReader(arrays)
    kernel = metadata.to_kernel(fields.mapping("kernel"))
    n, d = fields.count("n_samples"), fields.count("n_features")
    centres, weights = None, None
    coef = reader.vector("coef", d) if isinstance(kernel, Linear) else None
    if coef is None:
        centres = None if isinstance(kernel, Precomputed) else reader.matrix("support_vectors", d)
        weights = reader.vector("support_weights", n if centres is None else centres.shape[0])
    mean = reader.vector("scaling_mean", d, optional=True)
    scale = reader.vector("scaling_scale", d, optional=mean is None)
    if scale is not None and not (scale > 0.0).all():
        raise ModelFileError("array 'scaling_scale' must be positive.")
    qp = metadata.to_qp(fields.mapping("qp"))
    names = fields.texts("feature_names", d)
    model = SavedModel(
        formulation=metadata.to_formulation(fields.mapping("formulation")),
        form=fields.form(),
        kernel=kernel,
        classes=metadata.to_classes(fields.mapping("classes")),
        n_samples=n,
        n_features=d,
        feature_names=names,
        alpha=reader.vector("alpha", n),
        slack=reader.vector("slack", n),
        expansion=reader.vector("expansion", n, optional=True),
        coef=coef,
        intercept=float(reader.vector("intercept", 1)[0]),
        support_vectors=centres,
        support_weights=weights,
        scaling=None if scale is None else Scaling(mean, scale),
        qp=_with_vectors(qp, reader),
        fingerprint=fields.text("fingerprint"),
        versions={str(k): str(v) for k, v in fields.mapping("versions").items()},
        certificate=fields.mapping("certificate"),
    )
    reader.require_empty()
    return model


def _with_vectors(qp: QPSolution, reader: ArrayReader) -> QPSolution:
    return qp.replace(**{n: reader.vector(f"qp_{n}", None, optional=True) for n in _QP_VECTORS})
