"""Loading of model files: estimators, or models of formulations."""

from __future__ import annotations

import os
from typing import TypeAlias

from qpsvm.estimators.base import QPEstimator
from qpsvm.estimators.classification import SVC, NuSVC
from qpsvm.estimators.linear import LinearSVC, LinearSVR
from qpsvm.estimators.novelty import SVDD, OneClassSVM
from qpsvm.estimators.persistent import restore
from qpsvm.estimators.ranking import SVMRanker
from qpsvm.estimators.regression import SVR, NuSVR, QuantileSVR
from qpsvm.exceptions import ModelFileError
from qpsvm.models import SavedModel, files
from qpsvm.models.record import MODEL
from qpsvm.numerics.arguments import explains_calls

ESTIMATORS: dict[str, type[QPEstimator]] = {
    kind.__name__: kind
    for kind in (
        SVC,
        NuSVC,
        LinearSVC,
        LinearSVR,
        SVDD,
        OneClassSVM,
        SVMRanker,
        SVR,
        NuSVR,
        QuantileSVR,
    )
}
"""Estimators that a file can name."""

Loaded: TypeAlias = QPEstimator | SavedModel


@explains_calls
def load(path: str | os.PathLike[str]) -> Loaded:
    """Read a file that ``estimator.save`` or ``qpsvm.models.save`` wrote, trusting nothing in it.

    Parameters
    ----------
    path : path
        The file; it is not executed, and a damaged one is refused.

    Returns
    -------
    estimator or SavedModel
        A fitted estimator of the class that was saved, which predicts bit for bit as it did; or
        the model of a formulation. What needs the training data (``certificate_``, ``report()``)
        an estimator has again after ``estimator.restore(X, y)``.

    Raises
    ------
    ModelFileError
        Not a model file, damaged, changed, of another version, or of an unknown estimator.

    Examples
    --------
    >>> import qpsvm, tempfile
    >>> from qpsvm.estimators import SVC
    >>> machine = SVC(C=10.0).fit([[0.0], [1.0], [3.0]], ["a", "a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     machine.save(f"{folder}/model.npz")
    ...     loaded = qpsvm.load(f"{folder}/model.npz")
    >>> loaded
    SVC(C=10.0)
    >>> loaded.predict([[4.0]])
    array(['b'], dtype='<U1')
    """
    arrays = MODEL.read(path)
    model = files.model_in(path, arrays)
    if model.estimator is None:
        return model
    name = model.estimator.get("name")
    kind = ESTIMATORS.get(name) if isinstance(name, str) else None
    try:
        if kind is None:
            raise ModelFileError(
                f"the estimator {name!r} is unknown; known are {', '.join(ESTIMATORS)}."
            )
        estimator = kind.__new__(kind)
        restore(estimator, arrays, model)
    except ModelFileError as error:
        raise files.unusable(path, error) from error
    return estimator
