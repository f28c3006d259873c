"""SVM families: their parameters, and the conditions that they put on samples."""

from qpsvm.formulations.crammer_singer import CrammerSinger
from qpsvm.formulations.l1_norm import L1Norm
from qpsvm.formulations.margin import HardMargin, LeastSquares, SoftMargin
from qpsvm.formulations.multiclass import OneVsOne, OneVsRest
from qpsvm.formulations.novelty import DataDescription, OneClass
from qpsvm.formulations.nu import NuClassification, NuRegression
from qpsvm.formulations.quantile import QuantileRegression
from qpsvm.formulations.ranking import Ranking
from qpsvm.formulations.regression import EpsilonRegression

__all__ = [
    "CrammerSinger",
    "DataDescription",
    "EpsilonRegression",
    "HardMargin",
    "L1Norm",
    "LeastSquares",
    "NuClassification",
    "NuRegression",
    "OneClass",
    "OneVsOne",
    "OneVsRest",
    "QuantileRegression",
    "Ranking",
    "SoftMargin",
]
