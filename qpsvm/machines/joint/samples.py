"""KKT conditions of a joint program, one row per sample and class.

In the row of sample i and another class m, the margin ``f_{y_i}(x_i) - f_m(x_i)`` is asked to reach
1, and alpha is ``tau_im <= 0``: at the optimum it is zero unless no class comes nearer than m. The
row of the sample's own class sums them up: its margin is the smallest of the others, its alpha
``tau_{i,y_i} = -sum_m tau_im``, which is below ``C_i`` only where that margin reaches 1.

All of it says that tau_i minimises over its set T_i (rows that sum to zero, below their bounds).
The violation is the natural residual of that, in units of both::

    violation_im = | tau_im/u - t_im |,     u = min(C_i, max |tau|)
    t_i = nearest point of T_i/u to tau_i/u - g_i,     g_im = f_m(x_i) - [m = y_i]

Source: Facchinei and Pang, *Finite-Dimensional Variational Inequalities*, section 1.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.display import Column
from qpsvm.machines.joint.evaluation import JointEvaluation
from qpsvm.machines.joint.primal_dual import JointPair, nearest_rows
from qpsvm.machines.joint.solution import alpha_unit
from qpsvm.machines.samples import MarginSummary, SampleTable
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.arguments import Labels


@dataclass(frozen=True, eq=False, repr=False)
class ClassTable(SampleTable):
    """One row per sample and class, the classes of a sample together.

    Attributes
    ----------
    against : array of shape (N,)
        The label of the class the sample is told from; its own in the row that sums them up.
    """

    against: Labels

    def columns(self) -> dict[str, Column]:
        return super().columns() | {"against": self.against}

    def row(self, i: int) -> dict[str, object]:
        against = self.against[i]
        label = against.item() if isinstance(against, np.generic) else against
        return super().row(i) | {"against": label}


def class_table(model: JointPair, evaluation: JointEvaluation) -> ClassTable:
    """Compare every sample and class with the KKT case of its alpha.

    Nothing is taken from the solution but alpha and the decision functions.
    """
    data, own, upper = model.data, model.own, model.upper
    decisions, alpha = evaluation.decisions, evaluation.solution.alpha
    n, k = own.shape
    with np.errstate(all="ignore"):
        margin = decisions[own][:, None] - decisions
        margin[own] = 1.0 - model.shortfall(decisions)
        unit = alpha_unit(alpha, model.box)[:, None]
        target = nearest_rows(alpha / unit - (decisions - own), upper / unit)
        violation = np.abs(alpha / unit - target)
        size, threshold = np.abs(alpha), MACHINES.support * unit
        case = np.where(
            size <= threshold, 0, np.where(size >= model.box[:, None] - threshold, 2, 1)
        )
    return ClassTable(
        sample=np.repeat(data.kept, k),
        label=np.repeat(data.targets, k),
        against=np.tile(data.classes, n),
        decision=decisions.ravel(),
        margin=margin.ravel(),
        required=np.ones(n * k),
        alpha=alpha.ravel(),
        lower=(upper - model.box[:, None]).ravel(),
        upper=upper.ravel(),
        slack=np.maximum(1.0 - margin, 0.0).ravel(),
        violation=np.where(np.isfinite(violation), violation, np.inf).ravel(),
        case=case.ravel().astype(np.intp),
    )


def class_summary(
    model: JointPair, evaluation: JointEvaluation, table: ClassTable
) -> MarginSummary:
    """Count support vectors and training errors, by the row of each sample's own class."""
    del evaluation  # the table says it all
    own = model.own.ravel()
    case, margin = table.case[own], table.margin[own]
    return MarginSummary(
        n_support=int(np.count_nonzero(case != 0)),
        n_free=int(np.count_nonzero(case == 1)),
        n_bound=int(np.count_nonzero(case == 2)),
        training_errors=int(np.count_nonzero(margin <= 0.0)),
    )
