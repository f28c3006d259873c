"""Steps of Newton's method for a machine, from gradient and Hessian summed over all chunks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from qpsvm.chunked.leverage import Leverage
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.sums import Sum
from qpsvm.chunked.template import Template
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.precision import TINY


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """Quadratic model of the objective at a machine, in (w, b, t).

    Attributes
    ----------
    gradient : array of shape (d + 2,)
    hessian : array of shape (d + 2, d + 2)
        Of the regularisation and of the losses, their kinks rounded off.
    """

    gradient: Vector
    hessian: Dense

    @classmethod
    def of(
        cls, form: Template, machine: Machine, derivatives: Iterable[tuple[Sum, Sum]]
    ) -> QuadraticModel:
        """The model at a machine, from gradients and Hessians of the losses.

        Parameters
        ----------
        form : Template
        machine : Machine
        derivatives : pairs of Sums of shapes (d + 2,) and (d + 2, d + 2)
            Of every chunk, in the order of the chunks.
        """
        d = len(machine.coef)
        gradient, hessian = Sum((d + 2,)), Sum((d + 2, d + 2))
        for first, second in derivatives:
            gradient.add_sum(first)
            hessian.add_sum(second)
        penalty = np.full(d + 2, form.norm_weight)
        penalty[d:] = (float(form.intercept == "penalized"), 0.0)
        g = gradient.value + penalty * machine.vector
        g[d:] += (form.intercept_price, form.width_price)
        return cls(g, hessian.value + np.diag(penalty))

    def step(self, form: Template, machine: Machine, ridge: float) -> Machine:
        """The minimiser of the model; the machine itself where there is none.

        Parameters
        ----------
        form : Template
            Says whether there are an intercept and a width.
        machine : Machine
            The machine that the model is made at.
        ridge : float
            Added to the diagonal of the Hessian, which is scaled to ones.
        """
        used = np.ones(len(self.gradient), dtype=bool)
        used[-2:] = (form.intercept != "none", form.width_sign != 0.0)
        step = np.zeros(len(self.gradient))
        try:
            step[used] = _solved(self.hessian[np.ix_(used, used)], self.gradient[used], ridge)
        except (ValueError, LinAlgError):  # not finite; not positive definite
            return machine
        return Machine.of(machine.vector - step) if np.isfinite(step).all() else machine

    def leverage(self, form: Template, ridge: float) -> Leverage | None:
        """Leverages of samples by this Hessian, at a given width; None if it is singular."""
        return Leverage.of_hessian(
            self.hessian[:-1, :-1], ridge, has_intercept=form.intercept != "none"
        )


def _solved(H: Dense, g: Dense, ridge: float) -> Dense:
    """Solve ``H x = g`` for a positive semidefinite matrix, scaled to a diagonal of ones."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), TINY))
    scaled = H * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] += ridge
    return np.asarray(scale * cho_solve(cho_factor(scaled), scale * g))
