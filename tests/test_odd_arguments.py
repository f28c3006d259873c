"""Flags, choices and numbers of kinds nobody expects: an error that names the argument."""

import contextlib
import copy
import inspect
import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import estimators
from qpsvm.cli.options import ESTIMATORS
from qpsvm.exceptions import QPSVMError

X, Y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1, -1, 1, 1])


class NoTruth:
    """An object that has no truth value and compares with nothing."""

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise RuntimeError("no truth value")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")


ODD = {
    "an empty array": np.array([]),
    "two numbers": np.array([1.0, 2.0]),
    "a sparse matrix": sp.csr_array(np.eye(2)),
    "a number": 1.5,
    "None": None,
    "no truth": NoTruth(),
    "an array without dimensions": np.array(1.5),
}


def problem() -> Any:
    return qpsvm.SoftMargin(C=1.0).dual(X, Y)


def solution() -> Any:
    return qpsvm.solve(problem())


CALLS = {
    "verbose": lambda value: qpsvm.solve(problem(), verbose=value),
    "strict": lambda value: qpsvm.solve(problem(), strict=value),
    "backend": lambda value: qpsvm.solve(problem(), value),
    "rigorous": lambda value: qpsvm.certify(problem(), solution(), rigorous=value),
    "check_psd": lambda value: qpsvm.qp.QuadraticProgram(np.eye(1), [0.0], check_psd=value),
    "intercept": lambda value: qpsvm.SoftMargin(intercept=value),
    "loss": lambda value: qpsvm.SoftMargin(loss=value),
    "average_loss": lambda value: qpsvm.SoftMargin(average_loss=value),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", CALLS)
def test_an_odd_argument_is_refused_by_name(name: str, odd: str) -> None:
    with pytest.raises(QPSVMError, match=name.split("_", maxsplit=1)[0]):
        CALLS[name](ODD[odd])


@pytest.mark.parametrize("odd", ODD)
def test_an_audit_refuses_an_odd_flag(odd: str) -> None:
    svm = pytest.importorskip("sklearn.svm")
    model = svm.SVC(C=1.0, kernel="linear").fit(X, Y)
    with pytest.raises(QPSVMError, match="optimum"):
        qpsvm.audit(model, X, Y, optimum=ODD[odd])


def test_numbers_that_no_float_holds_are_refused_or_mean_no_limit() -> None:
    with pytest.raises(QPSVMError, match="epsilon"):
        qpsvm.EpsilonRegression(epsilon=10**400)
    with pytest.raises(QPSVMError, match="bounds"):
        qpsvm.constraints.bounded(0, upper=10**400).resolve(X, None)
    assert qpsvm.solve(problem(), time_limit=10**400).status.value == "optimal"


OTHERS = {**ODD, "text": "1.0", "a class": qpsvm.SoftMargin, "not a number": np.nan}


def refused_or_accepted(call: Any, *args: Any, **keywords: Any) -> None:
    """Anything but another library's error, or an error without a remedy."""
    with warnings.catch_warnings(), contextlib.suppress(QPSVMError):
        warnings.simplefilter("ignore")
        call(*args, **keywords)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_of_an_estimator_is_refused_by_the_package(name: str) -> None:
    kind = getattr(estimators, name)
    data = (X,) if name in ("OneClassSVM", "SVDD") else (X, Y)
    values = itertools.cycle(OTHERS.values())
    for parameter in inspect.signature(kind).parameters:
        for odd in itertools.islice(values, 2):
            if parameter != "verbose":
                refused_or_accepted(lambda p, v: kind(**{p: v}).fit(*data), parameter, odd)


@pytest.mark.parametrize("odd", OTHERS)
def test_an_estimator_names_the_backend_that_is_none(odd: str) -> None:
    with pytest.raises(QPSVMError, match=r"[Bb]ackend"):
        estimators.SVC(backend=OTHERS[odd]).fit(X, Y)


def test_texts_are_no_numbers_of_a_program() -> None:
    """Not even where NumPy would read them as such."""
    for name, value in {"q": ["1.0"], "lb": "0", "P": [["1"]], "ub": b"1"}.items():
        with pytest.raises(QPSVMError, match=f"{name} must hold real numbers, got the text .*conv"):
            qpsvm.qp.QuadraticProgram(**({"P": [[1.0]], "q": [0.0]} | {name: value}))
    with pytest.raises(QPSVMError, match=r"G must hold .* text '2'"):
        qpsvm.qp.QuadraticProgram([[1.0]], [0.0], G=np.array([["2"]], dtype=object), h=[1.0])


def test_labels_of_another_kind_are_no_wrong_predictions() -> None:
    own = solution()
    assert own.score(X, Y) == own.score(X, Y.astype(float)) == 1.0
    with pytest.raises(QPSVMError, match="y holds texts, such as '-1', and the classes are numb"):
        own.score(X, Y.astype(str))
    texts = qpsvm.solve(qpsvm.SoftMargin().dual(X, np.where(Y > 0, "a", "b")))
    with pytest.raises(QPSVMError, match="y holds numbers, such as -1, and the classes are texts"):
        texts.score(X, Y)


def report() -> Any:
    return qpsvm.reports.build(problem(), solution())


NOT_PATHS = [None, 3, b"a.csv", X, ["a.csv"]]
WITH_PATHS: dict[str, Any] = {
    "datasets.load": qpsvm.datasets.load,
    "models.load": qpsvm.models.load,
    "estimators.load": estimators.load,
    "models.save": lambda path: qpsvm.models.save(path, problem(), solution()),
    "estimator.save": lambda path: estimators.SVC().fit(X, Y).save(path),
    "reports.write": lambda path: qpsvm.reports.write(path, report()),
}


@pytest.mark.parametrize("path", NOT_PATHS, ids=str)
@pytest.mark.parametrize("name", WITH_PATHS)
def test_a_path_is_a_text_or_a_path(name: str, path: Any) -> None:
    """An integer would be one of the files that the program has opened."""
    with pytest.raises(QPSVMError, match=r"path is an? .*; pass the path of a file"):
        WITH_PATHS[name](path)


@pytest.mark.parametrize("odd", OTHERS)
def test_what_belongs_to_files_is_refused_by_name(odd: str, tmp_path: Path) -> None:
    value = OTHERS[odd]
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    for parameter in inspect.signature(qpsvm.datasets.load).parameters:
        if parameter != "path":
            refused_or_accepted(qpsvm.datasets.load, tmp_path / "a.csv", **{parameter: value})
    for parameter in ("scaling", "preparation", "feature_names", "report", "zero_based"):
        arguments = {parameter: value}
        refused_or_accepted(
            qpsvm.models.save, tmp_path / "m.npz", problem(), solution(), **arguments
        )
    for parameter in ("trace", "remarks", "facts", "source", "eps", "verified", "certificate"):
        refused_or_accepted(qpsvm.reports.build, problem(), solution(), **{parameter: value})
    refused_or_accepted(qpsvm.reports.write, tmp_path / "r.txt", value)
    refused_or_accepted(qpsvm.constraints.nonnegative, value)
    refused_or_accepted(qpsvm.constraints.LinearConstraints, [[1.0]], 1.0, names=value)


PATHS: dict[str, Any] = {
    "svm_path": lambda **odd: qpsvm.paths.svm_path(X, Y, C=[0.1, 1.0], **odd),
    "certified_path": lambda **odd: qpsvm.paths.certified_path(X, Y, C=(0.1, 1.0), **odd),
    "width_path": lambda **odd: qpsvm.paths.width_path(X, Y, gamma=[0.1, 1.0], **odd),
}


@pytest.mark.parametrize("odd", [name for name in OTHERS if name != "a class"])
@pytest.mark.parametrize("name", PATHS)
def test_a_path_along_parameters_refuses_odd_arguments(name: str, odd: str) -> None:
    for parameter in ("callback", "settings", "eps"):
        if parameter != "callback" or OTHERS[odd] is not None:
            with pytest.raises(QPSVMError, match=parameter):
                PATHS[name](**{parameter: OTHERS[odd]})


@pytest.mark.parametrize("odd", ["abc", [1], 0, 1.5, np.inf], ids=str)
def test_workers_are_counted(odd: Any) -> None:
    for search in (estimators.SVC(n_jobs=odd), qpsvm.selection.SVCSearch(C=[1.0], n_jobs=odd)):
        with pytest.raises(QPSVMError, match="n_jobs is"):
            search.fit(X, Y)


@pytest.mark.parametrize("odd", [-1, 0, True, 1.5, np.inf])
def test_a_polish_refuses_odd_limits(odd: Any) -> None:
    with pytest.raises(QPSVMError, match="memory_limit is"):
        qpsvm.polish(problem(), solution(), memory_limit=odd)
    if not (odd > 0) or odd is True:
        with pytest.raises(QPSVMError, match="time_limit is"):
            qpsvm.polish(problem(), solution(), time_limit=odd)


@pytest.mark.parametrize("odd", ["abc", None, 3, [[1.0]], np.eye(2)], ids=str)
def test_a_kernel_function_is_callable(odd: Any) -> None:
    with pytest.raises(QPSVMError, match=r"pass a callable .*kernel='precomputed'"):
        qpsvm.kernels.Custom(odd)


@pytest.mark.parametrize("y", [None, 3, [1, 2], ["1", "2", "3", "4"], [0.0, np.nan, 1.0, 2.0]])
def test_a_ranking_is_scored_by_one_number_per_sample(y: Any) -> None:
    ranker = estimators.SVMRanker().fit(X, [0, 1, 2, 3])
    with pytest.raises(QPSVMError, match="y"):
        ranker.score(X, y)


# --- numbers that change afterwards ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["coef", "alpha"])
@pytest.mark.parametrize("again", [lambda s: s, copy.deepcopy], ids=["as solved", "copied"])
def test_a_certificate_speaks_of_the_machine_it_was_made_of(name: str, again: Any) -> None:
    """A read-only array can have a view that was taken before, and is not read-only."""
    given = getattr(solution(), name).copy()
    view = given[:]
    given.flags.writeable = False
    found = again(solution().replace(**{name: given}))
    proof = qpsvm.certify(problem(), found)
    before, interval = proof.predict_certified(X), proof.intercept_bounds
    view *= -3.0
    assert proof.predict_certified(X).labels.tolist() == before.labels.tolist() == Y.tolist()
    assert proof.predict_certified(X).decided.tolist() == before.decided.tolist()
    assert proof.intercept_bounds == interval
    for stated in (found, proof.solution):
        assert getattr(stated, name).tolist() != view.tolist()
        with pytest.raises(ValueError, match="WRITEABLE"):
            getattr(stated, name).flags.writeable = True


def test_a_certificate_of_one_function_per_class_keeps_its_weights() -> None:
    three = np.array([0, 1, 1, 2])
    own = qpsvm.CrammerSinger(C=1.0).dual(X, three)
    found = qpsvm.solve(own)
    proof = qpsvm.certify(own, found)
    before = proof.decision_bounds(X).values
    object.__setattr__(found, "coef", np.full_like(found.coef, 7.0))
    assert proof.decision_bounds(X).values.tolist() == before.tolist()
    with pytest.raises(ValueError, match="WRITEABLE"):
        proof.solution.coef.flags.writeable = True
