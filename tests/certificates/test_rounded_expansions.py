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


def test_the_norm_of_a_hard_margin_is_within_its_rounding():
    """The terms of ``|w|^2`` cancel: it is a trillionth of their sum."""
    rng = np.random.default_rng(0)
    gamma = 2048.0
    x = rng.uniform(0.02, 0.04, size=30) * rng.choice([-1.0, 1.0], size=30)
    kernel = qpsvm.kernels.Polynomial(gamma=gamma, degree=3, coef0=0.0)
    problem = qpsvm.HardMargin(intercept="none").dual(x[:, None], np.sign(x), kernel=kernel)
    solution = qpsvm.solve(problem)
    cubes = [Fraction(float(v)) ** 3 for v in x]
    for _ in range(20):
        beta = 8000.0 * rng.standard_normal(30)
        rest = sum(
            (Fraction(float(b)) * c for b, c in zip(beta[1:], cubes[1:], strict=True)), Fraction(0)
        )
        target = Fraction(1) / (Fraction(gamma) ** 3 * min(abs(c) for c in cubes)) / 20
        beta[0] = float((target - rest) / cubes[0])
        mutant = solution.replace(alpha=np.sign(x) * beta, expansion=beta)
        proof = qpsvm.certify(problem, mutant)
        u = sum((Fraction(float(b)) * c for b, c in zip(beta, cubes, strict=True)), Fraction(0))
        margin = min(Fraction(1), Fraction(gamma) ** 3 * u * min(abs(c) for c in cubes))
        exact = Fraction(gamma) ** 3 * u * u / 2 / margin**2
        error = abs(Fraction(proof.primal_objective) - exact)
        assert float(error) <= proof.rounding * abs(proof.primal_objective)
        assert not qpsvm.verify(problem, mutant, eps=1e-8).passed
