"""Models with weights and an intercept but no multipliers: one program in w.

LIBLINEAR treats its intercept as the weight of one more feature, the constant ``bias``, and
penalises it like the others: ``1/2 |w|^2 + 1/2 (b / bias)^2``. For ``bias = 1`` that is
``intercept="penalized"``; for any other the constant is made a column of X.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from qpsvm.audits.claims import Claim, Library, Problem, Reading
from qpsvm.audits.readers import attributes
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs, require_weights
from qpsvm.data import MulticlassTrainingSet
from qpsvm.data.training_sets import BinaryTrainingSet
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import CrammerSinger, OneVsRest
from qpsvm.formulations.family import Classifier, Family
from qpsvm.numerics.arguments import Labels, Targets, VectorLike
from qpsvm.numerics.arrays import Dense, Index, Vector


@dataclass(frozen=True, eq=False, kw_only=True)
class Weights(Reading):
    """The weights of a linear model and its training data, to be read as solutions.

    Attributes
    ----------
    weights : array of shape (n,)
        Sample weights.
    coef : array of shape (m, d)
        One row per machine; for all classes in one program one row per class.
    intercept : array of shape (m,)
    """

    weights: Vector
    coef: Dense
    intercept: Vector

    def __post_init__(self) -> None:
        if self.coef.shape[1:] != self.samples.shape[1:]:
            raise AuditRefusedError(
                f"X has {self.samples.shape[1]} columns, this {self.model} has weights for "
                f"{self.coef.shape[1]}; pass the training data."
            )

    def with_bias_column(self, bias: float) -> Weights:
        """The machines with the constant ``bias`` as the last feature, and no intercept."""
        column = np.full((self.samples.shape[0], 1), bias)
        if sp.issparse(self.samples):
            samples = sp.csr_array(sp.hstack([self.samples, column]))
        else:
            samples = np.hstack([self.samples, column])
        remark = f"the intercept is the weight of a constant feature of {bias:g}, as in LIBLINEAR"
        return replace(
            self,
            samples=samples,
            coef=np.hstack([self.coef, self.intercept[:, None] / bias]),
            intercept=np.zeros(len(self.intercept)),
            remarks=(*self.remarks, remark),
        )

    def machine(
        self, formulation: Family, y: Targets | None = None, factor: float = 1.0
    ) -> Reading:
        """Read a regressor or one-class model."""
        problem = formulation.primal(self.samples, y, sample_weight=self.weights)
        return replace(self, claims=(self._claim("", problem, 0, factor),))

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
        classes = np.asarray(classes)
        factors = np.ones(len(codes)) if class_weight is None else class_weight[codes]
        weights = self.weights * factors
        require_weights(codes, classes, weights)
        if len(classes) == 2:
            problem = formulation.primal(self.samples, classes[codes], sample_weight=weights)
            data = problem.data
            assert isinstance(data, BinaryTrainingSet)  # of a program for two classes
            agrees = data.classes[int(second_is_positive)] == classes[1]
            claim = self._claim("", problem, 0, 1.0 if agrees else -1.0)
            return replace(self, claims=(claim,), classes=classes)
        reduction, claims = OneVsRest(formulation), list[Claim]()
        for m, split in enumerate(reduction.splits(codes, classes)):
            weights = self.weights * np.where(codes == m, factors, 1.0)
            problem = formulation.primal(self.samples, split.labels, sample_weight=weights)
            claims.append(self._claim(split.name, problem, m))
        return replace(self, claims=tuple(claims), classes=classes, reduction=reduction)

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
        return replace(self, claims=(claim,), classes=classes)

    def _claim(self, name: str, problem: Problem, m: int, factor: float = 1.0) -> Claim:
        coef, b = self.coef[m] / factor, float(self.intercept[m]) / factor
        return Claim(name, problem, b, coef=coef, factor=factor)


# --- estimators of scikit-learn ---------------------------------------------------------------


def fitted_weights(
    model: Estimator,
    inputs: Inputs,
    library: str,
    tolerance: float | None,
    offset: str = "intercept_",
) -> Weights:
    """Read ``coef_``, with one row per machine (dense), and one intercept per machine.

    Parameters
    ----------
    model : estimator
    inputs : Inputs
    library : str
        The library that did the arithmetic.
    tolerance : float or None
        Of its stopping rule; None if it has none.
    offset : str
        Attribute with the intercepts.

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
    samples = inputs.samples(coef.shape[1])
    limit = attributes.number(model, "max_iter")
    stopped_at = f"iteration limit of {limit:g}"
    if tolerance is not None and attributes.numbers(model, "n_iter_").max(initial=0.0) < limit:
        stopped_at = f"stopping tolerance of {tolerance:g}"
    return Weights(
        model=type(model).__name__,
        library=Library(library, stopped_at),
        samples=samples,
        weights=inputs.weights(samples.shape[0]),
        coef=coef,
        intercept=np.broadcast_to(b, len(coef)),
    )


def fitted_classes(model: Estimator, inputs: Inputs, found: Weights) -> tuple[Index, Labels]:
    """Find every sample's class, and check that a linear model has a machine for each class.

    Raises
    ------
    AuditRefusedError
        Other labels than those of the fit, or other numbers of weights.
    """
    classes = attributes.classes(model)
    codes = inputs.codes(classes, found.weights)
    n_machines = 1 if len(classes) == 2 else len(classes)
    shape, why = (n_machines, found.coef.shape[1]), f"{len(classes)} classes"
    attributes.require_shape(model, "coef_", found.coef, shape, why)
    return codes, classes


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
