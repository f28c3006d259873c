"""Support vectors in model files: lines after ``SV`` of coefficients and ``index:value`` pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.audits.files.header import INT32_MAX
from qpsvm.audits.files.text_file import (
    END,
    NUMBER,
    TextFile,
    is_finite_number,
    shown,
    words,
)
from qpsvm.numerics.arrays import Dense, Index, Mask, Sparse, Vector, freeze

_PAIR = re.compile(rb"\d{1,10}:(" + NUMBER + rb")")

Number = TypeVar("Number", bound=np.generic)


class SupportVectors(NamedTuple):
    """The support vectors and coefficients of a model file.

    Attributes
    ----------
    coefficients : array of shape (n, m)
    vectors : CSR array of shape (n, d) or None
    zero_based : bool
        Whether an index is 0, so that column j of ``vectors`` has the index j and not j + 1.
    serials : array of int of shape (n,) or None
        For a precomputed kernel.
    """

    coefficients: Dense
    vectors: Sparse | None
    zero_based: bool
    serials: Index | None


class _Block(NamedTuple):
    """Parsed lines: coefficients, and the pairs of all lines with ``lengths`` pairs per line."""

    line: int
    coefficients: Dense
    lengths: Index
    indices: npt.NDArray[np.int64]
    values: Vector


def read(
    file: TextFile, start: int, line: int, n: int, m: int, precomputed: bool
) -> SupportVectors:
    """Read exactly n lines with m coefficients each, up to the end of the file.

    Parameters
    ----------
    file : TextFile
    start, line : int
        Byte and line where they begin.
    n, m : int
        At most as many as the file has room for.
    precomputed : bool
        Whether each line has one pair ``0:serial``.

    Raises
    ------
    ModelFileError
        As ``read_libsvm``.
    """
    blocks = []
    for first, text in file.blocks(start, line):
        lines = text.split(b"\n")[:-1]
        if first + len(lines) > line + n:
            raise file.refusal(
                line + n, f"total_sv is {n:,}, and here is another line after that many"
            )
        blocks.append(_block(file, first, lines, text, m))
    found = sum(len(block.coefficients) for block in blocks)
    if found < n:
        raise file.refusal(
            line + found, f"total_sv is {n:,}, and the file ends after {found:,} support vectors"
        )
    for block in blocks:
        (_require_serial if precomputed else _require_ascending)(file, block)
    coefficients = _joined([np.zeros((0, m)), *(block.coefficients for block in blocks)])
    values = _joined([np.zeros(0), *(block.values for block in blocks)])
    if precomputed:
        return SupportVectors(coefficients, None, False, freeze(values.astype(np.intp)))
    indices = _joined([np.zeros(0, np.int64), *(block.indices for block in blocks)])
    zero_based = bool((indices == 0).any())
    columns = indices if zero_based else indices - 1
    lengths = _joined([np.zeros(1, np.int64), *(block.lengths for block in blocks)])
    shape = (n, int(columns.max(initial=0)) + 1)
    vectors = sp.csr_array((values, columns.astype(np.int32), np.cumsum(lengths)), shape=shape)
    return SupportVectors(coefficients, freeze(vectors), zero_based, None)


def _block(file: TextFile, first: int, lines: list[bytes], text: bytes, m: int) -> _Block:
    good = re.compile(
        rb"(?:[ \t]*+" + NUMBER + END + rb"){%d}(?:[ \t]++\d{1,10}+:" % m
        + NUMBER + END + rb")*+[ \t]*+"
    )  # fmt: skip
    for i, line in enumerate(lines):
        if not good.fullmatch(line):
            _require_line(file, first + i, line, m)
    numbers = file.converted(text, first)
    if not np.isfinite(numbers).all():
        for i, line in enumerate(lines):
            _require_line(file, first + i, line, m)
    lengths = np.array([line.count(b":") for line in lines], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(2 * lengths + m)[:-1]])
    own = starts[:, None] + np.arange(m)
    is_pair = np.ones(len(numbers), dtype=bool)
    is_pair[own] = False
    pairs = numbers[is_pair].reshape(-1, 2)
    return _Block(first, numbers[own], lengths, pairs[:, 0].astype(np.int64), pairs[:, 1].copy())


def _require_line(file: TextFile, number: int, line: bytes, m: int) -> None:
    """Raise ModelFileError if a line is malformed."""
    found = 0
    for found, word in enumerate(words(line), 1):
        if found <= m:
            if not is_finite_number(word):
                raise file.refusal(
                    number, f"coefficient {found} is {shown(word)}, not a finite decimal number"
                )
            continue
        pair = _PAIR.fullmatch(word)
        if not pair or not is_finite_number(pair[1]):
            raise file.refusal(
                number, f"{shown(word)} is not index:value with a finite decimal number"
            )
    if found < m:
        raise file.refusal(number, f"it has {found} of {m} coefficients")


def _require_ascending(file: TextFile, block: _Block) -> None:
    begins = np.zeros(len(block.indices) + 1, dtype=bool)
    begins[np.cumsum(block.lengths) - block.lengths] = True
    before = np.concatenate([[-1], block.indices[:-1]])
    before[begins[:-1]] = -1
    for at in _first((block.indices <= before) | (block.indices > INT32_MAX)):
        index, last = int(block.indices[at]), int(before[at])
        what = f"index {index} comes after {last}; indices ascend"
        if index > INT32_MAX:
            what = f"index {index} is beyond {INT32_MAX}"
        raise file.refusal(_line_of_pair(block, at), what)


def _require_serial(file: TextFile, block: _Block) -> None:
    for i in _first(block.lengths != 1):
        raise file.refusal(
            block.line + i,
            f"it has {int(block.lengths[i])} pairs; with a precomputed kernel there is one, "
            "0:serial",
        )
    whole = (block.values == np.round(block.values)) & (block.values <= INT32_MAX)
    for i in _first((block.indices != 0) | ~whole | (block.values < 1)):
        raise file.refusal(
            block.line + i,
            f"'{int(block.indices[i])}:{block.values[i]:g}' is not 0:serial with the number of a "
            "training sample, counted from 1",
        )


def _first(bad: Mask) -> Iterator[int]:
    """Yield the index of the first true entry, if any."""
    yield from np.flatnonzero(bad)[:1].tolist()


def _line_of_pair(block: _Block, at: int) -> int:
    return block.line + int(np.searchsorted(np.cumsum(block.lengths), at, side="right"))


def _joined(parts: list[npt.NDArray[Number]]) -> npt.NDArray[Number]:
    return np.concatenate(parts)
