"""Facts about a fitted estimator of any library, or a solution, that pictures of it need."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arguments import Targets
from qpsvm.numerics.arrays import Array, Dense, Index, Vector


def is_solution(model: object) -> bool:
    """Return whether a model is a solution of qpsvm: it predicts, and is no estimator."""
    own = ("decision_function", "predictions", "data")
    return all(hasattr(model, name) for name in own) and not hasattr(model, "get_params")


class EstimatorView:
    """A fitted estimator, Pipeline that ends in one, or solution, with samples of two features.

    Parameters
    ----------
    estimator : object
        With the methods of scikit-learn's estimators, or of qpsvm's solutions.
    X : array or DataFrame of shape (n, 2)

    Attributes
    ----------
    points : array of shape (n, 2)
        The samples as numbers.
    machine : object
        The estimator itself, or the last step of a Pipeline.
    features : tuple of str
        Names of the columns.
    is_novelty_detector : bool
        Whether it predicts 1 for samples like the known ones, else -1.
    classes : array of shape (k,) or None
        The labels that are predicted, sorted; None for a regression.
    names : tuple of str
        A name for every class.
    has_boundary : bool
        Whether the sign of one decision value decides.
    is_support_vector_machine : bool
        Whether decision values of 1 and -1 are margins.

    Raises
    ------
    InvalidDataError
        X has not two columns of numbers.
    NotFittedError
        The estimator is not fitted.
    """

    def __init__(self, estimator: Any, X: Any) -> None:
        from sklearn.base import is_outlier_detector
        from sklearn.utils.validation import check_is_fitted

        is_own = is_solution(estimator)
        if not is_own:
            check_is_fitted(estimator)
        self.estimator, self.X, self.points = estimator, X, _numbers(X)
        steps = getattr(estimator, "steps", None)
        self.machine = estimator if steps is None else steps[-1][1]
        names = getattr(X, "columns", ("feature 0", "feature 1"))
        self.features = str(names[0]), str(names[1])
        self.classes: Any
        self.names: tuple[str, ...] = ()
        if is_own:
            data = estimator.data
            self.classes = getattr(data, "classes", None)
            self.is_novelty_detector = self.classes is None and not hasattr(data, "values")
        else:
            self.classes = getattr(estimator, "classes_", None)
            self.is_novelty_detector = bool(is_outlier_detector(estimator))
        if self.is_novelty_detector:
            self.classes, self.names = np.array([-1, 1]), ("novelty", "inlier")
        elif self.classes is not None:
            self.names = tuple(f"class {label}" for label in np.asarray(self.classes).tolist())
        own = ("support_", "solution_")
        self.is_support_vector_machine = is_own or any(hasattr(self.machine, name) for name in own)
        self.has_boundary = (
            self.classes is not None
            and len(self.classes) == 2
            and hasattr(estimator, "decision_function")
            and np.ndim(self.decision_values(self.points[:1])) == 1
        )

    # --- functions of (m, 2) arrays --------------------------------------------------------------

    def _like_X(self, points: Dense) -> object:
        """Points as samples of the same kind as X."""
        columns = getattr(self.X, "columns", None)
        if columns is None:
            return points
        return type(self.X)(dict(zip(columns, points.T, strict=True)))

    def decision_values(self, points: Dense) -> Vector:
        """The decision function."""
        return np.asarray(self.estimator.decision_function(self._like_X(points)))

    def predictions(self, points: Dense) -> Vector:
        """The predicted numbers."""
        return np.asarray(self.estimator.predict(self._like_X(points)))

    def memberships(self, points: Dense) -> Dense:
        """Indicators of the predicted class, shape (m, k): 1 where it is predicted, else 0."""
        return np.asarray(self.predictions(points)[:, None] == self.classes, dtype=np.float64)

    # --- samples ---------------------------------------------------------------------------------

    def codes(self, y: Targets | None) -> Index:
        """Position of every label in ``classes``, shape (n,); -1 for others and without labels.

        Raises
        ------
        InvalidDataError
            There is not one label for each sample.
        """
        if y is None:
            return np.full(len(self.points), -1)
        labels = self._one_each(y).tolist()
        place = {label: i for i, label in enumerate(np.asarray(self.classes).tolist())}
        return np.array([place.get(label, -1) for label in labels])

    def targets(self, y: Targets | None) -> Vector | None:
        """The targets as numbers, shape (n,), or None.

        Raises
        ------
        InvalidDataError
            There is not one target for each sample.
        """
        return None if y is None else self._one_each(y).astype(np.float64)

    def _one_each(self, y: Targets) -> Array:
        labels = np.asarray(y)
        if labels.shape != (len(self.points),):
            raise InvalidDataError(
                f"y has shape {labels.shape}, and X has {len(self.points)} rows; pass one label or "
                "target for each row."
            )
        return labels

    def support(self) -> Index:
        """Rows of X that are support vectors; none if X is not what the machine was fitted to."""
        stored = self._stored()
        if stored is None:
            return np.zeros(0, dtype=np.intp)
        support, rows, samples = stored
        before = self.machine is not self.estimator and len(self.estimator.steps) > 1
        seen = np.asarray(self.estimator[:-1].transform(self.X) if before else self.points)
        known = (
            seen.ndim == 2
            and len(rows) > 0
            and int(np.max(rows)) < len(seen)
            and seen.shape[1:] == samples.shape[1:]
            and np.allclose(seen[rows], samples)
        )
        return np.asarray(support) if known else np.zeros(0, dtype=np.intp)

    def _stored(self) -> tuple[object, Any, Dense] | None:
        """Support vectors, and training samples that are known: their rows and values."""
        own = self.machine if is_solution(self.machine) else None
        solution = getattr(self.machine, "solution_", own)
        if solution is not None:
            machines = getattr(solution, "solutions", (solution,))
            support: Any = np.unique(np.concatenate([machine.support for machine in machines]))
            data = solution.data
            if not isinstance(data.X, np.ndarray) or len(self.points) != data.n_given:
                return None
            return support, data.kept, np.asarray(data.X)
        support, vectors = (
            getattr(self.machine, n, None) for n in ("support_", "support_vectors_")
        )
        if not isinstance(vectors, np.ndarray):
            return None
        return support, support, vectors


def _numbers(X: Any) -> Dense:
    """The samples as an array of numbers; what else they are is refused."""
    shape = np.shape(X)
    if len(shape) != 2 or shape[1] != 2 or shape[0] == 0:
        raise InvalidDataError(
            f"X has shape {shape}; decision regions are drawn in the plane of two features: "
            "fit an estimator to two columns and pass samples of these."
        )
    try:
        numbers = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"X holds no plain numbers ({error}); pass a dense array or a DataFrame of numbers."
        ) from error
    if not np.isfinite(numbers).all():
        raise InvalidDataError("X has NaN or infinite entries; impute them or drop the rows.")
    return numbers
