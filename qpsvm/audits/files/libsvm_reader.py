"""Reader of LIBSVM's model files; ``libsvm`` shows an example file."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from qpsvm.audits.files import support_vectors
from qpsvm.audits.files.digits import most_digits
from qpsvm.audits.files.header import Header
from qpsvm.audits.files.libsvm import KernelType, LibsvmModel, SvmType
from qpsvm.audits.files.text_file import TextFile
from qpsvm.numerics.arguments import with_article
from qpsvm.numerics.arrays import Index, freeze

CLASSIFIERS: tuple[SvmType, ...] = ("c_svc", "nu_svc")
SVM_TYPES: tuple[SvmType, ...] = (*CLASSIFIERS, "one_class", "epsilon_svr", "nu_svr")
PARAMETERS: Mapping[KernelType, tuple[str, ...]] = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}
"""Kernel -> its parameters in the file."""

_ALWAYS = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho")
_OF_CLASSES = ("label", "nr_sv")
_PROBABILITIES = {"probA": False, "probB": False, "prob_density_marks": True}
"""Key -> whether it is one of one-class models."""
_WEIGHTS = "coef"
_KEYS = (*_ALWAYS, *PARAMETERS["polynomial"], *_OF_CLASSES, *_PROBABILITIES, _WEIGHTS)

_SV_DIGITS = 8
_PARAMETER_DIGITS = 6


def read_libsvm(path: str | os.PathLike[str]) -> LibsvmModel:
    """Read a model file of LIBSVM or ThunderSVM, strictly.

    Comments (``#``) before its first line are skipped. Indices count from 0 where one of them is 0,
    otherwise from 1.

    Parameters
    ----------
    path : path

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
    >>> import tempfile
    >>> from pathlib import Path
    >>> text = "svm_type c_svc|kernel_type rbf|gamma 0.5|nr_class 2|total_sv 2|rho 0.25|"
    >>> text += "label 1 -1|nr_sv 1 1|SV|0.7 1:0.25 3:1|-0.7 2:0.5|"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "small.model"
    ...     _ = file.write_text(text.replace("|", chr(10)))
    ...     model = read_libsvm(file)
    >>> str(model.kernel), model.coefficients[:, 0]
    ('rbf(gamma=0.5)', array([ 0.7, -0.7]))
    >>> model.training_rows([[9.0, 9.0, 9.0], [0.0, 0.5, 0.0], [0.25, 0.0, 1.0]], [-1, -1, 1])
    array([2, 1])
    """
    file = TextFile.read(path)
    header = Header(file, _KEYS, "SV", on_next_line=_WEIGHTS)
    svm_type = header.choice("svm_type", SVM_TYPES)
    kernel_type = header.choice("kernel_type", tuple(PARAMETERS))
    classifier = svm_type in CLASSIFIERS
    header.require_only(
        (
            *_ALWAYS,
            *PARAMETERS[kernel_type],
            *(_OF_CLASSES if classifier else ()),
            *(key for key, novel in _PROBABILITIES.items() if novel == (svm_type == "one_class")),
            *((_WEIGHTS,) if kernel_type == "linear" else ()),
        ),
        f"{with_article(svm_type)} model with {with_article(kernel_type)} kernel",
    )
    given = PARAMETERS[kernel_type]
    k = header.n_classes(classifier)
    total_sv = header.integer("total_sv", 0)
    pairs = k * (k - 1) // 2
    rho = header.numbers("rho", pairs)
    labels = header.labels(k) if classifier else None
    n_sv = _n_sv(header, k, total_sv) if classifier else None
    _require_numbers_nobody_keeps(header, pairs)
    header.require_room("total_sv", total_sv, 2 * (k - 1))  # a digit and a blank per coefficient
    found = support_vectors.read(
        file, header.end, header.next_line, total_sv, k - 1, kernel_type == "precomputed"
    )
    return LibsvmModel(
        source=file.source,
        written_by="ThunderSVM" if header.closing else "LIBSVM",
        svm_type=svm_type,
        kernel_type=kernel_type,
        degree=header.integer("degree", 0) if "degree" in given else None,
        gamma=header.number("gamma", 0.0) if "gamma" in given else None,
        coef0=header.number("coef0") if "coef0" in given else None,
        n_classes=k,
        labels=labels,
        n_sv=n_sv,
        rho=freeze(rho),
        coefficients=freeze(found.coefficients),
        support_vectors=found.vectors,
        zero_based=found.zero_based,
        serials=found.serials,
        sv_digits=most_digits(file.content, b":", _SV_DIGITS, header.end),
        parameter_digits=most_digits(
            b" ".join(header.text(key) for key in ("gamma", "coef0", "rho")),
            b" ",
            _PARAMETER_DIGITS,
        ),
        first_sv_line=header.next_line,
    )


def _n_sv(header: Header, k: int, total_sv: int) -> Index:
    n_sv = header.integers("nr_sv", k, 0)
    if int(n_sv.sum()) != total_sv:
        raise header.refusal(
            "nr_sv", f"nr_sv adds up to {int(n_sv.sum()):,}, total_sv is {total_sv:,}"
        )
    return np.asarray(freeze(n_sv))


def _require_numbers_nobody_keeps(header: Header, pairs: int) -> None:
    """Check the entries that the reader discards: probabilities, and ThunderSVM's weights."""
    for key, novel in _PROBABILITIES.items():
        if key in header:
            header.numbers(key, 10 if novel else pairs)
    if _WEIGHTS in header:
        count = len(header.any_numbers(_WEIGHTS))
        if count == 0 or count % pairs:
            raise header.refusal(
                _WEIGHTS, f"coef has {count} values, which is not the same number for {pairs} pairs"
            )
