"""The conditions of a formulation on one sample, as numbers that hold for every chunk.

A formulation builds its conditions from all samples at once, because ``C_i`` may depend on sums
over all of them. For samples in chunks it is asked once, about one sample per class that stands for
the whole class (its weight is the class's sum of weights). What it answers is divided by that
weight: the template. A sample of class c with weight u and target t has, on each side s of the
template::

    r = sign_s (times its own sign +1 or -1, for two classes)
    p = offset_s + (sign_s t, for a regression; |x|^2, for a ball)
    lower, upper = u lower_sc, u upper_sc        d = curvature_sc / u

and its violation is ``v = p - r (w'x + b) - e t`` as in ``qpsvm.machines.conditions``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from qpsvm.chunked.contents import Task
from qpsvm.chunked.totals import Totals
from qpsvm.data.training_sets import (
    BinaryTrainingSet,
    RegressionTrainingSet,
    TrainingSet,
    binary_training_set,
    regression_training_set,
    unlabelled_training_set,
)
from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels import Linear
from qpsvm.kernels.gram import gram
from qpsvm.machines.conditions import InterceptKind, losses, slopes
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Dense, Index, Vector, freeze
from qpsvm.numerics.precision import EPS


class Terms(NamedTuple):
    """The conditions on samples: a row of each array for every side, or a list of conditions.

    Parameters
    ----------
    signs : array of shape (s, m) or (m,)
        r.
    required, lower, upper, curvature : arrays of the same shape
    """

    signs: Vector
    required: Vector
    lower: Vector
    upper: Vector
    curvature: Vector

    def at(self, which: Any) -> Terms:
        """Select some of the conditions by an index of arrays of their shape."""
        return Terms(*(own[which] for own in self))

    def slopes(self, v: Vector) -> Vector:
        """The slopes of the losses at violations v: dual variables."""
        return slopes(v, self.lower, self.upper, self.curvature)

    def losses(self, v: Vector) -> Vector:
        """The losses of violations v."""
        return losses(v, self.lower, self.upper, self.curvature)


@dataclass(frozen=True, eq=False)
class Template:
    """The conditions on one sample of each class and weight 1.

    Attributes
    ----------
    task : "binary", "regression" or "unlabelled"
    classes : array of shape (2,) or None
        The labels, (negative, positive).
    signs : array of shape (s,)
        The sign of each side.
    offsets : array of shape (s,)
    lower, upper, curvature : arrays of shape (s, k)
        For every side and class, per unit of weight (the curvature times the weight).
    ball : bool
        Squared norms are required, as for the smallest ball.
    intercept : "free", "penalized" or "none"
    intercept_price, width_sign, width_price, norm_weight, unit : float
        As in ``Conditions``.
    relative_to_spread : bool
        As in ``Conditions``.
    radius : float
        The largest norm of a sample.
    """

    task: Task
    classes: Labels | None
    signs: Vector
    offsets: Vector
    lower: Dense
    upper: Dense
    curvature: Dense
    ball: bool
    intercept: InterceptKind
    intercept_price: float
    width_sign: float
    width_price: float
    norm_weight: float
    unit: float
    relative_to_spread: bool
    radius: float

    @property
    def is_curved(self) -> bool:
        """Return whether the losses are quadratic where they are not zero."""
        return bool((self.curvature > 0.0).all())

    def terms(
        self, codes: Index, targets: Vector | None, weights: Vector, squares: Vector
    ) -> Terms:
        """The conditions on samples of given classes, targets and weights, side by side.

        Parameters
        ----------
        codes : array of int of shape (m,)
            The class of each sample, zeros without classes.
        targets : array of shape (m,) or None
            For a regression.
        weights, squares : arrays of shape (m,)
            Sample weights, and ``|x|^2``.
        """
        own = 2.0 * codes - 1.0 if self.task == "binary" else np.ones(len(codes))
        sides = self.signs[:, None]
        required = np.repeat(self.offsets[:, None], len(codes), axis=1)
        if targets is not None:
            required += sides * targets
        if self.ball:
            required += squares
        lower, upper, curvature = (
            bound[:, codes] for bound in (self.lower, self.upper, self.curvature)
        )
        return Terms(sides * own, required, lower * weights, upper * weights, curvature / weights)

    def violations(self, terms: Terms, f: Vector, width: float | Vector) -> Dense:
        """``v = p - r f - e t`` of the conditions on samples with decision values f."""
        return np.asarray(terms.required - terms.signs * f - self.width_sign * width)


_SHARED = (
    "intercept",
    "intercept_price",
    "width_sign",
    "width_price",
    "norm_weight",
    "unit",
    "relative_to_spread",
)
"""Attributes that a template has as ``Conditions`` has them."""


def template(formulation: Any, task: Task, totals: Totals) -> Template:
    """Ask a formulation for its conditions on one sample per class.

    Raises
    ------
    InvalidParameterError
        Parameters that these data make impossible; a hard margin, or another formulation that does
        not put the same conditions on every sample.
    """
    data = _representatives(task, totals)
    c = formulation.conditions(data, gram(Linear(), data.X)[0])
    k, weights = data.n_samples, data.weights
    unsuited = c.is_hard.any() or np.isinf(c.lower).any()
    if c.selection is None or len(c) % k or unsuited:
        raise InvalidParameterError(
            f"{formulation!r} cannot be trained on samples in chunks: it needs all samples at "
            "once. Pass arrays that fit into memory; SoftMargin, EpsilonRegression, "
            "QuantileRegression, NuClassification, NuRegression and OneClass take chunks."
        )
    shape, own = (len(c) // k, k), np.ones(k)
    row_signs, required = c.signs.reshape(shape), c.required.reshape(shape)
    if isinstance(data, BinaryTrainingSet):
        own = data.signs
    elif isinstance(data, RegressionTrainingSet):
        required = required - row_signs * data.values
    classes = slice(None) if task == "binary" else slice(0, 1)
    return Template(
        task=task,
        classes=totals.classes,
        signs=freeze(row_signs[:, 0] / own[0]),
        offsets=freeze(required[:, 0].copy()),
        lower=freeze((c.lower.reshape(shape) / weights)[:, classes]),
        upper=freeze((c.upper.reshape(shape) / weights)[:, classes]),
        curvature=freeze((c.curvature.reshape(shape) * weights)[:, classes]),
        ball=c.minus_self_similarity,
        radius=math.sqrt(totals.largest_square) * (1.0 + (totals.n_features + 4) * EPS),
        **{name: getattr(c, name) for name in _SHARED},
    )


def _representatives(task: Task, totals: Totals) -> TrainingSet:
    """A sample for each class, or one at each end of the targets, with all of the weight."""
    weights, X = np.array(totals.class_weights), np.zeros((2, 1))
    if task == "unlabelled":
        return unlabelled_training_set(X[:1], Linear(), weights)
    if task == "binary":
        return binary_training_set(X, totals.classes, Linear(), weights)
    return regression_training_set(
        X, np.array(totals.targets), Linear(), np.repeat(0.5 * weights, 2)
    )
