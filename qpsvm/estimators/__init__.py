"""Scikit-learn estimators of exact SVMs, with certificates and certified predictions.

Parameters, fitted attributes and conventions are those of ``sklearn.svm``; ``certificate_``,
``report()`` and ``predict_certified`` say how good the model is.
"""

from qpsvm.estimators.classification import SVC, NuSVC
from qpsvm.estimators.linear import LinearSVC, LinearSVR
from qpsvm.estimators.loading import load as load
from qpsvm.estimators.novelty import SVDD, OneClassSVM
from qpsvm.estimators.ranking import SVMRanker
from qpsvm.estimators.regression import SVR, NuSVR, QuantileSVR

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "QuantileSVR",
    "SVMRanker",
]
