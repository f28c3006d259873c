"""Certificates: proofs about solutions from any source."""

from qpsvm.certificates.certifying import certify
from qpsvm.certificates.comparison import PredictionComparison
from qpsvm.certificates.gap import Certificate
from qpsvm.certificates.infeasibility import (
    InfeasibilityCertificate,
    Inseparability,
    certify_infeasible,
    conflict,
    inseparability,
    not_separable,
    without_constraints,
)
from qpsvm.certificates.predictions import CertifiedPredictions, DecisionBounds
from qpsvm.certificates.rigorous.kernels import require_ieee
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
