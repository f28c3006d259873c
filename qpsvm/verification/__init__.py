"""The verdict: residuals of every optimality condition, and a certified gap, from an answer alone.

``verdicts`` has ``qpsvm.verify``, ``report`` what it returns.
"""

from qpsvm.verification.report import KKTReport, ReducedReport
from qpsvm.verification.verdicts import verify, verify_evaluated

__all__ = ["KKTReport", "ReducedReport", "verify", "verify_evaluated"]
