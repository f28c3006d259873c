"""Bounds that hold in exact arithmetic; their proofs are in ``docs/rounding.md``.

``kernels`` checks what is assumed of the processor, and has the errors of kernel values and of the
program's own numbers, ``feasible`` the exactly feasible dual point, ``objectives`` the objectives.
"""

from qpsvm.certificates.rigorous.kernels import Enclosure, decision_enclosure, feature_norms
from qpsvm.certificates.rigorous.objectives import enclose

__all__ = ["Enclosure", "decision_enclosure", "enclose", "feature_norms"]
