"""Conversion of estimators to ONNX graphs: alone, or as a step of a pipeline.

The graph computes decision values in double precision from standard operators; ONNX's own
``SVMClassifier`` and ``SVMRegressor`` compute in single precision. With centres C, weights W and
intercepts b of all machines::

    f(X) = k(X, C) W + b        or, for a linear kernel, X coef' + b

and the votes of one against one, the smallest label of the largest value, and the sign of a novelty
detector follow as matrix products and comparisons.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import MissingPackageError, ModelFileError
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.kernels.by_name import KERNELS
from qpsvm.numerics.arrays import Dense


def to_onnx(estimator: Any, version: int | None = None) -> Any:
    """Convert a fitted estimator to an ONNX model with one input ``X`` of doubles.

    Raises
    ------
    MissingPackageError
        Without ``skl2onnx``.
    ModelFileError
        A kernel function, or labels that ONNX has no type for.
    """
    register(type(estimator))
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType

    decision_functions(estimator)  # refuses before the work
    columns = DoubleTensorType([None, estimator.n_features_in_])
    return convert_sklearn(
        estimator,
        name=type(estimator).__name__,
        initial_types=[("X", columns)],
        target_opset=version,
    )


def register(*kinds: type[object]) -> None:
    """Tell ``skl2onnx`` how to convert estimators of these classes.

    Raises
    ------
    MissingPackageError
        ``skl2onnx`` is not installed.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise MissingPackageError(
            "ONNX needs the package skl2onnx, which is not installed; pip install 'qpsvm[onnx]'."
        ) from error
    for kind in kinds:
        update_registered_converter(kind, f"Qpsvm{kind.__name__}", _shapes, _convert)


def decision_functions(estimator: Any) -> DecisionFunctions:
    """Numbers of an estimator's decision functions, in scikit-learn's scale.

    Raises
    ------
    ModelFileError
        The kernel is a function of the caller's.
    """
    vectors = getattr(estimator, "_all_coefficients", None)
    machines = estimator._machines() if vectors is None else vectors.machines
    scales = (1.0,) * len(machines) if vectors is None else vectors.scales
    kernel = machines[0].kernel
    if KERNELS.get(kernel.name) is not type(kernel):
        raise ModelFileError(
            f"The kernel {kernel} is code, which has no ONNX graph; compute the matrix and fit "
            "with kernel='precomputed'."
        )
    pairs = list(zip(scales, machines, strict=True))
    numbers: dict[str, Any] = {
        "kernel": kernel,
        "intercepts": np.concatenate([s * np.atleast_1d(m.intercept) for s, m in pairs]),
        "minus_self_similarity": float(hasattr(estimator, "radius_")),
    }
    if vectors is None or vectors.is_linear:
        coef = np.vstack([s * np.atleast_2d(m.coef) for s, m in pairs])
        return DecisionFunctions(**numbers, coef=coef, centres=None, weights=None)
    weights: Dense = np.hstack([s * vectors.coefficients(m) for s, m in pairs])
    if isinstance(kernel, Precomputed):
        whole = np.zeros((estimator.n_features_in_, weights.shape[1]))
        whole[vectors.support] = weights
        return DecisionFunctions(**numbers, coef=None, centres=None, weights=whole)
    return DecisionFunctions(**numbers, coef=None, centres=dense(vectors.samples), weights=weights)


def outputs(estimator: Any) -> Outputs:
    """Kinds of predictions that an estimator makes from its decision values."""
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        vectors = getattr(estimator, "_all_coefficients", None)
        if vectors is not None and vectors.is_one_vs_one:
            return Outputs(
                "pairs",
                classes,
                break_ties=estimator._predictor.reduction.break_ties,
                scores_of_pairs=estimator.decision_function_shape == "ovo",
            )
        several = len(decision_functions(estimator).intercepts) > 1
        return Outputs("classes" if several else "two", classes)
    if hasattr(estimator, "offset_"):
        tolerance = estimator._scales[0] * estimator._predictor.zero_below
        return Outputs("novelty", zero_below=tolerance)
    return Outputs("values")


# --- what skl2onnx calls -------------------------------------------------------------------------


