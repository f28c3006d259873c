"""Solve and polish: backends, repairs and further attempts until the verifier is satisfied.

``calls`` has ``qpsvm.solve``, ``policy`` the steps of a solve, ``attempts`` how answers are mapped
back, verified, repaired and compared. Only the verdict, or the certificate of ``qpsvm.direct``,
makes a status OPTIMAL.
"""

from qpsvm.solving.calls import Answer, on_device, put_together, solve, solve_with, solving_on
from qpsvm.solving.polishing import polish

__all__ = ["Answer", "on_device", "polish", "put_together", "solve", "solve_with", "solving_on"]
