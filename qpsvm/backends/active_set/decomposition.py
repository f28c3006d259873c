"""LIBSVM's decomposition on one matrix: a rough answer, fast.

Sequential minimal optimisation moves two variables at a time, in compiled code. Where the kernel
matrix is there already, it comes near the optimum sooner than anything that solves equations; it
never gets to the end. Its program is that of a support vector classifier::

    minimise 1/2 x'Px - e'x   subject to   s'x = 0, 0 <= x <= upper,      P = S K S + diag(d)

With ``-c e'x`` instead, x is c times that of the bounds ``upper / c``. A constant that is added to
K changes nothing, for ``s'x = 0``; without that row the answer is one for a neighbour.

Source: Fan, Chen and Lin, "Working set selection using second order information for training
support vector machines", *JMLR* 6 (2005).
"""

from __future__ import annotations

import warnings

import numpy as np

from qpsvm.backends.active_set.columns import KernelColumns
from qpsvm.qp._arrays import Dense, Vector
from qpsvm.qp.box_program import BoxProgram
from qpsvm.qp.memory import Memory

TOLERANCE = 0.1
"""Of the optimality conditions, in margins."""

STEPS = 30
"""For every sample, at most."""

CACHE = 500
"""MiB, for rows in single precision, at most; and half of those of the matrix, which holds all."""

MATRIX = "matrix"
"""Its name in memory."""

WIDEST = 1e4
"""Without an upper bound: so many times what moves a margin by one."""

LARGEST = 1e30
"""Entries of K that are neither too large nor, one over it, too small for single precision."""


def suits(program: BoxProgram, columns: KernelColumns) -> bool:
    """Whether it is the program of a classifier, up to c and the row."""
    signs = columns.P.selection.signs
    return (
        columns.n_slack == 0
        and columns.P.selection.index is None
        and bool((program.q == program.q[0]).all())
        and bool(program.q[0] < 0.0)
        and not program.lower.any()
        and bool((program.upper > 0.0).all())
        and bool((np.abs(signs) == 1.0).all())
        and (len(program.b) == 0 or _is_balance(program, signs))
    )


def _is_balance(program: BoxProgram, signs: Vector) -> bool:
    """``s'x = 0``, or the same with the other sign."""
    a = program.A[0]
    return (
        len(program.b) == 1
        and not program.b.any()
        and (np.array_equal(a, signs) or np.array_equal(a, -signs))
    )


def descended(program: BoxProgram, columns: KernelColumns, memory: Memory) -> Vector:
    """A point of a program that ``suits``, near its optimum as a rule.

    Parameters
    ----------
    program : BoxProgram
    columns : KernelColumns
        Its P.
    memory : Memory
        Room for its matrix.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    x = np.zeros(program.size)
    signs, K = columns.P.selection.signs, _matrix(columns, memory)
    cost = -float(program.q[0])
    enough = WIDEST * cost / float(np.median(program.diagonal) or program.unit)
    upper = np.where(np.isfinite(program.upper), program.upper, enough)
    largest = max(float(np.max(K)), -float(np.min(K)))
    is_in_range = 1.0 / LARGEST < largest < LARGEST and bool((upper / cost > 0.0).all())
    if np.all(signs == signs[0]) or not is_in_range:  # not where there is NaN
        return x
    machine = SVC(
        C=1.0,
        kernel="precomputed",
        tol=TOLERANCE,
        cache_size=min(CACHE, K.nbytes / 2**21),
        max_iter=STEPS * len(K),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(K, signs, sample_weight=upper / cost)
    x[machine.support_] = cost * np.abs(machine.dual_coef_[0])
    return program.clip_scaled(x)


def _matrix(columns: KernelColumns, memory: Memory) -> Dense:
    """``K + diag(d)``: the one that is there, or one in memory that others use as well."""
    P, gram = columns.P, columns.P.gram
    if gram.is_kept and not P.diag.any():
        return gram.dense
    K = memory.matrix(MATRIX, gram.size, gram.size)
    gram.rows(np.arange(gram.size), K)
    K[np.diag_indices(gram.size)] += P.diag
    return K
