"""Verification and recovery of the machine with one decision function per class.

``joint.primal_dual`` has the two objectives, ``joint.samples`` the KKT conditions one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from qpsvm.exceptions import InvalidDataError
from qpsvm.machines.consistency import CANCELLING, follows_from_alpha, same_repair
from qpsvm.machines.exact_types import require_own_support, require_stored, same_data, same_kernel
from qpsvm.machines.form import Form
from qpsvm.machines.joint import samples
from qpsvm.machines.joint.primal_dual import JointPair
from qpsvm.machines.joint.samples import ClassTable
from qpsvm.machines.joint.solution import JointSolution, alpha_unit
from qpsvm.machines.verifiable import Implication
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.qp.solution import QPSolution


class JointModel(JointPair):
    """A ``JointPair`` whose solutions can be recovered and verified; a ``VerifiableModel``."""

    # --- what a verifier asks --------------------------------------------------------------------

    sample_table = samples.class_table
    summary = samples.class_summary

    def best_intercepts(self, solution: JointSolution) -> None:
        """Return None: intercepts are weights of a constant feature here."""
        del solution

    def infeasibility(self, solution: JointSolution) -> float:
        """Return zero: there are no hard conditions."""
        del solution
        return 0.0

    def rounding(self, solution: JointSolution, objective: float) -> float:
        """Estimated rounding error of the objective, relative to it.

        The error of a decision value is of the order of the rounding unit times the terms of its
        sum; a sample passes on those of two decision values, if it pays at all.
        """
        if solution.coef is not None:
            sizes = np.asarray(abs(self.data.X) @ np.abs(solution.coef).T)
            square = float(np.sum(solution.coef * solution.coef))
        elif solution.expansion is not None:
            v = np.abs(solution.expansion)
            norms = np.sqrt(np.abs(self.gram.diagonal()))  # |k(x, z)| <= |phi(x)| |phi(z)|
            positive = self.kernel.is_nonnegative
            sizes = self.kernel_product(v) if positive else np.outer(norms, norms @ v)
            square = float(np.sum(v * sizes))
        else:
            return math.inf
        errors = 2.0 * EPS * np.max(sizes + np.abs(solution.intercept) + 1.0, axis=1)
        pays = ~(self.shortfall(self.decisions(solution)) + errors <= 0.0)
        return (float(self.box @ (errors * pays)) + EPS * square) / max(abs(objective), TINY)

    def dual_rounding(self, solution: JointSolution, point: Dense) -> float:
        """Estimated rounding error of the dual objective of a point, absolute."""
        del solution
        v = np.abs(point)
        if self.is_linear:
            w = np.abs(np.asarray(self.coef(point)))
            square = 2.0 * float(np.sum(w * (abs(self.data.X).T @ v).T))
        else:
            norms = np.sqrt(np.abs(self.gram.diagonal()))
            square = float(np.sum((norms @ v) ** 2))
        square += self.constant * float(np.sum(np.sum(v, axis=0) ** 2))
        return EPS * (float(np.sum(v[self.own])) + 0.5 * square)

    def require_own(self, solution: JointSolution) -> None:
        """Raise InvalidDataError unless the solution is of this problem."""
        require_stored(solution, JointSolution)
        n, d, k = self.data.n_samples, self.data.n_features, self.n_classes
        shapes = {"alpha": (n, k), "expansion": (n, k), "coef": (k, d), "intercept": (k,)}
        for name, expected in shapes.items():
            value = getattr(solution, name)
            optional = name in ("expansion", "coef")
            if not (value is None and optional) and np.shape(value) != expected:
                raise InvalidDataError(
                    f"The solution's {name} has shape {np.shape(value)}, the problem needs "
                    f"{expected}; it belongs to another problem."
                )
        for what, same in (
            ("kernel", same_kernel(self.kernel, solution.kernel)),
            ("repair of the kernel", same_repair(solution.repair, self.repair)),
            ("set of training data", same_data(self.data, solution.data)),
            ("price C", np.array_equal(solution.upper, self.box)),
            ("kind of weights", solution.coef is None or self.is_linear),
        ):
            if not same:
                raise InvalidDataError(
                    f"The solution has another {what} than the problem; it belongs to another one."
                )
        require_own_support(solution)

    def implications(
        self, form: Form, solution: JointSolution, table: ClassTable, best: None
    ) -> Iterator[Implication]:
        """Yield (name, stated value, value implied by the weights) for other fields."""
        del best
        yield "slack", solution.slack, table.slack[self.own.ravel()]
        if form == "dual" or follows_from_alpha(self):
            unit = alpha_unit(solution.alpha, self.box)[:, None]
            stated = math.nan if solution.expansion is None else solution.expansion / unit
            yield "expansion", stated, solution.alpha / unit
        elif self.is_linear:
            yield "expansion", 0.0 if solution.expansion is None else math.inf, 0.0

    def weights_difference(self, solution: JointSolution) -> float:
        """``|W - W(tau)| / |W|`` over all weights and intercepts."""
        alpha, b = solution.alpha, solution.intercept
        apart = b - self.intercepts(alpha)
        implied = self.coef(alpha)
        if solution.coef is not None and implied is not None:
            distance = self.squared_size(solution.coef - implied, None, apart)
            terms = abs(self.data.X).T @ np.abs(alpha)
        elif solution.expansion is not None:
            distance = self.squared_size(None, solution.expansion - alpha, apart)
            terms = np.sqrt(np.abs(self.gram.diagonal())) @ np.abs(alpha)
        else:
            return math.inf
        own = math.sqrt(self.squared_size(solution.coef, solution.expansion, b))
        # an optimum of w = 0 is a sum that cancels: its rounding is that of its terms
        size = max(own, CANCELLING * float(np.linalg.norm(terms)), TINY)
        ratio = math.sqrt(distance) / size
        return ratio if math.isfinite(ratio) else math.inf

    # --- recovery --------------------------------------------------------------------------------

    def solution(
        self,
        qp: QPSolution,
        alpha: Dense,
        *,
        expansion: Dense | None,
        coef: Dense | None,
        intercept: Vector,
    ) -> JointSolution:
        """A JointSolution whose slack is exact for its weights."""
        draft = JointSolution(
            alpha=alpha,
            expansion=expansion,
            coef=coef,
            intercept=intercept,
            slack=np.zeros(self.data.n_samples),
            upper=self.box,
            kernel=self.kernel,
            data=self.data,
            qp=qp,
            repair=self.repair,
        )
        return draft.replace(slack=np.maximum(self.shortfall(self.decisions(draft)), 0.0))
