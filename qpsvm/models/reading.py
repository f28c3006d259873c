"""Checked conversion of the arrays in a model file to a model.

Everything that a file says is checked here, once: kinds, shapes, names, and that the parts go
together. What is built from it is not checked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from qpsvm.constraints import LinearConstraints
from qpsvm.exceptions import ModelFileError, QPSVMError
from qpsvm.formulations import CrammerSinger, DataDescription, OneVsOne, OneVsRest, Ranking
from qpsvm.formulations.family import Classifier, Regressor
from qpsvm.formulations.multiclass import Reduction
from qpsvm.io.members import Members
from qpsvm.io.npz import Arrays
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.machines.reduced import ReducedSolution
from qpsvm.models.machine import REPAIRED, Numbers, machine_of, training_set, unknown_matrix
from qpsvm.models.plain import FORMULATIONS, to_value
from qpsvm.models.record import count, entry, opened, taken_machines
from qpsvm.models.saved import SavedModel, Scaling
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Array, Index, Vector, freeze
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.tables import Preparation


def model_of(contents: Arrays) -> SavedModel:
    """Build the model that the arrays of a file describe.

    Raises
    ------
    ModelFileError
        Anything but what ``contents_of`` writes.
    """
    try:
        return _model(*opened(contents))
    except ModelFileError:
        raise
    except (
        QPSVMError, ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError,
        RecursionError,
    ) as error:  # fmt: skip
        raise ModelFileError(f"its parts do not go together ({error}).") from error


def _model(data: Mapping[str, Any], members: Members) -> SavedModel:
    formulation = _value(data, "formulation", tuple(FORMULATIONS.values()))
    kernel = _value(data, "kernel", Kernel)
    if any(isinstance(value, str) for value in kernel.parameters().values()):
        raise ModelFileError(f"the kernel {kernel} has a parameter that is not a number.")
    n, n_given, d = (count(data, name) for name in ("n_samples", "n_given", "n_features"))
    has_classes = isinstance(formulation, Classifier | CrammerSinger | Reduction)
    classes = _classes(data) if has_classes else None
    k = 1 if classes is None else len(classes)
    n_machines = {OneVsRest: k, OneVsOne: k * (k - 1) // 2}.get(type(formulation), 1)
    numbers, programs = _machines(data, members, n_machines)
    targets: Array | None = None
    if has_classes or isinstance(formulation, Regressor | Ranking):
        targets = members.take("targets", n, dtypes=(np.int64 if has_classes else np.float64,))
    if classes is not None and targets is not None and not np.isin(targets, np.arange(k)).all():
        raise ModelFileError("its targets are no places among the classes.")
    of_samples = numbers[0].get("kept") if targets is None else targets
    kept, weights = _kept(members, of_samples, n, n_given)
    for own in numbers:
        _require_shapes(own, kept, d, (k,) if isinstance(formulation, CrammerSinger) else ())
    rows, X = kept, unknown_matrix(n)
    if not isinstance(kernel, Precomputed):
        rows = members.take("rows", None, dtypes=(np.int64,))
        X = np.empty((0, d))
        if len(rows):
            X = members.take_matrix("support_vectors", len(rows), d)
    elif d not in (n, n_given):
        raise ModelFileError(f"the metadata's n_features is {d} for a kernel matrix of {n} rows.")
    if not _are_rows(rows, kept):
        raise ModelFileError("its rows are no training samples in order.")
    names = entry(data, "feature_names", list | None)
    if names is not None and (len(names) != d or not all(isinstance(each, str) for each in names)):
        raise ModelFileError(f"the metadata's feature_names must be {d} texts.")
    samples = training_set(
        formulation,
        None if targets is None else targets[np.searchsorted(kept, rows)],
        classes,
        X=freeze(X),
        weights=freeze(np.ones(len(rows)) if weights is None else weights[rows]),
        kept=freeze(rows.astype(np.intp)),
        n_given=n_given,
        feature_names=None if names is None else tuple(names),
    )
    is_ball = isinstance(formulation, DataDescription)
    parts = tuple(
        machine_of(own, qp, kernel, samples, is_ball=is_ball)
        for own, qp in zip(numbers, programs, strict=True)
    )
    machine: Any = parts[0]
    if isinstance(formulation, Reduction):
        machine = ReducedSolution(parts, samples, formulation)  # type: ignore[arg-type]
    preparation = _value(data, "preparation", Preparation | None)
    if preparation is not None and preparation.n_features != d:
        raise ModelFileError(
            f"the metadata's preparation gives {preparation.n_features} features, and n_features "
            f"is {d}."
        )
    model = SavedModel(
        formulation=formulation,
        form=_one_of(data, "form", ("primal", "dual")),
        indefinite=_one_of(data, "indefinite", get_args(Indefinite)),
        constraints=_value(data, "constraints", LinearConstraints | None),
        kernel=kernel,
        classes=classes,
        n_samples=n,
        n_given=n_given,
        n_features=d,
        feature_names=samples.feature_names,
        sample_weight=weights,
        targets=targets,
        machine=machine,
        numbers=tuple(numbers),
        programs=tuple(programs),
        scaling=_scaling(members, d),
        preparation=preparation,
        zero_based=_value(data, "zero_based", bool | None),
        fingerprint=entry(data, "fingerprint", str),
        versions={str(k): str(v) for k, v in entry(data, "versions", dict).items()},
        certificate=entry(data, "certificate", dict),
        estimator=entry(data, "estimator", dict | None),
    )
    members.require_empty()
    return model


# --- entries of the metadata ---------------------------------------------------------------------


def _value(data: Mapping[str, Any], name: str, kind: Any) -> Any:
    """An entry that must be a value of some kind, in the form of ``from_value``."""
    return entry({name: to_value(data.get(name), name)}, name, kind)


def _one_of(data: Mapping[str, Any], name: str, choices: Sequence[str]) -> Any:
    """An entry that must be one of a few words."""
    value = data.get(name)
    if value not in choices:
        raise ModelFileError(f"the metadata's {name} is {value!r}, not one of {choices}.")
    return value


def _classes(data: Mapping[str, Any]) -> Labels:
    """The labels with their dtype."""
    classes: Labels = _value(data, "classes", np.ndarray)
    if classes.ndim != 1 or len(classes) < 2 or not (classes[:-1] < classes[1:]).all():
        raise ModelFileError(
            f"the metadata's classes {classes[:3].tolist()} are not two or more labels in order."
        )
    return freeze(classes)


def _scaling(members: Members, d: int) -> Scaling | None:
    if "scaling_scale" not in members:
        return None
    mean = members.take("scaling_mean", d) if "scaling_mean" in members else None
    scale = members.take("scaling_scale", d)
    if not (scale > 0.0).all():
        raise ModelFileError("array 'scaling_scale' must be positive.")
    return Scaling(mean, scale)


def _program(data: Mapping[str, Any]) -> QPSolution:
    """Rebuild a QPSolution without vectors; its status and statistics are only claims."""
    try:
        status = Status(data.get("status"))
    except ValueError as error:
        raise ModelFileError(f"the metadata's status is unknown ({error}).") from error
    # an entry that is missing, or of another type, was not known when the file was written
    known = vars(SolveStatistics(iterations=0)) | {"asked": []}
    stated = {key: data[key] for key in known if type(data.get(key)) is type(known[key])}
    seconds = {key: float(value) for key, value in stated.get("seconds", {}).items()}
    stated |= {"seconds": seconds, "asked": tuple(map(str, stated.get("asked", ())))}
    return QPSolution(
        status,
        native_status=entry(data, "native_status", str),
        statistics=SolveStatistics(**stated),
    )


# --- the numbers of the machines -----------------------------------------------------------------


def _machines(
    data: Mapping[str, Any], members: Members, wanted: int
) -> tuple[list[dict[str, Array]], list[QPSolution]]:
    """Numbers and program of every machine."""
    machines = entry(data, "machines", list)
    if len(machines) != wanted:
        raise ModelFileError(f"it holds {len(machines)} machines instead of {wanted}.")
    numbers = taken_machines(members, [entry(machine, "shapes", dict) for machine in machines])
    return numbers, [_program(entry(machine, "program", dict)) for machine in machines]


def _kept(
    members: Members, of_samples: Array | None, n: int, n_given: int
) -> tuple[Index, Vector | None]:
    """The caller's rows that were trained on, and the sample weights of all; None for ones.

    An array of a size that nothing in the file has could fill the memory.
    """
    if "weights" in members:
        weights = members.take("weights", n_given)
        kept = np.flatnonzero(weights)
    elif of_samples is not None and len(of_samples) == n_given:
        weights, kept = None, np.arange(n_given)
    else:
        raise ModelFileError(f"the metadata's n_given is {n_given}, which no array of it has.")
    if len(kept) != n:
        raise ModelFileError(f"the metadata's n_samples is {n}, and {len(kept)} have a weight.")
    return kept, weights


def _are_rows(rows: Array, kept: Index) -> bool:
    """Whether numbers are rows that were trained on, in order."""
    rising = rows.ndim == 1 and not (np.diff(rows) <= 0).any()
    return rising and bool(np.isin(rows, kept).all())


def _require_shapes(numbers: Numbers, kept: Index, d: int, each: tuple[int, ...]) -> None:
    """Refuse numbers that are missing, or of shapes that no solution has.

    Parameters
    ----------
    numbers : mapping
    kept : array of int of shape (n,)
        The caller's rows that were trained on.
    d : int
        Number of features.
    each : tuple of int
        ``(k,)`` where k decision functions are found together, else ``()``.
    """
    required = {"kept", "support", "alpha", "slack", "intercept"}
    if not each:
        required |= {"intercept_interval", "width", "constraint_multipliers"}
    for name in sorted(required - numbers.keys()):
        raise ModelFileError(f"array {name!r} is missing.")
    if "coef" not in numbers and "expansion" not in numbers:
        raise ModelFileError("it has neither coef nor expansion: there is nothing to predict with.")
    m = len(numbers["kept"])
    shapes = {
        "coef": (*each, d),
        "expansion": (m, *each),
        REPAIRED: (m, *each),
        "intercept": each,
        "width": (),
        "intercept_interval": (2,),
    }
    if each:  # of one function there are as many as conditions
        shapes |= {"alpha": (m, *each), "slack": (m,)}
    for name, shape in shapes.items():
        if name in numbers and numbers[name].shape != shape:
            raise ModelFileError(
                f"array {name!r} has shape {numbers[name].shape} for a machine instead of {shape}."
            )
    for name in ("kept", "support"):
        if not _are_rows(numbers[name], kept):
            raise ModelFileError(f"array {name!r} is no list of training samples in order.")
