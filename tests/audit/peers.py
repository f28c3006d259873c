"""Fitted models of other libraries on real data, and what textbooks say of each.

Nothing here asks qpsvm: the objective of a model is computed from its own predictions and weights
with the formulas of ``tests.families``, the optimum by PIQP (through qpsolvers) from the textbook's
dense dual, for several classes in one program by CVXPY.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
import qpsolvers
import scipy.sparse as sp
from sklearn import datasets, metrics
from sklearn.linear_model import SGDClassifier, SGDOneClassSVM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

from qpsvm import EpsilonRegression, NuClassification, NuRegression, OneClass, SoftMargin
from tests import families
from tests.families import Data, Machine

FORMULAS = {
    SoftMargin: (families.soft_margin_cost, families.soft_margin_dual),
    NuClassification: (families.nu_classification_cost, families.nu_classification_dual),
    EpsilonRegression: (families.tube_cost, families.tube_dual),
    NuRegression: (families.nu_regression_cost, families.nu_regression_dual),
    OneClass: (families.one_class_cost, families.one_class_dual),
}
GAMMA = 0.05
RBF = {"kernel": "rbf", "gamma": GAMMA}


@dataclass(frozen=True)
class Truth:
    """What is so of one machine: its decision values, its objective, and the best there is."""

    values: Any
    objective: float
    optimum: float


@dataclass(frozen=True)
class Peer:
    """One kind of model on one set.

    ``fit`` takes the data and a tolerance; ``truths`` says what is so of every machine of it.
    ``stops`` are a tolerance that is not good enough for ``eps``, and one that is (None: there is
    none, stochastic descent gets nowhere near).
    """

    name: str
    data: Callable[[], tuple[Any, Any, Any]]
    fit: Callable[[Any, Any, Any, float], Any]
    truths: Callable[[Any, Any, Any, Any], list[Truth]]
    stops: tuple[float, float | None] = (0.1, 1e-10)
    eps: float = 1e-5

    def __repr__(self) -> str:
        return self.name


# --- data -----------------------------------------------------------------------------------------


def unequal(n: int, zeros: int = 0) -> Any:
    """Sample weights between 1/3 and 3, the last few zero."""
    u = 3.0 ** np.random.default_rng(4).uniform(-1.0, 1.0, n)
    u[n - zeros :] = 0.0
    return u


def cancer(n: int = 200) -> Any:
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:n], np.array(["malignant", "benign"])[y[:n]]


def iris() -> Any:
    X, y = datasets.load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return StandardScaler().fit_transform(X)[order], y[order]


def wine() -> Any:
    X, y = datasets.load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def diabetes(n: int = 120) -> Any:
    X, y = datasets.load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X)[:n], (y[:n] - 150.0) / 80.0


def flowers() -> Any:
    X, _ = datasets.load_iris(return_X_y=True)
    return X, None


def plain(load: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: (*load(), None)


def weighted(load: Callable[[], Any], zeros: int = 0) -> Callable[[], Any]:
    return lambda: (*load(), unequal(len(load()[0]), zeros))


# --- truth ----------------------------------------------------------------------------------------


def truth(
    family: Any,
    K: Any,
    y: Any,
    u: Any,
    square: float,
    values: Any,
    b: float,
    *,
    factor: float = 1.0,
    t: float = 0.0,
    bias: float | None = None,
) -> Truth:
    """Of a machine with ``factor`` times the program's w and b; b is the weight of ``bias``."""
    cost, dual = FORMULAS[type(family)]
    data, b = Data(K, y), b / factor
    machine = Machine(square / factor**2, values / factor, b, t, np.diag(K))
    objective = cost(family, data, u, machine)
    if bias is not None:
        objective += (b / bias) ** 2 / 2 if bias else 0.0
        K = K + bias**2
    return Truth(values, float(objective), minimum(dual(family, data, u, K), free=bias is None))


