"""Models with weights and an intercept but no multipliers: one program in w.

LIBLINEAR treats its intercept as the weight of one more feature, the constant ``bias``, and
penalises it like the others: ``1/2 |w|^2 + 1/2 (b / bias)^2``. For ``bias = 1`` that is
``intercept="penalized"``; for any other the constant is made a column of X.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp

from qpsvm.audits.claims import Claim, Library, Problem, Reading
from qpsvm.audits.readers import attributes
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs, require_finite, require_weights, splits
from qpsvm.data import MulticlassTrainingSet
from qpsvm.data.training_sets import BinaryTrainingSet
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import CrammerSinger, OneVsOne, OneVsRest
from qpsvm.formulations.family import Classifier, Family
from qpsvm.numerics.arguments import Labels, Targets, VectorLike
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector


def weights_and_offset(model: Estimator, offset: str) -> tuple[Dense, Vector]:
    """``coef_`` with one row per machine (dense), and one intercept per machine.

    Raises
    ------
    AuditRefusedError
        They are no finite numbers, or do not fit together.
    """
    coef = np.atleast_2d(attributes.numbers(model, "coef_"))
    if coef.ndim != 2:
        attributes.refuse(model, f"has coef_ of shape {coef.shape}, which must have two axes")
    b = np.ravel(attributes.numbers(model, offset))
    if len(b) not in (1, len(coef)):
        attributes.refuse(model, f"has {len(b)} numbers in {offset} for {len(coef)} in coef_")
    return coef, np.broadcast_to(b, len(coef))


def class_weight(
    model: Estimator, inputs: Inputs, classes: Labels, sample_weight: VectorLike | None = None
) -> Vector:
    """Compute the weight of every class as scikit-learn does.

    Raises
    ------
    AuditRefusedError
        ``class_weight`` is none of what scikit-learn takes.
    """
    from sklearn.utils.class_weight import compute_class_weight

    options: dict[str, VectorLike | None] = {}
    if "sample_weight" in inspect.signature(compute_class_weight).parameters:
        options["sample_weight"] = sample_weight  # older versions count rows
    y, given = np.asarray(inputs.y).ravel(), attributes.attribute(model, "class_weight")
    try:
        factors = compute_class_weight(given, classes=classes, y=y, **options)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise AuditRefusedError(
            f"This {type(model).__name__} has class_weight = {given!r}, which scikit-learn does "
            f"not take ({error}); fit it again."
        ) from error
    return np.asarray(attributes.real_numbers(model, "class_weight", factors))


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of a linear model, and its training data.

    Attributes
    ----------
    model : str
        What was read, in words.
    library : Library
    samples : array or CSR array of shape (n, d)
    weights : array of shape (n,)
        Sample weights.
    coef : array of shape (m, d)
        One row per machine; for all classes in one program one row per class.
    intercept : array of shape (m,)
    remarks : tuple of str
    """

    model: str
    library: Library
    samples: Matrix
    weights: Vector
    coef: Dense
    intercept: Vector
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        owner = f"this {self.model}"
        require_finite(owner, coef=self.coef, intercept=self.intercept)
        if self.coef.shape[1:] != self.samples.shape[1:]:
            raise AuditRefusedError(
                f"X has {self.samples.shape[1]} columns, {owner} has weights for "
                f"{self.coef.shape[1]}; pass the training data."
            )

    def with_bias_column(self, bias: float) -> Weights:
        """The machines with the constant ``bias`` as the last feature, and no intercept."""
        n = self.samples.shape[0]
        column = np.full((n, 1), bias)
        sparse = sp.issparse(self.samples)
        samples = (
            sp.csr_array(sp.hstack([self.samples, column]))
            if sparse
            else np.hstack([self.samples, column])
        )
        coef = np.hstack([self.coef, self.intercept[:, None] / bias])
        nothing = np.zeros(len(self.intercept))
        remark = f"the intercept is the weight of a constant feature of {bias:g}, as in LIBLINEAR"
        return Weights(
            self.model, self.library, samples, self.weights, coef, nothing, (*self.remarks, remark)
        )

    def machine(
        self, formulation: Family, y: Targets | None = None, factor: float = 1.0
    ) -> Reading:
        """Read a regressor or one-class model."""
        problem = formulation.primal(self.samples, y, sample_weight=self.weights)
        return Reading.of(self, (self._claim("", problem, 0, factor),))

    def classifier(
        self,
        formulation: Classifier,
        codes: Index,
        classes: Labels,
        *,
        class_weight: Vector | None = None,
        second_is_positive: bool = True,
    ) -> Reading:
        """Read a classifier: one machine for two classes, else one per class against the rest.

        Class weights multiply the sample weights. With more than two classes the rest has weight 1
        whatever its classes' weights are: that is what LIBLINEAR and SGD do.
        """
        k = len(classes)
        factors = np.ones(len(codes)) if class_weight is None else class_weight[codes]
        require_weights(codes, classes, self.weights * factors)
        reduction = (OneVsRest if k > 2 else OneVsOne)(formulation)
        claims = []
        for m, split in enumerate(splits(reduction, codes, classes)):
            own = codes == m if k > 2 else split.members
            weights = self.weights * np.where(own, factors, 1.0)
            problem = formulation.primal(self.samples, split.labels, sample_weight=weights)
            claims.append(self._claim(split.name, problem, m))
        if k == 2:
            binary = claims[0].problem
            data = cast("BinaryTrainingSet", binary.data)
            if data.classes[int(second_is_positive)] != classes[1]:
                claims = [self._claim("", binary, 0, -1.0)]
        combine = reduction.combine if k > 2 else None
        return Reading.of(self, tuple(claims), k, classes, combine)

    def joint(
        self, formulation: CrammerSinger, codes: Index, classes: Labels, class_weight: Vector
    ) -> Reading:
        """Read a classifier with all classes in one program."""
        weights = self.weights * class_weight[codes]
        require_weights(codes, classes, weights)
        labels = np.asarray(classes)[codes]
        problem = formulation.primal(self.samples, labels, sample_weight=weights)
        data = problem.data
        assert isinstance(data, MulticlassTrainingSet)  # of a program for several classes
        order = [list(classes).index(label) for label in data.classes]
        claim = Claim("", problem, self.intercept[order], coef=self.coef[order])
        return Reading.of(self, (claim,), classes=classes)

    # --- small pieces --------------------------------------------------------------------------

    def _claim(self, name: str, problem: Problem, m: int, factor: float = 1.0) -> Claim:
        coef, b = self.coef[m] / factor, float(self.intercept[m]) / factor
        return Claim(name=name, problem=problem, intercept=b, coef=coef, factor=factor)
