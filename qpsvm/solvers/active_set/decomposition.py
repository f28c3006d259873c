"""Approximate solutions of kernel duals by LIBSVM's decomposition method on a stored matrix.

Sequential minimal optimisation moves two variables at a time, in compiled code. Where the kernel
matrix is there already, it comes near the optimum sooner than anything that solves equations; it
never gets to the end. Its programs are those of support vector classification and regression::

    minimise 1/2 x'Px - e'x   subject to   s'x = 0, 0 <= x <= upper,      P = S K S + diag(d)

    minimise 1/2 b'Kb - y'b + epsilon e'(x + z)   subject to   e'b = 0, 0 <= x, z <= upper,
        b = x - z

With ``-c e'x`` instead, x is c times that of the bounds ``upper / c``. A constant that is added to
K changes nothing, for ``s'x = 0``; without that row the answer is one for a neighbour.

Source: Fan, Chen and Lin, "Working set selection using second order information for training
support vector machines", *JMLR* 6 (2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache, partial
from typing import Any

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.interrupts import interruptible
from qpsvm.numerics.workspace import Memory
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.solvers.active_set.columns import WORKING_SET, KernelColumns
from qpsvm.solvers.active_set.settings import COLUMNS, DEFAULTS, ActiveSetSettings
from qpsvm.solvers.box.program import BoxProgram

MATRIX = WORKING_SET
"""Where it is in memory: nobody needs both at a time."""


class Machine(IntEnum):
    """Kinds of machines, by their numbers in LIBSVM's interface."""

    C_SVC = 0
    EPSILON_SVR = 3


@cache
def load() -> Any:
    """Import scikit-learn's wrapper of LIBSVM, which takes a quarter of a second.

    Its functions are called instead of ``SVC.fit``, whose checks take longer than a small fit.
    """
    from sklearn.svm import _libsvm

    return _libsvm


def _support_of(
    kind: Machine, K: Dense, y: Vector, weights: Vector, options: dict[str, Any]
) -> tuple[Index, Vector]:
    """Train a machine with LIBSVM; return its support vectors and their signed dual variables.

    Parameters
    ----------
    kind : Machine
    K : array of shape (n, n)
    y : array of shape (n,)
        Numbers of the classes, or targets.
    weights : array of shape (n,)
        Upper bounds of the dual variables.
    options : dict
        Other arguments of LIBSVM.
    """
    libsvm = load()
    libsvm.set_verbosity_wrap(0)  # SVC(verbose=True) elsewhere would have it print here
    fit = partial(
        libsvm.fit,
        np.ascontiguousarray(K),
        y,
        svm_type=int(kind),
        kernel="precomputed",
        class_weight=np.ones(2 if kind is Machine.C_SVC else 0),
        sample_weight=weights,
        **options,
    )
    support, _, _, coefficients, *_ = interruptible(fit)
    return support, coefficients[0]


def suits(
    program: BoxProgram, columns: KernelColumns, settings: ActiveSetSettings = DEFAULTS
) -> bool:
    """Return whether a program is the dual of a classifier or a regression that LIBSVM can solve.

    And one that a decomposition is quick with.
    """
    return gradient_scale(program, columns, settings) is not None


def gradient_scale(
    program: BoxProgram, columns: KernelColumns, settings: ActiveSetSettings = DEFAULTS
) -> float | None:
    """Return the gradient that moves a margin by one, or a target by a spread; None as ``suits``.

    LIBSVM's tolerance is relative to it.
    """
    machine = _machine(program, columns)
    if machine is None or machine.is_steep(program, settings.steep_regression):
        return None
    return machine.gradient_scale


def fitting(for_columns: int) -> int:
    """Return the largest number of samples whose matrix fits into a number of bytes."""
    return int(np.sqrt(for_columns / COLUMNS.bytes_per_entry))


def descended(
    program: BoxProgram,
    columns: KernelColumns,
    memory: Memory,
    settings: ActiveSetSettings = DEFAULTS,
    *,
    tolerance: float | None = None,
) -> Vector:
    """Solve a suitable program approximately with LIBSVM; zeros where that cannot be tried.

    Parameters
    ----------
    program : BoxProgram
    columns : KernelColumns
        Its P.
    memory : Memory
        Room for its matrix.
    settings : ActiveSetSettings
    tolerance : float, optional
        LIBSVM's; ``settings.decomposition_tolerance`` if None.
    """
    x, machine, K = np.zeros(program.size), _machine(program, columns), _matrix(columns, memory)
    largest, limit = max(float(np.max(K)), -float(np.min(K))), COLUMNS.largest_single
    if machine is None or not machine.can_be_fitted or not 1.0 / limit < largest < limit:
        return x  # nor where there is NaN
    options = {
        "C": 1.0,
        "tol": settings.decomposition_tolerance if tolerance is None else tolerance,
        "cache_size": K.nbytes / 2**21,  # MiB of all rows in single precision
        "max_iter": settings.decomposition_steps * len(K),
    }
    return program.clip_scaled(machine.fitted(K, x, options))


