"""Models of other libraries, held against the exact programs they claim to solve."""

from qpsvm.audit.auditing import audit
from qpsvm.audit.claims import Library
from qpsvm.audit.machine import AuditedMachine, Optimum
from qpsvm.audit.own_predictions import OwnPredictions
from qpsvm.audit.readers.arrays import Arrays
from qpsvm.audit.result import Audit
from qpsvm.audit.rounding import KernelRounding

__all__ = [
    "Arrays",
    "Audit",
    "AuditedMachine",
    "KernelRounding",
    "Library",
    "Optimum",
    "OwnPredictions",
    "audit",
]
