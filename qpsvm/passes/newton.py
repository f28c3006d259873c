"""Steps of Newton's method for a machine, from derivatives summed over all chunks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from qpsvm.chunked.derivatives import Derivatives
from qpsvm.chunked.leverage import Leverage
from qpsvm.chunked.machine import Machine
from qpsvm.chunked.template import Template
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.precision import TINY


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """Quadratic models of the training objective around one machine, in (w, b, t).

    Attributes
    ----------
    gradients : array of shape (2, d + 2)
        Of the objective with kinks rounded off, and of the objective itself.
    hessians : array of shape (m, d + 2, d + 2)
        As in ``Derivatives``, with the regularisation.
    """

    gradients: Dense
    hessians: Dense

    @classmethod
    def of(
        cls, form: Template, machine: Machine, derivatives: Iterable[Derivatives]
    ) -> QuadraticModel:
        """Add up the derivatives of all chunks and the regularisation, at one machine.

        Parameters
        ----------
        form : Template
        machine : Machine
        derivatives : iterable of Derivatives
            Of every chunk, in the order of the chunks.
        """
        d = len(machine.coef)
        total: Derivatives | None = None
        for own in derivatives:
            if total is None:
                total = Derivatives.empty(d, majorised=len(own.hessians.high) == 2)
            total.add_sums(own)
        assert total is not None
        penalty = np.full(d + 2, form.norm_weight)
        penalty[d:] = (float(form.intercept == "penalized"), 0.0)
        g = total.gradients.value + penalty * machine.vector
        g[:, d:] += (form.intercept_price, form.width_price)
        return cls(g, total.hessians.value + np.diag(penalty))

    def steps(self, form: Template, machine: Machine, ridge: float) -> tuple[Machine, ...]:
        """The minimisers of the models, of the rounded objective first; none if one is singular.

        The first is closer to the optimum, as a rule; the objective falls on the way to the second.

        Parameters
        ----------
        form : Template
            Says whether there are an intercept and a width.
        machine : Machine
            The machine that the models are made at.
        ridge : float
            Added to the diagonals of Hessians, which are scaled to ones.
        """
        used = np.ones(self.gradients.shape[1], dtype=bool)
        used[-2:] = (form.intercept != "none", form.width_sign != 0.0)
        steps = np.zeros(self.gradients.shape)
        try:
            for k, own in enumerate(steps):
                H = self.hessians[min(k, len(self.hessians) - 1)]
                own[used] = _solved(H[np.ix_(used, used)], self.gradients[k, used], ridge)
        except (ValueError, LinAlgError):  # not finite; not positive definite
            return ()
        if not np.isfinite(steps).all():
            return ()
        return tuple(Machine.of(machine.vector - step) for step in steps)

    def leverage(self, form: Template, ridge: float) -> Leverage | None:
        """Compute the leverages of samples from the first Hessian; None if it is singular."""
        H = self.hessians[0, :-1, :-1]
        return Leverage.of_hessian(H, ridge, has_intercept=form.intercept != "none")


def _solved(H: Dense, g: Vector, ridge: float) -> Vector:
    """Solve ``H x = g`` for a positive semidefinite matrix, scaled to a diagonal of ones."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), TINY))
    scaled = H * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] += ridge
    return np.asarray(scale * cho_solve(cho_factor(scaled), scale * g))
