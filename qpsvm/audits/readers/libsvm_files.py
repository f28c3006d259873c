"""Reader of LIBSVM's and ThunderSVM's model files.

These files contain no training parameters except those of the kernel. Parameters that the caller
does not give are inferred from the coefficients if possible:

==================  ===========================================================================
C (C-SVC, SVR)      the largest ``|c_i| / u_i``, if several samples of one side have exactly that
nu (nu-SVC)         ``sum|c_i|`` over n times the largest, likewise
nu (nu-SVR)         ``sum|c_i| / (C n)``
nu (one-class)      ``sum c_i / n``
==================  ===========================================================================

with the coefficients c of ``readers.libsvm``, sample weights u and their sum n. (A model that is
optimal for some C is also optimal for C equal to its largest alpha; the converse does not hold.)
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from qpsvm.audits.claims import Library, Reading
from qpsvm.audits.files import LibsvmModel
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.audits.readers.libsvm import Expansions
from qpsvm.exceptions import AuditRefusedError, ModelFileError
from qpsvm.formulations import (
    EpsilonRegression,
    NuClassification,
    NuRegression,
    OneClass,
    SoftMargin,
)
from qpsvm.numerics.arrays import Dense, Index
from qpsvm.numerics.single_precision import Stored

TAKES: Mapping[str, tuple[str, ...]] = {
    "c_svc": ("C",),
    "nu_svc": ("nu",),
    "one_class": ("nu",),
    "epsilon_svr": ("C", "epsilon"),
    "nu_svr": ("C", "nu"),
}
"""Parameters that a file of each kind does not hold."""

SAME_BOUND = 1e-12
"""Relative difference of two coefficients that are printed with 16 digits and are the same."""

FEW_DIGITS = 6
"""What ``printf`` writes by default."""


def read(model: LibsvmModel, inputs: Inputs) -> Reading:
    """Read a model file and find the rows of X that are its support vectors."""
    inputs.require_only(TAKES[model.svm_type], model.svm_type)
    samples = inputs.samples()
    labels = np.asarray(model.labels)
    # before rows are looked for: other labels are told as such
    codes = None if model.labels is None else inputs.codes(labels, inputs.weights(samples.shape[0]))
    model, rows = _with_training_rows(model, samples, inputs)
    found = Expansions(
        model=f"{model.svm_type} model {os.path.basename(model.source)!r}",
        library=Library(model.written_by, float32_kernel=True),
        kernel=model.kernel,
        samples=samples,
        weights=inputs.weights(samples.shape[0]),
        rows=rows,
        coefficients=model.coefficients.T,
        intercepts=-model.rho,
    )
    found = replace(found, remarks=_rounded(model, found))
    n, kind = float(np.sum(found.weights)), model.svm_type
    if kind == "one_class":
        nu = float(np.sum(found.coefficients)) / n if inputs.nu is None else inputs.nu
        return found.machine(OneClass(nu), factor=nu * n)
    if kind == "nu_svc" and codes is not None:
        nu, found = _share(inputs, found, codes, len(labels))
        return found.pairs(NuClassification(nu), codes, labels)
    C, found = _price(inputs, found)
    if kind == "c_svc" and codes is not None:
        return found.pairs(SoftMargin(C), codes, labels)
    if kind == "nu_svr":
        share = inputs.nu
        if share is None:
            share = float(np.sum(np.abs(found.coefficients))) / (C * n)
            found = _inferred(found, "nu", share, "sum of the coefficients")
        return found.machine(NuRegression(share, C * n), inputs.y)
    epsilon = inputs.required("epsilon", found.model)
    return found.machine(EpsilonRegression(C, epsilon), inputs.y)


def _with_training_rows(
    model: LibsvmModel, samples: Stored, inputs: Inputs
) -> tuple[LibsvmModel, Index]:
    """The model with its indices counted as in X, and the rows of X that its vectors are."""
    try:
        return model, model.training_rows(samples, inputs.y)
    except ModelFileError:
        if model.support_vectors is not None and not model.zero_based:
            other = model.counted_from_zero()
            with suppress(ModelFileError):
                return other, other.training_rows(samples, inputs.y)
        raise


# --- what the file does not say ---------------------------------------------------------------


def _price(inputs: Inputs, found: Expansions) -> tuple[float, Expansions]:
    """C as given, or inferred from the coefficients with a remark."""
    if inputs.C is not None:
        return inputs.C, found
    C = _bound(found.coefficients / found.weights[found.rows])
    if C is None:
        raise AuditRefusedError(
            f"{found.model} does not store its C, and C cannot be inferred because no two "
            "coefficients of one sign equal the largest; pass C."
        )
    return C, _inferred(found, "C", C, "largest coefficients")


def _share(inputs: Inputs, found: Expansions, codes: Index, k: int) -> tuple[float, Expansions]:
    """The nu of a nu-SVC as given, or inferred from the coefficients with a remark."""
    if inputs.nu is not None:
        return inputs.nu, found
    of_rows = codes[found.rows]
    for i, j in itertools.combinations(range(k), 2):
        own = np.where(of_rows == i, found.coefficients[j - 1], found.coefficients[i])
        members = (of_rows == i) | (of_rows == j)
        largest = _bound((own / found.weights[found.rows])[members])
        if largest is not None:
            n = float(np.sum(found.weights[(codes == i) | (codes == j)]))
            nu = float(np.sum(np.abs(own[members]))) / (largest * n)
            return nu, _inferred(found, "nu", nu, "largest coefficients and their sum")
    raise AuditRefusedError(
        f"{found.model} does not store its nu, and nu cannot be inferred because no two "
        "coefficients of one sign equal the largest; pass nu."
    )


def _inferred(found: Expansions, name: str, value: float, source: str) -> Expansions:
    remark = f"{name} = {value!r} is inferred from the {source}"
    return replace(found, remarks=(*found.remarks, remark))


def _bound(coefficients: Dense) -> float | None:
    """The largest absolute coefficient, if at least two of one sign reach it; else None.

    (Two of different signs are equal in every model with two support vectors.)
    """
    values = np.ravel(coefficients)
    largest = float(np.max(np.abs(values), initial=0.0))
    at_bound = values[np.abs(values) >= largest * (1.0 - SAME_BOUND)]
    several = max(int(np.sum(at_bound > 0.0)), int(np.sum(at_bound < 0.0))) > 1
    return largest if several and largest > 0.0 else None


def _rounded(model: LibsvmModel, found: Expansions) -> tuple[str, ...]:
    """Remarks about numbers that the file stores with fewer digits than the data have."""
    remarks = []
    if model.support_vectors is not None and model.total_sv:
        own = sp.csr_array(found.samples[found.rows])
        theirs = sp.csr_array(model.support_vectors)
        theirs.resize(own.shape)
        if abs(own - theirs).max() > 0.0:
            remarks.append(
                f"the file stores its support vectors with {model.sv_digits} digits; the audit "
                "uses the matching rows of X"
            )
    if model.parameter_digits <= FEW_DIGITS:
        remarks.append(
            f"the file stores gamma, coef0 and rho with {FEW_DIGITS} digits; the audit uses them "
            "as they are"
        )
    return tuple(remarks)
