"""LIBSVM's model files, also written by ThunderSVM.

::

    svm_type c_svc
    kernel_type rbf
    gamma 0.5
    nr_class 2
    total_sv 3
    rho 0.1
    label 1 -1
    nr_sv 2 1
    SV
    0.7 1:0.25 3:1
    0.3 2:0.5
    -1 1:2 2:0.125

``f(x) = sum_i c_i k(x_i, x) - rho``; with several classes one such function for every pair i < j,
positive for class i, in the order of ``label``. C, nu and epsilon are not in the file.

How numbers are printed depends on the writer:

==========================  =======================  ==================  =======================
what                        LIBSVM                   LIBSVM in Java      ThunderSVM
==========================  =======================  ==================  =======================
coefficients                17 digits, older: 16     as many as needed   16 digits of a float32
values of support vectors   8                        as many as needed   8 digits of a float32
gamma, coef0, rho           17, older: 6             as many as needed   6
==========================  =======================  ==================  =======================

Source: ``svm_save_model`` and ``svm_load_model`` in LIBSVM 3.37 (svm.cpp); ``save_to_string`` in
ThunderSVM (svmmodel.cpp), whose ``SV`` and lists end with a blank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.audits.rows import match_rows, most_digits
from qpsvm.audits.text import INT32_MAX, ModelText
from qpsvm.display import short_repr
from qpsvm.exceptions import ModelFileError
from qpsvm.kernels import Kernel
from qpsvm.kernels.gram import KERNELS
from qpsvm.numerics.arguments import Samples, Targets, with_article
from qpsvm.numerics.arrays import (
    Dense,
    Index,
    Mask,
    Matrix,
    Sparse,
    Vector,
    freeze,
    is_sparse,
)

SvmType: TypeAlias = Literal["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"]
KernelType: TypeAlias = Literal["linear", "polynomial", "rbf", "sigmoid", "precomputed"]

PARAMETERS: Mapping[KernelType, tuple[str, ...]] = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}
"""Kernel -> its parameters in the file."""


@short_repr
@dataclass(frozen=True, eq=False)
class LibsvmModel:
    """The checked content of a LIBSVM model file; all arrays are read-only.

    Attributes
    ----------
    source : str
        The path as given.
    written_by : "LIBSVM" or "ThunderSVM"
        By the blank after ``SV``.
    svm_type : {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"}
    kernel_type : {"linear", "polynomial", "rbf", "sigmoid", "precomputed"}
    degree, gamma, coef0 : int, float, float or None
        None where the kernel has no such parameter.
    n_classes : int
        k, in the order of the file; 2 for regression and one-class.
    labels : array of int of shape (k,) or None
        The first of a pair has the positive decision values. None for regression and one-class.
    n_sv : array of int of shape (k,) or None
        Number of support vectors per class, which are grouped in the order of ``labels``.
    rho : array of shape (k (k - 1) / 2,)
        Minus the intercepts, pair by pair: (0, 1), (0, 2), ..., (1, 2), ...
    coefficients : array of shape (total_sv, k - 1)
        In pair (i, j) those of class i are in column j - 1, those of class j in column i. For
        regression ``alpha - alpha*``.
    support_vectors : CSR array of shape (total_sv, d) or None
        None for a precomputed kernel.
    zero_based : bool
        Whether the indices in the file count from 0: one of them is 0. Otherwise column j of
        ``support_vectors`` has the index j + 1.
    serials : array of int of shape (total_sv,) or None
        Rows of the training data counted from 1, for a precomputed kernel.
    sv_digits : int
        Significant digits of the values of support vectors: 8, as LIBSVM prints them, or as many
        as the longest has; 17 if they are exact.
    parameter_digits : int
        The same for gamma, coef0 and rho together. At 6 they are probably rounded: what was trained
        had other values than what the file predicts with.
    first_sv_line : int
        Number of the first support vector's line.
    """

    source: str
    written_by: Literal["LIBSVM", "ThunderSVM"]
    svm_type: SvmType
    kernel_type: KernelType
    degree: int | None
    gamma: float | None
    coef0: float | None
    n_classes: int
    labels: Index | None
    n_sv: Index | None
    rho: Vector
    coefficients: Dense
    support_vectors: Matrix
    zero_based: bool
    serials: Index | None
    sv_digits: int
    parameter_digits: int
    first_sv_line: int

    @property
    def total_sv(self) -> int:
        """Number of support vectors."""
        return len(self.coefficients)

    @property
    def kernel(self) -> Kernel:
        """The kernel as an object of ``qpsvm.kernels``.

        Raises
        ------
        InvalidParameterError
            A parameter for which there is no such kernel: gamma 0, degree 0.
        """
        values = {name: getattr(self, name) for name in PARAMETERS[self.kernel_type]}
        return KERNELS[self.kernel_type](**values)

    def counted_from_zero(self) -> LibsvmModel:
        """The same model with its indices read as counted from 0: column j has the index j.

        A file of a model that was trained on such data need not have an index 0.
        """
        if self.zero_based:
            return self
        vectors = sp.csr_array(self.support_vectors)
        n, d = vectors.shape
        parts = vectors.data, vectors.indices + 1, vectors.indptr
        moved = freeze(sp.csr_array(parts, shape=(n, d + 1)))
        return replace(self, support_vectors=moved, zero_based=True)

    def training_rows(self, X: Samples, y: Targets | None = None) -> Index:
        """Find the row of the training data of each support vector.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            For a precomputed kernel the (n, n) Gram matrix.
        y : array of shape (n,), optional
            Labels or targets. They matter where several rows of X have the same values: a support
            vector is one with the label of its class; in a regression the one for which the sign of
            its coefficient is right.

        Returns
        -------
        array of int of shape (total_sv,)
            No row twice.

        Raises
        ------
        ModelFileError
            A support vector is no row of X, or there are more of them than such rows.
        InvalidDataError
            X is not a table of finite numbers.

        Notes
        -----
        ThunderSVM rounds to single precision before it prints; for its files rows are first
        compared so, for others last.
        """
        if self.serials is not None:
            n = X.shape[0] if is_sparse(X) else len(np.asarray(X))
            return self._rows_by_serial(n)
        labels = targets = None
        if y is not None and self.labels is not None and self.n_sv is not None:
            labels = (np.repeat(self.labels, self.n_sv), self._as_numbers(y))
        elif y is not None and self.svm_type.endswith("svr"):
            targets = (self.coefficients[:, 0], self._as_numbers(y))
        either = (np.float64, np.float32)
        errors = list[ModelFileError]()
        for precision in either if self.written_by == "LIBSVM" else either[::-1]:
            try:
                return match_rows(
                    self.support_vectors,
                    X,
                    self.sv_digits,
                    dtype=precision,
                    labels=labels,
                    targets=targets,
                    source=self.source,
                    first_line=self.first_sv_line,
                )
            except ModelFileError as error:
                errors.append(error)
        raise errors[0]

    def _rows_by_serial(self, n: int) -> Index:
        serials = np.asarray(self.serials)
        order = np.argsort(serials, kind="stable")
        twice = np.flatnonzero(np.diff(serials[order]) == 0)
        for at, problem in (
            (np.flatnonzero(serials > n), f"the data have {n} rows"),
            (order[twice + 1], "another support vector has it too"),
        ):
            if at.size:
                i = int(at[0])
                raise ModelFileError(
                    f"{self.source!r} line {self.first_sv_line + i}: support vector {i} is sample "
                    f"{serials[i]} of the precomputed kernel, and {problem}; pass the (n, n) "
                    "matrix of the training data, with the samples numbered from 1 to n."
                )
        return serials - 1

    def _as_numbers(self, y: Targets) -> Vector:
        try:
            return np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ModelFileError(
                f"{self.source!r} stores numeric labels or targets, y has others ({error}); pass "
                "the numbers LIBSVM was given."
            ) from error


# --- reading ----------------------------------------------------------------------------------

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

FEW_DIGITS = 6
"""Significant digits of parameters in old files: ``printf`` writes so many by default."""


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
        vectors = _vectors(lengths, pairs)
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
        sv_digits=most_digits(file.numbers, b":", at_least=8),
        parameter_digits=most_digits(parameters, b" ", FEW_DIGITS),
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


def _vectors(lengths: Index, pairs: Dense) -> Sparse:
    """The support vectors, shape (n, d); indices count from 0 if one of them is 0."""
    indices = pairs[:, 0].astype(np.int32)
    columns = indices if (indices == 0).any() else indices - 1
    parts = pairs[:, 1].copy(), columns, np.concatenate([[0], np.cumsum(lengths)])
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
