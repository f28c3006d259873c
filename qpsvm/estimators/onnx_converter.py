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
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import MissingPackageError, ModelFileError
from qpsvm.kernels import RBF, Linear, Precomputed, Sigmoid
from qpsvm.kernels.gram import KERNELS
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

    Numbers(estimator)  # refuses before the work
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


def _shapes(operator: Any) -> None:
    """Set the types of the outputs, for ``skl2onnx``."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    estimator, rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    if hasattr(estimator, "classes_"):
        types = {"O": StringTensorType, "i": Int64TensorType, "f": DoubleTensorType}
        operator.outputs[0].type = types[label_array(estimator.classes_).dtype.kind]([rows])
    elif hasattr(estimator, "offset_"):
        operator.outputs[0].type = Int64TensorType([rows, 1])
    else:
        operator.outputs[0].type = DoubleTensorType([rows, 1])
        return
    operator.outputs[1].type = DoubleTensorType([rows, None])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of an estimator to the model, for ``skl2onnx``."""
    estimator, graph = operator.raw_operator, Graph(container.target_opset)
    values = graph.decisions(operator.inputs[0], Numbers(estimator))
    if hasattr(estimator, "classes_"):
        found: tuple[Any, ...] = graph.labels_and_scores(values, estimator)
    elif hasattr(estimator, "offset_"):
        found = graph.novelties(values, estimator._scales[0] * estimator._predictor.zero_below)
    else:
        found = (values,)
    for value, output in zip(found, operator.outputs, strict=True):
        graph.node("Identity", value, output_names=[output]).add_to(scope, container)


class Numbers:
    """Numbers from which an estimator's decision values are computed, in scikit-learn's scale.

    Parameters
    ----------
    estimator : fitted estimator

    Attributes
    ----------
    kernel : Kernel
    intercepts : array of shape (p,)
    coef : array of shape (p, d) or None
        Where decision values are computed from weights of features.
    centres : array of shape (m, d) or None
        None with a precomputed kernel.
    weights : array of shape (m, p) or None
        With a precomputed kernel, m is the number of rows of the caller's X.
    is_ball : bool
        Whether ``k(x, x)`` is subtracted.

    Raises
    ------
    ModelFileError
        The kernel is a function of the caller's.
    """

    def __init__(self, estimator: Any) -> None:
        vectors = getattr(estimator, "_all_coefficients", None)
        machines = estimator._machines() if vectors is None else vectors.machines
        scales = (1.0,) * len(machines) if vectors is None else vectors.scales
        self.kernel = kernel = machines[0].kernel
        if KERNELS.get(kernel.name) is not type(kernel):
            raise ModelFileError(
                f"The kernel {kernel} is code, which has no ONNX graph; compute the matrix and fit "
                "with kernel='precomputed'."
            )
        pairs = list(zip(scales, machines, strict=True))
        self.intercepts = np.concatenate([s * np.atleast_1d(m.intercept) for s, m in pairs])
        self.is_ball = hasattr(estimator, "radius_")
        self.coef: Dense | None = None
        if vectors is None or vectors.is_linear:
            self.coef = np.vstack([s * np.atleast_2d(m.coef) for s, m in pairs])
            return
        self.weights: Dense = np.hstack([s * vectors.coefficients(m) for s, m in pairs])
        if isinstance(kernel, Precomputed):
            whole = np.zeros((estimator.n_features_in_, self.weights.shape[1]))
            whole[vectors.support] = self.weights
            self.weights = whole
        else:  # ONNX has no sparse matrices to multiply with
            X = vectors.samples
            self.centres = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


