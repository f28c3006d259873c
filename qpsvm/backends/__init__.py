"""Backends: adapters to quadratic programming solvers.

``get(name).solve(program, Settings(eps=1e-8))`` returns a ``QPSolution`` whose status is the
solver's claim; ``qpsvm.qp.kkt.residuals`` says whether it is true.
"""

from qpsvm.backends.base import (
    Backend,
    Callback,
    Capabilities,
    Clock,
    Progress,
    Settings,
    Stop,
    installed_version,
)
from qpsvm.backends.registry import BackendInfo, available, choose, get
from qpsvm.qp.multipliers import multipliers_at

__all__ = [
    "Backend",
    "BackendInfo",
    "Callback",
    "Capabilities",
    "Clock",
    "Progress",
    "Settings",
    "Stop",
    "available",
    "choose",
    "get",
    "installed_version",
    "multipliers_at",
]
