"""Certificates: proofs about solutions from any source."""

from qpsvm.certificates.certifying import certify
from qpsvm.certificates.comparison import PredictionComparison
from qpsvm.certificates.gap import Certificate
from qpsvm.certificates.infeasibility import (
    InfeasibilityCertificate,
    certify_infeasible,
    conflict,
    without_constraints,
)
from qpsvm.certificates.inseparable import Inseparability, inseparability, not_separable
from qpsvm.certificates.predictions import CertifiedPredictions, DecisionBounds
from qpsvm.certificates.rigorous.arithmetic import require_ieee
from qpsvm.certificates.screening import STATUSES, Screening

__all__ = [
    "STATUSES",
    "Certificate",
    "CertifiedPredictions",
    "DecisionBounds",
    "InfeasibilityCertificate",
    "Inseparability",
    "PredictionComparison",
    "Screening",
    "certify",
    "certify_infeasible",
    "conflict",
    "inseparability",
    "not_separable",
    "require_ieee",
    "without_constraints",
]
