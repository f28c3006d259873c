"""User-defined linear constraints on the weights and the intercept of ``f(x) = w'x + b``.

===================================  =========================================================
``LinearConstraints(G, h, A, b)``    ``G (w, b) <= h`` and ``A (w, b) = b``
``nonnegative``, ``nonpositive``     ``w_j >= 0``, ``w_j <= 0``
``increasing``, ``decreasing``       the same, said of f: it never falls, or rises, with feature j
``bounded``, ``fixed``               ``lower <= w_j <= upper``, ``w_j = value``
``ordered``                          ``w_1 <= w_2 <= ... <= w_k`` over the columns in that order
``sum_of``                           ``at_least <= sum_j w_j <= at_most``
``fairness_band``                    the covariance of a sensitive column and f(x) within a bound
===================================  =========================================================

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
from qpsvm.constraints.conflicts import conflicting
from qpsvm.constraints.fairness import fairness_band
from qpsvm.constraints.rows import Constraint, Constraints, LinearConstraints, combine

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
