"""Training problems, their programs and solutions, and the checks that all families share.

``conditions`` has the problem and its losses, ``setup`` the way from dual variables to
weights, ``primal_dual`` both objectives, ``model`` what verifiers ask of a machine,
``primal_program`` and ``dual_program`` the two programs with their recoveries, ``solution`` what
was learned. ``joint`` is the same for machines with one decision function per class.
"""

from qpsvm.machines.conditions import Conditions
from qpsvm.machines.intercept import Interval
from qpsvm.machines.problem import SVMProblem, TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.setup import Form
from qpsvm.machines.solution import SVMSolution

__all__ = [
    "Conditions",
    "Form",
    "Interval",
    "ReducedProblem",
    "ReducedSolution",
    "SVMProblem",
    "SVMSolution",
    "TrainingProblem",
]