def _shapes(operator: Any) -> None:
    """Set the types of the outputs."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    estimator, rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    kind = outputs(estimator)
    if kind.kind == "values":
        operator.outputs[0].type = DoubleTensorType([rows, 1])
        return
    operator.outputs[1].type = DoubleTensorType([rows, None])
    if kind.classes is None:
        operator.outputs[0].type = Int64TensorType([rows, 1])
        return
    types = {"O": StringTensorType, "i": Int64TensorType, "f": DoubleTensorType}
    operator.outputs[0].type = types[label_array(kind.classes).dtype.kind]([rows])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of an estimator to the model."""
    estimator, kind = operator.raw_operator, outputs(operator.raw_operator)
    graph = Graph(container.target_opset)
    values = graph.decisions(operator.inputs[0], decision_functions(estimator))
    found = (values,) if kind.kind == "values" else graph.labels_and_scores(values, kind)
    for value, output in zip(found, operator.outputs, strict=True):
        graph.node("Identity", value, output_names=[output]).add_to(scope, container)


# --- the graph -----------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class DecisionFunctions:
    """Numbers from which an estimator's decision values are computed.

    Attributes
    ----------
    kernel : Kernel
    coef : array of shape (p, d) or None
    centres : array of shape (m, d) or None
        None with a linear or precomputed kernel.
    weights : array of shape (m, p) or None
        With a precomputed kernel, m is the number of rows of the caller's X.
    intercepts : array of shape (p,)
    minus_self_similarity : float
        By what ``k(x, x)`` is subtracted: 0 or 1.
    """

    kernel: Kernel
    coef: Dense | None
    centres: Dense | None
    weights: Dense | None
    intercepts: Dense
    minus_self_similarity: float = 0.0


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of an estimator: how its decision values become predictions.

    Attributes
    ----------
    kind : {"values", "novelty", "two", "classes", "pairs"}
        Values as they are; a sign; of two classes the second where positive; the class of the
        largest value; votes of pairs of classes.
    classes : array of shape (k,) or None
    break_ties : bool
        Decision values decide between classes with equally many votes.
    scores_of_pairs : bool
        Scores are those of pairs of classes, positive for the first.
    zero_below : float
        Decision values of a novelty detector up to this size are zero.
    """

    kind: str
    classes: Any = None
    break_ties: bool = False
    scores_of_pairs: bool = False
    zero_below: float = 0.0


class Graph:
    """A graph under construction, of nodes in double precision.

    Parameters
    ----------
    version : int
        Of the set of operators.
    """

    def __init__(self, version: int) -> None:
        from skl2onnx.algebra import onnx_ops

        self._operators, self._version = onnx_ops, version

    def node(self, kind: str, *inputs: Any, **attributes: Any) -> Any:
        """Add an operator applied to inputs; return its output."""
        operator = getattr(self._operators, f"Onnx{kind}")
        return operator(*inputs, op_version=self._version, **attributes)

    def sum_of_rows(self, values: Any) -> Any:
        """Sums along the rows, shape (n, 1)."""
        return self.node("ReduceSum", values, np.array([1], dtype=np.int64), keepdims=1)

    # --- decision values ----------------------------------------------------------------------

    def decisions(self, X: Any, functions: DecisionFunctions) -> Any:
        """Decision values, shape (n, p)."""
        X = self.node("Cast", X, to=_double())
        if functions.coef is not None:
            values = self.node("MatMul", X, functions.coef.T.copy())
        else:
            values = self.node("MatMul", self._kernel(X, functions), functions.weights)
        values = self.node("Add", values, functions.intercepts[None])
        if not functions.minus_self_similarity:
            return values
        return self.node("Sub", values, self._self_similarity(X, functions.kernel))

    def _kernel(self, X: Any, functions: DecisionFunctions) -> Any:
        kernel, centres = functions.kernel, functions.centres
        if isinstance(kernel, Precomputed):
            return X
        assert centres is not None  # of every other kernel
        if isinstance(kernel, RBF):
            # around the middle: a common offset of the samples would drown the distances
            middle = np.mean(centres, axis=0, keepdims=True)
            X, centres = self.node("Sub", X, middle), centres - middle
            products = self.node("MatMul", X, (-2.0 * centres).T.copy())
            distances = self.node("Add", products, self.sum_of_rows(self.node("Mul", X, X)))
            distances = self.node("Add", distances, np.sum(centres * centres, axis=1)[None])
            distances = self.node("Max", distances, np.zeros(1))
            return self.node("Exp", self.node("Mul", distances, np.array([-_gamma(kernel)])))
        return self._of_products(kernel, self.node("MatMul", X, centres.T.copy()))

    def _self_similarity(self, X: Any, kernel: Kernel) -> Any:
        if isinstance(kernel, RBF):
            return np.ones((1, 1))
        return self._of_products(kernel, self.sum_of_rows(self.node("Mul", X, X)))

    def _of_products(self, kernel: Kernel, products: Any) -> Any:
        """Kernel values from inner products."""
        if isinstance(kernel, Linear):
            return products
        if not isinstance(kernel, Polynomial | Sigmoid):
            raise ModelFileError(
                f"The kernel {kernel} is code, which has no ONNX graph; compute the matrix and fit "
                "with kernel='precomputed'."
            )
        scaled = self.node("Mul", products, np.array([_gamma(kernel)]))
        values = self.node("Add", scaled, np.array([float(kernel.coef0)]))
        if isinstance(kernel, Sigmoid):
            return self.node("Tanh", values)
        return self.node("Pow", values, np.array([float(kernel.degree)]))

    # --- labels and scores --------------------------------------------------------------------

    def labels_and_scores(self, values: Any, outputs: Outputs) -> tuple[Any, Any]:
        """Labels, shape (n,), and scores, shape (n, p) or (n, k)."""
        if outputs.kind == "novelty":
            near = self.node(
                "LessOrEqual", self.node("Abs", values), np.array([outputs.zero_below])
            )
            values = self.node("Where", near, np.zeros(1), values)
            inside = self.node("GreaterOrEqual", values, np.zeros(1))
            ones = np.ones(1, dtype=np.int64)
            return self.node("Where", inside, ones, -ones), values
        scores = values
        if outputs.kind == "pairs":
            ranked = self._votes(values, len(outputs.classes), break_ties=outputs.break_ties)
            if outputs.scores_of_pairs:
                scores = self.node("Neg", values)
            else:
                scores = self._votes(values, len(outputs.classes), break_ties=True)
            place = self.node("ArgMax", ranked, axis=1, keepdims=0)
        elif outputs.kind == "two":
            positive = self.node("Greater", values, np.zeros(1))
            flat = self.node("Squeeze", positive, np.array([1], dtype=np.int64))
            place = self.node("Cast", flat, to=_int64())
        else:
            place = self.node("ArgMax", values, axis=1, keepdims=0)
        return self.node("Gather", label_array(outputs.classes), place, axis=0), scores

    def _votes(self, values: Any, k: int, *, break_ties: bool) -> Any:
        """Votes of each class plus a tie-break, shape (n, k), as in ``OneVsOne.combine``."""
        pairs = list(itertools.combinations(range(k), 2))
        for_first, for_second = np.zeros((2, len(pairs), k))
        for p, (i, j) in enumerate(pairs):
            for_first[p, i] = for_second[p, j] = 1.0
        change = for_second - for_first
        positive = self.node("Cast", self.node("Greater", values, np.zeros(1)), to=_double())
        votes = self.node("MatMul", positive, change)
        votes = self.node("Add", votes, np.sum(for_first, axis=0)[None])
        if not break_ties:
            return self.node("Sub", votes, (np.arange(k) / k)[None])
        confidence = self.node("MatMul", values, change)
        size = self.node("Add", self.node("Abs", confidence), np.ones(1))
        share = self.node("Div", confidence, self.node("Mul", size, np.array([3.0])))
        return self.node("Add", votes, share)


def dense(samples: Any) -> Dense:
    """Samples as a dense array: ONNX has no sparse matrices to multiply with."""
    return np.asarray(samples.toarray() if sp.issparse(samples) else samples, dtype=np.float64)


def label_array(classes: Any) -> Any:
    """Labels as an array of a kind that ONNX has.

    Raises
    ------
    ModelFileError
        Labels of another kind.
    """
    texts = all(isinstance(label, str) for label in classes.tolist())
    if texts:
        return np.array(classes.tolist(), dtype=object)
    for kinds, dtype in (("iub", np.int64), ("f", np.float64)):
        if classes.dtype.kind in kinds and (classes.astype(dtype) == classes).all():
            return classes.astype(dtype)
    raise ModelFileError(
        f"The labels {classes[:3].tolist()} (dtype {classes.dtype}) have no type in ONNX; fit "
        "with texts or numbers."
    )


def _gamma(kernel: Any) -> float:
    return float(kernel.gamma)


def _double() -> int:
    from onnx import TensorProto

    return int(TensorProto.DOUBLE)


def _int64() -> int:
    from onnx import TensorProto

    return int(TensorProto.INT64)
