"""Messages for what users pass in place of what a function takes: they say what was meant."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
import pytest
from sklearn import svm

import qpsvm
from qpsvm import estimators, formulations, kernels, reports
from qpsvm.exceptions import (
    InvalidDataError,
    InvalidParameterError,
    MissingArgumentError,
    QPSVMError,
    UnknownParameterError,
)
from qpsvm.formulations.keywords import MEANT, OF_FORMULATIONS

X, Y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1, -1, 1, 1])
PROBLEM = qpsvm.SoftMargin(C=1.0).dual(X, Y)
SOLUTION = qpsvm.solve(PROBLEM)
FITTED = estimators.SVC().fit(X, Y)

IN_PLACE_OF_A_PROBLEM = {
    "samples": (X, ["got ndarray", "SoftMargin(C=1.0).dual(X, y)"]),
    "a frame": (pd.DataFrame(X), ["got DataFrame", "dual(X, y)"]),
    "a formulation": (qpsvm.NuClassification(), ["NuClassification(...).dual(X, y)"]),
    "the class of one": (qpsvm.SoftMargin, ["the class SoftMargin", "SoftMargin(...).dual"]),
    "an estimator": (estimators.SVR(), ["got SVR", "SVR(...).fit(X, y)"]),
    "the class of an estimator": (estimators.SVC, ["the class SVC", "SVC(...).fit(X, y)"]),
    "a fitted estimator": (FITTED, ["problem_", "certificate_"]),
    "another library's": (svm.SVC(), ["qpsvm.audit(model, X, y)"]),
    "matrices": (PROBLEM.canonical(), ["QuadraticProgram(P, q, G, h, A, b)"]),
    "a solution": (SOLUTION, ["got SVMSolution", "pass the problem"]),
    "a file": ("heart.csv", ["got str", "qpsvm.datasets.load(path)"]),
    "the class of problems": (qpsvm.SVMProblem, ["the class SVMProblem"]),
    "nothing": (None, ["got NoneType", "dual(X, y)"]),
}


@pytest.mark.parametrize("name", IN_PLACE_OF_A_PROBLEM)
def test_solve_says_how_to_get_a_problem(name: str) -> None:
    thing, words = IN_PLACE_OF_A_PROBLEM[name]
    for arguments in ((thing,), (thing, Y)):
        with pytest.raises(InvalidParameterError) as caught:
            qpsvm.solve(*arguments)
        for word in words:
            assert word in str(caught.value)


@pytest.mark.parametrize("function", [qpsvm.verify, qpsvm.certify, qpsvm.polish, reports.build])
def test_functions_of_a_pair_say_what_they_miss(function: Callable[..., object]) -> None:
    with pytest.raises(MissingArgumentError, match=r"qpsvm\.solve\(problem\)"):
        function(PROBLEM)
    with pytest.raises(MissingArgumentError, match="solution_"):
        function(FITTED)
    with pytest.raises(InvalidParameterError, match="exchange the two"):
        function(SOLUTION, PROBLEM)


WRONG_KEYWORDS = {
    "tol": (lambda: qpsvm.solve(PROBLEM, tol=1e-3), ["solve()", "'tol'", "use eps"]),
    "solver": (lambda: qpsvm.solve(PROBLEM, solver="osqp"), ["use backend"]),
    "misspelt": (lambda: qpsvm.solve(PROBLEM, time_limt=1.0), ["use time_limit"]),
    "unlike any": (lambda: qpsvm.verify(PROBLEM, SOLUTION, colour=1), ["verify()", "eps"]),
    "misspelt C": (lambda: qpsvm.paths.svm_path(X, Y, Cs=[1.0]), ["svm_path()", "use C"]),
    "misspelt kernel": (lambda: qpsvm.SoftMargin().dual(X, Y, kernal="rbf"), ["use kernel"]),
    "misspelt loss": (lambda: qpsvm.SoftMargin(los="hinge"), ["SoftMargin()", "use loss"]),
    "of a solve": (
        lambda: qpsvm.SoftMargin(timeout=1.0),
        ["qpsvm.solve(problem, time_limit=...)"],
    ),
    "of a formulation": (
        lambda: qpsvm.OneVsOne(qpsvm.SoftMargin()).dual(X, Y, C=1.0),
        ["SoftMargin(C=...).dual(X, y)"],
    ),
    "without samples": (lambda: qpsvm.SoftMargin().dual(), ["dual()", "without X"]),
    "too many": (lambda: qpsvm.solve(*PROBLEM.canonical()), ["problem, backend", "by name"]),
    "too few": (lambda: qpsvm.audit(svm.SVC().fit(X, Y)), ["audit()", "without X"]),
}


@pytest.mark.parametrize("name", WRONG_KEYWORDS)
def test_a_call_that_does_not_fit_is_answered_with_the_parameters(name: str) -> None:
    call, words = WRONG_KEYWORDS[name]
    with pytest.raises(TypeError) as caught:
        call()
    assert isinstance(caught.value, QPSVMError)
    for word in words:
        assert word in str(caught.value)


MODULES = (
    qpsvm,
    qpsvm.kernels,
    qpsvm.formulations,
    qpsvm.estimators,
    qpsvm.constraints,
    qpsvm.classical,
    qpsvm.datasets,
    qpsvm.models,
    qpsvm.paths,
    qpsvm.selection,
)
RESULTS = ("Path", "Certificate", "Report", "Result", "Solution", "Problem", "Event", "Choice")
"""Ends of the names of classes that users get and do not call."""
NOT_CALLED = (
    "Audit",
    "LeaveOneOut",
    "SavedModel",
    "Trace",
    "DataFile",
    "KernelRepair",
    "conflicting",
    "combine",
)


def called_by_users() -> dict[str, Callable[..., object]]:
    """Functions and classes that users call, by name."""
    found = {}
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            is_code = inspect.isroutine(thing) or inspect.isclass(thing)
            if not is_code or inspect.isabstract(thing) or name in NOT_CALLED:
                continue
            if issubclass(thing, Protocol | BaseException) if inspect.isclass(thing) else False:
                continue
            if not name.endswith(RESULTS):
                found[f"{module.__name__}.{name}"] = thing
    return found


CALLED = called_by_users()


@pytest.mark.parametrize("name", CALLED)
def test_whatever_users_call_names_its_parameters(name: str) -> None:
    thing = CALLED[name]
    parameters = inspect.signature(thing).parameters
    with pytest.raises(UnknownParameterError, match="has no parameter 'nonsense'") as caught:
        thing(nonsense=1)
    assert all(parameter in str(caught.value) for parameter in parameters)
    kinds = {p.kind for p in parameters.values()}
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        with pytest.raises(
            UnknownParameterError, match=r"by position, and \d+ arguments are given"
        ):
            thing(*range(len(parameters) + 1))
    first = next(iter(parameters.values()), None)
    if first is not None and first.kind is first.POSITIONAL_OR_KEYWORD:
        with pytest.raises(QPSVMError, match=f"gets {first.name} twice|and its solution, got"):
            thing(1, **{first.name: 1})


OTHER_NAMES: dict[str, tuple[Callable[[], object], str]] = {
    "sigma": (lambda: kernels.RBF(sigma=2.0), "gamma=1 / (2 * sigma**2)"),
    "length_scale": (lambda: estimators.SVC(length_scale=2.0), "gamma=1 / (2 * length_scale**2)"),
    "d": (lambda: kernels.Polynomial(d=3), "degree"),
    "c": (lambda: kernels.Polynomial(c=1.0), "coef0"),
    "kernal": (lambda: estimators.SVR(kernal="rbf"), "kernel"),
}


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names_of_a_parameter_are_answered_with_its_own(name: str) -> None:
    call, own = OTHER_NAMES[name]
    with pytest.raises(UnknownParameterError, match=re.escape(f"no parameter {name!r}; use {own}")):
        call()


def test_the_gamma_that_is_named_is_that_of_the_width() -> None:
    """``exp(-|x - z|^2 / (2 sigma^2))``, the Gaussian of a width sigma."""
    sigma = 1.7
    with pytest.raises(UnknownParameterError) as caught:
        kernels.RBF(sigma=sigma)
    code = re.search(r"use gamma=(.*)\. Its", str(caught.value))
    assert code
    kernel = kernels.RBF(gamma=eval(code[1], {"sigma": sigma}))
    assert np.allclose(kernel(X, X), np.exp(-((X - X.T) ** 2) / (2.0 * sigma**2)))


def test_what_explains_its_calls_is_copied_and_pickled() -> None:
    for thing in (kernels.RBF(1.0), kernels.Custom(np.dot), qpsvm.OneVsOne(qpsvm.SoftMargin())):
        assert thing == copy.copy(thing) == pickle.loads(pickle.dumps(thing))


def own_parameters(name: str) -> set[str]:
    return set(inspect.signature(getattr(formulations, name)).parameters)


def test_parameters_that_other_formulations_have_are_named() -> None:
    assert "HardMargin" not in OF_FORMULATIONS["C"]
    with pytest.raises(UnknownParameterError, match=r"no slack.*SoftMargin\(C=\.\.\.\)"):
        qpsvm.HardMargin(C=1.0)
    with pytest.raises(UnknownParameterError, match="NuClassification"):
        qpsvm.SoftMargin(nu=0.5)
    for (name, keyword), remedy in MEANT.items():
        assert keyword not in own_parameters(name)
        with pytest.raises(UnknownParameterError) as caught:
            getattr(formulations, name)(**{keyword: 0.5})
        assert remedy in str(caught.value)


@pytest.mark.parametrize("keyword", OF_FORMULATIONS)
def test_the_formulations_that_are_named_have_the_parameter(keyword: str) -> None:
    words = OF_FORMULATIONS[keyword].replace(",", " ").split()
    named = [word for word in words if hasattr(formulations, word)]
    assert named
    assert all(keyword in own_parameters(name) for name in named)


def test_names_in_another_module_are_found() -> None:
    with pytest.raises(AttributeError, match=r"it is qpsvm\.estimators\.SVC"):
        _ = qpsvm.SVC
    with pytest.raises(AttributeError, match=r"it is qpsvm\.kernels\.RBF"):
        _ = qpsvm.RBF
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        _ = qpsvm.nothing


@pytest.mark.parametrize("kernel", ["gaussian", "RBF", "Poly"])
def test_other_names_of_kernels_are_understood_in_the_error(kernel: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"did you mean '(rbf|polynomial)'"):
        qpsvm.SoftMargin().dual(X, Y, kernel=kernel)


# --- estimators -----------------------------------------------------------------------------------


def test_estimators_say_where_a_number_is_missing_or_infinite() -> None:
    frame = pd.DataFrame({"age": [1.0, np.nan, 2.0, np.nan]})
    for machine in (estimators.SVC(), estimators.SVR(), estimators.OneClassSVM()):
        with pytest.raises(InvalidDataError, match=r"NaN in row 1, column 'age' \(2 such rows\)"):
            machine.fit(frame, Y)
    with pytest.raises(InvalidDataError, match=r"inf in row 3, column 0 \(1 such row\)"):
        FITTED.predict([[1.0], [2.0], [3.0], [np.inf]])
    with pytest.raises(InvalidDataError, match=r"y\[2\] is inf \(1 such target\)"):
        estimators.SVR().fit(X, [1.0, 2.0, np.inf, 3.0])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("size", [1e154, 1e200, 1e307])
def test_features_whose_squares_overflow_are_refused(kernel: str, size: float) -> None:
    with pytest.raises(InvalidDataError, match=r"row 1, column 0.*MaxAbsScaler"):
        estimators.SVC(kernel=kernel).fit(X * size, Y)


def test_values_of_a_kernel_are_not_squared() -> None:
    problem = qpsvm.SoftMargin().dual(X @ X.T * 1e200, Y, kernel="precomputed")
    assert problem.data.n_samples == len(X)


def test_names_of_parameters_in_errors_are_the_caller_s() -> None:
    with pytest.raises(InvalidParameterError, match="quantile is 50"):
        estimators.QuantileSVR(quantile=50).fit(X, Y)
    for n_jobs in ("all", 0, 1.5):
        with pytest.raises(InvalidParameterError, match="n_jobs is"):
            estimators.SVC(n_jobs=n_jobs).fit(X, [0, 1, 2, 1])
    with pytest.raises(InvalidDataError, match="mixes labels of kinds int, str"):
        estimators.SVC().fit(X, np.array([1, "1", 1, "1"], dtype=object))


REDUCED = qpsvm.OneVsRest(qpsvm.SoftMargin()).dual(X, [0, 1, 2, 2])
NOT_THERE = {
    "a formulation": (qpsvm.SoftMargin(), "fit", r"solve\(SoftMargin\(\.\.\.\)\.dual\(X, y\)\)"),
    "a reduction": (qpsvm.OneVsOne(qpsvm.SoftMargin()), "predict", r"solve\(OneVsOne\("),
    "another formulation": (qpsvm.CrammerSinger(), "score", r"estimators\.SVC"),
    "a problem": (PROBLEM, "solve", r"qpsvm\.solve\(problem\)"),
    "a multiclass problem": (
        qpsvm.OneVsRest(qpsvm.SoftMargin()).dual(X, [0, 1, 2, 2]),
        "fit",
        "SVC",
    ),
    "a program": (PROBLEM.qp, "solve", r"qpsvm\.solve\(problem\)"),
}


@pytest.mark.parametrize("name", NOT_THERE)
def test_methods_of_other_libraries_are_answered_with_what_to_call(name: str) -> None:
    thing, method, words = NOT_THERE[name]
    assert not hasattr(thing, method)
    with pytest.raises(AttributeError, match=f"no attribute '{method}'; .*{words}"):
        getattr(thing, method)
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        _ = thing.colour
    assert repr(copy.deepcopy(pickle.loads(pickle.dumps(thing)))) == repr(thing)


def test_text_in_a_frame_is_named_by_its_columns() -> None:
    frame = pd.DataFrame({"age": X[:, 0], "city": ["Lima"] * 4, "left": [True, False] * 2})
    with pytest.raises(InvalidDataError, match=r"not numbers: 'city' \(could not.*OneHotEncoder"):
        estimators.SVC().fit(frame, Y)
    with pytest.raises(InvalidDataError, match="not numbers: 'city'"):
        estimators.OneClassSVM().fit(frame)


def test_what_writes_and_saves_says_what_it_takes(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"got an SVMSolution; build one with"):
        reports.write(tmp_path / "report.html", SOLUTION)  # type: ignore[arg-type]
    with pytest.raises(MissingArgumentError, match="without solution"):
        qpsvm.models.save(tmp_path / "model.npz", SOLUTION)  # type: ignore[call-arg]
    with pytest.raises(UnknownParameterError, match=r"Ranking\(\.\.\.\)\.dual has it"):
        qpsvm.SoftMargin().dual(X, Y, groups=Y)  # type: ignore[call-arg]
