"""Machines of Crammer and Singer and with a 1-norm, judged by kernel values with 60 digits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import qpsvm
from benchmarks.soundness.bare import BAND
from benchmarks.soundness.exact_machines import SMALLEST
from benchmarks.soundness.exact_part import ANSWERS, Result, outcome_of
from benchmarks.soundness.kernel_answers import SECONDS
from benchmarks.soundness.kernel_machines import BITS, rounded
from benchmarks.soundness.kernel_specs import draw_samples
from benchmarks.soundness.tally import KIND
from qpsvm.exceptions import QPSVMError
from qpsvm.qp import Status
from tests.certificates.textbook import Instance, of_data

FAMILIES = {"Crammer-Singer": 4, "L1 norm": 5}
"""With the most samples."""


def judged(rng: Any, rejected: Counter[str]) -> Result:
    """The answer for a random problem, and what its certificate says, held against the optimum."""
    while True:
        name = str(rng.choice(list(FAMILIES)))
        found = draw_samples(rng, int(rng.integers(3, FAMILIES[name] + 1)))
        if found is None:
            rejected["kernel values: beyond the range"] += 1
            continue
        data, X, eps, traits = found
        try:
            # an optimum in rational numbers is that of a kernel matrix with rational numbers
            instance = of_data(name, replace(data, X=X, K=rounded(data.K, BITS[1])))
        except QPSVMError as error:
            rejected[f"kernel values: {type(error).__name__}"] += 1
            continue
        return _judged(instance, eps, traits | {"family": name})


def _judged(instance: Instance, eps: float, traits: dict[str, str]) -> Result:
    problem, kind = instance.problem, "solve, auto"
    axes = {KIND: kind, ANSWERS: kind} | traits
    try:
        solution = qpsvm.solve(problem, eps=eps, time_limit=SECONDS)
        report = qpsvm.verify(problem, solution, eps=eps)
    except QPSVMError as error:
        return Result(axes, "refused", [repr(error)], [])
    certificate = report.certificate
    passed = bool(report.passed) or solution.status is Status.OPTIMAL
    try:
        cost = Fraction(instance.cost(solution))
    except ValueError:  # numbers that are not finite
        return Result(axes, outcome_of(passed, ["no machine"]), ["no machine"], [])
    true = cost - instance.optimum.value
    size = max(abs(cost), Fraction(float(problem.model.objective_floor)), SMALLEST)
    excess = true / size
    harm = [f"exceeds the optimum by {float(excess):.3g}"] * (excess > Fraction(eps) * BAND)
    false = []
    if certificate.gap_upper < float("inf") and true > Fraction(certificate.gap_upper):
        false.append(f"gap, estimated: at most {certificate.gap_upper!r}, it is {float(true)!r}")
    outcome = outcome_of(passed, harm)
    in_eps = float(excess / Fraction(eps)) if passed else None
    return Result(axes, outcome, harm, false, in_eps, checked=True)
