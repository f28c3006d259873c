"""Broken and malicious model files: a clear error, before memory or time are spent."""

from __future__ import annotations

import io
import json
import os
import pickle
import time
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from qpsvm.audits.files import read_model
from qpsvm.exceptions import ModelFileError
from tests.audit.model_files import (
    LINEAR,
    PLAIN,
    SMALL,
    load_or_error,
    npz_of,
    parse,
    refused,
)
from tests.audit.writers import libsvm_text
from tests.strategies import listed

# --- what is wrong in a text file -------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("gamma 0.5", "gamma 0.5\nepsilon 0.1", "line 4: 'epsilon' is not one of"),
        ("gamma 0.5", "gamma 0.5\ngamma 0.5", "line 4: gamma was already given in line 3"),
        ("gamma 0.5\n", "", "line 8: the header ends here and has no gamma"),
        ("gamma 0.5", "gamma 0.5\ncoef0 1", "line 4: coef0 does not belong to a c_svc model with"),
        ("rbf", "laplace", "line 2: kernel_type is 'laplace', not one of linear, polynomial"),
        ("gamma 0.5", "gamma -0.5", "line 3: gamma is -0.5, below 0"),
        ("gamma 0.5", "gamma 0.5 0.5", "line 3: gamma has 2 values, this model has 1"),
        ("gamma 0.5", "gamma", "line 3: gamma has 0 values"),
        ("gamma 0.5", "gamma nan", "line 3: gamma value 1 is 'nan', not a finite decimal number"),
        ("gamma 0.5", "gamma 1e400", "line 3: gamma value 1 is '1e400'"),
        ("gamma 0.5", "gamma 1_0", "line 3: gamma value 1 is '1_0'"),
        ("gamma 0.5", "gamma 9007199254740993", "line 3: '9007199254740993' is an integer that"),
        ("gamma 0.5", "gamma 0x10", "line 3: gamma value 1 is '0x10'"),
        ("gamma 0.5", "gamma １２", "line 3: the byte 0xef is not plain text"),
        ("gamma 0.5", "gamma 0.5\0", "line 3: the byte 0x00 is not plain text"),
        ("gamma 0.5", "gamma 0.5\r5", "line 3: the byte 0x0d is not plain text"),
        ("nr_class 2", "nr_class 3", "line 6: rho has 1 values, this model has 3"),
        ("nr_class 2", "nr_class 1", "line 4: nr_class is 1: .* train on samples of two classes"),
        ("nr_class 2", "nr_class 2.0", "line 4: nr_class is '2.0', not a whole number"),
        ("nr_class 2", "nr_class 2147483648", "line 4: nr_class is '2147483648', not a whole"),
        ("total_sv 3", "total_sv -3", "line 5: total_sv is '-3', not a whole number"),
        ("total_sv 3", "total_sv 4", "line 8: nr_sv adds up to 3, total_sv is 4"),
        ("label 1 -1", "label 1 1", "line 7: a label is repeated"),
        ("label 1 -1", "label 1", "line 7: label has 1 values, this model has 2"),
        ("label 1 -1", "label 1 -1.5", "line 7: label is '-1.5', not a whole number"),
        ("nr_sv 2 1", "nr_sv 4 -1", "line 8: nr_sv is '-1'"),
        ("c_svc", "epsilon_svr", "line 7: label does not belong to an epsilon_svr model"),
        ("SV\n", "SV 3\n", "line 9: SV is followed by '3'"),
        ("0.75 1", "0.75 0:1 0", "line 10: index 0 comes after 0"),
        ("1:0.25 3:1", "3:1 1:0.25", "line 10: index 1 comes after 3"),
        ("1:0.25 3:1", "1:0.25 1:1", "line 10: index 1 comes after 1"),
        ("1:0.25", "-1:0.25", "line 10: '-1:0.25' is not index:value"),
        ("1:0.25 3", "1:0.25 2147483648", "line 10: index 2147483648 is beyond 2147483647"),
        ("1:0.25", "1:inf", "line 10: '1:inf' is not index:value"),
        ("1:0.25", "1:-1e999", "line 10: '1:-1e999' is not index:value"),
        ("1:0.25", "1 0.25", "line 10: '1' is not index:value"),
        ("1:0.25", "1: 0.25", "line 10: '1:' is not index:value"),
        ("0.25 2", "NaN 2", "line 11: coefficient 1 is 'NaN', not a finite decimal number"),
        ("0.25 2", "2", "line 11: coefficient 1 is '2:0.5'"),
        ("0.25 2:0.5 ", "", "line 11: it has 0 of 1 coefficients"),
        ("-1 1:2 2:0.125 \n", "", "line 12: total_sv is 3, and the file ends after 2"),
        ("-1 1:2 2:0.125 \n", "-1 1:2 2:0.125 \n1 1:1\n", "line 13: total_sv is 3, and here is"),
        ("-1 1:2 2:0.125 \n", "-1 1:2 2:0.125 \n\n", "line 13: total_sv is 3, and here is"),
        ("2:0.125 \n", "2:0.12", "line 12: the file ends in the middle of this line"),
        ("\nSV\n", "\n", "line 9: '0.75' is not one of"),
    ],
    ids=range(45),
)
def test_what_is_wrong_in_a_libsvm_file_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in SMALL
    refused(tmp_path, SMALL.replace(old, new, 1), words)
    refused(tmp_path, SMALL.replace(old, new, 1), r"^(?!.*damaged)")  # LIBSVM may read it


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("L2R_L1LOSS_SVC_DUAL", "", "line 1: solver_type is '', not one of L2R_LR"),
        (
            "bias 1",
            "bias 1\nrho 2",
            "line 6: rho does not belong to a model of L2R_L1LOSS_SVC_DUAL",
        ),
        ("bias 1", "bias 1\nC 2", "line 6: 'C' is not one of"),
        ("nr_feature 2", "nr_feature 3", "line 10: the file ends after 3 of 4 lines"),
        ("nr_feature 2", "nr_feature 1", "line 9: 2 lines of weights end before this line"),
        ("bias 1", "bias -1", "line 9: 2 lines of weights end before this line"),
        ("-0.25", "-0.25 1", "line 8: it has 2 weights, this model has 1"),
        ("-0.25", "9007199254740993", "line 8: '9007199254740993' is an integer that float64"),
        ("-0.25", "", "line 8: it has 0 weights, this model has 1"),
        ("-0.25", "inf", "line 8: weight 1 is 'inf', not a finite decimal number"),
        ("-0.25", "1e999", "line 8: weight 1 is '1e999'"),
        ("nr_class 2", "nr_class 3", "line 3: label has 2 values, this model has 3"),
        ("label 1 -1\n", "", "line 5: the header ends here and has no label"),
        ("0.125 \n", "0.125 ", "line 9: the file ends in the middle of this line"),
        (
            "1\nw\n0.5 \n-0.25 \n0.125",
            "9\nw\n1\n1\n1e308",
            "line 5: bias is 9, and times its weight",
        ),
    ],
    ids=range(15),
)
def test_what_is_wrong_in_a_liblinear_file_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in LINEAR
    refused(tmp_path, LINEAR.replace(old, new, 1), words)


