"""Kernel machines as support vectors and coefficients, to be judged on samples in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from qpsvm.chunked.machine import Machine, stored_machine, whole_numbers
from qpsvm.data.samples import as_samples
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel
from qpsvm.machines.prediction import as_float64
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector
from qpsvm.numerics.threads import kernel_blocks


@short_repr
@dataclass(frozen=True, eq=False)
class Expansion:
    """A kernel machine ``f(x) = sum_j beta_j k(z_j, x) + intercept`` with m support vectors.

    Attributes
    ----------
    kernel : Kernel
        With every parameter a number.
    vectors : array or CSR array of shape (m, d)
        Support vectors z.
    rows : array of int of shape (m,)
        Numbers of these vectors among the training samples with a weight above zero, from 0 on.
    beta : array of shape (m,)
        Positive for the larger one of two labels.
    intercept : float
    width : float
        The half-width of the families that choose one (nu); 0 for the others.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0]], [-1, 1, 1]
    >>> problem = qpsvm.SoftMargin(C=1.0).dual(X, y, kernel=qpsvm.kernels.RBF(gamma=0.5))
    >>> machine = Expansion.of(qpsvm.solve(problem))
    >>> machine.rows.tolist()
    [0, 1, 2]
    """

    kernel: Kernel
    vectors: Matrix
    rows: Index
    beta: Vector
    intercept: float
    width: float = 0.0

    @classmethod
    def of(cls, solution: SVMSolution) -> Self:
        """Take the machine out of a solution that was trained in memory.

        Parameters
        ----------
        solution : SVMSolution
            Of a kernel machine. Samples are numbered as its problem had them.

        Returns
        -------
        Expansion

        Raises
        ------
        InvalidParameterError
            Another kind of solution, one without an expansion, or of a kernel that was repaired.
        """
        if type(solution) is not SVMSolution or solution.expansion is None:
            raise InvalidParameterError(
                f"An Expansion is made of an SVMSolution with an expansion, got "
                f"{type(solution).__name__}; build one of support vectors and coefficients."
            )
        if solution.repair is not None:
            raise InvalidParameterError(
                "The kernel of this solution is indefinite and was repaired, which needs all "
                "samples at once; verify it on them."
            )
        rows = np.flatnonzero(solution.expansion)  # NaN is not zero
        return cls(
            solution.kernel,
            solution.data.X[rows],
            rows,
            solution.expansion[rows],
            solution.intercept,
            solution.width,
        )

    @property
    def offsets(self) -> Machine:
        """Intercept and width, as a machine without weights."""
        return Machine(np.zeros(0), self.intercept, self.width)

    def values(self, X: Matrix) -> Dense:
        """Sums of the negative and of the positive terms of ``f(x) - b``, shape (m, 2)."""
        values = np.zeros((X.shape[0], 2))
        if len(self.beta):
            for rows in kernel_blocks(X.shape[0], len(self.beta)):
                tile = self.kernel(X[rows], self.vectors)
                values[rows] = compensated.product(tile, self.signed)
        return values

    @property
    def signed(self) -> Dense:
        """Negative and positive part of beta, as columns."""
        return np.column_stack([np.minimum(self.beta, 0.0), np.maximum(self.beta, 0.0)])


def stored_expansion(machine: object, n_rows: int, n_features: int) -> Expansion:
    """Copy of a machine's numbers as float64, checked against the sizes of a problem.

    What is no number among the coefficients becomes NaN, which proves nothing.

    Raises
    ------
    InvalidParameterError
        Not an ``Expansion``, or a subclass of it.
    InvalidDataError
        Numbers of other shapes; support vectors that are not among so many samples.
    """
    if type(machine) is not Expansion:
        raise InvalidParameterError(
            f"An Expansion is expected, got {type(machine).__name__}; qpsvm.chunked.Expansion.of("
            "solution) takes one out of a solution, Expansion(kernel, vectors, rows, beta, "
            "intercept) makes one of support vectors and coefficients."
        )
    beta, rows = as_float64(machine.beta, "beta"), whole_numbers(machine.rows, "rows")
    if beta is None or beta.ndim != 1 or rows.shape != beta.shape:
        raise InvalidDataError(
            f"The machine has coefficients of shape {np.shape(beta)} and numbers of samples of "
            f"shape {rows.shape}; expected (m,) of both."
        )
    m = len(beta)
    vectors = as_samples(machine.vectors, "vectors") if m else np.zeros((0, n_features))
    if vectors.shape != (m, n_features) or len(np.unique(rows)) < m or (rows < 0).any():
        raise InvalidDataError(
            f"The machine has support vectors of shape {vectors.shape} and {len(np.unique(rows))} "
            f"numbers of samples; expected {(m, n_features)} and {m}, from 0 on and none twice."
        )
    if m and int(rows.max()) >= n_rows:
        raise InvalidDataError(
            f"The machine has the support vector number {int(rows.max())}, and the chunks have "
            f"{n_rows} samples with a weight above zero; pass the training data. Where the machine "
            "counts samples of weight zero, too, fit it without them."
        )
    own = stored_machine(machine.offsets, 0)
    return Expansion(machine.kernel, vectors, rows, beta, own.intercept, own.width)
