"""Estimators of every class and kernel, with data that they are fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import datasets

from qpsvm.constraints import LinearConstraints, fairness_band, nonnegative
from qpsvm.estimators import (
    SVC,
    SVDD,
    SVR,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
    SVMRanker,
)
from qpsvm.kernels import RBF

_IRIS, _CODES = datasets.load_iris(return_X_y=True)
IRIS, CODES = _IRIS[::5], _CODES[::5]
NAMED = np.array(["a", "b", "c"])[CODES]
TWO = np.where(CODES == 2, 1, CODES)
SUGAR, PROGRESS = (part[:40] for part in datasets.load_diabetes(return_X_y=True))
SUGAR, PROGRESS = 20.0 * SUGAR + 1.0, PROGRESS / 50.0
GROUPS = np.arange(20) // 10
WEIGHTS = np.linspace(0.5, 2.0, len(IRIS))
WEIGHTS[3] = 0.0


@dataclass(frozen=True)
class Case:
    """An estimator, its training data and other samples to predict."""

    estimator: Any
    X: Any
    y: Any
    new: Any
    fit: dict[str, Any]

    def fitted(self) -> Any:
        return self.estimator.fit(self.X, self.y, **self.fit)


def of_kernel(kernel: Any) -> dict[str, Case]:
    """A case for every kernel estimator, by name."""
    given = kernel == "precomputed"
    more = {"kernel": kernel} | ({"indefinite": "clip"} if kernel == "sigmoid" else {})

    def case(estimator: Any, X: Any, y: Any, **fit: Any) -> Case:
        new = X[::-1] * 1.1
        return Case(estimator, *((X @ X.T, y, new @ X.T) if given else (X, y, new)), fit)

    cases = {
        f"SVC {way}": case(SVC(multi_class=way, class_weight="balanced", **more), IRIS, NAMED)
        for way in ("ovo", "ovr", "crammer_singer")
    }
    weighted = {"sample_weight": WEIGHTS}
    cases |= {
        "SVC two": case(SVC(class_weight={1: 2.0}, **more), IRIS, TWO, **weighted),
        "SVC ovo ties": case(
            SVC(break_ties=True, decision_function_shape="ovr", **more), IRIS, CODES, **weighted
        ),
        "SVR": case(SVR(C=10.0, **more), SUGAR, PROGRESS),
        "NuSVR": case(NuSVR(**more), SUGAR, PROGRESS, sample_weight=2.0),
        "QuantileSVR": case(QuantileSVR(quantile=0.8, **more), SUGAR, PROGRESS),
        "OneClassSVM": case(OneClassSVM(**more), SUGAR, None),
    }
    if not given:  # a matrix does not have k(x, x) of new samples
        cases["SVDD"] = case(SVDD(**more), SUGAR, None)
    if kernel != "sigmoid":  # nearly singular after the repair
        votes = NuSVC(nu=0.2, decision_function_shape="ovo", **more)
        cases["NuSVC ovo"] = case(votes, IRIS, CODES, **weighted)
        cases["NuSVC ovr"] = case(NuSVC(nu=0.6, multi_class="ovr", **more), IRIS, NAMED)
        cases["SVMRanker"] = case(SVMRanker(**more), IRIS[:20], np.arange(20) % 3, groups=GROUPS)
    return cases


def linear() -> dict[str, Case]:
    """A case for every linear estimator, and for constraints, by name."""
    constraints = [
        nonnegative(0),
        fairness_band(1, 0.1),
        LinearConstraints(G=[[1.0, 0.0, 0.0, 0.0]], h=1.0),
    ]
    free = {"intercept_scaling": np.inf, "loss": "hinge"}
    cases = {
        "LinearSVC": (LinearSVC(), IRIS, NAMED),
        "LinearSVC joint": (LinearSVC(multi_class="crammer_singer"), IRIS, NAMED),
        "LinearSVC 1-norm": (LinearSVC("l1", **free), IRIS, NAMED),
        "LinearSVC constrained": (LinearSVC(constraints=constraints), IRIS, TWO),
        "LinearSVR": (LinearSVR(), SUGAR, PROGRESS),
        "LinearSVR none": (LinearSVR(fit_intercept=False), SUGAR, PROGRESS),
    }
    return {n: Case(e, X, y, X[::-1] * 1.1, {}) for n, (e, X, y) in cases.items()}


KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed", RBF(0.3))
ALL = {(str(kernel), name): case for kernel in KERNELS for name, case in of_kernel(kernel).items()}
ALL |= {("linear", name): case for name, case in linear().items()}
