"""Verification ends with a verdict where the squares of the features are denormal."""

import warnings

import numpy as np

import qpsvm


def test_a_machine_of_zeros_is_refused_without_an_error():
    X = 2e-162 * np.array([[1.0], [2.0], [-1.0], [-2.0]])
    problem = qpsvm.NuClassification(nu=0.5, intercept="penalized").dual(X, [1, 1, -1, -1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
        solution = qpsvm.solve(problem)
    zeros = solution.replace(alpha=np.zeros(4), coef=np.zeros(1), intercept=0.0)
    assert not qpsvm.verify(problem, zeros).passed
