"""Models of scikit-learn on small samples, and what their audits say beside the exact optimum."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

import qpsvm
from benchmarks.soundness.bare import BAND, EPS
from benchmarks.soundness.rational import (
    ONE,
    ZERO,
    Condition,
    Machine,
    Optimum,
    Program,
    Row,
    dot,
    exact,
    gram,
    machine,
    optimum,
    times,
    unit,
)
from qpsvm.exceptions import QPSVMError

NAMES = ("SVC", "SVC", "SVC", "LinearSVC", "OneClassSVM", "SVR")
SECONDS = 2.0
"""The time of an audit's own exact solve: where it cannot reach its eps it tries for long."""
ITERATIONS = 20_000
ALL = re.compile(r"[Aa]ll ([\d,]+) training predictions are (?:proven to be )?those of the exact")
SOME = re.compile(r"([\d,]+) of ([\d,]+) training predictions differ from the exact")


@dataclass(frozen=True, eq=False)
class Audited:
    """Samples, the exact optimum of a library's program on them, and how to fit its model.

    ``factor``: the model's decision values are this many times those of the program.
    """

    name: str
    X: Any
    y: Any
    parameters: dict[str, Any]
    program: Program
    factor: Fraction = ONE

    @cached_property
    def best(self) -> Optimum | None:
        """The exact optimum."""
        return optimum(self.program)

    @cached_property
    def truth(self) -> Row:
        """Decision values of the exact optimum, in the model's own scale."""
        assert self.best is not None
        scores = times(self.program.K, self.best.beta)
        return [self.factor * (v + self.best.b) for v in scores[: self.program.n]]

    def fit(self, tol: float) -> Any:
        """The library's model."""
        kind = {"SVC": SVC, "LinearSVC": LinearSVC, "OneClassSVM": OneClassSVM, "SVR": SVR}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # with a tolerance that rounding keeps it from, LIBSVM does not end
            model = kind[self.name](tol=tol, max_iter=ITERATIONS, **self.parameters)
            return model.fit(self.X) if self.y is None else model.fit(self.X, self.y)

    # --- what an audit says ----------------------------------------------------------------------

    def contradictions(self, model: Any, found: Any) -> Iterator[str]:
        """Sentences and counts of an audit that are not so."""
        own = model.predict(self.X)
        facts, n = found.to_dict(), len(self.X)
        said = facts.get("predictions") or facts["machines"][0].get("predictions") or {}
        same = different = None
        if self.name != "SVR":
            positive = own == 1
            same = sum(f != 0 and (f > 0) == p for f, p in zip(self.truth, positive, strict=True))
            different = sum(
                f != 0 and (f > 0) != p for f, p in zip(self.truth, positive, strict=True)
            )
            if said.get("same") is not None:
                counts = [said[key] for key in ("same", "different", "undecided")]
                if sum(counts) != n or min(counts) < 0:
                    yield f"counts {counts} of {n} samples"
                if counts[0] > same:
                    yield f"{counts[0]} predictions proven to be the optimum's, where {same} are"
                if counts[1] > different:
                    yield f"{counts[1]} predictions proven to differ, where {different} do"
            elif facts["predictions_differ"] not in (None, different):
                yield f"{facts['predictions_differ']} predictions differ, where {different} do"
            yield from self._sentences(str(facts["verdict"]), same, different, n)
        change = said.get("largest_change")
        if change is not None and np.isfinite(change):
            values = (
                model.predict(self.X) if self.name == "SVR" else model.decision_function(self.X)
            )
            apart = max(
                abs(Fraction(float(v)) - f) for v, f in zip(values, self.truth, strict=True)
            )
            size = max(map(abs, self.truth))
            if apart > Fraction(change) + size / 10**12:
                yield f"no prediction is farther than {change!r}, where one is {float(apart)!r}"

    def _sentences(self, verdict: str, same: int, different: int, n: int) -> Iterator[str]:
        every = ALL.search(verdict)
        if every and (int(every[1].replace(",", "")) != n or same != n):
            yield f"{verdict!r}, where {same} are"
        if (some := SOME.search(verdict)) and int(some[1].replace(",", "")) != different:
            yield f"{verdict!r}, where {different} do"

    def harm(self, model: Any, found: Any) -> Iterator[str]:
        """Why an audit may not pass."""
        assert self.best is not None
        solution = found.machines[0].solution
        beta, b = solution.expansion, Fraction(float(solution.intercept))
        K, n = self.program.K, self.program.n
        if solution.coef is not None:
            w = exact(solution.coef)
            m = Machine(dot(w, w), [dot(x, w) + b for x in exact(self.X)], b)
        else:
            m = machine(K, n, exact(beta), b)
        cost = self.program.cost(m)
        certificate = found.machines[0].certificate
        size = max(abs(cost), Fraction(float(certificate.floor)))
        off = abs(cost - self.best.value)
        if off > (EPS * BAND + Fraction(min(float(certificate.rounding), EPS))) * size:
            yield f"passes and is {float(off / size / Fraction(EPS)):.4g} eps from the optimum"
        values = [self.factor * f for f in m.f]
        # of the terms: where all decision values are zero, labels are those of their rounding
        scale = max(map(abs, values))
        if beta is not None:
            terms = [sum(abs(k * v) for k, v in zip(row, exact(beta), strict=True)) for row in K]
            scale = (max(terms) + abs(b)) * abs(self.factor)
        own = model.predict(self.X)
        for given, f in zip(own, values, strict=True):
            if self.name == "SVR":
                if abs(Fraction(float(given)) - f) > scale / 10**9:
                    yield "the model predicts something else than was audited"
                    return
            elif abs(f) > scale / 10**9 and (given == 1) != (f > 0):
                yield "the model predicts other labels than were audited"
                return