def minimum(dual: Any, *, free: bool) -> float:
    """The optimum of the primal, by PIQP from the dual program."""
    n = len(dual.q)
    rows = {"G": dual.G, "h": dual.h} if len(dual.h) else {}
    if free:
        rows |= {"A": dual.A, "b": np.asarray(dual.b)}
    x = qpsolvers.solve_qp(
        dual.P + 1e-13 * np.eye(n),
        dual.q,
        **rows,
        lb=np.array(dual.lower, dtype=float),
        ub=np.array(dual.upper, dtype=float),
        solver="piqp",
        eps_abs=1e-11,
        eps_rel=1e-12,
        max_iter=500,
    )
    return -float(0.5 * x @ dual.P @ x + dual.q @ x)


def gram_of(model: Any, X: Any) -> Any:
    if model.kernel == "precomputed":
        return X
    if callable(model.kernel):
        return model.kernel(X, X)
    options = {"gamma": model._gamma}
    if model.kernel == "poly":
        options |= {"degree": model.degree, "coef0": model.coef0}
    return metrics.pairwise_kernels(
        X, metric=model.kernel, **({} if model.kernel == "linear" else options)
    )


def pairs(family: Callable[[Any, float], Any]) -> Callable[..., list[Truth]]:
    """Of ``SVC`` and ``NuSVC``: one machine per pair of classes."""

    def truths(model: Any, X: Any, y: Any, u: Any) -> list[Truth]:
        K, u = gram_of(model, X), np.ones(len(y)) if u is None else u
        model.decision_function_shape = "ovo"
        values = model.decision_function(X).reshape(len(y), -1)
        coefficients = model.dual_coef_
        coefficients = coefficients.toarray() if sp.issparse(coefficients) else coefficients
        if not isinstance(model, NuSVC):
            u = u * model.class_weight_[np.searchsorted(model.classes_, y)]
        two = len(model.classes_) == 2
        found = []
        for p, (i, j) in enumerate(itertools.combinations(range(len(model.classes_)), 2)):
            a, b = model.classes_[[i, j]]
            beta, label = np.zeros(len(y)), y[model.support_]
            for own, row in ((a, j - 1), (b, i)):
                rows = model.support_[label == own]
                beta[rows] = coefficients[row, label == own]
            s = np.where(y == (b if two else a), 1.0, -1.0)
            own = ((y == a) | (y == b)) & (u > 0.0)
            factor, t = 1.0, 0.0
            if isinstance(model, NuSVC):
                factor = np.sum(np.abs(beta)) / model.nu
                t = 1.0 / factor
            found.append(
                truth(
                    family(model, u[own].sum()),
                    K[np.ix_(own, own)],
                    s[own],
                    u[own],
                    beta @ K @ beta,
                    values[own, p],
                    model.intercept_[p],
                    factor=factor,
                    t=t,
                )
            )
        return found

    return truths


def single(
    family: Callable[[Any, float], Any], factor: Callable[[Any, float], float] = lambda *_: 1.0
) -> Callable[..., list[Truth]]:
    """Of ``SVR``, ``NuSVR`` and ``OneClassSVM``."""

    def truths(model: Any, X: Any, y: Any, u: Any) -> list[Truth]:
        K, u = gram_of(model, X), np.ones(len(X)) if u is None else u
        one_class = isinstance(model, OneClassSVM)
        values = model.decision_function(X) if one_class else model.predict(X)
        beta = np.zeros(len(X))
        beta[model.support_] = np.ravel(model.dual_coef_)
        own, t, program = u > 0.0, 0.0, family(model, u.sum())
        if isinstance(model, NuSVR):  # the best epsilon is one of the deviations

            def cost(t: float) -> float:
                v = np.maximum(np.abs(y - values) - t, 0.0)
                return program.C * program.nu * t + np.sum(program.C / u.sum() * u * v)

            t = min([0.0, *np.abs(y - values)[own]], key=cost)
        return [
            truth(
                program,
                K[np.ix_(own, own)],
                None if y is None else y[own],
                u[own],
                beta @ K @ beta,
                values[own],
                float(model.intercept_[0]),
                factor=factor(model, u.sum()),
                t=t,
            )
        ]

    return truths


