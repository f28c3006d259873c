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
from contextlib import suppress
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from qpsvm.audits.claims import Library, Reading
from qpsvm.audits.files import LibsvmModel
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.audits.readers.libsvm import PARAMETERS, Expansions
from qpsvm.exceptions import AuditRefusedError, ModelFileError
from qpsvm.numerics.arrays import Dense, Index, Matrix
from qpsvm.numerics.single_precision import Stored

SAME_BOUND = 1e-12
"""Relative difference of two coefficients that are printed with 16 digits and are the same."""

FEW_DIGITS = 6
"""What ``printf`` writes by default."""


def read_file(model: LibsvmModel, inputs: Inputs) -> Reading:
    """Read a model file and find the rows of X that are its support vectors."""
    inputs.require_only(PARAMETERS[model.svm_type], model.svm_type)
    samples = inputs.samples()
    weights, labels, codes = inputs.weights(samples.shape[0]), model.labels, np.zeros(0, np.intp)
    if labels is not None:  # before rows are looked for: other labels are told as such
        codes = inputs.codes(labels, weights)
    model, rows = _with_training_rows(model, samples, inputs)
    found = Expansions(
        svm_type=model.svm_type,
        model=f"{model.svm_type} model {os.path.basename(model.source)!r}",
        library=Library(model.written_by, float32_kernel=True),
        kernel=model.kernel,
        samples=samples,
        weights=weights,
        rows=rows,
        coefficients=model.coefficients.T,
        intercepts=-model.rho,
        codes=codes,
        classes=labels,
        first_is_positive=True,
        remarks=_rounded(model, samples[rows]),
    )
    parameters = dict[str, float]()
    for name in PARAMETERS[model.svm_type]:
        value = getattr(inputs, name)
        if value is None:
            value, source = _inferred(found, name, parameters.get("C", 1.0))
            if source:
                remark = f"{name} = {value!r} is inferred from the {source}"
                found = replace(found, remarks=(*found.remarks, remark))
        parameters[name] = value
    return found.trained_with(inputs.y, parameters)


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


def _inferred(found: Expansions, name: str, C: float) -> tuple[float, str]:
    """A parameter of the training as the coefficients have it, and what of them tells it."""
    n, c = float(np.sum(found.weights)), found.coefficients
    if name == "C":
        largest = _bound(c / found.weights[found.rows])
        if largest is not None:
            return largest, "largest coefficients"
    elif found.svm_type == "one_class":
        return float(np.sum(c)) / n, ""  # as its dual has it
    elif found.svm_type == "nu_svr":
        return float(np.sum(np.abs(c))) / (C * n), "sum of the coefficients"
    elif found.svm_type == "nu_svc":
        nu = _share(found)
        if nu is not None:
            return nu, "largest coefficients and their sum"
    else:
        raise AuditRefusedError(
            f"{found.model} does not store the {name} of its training; pass {name}."
        )
    raise AuditRefusedError(
        f"{found.model} does not store its {name}, and {name} cannot be inferred because no two "
        f"coefficients of one sign equal the largest; pass {name}."
    )


def _share(found: Expansions) -> float | None:
    """The nu of a nu-SVC, from the coefficients of a pair of classes in which some are equal."""
    for i, j in itertools.combinations(range(len(np.asarray(found.classes))), 2):
        own, members = found.expansion(i, j), (found.codes == i) | (found.codes == j)
        used = np.flatnonzero(own)
        largest = _bound(own[used] / found.weights[used])
        if largest is not None:
            n = float(np.sum(found.weights[members]))
            return float(np.sum(np.abs(own))) / (largest * n)
    return None


def _bound(coefficients: Dense) -> float | None:
    """The largest absolute coefficient, if at least two of one sign reach it; else None.

    (Two of different signs are equal in every model with two support vectors.)
    """
    values = np.ravel(coefficients)
    largest = float(np.max(np.abs(values), initial=0.0))
    at_bound = values[np.abs(values) >= largest * (1.0 - SAME_BOUND)]
    several = max(int(np.sum(at_bound > 0.0)), int(np.sum(at_bound < 0.0))) > 1
    return largest if several and largest > 0.0 else None


def _rounded(model: LibsvmModel, rows: Matrix) -> tuple[str, ...]:
    """Remarks about numbers that the file stores with fewer digits than the data have."""
    remarks = []
    if model.support_vectors is not None and model.total_sv:
        own, theirs = sp.csr_array(rows), sp.csr_array(model.support_vectors)
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
