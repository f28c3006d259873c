"""Certificates: what can be proved about an answer without trusting where it came from."""

from qpsvm.certificates.conflicts import conflict, without_constraints
from qpsvm.certificates.gap import Certificate, certify
from qpsvm.certificates.inseparable import Inseparability, inseparability, not_separable

__all__ = [
    "Certificate",
    "Inseparability",
    "certify",
    "conflict",
    "inseparability",
    "not_separable",
    "without_constraints",
]