# --- drawing -------------------------------------------------------------------------------------


def draw(rng: Any) -> Audited:
    """A model's program on a few samples."""
    name = str(rng.choice(NAMES))
    n, d = int(rng.integers(4, 7 if name == "SVR" else 13)), int(rng.integers(1, 4))
    X = np.round(8 * rng.normal(size=(n, d))) / 4
    if rng.random() < 0.3:
        X[rng.integers(n)] = X[rng.integers(n)]
    if rng.random() < 0.3:  # samples all but on the boundary
        X = X * np.where(rng.random((n, 1)) < 0.3, 1e-5, 1.0)
    if rng.random() < 0.2:
        X = X + 10.0
    C = float(10.0 ** rng.integers(-2, 3))
    kernel = (
        "linear" if name == "LinearSVC" else str(rng.choice(["linear", "linear", "poly", "rbf"]))
    )
    gamma = float(rng.choice([0.125, 0.5, 1.0]))
    inner = {"poly": {"gamma": gamma, "p": 2, "c": 1}, "rbf": {"gamma": gamma}}.get(kernel, {})
    K = gram({"poly": "polynomial"}.get(kernel, kernel), exact(X), exact(X), **inner)
    own: dict[str, Any] = {} if name == "LinearSVC" else {"kernel": kernel}
    if kernel in ("poly", "rbf"):
        own["gamma"] = gamma
    if kernel == "poly":
        own |= {"degree": 2, "coef0": 1.0}
    if name == "OneClassSVM":
        nu = float(rng.choice([0.25, 0.5, 0.3, 0.7]))
        return Audited(name, X, None, own | {"nu": nu}, _one_class(K, n, nu), Fraction(nu) * n)
    if name == "SVR":
        t = np.round(8 * rng.normal(size=n)) / 4
        epsilon = float(rng.choice([0.0, 0.125, 0.5]))
        own |= {"C": C, "epsilon": epsilon}
        return Audited(name, X, t, own, _tube(K, n, t, C, epsilon))
    y = np.where(rng.random(n) < 0.5, -1, 1)
    y[:2] = 1, -1
    if name == "LinearSVC":
        own |= {"C": C, "loss": "hinge", "random_state": 0}
        return Audited(name, X, y, own, _hinge(K, y, C, "penalized"))
    return Audited(name, X, y, own | {"C": C}, _hinge(K, y, C, "free"))


