"""LIBSVM files as samples and labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, NoReturn

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import DataFileError, InvalidDataError
from qpsvm.files import text
from qpsvm.files.text import Labels, is_number
from qpsvm.numerics.arrays import Matrix
from qpsvm.numerics.integers import EXACT, first_rounded


def read(source: str, *, limit_bytes: int) -> tuple[Matrix, Labels, Labels | None]:
    """Read samples, labels, and the queries if there are any.

    Raises
    ------
    DataFileError, InvalidDataError
        As ``qpsvm.datasets.load``.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        with text.opened(source, limit_bytes) as stream:
            X, y, queries = load_svmlight_file(_Lines(stream), dtype=np.float64, query_id=True)
    except (ValueError, OverflowError, IndexError) as error:
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(
            f"{source!r} is not in LIBSVM format: {_first_bad_line(source, limit_bytes) or error}. "
            "Each line is 'label index:value index:value ...' with ascending indices."
        ) from error
    if X.shape[0] == 0:
        raise DataFileError(f"{source!r} holds no samples; each line is one.")
    if not np.isfinite(X.data).all():
        at = int(np.flatnonzero(~np.isfinite(X.data))[0])
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        raise InvalidDataError(
            f"{source!r}: sample {row} has {X.data[at]} for feature {int(X.indices[at])} (both "
            "counted from 0); impute missing values, or drop the sample."
        )
    if max(np.max(np.abs(X.data), initial=0.0), np.max(np.abs(y))) >= EXACT:
        y = _exact_labels(source, limit_bytes)
    return sp.csr_array(X), text.narrowest(y, source), queries if len(queries) == len(y) else None


class _Lines:
    """The lines of a LIBSVM file, for scikit-learn, which would read 1_0 as 10."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self) -> NoReturn:  # what scikit-learn recognises files by
        raise NotImplementedError

    def __iter__(self) -> Iterator[bytes]:
        for line in self._stream:
            if b"_" in line.partition(b"#")[0]:
                raise ValueError("numbers have no underscores")
            yield line


def _tokens(source: str, limit_bytes: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the words of every line with a sample, with the number of the line."""
    with text.lines(source, limit_bytes) as stream:
        for number, line in enumerate(stream, 1):
            tokens = line.partition("#")[0].split()
            if tokens:
                yield number, tokens


def _exact_labels(source: str, limit_bytes: int) -> Labels:
    """Read the label of every line of a LIBSVM file, as it is written.

    Raises
    ------
    InvalidDataError
        A feature that is an integer that float64 would round.
    """
    labels = list[str]()
    for number, (label, *entries) in _tokens(source, limit_bytes):
        labels.append(label)
        for entry in entries:
            index, _, value = entry.partition(":")
            rounded = first_rounded([value], [float(value)])
            if index != "qid" and rounded is not None:
                raise InvalidDataError(
                    f"{source!r} line {number}, feature {index} is {rounded.value}, "
                    f"{rounded.problem}"
                )
    return np.array(labels)


def _first_bad_line(source: str, limit_bytes: int) -> str:
    """Describe the first malformed line of a LIBSVM file; scikit-learn does not name it."""
    for number, tokens in _tokens(source, limit_bytes):
        if not is_number(tokens[0]):
            return f"line {number} begins with {tokens[0]!r}, which is not a numeric label"
        last = -1
        for token in tokens[1:]:
            index, colon, value = token.partition(":")
            if index == "qid":
                if not (is_number(value) and abs(float(value)) < 2**63):
                    return f"line {number} has {token!r}, which is no integer of 64 bits"
                continue
            if not (colon and index.isdigit() and is_number(value)):
                return f"line {number} has {token!r}, which is not index:value"
            if int(index) <= last:
                return f"line {number} has index {index} after {last}"
            last = int(index)
    return ""
