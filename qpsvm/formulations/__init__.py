"""SVM families: data -> QuadraticProgram, and the way back. No solver in sight."""

from qpsvm.formulations.conditions import Conditions
from qpsvm.formulations.constraints import LinearConstraints
from qpsvm.formulations.crammer_singer import CrammerSinger, JointProblem
from qpsvm.formulations.intercept import Interval
from qpsvm.formulations.joint_solution import MulticlassSolution
from qpsvm.formulations.l1_norm import L1Norm
from qpsvm.formulations.least_squares import LeastSquares
from qpsvm.formulations.margin import HardMargin, SoftMargin
from qpsvm.formulations.multiclass import OneVsOne, OneVsRest
from qpsvm.formulations.novelty import DataDescription, OneClass
from qpsvm.formulations.nu import NuClassification, NuRegression
from qpsvm.formulations.problem import SVMProblem
from qpsvm.formulations.quantile import QuantileRegression
from qpsvm.formulations.ranking import Ranking
from qpsvm.formulations.reduced import MulticlassProblem, ReducedSolution
from qpsvm.formulations.regression import EpsilonRegression
from qpsvm.formulations.solution import SVMSolution
from qpsvm.formulations.training_sets import BinaryTrainingSet, TrainingSet

__all__ = [
    "BinaryTrainingSet",
    "Conditions",
    "CrammerSinger",
    "DataDescription",
    "EpsilonRegression",
    "HardMargin",
    "Interval",
    "JointProblem",
    "L1Norm",
    "LeastSquares",
    "LinearConstraints",
    "MulticlassProblem",
    "MulticlassSolution",
    "NuClassification",
    "NuRegression",
    "OneClass",
    "OneVsOne",
    "OneVsRest",
    "QuantileRegression",
    "Ranking",
    "ReducedSolution",
    "SVMProblem",
    "SVMSolution",
    "SoftMargin",
    "TrainingSet",
]
