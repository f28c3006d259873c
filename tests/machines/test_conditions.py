"""Products with the matrix R of conditions are those of the matrix, however R is multiplied."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from qpsvm.machines.conditions import ZERO, Conditions

N_SAMPLES = 6


def conditions(rows: np.ndarray) -> Conditions:
    """Hinge conditions with the given R."""
    return Conditions(sp.csr_array(rows), np.ones(len(rows)), ZERO, np.ones(1), ZERO)


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """R of the identity's kind, of one sample per row in any order, or of pairs of samples."""
    kind = draw(st.sampled_from(["in order", "one sample", "pairs"]))
    size = N_SAMPLES if kind == "in order" else draw(st.integers(1, 9))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = np.zeros((size, N_SAMPLES))
    first = np.arange(size) if kind == "in order" else random.integers(N_SAMPLES, size=size)
    rows[np.arange(size), first] = random.choice([-1.0, 1.0, 0.5], size)
    if kind == "pairs":
        rows[np.arange(size), (first + 1) % N_SAMPLES] = -1.0
    return rows


@given(matrices(), st.integers(0, 2**32))
def test_products_are_those_of_the_matrix(rows: np.ndarray, seed: int) -> None:
    """Sums and sizes of terms, by rows and by samples."""
    random, c = np.random.default_rng(seed), conditions(rows)
    values, alpha = random.standard_normal(N_SAMPLES), random.standard_normal(len(rows))
    assert c.row_sums(values) == pytest.approx(rows @ values, rel=1e-15, abs=1e-15)
    assert c.sample_sums(alpha) == pytest.approx(rows.T @ alpha, rel=1e-15, abs=1e-15)
    sizes, beside = np.abs(values), np.abs(alpha)
    assert c.row_sizes(sizes) == pytest.approx(np.abs(rows) @ sizes, rel=1e-15, abs=1e-15)
    assert c.sample_sizes(beside) == pytest.approx(np.abs(rows.T) @ beside, rel=1e-15, abs=1e-15)


@given(matrices())
def test_vectors_of_another_length_are_refused(rows: np.ndarray) -> None:
    """One entry is never repeated for all samples."""
    c = conditions(rows)
    for length in {1, len(rows) + 1, N_SAMPLES + 1} - {N_SAMPLES}:
        for product in (c.row_sums, c.row_sizes):
            with pytest.raises(ValueError, match=r"shape|mismatch"):
                product(np.ones(length))
    for length in {1, len(rows) + 1} - {len(rows)}:
        for product in (c.sample_sums, c.sample_sizes):
            with pytest.raises(ValueError, match=r"shape|mismatch"):
                product(np.ones(length))