def test_regression_and_novelty_have_two_classes_and_no_labels(tmp_path: Path) -> None:
    text = libsvm_text([[1.0]], [[1.0]], [0.0], svm_type="nu_svr")
    assert parse(tmp_path, text).labels is None
    refused(tmp_path, text.replace("nr_class 2", "nr_class 3"), "nr_class is 3; for regression")
    novelty = libsvm_text(
        [[1.0]],
        [[1.0]],
        [0.0],
        svm_type="one_class",
        more=["prob_density_marks" + " 0.5" * 10],
    )
    assert parse(tmp_path, novelty).total_sv == 1
    refused(tmp_path, novelty.replace(" 0.5", "", 1), "prob_density_marks has 9 values")
    refused(tmp_path, novelty.replace("one_class", "nu_svr"), "prob_density_marks does not belong")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"beta": [1.0]}, "'beta' is not one of formulation, kernel"),
        ({"intercept": None}, "intercept is not a number"),
        ({"intercept": "0.5"}, "intercept is not a number"),
        ({"intercept": True}, "intercept is not a number"),
        ({"intercept": [0.5]}, r"intercept has shape \(1,\), but this coef needs \(\)"),
        ({"alpha": [0.5, True]}, "alpha is not a list of numbers"),
        ({"alpha": [0.5, "1"]}, "alpha is not a list of numbers"),
        ({"alpha": [[0.5]]}, "alpha is not a list of numbers"),
        ({"alpha": [0.5, [0.5]]}, "alpha is not a list of numbers"),
        ({"alpha": []}, "alpha is empty"),
        ({"alpha": 0.5}, "alpha is not a list of numbers"),
        ({"alpha": [10**400]}, "alpha is not a list of numbers"),
        ({"alpha": [0.5, 2**53 + 1]}, r"alpha\[1\] is 9007199254740993, an integer"),
        ({"intercept": 2**53 + 1}, "intercept is 9007199254740993, an integer"),
        ({"coef": [[1.0], [1.0, 2.0]]}, "coef is not a list of numbers or a table"),
        ({"coef": [[1.0], [2.0]]}, r"intercept has shape \(\), but this coef needs \(2,\)"),
        ({"width": [1.0]}, "width is not a number"),
        ({"classes": ["a"]}, "classes must be the 2 labels"),
        ({"classes": ["a", "a"]}, "write different labels of one kind"),
        ({"classes": ["a", 1]}, "write different labels of one kind"),
        ({"classes": [["a"], ["b"]]}, "write different labels of one kind"),
        ({"kernel": "rbf"}, "kernel is not an object with a name"),
        ({"kernel": {"gamma": 1.0}}, "kernel is not an object with a name"),
        ({"kernel": {"name": "custom"}}, "the kernel 'custom' is unknown; known are linear"),
        (
            {"kernel": {"name": "rbf", "gamma": 0.0}},
            "rbf does not accept these parameters .gamma is 0.0",
        ),
        ({"kernel": {"name": "rbf", "sigma": 1.0}}, "rbf does not accept these parameters .*sigma"),
        ({"kernel": {"name": "rbf", "gamma": 10**400}}, "are not plain numbers and texts"),
        ({"formulation": {"name": "OneVsOne"}}, "the formulation 'OneVsOne' is unknown"),
        (
            {"formulation": {"name": "SoftMargin", "C": -1}},
            "SoftMargin does not accept these parameters",
        ),
        ({"formulation": {"name": "SoftMargin", "C": [1]}}, "are not plain numbers and texts"),
        (
            {"formulation": {"name": "SoftMargin", "class_weight": [["a", 1], ["a", 2]]}},
            "class_weight is not a list of pairs",
        ),
    ],
    ids=range(31),
)
def test_what_is_wrong_in_json_is_named(tmp_path: Path, change: Any, words: str) -> None:
    refused(tmp_path, json.dumps(PLAIN | change), words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"alpha": [NaN], "intercept": 0}', "NaN is not JSON"),
        ('{"alpha": [-Infinity], "intercept": 0}', "-Infinity is not JSON"),
        ('{"alpha": [1, 1e400], "intercept": 0}', r"alpha\[1\] is inf"),
        ('{"alpha": [1], "intercept": 0, "alpha": [2]}', "'alpha' is given twice"),
        ('{"kernel": {"name": "rbf", "name": "linear"}}', "'name' is given twice"),
        ('{"alpha": [1]}', "it has no intercept"),
        ('{"intercept": 0}', "neither alpha nor coef"),
        ('{"alpha": [1], "intercept": 0', "not a model in JSON"),
        ('{"alpha": [1], "intercept": 0} x', "not a model in JSON"),
        (
            b'{"alpha": [1], "classes": ["\xff", "a"], "intercept": 0}',
            "not a model in JSON .*utf-8",
        ),
        ('{"alpha": ' + "[" * 9_000, "not a model in JSON"),
        ('{"alpha": ' + "[" * 10**6, "1,000,001 lists and objects"),
        ('{"a":' * 9_000, "not a model in JSON"),
        ('{"alpha": [' + "9" * 5000 + '], "intercept": 0}', "not a model in JSON"),
    ],
    ids=range(14),
)
def test_json_that_readers_disagree_about_is_refused(
    tmp_path: Path, content: str | bytes, words: str
) -> None:
    refused(tmp_path, content, words)


