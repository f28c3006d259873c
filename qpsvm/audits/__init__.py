"""Audits: models of other libraries, verified against the exact programs they claim to solve.

``qpsvm.audit(model, X, y)`` is the function; this package has the types of its arguments and
results, and ``files``, the readers of other libraries' model files. ``read_claims`` reads a model
without an audit, and ``solution_of`` makes a solution of plain numbers, for ``qpsvm.verify``.
"""

from qpsvm.audits import files
from qpsvm.audits.arrays import Arrays, solution_of
from qpsvm.audits.auditing import audit
from qpsvm.audits.claims import Claim, Library
from qpsvm.audits.comparison import Optimum
from qpsvm.audits.own_predictions import OwnPredictions
from qpsvm.audits.readers import read_claims
from qpsvm.audits.result import Audit, AuditedMachine
from qpsvm.audits.rounding import KernelRounding

__all__ = [
    "Arrays",
    "Audit",
    "AuditedMachine",
    "Claim",
    "KernelRounding",
    "Library",
    "Optimum",
    "OwnPredictions",
    "audit",
    "files",
    "read_claims",
    "solution_of",
]
