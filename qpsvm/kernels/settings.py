"""Settings of the evaluation of kernel matrices: sizes of pieces, and dense copies of samples."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelSettings:
    """Settings of products of samples and of the passes over kernel values, which users cannot set.

    None changes a kernel value by more than the bounds of ``kernels.errors``.

    Attributes
    ----------
    finished_bytes : int
        Bytes of kernel values that are finished at a time: two such arrays stay in a core's cache.
    pieces_of_square : int
        Pieces of rows that a symmetric matrix has, at least. The square on the diagonal of each is
        evaluated twice; with eight pieces that is an eighth of the matrix.
    smallest_piece : int
        Rows of such a piece, at least: a product of fewer rows takes as long.
    largest_piece_bytes : int
        Bytes of such a piece, at most, where ``smallest_piece`` allows: it is mirrored while it is
        in the cache.
    dense_up_to : int
        Columns for every entry of a row, up to which products of dense arrays are faster.
    largest_copy_bytes : int
        Bytes of a dense copy of sparse samples, at most.
    far : float
        Sum of the halved squared norms of two scaled samples up to which their exponent
        ``u'v - |u|^2/2 - |v|^2/2`` is accurate enough; beyond it, differences are taken.
    negligible : float
        Exponents below minus that need no digits: exp(-60) is 9e-27.
    most_digits : int
        Digits that a sample is cut into, at most; 24 reach from 1e-60 to 1e60.
    precise_exponent : float
        Absolute error of exponents that are evaluated with digits to spare, at most.
    precise_product : float
        Error of inner products that are evaluated with digits to spare, at most, relative to the
        square of the largest entry of a sample.
    precise_columns : int
        Terms that are added up at a time: of more, fewer leading digits would be exact.
    precise_bytes : int
        Bytes of such values that are evaluated at a time: about ten such arrays are in use.
    """

    finished_bytes: int = 2**19
    pieces_of_square: int = 8
    smallest_piece: int = 128
    largest_piece_bytes: int = 2**21
    dense_up_to: int = 12
    largest_copy_bytes: int = 2**30
    far: float = 64.0
    negligible: float = 60.0
    most_digits: int = 24
    precise_exponent: float = 2.0**-56
    precise_product: float = 2.0**-84
    precise_columns: int = 512
    precise_bytes: int = 2**18


EVALUATION = KernelSettings()
"""Settings that every kernel matrix is evaluated with."""
