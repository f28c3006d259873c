"""A model whose own predict says something else than its stored numbers does not pass."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import SGDClassifier, SGDOneClassSVM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import qpsvm
from qpsvm import models, reports
from qpsvm.audits import Arrays
from qpsvm.exceptions import AuditRefusedError
from tests.audit.peers import BY_NAME, PEERS, cancer, diabetes, fitted, flowers, wine
from tests.strategies import listed

TIGHT = {"tol": 1e-10}
EPS = 1e-4
TWO, THREE, NUMBERS = cancer(80), wine(), diabetes(60)
CASES = {
    "SVC": (SVC(**TIGHT), TWO),
    "SVC, linear": (SVC(kernel="linear", **TIGHT), TWO),
    "SVC, three": (SVC(**TIGHT), THREE),
    "SVC, pairs": (SVC(decision_function_shape="ovo", **TIGHT), THREE),
    "SVC, ties": (SVC(break_ties=True, **TIGHT), THREE),
    "NuSVC": (NuSVC(nu=0.2, **TIGHT), THREE),
    "SVR": (SVR(**TIGHT), NUMBERS),
    "NuSVR": (NuSVR(**TIGHT), NUMBERS),
    "OneClassSVM": (OneClassSVM(nu=0.3, tol=1e-12), (flowers()[0], None)),
    "LinearSVC": (LinearSVC(tol=1e-10, max_iter=10**6), TWO),
    "LinearSVC, three": (LinearSVC(tol=1e-10, max_iter=10**6), THREE),
    "LinearSVC, joint": (
        LinearSVC(multi_class="crammer_singer", tol=1e-9, max_iter=10**6),
        THREE,
    ),
    "LinearSVR": (LinearSVR(tol=1e-10, epsilon=0.1, max_iter=10**6), NUMBERS),
    "pipeline": (make_pipeline(StandardScaler(), SVC(**TIGHT)), TWO),
}
EVERY = pytest.mark.parametrize("name", list(CASES))


def fitted_case(name):
    model, (X, y) = CASES[name]
    return copy.deepcopy(model).fit(X, y), X, y


def other(answer):
    """An answer of the same kind that is another one for two samples."""
    changed = answer.copy()
    if changed.dtype.kind == "f":
        changed[3] += 1e-3
        changed[7] -= 1e-3
        return changed
    labels = np.unique(answer)
    for i in (3, 7):
        changed[i] = labels[(np.searchsorted(labels, answer[i]) + 1) % len(labels)]
    return changed


def lying(model, method):
    """The same model in a subclass with another answer."""
    kind = type(model)
    own = getattr(kind, method)
    liar = type(kind.__name__, (kind,), {method: lambda self, X: other(own(self, X))})
    changed = copy.deepcopy(model)
    changed.__class__ = liar
    return changed


@pytest.mark.parametrize("name", [peer.name for peer in PEERS])
@pytest.mark.parametrize("tight", [False, True])
def test_fitted_models_predict_what_their_numbers_say(name, tight):
    if tight and not BY_NAME[name].stops[1]:
        return  # stochastic descent has one tolerance
    model, X, y, u = fitted(name, tight)
    own = qpsvm.audit(model, X, y, sample_weight=u, eps=1e-4).own_predictions
    assert own.passed, own
    assert own.n_differ == 0
    assert own.n_compared + own.n_undecided == X.shape[0]


@EVERY
def test_a_subclass_that_predicts_something_else(name):
    model, X, y = fitted_case(name)
    honest = qpsvm.audit(model, X, y, eps=EPS)
    assert honest.passed
    assert honest.own_predictions.passed
    found = qpsvm.audit(lying(model, "predict"), X, y, eps=EPS)
    assert not found.passed
    assert found.own_predictions.n_differ == 2
    assert f"numbers for 2 of {len(X)} training samples" in found.verdict
    assert found.relative_gap == honest.relative_gap  # of the stored numbers
    assert all(machine.report.checks[-1].name == "own_predictions" for machine in found.machines)
    assert not any(machine.passed for machine in found.machines)


@EVERY
def test_an_instance_that_predicts_something_else(name):
    model, X, y = fitted_case(name)
    own = model.predict
    model.predict = lambda samples: other(own(samples))
    found = qpsvm.audit(model, X, y, eps=EPS)
    assert (found.passed, found.own_predictions.n_differ) == (False, 2)


@pytest.mark.parametrize("name", [name for name in CASES if "SVR" not in name])
@pytest.mark.parametrize(
    "changed",
    [
        lambda values: values + 1e-6,
        lambda values: values[:-1],
        lambda values: values + 1e-3j,
        lambda values: np.ma.masked_greater(values, 0.0),
        lambda values: np.full(values.shape, np.nan),
    ],
    ids=["moved", "short", "complex", "masked", "nan"],
)
def test_a_decision_function_that_is_another_one(name, changed):
    model, X, y = fitted_case(name)
    own = model.decision_function
    model.decision_function = lambda samples: changed(own(samples))
    found = qpsvm.audit(model, X, y, eps=EPS)
    assert not found.passed
    assert found.own_predictions.worst > 1.0
    model.decision_function = lambda samples: own(samples) * (1.0 + 1e-15)
    assert qpsvm.audit(model, X, y, eps=EPS).passed  # rounding


@pytest.mark.parametrize(
    "answer",
    [
        lambda labels: labels[:-1],
        lambda labels: labels[:, None],
        lambda labels: np.ma.masked_array(labels, mask=np.arange(len(labels)) < 5),
        lambda labels: labels.astype(object) == "x",
        lambda labels: np.full(len(labels), None),
        lambda labels: np.array([Anything(label) for label in labels], dtype=object),
    ],
)
def test_answers_that_are_no_labels(answer):
    model, X, y = fitted_case("SVC")
    own = model.predict
    model.predict = lambda samples: answer(own(samples))
    found = qpsvm.audit(model, X, y, eps=EPS)
    assert not found.passed
    assert found.own_predictions.n_differ > 0


class Anything(str):
    """A label that is equal to every other one."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        return True


