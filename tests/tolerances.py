"""Every tolerance of the test suite, with the reason for it."""

from __future__ import annotations

from collections.abc import Mapping

# --- conformance: what each backend must reach on small, well-scaled programs -------------------

ASKED = 1e-8
"""The accuracy every backend is asked for."""

REACHED = 1e-6
"""What the verifier must then measure: methods that stop on their own scales get two digits."""

REACHED_BY: Mapping[str, float] = {
    # CVXPY and qpsolvers hand these a second-order cone program; the epigraph variable of the
    # quadratic form costs half of the digits
    "cvxpy:ECOS": 1e-3,
    "cvxpy:CVXOPT": 1e-3,
    "qpsolvers:ecos": 1e-3,
}

CERTIFICATE = 1e-5
"""Violation of a certificate of infeasibility, per unit of its value."""

CLOSED_FORM = 1e-5
"""Distance of a point to a closed-form optimum with curvature near 1: sqrt of a gap of 1e-10."""

CLOSED_FORM_BY: Mapping[str, float] = dict.fromkeys(REACHED_BY, 0.005)

# --- manufactured programs ------------------------------------------------------------------------

EXACT = 1e-12
"""Residuals of a manufactured solution: rounding of the products that define q, h and b."""

MANUFACTURED = 1e-6
"""Residuals a backend must reach on a manufactured program when asked for ``ASKED``."""

MANUFACTURED_OBJECTIVE = 1e-6
"""Relative distance to the manufactured optimum's objective, which the gap bounds."""

# --- transforms and the polish --------------------------------------------------------------------

TRANSFORMED = 1e-10
"""Residuals of an exact solution after scaling by factors up to e^3 and back."""

# --- mutations --------------------------------------------------------------------------------

VISIBLE_CHANGE = 1e-4
"""Share of a change to one number that must show in some scaled residual: scales grow with the
size of the row or gradient, a few hundred on manufactured programs; curvature is at least 0.1."""

# --- SVM problems --------------------------------------------------------------------------------

ROUNDING = 1e-12
"""Two ways of evaluating the same formula on a few hundred numbers of order 1."""

FINER = 2.0**-14
"""Share of the rounding of a product that sums whose terms cancel may have, with a few hundred
terms: a part of a number has 22 bits, of which adding up and the range of numbers take a few."""

SAME_OBJECTIVE = 2e-8
"""Relative difference of two objectives, each certified to a relative gap of 1e-8."""

SAME_DECISION = 5e-4
"""Decision values of two solutions with gaps of 1e-8: |w - w*| <= sqrt(2 gap) = 1.4e-4 each."""

TIGHT = 1e-11
"""The eps of a solve whose objective stands for the exact optimum."""

KERNEL = 1e-13
"""Relative error of a kernel value: a dot product of up to ten terms, then one exp or power."""

ENCLOSED = 1e-12
"""How far rigorous bounds may be apart, per unit of the terms of a sum: a-priori bounds are some
hundred roundings for a few terms; 2e-13 is the most seen."""

FLOAT32_CACHE = 2e-3
"""Decision values of LIBSVM: its kernel cache is float32, so it solves a program whose matrix is
rounded by 6e-8. The alphas of up to 100 per sample multiply that; 1.5e-3 is the most seen."""

POLISHED = 1e-9
"""Residuals after polishing: linear solves of matrices with a condition up to about 1e6."""

CERTIFIED = 1e-9
"""The certified gap that a polish must reach from any feasible point; 1e-12 and less where alphas
are not thousands of times larger than their sums, and a few 1e-10 where they are."""

# --- peers and closed forms -----------------------------------------------------------------------

FLOAT32_GAP = 1e-5
"""Certified relative gap of LIBSVM at tol=1e-10 and C=2: the same rounding of its cache; 3e-6 is
the most seen. An alpha or an intercept that is wrong by one per cent leaves 9.8e-5 and more."""

DESCENT = 1e-5
"""Weights of LIBLINEAR at tol=1e-10 and C=0.05 beside ours, of order 0.1; 1.7e-6 is the most seen,
and a gap of 1e-8 would allow more."""

DESCENT_OBJECTIVE = 1e-8
"""Relative distance of its objective from the optimum there: below 1e-10 where it was measured."""

LINEAR_SYSTEM = 1e-5
"""Solutions at ``TIGHT`` beside a linear solve, relative to the largest entry: a relative gap of
1e-11 allows sqrt(2e-11) = 4.5e-6 of the size of the machine."""

TIGHT_DECISION = 2e-5
"""Decision values of two solutions at ``TIGHT``, relative to the largest: each gap allows
|w - w*| <= sqrt(2e-11 objective), a share of 4.5e-6 of the size of the machine; below 1e-6 where
it was measured."""

# --- families ------------------------------------------------------------------------------------

HARMLESS_COST = 3e-8
"""Relative change of the cost of a machine that may pass at eps = 1e-8: the optimum is within eps
of it on either side, and the truth it is compared with within 1e-10."""

HARMLESS_ALPHA = 1e-4
"""How far an alpha that may pass is outside its box or its sums, per unit of the largest alpha:
the square root of eps = 1e-8, which is what the verifier lets the repair move."""

HARMLESS_STATEMENT = 1e-7
"""Slack, interval and KKT residuals of a solution that may pass at eps = 1e-8, in units of the
largest number involved (complementarity: of the objective): the verifier scales each of them by
its own row or gradient, up to ten times larger than these units."""

LAW_EPS = 1e-10
"""What the solutions that laws compare are certified to."""

LAW_OBJECTIVE = 4e-10
"""Relative difference of two objectives, each certified to a relative gap of ``LAW_EPS``."""

LAW_DECISION = 2e-4
"""Decision values of two such solutions, per unit of the largest: |w - w*| <= sqrt(2 gap / kappa)
is 2e-5 |w| each for kappa = 1/2, and the terms of a decision value may be some times larger than
the value."""

SUMS = 1e-10
"""Rounding of an objective whose terms are up to 1e6 times larger than it is (random machines with
weights of 1e6 or multipliers of 1e-6), per unit of the larger of two objectives."""

BEST_NUMBER = 1e-11
"""Two ways of adding up the cost of one machine, relative to the cost."""

# --- model files ----------------------------------------------------------------------------------

EIGHT_DIGITS = 1e-6
"""Decision values of order 10 from support vectors printed with 8 digits."""

SINGLE_PRECISION = 1e-4
"""The same by a library in single precision, which prints the intercept with 6 digits."""

# --- audits ---------------------------------------------------------------------------------------

AUDITED = 1e-12
"""Decision values and objectives of a foreign model, evaluated by its library and by ours: sums of
a few hundred terms; 2e-14 is the most seen."""

AUDITED_GAP = 1e-8
"""Relative error of the optimum that PIQP or Clarabel finds from a textbook's dense program."""

# --- reports -------------------------------------------------------------------------------------

ON_THE_CURVE = 1e-4
"""Distance of a sample from the line of the KKT conditions, per unit of the axes: the natural
residual of a solution at eps = 1e-8 may be as large, its square root."""
