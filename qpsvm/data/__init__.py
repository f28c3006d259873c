"""Checked inputs: samples, labels, targets, weights, and training sets made of them."""

from qpsvm.data.fingerprints import fingerprint
from qpsvm.data.training_sets import (
    BinaryTrainingSet,
    MulticlassTrainingSet,
    RegressionTrainingSet,
    TrainingSet,
)

__all__ = [
    "BinaryTrainingSet",
    "MulticlassTrainingSet",
    "RegressionTrainingSet",
    "TrainingSet",
    "fingerprint",
]