def test_what_is_wrong_in_npz_is_named(tmp_path: Path) -> None:
    good = {"alpha": np.array([0.5, 0.5]), "intercept": np.float64(0.1)}
    assert parse(tmp_path, npz_of(good)).intercept == 0.1
    for change, words in [
        ({"alpha": np.array(["1", "2"])}, "alpha is not a list of numbers"),
        ({"alpha": np.array([True, False])}, "alpha is not a list of numbers"),
        ({"alpha": np.array([0.5, np.nan])}, r"alpha\[1\] is nan"),
        ({"alpha": np.array([0.5, None], dtype=object)}, "never loaded"),
        ({"kernel": np.array(["{}"])}, "'kernel' is not a single JSON text"),
        ({"kernel": np.array("{")}, "'kernel' is not a single JSON text"),
        ({"classes": np.array(1)}, "classes must be the 2 labels"),
        ({"classes": np.array([np.nan, 1.0])}, "write different labels of one kind"),
        ({"C": np.array(1)}, "'C' is not one of"),
    ]:
        refused(tmp_path, npz_of(good | change), words)
    refused(tmp_path, npz_of(good, np.savez_compressed), "compressed; write it with numpy.savez")


HEADER = "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv {}\nrho 0\nSV\n"

# --- files that are no models, or made to do harm ---------------------------------------------


def test_what_is_no_model_file(tmp_path: Path) -> None:
    refused(tmp_path, "", "begins with b''")
    refused(tmp_path, "gamma 0.5\n", "begins with b'gamma 0.5")
    refused(tmp_path, pickle.dumps(SVC()), "is no known model file")
    for path, words in [
        (tmp_path / "none", "No such file"),
        (tmp_path, "is a folder; pass the path of a model file"),
        ("nul\0byte", "Cannot read"),
    ]:
        with pytest.raises(ModelFileError, match=words):
            read_model(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ModelFileError, match="not a regular file"):
            read_model(path)


