"""Many equal samples in chunks: the optimum is that of memory, and is proven."""

import dask
import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.chunked import chunked

FAMILIES = {
    "classification": qpsvm.SoftMargin(C=0.1),
    "quantile": qpsvm.QuantileRegression(C=0.1, tau=0.3),
    "tube": qpsvm.EpsilonRegression(C=0.1, epsilon=0.5),
}


@pytest.fixture(autouse=True)
def _threads():
    with dask.config.set(scheduler="threads"):
        yield


def repeated(name: str, weighted: bool):
    """A few hundred distinct samples, each about forty times, in random order."""
    rng = np.random.default_rng(3)
    distinct = rng.integers(-2, 3, (300, 3)).astype(float)
    targets = distinct @ [1.0, -2.0, 0.5] + rng.integers(-3, 4, 300)
    which = rng.integers(300, size=12_000)
    y = targets[which] > 0.0 if name == "classification" else targets[which]
    weights = rng.integers(1, 4, len(which)).astype(float) if weighted else None
    return distinct[which], y, weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, np.float32])
def test_equal_samples_have_the_optimum_of_memory(name, storage, weighted):
    family, (X, y, weights) = FAMILIES[name], repeated(name, weighted)
    problem = family.dual(chunked(storage(X), y, weights, rows=3_000))
    solution = qpsvm.solve(problem, eps=1e-9)
    assert qpsvm.verify(problem, solution, eps=1e-9).passed
    whole = family.dual(X, y, sample_weight=weights)
    exact = qpsvm.certify(whole, qpsvm.solve(whole, eps=1e-10))
    assert solution.certificate.primal_objective == pytest.approx(exact.primal_objective, rel=1e-9)


@pytest.mark.parametrize("nu", [0.35, 0.5])
def test_the_variables_of_equal_samples_add_up_to_enough(nu):
    """A pass adds up more conditions at a time than are undecided, and with more rounding."""
    rng = np.random.default_rng(5)
    distinct = rng.standard_normal((12, 2))
    which = rng.integers(12, size=600)
    y = distinct[which, 0] + 0.2 * rng.standard_normal(600) > 0.0
    weights = rng.uniform(1.0, 3.0, 600)
    problem = qpsvm.NuClassification(nu=nu).dual(chunked(distinct[which], y, weights, rows=600))
    solution = qpsvm.solve(problem, eps=1e-9)
    again = qpsvm.certify(problem, solution)
    assert again.rounding <= 16.0 * solution.certificate.rounding
    assert qpsvm.verify(problem, solution, eps=1e-9).passed
