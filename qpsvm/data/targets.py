"""Conversion and checks of labels, targets, weights and groups: one value per sample.

Every refusal names the argument, the row, the value seen and the remedy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from qpsvm.data.objects import is_missing, reads_as_number, require_unmasked
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arguments import Labels, Targets, Weights
from qpsvm.numerics.arrays import Index, Mask, Vector, freeze, is_sparse
from qpsvm.numerics.conversion import EXACT, exact_array, first_rounded


@dataclass(frozen=True, eq=False)
class CheckedLabels:
    """Class labels that are converted to codes and sorted classes, and need no second check.

    Attributes
    ----------
    codes : array of int of shape (n,)
    classes : array of shape (k,)
    """

    codes: Index
    classes: Labels


def as_signs(
    y: Targets | CheckedLabels | None, sample_weight: Weights | None = None
) -> tuple[Vector, Labels]:
    """Convert two kinds of labels to -1 and +1; return also the sorted labels (negative first).

    Labels of samples of weight zero do not count, as in ``as_classes``.

    Raises
    ------
    InvalidDataError
        As ``as_classes``; more than two classes.
    """
    codes, classes = as_classes(y, sample_weight)
    if len(classes) > 2:
        shown = ", ".join(repr(_plain(c)) for c in classes[:6]) + ", ..." * (len(classes) > 6)
        hint = "select two classes, train one against the rest (OneVsRest) or in pairs (OneVsOne), "
        hint += "or all at once (CrammerSinger)"
        if classes.dtype.kind == "f" and (classes != np.round(classes)).any():
            hint = "these look like regression targets, not classes; use EpsilonRegression"
        raise InvalidDataError(
            f"y has {len(classes)} classes ({shown}); this formulation takes two: {hint}."
        )
    return freeze(np.where(codes == 1, 1.0, -1.0)), classes


def as_classes(
    y: Targets | CheckedLabels | None, sample_weight: Weights | None = None
) -> tuple[Index, Labels]:
    """Convert labels to indices into the sorted distinct labels; return both.

    A class whose samples all have weight zero is a class without samples: it is not among the
    labels, and its samples have the index 0.

    Raises
    ------
    InvalidDataError
        Not one-dimensional, empty, missing values, mixed kinds, or only one class.
    """
    if isinstance(y, CheckedLabels):
        return y.codes, y.classes
    classes, index = distinct(as_labels(y))
    has_samples = np.bincount(index[_counts(sample_weight, len(index))], minlength=len(classes)) > 0
    if not has_samples.all() and np.count_nonzero(has_samples) > 1:
        position = np.where(has_samples, np.cumsum(has_samples) - 1, 0)
        classes, index = classes[has_samples], position[index]
    elif not has_samples.all() and has_samples.any():
        label = _plain(classes[np.argmin(has_samples)])
        raise InvalidDataError(
            f"Every sample of class {label!r} has weight 0; a classifier needs samples of two "
            "classes."
        )
    if len(classes) == 1:
        raise InvalidDataError(
            f"y has only one class, {_plain(classes[0])!r}; a classifier needs samples of two."
        )
    return np.asarray(freeze(index)), freeze(np.array(classes))


def distinct(labels: Labels, name: str = "y") -> tuple[Labels, Index]:
    """Sort the distinct labels; return them, and the number of every label among them.

    Raises
    ------
    InvalidDataError
        Labels that cannot be sorted.
    """
    if labels.dtype.kind in "biu" and labels.size:
        first, last = labels.min(), labels.max()
        is_last = labels == last
        if first != last and (is_last | (labels == first)).all():  # two kinds: no need to sort
            return np.array([first, last], dtype=labels.dtype), is_last.astype(np.intp).ravel()
    try:
        classes, index = np.unique(labels, return_inverse=True)
    except TypeError as error:
        require_one_kind(labels.tolist(), name)
        raise InvalidDataError(
            f"{name} holds labels that cannot be sorted ({error}); pass integers or texts."
        ) from error
    return classes, np.asarray(index, dtype=np.intp).ravel()


def _counts(sample_weight: Weights | None, n: int) -> Mask:
    """Return which samples have weight; all of them where the weights are not valid numbers."""
    try:
        weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.full(n, True)
    return weights != 0.0 if weights.shape == (n,) else np.full(n, True)


def as_labels(y: Targets | None) -> Labels:
    """Convert labels of any kind to an array of shape (n,), of one class or many.

    Raises
    ------
    InvalidDataError
        Not one-dimensional, empty, missing values, complex numbers, or mixed kinds in a list.
    """
    labels = _as_column(y, "label")
    _require_present(labels, "y", "labels")
    if np.issubdtype(labels.dtype, np.complexfloating):
        raise InvalidDataError("y holds complex numbers; pass two different labels.")
    return labels


def as_targets(y: Targets | None) -> Vector:
    """Convert regression targets to float64, shape (n,).

    Raises
    ------
    InvalidDataError
        Not one-dimensional, empty, not numeric, NaN or infinite (with the row); integers that
        float64 would round.
    """
    raw = _as_column(y, "target")
    if raw.dtype.kind not in "biuf":
        try:
            if raw.dtype.kind != "O" or any(isinstance(v, str | bytes) for v in raw.tolist()):
                raise TypeError(raw.dtype)
            raw = raw.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidDataError(f"y must hold numbers to predict; {_wrong(raw)}.") from error
    values = np.array(raw, dtype=np.float64)
    require_exact_vector(values, y, "y")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InvalidDataError(
            f"y[{bad[0]}] is {values[bad[0]]} ({bad.size} such targets); drop those rows."
        )
    return np.asarray(freeze(values))


def squared_spread(targets: Vector, weights: Vector) -> float:
    """Weighted sum of the squared deviations from the mean; exactly 0 for equal targets.

    Examples
    --------
    >>> targets = np.full(3, 0.1)
    >>> squared_spread(targets, np.ones(3)), bool(np.mean(targets) == 0.1)
    (0.0, False)
    """
    centre = np.average(targets, weights=weights)
    centre += np.average(targets - centre, weights=weights)  # what rounding missed
    return float(weights @ (targets - centre) ** 2)


def _wrong(targets: Labels) -> str:
    """Describe the first target that is not a number, with the remedy."""
    values = targets.tolist()
    row = next((i for i, value in enumerate(values) if not reads_as_number(value)), 0)
    value = values[row]
    shown = f"y[{row}] is {value!r}"
    if reads_as_number(value):
        return f"{shown}, a text: pass np.asarray(y, dtype=float)"
    if isinstance(value, str) and reads_as_number(value.replace(",", ".")):
        return f"{shown}: with decimal commas, read the file with decimal=',' (--decimal ,)"
    return f"{shown}: for classes use a classifier, such as SVC or SoftMargin"


def as_weights(
    sample_weight: Weights | None, n_samples: int, *, may_vanish: bool = False
) -> Vector:
    """Convert sample weights to float64, shape (n,); ones if None.

    Raises
    ------
    InvalidDataError
        Another length, not numeric, negative, not finite, or all zero unless they may be.
    """
    if sample_weight is None:
        return np.asarray(freeze(np.ones(n_samples)))
    require_unmasked(sample_weight, "sample_weight")
    raw = _as_array(sample_weight, "sample_weight")
    if raw.dtype.kind not in "biuf":
        raise InvalidDataError(
            f"sample_weight must hold numbers, its dtype is {raw.dtype}; pass one number per row."
        )
    weights = np.array(raw, dtype=np.float64).reshape(-1) if raw.ndim else raw.astype(np.float64)
    if weights.shape != (n_samples,) or (raw.ndim > 1 and 1 not in raw.shape):
        raise InvalidDataError(
            f"sample_weight has shape {raw.shape} for {n_samples} rows of X; pass one weight "
            "per row."
        )
    require_exact_vector(weights, sample_weight, "sample_weight")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if bad.size:
        raise InvalidDataError(
            f"sample_weight[{bad[0]}] is {weights[bad[0]]} ({bad.size} such weights); weights are "
            "finite and at least 0."
        )
    if not (may_vanish or weights.any()):
        raise InvalidDataError(
            "sample_weight is zero for every row; nothing would be left to learn."
        )
    return np.asarray(freeze(weights))


def as_groups(groups: Targets | None, n_samples: int) -> Index:
    """Convert group labels to numbers from 0, shape (n,); a single group if None.

    Raises
    ------
    InvalidDataError
        Another length, labels that cannot be sorted, or integers beside floats that would round
        them.
    """
    if groups is None:
        return np.zeros(n_samples, dtype=np.intp)
    labels = _one_each(groups, n_samples, "groups", "group")
    _require_present(labels, "groups", "groups")
    return distinct(labels, "groups")[1]


def one_per_row(y: Targets | None, decision: Vector) -> Labels:
    """Convert y to a vector with one entry per decision value.

    Raises
    ------
    InvalidDataError
        Another shape.
    """
    return _one_each(y, len(decision), "y", "label")


def _one_each(values: object, n: int, name: str, what: str) -> Labels:
    """Convert values to a vector with one entry for each of n rows."""
    labels = exact_labels(values, name)
    if labels.shape not in ((n,), (n, 1)):
        raise InvalidDataError(
            f"{name} has shape {labels.shape} for {n} rows of X; pass one {what} a row."
        )
    return labels.ravel()


def _as_column(y: Targets | None, what: str) -> Labels:
    """Convert a vector, or a matrix with a single row or column, to one dimension."""
    if y is None:
        raise InvalidDataError(f"y is missing; pass one {what} per sample.")
    column = y.toarray() if is_sparse(y) else exact_labels(y, "y")
    if column.ndim == 2 and 1 in column.shape:
        column = column.ravel()
    if column.ndim != 1:
        raise InvalidDataError(
            f"y must be one-dimensional, got shape {column.shape}; pass X first and y second, with "
            f"one {what} per sample{_of_columns(column)}."
        )
    if column.size == 0:
        raise InvalidDataError(f"y is empty; pass one {what} per sample.")
    return column


def _of_columns(table: Labels) -> str:
    """Hint for a table with one column per class; empty for other tables."""
    is_one_hot = table.ndim == 2 and table.dtype.kind in "biuf" and np.isin(table, (0, 1)).all()
    return " (of one column per class: y.argmax(axis=1))" if is_one_hot else ""


def require_exact_vector(values: Vector, original: object, name: str) -> None:
    """Refuse integers that float64 would round; ``values`` are the floats.

    Raises
    ------
    InvalidDataError
        With place and value of the first.
    """
    rounded = first_rounded(original, values)
    if rounded is not None:
        row = max(rounded.place)  # of a sparse matrix with one column, or one row
        raise InvalidDataError(f"{name}[{row}] is {rounded.value}, {rounded.problem}")


def exact_labels(labels: object, name: str) -> Labels:
    """Convert labels to an array without rounding or merging any of them.

    That is integers that would become floats, and texts that end with a NUL.

    Raises
    ------
    InvalidDataError
        Integers beside floats that would round them; texts beside labels of another kind, which
        would become texts; hidden entries of a masked array.
    """
    require_unmasked(labels, name)
    array = _as_array(labels, name)
    if array.dtype.kind in "US" and not hasattr(labels, "dtype"):
        texts = exact_array(labels)
        require_one_kind(texts.ravel().tolist(), name)
        return array if bool((array == texts).all()) else texts
    if array.dtype.kind != "f" or array.dtype.itemsize > 8 or not (np.abs(array) >= EXACT).any():
        return array
    exact = exact_array(labels)
    if all(isinstance(label, int | np.integer) for label in exact.flat):
        return exact
    require_exact_vector(array, labels, name)
    return array


def _as_array(values: object, name: str) -> Labels:
    try:
        return np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise InvalidDataError(
            f"{name} is no array with one entry per sample ({error}); pass one per sample."
        ) from error


def same_labels(some: Labels, others: Labels) -> Mask:
    """Compare labels one by one; integers with floats exactly, as Python does."""
    kinds = some.dtype.kind + others.dtype.kind
    if kinds in ("if", "uf", "fi", "fu") and (np.abs(some) >= EXACT).any():
        some = some.astype(object)
    return np.asarray(some == others)


def require_comparable(labels: Labels, classes: Labels) -> None:
    """Refuse texts where the classes are numbers, and numbers where they are texts.

    Raises
    ------
    InvalidDataError
    """
    if not (len(labels) and len(classes)):
        return
    label, known = _plain(labels[0]), _plain(classes[0])
    texts, numbers = str | bytes, int | float
    for some, other, words in (
        (texts, numbers, "texts, such as {!r}, and the classes are numbers, such as {!r}"),
        (numbers, texts, "numbers, such as {!r}, and the classes are texts, such as {!r}"),
    ):
        if isinstance(label, some) and isinstance(known, other):
            shown = words.format(label, known)
            raise InvalidDataError(f"y holds {shown}; convert y to the kind of the classes.")


def require_one_kind(labels: Iterable[object], name: str = "y") -> None:
    """Raise InvalidDataError if labels mix types, such as numbers and text."""
    kinds = sorted({type(_plain(label)).__name__ for label in labels})
    if len(kinds) > 1:
        raise InvalidDataError(
            f"{name} mixes labels of kinds {', '.join(kinds)}; use one kind for all of them."
        )


def _require_present(labels: Labels, name: str, what: str) -> None:
    """Refuse missing labels, without a loop where the dtype allows."""
    if labels.dtype.kind in "biu":
        return
    missing = np.isnan(labels) if labels.dtype.kind == "f" else None
    if missing is None:  # pandas' NA may have become text
        missing = np.array([is_missing(own) or str(own) == "<NA>" for own in labels.tolist()])
    rows = np.flatnonzero(missing)
    if rows.size:
        raise InvalidDataError(
            f"{name}[{rows[0]}] is {_plain(labels[rows[0]])!r} ({rows.size} missing {what}); drop "
            "those rows."
        )


def _plain(label: object) -> object:
    return label.item() if isinstance(label, np.generic) else label
