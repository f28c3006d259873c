"""Checks of what an audit is given: the training data, and the attributes of the model.

A model that does not match the data is refused: its audit would be about another program. And
attributes can be set to anything, while the libraries' own predictions read past the end of an
array that is too short. So readers access every attribute through the functions here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.data.objects import as_objects, is_numeric
from qpsvm.data.samples import as_samples
from qpsvm.data.targets import as_classes, as_weights
from qpsvm.exceptions import AuditRefusedError
from qpsvm.numerics.arguments import Labels, Samples, Targets, Weights, is_real_number
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector, stored
from qpsvm.numerics.conversion import require_sound
from qpsvm.numerics.rows import largest_in_rows
from qpsvm.numerics.single_precision import Stored

Estimator: TypeAlias = Any
"""A fitted model of another library; their attributes have no types to rely on."""

Shape: TypeAlias = tuple[int | None, ...]
"""The shape that an array must have; None for any number."""


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
    chosen = samples[rows]
    if vectors.shape != chosen.shape:
        raise AuditRefusedError(
            f"{owner} has support vectors of shape {vectors.shape}, the same rows of X have "
            f"{chosen.shape}; pass the training data."
        )
    delta = largest_in_rows(sp.csr_array(vectors) - sp.csr_array(chosen))
    differs = np.flatnonzero(~(delta == 0.0))
    if differs.size:
        first = int(differs[0])
        raise AuditRefusedError(
            f"Row {int(rows[first])} of X is not the support vector of that row (they differ by "
            f"{delta[first]:.3g}, {differs.size} of {len(rows)} rows do). {owner} needs X and "
            "sample_weight as they were fitted: scaled and in the same order."
        )


def _listed(labels: Sequence[object]) -> str:
    shown = ", ".join(repr(label) for label in labels[:6])
    return shown + (", ..." if len(labels) > 6 else "")


# --- attributes of a fitted model -------------------------------------------------------------


def refuse(model: Estimator, problem: str) -> NoReturn:
    """Raise the error about an attribute of a model.

    Raises
    ------
    AuditRefusedError
        Always.
    """
    raise AuditRefusedError(
        f"This {type(model).__name__} {problem}; it was changed after the fit, or comes from "
        "elsewhere: fit it again."
    )


def attribute(model: Estimator, name: str) -> Any:
    """Return the attribute of that name; refuse a model that lacks it.

    Raises
    ------
    AuditRefusedError
        There is none.
    """
    try:
        return getattr(model, name)
    except AttributeError as error:
        refuse(model, f"has no {name} ({error})")


def number(model: Estimator, name: str) -> float:
    """Return an attribute that must be one finite real number.

    Raises
    ------
    AuditRefusedError
        It is missing or something else.
    """
    array = numbers(model, name)
    if array.size != 1:
        refuse(model, f"has {name} of shape {array.shape}, which must be one finite number")
    return float(array.reshape(()))


def numbers(
    model: Estimator,
    name: str,
    shape: Shape | None = None,
    why: str = "the rest of it",
    *,
    value: Any = None,
) -> Dense:
    """Return an attribute that must be an array of finite real numbers, as float64.

    Nothing is lost: no complex part, mask or text.

    Parameters
    ----------
    model : estimator
    name : str
    shape : tuple, optional
        None for any.
    why : str
        What of the model needs that shape.
    value : object, optional
        What takes the place of the attribute.

    Raises
    ------
    AuditRefusedError
        It is missing, of another kind or shape, or holds NaN or infinite numbers.
    """
    if value is None:
        value = attribute(model, name)
    if np.ma.is_masked(value):
        refuse(model, f"has a masked array as {name}, with hidden entries")
    try:
        array = value.toarray() if sp.issparse(value) else np.asarray(value)
        is_real = map(is_real_number, array.flat) if array.dtype.kind == "O" else ()
        if array.dtype.kind not in "biufO" or not all(is_real):
            raise TypeError(f"its dtype is {array.dtype}")
        array = stored(array, name, TypeError)
    except (TypeError, ValueError, OverflowError) as error:
        refuse(model, f"has {name} = {_shown(value)}, which must hold real numbers ({error})")
    if not np.isfinite(array).all():
        raise AuditRefusedError(
            f"{name} of this {type(model).__name__} holds NaN or infinite numbers; it predicts "
            "nothing: fit it again."
        )
    if shape is not None:
        require_shape(model, name, array, shape, why)
    return array


def matrix(model: Estimator, name: str) -> Matrix:
    """Return an attribute that must be a finite real matrix, as a float64 array or CSR array.

    Raises
    ------
    AuditRefusedError
        It is missing, of another kind or number of dimensions, or holds NaN or infinite numbers.
    """
    value = attribute(model, name)
    if not sp.issparse(value):
        return numbers(model, name, (None, None), value=value)
    try:
        require_sound(value)
        rows = sp.csr_array(value)
    except (TypeError, ValueError, IndexError) as error:
        refuse(model, f"has no matrix as {name} ({error})")
    require_shape(model, name, rows, (None, None), "the rest of it")
    entries = numbers(model, name, value=rows.data)
    return sp.csr_array((entries, rows.indices, rows.indptr), shape=rows.shape)


def whole_numbers(model: Estimator, name: str) -> Index:
    """Return an attribute that must be a vector of integers.

    Raises
    ------
    AuditRefusedError
        It is missing or something else.
    """
    value = attribute(model, name)
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "iu" or np.ma.is_masked(value):
        refuse(model, f"has {name} = {_shown(value)}, which must be a vector of integers")
    return array.astype(np.intp)


def classes_of(model: Estimator) -> Labels:
    """Return ``classes_``, which must be a vector of at least two distinct labels.

    Raises
    ------
    AuditRefusedError
        It is missing or something else.
    """
    value = attribute(model, "classes_")
    array = np.asarray(value)
    try:
        different = len(set(array.tolist())) if array.ndim == 1 else 0
    except TypeError:
        different = 0
    if different < 2 or different != len(array) or np.ma.is_masked(value):
        what = "which must be two or more labels, and must all be different"
        refuse(model, f"has classes_ = {_shown(value)}, {what}")
    return array


def require_shape(model: Estimator, name: str, array: Matrix, shape: Shape, why: str) -> None:
    """Refuse an array whose shape does not fit the rest of the model.

    Raises
    ------
    AuditRefusedError
        Another shape.
    """
    fits = array.ndim == len(shape) and all(
        n in (None, own) for n, own in zip(shape, array.shape, strict=True)
    )
    if not fits:
        needed = str(shape).replace("None", "any")
        refuse(model, f"has {name} of shape {array.shape}, {why} needs {needed}")


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
