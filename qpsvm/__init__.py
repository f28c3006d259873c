"""Support vector machines as quadratic programs, solved by any solver and verified.

::

    problem = qpsvm.SoftMargin(C=10.0).dual(X, y, kernel=qpsvm.kernels.RBF(gamma=0.5))
    P, q, G, h, A, b = problem.canonical()
    solution = qpsvm.solve(problem, backend="cvxopt", eps=1e-8)
    report = qpsvm.verify(problem, solution)
"""

from typing import TYPE_CHECKING

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
from qpsvm.lazy import lazy_names, modules_of
from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.solving import solve
from qpsvm.solving.device import on_device
from qpsvm.solving.polishing import polish
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

__getattr__, __dir__ = lazy_names(
    __name__,
    modules_of(
        __name__,
        "audits",
        "certificates",
        "chunked",
        "classical",
        "data",
        "datasets",
        "estimators",
        "formulations",
        "machines",
        "models",
        "paths",
        "plotting",
        "reports",
        "selection",
        "tables",
    )
    | {
        "Audit": "qpsvm.audits:Audit",
        "JointProblem": "qpsvm.formulations.crammer_singer:JointProblem",
        "JointSolution": "qpsvm.machines.joint.solution:JointSolution",
        "audit": "qpsvm.audits:audit",
        "load": "qpsvm.estimators:load",
    },
)

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
