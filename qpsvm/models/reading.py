"""Checked conversion of the arrays in a model file to a model."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from qpsvm.constraints import LinearConstraints
from qpsvm.exceptions import ModelFileError, QPSVMError
from qpsvm.files.npz import Arrays
from qpsvm.formulations import DataDescription
from qpsvm.formulations.reduction import Reduction
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.kernels.gram import KERNELS
from qpsvm.kernels.kernel_repair import require_policy
from qpsvm.machines.reduced import ReducedSolution
from qpsvm.machines.verifiable import Form
from qpsvm.models.consistency import require_shapes
from qpsvm.models.machine import SavedMachine, machine_of, unknown_matrix
from qpsvm.models.plain import FORMULATIONS, to_object, to_value
from qpsvm.models.record import ArrayReader, Fields, opened
from qpsvm.models.saved import SavedModel
from qpsvm.models.scaling import Scaling
from qpsvm.models.training import has_classes, has_values, training_set
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Array, freeze
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.tables import Preparation


def model_of(contents: Arrays) -> SavedModel:
    """Build the model that the arrays of a file describe.

    Raises
    ------
    ModelFileError
        Anything but what ``contents_of`` writes.
    """
    fields, reader = opened(contents)
    try:
        return _model(fields, reader)
    except ModelFileError:
        raise
    except (QPSVMError, ValueError, TypeError, IndexError, KeyError, OverflowError) as error:
        raise ModelFileError(f"its parts do not go together ({error}).") from error


def _model(fields: Fields, reader: ArrayReader) -> SavedModel:
    formulation = to_object(fields.of("formulation", dict), FORMULATIONS, "formulation")
    kernel = _kernel(fields)
    n, n_given, d = (fields.count(name) for name in ("n_samples", "n_given", "n_features"))
    classes = _classes(fields) if has_classes(formulation) else None
    names = _feature_names(fields, d)
    policy: Any = fields.get("indefinite")
    require_policy(policy)
    entries = fields.objects("machines")
    numbers = reader.machines([entry.of("shapes", dict) for entry in entries])
    programs = [_program(Fields(entry.of("program", dict))) for entry in entries]
    targets: Array | None = None
    if classes is not None or has_values(formulation):
        targets = reader.vector("targets", np.float64 if classes is None else np.int64, n)
    weights = None if "weights" not in reader else reader.vector("weights", np.float64, n_given)
    if weights is None:
        _require_size(n, n_given, numbers[0].get("kept") if targets is None else targets)
    kept = np.arange(n_given) if weights is None else np.flatnonzero(weights)
    require_shapes(formulation, numbers, kept, n, d, classes)
    rows, X = kept, unknown_matrix(n)
    if isinstance(kernel, Precomputed) and d not in (n, n_given):
        raise ModelFileError(f"the metadata's n_features is {d} for a kernel matrix of {n} rows.")
    if not isinstance(kernel, Precomputed):
        rows = reader.vector("rows", np.int64)
        X = reader.matrix("support_vectors", d) if len(rows) else np.empty((0, d))
    if X.shape[0] != len(rows) or (np.diff(rows) <= 0).any():
        raise ModelFileError("its rows are not those of its support vectors.")
    data = training_set(
        formulation,
        X,
        rows,
        kept=kept,
        n_given=n_given,
        feature_names=names,
        sample_weight=weights,
        targets=targets,
        classes=classes,
    )
    is_ball = isinstance(formulation, DataDescription)
    machines = tuple(
        machine_of(own, qp, kernel, data, is_ball=is_ball)
        for own, qp in zip(numbers, programs, strict=True)
    )
    whole: SavedMachine | ReducedSolution = machines[0]
    if isinstance(formulation, Reduction):
        whole = ReducedSolution(machines, data, formulation)  # type: ignore[arg-type]
    model = SavedModel(
        formulation=formulation,
        form=_form(fields),
        indefinite=policy,
        constraints=_constraints(fields),
        kernel=kernel,
        classes=classes,
        n_samples=n,
        n_given=n_given,
        n_features=d,
        feature_names=names,
        sample_weight=weights,
        targets=targets,
        machine=whole,
        numbers=tuple(numbers),
        programs=tuple(programs),
        scaling=_scaling(reader, d),
        preparation=_preparation(fields, d),
        zero_based=_zero_based(fields),
        fingerprint=fields.of("fingerprint", str),
        versions={str(k): str(v) for k, v in fields.of("versions", dict).items()},
        certificate=fields.of("certificate", dict),
        estimator=None if fields.get("estimator") is None else fields.of("estimator", dict),
    )
    reader.require_empty()
    return model


def _require_size(n: int, n_given: int, of_samples: Array | None) -> None:
    """Raise an error if a model file states a number of samples that none of its arrays has.

    An array of that size could exhaust the memory.

    Parameters
    ----------
    n, n_given : int
        Samples trained on and given, as the metadata state them; the same without weights.
    of_samples : array or None
        One with an entry for each sample.
    """
    if of_samples is None or len(of_samples) != n:
        raise ModelFileError(f"the metadata's n_samples is {n}, which no array of the file has.")
    if n_given != n:
        raise ModelFileError(
            f"the metadata's n_given is {n_given} for {n} samples; it has no weights of the others."
        )


def _kernel(fields: Fields) -> Kernel:
    kernel: Kernel = to_object(
        fields.of("kernel", dict), {kind.__name__: kind for kind in KERNELS.values()}, "kernel"
    )
    if any(isinstance(value, str) for value in kernel.parameters().values()):
        raise ModelFileError(f"the kernel {kernel} has a parameter that is not a number.")
    return kernel


def _classes(fields: Fields) -> Labels:
    """The labels with their dtype."""
    classes = to_value(fields.get("classes"), "classes")
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) < 2:
        raise ModelFileError("the metadata's classes are not two or more labels.")
    try:
        ordered = bool(np.all(classes[:-1] < classes[1:]))
    except TypeError as error:
        raise ModelFileError(f"the metadata's classes cannot be compared ({error}).") from error
    if not ordered:
        raise ModelFileError(f"the metadata's classes {classes[:3].tolist()} are not in order.")
    return freeze(classes)


def _constraints(fields: Fields) -> object:
    given = to_value(fields.get("constraints"), "constraints")
    if given is not None and not isinstance(given, LinearConstraints):
        raise ModelFileError("the metadata's constraints are not LinearConstraints.")
    return given


def _preparation(fields: Fields, d: int) -> Preparation | None:
    given = to_value(fields.get("preparation"), "preparation")
    if given is None:
        return None
    if not isinstance(given, Preparation):
        raise ModelFileError("the metadata's preparation is none.")
    if given.n_features != d:
        raise ModelFileError(
            f"the metadata's preparation gives {given.n_features} features, and n_features is {d}."
        )
    return given


def _scaling(reader: ArrayReader, d: int) -> Scaling | None:
    if "scaling_mean" not in reader and "scaling_scale" not in reader:
        return None
    mean = reader.vector("scaling_mean", np.float64, d) if "scaling_mean" in reader else None
    scale = reader.vector("scaling_scale", np.float64, d)
    if not (scale > 0.0).all():
        raise ModelFileError("array 'scaling_scale' must be positive.")
    return Scaling(mean, scale)


def _form(fields: Fields) -> Form:
    form = fields.of("form", str)
    if form not in ("primal", "dual"):
        raise ModelFileError(f"the metadata's form is {form!r}; it is 'primal' or 'dual'.")
    return cast("Form", form)


def _zero_based(fields: Fields) -> bool | None:
    value = fields.get("zero_based")
    if value is not None and not isinstance(value, bool):
        raise ModelFileError(f"the metadata's zero_based is {value!r}; it is true or false.")
    return value


def _feature_names(fields: Fields, d: int) -> tuple[str, ...] | None:
    names: Any = fields.get("feature_names")
    if names is None:
        return None
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not is_list or len(names) != d:
        raise ModelFileError(f"the metadata's feature_names must be {d} texts.")
    return tuple(names)


def _program(fields: Fields) -> QPSolution:
    """Rebuild a QPSolution without vectors; its status is only a claim."""
    iterations, settings = fields.get("iterations"), fields.get("settings")
    seconds, asked = fields.get("seconds"), fields.get("asked")
    steps = seconds.items() if isinstance(seconds, dict) else ()
    names = asked if isinstance(asked, list | tuple) else ()
    try:
        status = Status(fields.get("status"))
    except ValueError as error:
        raise ModelFileError(f"the metadata's status is unknown ({error}).") from error
    return QPSolution(
        status,
        native_status=fields.of("native_status", str),
        statistics=SolveStatistics(
            backend=fields.of("backend", str),
            version=fields.of("version", str),
            iterations=iterations if isinstance(iterations, int) else None,
            setup_seconds=fields.of("setup_seconds", float),
            solve_seconds=fields.of("solve_seconds", float),
            seconds={k: float(v) for k, v in steps if isinstance(v, int | float)},
            asked=tuple(name for name in names if isinstance(name, str)),
            polished=fields.get("polished") is True,
            escalated=fields.get("escalated") is True,
            settings=settings if isinstance(settings, dict) else {},
            note=fields.of("note", str),
        ),
    )
