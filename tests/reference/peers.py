"""Machines of scikit-learn, and what they are in our terms.

LIBSVM solves scaled programs: its alpha, w and b are ``factor`` times ours (see
``docs/formulations.md`` for where each factor comes from).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from qpsvm import EpsilonRegression, NuClassification, NuRegression, OneClass, SoftMargin, kernels
from tests.reference.bundled import bundled

TOL = 1e-10
"""Where LIBSVM stops; what is left of its error is its float32 cache."""


def diabetes(n=150):
    """The first n rows, features and targets standardised."""
    X, y = datasets.load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X)[:n], scale(y)[:n]


def flowers():
    """Iris as it is: all features are positive, so that the origin is outside."""
    return datasets.load_iris(return_X_y=True)[0], None


def unequal(n, seed=0):
    """Sample weights between 1/5 and 5."""
    return 5.0 ** np.random.default_rng(seed).uniform(-1.0, 1.0, n)


KERNELS = {
    "linear": (kernels.Linear(), {"kernel": "linear"}),
    "rbf": (kernels.RBF(), {"kernel": "rbf"}),
    "polynomial": (
        kernels.Polynomial(gamma=0.1, degree=3, coef0=1.0),
        {"kernel": "poly", "gamma": 0.1, "coef0": 1.0},
    ),
    "laplacian": ("precomputed", {"kernel": "precomputed"}),
}


@dataclass(frozen=True)
class Peer:
    """One of scikit-learn's machines, and the formulation that is the same machine."""

    formulation: Callable[[float], Any]  # total weight -> formulation
    model: Callable[..., Any]
    data: Callable[[], tuple[Any, Any]]
    factor: Callable[[Any, float], float] = lambda _, total: 1.0  # noqa: ARG005

    def solved(self, kernel, options, weights=None):
        """(problem, their fitted model, X, factor)."""
        X, y = self.data()
        if kernel == "precomputed":
            X = laplacian_kernel(X)
        total = float(len(X) if weights is None else np.sum(weights))
        problem = self.formulation(total).dual(X, y, kernel=kernel, sample_weight=weights)
        model = self.model(tol=TOL, **options).fit(X, y, sample_weight=weights)
        return problem, model, X, self.factor(model, total)


NU = 0.3
PEERS = {
    "SVC": Peer(
        lambda _: SoftMargin(2.0), lambda **o: SVC(C=2.0, **o), lambda: bundled("wine 1-2")
    ),
    "NuSVC": Peer(
        lambda _: NuClassification(NU),
        lambda **o: NuSVC(nu=NU, **o),
        lambda: bundled("iris 1-2"),
        # 1'alpha = nu, divided by rho: their sum is nu / rho
        lambda model, _: float(np.sum(np.abs(model.dual_coef_))) / NU,
    ),
    "SVR": Peer(
        lambda _: EpsilonRegression(2.0, 0.3), lambda **o: SVR(C=2.0, epsilon=0.3, **o), diabetes
    ),
    "NuSVR": Peer(
        lambda total: NuRegression(NU, C=2.0 * total),
        lambda **o: NuSVR(C=2.0, nu=NU, **o),
        diabetes,
    ),
    "OneClassSVM": Peer(
        lambda _: OneClass(NU),
        lambda **o: OneClassSVM(nu=NU, **o),
        flowers,
        lambda _, total: NU * total,
    ),
}


def in_our_terms(problem, ours, model, factor):
    """A fitted machine of LIBSVM as a solution of our problem: its alpha and intercept."""
    signed = np.zeros(problem.data.n_samples)
    signed[model.support_] = np.ravel(model.dual_coef_) / factor
    if len(problem.model.conditions) == 2 * len(signed):
        alpha = np.concatenate([np.maximum(signed, 0.0), np.maximum(-signed, 0.0)])
    else:
        alpha = np.abs(signed)
    width = 1.0 / factor if isinstance(problem.formulation, NuClassification) else 0.0
    theirs = ours.replace(
        alpha=alpha,
        expansion=signed,
        coef=problem.model.coef(signed),
        intercept=float(np.ravel(model.intercept_)[0]) / factor,
        width=width,
    )
    if not isinstance(problem.formulation, NuRegression):
        return theirs
    # LIBSVM does not tell the width of the tube: the best one is one of the deviations
    deviations = np.abs(problem.data.values - theirs.decision_function(problem.data.X))
    options = [theirs.replace(width=t) for t in [0.0, *deviations]]
    model = problem.model
    return min(options, key=lambda s: model.primal_objective(model.decision_values(s)))
