"""The judge's own mathematics: cost of any machine and value of any alpha, in extended precision.

Costs and dual programs are those of ``tests.families``; here are the families that do not fit in
there (1-norm, Crammer-Singer), constraints on (w, b), kernels in extended precision, and bounds on
the optimum that need no certificate. From ``qpsvm`` come the parameters of a formulation and the
numbers of a solution, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import qpsvm
from benchmarks.soundness.dual_points import LD, terms
from tests.families import Case, Data, Dual, Machine, pairs_of, prices


def kernel_values(kernel: Any, X: Any, Z: Any) -> Any:
    """``k(x, z)`` for all rows of X and Z, in extended precision."""
    X, Z = np.asarray(X, dtype=LD), np.asarray(Z, dtype=LD)
    if isinstance(kernel, qpsvm.kernels.RBF):
        squares = np.array([np.sum((x - Z) ** 2, axis=1) for x in X])
        return np.exp(-LD(kernel.gamma) * squares)
    if isinstance(kernel, qpsvm.kernels.Polynomial):
        return (LD(kernel.gamma) * (X @ Z.T) + LD(kernel.coef0)) ** int(kernel.degree)
    return X @ Z.T


@dataclass(frozen=True, eq=False)
class Textbook:
    """One training problem of one decision function.

    Attributes
    ----------
    case : Case
    family : object
        The formulation, with its parameters.
    data : Data
        The rows with a weight above zero; X and y in extended precision.
    u : array of shape (n,)
        Sample weights.
    K : array of shape (n, n)
    new : array of shape (m, d) or (m, n)
        New samples for the linear kernel, else the kernel between them and the data.
    new_squares : array of shape (m,)
        ``k(x, x)`` of the new samples.
    is_linear : bool
    intercept : "free", "penalized" or "none"
    rules : LinearConstraints or None
    """

    case: Case
    family: Any
    data: Data
    u: Any
    K: Any
    new: Any
    new_squares: Any
    is_linear: bool
    intercept: str
    rules: Any = None

    # --- the machine -----------------------------------------------------------------------------

    @property
    def is_hard(self) -> bool:
        return self.case.kind == "separable"

    @property
    def curvature(self) -> float:
        """kappa: the cost minus ``kappa/2 |w|^2`` is convex."""
        return 0.5 if self.case.name == "ball" else 1.0

    def machine(self, s: Any) -> Machine:
        """What the cost depends on."""
        b, t = LD(s.intercept), LD(s.width)
        diagonal = np.diagonal(self.K)
        w = self.weights(s)
        if self.is_linear:
            return Machine(w @ w, self.data.X @ w + b, b, t, diagonal)
        scores = self.K @ w
        return Machine(w @ scores, scores + b, b, t, diagonal)

    def weights(self, s: Any) -> Any:
        """w, or beta without features; of a linear machine without a coef ``X'beta``."""
        if self.is_linear and s.coef is None:
            return self.data.X.T @ np.asarray(s.expansion, dtype=LD)
        return np.asarray(s.coef.T if self.is_linear else s.expansion, dtype=LD)

    def decisions(self, s: Any) -> tuple[Any, Any]:
        """Decision values of the new samples, and the sum of their absolute terms."""
        weights = self.weights(s)
        own = self.new_squares if self.case.name == "ball" else LD(0.0)
        sizes = np.abs(weights)
        if self.is_linear and s.coef is None:  # a sum over samples, which may cancel
            sizes = np.abs(self.data.X).T @ np.abs(np.asarray(s.expansion, dtype=LD))
        terms = np.abs(self.new) @ sizes + abs(LD(s.intercept)) + np.abs(own)
        return self.new @ weights + LD(s.intercept) - own, terms

    def squared_distance(self, first: Any, second: Any) -> Any:
        """``|w - w'|^2``, with a penalised intercept that of (w, b)."""
        step = self.weights(first) - self.weights(second)
        square = step @ (step if self.is_linear else self.K @ step)
        if self.intercept == "penalized":
            square = square + (LD(first.intercept) - LD(second.intercept)) ** 2
        return square

    # --- the primal ------------------------------------------------------------------------------

    def cost(self, s: Any) -> Any:
        """The textbook's objective, whatever of it is missed that must hold (see ``missed``).

        A hard margin that is missed is scaled up until it is not; infinite on the wrong side.
        """
        m = self.machine(s)
        if (self.intercept == "none" and m.b != 0) or (not self.case.has_width and m.t != 0):
            return LD(np.inf)
        if self.is_hard:
            smallest = np.min(self.data.y * m.f)
            size = m.square / 2
            size = size + (m.b * m.b / 2 if self.intercept == "penalized" else 0)
            if self.rules is not None:
                return size
            return size / min(LD(1.0), smallest) ** 2 if smallest > 0 else LD(np.inf)
        cost = self._cost(m, s)
        return cost + m.b * m.b / 2 if self.intercept == "penalized" else cost

    def _cost(self, m: Machine, s: Any) -> Any:
        del s
        return self.case.cost(self.family, self.data, self.u, m) if m.t >= 0 else LD(np.inf)

    def missed(self, s: Any) -> Any:
        """By how much margins and constraints are missed, per unit of the sum of their terms."""
        worst = LD(0.0)
        if self.is_hard:
            worst = max(worst, 1 - np.min(self.data.y * self.machine(s).f))
        if self.rules is not None:
            G, off = self._rows, self._off(s)
            point = np.append(np.abs(np.asarray(s.coef, LD)), abs(LD(s.intercept)))
            scale = np.abs(self.rules.right) + np.abs(G) @ point
            worst = max(worst, np.max(off / np.maximum(scale, 1e-300)))
        return worst

    def price_of_missing(self, s: Any, start: Any) -> Any:
        """What the misses are worth at most, with the multipliers of ``start``."""
        price = LD(0.0)
        if self.is_hard and self.rules is not None:
            v = np.maximum(1 - self.data.y * self.machine(s).f, 0)
            price = price + np.abs(start.alpha) @ v
        if self.rules is not None:
            price = price + np.abs(start.constraint_multipliers) @ self._off(s)
        return price

    @cached_property
    def _rows(self) -> Any:
        rows = self.rules.rows
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=LD)

    def _off(self, s: Any) -> Any:
        point = np.append(np.asarray(s.coef, LD), LD(s.intercept))
        off = self._rows @ point - self.rules.right
        n = len(self.rules.h)
        return np.concatenate([np.maximum(off[:n], 0), np.abs(off[n:])])

    def slack(self, s: Any) -> Any:
        """By how much every condition is missed."""
        D, f = self._dual, self.machine(s).f
        width = D.G[0, 0] if len(D.h) and self.case.has_width else 0
        # f of a ball lacks k(x, x), which is what q says
        v = -D.q - self.sides @ f - width * LD(s.width)
        both = self.case.name in ("least squares", "quantile", "average quantile")
        return np.abs(v) if both else np.maximum(v, 0)

    @cached_property
    def sides(self) -> Any:
        """R: what each condition looks at, shape (N, n)."""
        n = len(self.data)
        if self.case.kind in ("classes", "separable"):
            return np.diag(self.data.y).astype(LD)
        if self.case.kind == "grades":
            pairs = pairs_of(self.data)
            R = np.zeros((len(pairs), n), dtype=LD)
            for row, (better, worse) in enumerate(pairs):
                R[row, better], R[row, worse] = 1, -1
            return R
        one = np.eye(n, dtype=LD)
        two_sided = self.case.kind == "targets" and "quantile" not in self.case.name
        return np.vstack([one, -one]) if two_sided else one

    # --- the dual --------------------------------------------------------------------------------

    @cached_property
    def _dual(self) -> Dual:
        K = self.K + 1 if self.intercept == "penalized" else self.K
        D = self.case.dual(self.family, self.data, self.u, K)
        n = len(D.q)
        if self.intercept != "free":
            D = D._replace(A=np.zeros((0, n)), b=np.zeros(0))
        return D

    @cached_property
    def program(self) -> Dual:
        """The dual program, in (alpha, multipliers of the constraints)."""
        D = self._dual
        if self.rules is None:
            return _extended(D)
        # kappa |w|^2 = |X'R'a - G'mu|^2 / kappa: cross terms of a and mu
        X, G = self.data.X, self._rows[:, :-1]
        if self.intercept == "penalized":
            X, G = np.column_stack([X, np.ones(len(X))]), self._rows
        cross = -(self.sides @ X) @ G.T / self.curvature
        P = np.block([[D.P, cross], [cross.T, G @ G.T / self.curvature]])
        m, n_equal = len(self.rules), len(self.rules.b)
        A = D.A
        if len(D.b):
            A = np.column_stack([D.A, -self._rows[:, -1][None]])
        else:
            A = np.zeros((0, len(D.q) + m))
        lower = np.concatenate([np.zeros(m - n_equal), np.full(n_equal, -np.inf)])
        return _extended(
            Dual(
                P,
                np.concatenate([D.q, self.rules.right]),
                A,
                D.b,
                np.column_stack([D.G, np.zeros((len(D.h), m))]),
                D.h,
                np.concatenate([D.lower, lower]),
                np.concatenate([D.upper, np.full(m, np.inf)]),
            )
        )

    def point(self, alpha: Any, multipliers: Any) -> Any:
        """Alpha and multipliers as a point of ``program``."""
        return np.concatenate([np.asarray(alpha, LD), np.asarray(multipliers, LD)])

    def implied_expansion(self, alpha: Any) -> Any:
        """``R'a / kappa``."""
        return self.sides.T @ np.asarray(alpha, LD) / self.curvature

    def terms(self, v: Any) -> Any:
        """The sum of the absolute terms of the dual objective, for one that goes by ``K beta``."""
        beta = np.abs(self.sides).T @ np.abs(v[: len(self.sides)])
        return terms(self.program, v) + beta @ (np.abs(self.K) @ beta) / (self.curvature or 1.0)


