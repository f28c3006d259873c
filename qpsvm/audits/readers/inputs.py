"""The caller's training data and parameters, checked against the model.

A model that does not match the data is refused: its audit would be about another program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.data.objects import as_objects, is_numeric
from qpsvm.data.samples import as_samples
from qpsvm.data.targets import as_classes, as_weights
from qpsvm.exceptions import AuditRefusedError
from qpsvm.numerics.arguments import Labels, Samples, Targets, Weights
from qpsvm.numerics.arrays import Index, Matrix, Vector
from qpsvm.numerics.single_precision import Stored


@dataclass(frozen=True, eq=False)
class Inputs:
    """The caller's training data, and parameters that model files do not store.

    Attributes
    ----------
    X, y, sample_weight
        As the model's ``fit`` got them.
    C, nu, epsilon : float or None
        For model files only.
    """

    X: Samples
    y: Targets | None = None
    sample_weight: Weights | None = None
    C: float | None = None
    nu: float | None = None
    epsilon: float | None = None

    def samples(self, n_features: int | None = None, *, objects: bool = False) -> Stored:
        """Return X as a float64 array or CSR array, with as many columns as the model has.

        Samples that are no numbers are taken, too, where the model's kernel is a function
        (``objects``).

        Raises
        ------
        AuditRefusedError
            Another number of columns.
        InvalidDataError
            As ``as_samples`` and ``as_objects``.
        """
        samples = (as_objects if objects and not is_numeric(self.X) else as_samples)(self.X)
        columns = samples.shape[1] if samples.ndim == 2 else 1
        if n_features is not None and columns != n_features:
            raise AuditRefusedError(
                f"The model was fitted on {n_features} columns, X has {columns}; pass the training "
                "data."
            )
        return samples

    def weights(self, n: int) -> Vector:
        """Weights of the samples, shape (n,); ones by default."""
        return as_weights(self.sample_weight, n)

    def codes(self, classes: Labels, weights: Vector) -> Index:
        """Return each sample's class as an index into the model's own list of classes.

        Raises
        ------
        AuditRefusedError
            y holds other labels than the model knows, or another number of them; or no sample of
            a class has a weight above zero.
        """
        codes, found = as_classes(self.y)
        n = len(weights)
        if len(codes) != n:
            raise AuditRefusedError(
                f"X has {n} rows and y has {len(codes)} labels; pass the training data."
            )
        own, given = np.asarray(classes).tolist(), found.tolist()
        if set(own) != set(given):
            raise AuditRefusedError(
                f"The model was fitted on the classes {_listed(own)}, y has {_listed(given)}; pass "
                "the labels that were used to fit it."
            )
        codes = np.array([own.index(label) for label in given], dtype=np.intp)[codes]
        require_weights(codes, classes, weights)
        return codes

    def rows(self, rows: Index) -> Inputs:
        """The same inputs for some of the samples."""
        from sklearn.utils import _safe_indexing

        data = {name: getattr(self, name) for name in ("X", "y", "sample_weight")}
        some: dict[str, Any] = {
            name: None if values is None else _safe_indexing(values, rows)
            for name, values in data.items()
        }
        return replace(self, **some)

    def in_pipeline(self, pipeline: Any) -> Inputs:
        """The inputs as the last step of a pipeline gets them.

        Raises
        ------
        AuditRefusedError
            The steps before cannot transform them.
        """
        before = pipeline[:-1]
        if not len(before):
            return self
        try:
            return replace(self, X=before.transform(self.X))
        except (ValueError, TypeError, AttributeError) as error:
            raise AuditRefusedError(
                f"The pipeline cannot transform X ({error}); pass the training data as they were "
                "given to its fit."
            ) from error

    def require_only(self, names: tuple[str, ...], source: str) -> None:
        """Refuse parameters that the model itself stores or its program does not have.

        Raises
        ------
        AuditRefusedError
            C, nu or epsilon was given and is not among the names.
        """
        for name in ("C", "nu", "epsilon"):
            if name not in names and getattr(self, name) is not None:
                raise AuditRefusedError(
                    f"{name} was given, but the model ({source}) has its own {name} or none; leave "
                    f"{name} out: it is only for model files that do not store it."
                )

    def required(self, name: str, source: str) -> float:
        """Return C, nu or epsilon; refuse if the caller did not give it.

        Raises
        ------
        AuditRefusedError
            It was not given.
        """
        value: float | None = getattr(self, name)
        if value is None:
            raise AuditRefusedError(
                f"{source} does not store the {name} of its training; pass {name}."
            )
        return value


def require_weights(codes: Index, classes: Labels, weights: Vector) -> None:
    """Refuse weights that leave a class without samples.

    Raises
    ------
    AuditRefusedError
        Every sample of a class has weight 0.
    """
    missing = np.setdiff1d(np.arange(len(classes)), codes[weights > 0.0])
    if missing.size:
        raise AuditRefusedError(
            f"Every sample of class {np.asarray(classes).tolist()[missing[0]]!r} has weight 0, "
            "which leaves no program that tells this class apart (LIBSVM and LIBLINEAR drop it "
            "and may predict wrong labels); fit and audit the model without these samples."
        )


def require_same_rows(owner: str, vectors: Matrix, samples: Stored, rows: Index) -> None:
    """Refuse a model whose support vectors are not exactly the given rows of X.

    Raises
    ------
    AuditRefusedError
        One of them is another vector.
    """
    if rows.size and not 0 <= int(rows.min()) <= int(rows.max()) < samples.shape[0]:
        raise AuditRefusedError(
            f"{owner} has a support vector in row {int(rows.max())}, X has {samples.shape[0]} "
            "rows; pass the training data."
        )
    chosen = samples[rows]
    if vectors.shape != chosen.shape:
        raise AuditRefusedError(
            f"{owner} has support vectors of shape {vectors.shape}, the same rows of X have "
            f"{chosen.shape}; pass the training data."
        )
    if sp.issparse(vectors) or sp.issparse(chosen):
        apart = abs(sp.csr_array(vectors) - sp.csr_array(chosen)).max(axis=1).toarray().ravel()
    else:
        apart = np.max(np.abs(vectors - chosen), axis=1, initial=0.0)
    differs = np.flatnonzero(~(apart == 0.0))
    if differs.size:
        first = int(differs[0])
        raise AuditRefusedError(
            f"Row {int(rows[first])} of X is not the support vector of that row (they differ by "
            f"{apart[first]:.3g}, {differs.size} of {len(rows)} rows do). {owner} needs X and "
            "sample_weight as they were fitted: scaled and in the same order."
        )


def _listed(labels: Sequence[object]) -> str:
    shown = ", ".join(repr(label) for label in labels[:6])
    return shown + (", ..." if len(labels) > 6 else "")
