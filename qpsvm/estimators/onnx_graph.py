"""Fitted estimators as ONNX graphs, by a converter that is registered with ``skl2onnx``.

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

from qpsvm.exceptions import ModelFileError
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.numerics.arrays import Dense


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
