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

EVIDENCE = 1e-5
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

SAME_OBJECTIVE = 2e-8
"""Relative difference of two objectives, each certified to a relative gap of 1e-8."""

SAME_DECISION = 5e-4
"""Decision values of two solutions with gaps of 1e-8: |w - w*| <= sqrt(2 gap) = 1.4e-4 each."""

TIGHT = 1e-11
"""The eps of a solve whose objective stands for the exact optimum."""

KERNEL = 1e-13
"""Relative error of a kernel value: a dot product of up to ten terms, then one exp or power."""

FLOAT32_CACHE = 2e-3
"""Decision values of LIBSVM: its kernel cache is float32, so it solves a program whose matrix is
rounded by 6e-8. The alphas of up to 100 per sample multiply that; 1.5e-3 is the most seen."""

POLISHED = 1e-9
"""Residuals after polishing: linear solves of matrices with a condition up to about 1e6."""
