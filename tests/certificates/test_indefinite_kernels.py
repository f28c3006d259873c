"""Certificates of machines on kernel matrices that are barely indefinite."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm

E = 1e-6
K = np.array(
    [[1e6, 0.0, 0.0, 0.0], [0.0, 0.0, E, -2 * E], [0.0, E, 0.0, 0.0], [0.0, -2 * E, 0.0, 0.0]]
)
"""Its negative eigenvalues are small beside the largest entry, and large beside the diagonal."""
LABELS = np.array([1.0, 1.0, -1.0, -1.0])


@pytest.mark.parametrize("rigorous", [False, True])
def test_bounds_contain_the_optimum_beside_a_diagonal_of_zeros(rigorous: bool) -> None:
    problem = qpsvm.SoftMargin(C=1.0, intercept="none").dual(K, LABELS, kernel="precomputed")
    # the gradient of the dual is at least 1 - 3e-6 for all but the first sample: they are at C
    optimum = K @ (LABELS * np.array([1e-6, 1.0, 1.0, 1.0]))
    alpha = np.array([1e-6, 1.0, 1.0, 0.2])
    start = qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN, x=alpha)
    machine = problem.recover(start).replace(alpha=alpha, expansion=LABELS * alpha)
    certificate = qpsvm.certify(problem, machine, rigorous=rigorous)
    bounds = certificate.decision_bounds(K, squares=np.diag(K))
    assert (bounds.lower <= optimum).all()
    assert (optimum <= bounds.upper).all()
    labels = certificate.predict_certified(K, squares=np.diag(K))
    assert (labels.labels == np.sign(optimum))[labels.decided].all()


@pytest.mark.parametrize("several", [False, True], ids=["two classes", "several"])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_two_machines_of_one_problem_meet(several: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 8
    F = rng.normal(size=(n, 2)) * 10.0 ** rng.uniform(-4, 2, n)[:, None]
    noise = rng.normal(size=(n, n))
    gram = F @ F.T + 1e-11 * np.max(F) ** 2 * (noise + noise.T)
    y = np.arange(n) % (3 if several else 2)
    family = qpsvm.CrammerSinger(1.0, "none") if several else qpsvm.SoftMargin(1.0, "none")
    problem = family.dual(gram, y, kernel="precomputed")
    assert problem.model.negative_bound > 0.0
    machine = qpsvm.solve(problem, eps=1e-3)
    moved = machine.replace(alpha=0.7 * machine.alpha, expansion=0.7 * machine.expansion)
    bounds = [
        qpsvm.certify(problem, m, rigorous=True).decision_bounds(gram, squares=np.diag(gram))
        for m in (machine, moved)
    ]
    assert (np.maximum(bounds[0].lower, bounds[1].lower) <= bounds[0].upper).all()
    assert (np.maximum(bounds[0].lower, bounds[1].lower) <= bounds[1].upper).all()
