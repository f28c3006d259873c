"""Estimators whose attributes are not what a fit leaves: refused, failed, or the same as before.

Every attribute of every kind of estimator is set to everything it must not be. The libraries' own
predictions would read past the end of an array that is too short, so this also shows that nothing
of the kind is reached.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.linear_model import SGDClassifier, SGDOneClassSVM
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import qpsvm
from qpsvm.exceptions import AuditRefusedError, InvalidDataError, QPSVMError
from tests.strategies import PARTS, numbered

X2, Y2 = make_blobs(20, centers=[[-1.0, -1.0], [1.0, 1.0]], random_state=0)
X3, Y3 = make_blobs(24, centers=[[-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]], random_state=0)
T2 = X2 @ [1.0, 2.0] + np.sin(np.arange(20.0))
TIGHT = {"tol": 1e-10}
SURE = {"tol": 1e-10, "max_iter": 10**6}
CASES = {
    "SVC": (SVC(**TIGHT), X2, Y2),
    "SVC, three": (SVC(kernel="poly", coef0=1.0, **TIGHT), X3, Y3),
    "SVC, sparse": (SVC(kernel="linear", **TIGHT), sp.csr_matrix(X2), Y2),
    "SVC, matrix": (SVC(kernel="precomputed", **TIGHT), X2 @ X2.T, Y2),
    "NuSVC": (NuSVC(nu=0.4, **TIGHT), X3, Y3),
    "SVR": (SVR(**TIGHT), X2, T2),
    "NuSVR": (NuSVR(**TIGHT), X2, T2),
    "OneClassSVM": (OneClassSVM(nu=0.3, tol=1e-12), X2, None),
    "LinearSVC": (LinearSVC(**SURE), X2, Y2),
    "LinearSVC, three": (LinearSVC(**SURE), X3, Y3),
    "LinearSVR": (LinearSVR(epsilon=0.1, **SURE), X2, T2),
    "SGDClassifier": (SGDClassifier(random_state=0), X2, Y2),
    "SGDOneClassSVM": (SGDOneClassSVM(random_state=0), X2, None),
}
EPS = 1e-4


class Deleted:
    """In place of a value: the attribute is taken away."""


ANYTHING = {
    "deleted": Deleted,
    "None": None,
    "text": "x",
    "NaN": float("nan"),
    "infinite": float("inf"),
    "negative": -1,
    "zero": 0,
    "huge": 1e300,
    "complex": 1 + 2j,
    "list": [1, 2],
    "object": object(),
    "empty": np.zeros(0),
    "True": True,
}


def replacements(value):
    """(what, value) for every way to spoil an attribute."""
    yield from ANYTHING.items()
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        yield from (("doubled", 2 * value), ("one more", value + 1), ("as text", str(value)))
    if isinstance(value, tuple):
        yield from (("shorter", value[:-1]), ("one more", tuple(n + 1 for n in value)))
    if isinstance(value, np.ndarray) or sp.issparse(value):
        array = value.toarray() if sp.issparse(value) else value
        yield from (
            ("longer", np.concatenate([array, array])),
            ("shorter", array[:-1]),
            ("turned around", array[::-1].copy()),
            ("rolled", np.roll(array, 1, axis=-1)),
            ("transposed", array.T),
            ("flat", array.ravel()),
            ("one more axis", array[..., None]),
            ("objects", array.astype(object)),
            ("texts", array.astype(str)),
            ("of None", np.full(array.shape, None)),
        )
        if array.dtype.kind in "if" and array.size:
            first = np.arange(array.size).reshape(array.shape) == 0
            yield from (
                ("negated", -array),
                ("one percent more", 1.01 * array),
                ("with an imaginary part", array + 1j),
                ("masked", np.ma.masked_array(array, mask=first)),
                ("with NaN", np.where(first, np.nan, array)),
                ("with a large one", np.where(first, 10**6, array)),
                ("single", array.astype(np.float32)),
                ("sparse", sp.csr_matrix(np.atleast_2d(array))),
            )


def spoiled(model, n, part):
    """(attribute, what, model) for n attributes and replacements of those drawn from all."""
    every = [
        (name, what, other)
        for name, value in vars(model).items()
        for what, other in replacements(value)
    ]
    assert len(every) > PARTS * n
    drawn = np.random.default_rng(0).permutation(len(every))[: PARTS * n]
    for i in np.sort(drawn)[part::PARTS]:  # some of every attribute in each part
        name, what, other = every[i]
        changed = copy.deepcopy(model)
        if other is Deleted:
            delattr(changed, name)
        else:
            setattr(changed, name, copy.deepcopy(other))
        yield name, what, changed


def same(one, other):
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.filterwarnings("ignore")  # of prices of 1e300
@numbered("part", 3, quick=1)  # of five: every audit here solves a program
@pytest.mark.parametrize("name", list(CASES))
def test_an_attribute_that_is_not_what_it_should_be(name, part):
    model, X, y = CASES[name]
    model = copy.deepcopy(model).fit(X, y)
    honest = qpsvm.audit(model, X, y, eps=EPS)
    assert honest.passed or "SGD" in name
    predicted, messages, failed = model.predict(X), [], 0
    dual = hasattr(model, "dual_coef_")
    n = 30 if dual else 12  # without multipliers every audit solves the program
    for attribute, what, changed in spoiled(model, n, part):
        try:
            found = qpsvm.audit(changed, X, y, eps=EPS, optimum=not dual)
        except QPSVMError as error:
            messages.append(str(error))
            continue
        failed += not found.passed
        assert not found.passed or same(changed.predict(X), predicted), (attribute, what)
    assert len(messages) >= 2
    assert min(map(len, messages)) > 40
    assert len(messages) + failed < n or not honest.passed  # what changes nothing passes


def fresh(name="SVC"):
    model, X, y = CASES[name]
    return copy.deepcopy(model).fit(X, y), X, y


@pytest.mark.parametrize(
    ("case", "attribute", "value", "match"),
    [
        ("SVC", "support_vectors_", Deleted, "has no support_vectors_.*fit it again"),
        ("SVC", "support_vectors_", lambda v: v[:-1], "support vectors of shape"),
        ("SVC", "shape_fit_", Deleted, "has no shape_fit_"),
        ("SVC", "shape_fit_", "x", "shape_fit_ = 'x', which must be a shape"),
        ("SVC", "support_", lambda v: v + 10**6, "has a support vector number 10000"),
        ("SVC", "support_", lambda v: v.astype(float), "must be a vector of integers"),
        ("SVC", "support_", lambda v: v[np.r_[0, 0, 2 : len(v)]], "not the support vector|twice"),
        ("SVC", "classes_", lambda v: v[:1], "classes_ = .*must be two or more labels"),
        ("SVC", "classes_", lambda v: v[[0, 0]], "must all be different"),
        ("SVC", "_n_support", lambda v: v + 1, "has n_support_ = "),
        ("SVC", "_intercept_", None, "_intercept_ = None, which must hold real numbers"),
        ("SVC", "_gamma", "x", "_gamma = 'x', which must hold real numbers"),
        ("SVC", "_gamma", Deleted, "cannot predict its own training data.*_gamma"),
        ("SVC", "gamma", 5.0, r"states gamma=5\.0 and predicts with"),
        ("SVC", "kernel", np.zeros(3), "qpsvm has no kernel"),
        ("SVC", "C", "x", "C = 'x', which must hold real numbers"),
        ("SVC", "tol", None, "tol = None"),
        ("SVC", "n_features_in_", 7, "cannot predict its own training data"),
        ("SVC", "class_weight_", lambda v: v[:1], r"class_weight_ of shape \(1,\)"),
        ("SVC", "probability", True, "fitted without probabilities"),
        ("SVC, three", "degree", 2.5, "degree = 2.5, which must be a whole number"),
        ("SVC, three", "dual_coef_", lambda v: v[:1], "predicts with other numbers"),
        ("SVC, three", "classes_", lambda v: v[:2], r"classes 0, 1, y has|dual_coef_ of shape"),
        ("SVC, three", "dual_coef_", lambda v: v + 1j, "dual_coef_ = .*complex"),
        ("SVR", "_n_support", lambda v: v[:1], "has n_support_ = "),
        ("LinearSVC", "coef_", lambda v: v + 1j, "coef_ = .*complex"),
        ("LinearSVC", "coef_", lambda v: np.ma.masked_array(v, mask=v > 0), "masked array as coef"),
        ("LinearSVC, three", "coef_", lambda v: v[:2], "shape|numbers in intercept_ for 2"),
        ("LinearSVC, three", "intercept_", lambda v: v[:2], "2 numbers in intercept_ for 3"),
        ("LinearSVC", "class_weight", "x", "class_weight = 'x', which scikit-learn does not take"),
        ("LinearSVC", "classes_", Deleted, "has no classes_"),
        ("SGDClassifier", "alpha", 0.0, "alpha = 0, which must be above 0"),
        ("SGDClassifier", "n_iter_", None, "n_iter_ = None"),
    ],
)
def test_the_refusal_names_attribute_and_value(case, attribute, value, match):
    model, X, y = fresh(case)
    if value is Deleted:
        delattr(model, attribute)
    else:
        setattr(model, attribute, value(getattr(model, attribute)) if callable(value) else value)
    with pytest.raises((AuditRefusedError, InvalidDataError), match=f"(?s){match}"):
        qpsvm.audit(model, X, y)


def test_parameters_changed_after_the_fit_do_not_pass():
    for attribute, value in (("C", 0.1), ("kernel", "linear"), ("break_ties", None)):
        model, X, y = fresh()
        setattr(model, attribute, value)
        found = qpsvm.audit(model, X, y, eps=EPS)
        assert found.passed == (attribute == "break_ties")


@pytest.mark.parametrize("name", ["LinearSVC", "LinearSVC, three", "SGDClassifier"])
def test_sparse_weights_are_the_dense_ones(name):
    model, X, y = fresh(name)
    dense = qpsvm.audit(model, X, y, eps=EPS)
    model.sparsify()
    assert sp.issparse(model.coef_)
    found = qpsvm.audit(model, X, y, eps=EPS)
    assert found.passed == dense.passed
    assert found.relative_gap == dense.relative_gap
    assert found.own_predictions.passed
    piped = make_pipeline(StandardScaler(with_mean=False, with_std=False), model)
    piped[0].fit(X)
    assert qpsvm.audit(piped, X, y, eps=EPS).relative_gap == dense.relative_gap


def test_sparse_support_vectors_stay_sparse():
    wide = sp.random(30, 10**5, density=1e-4, format="csr", random_state=0)
    y = np.arange(30) % 2
    found = qpsvm.audit(SVC(kernel="linear", **TIGHT).fit(wide, y), wide, y, optimum=False, eps=EPS)
    assert found.passed


def test_a_pipeline_without_steps_is_refused() -> None:
    with pytest.raises(AuditRefusedError, match="no steps"):
        qpsvm.audit(Pipeline([]), np.eye(4), [1, 1, -1, -1])