@dataclass(frozen=True, eq=False)
class _Classifier:
    """A C-SVC dual in LIBSVM's terms: c, labels, and a weight for every sample."""

    cost: float
    signs: Vector
    upper: Vector

    @classmethod
    def of(cls, program: BoxProgram, P: KernelQuadratic) -> _Classifier | None:
        """Recognise the program; None if it is of another kind."""
        signs, q = P.selection.signs, program.q
        if P.selection.index is not None or (q != q[0]).any() or not q[0] < 0.0:
            return None
        return cls(-float(q[0]), signs, _finite(program, -float(q[0])))

    def is_steep(self, _: BoxProgram, __: float) -> bool:
        """Return whether the bounds are too far apart for LIBSVM: never for a classifier."""
        return False

    @property
    def gradient_scale(self) -> float:
        """The gradient of a margin of one."""
        return self.cost

    @property
    def can_be_fitted(self) -> bool:
        """Return whether both classes are present and no weight underflows."""
        return bool((self.signs != self.signs[0]).any() and (self.upper / self.cost > 0.0).all())

    def fitted(self, K: Dense, x: Vector, options: dict[str, Any]) -> Vector:
        """Fit LIBSVM and return x with LIBSVM's dual variables."""
        classes = (self.signs > 0.0).astype(np.float64)
        support, found = _support_of(Machine.C_SVC, K, classes, self.upper / self.cost, options)
        x[support] = self.cost * np.abs(found)
        return x


@dataclass(frozen=True, eq=False)
class _Regression:
    """An epsilon-SVR dual in LIBSVM's terms: targets, and two variables for every sample."""

    above: Index
    below: Index
    targets: Vector
    epsilon: float
    upper: Vector

    @classmethod
    def of(cls, program: BoxProgram, P: KernelQuadratic) -> _Regression | None:
        """Recognise the program; None if it is of another kind."""
        R, q = P.selection, program.q
        above, below = np.flatnonzero(R.signs > 0.0), np.flatnonzero(R.signs < 0.0)
        every = np.arange(R.n_samples)
        if not all(np.array_equal(R.samples(side), every) for side in (above, below)):
            return None
        if any((v[above] != v[below]).any() for v in (program.upper, P.diag)):
            return None
        targets, epsilons = 0.5 * (q[below] - q[above]), 0.5 * (q[below] + q[above])
        rounding = COLUMNS.same_cost * float(np.max(np.abs(q)))
        if np.ptp(epsilons) > rounding or not epsilons[0] >= 0.0 or not np.ptp(targets) > rounding:
            return None
        upper = _finite(program, float(np.std(targets)))[above]
        return cls(above, below, targets, float(epsilons[0]), upper)

    def is_steep(self, program: BoxProgram, limit: float) -> bool:
        """Return whether the bounds are too far apart for LIBSVM to converge soon."""
        moves = float(np.median(program.upper[self.above] * program.diagonal[self.above]))
        return not moves <= limit * self.gradient_scale

    @property
    def gradient_scale(self) -> float:
        """The spread of the targets."""
        return float(np.std(self.targets))

    @property
    def can_be_fitted(self) -> bool:
        """Return whether bounds and targets can be scaled without underflow or overflow."""
        upper = self.upper / self.gradient_scale
        return bool((upper > 0.0).all() and np.isfinite(upper).all())

    def fitted(self, K: Dense, x: Vector, options: dict[str, Any]) -> Vector:
        """Fit LIBSVM and return x with LIBSVM's dual variables."""
        size = self.gradient_scale
        options = {**options, "epsilon": self.epsilon / size}
        targets, upper = self.targets / size, self.upper / size
        support, found = _support_of(Machine.EPSILON_SVR, K, targets, upper, options)
        x[self.above[support]] = np.maximum(size * found, 0.0)
        x[self.below[support]] = np.maximum(-size * found, 0.0)
        return x


def _machine(program: BoxProgram, columns: KernelColumns) -> _Classifier | _Regression | None:
    """The program in LIBSVM's terms; None if it is neither a C-SVC nor an epsilon-SVR dual."""
    P = columns.P
    signs = P.selection.signs
    if (
        columns.n_slack
        or program.lower.any()
        or not (program.upper > 0.0).all()
        or not (np.abs(signs) == 1.0).all()
        or not (len(program.b) == 0 or _is_balance(program, signs))
    ):
        return None
    return _Classifier.of(program, P) or _Regression.of(program, P)


def _is_balance(program: BoxProgram, signs: Vector) -> bool:
    """Return whether the only row is ``s'x = 0``, up to its sign."""
    a = program.A[0]
    return (
        len(program.b) == 1
        and not program.b.any()
        and (np.array_equal(a, signs) or np.array_equal(a, -signs))
    )


def _finite(program: BoxProgram, size: float) -> Vector:
    """Upper bounds, with large numbers in place of infinite ones."""
    enough = COLUMNS.widest_box * size / float(np.median(program.diagonal) or program.unit)
    return np.where(np.isfinite(program.upper), program.upper, enough)


def _matrix(columns: KernelColumns, memory: Memory) -> Dense:
    """``K + diag(d)`` in a work array, or the stored kernel matrix itself."""
    P, gram = columns.P, columns.P.gram
    if gram.is_kept and not P.diag.any():
        return gram.dense
    K = memory.matrix(MATRIX, gram.size, gram.size)
    gram.write_square(np.arange(gram.size), K)
    K[np.diag_indices(gram.size)] += P.diag[: gram.size]  # in a regression that of either side
    return K
