"""Certificates: what can be proved about an answer without trusting where it came from."""

from qpsvm.certificates.gap import Certificate, certify

__all__ = ["Certificate", "certify"]
