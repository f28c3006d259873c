r"""User-defined linear constraints on the weights and the intercept of ``f(x) = w'x + b``.

===================================  ==============================================================
``LinearConstraints(G, h, A, b)``    :math:`G (w, b) \le h` and :math:`A (w, b) = b`
``nonnegative``, ``nonpositive``     :math:`w_j \ge 0`, :math:`w_j \le 0`
``increasing``, ``decreasing``       the same for f: non-decreasing, non-increasing in feature j
``bounded``, ``fixed``               lower :math:`\le w_j \le` upper, :math:`w_j =` value
``ordered``                          :math:`w_1 \le w_2 \le \dots \le w_k` in that order
``sum_of``                           at_least :math:`\le \sum_j w_j \le` at_most
``fairness_band``                    covariance of a sensitive column and f(x) within a bound
===================================  ==============================================================

Columns go by name (a string, looked up in the DataFrame) or by position (an integer from 0, never a
label). Which columns and samples are meant is settled when the data is there: ``resolve`` turns a
constraint into rows, ``combine`` stacks the rows of several. Whatever has a ``resolve`` can join.
"""

from qpsvm.constraints.builders import (
    bounded,
    decreasing,
    fixed,
    increasing,
    nonnegative,
    nonpositive,
    ordered,
    sum_of,
)
from qpsvm.constraints.fairness import fairness_band
from qpsvm.constraints.rows import Constraint, Constraints, LinearConstraints, combine, conflicting

__all__ = [
    "Constraint",
    "Constraints",
    "LinearConstraints",
    "bounded",
    "combine",
    "conflicting",
    "decreasing",
    "fairness_band",
    "fixed",
    "increasing",
    "nonnegative",
    "nonpositive",
    "ordered",
    "sum_of",
]
