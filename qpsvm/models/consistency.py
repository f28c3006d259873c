"""Consistency checks on the numbers of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from qpsvm.exceptions import ModelFileError
from qpsvm.formulations import CrammerSinger, OneVsOne, OneVsRest
from qpsvm.models.machine import REPAIRED
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Array, Index

_OF_EVERY = ("alpha", "slack", "intercept", "kept", "support")
_OF_ONE_FUNCTION = ("intercept_interval", "width", "constraint_multipliers")


def require_shapes(
    formulation: object,
    machines: Sequence[Mapping[str, Array]],
    kept: Index,
    n_samples: int,
    n_features: int,
    classes: Labels | None,
) -> None:
    """Refuse numbers that are missing, or of shapes that no solution has.

    Raises
    ------
    ModelFileError
        The first of them, by the name of the array.
    """
    if len(kept) != n_samples:
        raise ModelFileError(
            f"array 'weights' has {len(kept)} entries above zero; the model has {n_samples} "
            "samples."
        )
    k = 1 if classes is None else len(classes)
    pairs: dict[type, int] = {OneVsRest: k, OneVsOne: k * (k - 1) // 2}
    if len(machines) != pairs.get(type(formulation), 1):
        raise ModelFileError(f"it holds {len(machines)} machines, another number than its classes.")
    joint = isinstance(formulation, CrammerSinger)
    for numbers in machines:
        _require_machine(numbers, kept, n_features, k if joint else None)


def _require_machine(
    numbers: Mapping[str, Array], kept: Index, d: int, n_functions: int | None
) -> None:
    wanted = _OF_EVERY if n_functions else (*_OF_EVERY, *_OF_ONE_FUNCTION)
    for name in wanted:
        if name not in numbers:
            raise ModelFileError(f"array {name!r} is missing.")
    if "coef" not in numbers and "expansion" not in numbers:
        raise ModelFileError("it has neither coef nor expansion: there is nothing to predict with.")
    m = len(numbers["kept"])
    each = () if n_functions is None else (n_functions,)
    shapes = {
        "coef": (*each, d),
        "expansion": (m, *each),
        REPAIRED: (m, *each),
        "intercept": each,
        "width": (),
        "intercept_interval": (2,),
    }
    if n_functions is not None:  # of one function there are as many as conditions
        shapes |= {"alpha": (m, *each), "slack": (m,)}
    for name, shape in shapes.items():
        if name in numbers and numbers[name].shape != shape:
            raise ModelFileError(
                f"array {name!r} has shape {numbers[name].shape} for a machine instead of {shape}."
            )
    for name in ("kept", "support"):
        rows = numbers[name]
        ascending = rows.ndim == 1 and not (np.diff(rows) <= 0).any()
        if not ascending or not np.isin(rows, kept).all():
            raise ModelFileError(f"array {name!r} is no list of training samples in order.")
