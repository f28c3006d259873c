"""Base class of maps from solutions of a program to trained machines, and named slices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.arguments import VectorLike
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.solution import QPSolution, Status

Model = TypeVar("Model")

NO_WEIGHTS = QPSolution(Status.UNKNOWN, native_status="the model has no weights")
"""Stands for the program's solution where a kernel machine, without weights, has none."""


def blocks(sizes: dict[str, int]) -> dict[str, slice]:
    """Consecutive slices of the given sizes, without the empty ones."""
    ends = np.cumsum([0, *sizes.values()]).tolist()
    parts = zip(sizes, ends[:-1], ends[1:], strict=True)
    return {name: slice(begin, end) for name, begin, end in parts if end > begin}


def vector_or_nan(vector: Vector | None, size: int) -> Vector:
    """The vector as float64; NaN where it is missing or has another shape."""
    if vector is None or vector.shape != (size,):
        return np.full(size, np.nan)
    return np.asarray(vector, dtype=np.float64)


@short_repr
@dataclass(frozen=True, eq=False)
class ModelRecovery(ABC, Generic[Model]):
    """Base class of maps between a program's solution and the machine of a model."""

    model: Model

    @abstractmethod
    def recover(self, qp: QPSolution) -> Any:
        """Recover the machine, with its evaluation on the training samples."""

    @abstractmethod
    def to_qp(self, values: Any) -> QPSolution:
        """Build the program's solution from a machine's decision values there."""

    @staticmethod
    @abstractmethod
    def blocks_of(model: Any) -> dict[str, slice]:
        """Slices of the x of a model's program that hold the parts of the variables, by name."""

    @property
    def blocks(self) -> dict[str, slice]:
        """Slices of x that hold the parts of the variables, by name."""
        return self.blocks_of(self.model)


def repaired_program(qp: QPSolution, own: QPSolution, unit: float) -> QPSolution:
    """Replace a solver's vectors by those computed from the machine that was recovered.

    The solver's answer is returned unchanged if one of its vectors is missing, not finite or of
    another shape, or if x would change by more than ``MachineSettings.largest_repair`` units: the
    machine would then hide that the solver failed.
    """
    names = ("x", "z", "y", "z_lower", "z_upper")
    for given, found in ((getattr(qp, name), getattr(own, name)) for name in names):
        if given is None or given.shape != found.shape:
            return qp
        if not (np.isfinite(given).all() and np.isfinite(found).all()):
            return qp
    allowed = MACHINES.largest_repair * unit
    if qp.x is None or own.x is None or not np.max(np.abs(own.x - qp.x)) <= allowed:
        return qp
    return qp.replace(x=own.x, z=own.z, y=own.y, z_lower=own.z_lower, z_upper=own.z_upper)


def of_machine(
    x: Vector, z: VectorLike, y: VectorLike, z_lower: Vector, z_upper: Vector
) -> QPSolution:
    """Build a program's solution from vectors computed from a machine, not by a solver."""
    return QPSolution(
        Status.UNKNOWN,
        x=x,
        z=np.asarray(z, dtype=np.float64),
        y=np.asarray(y, dtype=np.float64),
        z_lower=z_lower,
        z_upper=z_upper,
        native_status="from a model",
    )
