"""What the models of this folder were trained on: every other iris, moved off short decimals."""

from __future__ import annotations

from sklearn.datasets import load_iris

_samples, _classes = load_iris(return_X_y=True)
X = _samples[::2] + 1 / 3
CLASSES = _classes[::2]
TARGETS = X[:, 3] + 0.1 * X[:, 0] ** 2
TWO = (CLASSES > 0) * 2 - 1
N_DECISIONS = 5

LIBSVM = {
    "linear": ("-s 0 -t 0 -c 0.7", TWO),
    "rbf": ("-s 0 -t 2 -g 0.123456789012345 -c 10", CLASSES),
    "polynomial": ("-s 0 -t 1 -d 2 -g 0.3 -r 0.1", CLASSES),
    "sigmoid": ("-s 0 -t 3 -g 0.01 -r -0.5", CLASSES),
    "precomputed": ("-s 0 -t 4", TWO),
    "probability": ("-s 0 -t 2 -g 0.5 -b 1", CLASSES),
    "nu_svc": ("-s 1 -t 2 -g 0.5 -n 0.3", TWO),  # svm_predict of 3.37 overruns for more classes
    "one_class": ("-s 2 -t 2 -g 0.1 -n 0.2 -b 1", TWO),
    "epsilon_svr": ("-s 3 -t 2 -g 0.2 -p 0.05 -b 1", TARGETS),
    "nu_svr": ("-s 4 -t 0 -n 0.4", TARGETS),
    "no_support_vectors": ("-s 3 -t 2 -g 0.2 -p 100", TARGETS),
}
"""Name -> options of svm-train, labels or targets."""

LIBLINEAR = {
    "L2R_LR": ("-s 0 -B 1", CLASSES),
    "L2R_L2LOSS_SVC_DUAL": ("-s 1 -B 1", TWO),
    "L2R_L2LOSS_SVC": ("-s 2 -B 0.5", CLASSES),
    "L2R_L1LOSS_SVC_DUAL": ("-s 3 -B -1", TWO),
    "MCSVM_CS": ("-s 4 -B 1", TWO),
    "L1R_L2LOSS_SVC": ("-s 5 -B -1", TWO),
    "L1R_LR": ("-s 6 -B 0", TWO),
    "L2R_LR_DUAL": ("-s 7 -B -1", CLASSES),
    "L2R_L2LOSS_SVR": ("-s 11 -B 1", TARGETS),
    "L2R_L2LOSS_SVR_DUAL": ("-s 12 -B -1", TARGETS),
    "L2R_L1LOSS_SVR_DUAL": ("-s 13 -B 2", TARGETS),
    "ONECLASS_SVM": ("-s 21 -B -1", TWO),
}
"""Name of the solver -> options of train, labels or targets."""
