"""Lines that a notebook shows beside a fitted estimator."""

from __future__ import annotations

import html
from typing import Any


def certificate_line(estimator: Any) -> str:
    """A paragraph with the certified gap of a fitted estimator; empty before ``fit``."""
    if not hasattr(estimator, "solution_"):
        return ""
    proof = estimator.certificate_
    verdict = "Certified optimal" if proof.passed(estimator.eps) else "Not certified"
    text = (
        f"{verdict} to eps = {estimator.eps:g}: the objective is at most "
        f"{proof.relative_gap:.1e} above the optimum, relative to it. {estimator.problem_!r}"
    )
    return f'<p class="qpsvm-certificate">{html.escape(text)}</p>'