def test_numbers_beside_the_stored_ones_that_predict():
    X, y = THREE
    model = SVC(**TIGHT).fit(X, y)
    assert qpsvm.audit(model, X, y, eps=EPS).passed
    model._n_support = np.roll(model._n_support, 1)
    found = qpsvm.audit(model, X, y, eps=EPS)
    assert not found.passed
    changed = model.predict(X) != SVC(**TIGHT).fit(X, y).predict(X)
    assert found.own_predictions.n_differ == np.count_nonzero(changed)
    assert found.own_predictions.n_differ > 0


def test_one_of_two_private_copies_turned_around():
    X, y = TWO
    model = SVC(**TIGHT).fit(X, y)
    model._intercept_ = -model._intercept_  # what predicts is -sum + b
    found = qpsvm.audit(model, X, y, eps=EPS)
    assert not found.passed
    assert found.own_predictions.worst > 1.0


def test_samples_on_the_boundary_are_not_compared():
    # the two copies of a point in both classes have f = 0 but for rounding
    X = np.array([[-1.0], [1.0], [0.0], [0.0]])
    y = np.array([0, 1, 0, 1])
    model = SVC(kernel="linear", C=1.0, tol=1e-12).fit(X, y)
    own = model.predict
    model.predict = lambda samples: np.where(np.abs(samples[:, 0]) > 0.5, own(samples), 1)
    found = qpsvm.audit(model, X, y, eps=EPS)
    assert found.passed
    assert (found.own_predictions.n_compared, found.own_predictions.n_undecided) == (2, 2)
    model.predict = lambda samples: np.where(np.abs(samples[:, 0]) > 0.5, 1, own(samples))
    assert not qpsvm.audit(model, X, y, eps=EPS).passed


@listed("offset", [0.0, 1e4, 1e7], quick=2)
def test_an_offset_of_the_data_is_no_lie(offset):
    some = slice(None, None, 1 if offset < 1e7 else 3)
    X, y = TWO[0][some, :3] + offset, TWO[1][some]
    for model in (SVC(kernel="linear"), SVC(gamma=0.5), LinearSVC(max_iter=50)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # neither converges, and no optimum is this exact
            found = qpsvm.audit(model.fit(X, y), X, y, optimum=True, eps=1e-3)
        assert found.own_predictions.passed


@pytest.mark.parametrize("model", [SGDClassifier(random_state=0), SGDOneClassSVM(random_state=0)])
def test_single_precision_is_no_lie(model):
    X = TWO[0].astype(np.float32)
    model.fit(X, TWO[1])
    assert model.coef_.dtype == np.float32
    assert qpsvm.audit(model, X, TWO[1]).own_predictions.passed


def test_column_names_and_sparse_samples():
    X, y = TWO
    frame = pd.DataFrame(X, columns=[f"feature {i}" for i in range(X.shape[1])])
    for trained, given in ((frame, X), (X, frame), (X, sp.csr_array(X)), (sp.csr_matrix(X), X)):
        found = qpsvm.audit(SVC(**TIGHT).fit(trained, y), given, y, eps=EPS)
        assert found.passed
        assert found.own_predictions.n_compared > 70


def test_kernel_functions_and_samples_that_are_no_numbers():
    words, y = ["ant", "tan", "bee", "web", "net", "ebb"], [0, 0, 1, 1, 0, 1]

    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in np.ravel(B)] for a in np.ravel(A)])

    K = shared(words, words)
    found = qpsvm.audit(SVC(kernel="precomputed", **TIGHT).fit(K, y), K, y, eps=EPS)
    assert found.passed
    assert found.own_predictions.n_compared > 0
    X, labels = TWO
    model = SVC(kernel=lambda A, B: (1.0 + A @ B.T) ** 2, **TIGHT).fit(X, labels)
    assert qpsvm.audit(model, X, labels, eps=EPS).own_predictions.passed


