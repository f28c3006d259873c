"""The verdict: residuals of every optimality condition, and a certified gap, from an answer alone.

``verdicts`` has ``qpsvm.verify``, ``report`` what it returns.
"""

from qpsvm.verification.report import KKTReport
from qpsvm.verification.verdicts import verify, verify_evaluated

__all__ = ["KKTReport", "verify", "verify_evaluated"]
