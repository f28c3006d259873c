"""Machines along C over one kernel matrix: optimal, proven, and the same bits whatever the lot."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.paths import PathSettings, svm_path
from qpsvm.paths.program import parametric_program
from qpsvm.paths.sequences import KernelProducts, OneMatrix
from qpsvm.paths.training import Training
from qpsvm.qp.solution import Status
from tests.paths.cases import RANGES, T, X, Y
from tests.paths.sequences import VALUES, require_optimal

DEFAULTS = PathSettings()
SERVED = ("hinge", "class weights", "regression over C", "quantile")


def prepared(case, settings=DEFAULTS):
    over, formulation, y, low, high = RANGES[case]
    training = Training.of(X, y, kernel="rbf", over=over, formulation=formulation)
    return training, OneMatrix.of(training, parametric_program(training, low, high), settings)


@pytest.mark.parametrize("case", SERVED)
def test_machines_are_those_of_independent_solves(case) -> None:
    require_optimal(*prepared(case))


@pytest.mark.parametrize("case", sorted(set(RANGES) - set(SERVED)))
def test_other_programs_are_not_served(case) -> None:
    assert prepared(case)[1] is None


def test_neither_are_matrices_that_may_not_be_kept() -> None:
    assert prepared("hinge", PathSettings(kept_bytes=8 * len(X) ** 2))[1] is not None
    assert prepared("hinge", PathSettings(kept_bytes=8 * len(X) ** 2 - 1))[1] is None


@pytest.mark.parametrize("lot", [1, 5, 12])
def test_bits_do_not_depend_on_what_is_verified_at_a_time(lot) -> None:
    first, second = (
        svm_path(
            X, T, values=VALUES, formulation=qpsvm.EpsilonRegression(), exact=False, **settings
        )
        for settings in ({}, {"settings": PathSettings(sequence_lot=lot)})
    )
    for one, other in zip(first.solutions, second.solutions, strict=True):
        np.testing.assert_array_equal(one.alpha, other.alpha)
        assert one.intercept == other.intercept
    np.testing.assert_array_equal(first.relative_gaps, second.relative_gaps)


def test_a_machine_that_is_not_optimal_is_solved() -> None:
    settings = PathSettings(sequence_share=1e5)
    path = svm_path(X, Y, values=VALUES, exact=False, eps=1e-6, settings=settings)
    asked = [solution.qp.statistics.backend for solution in path.solutions]
    assert any(asked)
    assert {solution.status for solution in path.solutions} == {Status.OPTIMAL}
    assert max(path.relative_gaps) <= 1e-6


def test_a_callback_ends_a_lot() -> None:
    path = svm_path(X, Y, values=VALUES, exact=False, callback=lambda C, _: C < 0.1)
    assert len(path.solutions) == np.count_nonzero(VALUES < 0.1) + 1


def test_known_products_are_those_of_the_matrix() -> None:
    gram = prepared("hinge")[0].gram[0].gram
    rng = np.random.default_rng(3)
    vectors, others = rng.normal(size=(2, len(X), 3))
    known = KernelProducts.of(gram, vectors)
    for k, own in enumerate(vectors.T):
        multiply, size = known.multiply(k), np.abs(own)[:, None]
        exact = gram.products_and_sizes(others, size)
        for one, other in zip(multiply(others, size), exact, strict=True):
            np.testing.assert_array_equal(one, other)
        found, terms = multiply(own[:, None], size)
        np.testing.assert_array_equal(found, gram.products(own[:, None]))
        assert (terms >= gram.products(size)).all()
        np.testing.assert_allclose(terms, gram.products(size), rtol=1e-12)