def _hinge(K: list[Row], y: Any, C: float, intercept: str) -> Program:
    n, signs = len(y), [int(s) for s in y]
    conditions = [Condition(unit(n, i, s), ONE, ZERO, Fraction(C)) for i, s in enumerate(signs)]

    def cost(m: Machine) -> Fraction:
        loss = sum(max(ZERO, 1 - s * f) for s, f in zip(signs, m.f, strict=True))
        return (m.square + (m.b**2 if intercept == "penalized" else 0)) / 2 + Fraction(C) * loss

    return Program(n, K, conditions, cost, intercept)


def _one_class(K: list[Row], n: int, nu: float) -> Program:
    share = 1 / (Fraction(nu) * n)
    conditions = [Condition(unit(n, i), ZERO, ZERO, share) for i in range(n)]

    def cost(m: Machine) -> Fraction:
        return m.square / 2 + m.b + share * sum(max(ZERO, -f) for f in m.f)

    return Program(n, K, conditions, cost, price=ONE)


def _tube(K: list[Row], n: int, t: Any, C: float, epsilon: float) -> Program:
    targets, wide = exact(t), Fraction(epsilon)
    conditions = [
        Condition(unit(n, i, side), side * targets[i] - wide, ZERO, Fraction(C))
        for side in (1, -1)
        for i in range(n)
    ]

    def cost(m: Machine) -> Fraction:
        losses = [max(ZERO, abs(a - f) - wide) for a, f in zip(targets, m.f, strict=True)]
        return m.square / 2 + Fraction(C) * sum(losses)

    return Program(n, K, conditions, cost)


# --- models --------------------------------------------------------------------------------------


def mutate(audited: Audited, rng: Any) -> tuple[str, Any]:
    """(what was done to it, the model)."""
    tol = float(10.0 ** rng.integers(-12, 0))
    model = audited.fit(tol)
    how = int(rng.integers(6))
    if how < 2:
        return "a model fitted at a random tolerance", model
    if how == 2:
        return "a model that predicts something else", _other(model, rng)
    if how == 3:
        _shift(model, float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-12, 0)))
        return "a model with another intercept", model
    factor = 1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** -rng.uniform(0, 12)
    if audited.name == "LinearSVC":
        model.coef_ = model.coef_ * factor
    else:
        model._dual_coef_ = model._dual_coef_ * factor
        model.dual_coef_ = model.dual_coef_ * factor
    return "a model with scaled coefficients", model


def _shift(model: Any, step: float) -> None:
    model.intercept_ = model.intercept_ + step
    if hasattr(model, "_intercept_"):
        sign = -1.0 if isinstance(model, SVC) else 1.0
        model._intercept_ = model._intercept_ + sign * step


def _other(model: Any, rng: Any) -> Any:
    """A subclass, or an instance, whose ``predict`` is its own."""
    function = model.predict
    if rng.random() < 0.5:
        model.predict = lambda X: -function(X)
        return model
    kind = type(model)

    class Reversed(kind):  # type: ignore[misc, valid-type]
        def predict(self, X: Any) -> Any:
            return -super().predict(X)

    Reversed.__name__ = kind.__name__
    other = Reversed()
    other.__dict__.update(model.__dict__)
    return other


def examine(audited: Audited, model: Any) -> tuple[str, list[str], list[str]]:
    """(outcome, why it may not pass, what is not so)."""
    try:
        deadline = time.process_time() + SECONDS
        found = qpsvm.audit(
            model,
            audited.X,
            audited.y,
            eps=EPS,
            callback=lambda _: time.process_time() < deadline,
        )
    except QPSVMError:
        return "refused", [], []
    except Exception as error:  # noqa: BLE001 - whatever it is, an audit must not raise it
        return "refused", [], [f"audit raised {error!r}"]
    false = list(audited.contradictions(model, found))
    why = list(audited.harm(model, found)) if found.passed else []
    if found.passed:
        return ("FALSE PASS" if why else "passed, harmless"), why, false
    return "refused", why, false