def test_a_model_that_cannot_predict_is_refused():
    model, X, y = fitted_case("SVC")
    for name in ("predict", "decision_function"):
        broken = copy.deepcopy(model)
        setattr(broken, name, lambda samples: samples.nothing)
        with pytest.raises(AuditRefusedError, match=r"cannot predict its own.*AttributeError"):
            qpsvm.audit(broken, X, y)


def test_a_saved_model_that_predicts_something_else(tmp_path):
    X, y = TWO
    problem = qpsvm.SoftMargin(1.0).dual(X, y, kernel=qpsvm.kernels.RBF(0.05))
    solution = qpsvm.solve(problem)
    models.save(tmp_path / "model.npz", problem, solution, qpsvm.verify(problem, solution))
    saved = models.load(tmp_path / "model.npz")
    assert qpsvm.audit(saved, X, y).own_predictions.passed
    own = saved.predict
    object.__setattr__(saved, "predict", lambda samples: other(own(samples)))
    found = qpsvm.audit(saved, X, y)
    assert (found.passed, found.own_predictions.n_differ) == (False, 2)


@pytest.mark.parametrize(
    "formulation",
    [
        qpsvm.OneVsOne(qpsvm.SoftMargin(1.0)),
        qpsvm.OneVsOne(qpsvm.SoftMargin(1.0), break_ties=False),
        qpsvm.OneVsRest(qpsvm.SoftMargin(1.0)),
        qpsvm.CrammerSinger(1.0),
    ],
)
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_saved_model_of_three_classes_predicts_what_it_stores(tmp_path, formulation, form):
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], np.array(["c", "a", "b"])[y[::5]]
    problem = getattr(formulation, form)(X, y)
    solution = qpsvm.solve(problem)
    models.save(tmp_path / "model.npz", problem, solution)
    saved = models.load(tmp_path / "model.npz")
    found = qpsvm.audit(saved, X, y)
    assert found.passed, found
    assert found.own_predictions.n_compared > 25
    own = saved.predict
    object.__setattr__(saved, "predict", lambda samples: np.roll(own(samples), 1))
    expected = np.count_nonzero(own(X) != saved.predict(X))
    assert qpsvm.audit(saved, X, y).own_predictions.n_differ == expected > 0


def test_plain_numbers_have_no_predict():
    X, y = TWO
    solution = qpsvm.solve(qpsvm.SoftMargin(1.0).dual(X, y))
    found = qpsvm.audit(Arrays(qpsvm.SoftMargin(1.0), solution.intercept, solution.alpha), X, y)
    assert found.passed
    assert found.own_predictions is None


def test_the_finding_is_in_every_output():
    model, X, y = fitted_case("SVC")
    found = qpsvm.audit(lying(model, "predict"), X, y, eps=EPS)
    assert found.to_dict()["own_predictions"]["n_differ"] == 2
    assert "own_predictions" in str(found)
    assert "own predictions differ from those of its stored numbers" in str(found)
    page = found.report()
    assert not page.reports[0].passed
    assert "own predictions differ from those of its stored numbers" in reports.text_of(
        page, "json"
    )


def test_a_ball_on_a_kernel_matrix_is_audited():
    X = flowers()[0][:40]
    kernel = qpsvm.kernels.Polynomial(0.1, 2, 1.0)
    K = kernel(X, X)
    best = qpsvm.solve(qpsvm.DataDescription(0.1).dual(X, kernel=kernel), eps=1e-10)
    numbers = qpsvm.DataDescription(0.1), best.intercept, best.alpha
    found = qpsvm.audit(Arrays(*numbers, kernel="precomputed"), K)
    assert found.passed
    assert found.machines[0].optimum.predictions_differ == 0
    assert found.machines[0].optimum.decision_change < 1e-6
