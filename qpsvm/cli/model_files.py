"""Model files of estimators, as the commands write and read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qpsvm.exceptions import ModelFileError


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted estimator with the scaling of its samples.

    Attributes
    ----------
    estimator : estimator of qpsvm.estimators, or SavedModel
    scaling : Scaling or None
        Applied to samples before the estimator sees them.
    """

    estimator: Any
    scaling: Any = None

    def scaled(self, X: Any) -> Any:
        """Samples as the estimator takes them."""
        return X if self.scaling is None else self.scaling(X)


def require_savable(estimator: Any) -> None:
    """Refuse to fit what cannot be saved afterwards.

    Raises
    ------
    ModelFileError
        This version has no model files of estimators.
    """
    if not hasattr(estimator, "save"):
        raise ModelFileError(
            f"This version of qpsvm has no model files for {type(estimator).__name__}; leave out "
            "--model, or use 'qpsvm solve --model' for two classes."
        )


def save(path: Path, fitted: FittedModel) -> None:
    """Write a fitted estimator.

    Raises
    ------
    ModelFileError
        What cannot be written as plain data; a path that cannot be written.
    """
    require_savable(fitted.estimator)
    options = {} if fitted.scaling is None else {"scaling": fitted.scaling}
    fitted.estimator.save(path, **options)


def load(path: Path) -> FittedModel:
    """Read a fitted estimator.

    Raises
    ------
    ModelFileError
        No model file, or this version cannot read those of estimators.
    """
    import qpsvm
    from qpsvm import models

    read = getattr(qpsvm, "load", None)
    if read is None:
        raise ModelFileError(
            f"This version of qpsvm cannot read estimators from {str(path)!r}; 'qpsvm verify' reads "
            "what 'qpsvm solve' has written."
        )
    estimator = read(path)
    if isinstance(estimator, models.SavedModel):
        return FittedModel(estimator)  # scales its samples itself
    return FittedModel(estimator, models.load(path).scaling)
