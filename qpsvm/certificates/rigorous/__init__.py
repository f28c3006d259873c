"""Bounds that hold in exact arithmetic; their proofs are in ``docs/rounding.md``.

``arithmetic`` checks what is assumed of the processor. ``balls`` has the arithmetic, ``kernels``
the error of kernel values, ``figures`` that of the program's own numbers, ``feasible`` the exactly
feasible dual point, ``primal``, ``single`` and ``joint`` the objectives.
"""

from qpsvm.certificates.rigorous.arithmetic import Enclosure
from qpsvm.certificates.rigorous.decisions import decision_enclosure
from qpsvm.certificates.rigorous.kernels import feature_norms
from qpsvm.certificates.rigorous.objectives import enclose

__all__ = ["Enclosure", "decision_enclosure", "enclose", "feature_norms"]
