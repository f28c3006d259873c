"""Conversion of estimators to ONNX: alone, or as a step of a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.estimators.onnx_graph import DecisionFunctions, Graph, Outputs, dense, label_array
from qpsvm.exceptions import MissingPackageError, ModelFileError
from qpsvm.kernels import Precomputed
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
