"""The sweep of audits: models of scikit-learn as fitted and edited, and what is said of them.

Usage, from the root of the repository::

    python -m benchmarks.soundness.sweep_audits --count 5000 --seed 0
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import re
import time
import traceback
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import qpsvm
from benchmarks.soundness import exact_models
from benchmarks.soundness.exact_sentences import Facts, lies
from qpsvm.exceptions import QPSVMError

KINDS = (SVC, SVC, SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR, SGDClassifier)
ITERATIONS = 100_000
SECONDS = 2.0


def draw(rng: Any) -> tuple[Any, Any, Any, Any, str]:
    """(model, X, y, weights, what was done to it)."""
    kind = KINDS[rng.integers(len(KINDS))]
    is_regression, is_one = kind in (SVR, NuSVR, LinearSVR), kind is OneClassSVM
    n, d = int(rng.integers(3, 7 if is_regression else 11)), int(rng.integers(1, 4))
    k = int(rng.choice([2, 2, 2, 3])) if not (is_regression or is_one) else 0
    n = max(n, 2 * k)
    X = _samples(rng, n, d)
    y = None
    if is_regression:
        y = np.round(8 * rng.normal(size=n)) / 4 if rng.random() < 0.7 else X[:, 0].copy()
    elif k:
        y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
        if k == 2:
            y = 2 * y - 1
    weights = None
    if rng.random() < 0.25:
        weights = rng.choice([0.5, 1.0, 2.0, 0.3], n)
        if rng.random() < 0.3:
            weights[-1] = 0.0
    offset = float(rng.choice([0, 0, 0, 1, 1e3, 1e4, 1e5, 1e6]))
    X = (X * float(rng.choice([1, 1, 1, 1e-3, 100]))) + offset
    if rng.random() < 0.25:
        X = sp.csr_array(X)
    model = _model(kind, rng, k)
    _fit(model, X, y, weights)
    what, model, X, y, weights = _edited(model, X, y, weights, rng)
    return model, X, y, weights, what


def _samples(rng: Any, n: int, d: int) -> Any:
    how = rng.random()
    if how < 0.5:
        X = np.round(8 * rng.normal(size=(n, d))) / 4
    elif how < 0.65:  # corners of a cube: decision values of zero
        X = rng.integers(-1, 2, size=(n, d)).astype(float)
    elif how < 0.75:
        half = np.round(8 * rng.normal(size=(-(-n // 2), d))) / 4
        X = np.vstack([half, -half])[:n]
    else:
        X = rng.normal(size=(n, d))
    if rng.random() < 0.2:
        X[rng.integers(n)] = X[rng.integers(n)]
    return X


def _model(kind: Any, rng: Any, k: int) -> Any:
    tol, C = float(10.0 ** rng.integers(-12, 0)), float(10.0 ** rng.integers(-2, 4))
    own: dict[str, Any] = {"tol": tol, "max_iter": ITERATIONS}
    if rng.random() < 0.3:
        own["tol"] = 1e-3
    if kind in (LinearSVC, LinearSVR, SGDClassifier):
        return _linear_model(kind, rng, own, C)
    kernel = str(
        rng.choice(
            ["linear", "linear", "rbf", "rbf", "poly", "sigmoid"],
            p=[0.2, 0.2, 0.2, 0.25, 0.12, 0.03],
        )
    )
    own["kernel"] = kernel
    gamma = rng.choice(["scale", "auto", "number"])
    if kernel != "linear":
        own["gamma"] = (
            float(rng.choice([0.125, 0.5, 1.0, 10.0])) if gamma == "number" else str(gamma)
        )
    if kernel == "poly":
        own |= {"degree": int(rng.integers(1, 4)), "coef0": float(rng.choice([0.0, 1.0]))}
    if kind in (NuSVC, NuSVR, OneClassSVM):
        own["nu"] = float(rng.choice([0.1, 0.25, 0.5, 0.3, 0.7]))
    if kind in (SVC, SVR, NuSVR):
        own["C"] = C
    if kind is SVR:
        own["epsilon"] = float(rng.choice([0.0, 0.125, 0.5]))
    if kind in (SVC, NuSVC) and k > 2:
        own["break_ties"] = bool(rng.random() < 0.3)
    if kind is SVC and rng.random() < 0.15:
        own["class_weight"] = "balanced"
    return kind(**own)


def _linear_model(kind: Any, rng: Any, own: dict[str, Any], C: float) -> Any:
    own["max_iter"] = int(rng.choice([5, 1000]))
    own["random_state"] = 0
    own["fit_intercept"] = bool(rng.random() < 0.8)
    squared = rng.random() < 0.5
    if kind is LinearSVR:
        own["loss"] = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
        own["epsilon"] = float(rng.choice([0.0, 0.125]))
    else:
        own["loss"] = "squared_hinge" if squared else "hinge"
    if kind is SGDClassifier:
        own["alpha"] = float(10.0 ** rng.integers(-3, 1))
    else:
        own["C"] = C
        own["dual"] = True
    return kind(**own)


def _fit(model: Any, X: Any, y: Any, weights: Any) -> None:
    arguments = [X] if y is None else [X, y]
    model.fit(*arguments, sample_weight=weights)


# --- edits ---------------------------------------------------------------------------------------


def _edited(model: Any, X: Any, y: Any, weights: Any, rng: Any) -> Any:
    how = rng.random()
    step = float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-12, 0))
    kernel_machine = hasattr(model, "dual_coef_")
    if how < 0.45:
        return "untouched", model, X, y, weights
    if how < 0.55:
        _coefficients(model, lambda c: c * (1.0 + step))
        return "scaled", model, X, y, weights
    if how < 0.62 and kernel_machine and len(model.support_) > 2:
        gone = int(rng.integers(len(model.support_)))

        def without(c: Any) -> Any:
            c = c.copy()
            c[:, gone] = 0.0
            return c

        _coefficients(model, without)
        return "a support vector dropped", model, X, y, weights
    if how < 0.72:
        _shift(model, step)
        return "shifted", model, X, y, weights
    if how < 0.76 and hasattr(model, "classes_"):
        model.classes_ = model.classes_[::-1].copy()
        return "labels swapped", model, X, y, weights
    return _with_other_claim(how, step, model, X, y, weights, rng)


def _with_other_claim(
    how: float, step: float, model: Any, X: Any, y: Any, weights: Any, rng: Any
) -> Any:
    """A model that was fitted with other parameters or data than it is audited with."""
    kernel_machine = hasattr(model, "dual_coef_")
    if how < 0.80 and kernel_machine and model.kernel in ("rbf", "poly"):
        if rng.random() < 0.5:
            model._gamma = model._gamma * (1.0 + 1e-6 * step)
        else:
            model.gamma = model._gamma * (1.0 + 1e-6 * step)
        return "another gamma", model, X, y, weights
    if how < 0.86:
        name = "alpha" if hasattr(model, "alpha") and not kernel_machine else "C"
        name = "nu" if hasattr(model, "nu") and kernel_machine and not hasattr(model, "C") else name
        setattr(model, name, min(getattr(model, name) * 1.5, 1.0 if name == "nu" else np.inf))
        return f"another {name}", model, X, y, weights
    if how < 0.90 and weights is not None:
        return "weights forgotten", model, X, y, None
    if how < 0.95 and y is not None:
        other = y.copy()
        other[-2:] = other[-2:][::-1]
        return "other labels", model, X, other, weights
    other = X.copy()
    if sp.issparse(other):
        other.data = other.data * (1.0 + step)
    else:
        other[-1] += step
    return "other data", model, other, y, weights


def _coefficients(model: Any, change: Any) -> None:
    if hasattr(model, "dual_coef_"):
        dense = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
        private = model._dual_coef_
        private = private.toarray() if sp.issparse(private) else private
        sparse = sp.issparse(model.dual_coef_)
        keep = _stored if sparse else np.asarray
        model._dual_coef_, model.dual_coef_ = keep(change(private)), keep(change(dense))
    else:
        model.coef_ = change(model.coef_) if model.coef_.ndim > 1 else change(model.coef_[None])[0]


def _stored(dense: Any) -> Any:
    """A CSR matrix that stores zeros as well, as LIBSVM expects it."""
    m = dense.shape[1]
    indices = np.tile(np.arange(m, dtype=np.int32), len(dense))
    pointers = m * np.arange(len(dense) + 1, dtype=np.int32)
    return sp.csr_matrix((dense.ravel().copy(), indices, pointers), shape=dense.shape)


def _shift(model: Any, step: float) -> None:
    model.intercept_ = model.intercept_ + step
    if hasattr(model, "_intercept_"):
        two = isinstance(model, SVC | NuSVC) and len(model.classes_) == 2
        model._intercept_ = model._intercept_ + (-step if two else step)
    if hasattr(model, "offset_"):
        model.offset_ = -model.intercept_


# --- facts ---------------------------------------------------------------------------------------


def facts_of(model: Any, X: Any, y: Any, weights: Any, what: str) -> Facts:
    """What is so of a model, in exact arithmetic."""
    dense = model
    if hasattr(model, "dual_coef_") and sp.issparse(model.dual_coef_):
        dense = _Dense(model)
    claims = _claims_of(dense, X, y, weights)
    n = X.shape[0]
    predicted = np.asarray(model.predict(X)).tolist()
    decide = getattr(model, "decision_function", model.predict)
    decided = np.asarray(decide(X))
    part = sorted({i for claim in claims for i in claim.kept})
    right = None
    if not isinstance(model, SVR | NuSVR | LinearSVR):
        right = [_right(model, claims, y, i) for i in range(n)]
    lost = _library_error(model, X, claims)
    return Facts(claims, predicted, decided, right, what == "untouched", part, lost)


def _library_error(model: Any, X: Any, claims: Any) -> float:
    """Largest error of kernel values as LIBSVM computes them for training, over the largest value.

    Summed in the order of the features.
    """
    if not hasattr(model, "dual_coef_") or model.kernel not in exact_models.KERNELS:
        return 0.0
    X = np.asarray(X.toarray() if sp.issparse(X) else X)
    products = np.zeros((len(X), len(X)))
    for column in X.T:
        products += np.outer(column, column)
    gamma = getattr(model, "_gamma", 1.0)
    with np.errstate(all="ignore"):
        if model.kernel == "rbf":
            squares = np.diagonal(products)
            values = np.exp(-gamma * (np.add.outer(squares, squares) - 2.0 * products))
        elif model.kernel == "poly":
            values = (gamma * products + model.coef0) ** model.degree
        elif model.kernel == "sigmoid":
            values = np.tanh(gamma * products + model.coef0)
        else:
            values = products
    error = largest = exact_models.ZERO
    for claim in claims:
        for i, row in enumerate(claim.K):
            for j, value in zip(claim.kept, row, strict=True):
                largest = max(largest, abs(value))
                error = max(error, abs(exact_models.exact(float(values[i, j])) - value))
    return float(error / largest) if largest else 0.0


class _Dense:
    """A model with dense coefficients."""

    def __init__(self, model: Any) -> None:
        self.__dict__.update(vars(model))
        self.dual_coef_ = model.dual_coef_.toarray()
        self.intercept_ = model.intercept_


def _claims_of(model: Any, X: Any, y: Any, weights: Any) -> Any:
    if isinstance(model, _Dense):
        name = type_name(model)
        rows = exact_models.exact(np.asarray(X.toarray(), dtype=np.float64))
        u = [exact_models.ONE] * len(rows) if weights is None else exact_models.exact(weights)
        return exact_models.READERS[name](model, rows, y, u)
    return exact_models.claims(model, X, y, weights)


def type_name(model: Any) -> str:
    return str(model.kind)


def _right(model: Any, claims: Any, y: Any, i: int) -> set[Any]:
    """The labels of the exact optimum for sample i: several where a tie leaves it open."""
    classes = [-1, 1] if y is None else model.classes_.tolist()
    if any(claim.best is None for claim in claims):
        return set(classes)
    f = [claim.truth[i] for claim in claims]
    if len(classes) == 2:
        return set(classes) if f[0] == 0 else {classes[f[0] > 0]}
    if not hasattr(model, "dual_coef_"):
        return {label for label, v in zip(classes, f, strict=True) if v == max(f)}
    ways = itertools.product(*[(True, False) if v == 0 else (v > 0,) for v in f])
    labels = {_voted(f, way, len(classes), getattr(model, "break_ties", False)) for way in ways}
    return {classes[label] for label in labels}


def _voted(f: Any, firsts: Any, k: int, break_ties: bool) -> int:
    votes, sums = [0] * k, [exact_models.ZERO] * k
    pairs = itertools.combinations(range(k), 2)
    for v, first, (a, b) in zip(f, firsts, pairs, strict=True):
        votes[a if first else b] += 1
        sums[a] += v
        sums[b] -= v
    if break_ties:
        return max(range(k), key=lambda m: (votes[m], sums[m]))
    return votes.index(max(votes))


# --- the sweep -----------------------------------------------------------------------------------


def examine(seed: int, number: int, optimum: bool) -> tuple[str, str, str, list[str]]:
    """(kind, what was done, outcome, what is not so)."""
    rng = np.random.default_rng([seed, number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model, X, y, weights, what = draw(rng)
        except ValueError as error:
            return "", "", f"no model: {error}"[:60], []
        kind = type(model).__name__
        if hasattr(model, "dual_coef_") and not np.isfinite(model.intercept_).all():
            return kind, what, "not finite", []
        try:
            deadline = time.process_time() + SECONDS
            found = qpsvm.audit(
                model, X, y, sample_weight=weights, optimum=optimum,
                callback=lambda _: time.process_time() < deadline,
            )  # fmt: skip
        except QPSVMError as error:
            text = str(error)
            bad = what == "untouched" and (
                "changed" in text or "fit it again" in text or "training data" in text
            )
            return (
                kind,
                what,
                "refused: " + re.sub(r"[\d.e+-]+", "#", text)[:110],
                [f"refused: {text}"] if bad else [],
            )
        except Exception:  # noqa: BLE001 - whatever it is, an audit must not raise it
            return kind, what, "raised", [traceback.format_exc()[-600:]]
        try:
            model.kind = kind
            facts = facts_of(model, X, y, weights, what)
        except ArithmeticError as error:
            return kind, what, f"no facts: {error}"[:60], []
        wrong = list(lies(facts, found))
        accused = "accused" if "fitted to other data" in found.verdict else found.grade.value
        if "kernel values" in found.verdict:
            accused = "kernel digits"
        return kind, what, accused, wrong


def main() -> None:
    """Sweep."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes: Any = collections.Counter()
    wrong = 0
    for number in range(options.first, options.first + options.count):
        kind, what, outcome, false = examine(options.seed, number, optimum=number % 4 != 3)
        outcomes[what, outcome] += 1
        if not (number + 1) % 100:
            print(
                f"{sum(outcomes.values())} models, {wrong} of them with something wrong", flush=True
            )
        if false:
            wrong += 1
            print(json.dumps([number, kind, what, false]), flush=True)
    for (what, outcome), count in sorted(outcomes.items()):
        print(f"{count:6d}  {what:26s} {outcome}")
    print(f"{sum(outcomes.values())} models, {wrong} of them with something wrong")


if __name__ == "__main__":
    main()
