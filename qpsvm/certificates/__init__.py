"""Certificates: what can be proved about an answer without trusting where it came from."""

from qpsvm.certificates.gap import Certificate, certify
from qpsvm.certificates.inseparable import not_separable

__all__ = ["Certificate", "certify", "not_separable"]
