"""Newton's method on the losses of all samples: derivatives, steps, leverages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from qpsvm.chunked.machine import Leverage, Machine, scaled_hessian
from qpsvm.chunked.sums import Sum, Sums
from qpsvm.chunked.template import Template, Terms
from qpsvm.numerics.arrays import Dense, Matrix, Vector


@dataclass(frozen=True, eq=False)
class Derivatives(Sums):
    """Gradients and Hessians of losses in (w, b, t), summed over conditions.

    Index 0 is for losses whose kinks are rounded off, index 1 for the losses themselves. They have
    no second derivative that says how far a step may go; their matrix is that of quadratics that
    touch the rounded losses and are nowhere below them,
    ``(u - l) v^2 / (4 |v_0|)`` plus a linear function outside the rounded kinks (Huber, *Robust
    Statistics* (1981), section 7.8).

    Attributes
    ----------
    gradients : Sum of shape (2, d + 2)
    hessians : Sum of shape (m, d + 2, d + 2)
        Of the first kind alone (m = 1), or of both (m = 2).
    """

    gradients: Sum
    hessians: Sum

    @classmethod
    def empty(cls, d: int, *, majorised: bool) -> Derivatives:
        """Sums over no conditions, of d features."""
        return cls(Sum((2, d + 2)), Sum((2 if majorised else 1, d + 2, d + 2)))

    def add(self, X: Matrix, terms: Terms, v: Dense, form: Template, smoothing: Vector) -> None:
        """Add the gradients and Hessians of the losses on a block of samples.

        Parameters
        ----------
        X : array or CSR array of shape (m, d)
        terms : Terms
            Of all conditions on these rows.
        v : array of shape (s, m)
            Their violations.
        form : Template
        smoothing : array of shape (m,)
            A kink is rounded off over ``|v| <= smoothing``; quadratic losses have none.
        """
        exact, heights = terms.slopes(v), terms.upper - terms.lower
        if form.is_curved:
            slope = exact
            curves = (slope > terms.lower) & (slope < terms.upper)
            second = above = np.where(curves, 1.0 / terms.curvature, 0.0)
        else:
            share = np.clip(0.5 + v / (2.0 * smoothing), 0.0, 1.0)
            slope = terms.lower + share * heights
            above = heights / (2.0 * np.maximum(np.abs(v), smoothing))
            second = np.where(np.abs(v) < smoothing, above, 0.0)
        both = np.stack([slope, exact])
        by_row = (terms.signs * both).sum(axis=1)
        over_w = np.asarray(X.T @ by_row.T).T
        over_b, over_t = by_row.sum(axis=1), form.width_sign * both.sum(axis=(1, 2))
        self.gradients.add(-np.column_stack([over_w, over_b, over_t]))
        kinds = (second, above)[: len(self.hessians.high)]
        self.hessians.add(np.stack([_hessian(X, terms.signs, own, form) for own in kinds]))


def _hessian(X: Matrix, signs: Dense, second: Dense, form: Template) -> Dense:
    """``sum_k second_k g_k g_k'`` with the derivative ``g_k = (r x, r, e)`` of minus v_k."""
    d, e = X.shape[1], form.width_sign
    over_f, mixed = second.sum(axis=0), e * (signs * second).sum(axis=0)
    used = np.flatnonzero(over_f)
    Z = X[used]
    D = over_f[used]
    block = np.zeros((d + 2, d + 2))
    product = Z.T @ (sp.diags_array(D) @ Z if sp.issparse(Z) else Z * D[:, None])
    block[:d, :d] = product.toarray() if sp.issparse(product) else product
    block[:d, d] = block[d, :d] = np.asarray(Z.T @ D)
    block[:d, -1] = block[-1, :d] = np.asarray(Z.T @ mixed[used])
    block[d, d] = np.sum(D)
    block[d, -1] = block[-1, d] = np.sum(mixed)
    block[-1, -1] = e * e * np.sum(second)
    return block


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """Quadratic models of the training objective around one machine, in (w, b, t).

    Attributes
    ----------
    form : Template
        Says whether there are an intercept and a width.
    machine : Machine
        The machine that the models are made at.
    gradients : array of shape (2, d + 2)
        Of the objective with kinks rounded off, and of the objective itself.
    hessians : array of shape (m, d + 2, d + 2)
        As in ``Derivatives``, with the regularisation.
    """

    form: Template
    machine: Machine
    gradients: Dense
    hessians: Dense

    @classmethod
    def of(cls, form: Template, machine: Machine, losses: Derivatives) -> QuadraticModel:
        """Add the regularisation to the derivatives of all losses."""
        d = len(machine.coef)
        penalty = np.full(d + 2, form.norm_weight)
        penalty[d:] = (float(form.intercept == "penalized"), 0.0)
        g = losses.gradients.value + penalty * machine.vector
        g[:, d:] += (form.intercept_price, form.width_price)
        return cls(form, machine, g, losses.hessians.value + np.diag(penalty))

    def steps(self, ridge: float) -> tuple[Machine, ...]:
        """The minimisers of the models, of the rounded objective first; none if one is singular.

        The first is closer to the optimum, as a rule; the objective falls on the way to the second.

        Parameters
        ----------
        ridge : float
            Added to the diagonals of Hessians, which are scaled to ones.
        """
        used = np.ones(self.gradients.shape[1], dtype=bool)
        used[-2:] = (self.form.intercept != "none", self.form.width_sign != 0.0)
        steps = np.zeros(self.gradients.shape)
        try:
            for k, own in enumerate(steps):
                H = self.hessians[min(k, len(self.hessians) - 1)]
                scaled, scale = scaled_hessian(H[np.ix_(used, used)], ridge)
                own[used] = scale * cho_solve(cho_factor(scaled), scale * self.gradients[k, used])
        except (ValueError, LinAlgError):  # not finite; not positive definite
            return ()
        if not np.isfinite(steps).all():
            return ()
        return tuple(Machine.of(self.machine.vector - step) for step in steps)

    def leverage(self, ridge: float) -> Leverage | None:
        """Compute the leverages of samples from the first Hessian; None if it is singular."""
        H = self.hessians[0, :-1, :-1]
        return Leverage.of_hessian(H, ridge, has_intercept=self.form.intercept != "none")