def linear(
    family: Callable[[Any, int], Any], bias: Callable[[Any], float | None] = lambda _: None
) -> Callable[..., list[Truth]]:
    """Of ``LinearSVC``, ``LinearSVR`` and SGD: one machine, or one per class against the rest."""

    def truths(model: Any, X: Any, y: Any, u: Any) -> list[Truth]:
        last = model[-1] if hasattr(model, "steps") else model
        Z = model[:-1].transform(X) if hasattr(model, "steps") else X
        Z = Z.toarray() if sp.issparse(Z) else Z
        n, K, u = len(Z), Z @ Z.T, np.ones(len(Z)) if u is None else u
        regression = isinstance(last, LinearSVR)
        outside = isinstance(last, SGDOneClassSVM)
        values = (model.predict(X) if regression else model.decision_function(X)).reshape(n, -1)
        coef = np.atleast_2d(last.coef_)
        b = -last.offset_ if outside else np.broadcast_to(np.ravel(last.intercept_), len(coef))
        found = []
        for m in range(len(coef)):
            target, own = y, u
            if not regression and not outside:
                positive = last.classes_[m if len(coef) > 1 else 1]
                target = np.where(y == positive, 1.0, -1.0)
                own = u * class_factors(last, y, target, u)
            kept = own > 0.0
            found.append(
                truth(
                    family(last, n),
                    K[np.ix_(kept, kept)],
                    None if target is None else target[kept],
                    own[kept],
                    coef[m] @ coef[m],
                    values[kept, m],
                    float(b[m]),
                    bias=bias(last),
                )
            )
        return found

    return truths


def class_factors(model: Any, y: Any, signs: Any, u: Any) -> Any:
    """What the class weights do: with several classes to the positive one alone."""
    if model.class_weight is None:
        return np.ones(len(y))
    if model.class_weight == "balanced":
        counted = u if isinstance(model, LinearSVC) else np.ones(len(y))
        weights = {c: counted.sum() / (len(set(y)) * counted[y == c].sum()) for c in set(y)}
    else:
        weights = {c: model.class_weight.get(c, 1.0) for c in set(y)}
    own = np.array([weights[c] for c in y])
    return own if len(weights) == 2 else np.where(signs > 0.0, own, 1.0)


def all_classes(model: Any, X: Any, y: Any, u: Any) -> list[Truth]:
    """Of ``LinearSVC(multi_class="crammer_singer")`` with three classes and a penalised b."""
    u = np.ones(len(y)) if u is None else u
    u = u * np.array([(model.class_weight or {}).get(c, 1.0) for c in y])
    n, k = len(y), len(model.classes_)
    own = y[:, None] == model.classes_
    values = model.decision_function(X)

    def shortfall(f: Any) -> Any:
        return np.max(f + 1.0 - own, axis=1) - f[own]

    W = np.column_stack([model.coef_, model.intercept_])
    objective = np.sum(W * W) / 2 + model.C * u @ shortfall(values)
    V = cp.Variable(W.shape)
    F = np.column_stack([X, np.ones(n)]) @ V.T
    slack = cp.max(F + (1.0 - own), axis=1) - cp.sum(cp.multiply(F, own), axis=1)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(V) / 2 + model.C * (u @ slack)))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert V.shape[0] == k
    return [Truth(values, float(objective), float(problem.value))]


# --- the models -----------------------------------------------------------------------------------


def fit(kind: Any, transform: Callable[[Any], Any] = lambda X: X, **options: Any) -> Any:
    def fitted(X: Any, y: Any, u: Any, tol: float) -> Any:
        if kind in (LinearSVC, LinearSVR):
            options.setdefault("max_iter", 100_000)
            options.setdefault("random_state", 0)
        return kind(tol=tol, **options).fit(transform(X), y, sample_weight=u)

    return fitted


