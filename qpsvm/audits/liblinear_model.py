"""LIBLINEAR's model files: a header, and one line of weights per feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.audits.text import ModelText
from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector, freeze

JOINT, NOVELTY = "MCSVM_CS", "ONECLASS_SVM"
CLASSIFIERS = (
    "L2R_LR",
    "L2R_L2LOSS_SVC_DUAL",
    "L2R_L2LOSS_SVC",
    "L2R_L1LOSS_SVC_DUAL",
    JOINT,
    "L1R_L2LOSS_SVC",
    "L1R_LR",
    "L2R_LR_DUAL",
)
REGRESSIONS = ("L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL")
SOLVERS = (*CLASSIFIERS, *REGRESSIONS, NOVELTY)
"""Types of solvers, as LIBLINEAR calls them."""

_ALWAYS = ("solver_type", "nr_class", "nr_feature", "bias")


@short_repr
@dataclass(frozen=True, eq=False)
class LiblinearModel:
    """The checked content of a LIBLINEAR model file; all arrays are read-only.

    ``f_m(x) = coef_m'x + bias bias_weights_m``, for one-class models minus ``rho``.

    Attributes
    ----------
    source : str
        The path as given.
    solver_type : str
        What LIBLINEAR calls the program. Not all of them are programs of an SVM.
    n_classes : int
        k; 2 for regression and one-class.
    labels : array of int of shape (k,) or None
        In the order of the weights; with one weight vector the first has positive values. None for
        regression and one-class.
    bias : float
        The constant feature; negative: there is none.
    coef : array of shape (m, d)
        m = k, or 1 for two classes (but ``MCSVM_CS``), regression and one-class.
    bias_weights : array of shape (m,) or None
        Weights of the constant feature. They are in the objective like all others.
    rho : float or None
        For one-class.
    """

    source: str
    solver_type: str
    n_classes: int
    labels: Index | None
    bias: float
    coef: Dense
    bias_weights: Vector | None
    rho: float | None

    @property
    def intercept(self) -> Vector:
        """The constant added to ``coef @ x``, shape (m,)."""
        if self.bias_weights is None:
            intercept = np.zeros(len(self.coef))
        else:
            intercept = self.bias * self.bias_weights
        return intercept if self.rho is None else intercept - self.rho


def read_liblinear(source: str, content: bytes) -> LiblinearModel:
    """Read a model file of LIBLINEAR, strictly.

    ::

        solver_type L2R_L1LOSS_SVC_DUAL
        nr_class 2
        label 1 -1
        nr_feature 3
        bias 1
        w
        0.5
        -0.25
        0
        0.125

    One line per feature, and one more for the constant feature ``bias`` if that is not negative;
    one number per class in a line, or one only for two classes (positive for the first of
    ``label``), regression and one-class models.

    Source: ``save_model`` and ``load_model`` in LIBLINEAR 2.50 (linear.cpp). It prints 17 digits,
    older versions 16.

    Parameters
    ----------
    source : str
        The path as given, for messages.
    content : bytes

    Returns
    -------
    LiblinearModel

    Raises
    ------
    ModelFileError
        With the line and what is wrong there: an unknown, repeated, missing or superfluous key;
        counts that contradict each other or the lines; anything that is no finite decimal number;
        other bytes than printable ASCII; an incomplete last line; lines after the last weight.

    Examples
    --------
    >>> text = "solver_type L2R_L1LOSS_SVC_DUAL|nr_class 2|label 1 -1|nr_feature 2|bias 1|w|"
    >>> text += "0.5|-0.25|0.125|"
    >>> model = read_liblinear("small.model", text.replace("|", chr(10)).encode())
    >>> model.coef, model.intercept
    (array([[ 0.5 , -0.25]]), array([0.125]))
    """
    file = ModelText(source, content, (*_ALWAYS, "label", "rho"), "w")
    solver_type = file.choice("solver_type", SOLVERS)
    classifier = solver_type in CLASSIFIERS
    of_type = ("label",) if classifier else ("rho",) if solver_type == NOVELTY else ()
    file.require_only((*_ALWAYS, *of_type), f"a model of {solver_type}")
    k = file.n_classes(classifier)
    labels = file.labels(k) if classifier else None
    bias = float(file.values("bias", 1)[0])
    with_bias = bias >= 0.0
    (n_features,) = file.integers("nr_feature", 1, 0 if with_bias else 1).tolist()
    m = k if solver_type == JOINT or k > 2 else 1
    n_lines = n_features + with_bias
    surplus = f"{n_lines:,} lines of weights end before this line"
    weights, _, _ = file.table("nr_feature", n_lines, m, "weight", surplus)
    if with_bias and not float(np.abs(weights[-1]).max()) * bias < np.inf:
        raise file.refusal("bias", f"bias is {bias:g}, and times its weight it is beyond float64")
    return LiblinearModel(
        source=file.source,
        solver_type=solver_type,
        n_classes=k,
        labels=labels,
        bias=bias,
        coef=freeze(np.ascontiguousarray(weights[:n_features].T)),
        bias_weights=freeze(weights[-1].copy()) if with_bias else None,
        rho=float(file.values("rho", 1)[0]) if solver_type == NOVELTY else None,
    )