class Graph:
    """A graph under construction, of nodes in double precision.

    Parameters
    ----------
    version : int
        Of the set of operators.
    """

    def __init__(self, version: int) -> None:
        from onnx import TensorProto
        from skl2onnx.algebra import onnx_ops

        self._operators, self._version = onnx_ops, version
        self._double, self._int64 = int(TensorProto.DOUBLE), int(TensorProto.INT64)

    def node(self, kind: str, *inputs: Any, **attributes: Any) -> Any:
        """Add an operator applied to inputs; return its output."""
        operator = getattr(self._operators, f"Onnx{kind}")
        return operator(*inputs, op_version=self._version, **attributes)

    def decisions(self, X: Any, numbers: Numbers) -> Any:
        """Decision values, shape (n, p)."""
        X = self.node("Cast", X, to=self._double)
        if numbers.coef is not None:
            values = self.node("MatMul", X, numbers.coef.T.copy())
        else:
            values = self.node("MatMul", self._kernel_values(X, numbers), numbers.weights)
        values = self.node("Add", values, numbers.intercepts[None])
        if not numbers.is_ball:
            return values
        own = np.ones((1, 1))
        if not isinstance(numbers.kernel, RBF):
            own = self._of_products(numbers.kernel, self._squares(X))
        return self.node("Sub", values, own)

    def _squares(self, X: Any) -> Any:
        """Squared lengths of rows, shape (n, 1)."""
        squares = self.node("Mul", X, X)
        return self.node("ReduceSum", squares, np.array([1], dtype=np.int64), keepdims=1)

    def _kernel_values(self, X: Any, numbers: Numbers) -> Any:
        kernel: Any = numbers.kernel
        if isinstance(kernel, Precomputed):
            return X
        centres = numbers.centres
        if not isinstance(kernel, RBF):
            return self._of_products(kernel, self.node("MatMul", X, centres.T.copy()))
        # around the middle: a common offset of the samples would drown the distances
        middle = np.mean(centres, axis=0, keepdims=True)
        X, centres = self.node("Sub", X, middle), centres - middle
        products = self.node("MatMul", X, (-2.0 * centres).T.copy())
        distances = self.node("Add", products, self._squares(X))
        distances = self.node("Add", distances, np.sum(centres * centres, axis=1)[None])
        distances = self.node("Max", distances, np.zeros(1))
        return self.node("Exp", self.node("Mul", distances, np.array([-float(kernel.gamma)])))

    def _of_products(self, kernel: Any, products: Any) -> Any:
        """Kernel values from inner products."""
        if isinstance(kernel, Linear):
            return products
        scaled = self.node("Mul", products, np.array([float(kernel.gamma)]))
        values = self.node("Add", scaled, np.array([float(kernel.coef0)]))
        if isinstance(kernel, Sigmoid):
            return self.node("Tanh", values)
        return self.node("Pow", values, np.array([float(kernel.degree)]))

    def novelties(self, values: Any, zero_below: float) -> tuple[Any, Any]:
        """Signs, and decision values, of which those up to a size are zero; shapes (n, 1)."""
        near = self.node("LessOrEqual", self.node("Abs", values), np.array([zero_below]))
        values = self.node("Where", near, np.zeros(1), values)
        inside, ones = self.node("GreaterOrEqual", values, np.zeros(1)), np.ones(1, dtype=np.int64)
        return self.node("Where", inside, ones, -ones), values

    def labels_and_scores(self, values: Any, estimator: Any) -> tuple[Any, Any]:
        """Labels, shape (n,), and scores, shape (n, p) or (n, k), of a classifier."""
        classes, scores = estimator.classes_, values
        vectors = getattr(estimator, "_all_coefficients", None)
        if vectors is not None and vectors.is_one_vs_one:
            k, break_ties = len(classes), estimator._predictor.reduction.break_ties
            ranked = self._votes(values, k, break_ties=break_ties)
            if estimator.decision_function_shape == "ovo":
                scores = self.node("Neg", values)
            else:
                scores = self._votes(values, k, break_ties=True)
            place = self.node("ArgMax", ranked, axis=1, keepdims=0)
        elif len(Numbers(estimator).intercepts) > 1:
            place = self.node("ArgMax", values, axis=1, keepdims=0)
        else:
            positive = self.node("Greater", values, np.zeros(1))
            flat = self.node("Squeeze", positive, np.array([1], dtype=np.int64))
            place = self.node("Cast", flat, to=self._int64)
        return self.node("Gather", label_array(classes), place, axis=0), scores

    def _votes(self, values: Any, k: int, *, break_ties: bool) -> Any:
        """Votes of each class plus a tie-break, shape (n, k), as in ``OneVsOne.combine``."""
        pairs = list(itertools.combinations(range(k), 2))
        for_first, for_second = np.zeros((2, len(pairs), k))
        for p, (i, j) in enumerate(pairs):
            for_first[p, i] = for_second[p, j] = 1.0
        change = for_second - for_first
        positive = self.node("Cast", self.node("Greater", values, np.zeros(1)), to=self._double)
        votes = self.node("MatMul", positive, change)
        votes = self.node("Add", votes, np.sum(for_first, axis=0)[None])
        if not break_ties:
            return self.node("Sub", votes, (np.arange(k) / k)[None])
        confidence = self.node("MatMul", values, change)
        size = self.node("Add", self.node("Abs", confidence), np.ones(1))
        share = self.node("Div", confidence, self.node("Mul", size, np.array([3.0])))
        return self.node("Add", votes, share)


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
