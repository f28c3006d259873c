"""Training decision values recomputed from a model's stored numbers, with rounding bounds.

With n support vectors (none for stored weights) and d features, two computations of ::

    f(x) = sum_i beta_i k(x_i, x) + b,      |k(x_i, x)| <= sqrt(k(x_i, x_i) k(x, x))

in whatever order differ by at most ::

    rounding(x) = (4 (n + d + 16) u + e) sum_i |beta_i| sqrt(k(x_i, x_i) k(x, x)) + 16 u |b|

with the rounding unit u of the precision in which the model answers and e the rounding inside the
kernel function; for stored weights the sum is ``sum_j |w_j x_j|``.

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from qpsvm.audits.claims import Reading
from qpsvm.audits.machine import AuditedMachine
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Mask, Vector, is_sparse
from qpsvm.numerics.precision import TINY
from qpsvm.numerics.single_precision import Stored

RBF_ERROR = 1e-12
"""Relative error of ``exp(-gamma |x - z|^2)``: ours is below 1e-13 (``kernels.products.FAR``)."""

FUNCTION_ERROR = 1e-9
"""Relative to ``sqrt(k(x, x) k(z, z))``: other libraries call a kernel function of the user's with
other blocks of samples, and nobody knows how it rounds."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decision values of the training data in a model's own scale, with rounding bounds.

    Attributes
    ----------
    values : array of shape (n, m)
        One column per machine, or per class of a machine with several decision functions.
    rounding : array of shape (n, m)
        What two computations of them can differ by.
    """

    values: Dense
    rounding: Dense

    @property
    def leads(self) -> Mask:
        """Mask of rows whose largest value is certain despite rounding, shape (n,)."""
        ranked = np.sort(self.values, axis=1)
        return np.asarray(ranked[:, -1] - ranked[:, -2] > 2.0 * np.max(self.rounding, axis=1))

    @property
    def signs_are_sure(self) -> Mask:
        """Mask of rows whose values all have a certain sign despite rounding, shape (n,)."""
        return np.asarray((np.abs(self.values) > self.rounding).all(axis=1))


def decisions(reading: Reading, machines: tuple[AuditedMachine, ...], u: float) -> Decisions:
    """Compute the decision values that follow from a model's stored numbers.

    Parameters
    ----------
    reading : Reading
    machines : tuple of AuditedMachine
    u : float
        Rounding unit of the precision in which the model answers.
    """
    columns, errors = [], []
    with np.errstate(all="ignore"):  # what overflows is near to nothing
        for machine in machines:
            columns.append(machine.factor * _values(machine, reading.samples))
            errors.append(abs(machine.factor) * _rounding(machine, reading, u))
    return Decisions(np.column_stack(columns), np.column_stack(errors))


def _values(machine: AuditedMachine, samples: Stored) -> Dense:
    """Decision values of one machine's program, for all samples."""
    solution, proof = machine.solution, machine.report.certificate
    if isinstance(solution, SVMSolution) and _takes_all(machine, samples) and proof is not None:
        # as they were verified
        return np.asarray(proof.evaluation.scores + solution.intercept)
    return np.asarray(solution.decision_function(samples))


def _takes_all(machine: AuditedMachine, samples: Stored) -> bool:
    """Return whether the machine's program contains all samples, so that K can be reused."""
    return machine.problem.data.n_samples == int(samples.shape[0])


def _rounding(machine: AuditedMachine, reading: Reading, u: float) -> Dense:
    kernel, samples = machine.problem.kernel, reading.samples
    solution = machine.solution
    n, error = 0, 0.0
    if solution.expansion is None or not machine.has_multipliers:
        size = np.asarray(abs(samples) @ np.abs(np.asarray(solution.coef)).T)
    else:
        beta = np.abs(solution.expansion)
        own = np.sqrt(_squares(machine, samples))
        n = int(np.count_nonzero(beta))
        size = float(beta @ own[solution.data.kept]) * own
        error = _kernel_error(kernel, samples, u, reading.library.name)
    d = samples.shape[1] if samples.ndim == 2 else 1
    sums = (4.0 * (n + d + 16) * u + error) * size
    # terms below the normal numbers are rounded by more than their share
    return np.asarray(sums + 16.0 * u * np.abs(solution.intercept) + TINY)


def _squares(machine: AuditedMachine, samples: Stored) -> Vector:
    """``k(x, x)`` of every training sample; for tanh its upper bound 1."""
    kernel, model = machine.problem.kernel, machine.problem.model
    if isinstance(kernel, Sigmoid):
        return np.ones(samples.shape[0])
    if isinstance(model, SupportVectorModel) and _takes_all(machine, samples):
        return np.asarray(np.abs(model.gram.diagonal()))
    if isinstance(kernel, Precomputed):
        return np.asarray(np.abs(np.diagonal(np.asarray(samples))))
    return np.asarray(np.abs(kernel.diagonal(samples)))


def _kernel_error(kernel: Kernel, samples: Stored, u: float, library: str) -> float:
    """Bound on rounding inside a kernel function, relative to ``sqrt(k(x, x) k(z, z))``."""
    if type(kernel) in (Linear, Precomputed):
        return 0.0
    if type(kernel) not in (RBF, Polynomial, Sigmoid):
        return FUNCTION_ERROR
    kernel = cast("RBF | Polynomial | Sigmoid", kernel)
    inner: float = 4.0 * (samples.shape[1] + 16) * u
    if isinstance(kernel, Polynomial):
        return inner * float(kernel.degree)
    squares = samples.power(2) if is_sparse(samples) else np.square(samples)
    largest = float(kernel.gamma) * float(np.max(squares.sum(axis=1)))
    if isinstance(kernel, Sigmoid):
        return inner * (largest + abs(float(kernel.coef0)))
    # LIBSVM takes the norm of a difference; others subtract products of samples far from zero
    return RBF_ERROR + inner * (1.0 if library == "LIBSVM" else 1.0 + largest)
