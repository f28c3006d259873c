"""Support vectors and coefficients in the layout of scikit-learn and LIBSVM.

With k > 2 classes, one against one, LIBSVM sorts the support vectors by class. The machine of the
classes i < j is positive for i; a support vector of class i has its coefficient in row j - 1, one
of class j in row i. With two classes, and everywhere else, decision values are positive for the
larger label. Source: Chang and Lin, "LIBSVM: a library for support vector machines", section 7.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qpsvm.formulations import OneVsOne
from qpsvm.kernels import Precomputed
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.prediction import KernelMachine
from qpsvm.machines.reduced import ReducedSolution
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Dense, Index, freeze
from qpsvm.numerics.single_precision import Stored


@dataclass(frozen=True, eq=False)
class SupportVectors:
    """Support vectors of a fitted estimator, with their coefficients.

    Attributes
    ----------
    solution : SVMSolution, JointSolution or ReducedSolution
    scales : tuple of float
        By what scikit-learn's decision function is larger, for every machine.
    codes : array of int of shape (n,) or None
        The class of each of the caller's rows; None if there are none.
    """

    solution: SVMSolution | JointSolution | ReducedSolution
    scales: tuple[float, ...]
    codes: Index | None = None

    @property
    def is_one_vs_one(self) -> bool:
        """Return whether LIBSVM's layout of pairs applies."""
        solution = self.solution
        return isinstance(solution, ReducedSolution) and isinstance(solution.reduction, OneVsOne)

    @cached_property
    def machines(self) -> tuple[KernelMachine, ...]:
        """Machines of the solution: one, or the parts of a reduction."""
        solution = self.solution
        return solution.solutions if isinstance(solution, ReducedSolution) else (solution,)

    @cached_property
    def support(self) -> Index:
        """Rows of the caller's X that are support vectors, sorted by class if there are classes."""
        machines: Any = self.machines
        return self._sorted(np.unique(np.concatenate([machine.support for machine in machines])))

    def _sorted(self, rows: Index) -> Index:
        if self.codes is not None:
            rows = rows[np.argsort(self.codes[rows], kind="stable")]
        return np.asarray(freeze(rows.astype(np.int32)))

    @cached_property
    def dual_coef(self) -> Dense:
        """Coefficients of the support vectors, shape (k - 1, m), (k, m) or (1, m)."""
        pairs = zip(self.machines, self.scales, strict=True)
        columns = [scale * self.coefficients(machine) for machine, scale in pairs]
        if not self.is_one_vs_one:
            return np.asarray(freeze(np.vstack([column.T for column in columns])))
        assert self.codes is not None
        k, classes = len(self.solution.classes), self.codes[self.support]
        rows = np.zeros((k - 1, len(self.support)))
        for (i, j), column in zip(itertools.combinations(range(k), 2), columns, strict=True):
            rows[j - 1, classes == i] = -column[classes == i, 0]
            rows[i, classes == j] = -column[classes == j, 0]
        return np.asarray(freeze(rows))

    def coefficients(self, machine: Any) -> Dense:
        """Coefficients of all support vectors in one machine, shape (m, 1) or (m, k)."""
        beta = machine.expansion
        beta = np.zeros((machine.data.n_samples, 1)) if beta is None else np.asarray(beta)
        if machine.repair is not None:
            beta = machine.repair.coefficients(beta)
        beta = beta[:, None] if beta.ndim == 1 else beta
        whole = np.zeros((machine.data.n_given, beta.shape[1]))
        whole[machine.data.kept] = beta
        return whole[self.support]

    def decisions(self, X: Samples) -> Dense:
        """Decision values of every machine, shape (m,), (m, k) or (m, p); X is checked."""
        solution = self.solution
        if isinstance(solution, ReducedSolution):
            return np.asarray(solution.checked_machine_values(X) * np.array(self.scales))
        return np.asarray(self.scales[0] * solution.checked_values(X))

    @property
    def is_linear(self) -> bool:
        """Return whether the machines have weights of the features."""
        return all(machine.coef is not None for machine in self.machines)

    @cached_property
    def samples(self) -> Stored:
        """The support vectors themselves, shape (m, d); (0, 0) for a given kernel matrix."""
        if isinstance(self.machines[0].kernel, Precomputed):
            return np.empty((0, 0))
        data = self.solution.data
        place = np.zeros(data.n_given, dtype=np.intp)
        place[data.kept] = np.arange(data.n_samples)
        return data.X[place[self.support]]

    @cached_property
    def coef(self) -> Dense:
        """Weights of a linear kernel, one row for each decision function."""
        rows = [np.atleast_2d(np.asarray(machine.coef)) for machine in self.machines]
        return np.asarray(freeze(np.vstack(self._scaled(rows))))

    @cached_property
    def intercept(self) -> Dense:
        """One intercept for each decision function."""
        values = [np.atleast_1d(machine.intercept) for machine in self.machines]
        return np.asarray(freeze(np.concatenate(self._scaled(values))))

    def _scaled(self, values: list[Any]) -> list[Any]:
        sign = -1.0 if self.is_one_vs_one else 1.0
        return [sign * scale * own for scale, own in zip(self.scales, values, strict=True)]


class AllCoefficients(SupportVectors):
    """Samples with nonzero coefficients, however small, in scikit-learn's layout.

    Files of other programs have no weights of a linear kernel besides: there every coefficient
    counts, also those that are too small to make a sample a support vector.
    """

    @cached_property
    def support(self) -> Index:
        machines: Any = self.machines
        rows = [machine.support for machine in machines]
        for machine in machines:
            beta = machine.expansion
            if beta is not None:
                if machine.repair is not None:
                    beta = machine.repair.coefficients(beta)
                rows.append(machine.data.kept[np.unique(np.nonzero(beta)[0])])
        return self._sorted(np.unique(np.concatenate(rows)))
