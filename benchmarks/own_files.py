"""Samples of a file of one's own for a benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.arrays import Matrix, Vector
from benchmarks.generated import standardised
from qpsvm import datasets
from qpsvm.exceptions import QPSVMError, SuiteError

MOST_CLASSES = 20
"""Whole numbers of up to so many kinds are classes; more are targets of a regression."""


def is_file_name(name: str) -> bool:
    """Return whether a name of data is that of a file, by its suffix.

    Examples
    --------
    >>> is_file_name("heart.csv"), is_file_name("a9a"), is_file_name("iris(n=50)")
    (True, False, False)
    """
    return any(suffix.lower() in datasets.SUFFIXES for suffix in Path(name).suffixes[-2:])


def load_file(path: str, label: str | int | None = None) -> tuple[Matrix, Vector]:
    """Return standardised samples of a file, and labels of -1 and 1 or standardised targets.

    Parameters
    ----------
    path : str
    label : str or int, optional
        As for ``qpsvm.datasets.load``.

    Raises
    ------
    SuiteError
        A file that cannot be read, or without labels.
    """
    try:
        data = datasets.load(path, label=label)
    except QPSVMError as error:
        raise SuiteError(f"The data in {path!r} cannot be used: {error}") from error
    if data.y is None:
        raise SuiteError(f"The file {path!r} has no labels; name their column: label='...'.")
    X = data.X if sp.issparse(data.X) else standardised(data.X)
    labels = np.asarray(data.y)
    kinds = np.unique(labels)
    is_number = labels.dtype.kind in "biuf"
    whole = is_number and bool(np.all(labels == np.round(labels.astype(np.float64))))
    if is_number and not (whole and len(kinds) <= MOST_CLASSES):
        return X, standardised(labels.astype(np.float64))
    if len(kinds) < 2:
        raise SuiteError(f"The file {path!r} has only one class, {kinds.tolist()[0]!r}.")
    return X, np.where(labels == kinds[-1], 1.0, -1.0)
