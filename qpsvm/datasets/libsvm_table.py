"""LIBSVM files as samples and labels."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, NoReturn

import numpy as np
import scipy.sparse as sp

from qpsvm.datasets.samples import DataFile
from qpsvm.exceptions import DataFileError, InvalidDataError
from qpsvm.io import files
from qpsvm.numerics.arrays import Sparse
from qpsvm.numerics.conversion import EXACT, first_rounded
from qpsvm.tables.cells import is_number, narrowest

LARGEST_WIDTH = 2**27
"""Largest number of features that a file may have without ``n_features``.

The weights of so many features take 1 GB; public data sets have up to half as many. A larger index
is mostly a slip of the pen, and would take all memory.
"""


def read(
    source: str, zero_based: bool | None, n_features: int | None, *, limit_bytes: int
) -> DataFile:
    """Read samples, labels, and the queries if there are any.

    Parameters
    ----------
    source : str
    zero_based : bool or None
        Whether the first feature has the index 0 and not 1. None: the file decides.
    n_features : int or None
        Number of features; None is up to the largest index.
    limit_bytes : int

    Raises
    ------
    DataFileError, InvalidDataError
        As ``qpsvm.datasets.load``.
    """
    from sklearn.datasets import load_svmlight_file

    file = _Text(source, limit_bytes)
    try:
        with files.opened(source, limit_bytes) as stream:
            X, y, queries = load_svmlight_file(
                _Lines(stream), dtype=np.float64, query_id=True, zero_based=True
            )
    except DataFileError:
        raise
    except (ValueError, OverflowError, IndexError) as error:
        wrong, first = _first_bad_line(file) or error, next(file.tokens(), (0, [""]))[1]
        of_table = "; read a table with format='csv' (--format csv)"
        raise DataFileError(
            f"{source!r} is not in LIBSVM format: {wrong}. Each line is 'label index:value "
            "index:value ...' with ascending indices"
            f"{'' if any(':' in word for word in first) else of_table}."
        ) from error
    if X.shape[0] == 0:
        raise DataFileError(f"{source!r} holds no samples; each line is one.")
    if not np.isfinite(X.data).all():
        line, index, value = next(e for e in file.entries() if not math.isfinite(float(e[2])))
        raise InvalidDataError(
            f"{source!r} line {line}, feature {index} is {value}; impute missing values, or drop "
            "the sample."
        )
    if 0 < len(queries) < len(y):
        line = next(n for n, tokens in file.tokens() if not tokens[1:2] or tokens[1][:4] != "qid:")
        raise DataFileError(
            f"{source!r} line {line} has no qid, and {len(queries):,} of {len(y):,} lines have "
            "one: write qid:... after the label of every line, or of none."
        )
    zero_based = _is_zero_based(file, zero_based, n_features, X)
    width = n_features or X.shape[1] - (not zero_based)
    if max(np.max(np.abs(X.data), initial=0.0), np.max(np.abs(y))) >= EXACT:
        for line, index, value in file.entries():
            rounded = first_rounded([value], [float(value)])
            if rounded is not None:
                raise InvalidDataError(
                    f"{source!r} line {line}, feature {index} is {rounded.value}, {rounded.problem}"
                )
        y = np.array([label for _, (label, *_) in file.tokens()])
    indices = X.indices - (not zero_based)
    samples = sp.csr_array((X.data, indices, X.indptr), shape=(X.shape[0], max(width, 1)))
    groups = queries if len(queries) else None
    y = narrowest(y, source)
    return DataFile(samples, y, groups, None, source, "libsvm", zero_based=zero_based)


def _is_zero_based(file: _Text, given: bool | None, n_features: int | None, X: Sparse) -> bool:
    """Whether the indices of the file count from 0.

    Raises
    ------
    DataFileError
        They contradict the numbering; or nothing tells how they count, and n_features says that
        other data decide it.
    """
    smallest, largest = int(X.indices.min(initial=1)), X.shape[1] - 1
    zero_based = smallest == 0 if given is None else given
    if given is None and not zero_based and 0 < largest < (n_features or 0):
        raise DataFileError(
            f"{file.source!r} has the indices {smallest} to {largest} of {n_features} features, "
            "which may be counted from 0 or from 1; say it: zero_based=True or False "
            "(--zero-based or --one-based)."
        )
    if smallest == 0 and not zero_based:
        line = next(line for line, index, _ in file.entries() if index == 0)
        raise DataFileError(
            f"{file.source!r} line {line} has the index 0, and indices are to count from 1 "
            "(zero_based=False, --one-based, or as the training data of the model did). If this "
            "file counts from 0, read it with zero_based=True (--zero-based)."
        )
    if given is None and zero_based and _has_serials(X):
        raise DataFileError(
            f"{file.source!r} begins every line with 0:serial, as files of precomputed kernels do "
            "in LIBSVM. Read it with zero_based=True (--zero-based), if feature 0 is one; and for "
            "a kernel matrix, pass the other columns to an estimator with kernel='precomputed': "
            "load(..., zero_based=True).X[:, 1:]."
        )
    limit = LARGEST_WIDTH if n_features is None else n_features
    if largest > limit - zero_based:
        line, index, _ = next(e for e in file.entries() if e[1] > limit - zero_based)
        if n_features is None:
            gigabytes = 8 * largest / 2**30
            raise DataFileError(
                f"{file.source!r} line {line} has the index {index}, so that the weights of all "
                f"features alone would take {gigabytes:,.0f} GB; correct it, or say that it is "
                f"meant: n_features={index + zero_based} (--n-features)."
            )
        raise DataFileError(
            f"{file.source!r} line {line} has the index {index}, and the last of {n_features} "
            f"features, counted from {1 - zero_based}, is {limit - zero_based} (n_features=, "
            "--n-features, or the training data of the model). Leave the feature out, or train "
            "with more features; --zero-based and --one-based say how a file counts."
        )
    return zero_based


def _has_serials(X: Sparse) -> bool:
    """Whether index 0 has different whole numbers, from 1 to the number of samples or features."""
    serials = X[:, [0]].toarray()[:, 0]
    return bool(
        len(serials) > 1
        and serials.min() >= 1
        and serials.max() <= max(X.shape[0], X.shape[1] - 1)
        and np.array_equal(serials, np.round(serials))
        and len(np.unique(serials)) == len(serials)
    )


class _Lines:
    """The lines of a LIBSVM file, for scikit-learn, which would read 1_0 as 10."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self) -> NoReturn:  # what scikit-learn recognises files by
        raise NotImplementedError

    def __iter__(self) -> Iterator[bytes]:
        for number, some in enumerate(self._stream):  # several lines where they end with \r
            for line in (some if number else some.removeprefix(codecs.BOM_UTF8)).splitlines():
                if b"_" in line.partition(b"#")[0]:
                    raise ValueError("numbers have no underscores")
                yield line


