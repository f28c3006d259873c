"""Where the hunt goes: random training problems of every family, form and kernel.

A ``Spec`` is everything a problem is built from, so that a relative of it (another C, another
kernel parameter, other labels ...) is the same spec with one field changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import scale

import qpsvm
from qpsvm import constraints, kernels
from tests.families import BY_NAME, CASES

JOINT = ("crammer singer",)
REDUCED = ("one against the rest", "one against one")
NAMES = (*(case.name for case in CASES), "1-norm", *JOINT, *REDUCED)
KERNELS = ("linear", "rbf", "polynomial", "precomputed")
N_NEW = 12
"""Samples that predictions are compared on."""


@dataclass(frozen=True, eq=False)
class Spec:
    """One training problem, by everything it depends on.

    ``kernel`` None stands for a precomputed matrix, that of ``base``.
    """

    name: str
    family: Any
    form: str
    kernel: Any
    base: Any
    X: Any
    y: Any
    groups: Any
    weights: Any
    rules: Any
    is_sparse: bool
    new: Any
    is_real: bool

    @property
    def kind(self) -> str:
        """What the samples are learned for; see ``tests.families``."""
        if self.name in (*JOINT, *REDUCED):
            return "several"
        return "classes" if self.name == "1-norm" else BY_NAME[self.name].kind

    @property
    def kernel_name(self) -> str:
        return "precomputed" if self.kernel is None else str(self.kernel.name)

    def build(self) -> Any:
        """The problem."""
        X = self.X
        if self.kernel is None:
            X = matrix(self.base, X)
        elif self.is_sparse:
            X = sp.csr_array(X)
        more = {} if self.groups is None else {"groups": self.groups}
        if self.rules is not None:
            more["constraints"] = self.rules
        chosen = "precomputed" if self.kernel is None else self.kernel
        make = getattr(self.family, self.form)
        if self.kind == "samples":
            return make(X, kernel=chosen, sample_weight=self.weights, **more)
        return make(X, self.y, kernel=chosen, sample_weight=self.weights, **more)

    def traits(self) -> Iterator[str]:
        """What the page counts problems by."""
        inner = self.family.formulation if self.name in REDUCED else self.family
        yield "real data" if self.is_real else "synthetic data"
        yield f"intercept: {getattr(inner, 'intercept', 'its own')}"
        if self.is_sparse:
            yield "sparse samples"
        if self.rules is not None:
            yield "constraints on (w, b)"
        if self.weights is not None:
            yield "sample weights"
        if getattr(inner, "class_weight", None) is not None:
            yield "class weights"
        size, C = float(np.std(self.X)), getattr(inner, "C", 1.0)
        if size < 0.1 or size > 10.0:
            yield "features below 0.1" if size < 0.1 else "features above 10"
        if C < 0.1 or C > 1e3:
            yield "C below 0.1" if C < 0.1 else "C above 1000"

    def new_samples(self) -> tuple[Any, Any]:
        """What ``decision_function`` takes for the new samples, and their ``k(x, x)``."""
        if self.kernel is not None:
            return self.new, None
        K = self.base(self.new, self.X)
        return K, self.base.diagonal(self.new)


def matrix(kernel: Any, X: Any) -> Any:
    """A symmetric kernel matrix."""
    K = kernel(X, X)
    return (K + K.T) / 2


# --- drawing -------------------------------------------------------------------------------------


def draw(rng: Any) -> Spec:
    """Any problem of any family."""
    name = str(rng.choice(NAMES))
    kind = "several" if name in (*JOINT, *REDUCED) else "classes"
    if name in {case.name for case in CASES}:
        kind = BY_NAME[name].kind
    is_real = bool(rng.random() < 0.3)
    X, y, groups = _samples(kind, is_real, rng)
    n, d = X.shape
    unit = float(np.max(np.std(X, axis=0))) or 1.0
    # distances from the centre of a ball need k(x, x), which a matrix of products does not hold
    kernel_name = str(rng.choice(KERNELS[:3] if name == "ball" else KERNELS))
    # sometimes a kernel that does not fit the size of the features
    fitting = unit if rng.random() < 0.85 else 1.0
    base = _kernel(str(rng.choice(KERNELS[:3])) if kernel_name == "precomputed" else kernel_name,
                   d * fitting**2, rng)  # fmt: skip
    weights = None
    if rng.random() < 0.3:
        weights = rng.uniform(0.2, 3.0, n) if rng.random() < 0.6 else rng.integers(1, 4, n) * 1.0
        if rng.random() < 0.3 and n > 10:
            weights[rng.integers(n)] = 0.0
    rules = None
    if kernel_name == "linear" and kind != "several" and rng.random() < 0.25:
        rules = _rules(d, unit, rng)
    return Spec(
        name=name,
        family=random_family(name, y, weights, rng),
        form=str(rng.choice(["primal", "dual"])),
        kernel=None if kernel_name == "precomputed" else base,
        base=base,
        X=X,
        y=y,
        groups=groups,
        weights=weights,
        rules=rules,
        is_sparse=kernel_name != "precomputed" and rng.random() < 0.15,
        new=np.mean(X, axis=0) + 1.5 * np.std(X, axis=0) * rng.normal(size=(N_NEW, d)),
        is_real=is_real,
    )


@cache
def _real(name: str) -> tuple[Any, Any]:
    load = {"cancer": load_breast_cancer, "iris": load_iris, "diabetes": load_diabetes}[name]
    X, y = load(return_X_y=True)
    return scale(X), y


def _samples(kind: str, is_real: bool, rng: Any) -> tuple[Any, Any, Any]:
    """X, y and groups; y is -1, +1 for classes, and 0, 1, 2 for several."""
    n = int(rng.integers(8, 45))
    size = 10.0 ** rng.uniform(-3.0, 3.0)
    if kind == "grades":
        n = 12
    if is_real:
        X, y = _real_samples(kind, n, rng)
    else:
        X, y = _made_samples(kind, n, int(rng.integers(1, 7)), rng)
    if rng.random() < 0.2:  # copies and ties: singular kernels, degenerate vertices
        X = np.round(2.0 * X) / 2.0
    if rng.random() < 0.15:
        X = X + 10.0 ** rng.uniform(0.0, 2.0)
    if kind == "targets" and rng.random() < 0.5:
        y = y * 10.0 ** rng.uniform(-2.0, 3.0)
    if rng.random() < 0.6:
        X = X * size
    groups = np.repeat(["a", "b", "c"], 4) if kind == "grades" and rng.random() < 0.7 else None
    return X, y, groups


def _made_samples(kind: str, n: int, d: int, rng: Any) -> tuple[Any, Any]:
    X = rng.normal(size=(n, d))
    slope = rng.normal(size=d)
    if kind in ("classes", "separable"):
        y = np.where(np.arange(n) % int(rng.integers(2, 5)) == 0, -1, 1)
        if kind == "separable":
            return 0.4 * X + 1.5 * y[:, None], y
        return X + rng.uniform(0.0, 1.5) * y[:, None], y
    if kind == "several":
        y = np.arange(n) % 3
        return X + rng.uniform(0.3, 2.0) * np.eye(3, max(d, 1))[y][:, :d], y
    if kind == "targets":
        return X, X @ slope + rng.normal() + rng.uniform(0.0, 1.0) * rng.normal(size=n)
    if kind == "grades":
        return X, rng.permutation(np.array([2.0, 0.0, 1.0, 0.0] * 3))
    return X + rng.uniform(0.0, 3.0), None


def _real_samples(kind: str, n: int, rng: Any) -> tuple[Any, Any]:
    if kind in ("separable", "several"):  # sorted by class, 50 samples each
        X, y = _real("iris")
        k = 2 if kind == "separable" else 3
        rows = np.concatenate([50 * m + rng.permutation(50)[: n // k] for m in range(k)])
        return X[rows], np.where(y[rows] == 0, -1, 1) if kind == "separable" else y[rows]
    if kind == "classes":
        X, y = _real("cancer")
        rows = rng.permutation(len(X))[:n]
        return X[rows], np.where(y[rows] == 0, -1, 1)
    X, y = _real("diabetes")
    rows = rng.permutation(len(X))[:n]
    if kind == "grades":
        return X[rows], np.round(y[rows] / 100.0)
    return X[rows] + (3.0 if kind == "samples" else 0.0), y[rows] / 100.0


def _kernel(name: str, squared_size: float, rng: Any) -> Any:
    gamma = 10.0 ** rng.uniform(-1.5, 0.7) / squared_size
    if name == "rbf":
        return kernels.RBF(gamma)
    if name == "polynomial":
        return kernels.Polynomial(gamma, int(rng.integers(1, 4)), float(rng.choice([0.0, 1.0])))
    return kernels.Linear()


def _price(rng: Any) -> float:
    return float(10.0 ** rng.uniform(-3.0, 5.0))


def random_family(name: str, y: Any, weights: Any, rng: Any) -> Any:
    """The family with random parameters."""
    C, share = _price(rng), float(rng.uniform(0.1, 0.9))
    free_or_not = str(rng.choice(["free", "free", "penalized", "none"]))
    if name == "1-norm":
        return qpsvm.L1Norm(C, "free" if free_or_not == "penalized" else free_or_not)
    if name == "crammer singer":
        return qpsvm.CrammerSinger(C, "none" if free_or_not == "free" else free_or_not)
    if name in REDUCED:
        parts = qpsvm.SoftMargin(C, free_or_not, loss=str(rng.choice(["hinge", "squared_hinge"])))
        return (qpsvm.OneVsRest if name == REDUCED[0] else qpsvm.OneVsOne)(parts)
    case = BY_NAME[name]
    family, changes = case.family, {}
    u = np.ones(len(y) if y is not None else 1) if weights is None else weights
    if case.has("nu"):
        changes["nu"] = share
        if case.is_classifier:
            smaller = min(np.sum(u[y == -1]), np.sum(u[y == 1])) / np.sum(u)
            # a class without any weight allows no nu: such a draw is rejected as not solvable
            changes["nu"] = share * 2.0 * smaller or share
            changes["class_weight"] = None  # else the largest nu depends on them
            if name.startswith("weighted"):
                changes["class_weight"] = {1: float(rng.uniform(1.0, 3.0))}
    if case.has("C"):
        changes["C"] = C
    if name == "ball":
        changes["C"] = 1.0 / (share * (8.0 if weights is None else 4.0))
    if case.has("epsilon"):
        spread = float(np.std(y))
        changes["epsilon"] = spread * float(rng.choice([0.0, 0.05, 0.3, 0.6]))
    if case.has("tau"):
        changes["tau"] = share
    if case.has("intercept"):
        changes["intercept"] = free_or_not
    return replace(family, **changes)


def _rules(d: int, unit: float, rng: Any) -> Any:
    j, bound = int(rng.integers(d)), float(10.0 ** rng.uniform(-1.5, 0.5)) / unit
    choices = [
        constraints.nonnegative(j),
        constraints.nonpositive(),
        constraints.bounded(None, -bound, bound),
        constraints.sum_of(at_most=bound),
        constraints.sum_of(equals=bound),
        constraints.fixed(j, 0.0),
        constraints.LinearConstraints(G=np.append(np.zeros(d), 1.0), h=0.5),
        [constraints.nonnegative(j), constraints.bounded(None, -bound, bound)],
    ]
    return choices[int(rng.integers(len(choices)))]