def descent(kind: Any, **options: Any) -> Any:
    return lambda X, y, u, tol: kind(tol=tol, random_state=0, **options).fit(X, y, sample_weight=u)


def hinge(model: Any, n: float) -> Any:
    del n
    return SoftMargin(model.C)


def liblinear(model: Any, n: float) -> Any:
    del n
    return SoftMargin(model.C, loss=model.loss)


def scaled_bias(model: Any) -> float:
    return float(model.intercept_scaling) if model.fit_intercept else 0.0


LINEAR = {"stops": (1.0, 1e-10), "eps": 1e-7}
ROUGH = {"stops": (1e-3, None)}

PEERS = [
    Peer("SVC rbf", plain(cancer), fit(SVC, C=10.0, **RBF), pairs(hinge)),
    Peer(
        "SVC linear, weighted",
        weighted(cancer, zeros=5),
        fit(SVC, C=0.1, kernel="linear", class_weight="balanced"),
        pairs(hinge),
    ),
    Peer(
        "SVC polynomial",
        plain(cancer),
        fit(SVC, C=0.1, kernel="poly", gamma=0.05, coef0=1.0, degree=2),
        pairs(hinge),
    ),
    Peer(
        "SVC of three classes, weighted",
        weighted(iris, zeros=7),
        fit(SVC, C=2.0, class_weight={0: 1.0, 1: 4.0, 2: 0.5}),
        pairs(hinge),
    ),
    Peer(
        "SVC of sparse samples",
        lambda: (
            sp.csr_matrix(MinMaxScaler().fit_transform(wine()[0]) > 0.5, dtype=float),
            wine()[1],
            None,
        ),
        fit(SVC, C=2.0),
        pairs(hinge),
    ),
    Peer(
        "SVC with its own kernel",
        plain(wine),
        fit(SVC, kernel=metrics.pairwise.laplacian_kernel),
        pairs(hinge),
    ),
    Peer(
        "SVC with a kernel matrix",
        lambda: (metrics.pairwise.laplacian_kernel(cancer(90)[0]), cancer(90)[1], unequal(90, 4)),
        fit(SVC, kernel="precomputed"),
        pairs(hinge),
    ),
    Peer(
        "NuSVC",
        weighted(cancer),
        fit(NuSVC, nu=0.3, **RBF),
        pairs(lambda model, _: NuClassification(model.nu)),
    ),
    Peer(
        "NuSVC of three classes",
        plain(iris),
        fit(NuSVC, nu=0.2),
        pairs(lambda model, _: NuClassification(model.nu)),
    ),
    Peer(
        "SVR",
        weighted(diabetes, zeros=3),
        fit(SVR, C=2.0, epsilon=0.2, **RBF),
        single(lambda model, _: EpsilonRegression(model.C, model.epsilon)),
    ),
    Peer(
        "NuSVR",
        weighted(diabetes),
        fit(NuSVR, C=2.0, nu=0.4, **RBF),
        single(lambda model, total: NuRegression(model.nu, model.C * total)),
    ),
    Peer(
        "OneClassSVM",
        weighted(flowers, zeros=2),
        fit(OneClassSVM, nu=0.25, gamma=0.1),
        single(lambda model, _: OneClass(model.nu), lambda model, total: model.nu * total),
        stops=(0.05, 1e-10),
    ),
    Peer(
        "LinearSVC hinge",
        weighted(cancer),
        fit(LinearSVC, C=0.05, loss="hinge", dual=True, class_weight="balanced"),
        linear(liblinear, scaled_bias),
        **LINEAR,
    ),
    Peer(
        "LinearSVC squared hinge, primal",
        plain(cancer),
        fit(LinearSVC, C=0.5, dual=False),
        linear(liblinear, scaled_bias),
        **LINEAR,
    ),
    Peer(
        "LinearSVC with a scaled intercept, in a pipeline",
        plain(cancer),
        lambda X, y, _, tol: make_pipeline(
            MinMaxScaler(), LinearSVC(C=0.5, tol=tol, intercept_scaling=3.0, dual=False)
        ).fit(X, y),
        linear(liblinear, scaled_bias),
        **LINEAR,
    ),
    Peer(
        "LinearSVC without intercept",
        lambda: (sp.csr_matrix(cancer()[0]), cancer()[1], None),
        fit(LinearSVC, C=0.05, loss="hinge", dual=True, fit_intercept=False),
        linear(liblinear, scaled_bias),
        **LINEAR,
    ),
    Peer(
        "LinearSVC of three classes, weighted",
        weighted(wine),
        fit(LinearSVC, C=0.05, loss="hinge", dual=True, class_weight={0: 2.0, 2: 5.0}),
        linear(liblinear, scaled_bias),
        **LINEAR,
    ),
    Peer(
        "LinearSVC, all classes at once",
        weighted(wine),
        fit(LinearSVC, C=0.05, multi_class="crammer_singer", class_weight={0: 2.0, 2: 5.0}),
        all_classes,
        **LINEAR,
    ),
    Peer(
        "LinearSVC, both classes at once",
        plain(cancer),
        fit(LinearSVC, C=0.02, multi_class="crammer_singer"),
        linear(lambda model, _: SoftMargin(2.0 * model.C), scaled_bias),
        **LINEAR,
    ),
    Peer(
        "LinearSVR",
        weighted(diabetes),
        fit(LinearSVR, C=0.05, epsilon=0.2),
        linear(lambda model, _: EpsilonRegression(model.C, model.epsilon), scaled_bias),
        **LINEAR,
    ),
    Peer(
        "LinearSVR squared",
        plain(diabetes),
        fit(LinearSVR, C=0.05, epsilon=0.2, loss="squared_epsilon_insensitive", dual=False),
        linear(
            lambda model, _: EpsilonRegression(
                model.C, model.epsilon, loss="squared_epsilon_insensitive"
            ),
            scaled_bias,
        ),
        **LINEAR,
    ),
    Peer(
        "SGDClassifier",
        weighted(cancer),
        descent(SGDClassifier, alpha=1e-2, class_weight="balanced"),
        linear(lambda model, n: SoftMargin(1.0 / (model.alpha * n))),
        **ROUGH,
    ),
    Peer(
        "SGDClassifier of three classes, averaged",
        plain(wine),
        descent(SGDClassifier, alpha=1e-2, average=True, class_weight={0: 3.0}),
        linear(lambda model, n: SoftMargin(1.0 / (model.alpha * n))),
        **ROUGH,
    ),
    Peer(
        "SGDClassifier squared hinge without intercept",
        plain(cancer),
        descent(SGDClassifier, loss="squared_hinge", alpha=0.1, fit_intercept=False),
        linear(
            lambda model, n: SoftMargin(1.0 / (model.alpha * n), loss="squared_hinge"),
            lambda _: 0.0,
        ),
        **ROUGH,
    ),
    Peer(
        "SGDOneClassSVM",
        lambda: (flowers()[0], None, unequal(150)),
        descent(SGDOneClassSVM, nu=0.25),
        linear(lambda model, n: OneClass(model.nu * n / unequal(150).sum())),
        **ROUGH,
    ),
]
BY_NAME = {peer.name: peer for peer in PEERS}


@cache
def fitted(name: str, tight: bool) -> tuple[Any, Any, Any, Any]:
    """(model, X, y, sample weights) of a peer that stopped early, or late."""
    peer = BY_NAME[name]
    X, y, u = peer.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it stopped early is what it is here for
        return peer.fit(X, y, u, peer.stops[tight]), X, y, u
