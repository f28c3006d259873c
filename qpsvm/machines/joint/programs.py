"""Primal and dual program of a machine with one decision function per class, and recovery.

The mathematics is on the first page of ``primal_dual``. Everything that has one entry per class is
ordered class by class: ``(w_1, ..., w_k)``, ``(tau_11, ..., tau_n1, tau_12, ...)``.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.machines.blocks import (
    NO_WEIGHTS,
    ModelRecovery,
    blocks,
    of_machine,
    repaired_program,
    vector_or_nan,
)
from qpsvm.machines.conditions import alpha_unit
from qpsvm.machines.consistency import follows_from_alpha
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.joint.model import JointModel
from qpsvm.machines.setup import DecisionValues
from qpsvm.numerics.arrays import Dense, Matrix, Vector, require_memory
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import RepeatedQuadratic, SparseQuadratic
from qpsvm.qp.solution import QPSolution

# --- the dual ------------------------------------------------------------------------------------


def dual_program(model: JointModel) -> QuadraticProgram:
    """The dual program: ``P = I_k (x) (K + constant)``, ``q = -[m = y_i]``, n equalities."""
    n, k = model.own.shape
    return QuadraticProgram(
        RepeatedQuadratic(model.gram.select(None, constant=model.constant), k),
        -by_class(model.own.astype(np.float64)),
        A=sp.hstack([sp.eye_array(n)] * k, format="csc"),
        b=np.zeros(n),
        ub=by_class(model.upper),
        names={"x": "tau (class by class)"},
    )


class JointDualRecovery(ModelRecovery[JointModel]):
    """Map between ``x = tau`` and the machine with one decision function per class."""

    @staticmethod
    def blocks_of(model: JointModel) -> dict[str, slice]:
        """Slices of x that hold the variables of each class, by name."""
        n, k = model.own.shape
        return blocks({f"tau_{m + 1}": n for m in range(k)})

    def recover(self, qp: QPSolution) -> Evaluation:
        """Recover weights, intercepts, tau and slack from a solution of the dual program.

        At the optimum many rows of tau are zero, and the rounding that a solver leaves in such a
        row violates it by as much as the row has. Where that is all, tau becomes the nearest
        feasible one, and the program's solution that of its machine, multipliers included.
        """
        given = vector_or_nan(qp.x, self.model.own.size).reshape(self.model.own.shape[::-1]).T
        tau = self.model.feasible_dual(given).alpha
        if np.array_equal(tau, given, equal_nan=True):
            return self.model.of_tau(qp, given)
        found = self.model.of_tau(qp, tau)
        unit = float(np.max(alpha_unit(tau, self.model.box)))
        moved = repaired_program(qp, self.to_qp(found), unit)
        if moved is qp:
            return self.model.of_tau(qp, given)
        return found.of(found.solution.replace(qp=moved))

    def to_qp(self, values: DecisionValues) -> QPSolution:
        """Build the dual program's solution from any tau and weights.

        Stationarity says ``f_m - [m = y_i] + y_i + z_im = 0``, so y is minus the maximum over m.
        """
        gradient = values.decisions - self.model.own
        best = np.max(gradient, axis=1)
        x = by_class(values.solution.alpha)
        return of_machine(
            x=x,
            z=np.zeros(0),
            y=-best,
            z_lower=np.zeros(len(x)),
            z_upper=by_class(best[:, None] - gradient),
        )


# --- the primal ----------------------------------------------------------------------------------


def primal_program(model: JointModel) -> QuadraticProgram:
    """The primal program in (w_1, ..., w_k, b, xi), or in (beta_1, ..., beta_k, b, xi).

    Rows ``-(f_{y_i} - f_m) - xi_i <= -1``, for every sample the other classes in their order.
    """
    n, k = model.own.shape
    if model.is_linear:
        features: Matrix = model.data.X
        norm = sp.eye_array(features.shape[1])
    else:
        require_memory(2 * (k - 1) * n, n, "The kernel primal", "use the dual form.")
        features = model.gram.to_dense()
        norm = sp.csc_array(features)
    sample, other = np.nonzero(~model.own)
    rows, ones = np.arange(len(sample)), np.ones(len(sample))
    every = (len(sample), n * k)
    own = sp.csr_array((ones, (rows, model.data.codes[sample] * n + sample)), shape=every)
    ahead = own - sp.csr_array((ones, (rows, other * n + sample)), shape=every)
    columns = [ahead @ sp.block_diag([sp.csr_array(features)] * k, format="csr")]
    hessian = [norm] * k
    if model.constant:
        columns.append(ahead @ sp.block_diag([np.ones((n, 1))] * k, format="csr"))
        hessian.append(sp.eye_array(k) * model.constant)
    columns.append(sp.csr_array((ones, (rows, sample)), shape=(len(sample), n)))
    G = -sp.hstack(columns, format="csc")
    free = G.shape[1] - n
    weights = [f"{'w' if model.is_linear else 'beta'}_{m + 1}" for m in range(k)]
    return QuadraticProgram(
        SparseQuadratic(sp.block_diag([*hessian, sp.csc_array((n, n))], format="csc")),
        np.concatenate([np.zeros(free), model.box]),
        G=G,
        h=-ones,
        lb=np.concatenate([np.full(free, -np.inf), np.zeros(n)]),
        names={"x": ", ".join([*weights, *["b"] * bool(model.constant), "xi"])},
    )


class JointPrimalRecovery(ModelRecovery[JointModel]):
    """Map between ``x = (w, b, xi)`` or ``(beta, b, xi)`` and the joint machine."""

    @staticmethod
    def blocks_of(model: JointModel) -> dict[str, slice]:
        """Slices of x that hold the variables of each class, by name."""
        n, k = model.own.shape
        name, p = ("w", model.data.n_features) if model.is_linear else ("beta", n)
        sizes = {f"{name}_{m + 1}": p for m in range(k)}
        return blocks(sizes | {"b": k if model.constant else 0, "xi": n})

    def recover(self, qp: QPSolution) -> Evaluation:
        """Recover weights, intercepts, tau and slack from a primal solution."""
        model, (n, k) = self.model, self.model.own.shape
        p = model.data.n_features if model.is_linear else n
        has_b = int(model.constant != 0.0)
        x = vector_or_nan(qp.x, k * (p + has_b) + n)
        z = vector_or_nan(qp.z, n * (k - 1)).reshape(n, k - 1)
        tau = np.empty((n, k))
        tau[~model.own] = -z.ravel()
        tau[model.own] = np.sum(z, axis=1)
        weights = x[: k * p].reshape(k, p)
        beta = tau if follows_from_alpha(model.repair) else weights.T
        return model.recovered(
            qp,
            tau,
            expansion=None if model.is_linear else beta,
            coef=weights if model.is_linear else None,
            intercept=x[k * p : k * p + k] if has_b else np.zeros(k),
        )

    def to_qp(self, values: DecisionValues) -> QPSolution:
        """Build the primal program's solution from any tau and weights."""
        model, solution, n = self.model, values.solution, self.model.data.n_samples
        weights = solution.coef if model.is_linear else solution.expansion
        if weights is None:
            return NO_WEIGHTS
        slack = np.maximum(model.shortfall(values.decisions), 0.0)
        head = weights.ravel() if model.is_linear else by_class(weights)
        if model.constant:
            head = np.concatenate([head, solution.intercept])
        tau = solution.alpha
        return of_machine(
            x=np.concatenate([head, slack]),
            z=-tau[~model.own],
            y=np.zeros(0),
            # stationarity in xi
            z_lower=np.concatenate([np.zeros(len(head)), model.box - tau[model.own]]),
            z_upper=np.zeros(len(head) + n),
        )


def by_class(matrix: Dense) -> Vector:
    """Stack the columns of a matrix into one vector."""
    return matrix.ravel(order="F")
