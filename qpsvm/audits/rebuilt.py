"""Training decision values recomputed from a model's stored numbers, with rounding bounds.

With n support vectors (none for stored weights) and d features, two computations of ::

    f(x) = sum_i beta_i k(x_i, x) + b,      |k(x_i, x)| <= a_i a(x)

in whatever order differ by at most ::

    rounding(x) = 4 (n + d + 16) u sum_i |beta_i| a_i a(x) + 16 u |b| + errors of both kernel values

with the rounding unit u of the precision in which the model answers; for stored weights the sum is
``sum_j |w_j x_j|``. Both differ from the exact value by less than that as well. The errors of our
own kernel values are those of ``certificates.rigorous``.

A model file may have its support vectors with fewer digits than the data. What that changes is
added: the decision values of the file, too, lie within ``rounding`` of those of the program.

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.audits.claims import Claim, Problem, Reading, Solution
from qpsvm.certificates import Certificate
from qpsvm.certificates.comparison import Range
from qpsvm.certificates.predictions import wins
from qpsvm.certificates.rigorous import decision_enclosure
from qpsvm.display import short_repr
from qpsvm.kernels import RBF, Custom, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.kernels.errors import entry_errors
from qpsvm.machines.score_errors import expansion_errors
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import IN_CACHE, Dense, Index, Mask, Matrix, Vector, row_blocks
from qpsvm.numerics.precision import TINY
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import Stored

FORMULAS = (RBF, Linear, Polynomial, Sigmoid)
"""Kernels with a known formula, hence with bounds on its rounding."""

FUNCTION_ERROR = 1e-9
"""Assumed relative error of the values of a user-defined kernel function."""


@short_repr
@dataclass(frozen=True, eq=False)
class Decisions:
    """Decision values of the training data, with rounding bounds.

    Attributes
    ----------
    values : array of shape (n,), or (n, m)
        Of one machine; or one column per machine, or per class of a machine with several decision
        functions.
    rounding : array of the same shape
        What two computations of them can differ by, and each from the exact value.
    """

    values: Dense
    rounding: Dense

    def __getitem__(self, rows: Index | Mask) -> Decisions:
        return Decisions(self.values[rows], self.rounding[rows])

    def scaled(self, factor: float) -> Decisions:
        """The decision values multiplied by ``factor``."""
        return Decisions(factor * self.values, abs(factor) * self.rounding)

    @property
    def range(self) -> Range:
        """The intervals of the decision values."""
        return Range(self.values - self.rounding, self.values + self.rounding)

    @property
    def leads(self) -> Mask:
        """Mask of rows whose largest value is certain despite rounding, shape (n,)."""
        return wins(self.values, self.range.lower, self.range.upper)

    @property
    def signs_are_sure(self) -> Mask:
        """Mask of rows whose values all have a certain sign despite rounding, shape (n,)."""
        sure = np.abs(self.values) > self.rounding
        return sure if sure.ndim == 1 else np.asarray(sure.all(axis=1))

    @classmethod
    def side_by_side(cls, machines: list[Decisions]) -> Decisions:
        """Stack the decision values of several machines, one column for each; of one as it is."""
        if len(machines) == 1:
            return machines[0]
        values = np.column_stack([one.values for one in machines])
        return cls(values, np.column_stack([one.rounding for one in machines]))


def decisions(
    claim: Claim, reading: Reading, solution: Solution, proof: Certificate | None, unit: float
) -> Decisions:
    """Compute the decision values that follow from one machine's stored numbers.

    Parameters
    ----------
    claim, reading
        Of the machine.
    solution
        The model's, in the scale of the program.
    proof : Certificate or None
        Of that solution: has its decision values, if the program contains all samples.
    unit : float
        Rounding unit of the precision in which the model answers.
    """
    problem, samples, library = claim.problem, reading.samples, reading.library.name
    with np.errstate(all="ignore"):  # what overflows is near to nothing
        if not claim.has_multipliers or getattr(solution, "expansion", None) is None:
            values = np.asarray(solution.decision_function(samples))
            return Decisions(values, _of_weights(solution, samples, unit))
        if (
            not isinstance(solution, SVMSolution)
            or solution.repair is not None
            or solution.conditions.minus_self_similarity
        ):  # of qpsvm's own, which has no other arithmetic
            return Decisions(*decision_enclosure(solution, samples, squares(problem, samples)))
        if isinstance(problem.kernel, Custom) and library == "LIBSVM":
            return _of_function(problem.kernel, solution, samples, unit)
        rounding = _of_expansion(problem, solution, samples, library, unit)
        takes_all = problem.data.n_samples == int(samples.shape[0])
        if takes_all and proof is not None:  # as they were verified
            values = np.asarray(proof.evaluation.scores + solution.intercept)
        else:
            values = np.asarray(solution.decision_function(samples))
        if reading.own_vectors is not None:
            moved = _moved(problem.kernel, solution, samples, *reading.own_vectors)
            rounding = 2.0 * rounding + moved
        return Decisions(values, rounding)


def squares(problem: Problem, X: Stored) -> Vector | None:
    """``k(x, x)`` of the samples where the kernel is precomputed (its diagonal); else None."""
    if not isinstance(problem.kernel, Precomputed):
        return None
    if X.shape[0] == problem.data.n_samples:
        return np.asarray(problem.model.gram.diagonal())
    return np.diagonal(np.asarray(X)) if X.shape[0] == X.shape[1] else None


def kernel_sizes(kernel: Kernel, X: Stored) -> tuple[Vector, Vector]:
    """(a, c) with ``|k(x, z)| <= a(x) a(z)``, and by how much rounding of terms can change values.

    A relative error e of every term of the argument, ``x'z`` of a linear kernel and ``gamma x'z +
    coef0`` of polynomials and sigmoids, changes no value by more than ``e c(x) c(z)``. Of the RBF
    kernel ``c(x)^2`` is ``gamma |x|^2``. Shape (n,) each.
    """
    gamma, coef0 = (float(getattr(kernel, *of)) for of in (("gamma", 1.0), ("coef0", 0.0)))
    arguments = np.sqrt(gamma * row_squares(X) + abs(coef0))
    match kernel:
        case Linear():
            return arguments, arguments
        case Polynomial(degree=degree):
            values = arguments ** float(degree)
            return values, np.sqrt(float(degree)) * values
        case Sigmoid():
            return np.ones(X.shape[0]), np.maximum(arguments, 1.0)
    return np.ones(X.shape[0]), arguments


# --- small pieces -----------------------------------------------------------------------------


def _fixed(solution: Solution, u: float) -> Dense:
    # terms below the normal numbers are rounded by more than their share
    return np.asarray(16.0 * u * np.abs(solution.intercept) + TINY)


def _of_weights(solution: Solution, samples: Stored, u: float) -> Dense:
    size = np.asarray(abs(samples) @ np.abs(np.asarray(solution.coef)).T)
    return np.asarray(4.0 * (samples.shape[1] + 16) * u * size + _fixed(solution, u))


def _of_expansion(
    problem: Problem, solution: SVMSolution, samples: Stored, library: str, u: float
) -> Vector:
    kernel, d = problem.kernel, samples.shape[1] if samples.ndim == 2 else 1
    fixed, expansion = _fixed(solution, u), np.asarray(solution.expansion)
    if solution.coef is not None:
        fixed = _of_weights(solution, samples, u)  # these are the values
    used = np.flatnonzero(expansion)
    beta, rows = np.abs(expansion[used]), solution.data.kept[used]
    sums = 4.0 * (len(used) + d + 16) * u
    if isinstance(kernel, Precomputed):
        return np.asarray(sums * (np.abs(np.asarray(samples)[:, rows]) @ beta) + fixed)
    sizes, scales, error = _of_kernel(kernel, samples, u, library)
    size = sizes * float(beta @ sizes[rows])
    found = sums * size + error * scales * float(beta @ scales[rows])
    ours, largest = entry_errors(kernel, samples, samples[rows]), float(np.max(sizes, initial=0.0))
    return np.asarray(found + expansion_errors(ours, size, beta, sizes * largest) + fixed)


def _moved(
    kernel: Kernel, solution: SVMSolution, samples: Stored, rows: Index, vectors: Matrix
) -> Vector:
    """Compute how far decision values move when a file's support vectors replace the samples."""
    expansion = np.zeros(int(samples.shape[0]))
    expansion[solution.data.kept] = np.asarray(solution.expansion)
    used = np.flatnonzero(expansion[rows])
    beta, given, own = expansion[rows[used]], samples[rows[used]], vectors[used]
    if isinstance(kernel, Linear):
        return np.asarray(np.abs(samples @ ((own - given).T @ beta)))
    change = np.zeros(len(expansion))
    for block in row_blocks(len(expansion), len(used), IN_CACHE):
        part = samples[block]
        change[block] = np.abs(kernel(part, own) @ beta - kernel(part, given) @ beta)
    return change


