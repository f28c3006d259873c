"""SVM families: data -> QuadraticProgram, and the way back. No solver in sight."""

from qpsvm.formulations.conditions import Conditions
from qpsvm.formulations.constraints import LinearConstraints
from qpsvm.formulations.intercept import Interval
from qpsvm.formulations.l1_norm import L1Norm
from qpsvm.formulations.least_squares import LeastSquares
from qpsvm.formulations.margin import HardMargin, SoftMargin
from qpsvm.formulations.novelty import DataDescription, OneClass
from qpsvm.formulations.nu import NuClassification, NuRegression
from qpsvm.formulations.problem import SVMProblem
from qpsvm.formulations.quantile import QuantileRegression
from qpsvm.formulations.ranking import Ranking
from qpsvm.formulations.regression import EpsilonRegression
from qpsvm.formulations.solution import SVMSolution
from qpsvm.formulations.training_sets import BinaryTrainingSet, TrainingSet

__all__ = [
    "BinaryTrainingSet",
    "Conditions",
    "DataDescription",
    "EpsilonRegression",
    "HardMargin",
    "Interval",
    "L1Norm",
    "LeastSquares",
    "LinearConstraints",
    "NuClassification",
    "NuRegression",
    "OneClass",
    "QuantileRegression",
    "Ranking",
    "SVMProblem",
    "SVMSolution",
    "SoftMargin",
    "TrainingSet",
]
