"""Reader of LIBSVM's model files; ``libsvm`` shows an example file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from qpsvm.audits.files.libsvm import PARAMETERS, LibsvmModel, SvmType
from qpsvm.audits.files.rows import most_digits
from qpsvm.audits.files.text import INT32_MAX, ModelText
from qpsvm.numerics.arguments import with_article
from qpsvm.numerics.arrays import Dense, Index, Mask, Sparse, freeze

CLASSIFIERS: tuple[SvmType, ...] = ("c_svc", "nu_svc")
SVM_TYPES: tuple[SvmType, ...] = (*CLASSIFIERS, "one_class", "epsilon_svr", "nu_svr")
_ALWAYS = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho")
_OF_CLASSES = ("label", "nr_sv")
_PROBABILITIES = {"probA": False, "probB": False, "prob_density_marks": True}
"""Key -> whether it is one of one-class models."""
_WEIGHTS = "coef"
_KEYS = (*_ALWAYS, *PARAMETERS["polynomial"], *_OF_CLASSES, *_PROBABILITIES, _WEIGHTS)

_PARAMETERS = ("gamma", "coef0", "rho")
"""Keys of the numbers whose digits are counted."""

_SV_DIGITS = 8
_PARAMETER_DIGITS = 6


def read_libsvm(source: str, content: bytes) -> LibsvmModel:
    """Read a model file of LIBSVM or ThunderSVM, strictly.

    Comments (``#``) before its first line are skipped. Indices count from 0 where one of them is 0,
    otherwise from 1.

    Parameters
    ----------
    source : str
        The path as given, for messages.
    content : bytes

    Returns
    -------
    LibsvmModel

    Raises
    ------
    ModelFileError
        With the line and what is wrong there: an unknown, repeated, missing or superfluous key;
        counts that contradict each other or the lines; indices that do not ascend or are
        beyond int32; anything that is no finite decimal number; other bytes than printable ASCII;
        an incomplete last line; lines after the last support vector.

    Examples
    --------
    >>> text = "svm_type c_svc|kernel_type rbf|gamma 0.5|nr_class 2|total_sv 2|rho 0.25|"
    >>> text += "label 1 -1|nr_sv 1 1|SV|0.7 1:0.25 3:1|-0.7 2:0.5|"
    >>> model = read_libsvm("small.model", text.replace("|", chr(10)).encode())
    >>> str(model.kernel), model.coefficients[:, 0]
    ('rbf(gamma=0.5)', array([ 0.7, -0.7]))
    >>> model.training_rows([[9.0, 9.0, 9.0], [0.0, 0.5, 0.0], [0.25, 0.0, 1.0]], [-1, -1, 1])
    array([2, 1])
    """
    file = ModelText(source, content, _KEYS, "SV", on_next_line=_WEIGHTS)
    svm_type = file.choice("svm_type", SVM_TYPES)
    kernel_type = file.choice("kernel_type", tuple(PARAMETERS))
    classifier = svm_type in CLASSIFIERS
    given = PARAMETERS[kernel_type]
    file.require_only(
        (
            *_ALWAYS,
            *given,
            *(_OF_CLASSES if classifier else ()),
            *(key for key, novel in _PROBABILITIES.items() if novel == (svm_type == "one_class")),
            *((_WEIGHTS,) if kernel_type == "linear" else ()),
        ),
        f"{with_article(svm_type)} model with {with_article(kernel_type)} kernel",
    )
    k = file.n_classes(classifier)
    n_pairs = k * (k - 1) // 2
    rho = file.values("rho", n_pairs)
    labels = file.labels(k) if classifier else None
    (total_sv,) = file.integers("total_sv", 1, 0).tolist()
    n_sv = file.integers("nr_sv", k, 0) if classifier else None
    if n_sv is not None and int(n_sv.sum()) != total_sv:
        what = f"nr_sv adds up to {int(n_sv.sum()):,}, total_sv is {total_sv:,}"
        raise file.refusal("nr_sv", what)
    _require_numbers_nobody_keeps(file, n_pairs)
    surplus = f"total_sv is {total_sv:,}, and here is another line after that many"
    coefficients, lengths, pairs = file.table(
        "total_sv", total_sv, k - 1, "coefficient", surplus, pairs=True
    )
    vectors, serials = None, None
    if kernel_type == "precomputed":
        serials = _serials(file, lengths, pairs)
    else:
        vectors = _vectors(file, lengths, pairs)
    parameters = b" ".join(w for key in _PARAMETERS if key in file for w in (b"", *file.words(key)))
    return LibsvmModel(
        source=file.source,
        written_by="ThunderSVM" if file.closing else "LIBSVM",
        svm_type=svm_type,
        kernel_type=kernel_type,
        degree=int(file.integers("degree", 1, 0)[0]) if "degree" in given else None,
        gamma=float(file.values("gamma", 1, 0.0)[0]) if "gamma" in given else None,
        coef0=float(file.values("coef0", 1)[0]) if "coef0" in given else None,
        n_classes=k,
        labels=labels,
        n_sv=None if n_sv is None else freeze(n_sv),
        rho=freeze(rho),
        coefficients=freeze(coefficients),
        support_vectors=vectors,
        zero_based=serials is None and bool((pairs[:, 0] == 0.0).any()),
        serials=serials,
        sv_digits=most_digits(file.numbers, b":", _SV_DIGITS),
        parameter_digits=most_digits(parameters, b" ", _PARAMETER_DIGITS),
        first_sv_line=file.first_line,
    )


def _require_numbers_nobody_keeps(file: ModelText, n_pairs: int) -> None:
    """Check the entries that the reader discards: probabilities, and ThunderSVM's weights."""
    for key, novel in _PROBABILITIES.items():
        if key in file:
            file.values(key, 10 if novel else n_pairs)
    if _WEIGHTS in file:
        count = len(file.values(_WEIGHTS))
        if count == 0 or count % n_pairs:
            what = f"coef has {count} values, which is not the same number for {n_pairs} pairs"
            raise file.refusal(_WEIGHTS, what)


def _vectors(file: ModelText, lengths: Index, pairs: Dense) -> Sparse:
    """The support vectors, shape (n, d); indices count from 0 if one of them is 0."""
    indices, ends = pairs[:, 0].astype(np.int64), np.cumsum(lengths)
    before = np.concatenate([[-1], indices])[:-1]
    begins = ends - lengths
    before[begins[lengths > 0]] = -1
    for at in _first((indices <= before) | (indices > INT32_MAX)):
        index, line = int(indices[at]), file.first_line + int(np.searchsorted(ends, at, "right"))
        if index > INT32_MAX:
            raise file.refusal(line, f"index {index} is beyond {INT32_MAX}")
        raise file.refusal(line, f"index {index} comes after {before[at]}; indices ascend")
    columns = indices if (indices == 0).any() else indices - 1
    parts = pairs[:, 1].copy(), columns.astype(np.int32), np.concatenate([[0], ends])
    return freeze(sp.csr_array(parts, shape=(len(lengths), int(columns.max(initial=0)) + 1)))


def _serials(file: ModelText, lengths: Index, pairs: Dense) -> Index:
    """Row numbers from 1, shape (n,): each line of a precomputed kernel has a pair ``0:serial``."""
    for i in _first(lengths != 1):
        what = f"it has {lengths[i]} pairs; with a precomputed kernel there is one, 0:serial"
        raise file.refusal(file.first_line + i, what)
    index, serials = pairs.T
    whole = (serials == np.round(serials)) & (serials >= 1.0) & (serials <= INT32_MAX)
    for i in _first((index != 0.0) | ~whole):
        what = (
            f"'{index[i]:.0f}:{serials[i]:g}' is not 0:serial with the number of a training "
            "sample, counted from 1"
        )
        raise file.refusal(file.first_line + i, what)
    return np.asarray(freeze(serials.astype(np.intp)))


def _first(bad: Mask) -> Iterator[int]:
    """Yield the index of the first true entry, if any."""
    yield from np.flatnonzero(bad)[:1].tolist()
