"""Classes that hardly overlap, with rare samples far from the others: few passes suffice."""

import dask
import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.chunked.contents import ChunkSettings


@pytest.fixture(autouse=True)
def _threads():
    with dask.config.set(scheduler="threads"):
        yield


def far_samples(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two separable clouds, and one sample in two hundred that is far on the wrong side of them."""
    rng = np.random.default_rng(8)
    y = rng.random(n) < 0.5
    X = rng.standard_normal((n, 4))
    X[:, 0] += np.where(y, 4.0, -4.0)
    far = rng.random(n) < 0.005
    X[far, 0] *= -10.0
    X[far, 1] = np.where(y[far], 300.0, -300.0)
    return X, y


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_rare_samples_do_not_lead_astray(C, monkeypatch):
    few = ChunkSettings(sample_rows=200)
    monkeypatch.setattr("qpsvm.chunked.totals.CHUNKS", few)
    X, y = far_samples(20_000)
    problem = qpsvm.SoftMargin(C=C).dual(chunked(X, y, rows=3_000))
    solution = qpsvm.solve(problem, eps=1e-8)
    ends = np.cumsum([0, *problem.totals.n_rows_by_chunk])[:-1]
    listed = np.concatenate([k + own for k, own in zip(ends, solution.dual.numbers, strict=True)])
    centre = solution.dual.centre
    violated = 1.0 - np.where(y, 1.0, -1.0) * (X @ centre.coef + centre.intercept) > 1e-9
    assert np.isin(np.flatnonzero(violated), listed).all()
    assert solution.statistics.passes <= 8
    exact = qpsvm.solve(qpsvm.SoftMargin(C=C).dual(X, y), eps=1e-9)
    objective = qpsvm.certify(qpsvm.SoftMargin(C=C).dual(X, y), exact).primal_objective
    assert solution.certificate.primal_objective == pytest.approx(objective, rel=2e-8)
    assert qpsvm.verify(problem, solution).passed
