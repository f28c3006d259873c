"""Solve and polish: backends, repairs and further attempts until the verifier is satisfied.

``calls`` has ``qpsvm.solve``, ``policy`` the steps of a solve, ``attempts`` how answers are mapped
back, verified, repaired and compared. Only the verdict, or the certificate of ``qpsvm.direct``,
makes a status OPTIMAL.
"""

from qpsvm.solving.calls import Answer, put_together, solve, solve_with
from qpsvm.solving.device import on_device, solving_on
from qpsvm.solving.polishing import polish

__all__ = ["Answer", "on_device", "polish", "put_together", "solve", "solve_with", "solving_on"]
