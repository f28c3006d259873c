"""Support vector machines as quadratic programs, solved by any solver and verified.

::

    problem = qpsvm.SoftMargin(C=10.0).dual(X, y, kernel=qpsvm.kernels.RBF(gamma=0.5))
    P, q, G, h, A, b = problem.canonical()
    solution = qpsvm.solve(problem, backend="cvxopt", eps=1e-8)
    report = qpsvm.verify(problem, solution)
"""

import importlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from qpsvm import backends, constraints, exceptions, kernels, qp
from qpsvm.certificates import Certificate, InfeasibilityCertificate, certify, certify_infeasible
from qpsvm.formulations import (
    CrammerSinger,
    DataDescription,
    EpsilonRegression,
    HardMargin,
    L1Norm,
    LeastSquares,
    NuClassification,
    NuRegression,
    OneClass,
    OneVsOne,
    OneVsRest,
    QuantileRegression,
    Ranking,
    SoftMargin,
)
from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.solving import on_device, polish, solve
from qpsvm.verification import KKTReport, verify

if TYPE_CHECKING:
    from qpsvm import (
        audits,
        certificates,
        chunked,
        classical,
        data,
        datasets,
        estimators,
        formulations,
        machines,
        models,
        paths,
        plotting,
        reports,
        selection,
        tables,
    )
    from qpsvm.audits import Audit, audit
    from qpsvm.estimators import load
    from qpsvm.formulations.crammer_singer import JointProblem
    from qpsvm.machines.joint.solution import JointSolution

__version__ = "0.1.0.dev0"

__all__ = [
    "Audit",
    "Certificate",
    "CrammerSinger",
    "DataDescription",
    "EpsilonRegression",
    "HardMargin",
    "InfeasibilityCertificate",
    "JointProblem",
    "JointSolution",
    "KKTReport",
    "L1Norm",
    "LeastSquares",
    "NuClassification",
    "NuRegression",
    "OneClass",
    "OneVsOne",
    "OneVsRest",
    "QuantileRegression",
    "Ranking",
    "SVMProblem",
    "SVMSolution",
    "SoftMargin",
    "audit",
    "audits",
    "backends",
    "certificates",
    "certify",
    "certify_infeasible",
    "chunked",
    "classical",
    "constraints",
    "data",
    "datasets",
    "estimators",
    "exceptions",
    "formulations",
    "kernels",
    "load",
    "machines",
    "models",
    "on_device",
    "paths",
    "plotting",
    "polish",
    "qp",
    "reports",
    "selection",
    "solve",
    "tables",
    "verify",
]

_PLACES = {
    "Audit": "qpsvm.audits",
    "JointProblem": "qpsvm.formulations.crammer_singer",
    "JointSolution": "qpsvm.machines.joint.solution",
    "audit": "qpsvm.audits",
    "load": "qpsvm.estimators",
}
"""Modules of the names that are imported on first use, as modules of ``__all__`` are: ``import
qpsvm`` stays quick because of it, and still every public name can be reached from here."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562); then it is an ordinary attribute."""
    if name in _PLACES:
        found = getattr(importlib.import_module(_PLACES[name]), name)
    elif name in __all__:
        found = importlib.import_module(f"qpsvm.{name}")
    else:
        message = f"module 'qpsvm' has no attribute {name!r}{_elsewhere(name)}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


def _elsewhere(name: str) -> str:
    """Name the module of the package in which there is what was looked for in the package."""
    for part in () if name.startswith("_") else __all__:
        if part.islower() and find_spec(f"qpsvm.{part}") is not None:
            found = importlib.import_module(f"qpsvm.{part}")
            if name in getattr(found, "__all__", ()):
                return f"; it is qpsvm.{part}.{name}"
    return ""