def _of_function(kernel: Custom, solution: SVMSolution, samples: Stored, u: float) -> Decisions:
    """Decision values by a function of the user's, called for all samples as scikit-learn does.

    In other blocks its values may be rounded otherwise, and far from the origin by much more.
    """
    expansion = np.asarray(solution.expansion)
    used = np.flatnonzero(expansion)
    K = kernel(samples, samples)[:, solution.data.kept[used]]
    values, size = K @ expansion[used], np.abs(K) @ np.abs(expansion[used])
    rounding = (4.0 * (len(used) + 16) * u + FUNCTION_ERROR) * size
    return Decisions(values + solution.intercept, rounding + _fixed(solution, u))


def _of_kernel(
    kernel: Kernel, samples: Stored, u: float, library: str
) -> tuple[Vector, Vector, float]:
    """Bounds on the kernel values of samples, and on LIBSVM's rounding errors in them."""
    if type(kernel) not in FORMULAS:
        own = np.sqrt(np.abs(kernel.diagonal(samples)))
        return own, own, FUNCTION_ERROR
    values, scales = kernel_sizes(kernel, samples)
    inner: float = 4.0 * (samples.shape[1] + 16) * u
    if isinstance(kernel, Linear):
        return values, values, 0.0  # the terms of a linear kernel are those of the sum
    if isinstance(kernel, RBF):
        # LIBSVM predicts with the norm of a difference; others subtract products of samples
        largest = 0.0 if library == "LIBSVM" else float(np.max(scales)) ** 2
        return values, values, inner * (1.0 + largest)
    return values, scales, inner
