"""Reader of scikit-learn's ``Pipeline``: apply the transformers, read the last step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from qpsvm.audits.claims import Reading
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.exceptions import AuditRefusedError
from qpsvm.numerics.arguments import Samples


def pipeline(
    model: Estimator, inputs: Inputs, read: Callable[[Estimator, Inputs], Reading]
) -> Reading:
    """Read the last step of a pipeline, with the samples transformed by the steps before."""
    if not model.steps:
        raise AuditRefusedError("The pipeline has no steps; pass one that ends in a fitted model.")
    X = transformed(model, inputs.X)
    reading = read(model.steps[-1][1], replace(inputs, X=X))
    return replace(reading, model=f"{reading.model} at the end of a pipeline")


def transformed(model: Estimator, X: Samples) -> Samples:
    """The samples as the last step of a pipeline gets them.

    Raises
    ------
    AuditRefusedError
        The steps before cannot transform them.
    """
    before = model[:-1]
    if not len(before):
        return X
    try:
        changed: Samples = before.transform(X)
    except (ValueError, TypeError, AttributeError) as error:
        raise AuditRefusedError(
            f"The pipeline cannot transform X ({error}); pass the training data as they were "
            "given to its fit."
        ) from error
    return changed
