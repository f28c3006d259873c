"""Settings of the active-set method for kernel duals."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.solvers.box.settings import WorkingSetSettings


@dataclass(frozen=True)
class ActiveSetSettings(WorkingSetSettings):
    """Settings of the active-set method, backend ``"active-set"``; with those of working sets.

    Every field can be passed in ``options`` of ``qpsvm.solve``. None changes what the method may
    call optimal: gap and residuals of the whole program decide that.

    Attributes
    ----------
    memory_limit : int or None
        Bytes for kernel columns and matrices; None: a quarter of the machine's memory.
    column_memory_share : float
        Share of that memory for kernel columns; the rest is for matrices of working sets.
    gradient_checks : int
        Times that the gradient is recomputed with compensated sums, and working sets continue
        from there where it is too large.
    tightening : float
        Working sets end at this share of the gap asked for, and at this share of that after every
        recomputed gradient.
    smallest_chunked : int
        Samples from which chunking is tried.
    first_chunk : int
        Samples of the first chunk.
    largest_chunk : int
        Samples of a chunk, at most; parts are solved where more would be needed. Chunks that double
        evaluate columns of K for twice the samples of the last one, parts for those of one part.
    most_support : float
        Share of support vectors, in the first chunk, above which parts are solved instead.
    few_violations : float
        Chunking ends when no more samples violate their conditions than this share of the support
        vectors.
    max_chunks : int
        Chunks, at most; LIBSVM's answers are not exact, so that samples may leave and return.
    divisions : int
        Parts that the samples are divided into where working sets solve the parts.
    undivided_size : int
        Samples up to which working sets need no initial guess.
    decomposed_size : int
        Samples of a part that LIBSVM's decomposition solves.
    joint_size : int
        Support vectors of all parts that LIBSVM's decomposition solves together, at most.
    rough_share : float
        A part is solved by working sets to this share of the violation of its starting point.
    decomposition_tolerance : float
        LIBSVM's tolerance, in margins or spreads of the targets, and the violation with which a
        sample enters the next chunk.
    whole_tolerance : float
        The same in a program that is not divided into parts.
    decomposition_steps : int
        LIBSVM's iterations per sample, at most.
    steep_regression : float
        A regression whose samples at their bounds move a prediction by more than this many spreads
        of the targets is left to working sets, which are faster there.
    """

    memory_limit: int | None = None
    column_memory_share: float = 0.6
    gradient_checks: int = 3
    tightening: float = 0.1
    smallest_chunked: int = 800
    first_chunk: int = 400
    largest_chunk: int = 1500
    most_support: float = 0.3
    few_violations: float = 0.15
    max_chunks: int = 20
    divisions: int = 3
    undivided_size: int = 1500
    decomposed_size: int = 3000
    joint_size: int = 10_000
    rough_share: float = 0.02
    decomposition_tolerance: float = 0.1
    whole_tolerance: float = 0.01
    decomposition_steps: int = 30
    steep_regression: float = 10.0


DEFAULTS = ActiveSetSettings()


@dataclass(frozen=True)
class ColumnSettings:
    """Settings of cached kernel columns and of LIBSVM's runs, which users cannot set.

    Attributes
    ----------
    at_a_time : int
        Columns evaluated at a time: enough for a product of matrices, and no large array.
    often : int
        Uses after which a column is kept: to write into memory for the first time takes as long as
        to evaluate a kernel of few features, or longer.
    many_features : int
        Features of the samples from which a column is kept at its first use.
    smallest_set : int
        Variables of the smallest working set that still gets somewhere, and samples of the smallest
        part; memory for it is required.
    bytes_per_entry : int
        Memory for every entry of LIBSVM's matrix: itself, a row in single precision, and what is
        kept.
    widest_box : float
        Upper bound in place of an infinite one, in units of what moves a margin by one.
    same_cost : float
        Costs that are no further apart, as a share of the largest, are the same up to rounding.
    largest_single : float
        Entries of K that are neither too large nor, one over it, too small for single precision.
    seed : int
        Of the order in which samples are divided; any does.
    """

    at_a_time: int = 256
    often: int = 2
    many_features: int = 200
    smallest_set: int = 256
    bytes_per_entry: int = 16
    widest_box: float = 1e4
    same_cost: float = 1e-12
    largest_single: float = 1e30
    seed: int = 0


COLUMNS = ColumnSettings()
"""Settings of kernel columns that every solve uses."""
