"""The text of a certificate, the relative gap first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

from qpsvm.machines.intercept import Interval


class Printable(Protocol):
    """Protocol of a certificate that can be printed: its bounds by name."""

    @property
    def relative_gap(self) -> float: ...
    @property
    def rigorous(self) -> bool: ...
    @property
    def primal_objective(self) -> float: ...
    @property
    def dual_objective(self) -> float: ...
    @property
    def feasible_objective(self) -> float: ...
    @property
    def gap_upper(self) -> float: ...
    @property
    def rounding(self) -> float: ...
    @property
    def infeasibility(self) -> float: ...
    @property
    def weight_error(self) -> float: ...
    @property
    def intercept_bounds(self) -> Interval | None: ...


def printed(proof: Printable) -> Iterator[str]:
    """Yield the lines that ``print(certificate)`` shows.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> proof = qpsvm.certify(problem, qpsvm.solve(problem))
    >>> next(printed(proof)).startswith("relative gap ")
    True
    """
    how = "enclosed: the gap holds in exact arithmetic" if proof.rigorous else "estimated"
    yield f"relative gap {proof.relative_gap:.2e}"
    ends = proof.dual_objective, proof.feasible_objective
    if all(map(math.isfinite, ends)):
        yield f"  optimum in [{ends[0]:.12g}, {ends[1]:.12g}], up to rounding"
    else:
        yield "  optimum without bounds: an objective is not finite"
    yield (
        f"  objective {proof.primal_objective:.12g}, at most {proof.gap_upper:.1e} above the "
        "optimum, rounding included"
    )
    yield f"  rounding of the gap {proof.rounding:.1e}, relative; {how}"
    if proof.infeasibility > 0.0:
        yield f"  constraints are missed by {proof.infeasibility:.1e}"
    if math.isfinite(proof.weight_error):
        yield f"  weights within {proof.weight_error:.1e} of the optimal ones"
    bounds = proof.intercept_bounds
    if bounds is not None and all(map(math.isfinite, bounds)):
        lower, upper = bounds
        yield f"  intercept of every optimum in [{lower:.9g}, {upper:.9g}]"
    yield "  further: .screening, .decision_bounds(X), .to_dict()"
