"""The base class of kernels: immutable functions that evaluate Gram blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar, Self

import numpy as np

from qpsvm.device.product_form import ProductForm
from qpsvm.numerics.arrays import Dense, Vector, row_blocks
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.sample_gram import GramFunction, Rows, RowsByCall


@dataclass(frozen=True)
class Kernel(ABC):
    """A kernel function; ``kernel(X, Z)`` evaluates a Gram block of shape (len(X), len(Z))."""

    name: ClassVar[str]
    takes_objects: ClassVar[bool] = False
    """Whether samples may be something else than rows of numbers: text, sequences, graphs. X and Z
    are then arrays of shape (n,) with an object in each entry, or tables of shape (n, d)."""

    @abstractmethod
    def __call__(self, X: Stored, Z: Stored) -> Dense:
        """Evaluate the block ``k(x_i, z_j)``.

        Parameters
        ----------
        X, Z : arrays or CSR matrices of shape (n, d) and (m, d)
        """

    def write_square(self, X: Stored, out: Dense) -> None:
        """Write the Gram matrix ``self(X, X)`` into an array of shape (n, n)."""
        out[:] = self(X, X)

    def against(self, X: Stored) -> Rows:
        """Return an evaluator of rows of the Gram matrix of X, with the work they share done once.

        They are those of ``self(X, X)`` up to rounding.
        """
        return RowsByCall(self, X)

    def beside(self, Z: Stored) -> Callable[[Stored], Dense]:
        """Prepare the kernel for fixed samples Z: return the function ``X -> k(X, Z)``.

        Each row of its values has the same bits whatever the other rows are, for kernels of this
        package and dense samples.
        """
        return lambda X: self(X, Z)

    def within(self, X: Stored) -> GramFunction:
        """Return the kernel between subsets of samples X, all rounded as in ``self(X, X)``."""
        del X
        return self

    def product_form(self) -> ProductForm | None:
        """The kernel as a function of products that a GPU evaluates; None where it is another."""
        return None

    def diagonal(self, X: Stored) -> Vector:
        """``k(x_i, x_i)`` for every row of X, shape (n,)."""
        blocks = [X[rows] for rows in row_blocks(X.shape[0], 256, 8 * 256 * 256)]
        return np.concatenate([np.diagonal(self(block, block)) for block in blocks])

    def resolve(self, X: Stored) -> Self:
        """The same kernel with all parameters as numbers (``gamma="scale"`` depends on X)."""
        del X
        return self

    @property
    def is_positive_semidefinite(self) -> bool:
        """Return whether every Gram matrix of this kernel is positive semidefinite."""
        return False

    @property
    def is_nonnegative(self) -> bool:
        """Return whether all values of this kernel are non-negative."""
        return False

    @property
    def runs_in_threads(self) -> bool:
        """Return whether blocks may be evaluated in several threads at a time."""
        return False

    def parameters(self) -> dict[str, object]:
        """The kernel's parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={_short(value)}" for key, value in self.parameters().items())
        return f"{self.name}({inside})" if inside else self.name


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
