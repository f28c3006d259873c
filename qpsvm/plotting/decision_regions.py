"""Decision regions of fitted estimators and solutions, on axes that the caller may pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.numerics.arguments import Samples, Targets
from qpsvm.numerics.arrays import Array, Dense, Index, Vector
from qpsvm.plotting.displays import Display, is_solution, last_step, legend
from qpsvm.plotting.picture import Style
from qpsvm.plotting.plane import Heights, Plane
from qpsvm.plotting.samples import margin_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet


class DecisionRegions(Display):
    """Decision regions of a two-feature estimator, with margins and support vectors.

    The conventions are those of ``sklearn.inspection.DecisionBoundaryDisplay``; make one with
    ``from_estimator``.

    Parameters
    ----------
    picture : Plane or Heights
        What is drawn.

    Attributes
    ----------
    xx0, xx1 : arrays of shape (grid_resolution, grid_resolution)
        The grid.
    response : array of shape (grid_resolution, grid_resolution) or with an axis of k classes
        Decision values of two classes or a novelty detector, predictions of a regression, and for
        more classes 1 where a class is predicted, else 0.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    surface_ : matplotlib.contour.QuadContourSet, or list of them
        The coloured surfaces: one, or for more than two classes one for each that is predicted.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from qpsvm.estimators import SVC
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0]]), [0, 0, 1]
    >>> machine = SVC(kernel="linear").fit(X, y)
    >>> display = DecisionRegions.from_estimator(
    ...     machine, X, y=y, grid_resolution=20, ax=Figure().add_subplot()
    ... )
    >>> display.xx0.shape
    (20, 20)
    """

    picture: Plane | Heights
    surface_: QuadContourSet | list[QuadContourSet]

    def __init__(self, picture: Plane | Heights) -> None:
        super().__init__(picture)
        self.xx0, self.xx1 = picture.grid
        self.response = picture.response

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Samples,
        *,
        y: Targets | None = None,
        grid_resolution: int = 200,
        eps: float | None = None,
        margins: bool = True,
        support: bool = True,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the decision regions of a fitted estimator, or of a solution.

        Parameters
        ----------
        estimator : object
            A fitted classifier, regressor, ranker or novelty detector with scikit-learn's methods,
            or a Pipeline; or what ``qpsvm.solve`` returns for an SVM problem. Regressions and
            rankings are drawn as contours of the predictions.
        X : array or DataFrame of shape (n, 2)
            Samples: they are drawn, and the picture shows the range in which they are.
        y : array of shape (n,), optional
            Their labels or targets, for colours.
        grid_resolution : int
            Points along each axis at which the estimator is evaluated.
        eps : float, optional
            By how much the picture extends beyond the samples; without it, by 6% of their range.
        margins : bool
            Draw the lines where the decision value is 1 or -1, for two classes and support vector
            machines; of a solution where it is plus or minus the margin of its program.
        support : bool
            Ring the support vectors, if X are the training samples. More than 500 are not ringed,
            because the rings would hide the samples.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        DecisionRegions

        Raises
        ------
        InvalidDataError
            X has not two columns of numbers; y not one entry for each row.
        InvalidParameterError
            A grid of fewer than two points, or a negative ``eps``.
        NotFittedError
            The estimator is not fitted.
        MissingPackageError
            Matplotlib is not installed.

        Examples
        --------
        >>> from matplotlib.figure import Figure, SubFigure
        >>> from qpsvm.estimators import SVC
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> X, y = X[50:, 2:], y[50:]
        >>> machine = SVC(kernel="linear").fit(X, y)
        >>> ax = Figure().add_subplot()
        >>> display = DecisionRegions.from_estimator(machine, X, y=y, ax=ax)
        >>> display.ax_ is ax, display.response.shape
        (True, (200, 200))
        """
        if not grid_resolution > 1:
            raise InvalidParameterError(
                f"grid_resolution is {grid_resolution!r}; pass a number of points above 1."
            )
        if eps is not None and not 0.0 <= eps < np.inf:
            raise InvalidParameterError(
                f"eps is {eps!r}; pass by how much the picture extends beyond the samples, 0 or "
                "more, or None."
            )
        from sklearn.utils.validation import check_is_fitted

        points = _numbers(X)
        if not is_solution(estimator):
            check_is_fitted(estimator)
        features = getattr(X, "columns", ("feature 0", "feature 1"))
        rows = _support(estimator, X, points) if support else np.zeros(0, dtype=np.intp)
        common: dict[str, Any] = {
            "points": points,
            "features": (str(features[0]), str(features[1])),
            "side": int(grid_resolution),
            "eps": eps,
        }
        labels, (classes, names) = _one_each(y, points), _classes_of(estimator)
        predict = _of_points(estimator.predict, X)
        if classes is None:
            target = None if labels is None else labels.astype(np.float64)
            heights = Heights(target=target, support=rows, values=predict, **common)
            return cls(heights).plot(ax=ax)
        code = {label: i for i, label in enumerate(classes)}
        group = [-1] * len(points)  # without labels, and of others
        if labels is not None:
            group = [code.get(label, -1) for label in labels.tolist()]
        ringed = np.zeros(len(points), dtype=np.intp)
        ringed[rows] = 1
        levels = _levels(estimator, X, points, names)
        plane = Plane(
            group=np.array(group),
            groups=names,
            support=ringed,
            values=_of_points(estimator.decision_function, X)
            if levels
            else lambda points: predict(points)[:, None] == np.array(classes),
            levels=levels if margins else levels[:1],
            **common,
        )
        return cls(plane).plot(ax=ax)

    def _draw(self, axes: Axes, style: Style, *, is_alone: bool) -> None:
        surfaces = self.picture.draw_on(axes, style, named_rings=True)
        named = axes.get_legend_handles_labels()[0]
        legend(axes, style, [*named, *self.picture.unnamed(style)], above=is_alone)
        if self.picture.colour_bar:
            axes.figure.colorbar(surfaces[0], ax=axes, label=self.picture.colour_bar)
        self.surface_ = surfaces[0] if len(surfaces) == 1 else surfaces