@pytest.mark.parametrize(
    ("beginning", "size"),
    [(SMALL, 2**30 + 1), (json.dumps(PLAIN), 2**28 + 1)],
    ids=["text", "json"],
)
def test_files_beyond_the_limit_are_not_read(tmp_path: Path, beginning: str, size: int) -> None:
    path = tmp_path / "large"
    path.write_text(beginning)
    os.truncate(path, size)  # takes no space on the disk
    peak = measured(lambda: _refuse_file(path, "the limit for model files of its kind is"))
    assert peak < 2**20


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            SMALL.replace("total_sv 3", "total_sv 2147483647").replace("2 1", "2147483646 1"),
            "total_sv asks for 2,147,483,647 lines, and only",
        ),
        (SMALL.replace("nr_class 2", "nr_class 2147483647"), "rho has 1 values"),
        (LINEAR.replace("nr_feature 2", "nr_feature 2147483647"), "nr_feature asks for"),
        (LINEAR.replace("nr_class 2", "nr_class 2147483647"), "label has 2 values"),
    ],
    ids=range(4),
)
def test_huge_declared_sizes_are_refused_before_allocating(
    tmp_path: Path, content: str, words: str
) -> None:
    path = tmp_path / "huge"
    path.write_text(content)
    assert measured(lambda: _refuse_file(path, words)) < 2**20


def test_huge_declared_arrays_are_refused_before_allocating(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    )
    path = tmp_path / "huge"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("alpha.npy", header.getvalue() + b"12345678")
    assert measured(lambda: _refuse_file(path, "declares shape")) < 2**20


@pytest.mark.parametrize(
    "beginning", ["svm_type c_svc\nrho", HEADER.format(1) + "1"], ids=["header", "sv"]
)
def test_endless_lines_are_refused(tmp_path: Path, beginning: str) -> None:
    line = beginning.count("\n") + 1
    content = beginning + " 1" * 2**23 + "\n"
    refused(tmp_path, content, f"line {line}: it is longer than 16,777,216 bytes")


def _refuse_file(path: Path, words: str) -> None:
    with pytest.raises(ModelFileError, match=words):
        read_model(path)


def measured(action: Any) -> int:
    """Bytes of memory that were taken at the same time."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


COSTLY = {
    "short lines": lambda n: HEADER.format(4 * n) + "1\n" * (4 * n),
    "short pairs": lambda n: (
        HEADER.format(40) + ("1 " + " ".join(f"{i}:1" for i in range(1, n // 25)) + "\n") * 40
    ),
    "one long line": lambda n: (
        HEADER.format(1) + ("1 " + " ".join(f"{i}:1" for i in range(1, n)) + "\n")
    ),
    "a line of digits": lambda n: HEADER.format(1) + "9" * (10 * n) + "\n",
    "a line of blanks": lambda n: HEADER.format(1) + "1" + " " * (10 * n) + "x\n",
    "almost numbers": lambda n: HEADER.format(1) + "1 " + "1:1 " * (2 * n) + "1:\n",
    "long header": lambda n: HEADER.format(1).replace("rho 0", "rho" + " 0" * (4 * n)) + "1\n",
    "long key": lambda n: "svm_type c_svc\n" + "x" * (10 * n) + "\n",
    "empty lines": lambda n: "svm_type c_svc" + "\n" * (10 * n),
    "no line end": lambda n: "svm_type c_svc\n" + "x" * (10 * n),
    "names": lambda n: "{" + ",".join(f'"{i}":0' for i in range(n)) + "}",
    "a long integer": lambda n: '{"intercept": 0, "alpha": [' + "9" * (n // 25) + "]}",
    "short texts": lambda n: '{"intercept": 0, "alpha": [' + '"",' * (2 * n) + '""]}',
    "short numbers": lambda n: '{"intercept": 0, "alpha": [' + "0.5," * (2 * n) + "0]}",
}


SIZES = (20_000, 100_000)
"""A fifth of a megabyte, and a megabyte: what is quadratic in that takes minutes."""


@listed("name, n", [(name, n) for n in SIZES for name in COSTLY], quick=len(COSTLY))
def test_memory_and_time_are_bounded_by_the_size_of_the_file(
    tmp_path: Path, name: str, n: int
) -> None:
    """Far from both bounds."""
    path = tmp_path / "costly"
    path.write_text(COSTLY[name](n))
    began = time.process_time()
    load_or_error(path)
    assert time.process_time() - began < 10.0
    assert measured(lambda: load_or_error(path)) < 30 * path.stat().st_size + 2**26
