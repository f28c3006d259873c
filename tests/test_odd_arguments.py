"""Flags, choices and numbers of kinds nobody expects: an error that names the argument."""

import copy
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
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
