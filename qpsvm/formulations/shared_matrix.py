"""The kernel matrix, prices and order of samples that the machines of a reduction share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from qpsvm.data.training_sets import MulticlassTrainingSet
from qpsvm.formulations.margin import SoftMargin
from qpsvm.formulations.nu import NuClassification
from qpsvm.formulations.prices import prices
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial
from qpsvm.machines.reduced import SharedMatrix, Side
from qpsvm.numerics.single_precision import SinglePrecision, rows_of
from qpsvm.qp.sample_gram import KEPT_BYTES, SampleGram


def shared_matrix(
    formulation: object,
    sides: Iterable[tuple[int, ...]],
    data: MulticlassTrainingSet,
    kernel: Kernel,
    *,
    weigh_rest: bool = True,
) -> SharedMatrix | None:
    """Describe the machines of a reduction as parts of one kernel matrix; None if they are not.

    Parameters
    ----------
    formulation : object
        Of two classes.
    sides : iterable of tuples of int
        For every machine the classes of its samples, the positive one last; only that one for a
        machine of all samples.
    data : MulticlassTrainingSet
    kernel : Kernel
        With every parameter a number.
    weigh_rest : bool
        Whether class weights apply to negative samples.
    """
    is_nu = type(formulation) is NuClassification
    if not (_is_plain(formulation, data) and _has_matrix(data, kernel)):
        return None
    own: Any = formulation
    order = np.argsort(data.codes, kind="stable")
    counts = np.bincount(data.codes, minlength=len(data.classes))
    ends = np.concatenate([[0], np.cumsum(counts)])
    C = 1.0 if is_nu else own.C
    prices_of = prices(C, data, class_weight=own.class_weight)[order]
    of_rest = prices_of if weigh_rest else prices(C, data)[order]
    X = np.asarray(rows_of(data.X, order))
    is_linear = type(kernel) is Linear
    gram = None if is_linear else SampleGram(kernel, X, positive_semidefinite=True)
    found = list[Side]()
    for classes in sides:
        places = tuple(slice(int(ends[m]), int(ends[m + 1])) for m in classes)
        if len(classes) == 1:
            signs, upper = np.full(len(order), -1.0), of_rest.copy()
            signs[places[0]], upper[places[0]] = 1.0, prices_of[places[0]]
            places = (slice(0, len(order)),)
        else:
            signs = np.repeat([-1.0, 1.0], [counts[m] for m in classes])
            upper = np.concatenate([prices_of[place] for place in places])
        if is_nu:
            upper /= len(upper)
            if own.nu > own.largest_nu_of(upper, signs):
                return None  # what is built then says so
        found.append(Side(places, signs, upper))
    is_squared = not is_nu and own.loss == "squared_hinge"
    total = own.nu if is_nu else 0.0
    return SharedMatrix(kernel, gram, X, order, tuple(found), is_squared, own.intercept, total)


def _is_plain(formulation: object, data: MulticlassTrainingSet) -> bool:
    """Return whether the boxes of all parts follow from the prices of the whole."""
    if type(formulation) is NuClassification:
        is_unweighted = formulation.class_weight is None and bool((data.weights == 1.0).all())
        return is_unweighted and formulation.intercept == "free"
    if type(formulation) is not SoftMargin or formulation.average_loss:
        return False
    return not isinstance(formulation.class_weight, str)  # balanced anew in every part


def _has_matrix(data: MulticlassTrainingSet, kernel: Kernel) -> bool:
    is_known = type(kernel) in (Linear, Polynomial, RBF) and kernel.is_positive_semidefinite
    is_dense = not isinstance(data.X, SinglePrecision) and data.storage == "dense"
    return is_known and is_dense and 8 * data.n_samples**2 <= KEPT_BYTES
