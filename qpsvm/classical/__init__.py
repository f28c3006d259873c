"""Classical training methods, each with a trace of certified gaps.

Examples
--------
>>> import qpsvm
>>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [1.0], [3.0]], [-1, -1, 1])
>>> result = qpsvm.classical.smo(problem)
>>> result.reason, result.relative_gap < 1e-6
('gap', True)
"""

from qpsvm.classical.dual_methods import (
    admm,
    coordinate_descent,
    dual_ascent,
    frank_wolfe,
    slsqp,
    smo,
)
from qpsvm.classical.hinge import hinge_cost, hinge_subgradient
from qpsvm.classical.machines import machine_from_alpha
from qpsvm.classical.newton import kernel_newton, newton
from qpsvm.classical.recording import ClassicalResult, Trace, TraceSettings
from qpsvm.classical.subgradient import pegasos, perceptron, stochastic_subgradient, subgradient

__all__ = [
    "ClassicalResult",
    "Trace",
    "TraceSettings",
    "admm",
    "coordinate_descent",
    "dual_ascent",
    "frank_wolfe",
    "hinge_cost",
    "hinge_subgradient",
    "kernel_newton",
    "machine_from_alpha",
    "newton",
    "pegasos",
    "perceptron",
    "slsqp",
    "smo",
    "stochastic_subgradient",
    "subgradient",
]
