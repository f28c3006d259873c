"""SVM families: data -> QuadraticProgram, and the way back. No solver in sight."""

from qpsvm.formulations.data import BinaryTrainingSet
from qpsvm.formulations.intercept import Interval
from qpsvm.formulations.margin import HardMargin, SoftMargin
from qpsvm.formulations.problem import SVMProblem
from qpsvm.formulations.solution import SVMSolution

__all__ = [
    "BinaryTrainingSet",
    "HardMargin",
    "Interval",
    "SVMProblem",
    "SVMSolution",
    "SoftMargin",
]