class OneNorm(Textbook):
    """``|w|_1 + sum_i C_i max(0, 1 - s_i f(x_i))``, beta in the place of w without features."""

    curvature = 0.0

    def _cost(self, m: Machine, s: Any) -> Any:
        weights = np.asarray(s.coef if self.is_linear else s.expansion, dtype=LD)
        loss = np.maximum(1 - self.data.y * m.f, 0)
        return np.sum(np.abs(weights)) + np.sum(prices(self.family, self.data, self.u) * loss)

    @cached_property
    def program(self) -> Dual:
        """``min -1'a + h'mu, |F'R'a - G'mu| <= 1, s'a = g_b'mu, 0 <= a <= C``."""
        features = self.data.X if self.is_linear else self.K
        pull = (self.sides @ features).T
        n, rules = len(self.data), self.rules
        q, lower, upper = -np.ones(n), np.zeros(n), prices(self.family, self.data, self.u)
        balance = self.data.y[None].astype(LD)
        if rules is not None:
            m, n_equal = len(rules), len(rules.b)
            pull = np.column_stack([pull, -self._rows[:, :-1].T])
            balance = np.column_stack([balance, -self._rows[:, -1][None]])
            q = np.concatenate([q, rules.right])
            lower = np.concatenate([lower, np.zeros(m - n_equal), np.full(n_equal, -np.inf)])
            upper = np.concatenate([upper, np.full(m, np.inf)])
        N = len(q)
        free = self.intercept == "free"
        A, b = (balance, np.zeros(1)) if free else (np.zeros((0, N)), np.zeros(0))
        G = np.vstack([pull, -pull])
        return _extended(Dual(np.zeros((N, N)), q, A, b, G, np.ones(len(G)), lower, upper))


