"""Decision regions of fitted estimators and solutions, on axes that the caller may pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import Samples, Targets
from qpsvm.plotting.displays import Display, legend
from qpsvm.plotting.estimator_views import EstimatorView
from qpsvm.plotting.picture import CLASS_COLOURS, Style
from qpsvm.plotting.plane import Heights, Plane

if TYPE_CHECKING:
    from matplotlib.artist import Artist
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

    surface_: QuadContourSet | list[QuadContourSet]

    def __init__(self, picture: Plane | Heights) -> None:
        self.picture = picture
        self.xx0, self.xx1 = picture.grid
        self.response = picture.response

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
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
            machines.
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
        view = EstimatorView(estimator, X)
        rows = view.support() if support else np.zeros(0, dtype=np.intp)
        common: dict[str, Any] = {
            "points": view.points,
            "features": view.features,
            "side": int(grid_resolution),
            "eps": eps,
        }
        picture: Plane | Heights
        if view.classes is None:
            picture = Heights(
                target=view.targets(y), support=rows, values=view.predictions, **common
            )
        else:
            with_margins = margins and view.is_support_vector_machine
            levels = (0.0, -1.0, 1.0) if with_margins and not view.is_novelty_detector else (0.0,)
            ringed = np.zeros(len(view.points), dtype=np.intp)
            ringed[rows] = 1
            picture = Plane(
                group=view.codes(y),
                groups=view.names,
                support=ringed,
                values=view.decision_values if view.has_boundary else view.memberships,
                levels=levels if view.has_boundary else (),
                **common,
            )
        return cls(picture).plot(ax=ax)

    def _draw(self, axes: Axes, style: Style, *, is_alone: bool) -> None:
        surfaces = self.picture.draw_on(axes, style, named_rings=True)
        named = axes.get_legend_handles_labels()[0]
        legend(axes, style, [*named, *self._unnamed(style)], above=is_alone)
        if isinstance(self.picture, Heights):
            axes.figure.colorbar(surfaces[0], ax=axes, label="prediction")
        self.surface_ = surfaces[0] if len(surfaces) == 1 else surfaces

    def _unnamed(self, style: Style) -> list[Artist]:
        """Entries of the legend for lines, and for classes without samples."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        if isinstance(self.picture, Heights):
            return []
        entries: list[Artist] = [
            Patch(color=CLASS_COLOURS[g % len(CLASS_COLOURS)], alpha=0.3, label=name)
            for g, name in enumerate(self.picture.groups)
            if not (self.picture.group == g).any()
        ]
        levels = len(self.picture.levels)
        if levels > 0:
            entries.append(Line2D([], [], color=style.ink, linestyle="-", label="boundary"))
        if levels > 1:
            entries.append(Line2D([], [], color=style.ink, linestyle="--", label="margins"))
        return entries

    @property
    def alternative(self) -> str:
        return self.picture.alternative