@dataclass(frozen=True)
class _Text:
    """A file that is read once more, word by word, to name the place of what is wrong in it."""

    source: str
    limit_bytes: int

    def tokens(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the words of every line with a sample, with the number of the line."""
        with files.lines(self.source, self.limit_bytes) as stream:
            for number, line in enumerate(stream, 1):
                tokens = line.partition("#")[0].split()
                if tokens:
                    yield number, tokens

    def entries(self) -> Iterator[tuple[int, int, str]]:
        """Yield line, index and value of every entry."""
        for line, (_, *entries) in self.tokens():
            for entry in entries:
                index, _, value = entry.partition(":")
                if index != "qid":
                    yield line, int(index), value


def _first_bad_line(file: _Text) -> str:
    """Describe the first malformed line of a LIBSVM file; scikit-learn does not name it."""
    for number, (label, *entries) in file.tokens():
        if not is_number(label):
            return f"line {number} begins with {label!r}, which is not a numeric label"
        last = -1
        for place, entry in enumerate(entries):
            problem = _problem_of(entry, place, last)
            if problem:
                return f"line {number} has {problem}"
            index = entry.partition(":")[0]
            last = last if index == "qid" else int(index)
    return ""


def _problem_of(entry: str, place: int, last: int) -> str:
    """Problem of an entry of a line after one with the index ``last``; empty if it has none."""
    index, colon, value = entry.partition(":")
    if index == "qid":
        if place > 0:
            return f"{entry!r} after a feature; it comes after the label"
        good = re.fullmatch(r"[+-]?[0-9]{1,19}", value) and abs(int(value)) < 2**63
        return "" if good else f"{entry!r}, which is no integer of 64 bits"
    if not (colon and re.fullmatch(r"\+?[0-9]+", index) and is_number(value)):
        return f"{entry!r}, which is not index:value"
    largest = np.iinfo(np.int32).max  # of C's int, as which LIBSVM reads it
    if int(index) > largest:
        return f"the index {index[:40]}, beyond {largest}"
    return f"index {index} after {last}" if int(index) <= last else ""
