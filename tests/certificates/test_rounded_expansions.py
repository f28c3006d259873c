"""Bounds hold where an offset of the samples multiplies the rounding of the expansion ``R'a``."""

from fractions import Fraction

import numpy as np

import qpsvm

X = 7e4 + np.array([[-0.25, -0.25], [-0.25, 0.25], [-2.0, 0.0]])


def exact_dual(problem, alpha):
    """``p'a - 1/2 |X'R'a|^2`` in rational numbers."""
    c = problem.model.conditions
    R = c.rows.toarray()
    a = [Fraction(float(v)) for v in alpha]
    beta = [
        sum((Fraction(float(R[k, i])) * a[k] for k in range(len(a))), Fraction(0))
        for i in range(R.shape[1])
    ]
    w = [
        sum((beta[i] * Fraction(float(x)) for i, x in enumerate(column)), Fraction(0))
        for column in problem.data.X.T
    ]
    linear = sum((Fraction(float(p)) * v for p, v in zip(c.required, a, strict=True)), Fraction(0))
    return linear - sum((v * v for v in w), Fraction(0)) / 2


def test_the_dual_objective_of_a_ranking_is_within_its_rounding():
    problem = qpsvm.Ranking(C=6551.0).dual(X, [2, 1, 0])
    solution = qpsvm.solve(problem, eps=1e-6)
    rng = np.random.default_rng(3)
    for _ in range(50):
        alpha = np.abs(solution.alpha * (1.0 + 0.1 * rng.standard_normal(len(solution.alpha))))
        proof = qpsvm.certify(problem, solution.replace(alpha=alpha))
        point = proof.evaluation.point.alpha
        error = abs(Fraction(proof.dual_objective) - exact_dual(problem, point))
        assert float(error) <= proof.rounding * abs(proof.primal_objective)
