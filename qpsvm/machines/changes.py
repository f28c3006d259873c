"""Checks that samples and kernel values are still those that a problem was built of.

Arrays of numbers belong to the problem, and no other code can write to them. What the caller can
still change: objects that a kernel of his own looks at, what such a kernel computes, and the
sparse matrix that holds the arrays. A machine predicts with the samples and the kernel as they are
now; the kernel matrix that was kept has the values of before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.data.training_sets import TrainingSet
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels.by_name import KERNELS
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.arrays import largest_magnitude
from qpsvm.qp.quadratic import SYMMETRY_RTOL
from qpsvm.qp.sample_gram import SampleGram


def require_unchanged_samples(data: TrainingSet) -> None:
    """Raise an error if the arrays of the training samples were replaced after construction.

    Raises
    ------
    InvalidDataError
        It has.
    """
    if not data.is_unchanged:
        raise InvalidDataError(
            "The samples were changed after the problem was built (problem.data.X has other "
            "arrays); build it again, and change a copy: problem.data.X.copy()."
        )


def require_same_values(model: Any, *, every: bool = True) -> None:
    """Call a user-defined kernel again, and raise an error if its values have changed.

    Values may differ by as much as a kernel matrix may from its transpose: a function need not
    round in the same way twice.

    Parameters
    ----------
    model : PrimalDualPair or JointPair
    every : bool
        Otherwise a few columns only: all samples with some.

    Raises
    ------
    InvalidDataError
        The kernel, or the samples it looks at, have changed.
    """
    kernel, repair = model.kernel, model.repair
    if type(kernel) in KERNELS.values() or not model.gram.gram.is_kept:
        return
    X, n = model.data.X, model.data.n_samples
    few = np.unique(np.linspace(0, n - 1, MACHINES.probed_columns).astype(np.intp))
    columns = np.arange(n) if every else few
    expected = model.gram.gram.dense[:, columns]
    if repair is not None:
        expected = repair.undone(expected, columns)
    fresh = SampleGram(kernel, X).dense if every else kernel(X, X[columns])
    difference = largest_magnitude(fresh - expected)
    if not difference <= SYMMETRY_RTOL * largest_magnitude(expected):
        raise InvalidDataError(
            f"The {kernel} kernel returns other values than when the problem was built (they "
            f"differ by up to {difference:.3g}): it, or the samples it looks at, have changed; "
            "build the problem again."
        )