class Joint(Textbook):
    """Crammer-Singer: ``1/2 sum_m |w_m|^2 + sum_i C_i max_m (f_m + 1 - [m = y_i]) - f_{y_i}``."""

    is_hard = False
    curvature = 1.0

    @property
    def own(self) -> Any:
        """``[m = y_i]``."""
        return self.data.y[:, None] == np.arange(3)

    def _scores(self, s: Any) -> tuple[Any, Any]:
        """``sum_m |w_m|^2`` and ``f_m(x_i)``."""
        b, W = np.asarray(s.intercept, LD), self.weights(s)
        if self.is_linear:
            return np.sum(W * W), self.data.X @ W + b
        scores = self.K @ W
        return np.sum(W * scores), scores + b

    def slack(self, s: Any) -> Any:
        _, f = self._scores(s)
        best = np.max(np.where(self.own, -np.inf, f), axis=1)
        return np.maximum(best + 1 - f[self.own], 0)

    def cost(self, s: Any) -> Any:
        square, _ = self._scores(s)
        b = np.asarray(s.intercept, LD)
        if self.intercept == "none" and np.any(b != 0):
            return LD(np.inf)
        C = prices(self.family, self.data, self.u)
        return (square + b @ b) / 2 + C @ self.slack(s)

    def decisions(self, s: Any) -> tuple[Any, Any]:
        weights, b = self.weights(s), np.asarray(s.intercept, LD)
        return self.new @ weights + b, np.abs(self.new) @ np.abs(weights) + np.abs(b)

    def squared_distance(self, first: Any, second: Any) -> Any:
        b = np.asarray(first.intercept, LD) - np.asarray(second.intercept, LD)
        step = self.weights(first) - self.weights(second)
        return np.sum(step * (step if self.is_linear else self.K @ step)) + b @ b

    @cached_property
    def program(self) -> Dual:
        """Class by class: ``min 1/2 sum_m tau_m'K tau_m - sum_i tau_{i,y_i}``."""
        n, own = len(self.data), 1.0 * self.own.T.ravel()
        K = self.K + 1 if self.intercept == "penalized" else self.K
        C = np.tile(prices(self.family, self.data, self.u), 3)
        P = np.kron(np.eye(3), K)
        A = np.hstack([np.eye(n)] * 3)
        free = np.full(3 * n, -np.inf)
        return _extended(Dual(P, -own, A, np.zeros(n), np.zeros((0, 3 * n)), (), free, C * own))

    def point(self, alpha: Any, multipliers: Any) -> Any:
        del multipliers
        return np.asarray(alpha, LD).ravel(order="F")

    def implied_expansion(self, alpha: Any) -> Any:
        return np.asarray(alpha, LD)

    def terms(self, v: Any) -> Any:
        return terms(self.program, v)


def _extended(D: Dual) -> Dual:
    return Dual(*(np.asarray(part, dtype=LD) for part in D))
