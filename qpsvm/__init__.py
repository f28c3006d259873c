"""Support vector machines as quadratic programs, solved by any solver and verified.

::

    problem = qpsvm.SoftMargin(C=10.0).dual(X, y, kernel=qpsvm.kernels.RBF(gamma=0.5))
    P, q, G, h, A, b = problem.canonical()
    solution = qpsvm.solve(problem, backend="cvxopt", eps=1e-8)
    report = qpsvm.verify(problem, solution)
"""

from qpsvm import backends, constraints, exceptions, kernels, qp
from qpsvm.audit import Audit, audit
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
from qpsvm.polishing import polish
from qpsvm.solving import solve
from qpsvm.verification import KKTReport, verify

__version__ = "0.1.0.dev0"

__all__ = [
    "Audit",
    "Certificate",
    "CrammerSinger",
    "DataDescription",
    "EpsilonRegression",
    "HardMargin",
    "InfeasibilityCertificate",
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
    "backends",
    "certify",
    "certify_infeasible",
    "constraints",
    "exceptions",
    "kernels",
    "polish",
    "qp",
    "solve",
    "verify",
]
