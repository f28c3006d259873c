"""Small data sets and formulations that paths are tested on."""

from __future__ import annotations

import numpy as np

import qpsvm

N = 40
_RNG = np.random.default_rng(1)
X = _RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + _RNG.normal(0.0, 0.7, N) > 0.0, 1, -1)
T = X[:, 1] + np.sin(2.0 * X[:, 0]) + _RNG.normal(0.0, 0.1, N)

RANGES = {
    "hinge": ("C", qpsvm.SoftMargin(), Y, 0.01, 100.0),
    "no intercept": ("C", qpsvm.SoftMargin(intercept="none"), Y, 0.01, 100.0),
    "penalized intercept": ("C", qpsvm.SoftMargin(intercept="penalized"), Y, 0.01, 100.0),
    "class weights": ("C", qpsvm.SoftMargin(class_weight={-1: 2.0}), Y, 0.01, 100.0),
    "regression over C": ("C", qpsvm.EpsilonRegression(), T, 0.01, 100.0),
    "regression over epsilon": ("epsilon", qpsvm.EpsilonRegression(C=5.0), T, 0.01, 1.0),
    "quantile": ("C", qpsvm.QuantileRegression(tau=0.3), T, 0.01, 100.0),
    "nu": ("nu", qpsvm.NuClassification(), Y, 0.1, 0.7),
    "nu regression": ("nu", qpsvm.NuRegression(C=10.0), T, 0.1, 0.9),
    "nu regression over C": ("C", qpsvm.NuRegression(nu=0.3), T, 0.1, 100.0),
    "one class": ("nu", qpsvm.OneClass(), None, 0.1, 0.9),
    "ball": ("C", qpsvm.DataDescription(), None, 0.05, 0.9),
}
"""Parameter, formulation, targets and range of every kind of exact path."""

_rows = np.repeat(np.arange(N // 4), 4)
_sides = np.where(np.arange(N) % 5 == 0, -Y[_rows], Y[_rows])
_wide = np.random.default_rng(2).normal(size=(12, 30))
DEGENERATE = {
    "copies": (X[_rows], Y[_rows]),
    "copies in both classes": (X[_rows], _sides),
    "a grid": (np.round(X), Y),
    "separable": (X + 3.0 * Y[:, None], Y),
    "wide": (_wide, np.where(np.arange(12) % 2, 1, -1)),
    "constant features": (np.hstack([X, np.ones((N, 2))]), Y),
    "one free vector": (np.array([[0.0], [1.0], [2.0], [3.0], [1.5]]), [-1, 1, -1, 1, 1]),
    "balanced": (np.array([[-2.0], [-1.0], [1.0], [2.0]]), [-1, -1, 1, 1]),
    "two samples": (np.array([[0.0], [1.0]]), [-1, 1]),
    "all samples equal": (np.zeros((6, 2)), [-1, 1, -1, 1, 1, 1]),
}
"""Data whose active sets are dependent, empty, or change in many places at once."""


def between(low: float, high: float, count: int, seed: int = 0) -> list[float]:
    """Random values in a range, uniform in the logarithm."""
    shares = np.random.default_rng(seed).uniform(0.0, 1.0, count)
    return (low * (high / low) ** shares).tolist()
