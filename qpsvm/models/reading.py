"""Checked conversion of the arrays in a model file to a model.

Everything that a file says is checked here, once: kinds, shapes, names, and that the parts go
together. What is built from it is not checked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qpsvm.constraints import LinearConstraints
from qpsvm.exceptions import ModelFileError, QPSVMError
from qpsvm.formulations import CrammerSinger, DataDescription, OneVsOne, OneVsRest
from qpsvm.formulations.multiclass import Reduction
from qpsvm.io.npz import Arrays
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.kernels.gram import KERNELS
from qpsvm.kernels.kernel_repair import require_policy
from qpsvm.machines.reduced import ReducedSolution
from qpsvm.models.machine import (
    REPAIRED,
    SavedMachine,
    has_classes,
    has_values,
    machine_of,
    training_set,
    unknown_matrix,
)
from qpsvm.models.plain import FORMULATIONS, to_object, to_value
from qpsvm.models.record import count, entry, opened, taken, taken_machines, taken_matrix
from qpsvm.models.saved import SavedModel, Scaling
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Array, Index, freeze
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.tables import Preparation


def model_of(contents: Arrays) -> SavedModel:
    """Build the model that the arrays of a file describe.

    Raises
    ------
    ModelFileError
        Anything but what ``contents_of`` writes.
    """
    data, arrays = opened(contents)
    try:
        return _model(data, arrays)
    except ModelFileError:
        raise
    except (QPSVMError, ValueError, TypeError, IndexError, KeyError, OverflowError) as error:
        raise ModelFileError(f"its parts do not go together ({error}).") from error


def _model(data: Mapping[str, Any], arrays: Arrays) -> SavedModel:
    formulation = to_object(entry(data, "formulation", dict), FORMULATIONS, "formulation")
    kernel = _kernel(data)
    n, n_given, d = (count(data, name) for name in ("n_samples", "n_given", "n_features"))
    classes = _classes(data) if has_classes(formulation) else None
    machines = _objects(data, "machines")
    numbers = taken_machines(arrays, [entry(machine, "shapes", dict) for machine in machines])
    programs = [_program(entry(machine, "program", dict)) for machine in machines]
    targets: Array | None = None
    if classes is not None or has_values(formulation):
        targets = taken(arrays, "targets", np.float64 if classes is None else np.int64, n)
    weights = taken(arrays, "weights", np.float64, n_given) if "weights" in arrays else None
    if weights is None:  # an array of a size that nothing in the file has could fill the memory
        of_samples = numbers[0].get("kept") if targets is None else targets
        if of_samples is None or len(of_samples) != n or n_given != n:
            raise ModelFileError(
                f"the metadata's n_samples is {n} and n_given {n_given}, which no array of the "
                "file has."
            )
    kept = np.arange(n_given) if weights is None else np.flatnonzero(weights)
    _require_shapes(formulation, numbers, kept, n, d, 1 if classes is None else len(classes))
    rows, X = kept, unknown_matrix(n)
    if not isinstance(kernel, Precomputed):
        rows = taken(arrays, "rows", np.int64, None)
        X = taken_matrix(arrays, "support_vectors", d) if len(rows) else np.empty((0, d))
    elif d not in (n, n_given):
        raise ModelFileError(f"the metadata's n_features is {d} for a kernel matrix of {n} rows.")
    if X.shape[0] != len(rows) or (np.diff(rows) <= 0).any():
        raise ModelFileError("its rows are not those of its support vectors.")
    names = _feature_names(data, d)
    samples = training_set(
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
    parts = tuple(
        machine_of(own, qp, kernel, samples, is_ball=is_ball)
        for own, qp in zip(numbers, programs, strict=True)
    )
    whole: SavedMachine | ReducedSolution = parts[0]
    if isinstance(formulation, Reduction):
        whole = ReducedSolution(parts, samples, formulation)  # type: ignore[arg-type]
    policy: Any = data.get("indefinite")
    require_policy(policy)
    model = SavedModel(
        formulation=formulation,
        form=_one_of(data, "form", ("primal", "dual")),
        indefinite=policy,
        constraints=_built(data, "constraints", LinearConstraints),
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
        scaling=_scaling(arrays, d),
        preparation=_preparation(data, d),
        zero_based=_one_of(data, "zero_based", (None, True, False)),
        fingerprint=entry(data, "fingerprint", str),
        versions={str(k): str(v) for k, v in entry(data, "versions", dict).items()},
        certificate=entry(data, "certificate", dict),
        estimator=None if data.get("estimator") is None else entry(data, "estimator", dict),
    )
    if arrays:
        raise ModelFileError(f"it holds unknown arrays: {', '.join(sorted(arrays))}.")
    return model


# --- entries of the metadata ---------------------------------------------------------------------


def _objects(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """An entry that must be a list of one or more objects."""
    objects: list[dict[str, Any]] = entry(data, name, list)
    if not objects or not all(isinstance(each, dict) for each in objects):
        raise ModelFileError(f"the metadata's {name} must be a list of objects.")
    return objects


def _one_of(data: Mapping[str, Any], name: str, choices: Sequence[object]) -> Any:
    """An entry that must be one of a few values."""
    value = data.get(name)
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise ModelFileError(f"the metadata's {name} is {value!r}, not one of {choices}.")
    return value


def _built(data: Mapping[str, Any], name: str, kind: type) -> Any:
    """An entry that must be an object of a class; None without one."""
    value = to_value(data.get(name), name)
    if value is not None and not isinstance(value, kind):
        raise ModelFileError(f"the metadata's {name} are not {kind.__name__}.")
    return value


def _kernel(data: Mapping[str, Any]) -> Kernel:
    known = {kind.__name__: kind for kind in KERNELS.values()}
    kernel: Kernel = to_object(entry(data, "kernel", dict), known, "kernel")
    if any(isinstance(value, str) for value in kernel.parameters().values()):
        raise ModelFileError(f"the kernel {kernel} has a parameter that is not a number.")
    return kernel


def _classes(data: Mapping[str, Any]) -> Labels:
    """The labels with their dtype."""
    classes = to_value(data.get("classes"), "classes")
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) < 2:
        raise ModelFileError("the metadata's classes are not two or more labels.")
    try:
        ordered = bool(np.all(classes[:-1] < classes[1:]))
    except TypeError as error:
        raise ModelFileError(f"the metadata's classes cannot be compared ({error}).") from error
    if not ordered:
        raise ModelFileError(f"the metadata's classes {classes[:3].tolist()} are not in order.")
    return freeze(classes)


def _preparation(data: Mapping[str, Any], d: int) -> Preparation | None:
    given: Preparation | None = _built(data, "preparation", Preparation)
    if given is not None and given.n_features != d:
        raise ModelFileError(
            f"the metadata's preparation gives {given.n_features} features, and n_features is {d}."
        )
    return given


def _scaling(arrays: Arrays, d: int) -> Scaling | None:
    if "scaling_mean" not in arrays and "scaling_scale" not in arrays:
        return None
    mean = taken(arrays, "scaling_mean", np.float64, d) if "scaling_mean" in arrays else None
    scale = taken(arrays, "scaling_scale", np.float64, d)
    if not (scale > 0.0).all():
        raise ModelFileError("array 'scaling_scale' must be positive.")
    return Scaling(mean, scale)


def _feature_names(data: Mapping[str, Any], d: int) -> tuple[str, ...] | None:
    names = data.get("feature_names")
    if names is None:
        return None
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not is_list or len(names) != d:
        raise ModelFileError(f"the metadata's feature_names must be {d} texts.")
    return tuple(names)


def _program(data: Mapping[str, Any]) -> QPSolution:
    """Rebuild a QPSolution without vectors; its status is only a claim."""
    try:
        status = Status(data.get("status"))
    except ValueError as error:
        raise ModelFileError(f"the metadata's status is unknown ({error}).") from error
    statistics: dict[str, Any] = {}
    statistics |= {name: entry(data, name, str) for name in ("backend", "version", "note")}
    statistics |= {name: entry(data, name, float) for name in ("setup_seconds", "solve_seconds")}
    statistics |= {name: data.get(name) is True for name in ("polished", "escalated")}
    for name, kind, instead in (("iterations", int, None), ("settings", dict, {})):
        value = data.get(name)
        statistics[name] = value if isinstance(value, kind) else instead
    steps, asked = data.get("seconds"), data.get("asked")
    numbers = steps.items() if isinstance(steps, dict) else ()
    statistics["seconds"] = {k: float(v) for k, v in numbers if isinstance(v, int | float)}
    names = asked if isinstance(asked, list) else ()
    statistics["asked"] = tuple(name for name in names if isinstance(name, str))
    native_status = entry(data, "native_status", str)
    return QPSolution(status, native_status=native_status, statistics=SolveStatistics(**statistics))


# --- the numbers of the machines -----------------------------------------------------------------


def _require_shapes(
    formulation: object,
    machines: Sequence[Mapping[str, Array]],
    kept: Index,
    n: int,
    d: int,
    k: int,
) -> None:
    """Refuse numbers that are missing, or of shapes that no solution of k classes has."""
    if len(kept) != n:
        raise ModelFileError(
            f"array 'weights' has {len(kept)} entries above zero; the model has {n} samples."
        )
    pairs: dict[type, int] = {OneVsRest: k, OneVsOne: k * (k - 1) // 2}
    if len(machines) != pairs.get(type(formulation), 1):
        raise ModelFileError(f"it holds {len(machines)} machines, another number than its classes.")
    joint = isinstance(formulation, CrammerSinger)
    each = (k,) if joint else ()
    for numbers in machines:
        required = ["alpha", "slack", "intercept", "kept", "support"]
        if not joint:
            required += ["intercept_interval", "width", "constraint_multipliers"]
        for name in required:
            if name not in numbers:
                raise ModelFileError(f"array {name!r} is missing.")
        if "coef" not in numbers and "expansion" not in numbers:
            raise ModelFileError(
                "it has neither coef nor expansion: there is nothing to predict with."
            )
        m = len(numbers["kept"])
        shapes = {
            "coef": (*each, d),
            "expansion": (m, *each),
            REPAIRED: (m, *each),
            "intercept": each,
            "width": (),
            "intercept_interval": (2,),
        }
        if joint:  # of one function there are as many as conditions
            shapes |= {"alpha": (m, *each), "slack": (m,)}
        for name, shape in shapes.items():
            if name in numbers and numbers[name].shape != shape:
                raise ModelFileError(
                    f"array {name!r} has shape {numbers[name].shape} for a machine instead of "
                    f"{shape}."
                )
        for name in ("kept", "support"):
            rows = numbers[name]
            ascending = rows.ndim == 1 and not (np.diff(rows) <= 0).any()
            if not ascending or not np.isin(rows, kept).all():
                raise ModelFileError(f"array {name!r} is no list of training samples in order.")
