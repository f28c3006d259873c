"""What all families share: one problem, its programs, its solutions, and what proves them.

``conditions`` has the problem, ``losses`` its losses, ``primal_dual`` both objectives, ``model``
what verifiers ask of a machine, ``programs`` the primal and the dual program with their recoveries,
``solution`` what was learned. ``joint`` is the same for machines with one decision function per
class.
"""

from qpsvm.machines.conditions import Conditions
from qpsvm.machines.intercept import Interval
from qpsvm.machines.problem import SVMProblem, TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.solution import SVMSolution

__all__ = [
    "Conditions",
    "Interval",
    "ReducedProblem",
    "ReducedSolution",
    "SVMProblem",
    "SVMSolution",
    "TrainingProblem",
]