# --- what pictures need of an estimator -----------------------------------------------------------


NOVELTIES = ("novelty", "inlier")
"""Names of what a novelty detector predicts: -1 and 1."""


def _classes_of(model: Any) -> tuple[list[object] | None, tuple[str, ...]]:
    """The labels that are predicted, sorted, and their names; None for a regression."""
    from sklearn.base import is_outlier_detector

    if is_solution(model):
        classes = getattr(model.data, "classes", None)
        is_novelty_detector = classes is None and not hasattr(model.data, "values")
    else:
        classes = getattr(model, "classes_", None)
        is_novelty_detector = is_outlier_detector(model)
    if is_novelty_detector:
        return [-1, 1], NOVELTIES
    if classes is None:
        return None, ()
    labels = np.asarray(classes).tolist()
    return labels, tuple(f"class {label}" for label in labels)


def _levels(model: Any, X: Any, points: Dense, names: tuple[str, ...]) -> tuple[float, ...]:
    """The boundary and the margins, if the sign of one decision value decides; else nothing."""
    if len(names) != 2 or not hasattr(model, "decision_function"):
        return ()
    if _of_points(model.decision_function, X)(points[:1]).ndim != 1:
        return ()
    own, margin = ("support_", "solution_"), 1.0
    if hasattr(model, "conditions"):  # a solution in the scale of its program
        margin = margin_of(model.conditions, model.width)
    has_margins = is_solution(model) or any(hasattr(last_step(model), name) for name in own)
    is_drawn = has_margins and names is not NOVELTIES and margin > 0.0
    return (0.0, -margin, margin) if is_drawn else (0.0,)


def _of_points(function: Callable[[Any], Any], X: Any) -> Callable[[Dense], Vector]:
    """A function of samples of the same kind as X as one of (m, 2) arrays."""
    columns = getattr(X, "columns", None)

    def of_points(points: Dense) -> Vector:
        if columns is None:
            return np.asarray(function(points))
        return np.asarray(function(type(X)(dict(zip(columns, points.T, strict=True)))))

    return of_points


def _one_each(y: Targets | None, points: Dense) -> Array | None:
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.shape != (len(points),):
        raise InvalidDataError(
            f"y has shape {labels.shape}, and X has {len(points)} rows; pass one label or target "
            "for each row."
        )
    return labels


def _support(model: Any, X: Any, points: Dense) -> Index:
    """Rows of X that are support vectors; none if X is not what the machine was fitted to."""
    nothing, machine = np.zeros(0, dtype=np.intp), last_step(model)
    solution = getattr(machine, "solution_", machine if is_solution(machine) else None)
    # training samples that are known: their rows, and their values
    if solution is not None:
        machines = getattr(solution, "solutions", (solution,))
        support: Any = np.unique(np.concatenate([part.support for part in machines]))
        rows, samples = solution.data.kept, solution.data.X
        if len(points) != solution.data.n_given:
            return nothing
    else:
        support = rows = getattr(machine, "support_", None)
        samples = getattr(machine, "support_vectors_", None)
    if not isinstance(samples, np.ndarray) or len(rows) == 0:
        return nothing
    before = machine is not model and len(model.steps) > 1
    seen = np.asarray(model[:-1].transform(X) if before else points)
    known = (
        seen.ndim == 2
        and int(np.max(rows)) < len(seen)
        and seen.shape[1:] == samples.shape[1:]
        and np.allclose(seen[rows], samples)
    )
    return np.asarray(support) if known else nothing


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
