"""The representation of fitted estimators in notebooks."""

from __future__ import annotations

import html
from types import SimpleNamespace
from typing import Any

from qpsvm.display import one_line
from qpsvm.estimators.parameters import accuracy

QUICK_SAMPLES = 2_000
"""Up to so many samples a certificate takes a moment; of more it is shown once it is there."""


def has_quick_certificate(estimator: Any) -> bool:
    """Return whether the certificate is known or takes little time to compute."""
    is_there = "certificate" in vars(estimator._proof)
    return is_there or bool(estimator.solution_.data.n_given <= QUICK_SAMPLES)


def certificate_line(estimator: Any) -> str:
    """A paragraph with the certified gap of a fitted estimator; empty before ``fit``.

    A certificate of many samples is not computed for this: the paragraph has what the solve has
    verified, and says where the gap is.
    """
    if not hasattr(estimator, "solution_"):
        return ""
    verdict = "Certified optimal" if estimator.fit_status_ == 0 else "Not certified"
    if has_quick_certificate(estimator):
        gap = estimator.certificate_.relative_gap
        detail = f"the objective is within {gap:.1e} (relative) of the optimum."
    else:
        detail = "<code>certificate_</code> has the gap."
    return (
        f'<p class="qpsvm-certificate">{verdict} to eps = {accuracy(estimator):g}: {detail} '
        f"{html.escape(one_line(estimator.problem_))}</p>"
    )


def as_shown(estimator: Any) -> Any:
    """The estimator, or a copy with a remark in place of a certificate not yet computed."""
    if not hasattr(estimator, "solution_") or has_quick_certificate(estimator):
        return estimator
    proof = SimpleNamespace(
        problem=estimator.problem_,
        solution=estimator.solution_,
        certificate="not yet",  # what fits into scikit-learn's table
    )
    shown = object.__new__(type(estimator))
    vars(shown).update(vars(estimator), _proof=proof)
    return shown
