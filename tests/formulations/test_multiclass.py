"""Several classes by two-class machines: the parts, their sum, and scikit-learn beside it."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import pickle
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import qpsvm
from qpsvm import (
    EpsilonRegression,
    HardMargin,
    L1Norm,
    LeastSquares,
    NuClassification,
    SoftMargin,
    formulations,
    kernels,
)
from qpsvm.backends.base import Progress
from qpsvm.exceptions import (
    InvalidDataError,
    InvalidParameterError,
    MissingArgumentError,
    NotSeparableError,
    ToleranceNotReachedWarning,
)
from qpsvm.formulations.crammer_singer import CrammerSinger
from qpsvm.formulations.family import Classifier
from qpsvm.formulations.multiclass import OneVsOne, OneVsRest
from qpsvm.qp import Status
from tests.strategies import grid
from tests.tolerances import SAME_DECISION, SAME_OBJECTIVE

EPS = 1e-8
REDUCTIONS = (OneVsRest, OneVsOne)
FORMS = ("primal", "dual")
RBF = kernels.RBF(0.4)
BOTH = pytest.mark.parametrize("reduction", REDUCTIONS)
EITHER = pytest.mark.parametrize("form", FORMS)


def clouds(n=40, k=4, seed=3):
    """Overlapping clouds of k classes, whose labels are in no order."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    centres = 2.0 * rng.normal(size=(k, 3))
    labels = np.array(["pear", "apple", "fig", "date"])[codes]
    return rng.normal(size=(n, 3)) + centres[codes], labels


NEW = 2.0 * np.random.default_rng(9).normal(size=(50, 3))


def solved(problem, **options):
    """A verified solution."""
    solution = qpsvm.solve(problem, eps=EPS, **options)
    assert solution.status is Status.OPTIMAL
    assert qpsvm.verify(problem, solution, eps=EPS).passed
    return solution


@cache
def base(reduction, form, kernel="linear"):
    problem = getattr(reduction(SoftMargin(0.7)), form)(*clouds(), kernel=kernel)
    return problem, solved(problem)


# --- the parts ------------------------------------------------------------------------------------


@EITHER
@pytest.mark.parametrize("kernel", ["linear", RBF], ids=str)
def test_every_part_is_the_two_class_problem_anyone_would_write(form, kernel):
    samples, labels = clouds()
    family = SoftMargin(0.7)
    classes = ["apple", "date", "fig", "pear"]
    rest = getattr(OneVsRest(family), form)(samples, labels, kernel=kernel)
    assert rest.names == tuple(f"{label} against the rest" for label in classes)
    for part, label in zip(rest.problems, classes, strict=True):
        expected = getattr(family, form)(samples, labels == label, kernel=kernel)
        assert part.qp.fingerprint() == expected.qp.fingerprint()
        assert part.formulation == family
    one = getattr(OneVsOne(family), form)(samples, labels, kernel=kernel)
    pairs = list(itertools.combinations(classes, 2))
    assert one.names == tuple(f"{a} against {b}" for a, b in pairs)
    for part, pair in zip(one.problems, pairs, strict=True):
        rows = np.flatnonzero(np.isin(labels, pair))
        expected = getattr(family, form)(samples[rows], labels[rows], kernel=kernel)
        assert part.qp.fingerprint() == expected.qp.fingerprint()
        assert part.data.classes.tolist() == list(pair)
        # samples keep the caller's numbers
        np.testing.assert_array_equal(part.data.kept, rows)


def test_one_against_the_rest_evaluates_one_kernel_matrix():
    samples, labels = clouds()
    calls = []

    class Counting(kernels.RBF):
        def __call__(self, X, Z):
            calls.append((len(X), len(Z)))
            return super().__call__(X, Z)

    problem = OneVsRest(SoftMargin()).dual(samples, labels, kernel=Counting(0.4))
    grams = {id(part.model.gram.gram) for part in problem.problems}
    assert len(grams) == 1
    assert {id(part.qp.P.gram) for part in problem.problems} == grams
    assert {id(part.recovery.model) for part in problem.problems} == {
        id(part.model) for part in problem.problems
    }
    solution = qpsvm.solve(problem)
    assert calls.count((40, 40)) == 1
    assert qpsvm.verify(problem, solution).passed  # evaluates a kernel that is not ours anew
    assert calls.count((40, 40)) == 1 + len(problem.problems)


def test_parameters_that_depend_on_the_data_are_those_of_all_samples():
    samples, labels = clouds()
    problem = OneVsOne(SoftMargin()).dual(samples, labels, kernel="rbf")
    gamma = kernels.RBF().resolve(samples).gamma
    assert {part.kernel.gamma for part in problem.problems} == {gamma}


@BOTH
def test_a_problem_says_what_it_is(reduction):
    problem, solution = base(reduction, "dual")
    for word in (reduction.__name__, "SoftMargin(C=0.7)", "dual", "linear kernel", "4 classes"):
        assert word in repr(problem)
    assert problem.classes.tolist() == ["apple", "date", "fig", "pear"]
    assert f"{len(problem.problems)} machines" in repr(solution)


TWO_CLASS = (
    SoftMargin(0.5, "penalized", "squared_hinge"),
    HardMargin(),
    NuClassification(0.2),
    LeastSquares(2.0),
    L1Norm(3.0),
)


# --- the sum of the parts -------------------------------------------------------------------------


# LIBSVM takes seconds for a linear machine of one class against the rest: not the first kernel
@grid("reduction, form, kernel", product(REDUCTIONS, FORMS, [RBF, "linear"]))
def test_it_decides_as_scikit_learn_does(reduction, kernel, form):
    reference = {OneVsRest: OneVsRestClassifier, OneVsOne: OneVsOneClassifier}[reduction]
    samples, labels = clouds()
    _, solution = base(reduction, form, kernel)
    options = {"kernel": "linear"} if kernel == "linear" else {"kernel": "rbf", "gamma": 0.4}
    theirs = reference(SVC(C=0.7, tol=1e-9, **options)).fit(samples, labels)
    np.testing.assert_allclose(
        solution.decision_function(NEW), theirs.decision_function(NEW), atol=SAME_DECISION
    )
    np.testing.assert_array_equal(solution.predict(NEW), theirs.predict(NEW))
    expected = theirs.predict(NEW)
    assert solution.score(NEW, expected) == 1.0
    assert solution.score(NEW, np.roll(expected, 1)) < 1.0


def test_one_against_one_is_what_svc_does():
    X, y = load_iris(return_X_y=True)
    theirs = SVC(C=1.0, tol=1e-9, decision_function_shape="ovr").fit(X, y)
    solution = solved(OneVsOne(SoftMargin(1.0)).dual(X, y, kernel="rbf"))
    np.testing.assert_allclose(
        solution.decision_function(X), theirs.decision_function(X), atol=SAME_DECISION
    )
    np.testing.assert_array_equal(solution.predict(X), theirs.predict(X))
    for part, row in zip(solution.solutions, theirs._intercept_.tolist(), strict=True):
        assert part.intercept == pytest.approx(-row, abs=SAME_DECISION)


def test_votes_by_hand():
    # f_12, f_13, f_23: 1 beats 2, 3 beats 1, 2 beats 3: a tie that the sums decide
    decisions = np.array([[-2.0, 1.0, -0.5]])
    sums = np.array([2.0 - 1.0, -2.0 + 0.5, 1.0 - 0.5])
    expected = 1.0 + sums / (3.0 * (np.abs(sums) + 1.0))
    np.testing.assert_allclose(OneVsOne(SoftMargin()).combine(decisions, 3), [expected])
    # a decision value of zero speaks for the smaller label
    np.testing.assert_array_equal(OneVsOne(SoftMargin()).combine(np.zeros((1, 1)), 2), [[1.0, 0.0]])


@grid("reduction, form, family", product(REDUCTIONS, FORMS, TWO_CLASS))
def test_any_two_class_formulation_will_do(reduction, form, family):
    rng = np.random.default_rng(0)
    codes = np.arange(30) % 3
    # three corners of a triangle: each can be cut off from the others
    samples = (
        0.4 * rng.normal(size=(30, 2)) + np.array([[4.0, 0.0], [-2.0, 3.5], [-2.0, -3.5]])[codes]
    )
    problem = getattr(reduction(family), form)(samples, codes)
    solution = solved(problem)
    assert solution.score(samples, codes) == 1.0
    assert qpsvm.certify(problem, solution).passed(EPS)


@BOTH
@EITHER
def test_two_classes_are_the_two_class_machine(reduction, form):
    samples, labels = clouds(30, 2)
    reduced = solved(getattr(reduction(SoftMargin(0.7)), form)(samples, labels))
    plain = qpsvm.solve(getattr(SoftMargin(0.7), form)(samples, labels))
    np.testing.assert_array_equal(reduced.predict(NEW), plain.predict(NEW))
    assert reduced.decision_function(NEW).shape == (50, 2)
    f = reduced.solutions[-1].decision_function(NEW)
    np.testing.assert_allclose(f, plain.decision_function(NEW), atol=SAME_DECISION)


# --- laws -----------------------------------------------------------------------------------------


def objective(problem, solution):
    proofs = qpsvm.certify(problem, solution).certificates
    return sum(proof.primal_objective for proof in proofs)


def assert_same(problem, other):
    one, two = solved(problem), solved(other)
    assert objective(other, two) == pytest.approx(objective(problem, one), rel=SAME_OBJECTIVE)
    np.testing.assert_allclose(
        two.decision_function(NEW), one.decision_function(NEW), atol=SAME_DECISION
    )
    return one, two


@grid("reduction, form, kernel", product(REDUCTIONS, FORMS, ["linear", RBF]))
def test_a_weight_of_two_is_a_repeated_row_and_zero_a_missing_one(reduction, form, kernel):
    samples, labels = clouds()
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0])[np.arange(40) % 5]
    rows = np.repeat(np.arange(40), weights.astype(int))
    build = getattr(reduction(SoftMargin(0.7)), form)
    problem = build(samples, labels, kernel=kernel, sample_weight=weights)
    assert_same(problem, build(samples[rows], labels[rows], kernel=kernel))
    assert not np.isin(np.flatnonzero(weights == 0), problem.problems[0].data.kept).any()


@BOTH
def test_sparse_samples_are_dense_ones(reduction):
    samples, labels = clouds()
    samples = np.where(np.abs(samples) < 0.7, 0.0, samples)
    build = reduction(SoftMargin(0.7)).dual
    assert_same(build(samples, labels), build(sp.csr_array(samples), labels))


@BOTH
@EITHER
def test_a_precomputed_kernel_is_the_kernel(reduction, form):
    samples, labels = clouds()
    weights = np.where(np.arange(40) % 9 == 0, 0.0, 1.0)
    build = getattr(reduction(SoftMargin(0.7)), form)
    one = solved(build(samples, labels, kernel=RBF, sample_weight=weights))
    K = RBF(samples, samples)
    two = solved(build(K, labels, kernel="precomputed", sample_weight=weights))
    np.testing.assert_allclose(
        two.decision_function(RBF(NEW, samples)), one.decision_function(NEW), atol=SAME_DECISION
    )


@BOTH
def test_other_names_for_the_classes_permute_the_columns(reduction):
    samples, labels = clouds()
    renamed = np.array([{"apple": 30, "date": 40, "fig": 10, "pear": 20}[v] for v in labels])
    one = solved(reduction(SoftMargin(0.7)).dual(samples, labels))
    two = solved(reduction(SoftMargin(0.7)).dual(samples, renamed))
    np.testing.assert_allclose(
        two.decision_function(NEW)[:, [2, 3, 0, 1]],
        one.decision_function(NEW),
        atol=SAME_DECISION,
    )


@BOTH
def test_class_weights_by_label_are_sample_weights(reduction):
    samples, labels = clouds()
    factors = np.where(labels == "fig", 3.0, np.where(labels == "date", 0.5, 1.0))
    assert_same(
        reduction(SoftMargin(0.7)).dual(samples, labels, sample_weight=factors),
        reduction(SoftMargin(0.7, class_weight={"fig": 3.0, "date": 0.5})).dual(samples, labels),
    )
    with pytest.raises(InvalidParameterError, match="class_weight names the class 'plum'"):
        reduction(SoftMargin(class_weight={"plum": 2.0})).dual(samples, labels)


@pytest.mark.parametrize(
    ("reduction", "reference"),
    [(OneVsRest, OneVsRestClassifier), (OneVsOne, OneVsOneClassifier)],
)
def test_balanced_is_balanced_in_every_part(reduction, reference):
    samples, labels = clouds()
    solution = solved(reduction(SoftMargin(0.7, class_weight="balanced")).dual(samples, labels))
    theirs = reference(SVC(C=0.7, kernel="linear", class_weight="balanced", tol=1e-9))
    np.testing.assert_allclose(
        solution.decision_function(NEW),
        theirs.fit(samples, labels).decision_function(NEW),
        atol=SAME_DECISION,
    )


@BOTH
def test_column_names_and_labels_of_any_kind(reduction):
    samples, labels = clouds()
    frame = pd.DataFrame(samples, columns=["x", "y", "z"])
    series = pd.Series(labels, dtype="category")
    solution = solved(reduction(SoftMargin(0.7)).primal(frame, series))
    assert set(solution.predict(frame)) <= {"apple", "date", "fig", "pear"}
    with pytest.raises(InvalidDataError, match="X column 0 is 'z'"):
        solution.predict(frame[["z", "y", "x"]])
    numbers = np.unique(labels, return_inverse=True)[1] - 1.5
    other = solved(reduction(SoftMargin(0.7)).primal(samples, numbers))
    np.testing.assert_array_equal(
        other.predict(NEW), [np.unique(numbers)[i] for i in other.decision_function(NEW).argmax(1)]
    )


@BOTH
def test_options_reach_every_part(reduction):
    samples, labels = clouds()
    sigmoid = kernels.Sigmoid(0.7, -0.5)
    problem = reduction(SoftMargin(0.5)).dual(samples, labels, kernel=sigmoid, indefinite="clip")
    assert all(part.kernel_repair.policy == "clip" for part in problem.problems)
    solved(problem)


# --- solving --------------------------------------------------------------------------------------


@BOTH
def test_progress_and_settings_reach_every_part(reduction):
    problem, _ = base(reduction, "dual")
    seen: list[Progress] = []
    solution = qpsvm.solve(problem, "osqp", max_iterations=4000, callback=seen.append)
    assert sum(event.stage == "done" for event in seen) == len(problem.problems)
    assert {part.qp.statistics.backend for part in solution.solutions} == {"osqp"}


@BOTH
def test_a_warm_start_reaches_every_part(reduction):
    problem, solution = base(reduction, "dual")
    again = qpsvm.solve(problem, "osqp", warm_start=solution)
    assert again.status is Status.OPTIMAL
    for start in (solution.replace(solutions=solution.solutions[1:]), solution.solutions[0]):
        with pytest.raises(InvalidParameterError, match="warm_start must be a ReducedSolution of"):
            qpsvm.solve(problem, warm_start=start)


@BOTH
def test_the_status_is_the_worst_of_all(reduction):
    _, solution = base(reduction, "dual")
    *others, last = solution.solutions
    worse = last.replace(qp=last.qp.replace(status=Status.INACCURATE))
    assert solution.replace(solutions=(*others, worse)).status is Status.INACCURATE


def test_parts_that_do_not_reach_what_was_asked_are_told():
    samples, labels = clouds(k=3)
    problem = OneVsRest(SoftMargin(0.7)).dual(samples[:6], labels[:6])
    with pytest.warns(ToleranceNotReachedWarning):
        rough = qpsvm.solve(problem, "cvxopt", eps=1e-16, max_iterations=1)
    assert rough.status is not Status.OPTIMAL
    assert not qpsvm.verify(problem, rough, eps=1e-16).passed


def test_an_error_says_which_part_it_is_about():
    samples, labels = clouds(k=3)
    with pytest.raises(NotSeparableError) as caught:
        qpsvm.solve(OneVsRest(HardMargin()).dual(np.zeros_like(samples), labels))
    assert caught.value.__notes__ == ["This was in 'apple against the rest'."]


# --- never a false PASS ---------------------------------------------------------------------------


def mutants(solution):
    """(name, solution) with one thing broken in one part, or in how they are put together."""
    rng = np.random.default_rng(0)
    parts = solution.solutions
    for place, part in enumerate(parts):
        for name in ("alpha", "expansion", "coef", "slack"):
            vector = getattr(part, name)
            if vector is None:
                continue
            for change in (1e-2, np.nan):
                other = np.array(vector)
                other[rng.integers(len(other))] += change
                yield (
                    f"{name} of {place}",
                    with_part(solution, place, part.replace(**{name: other})),
                )
        shifted = part.replace(intercept=part.intercept + 1e-3)
        yield f"intercept of {place}", with_part(solution, place, shifted)
        following = parts[(place + 1) % len(parts)]
        yield f"{place} twice", with_part(solution, place, following)
    yield "swapped", solution.replace(solutions=parts[::-1])
    yield "one less", solution.replace(solutions=parts[:-1])
    yield "one more", solution.replace(solutions=(*parts, parts[0]))
    yield "none", solution.replace(solutions=())
    other = OneVsOne if isinstance(solution.reduction, OneVsRest) else OneVsRest
    yield "reduction", solution.replace(reduction=other(SoftMargin(0.7)))
    yield (
        "formulation",
        solution.replace(reduction=replace(solution.reduction, formulation=L1Norm())),
    )
    data = solution.data
    codes = len(data.classes) - 1 - data.codes
    for name, change in (
        ("order of classes", {"classes": data.classes[::-1], "codes": codes}),
        ("classes", {"classes": data.classes[::-1]}),
        ("codes", {"codes": np.roll(data.codes, 1)}),
        ("samples", {"X": data.X + 1e-3}),
        ("rows", {"kept": data.kept[::-1]}),
    ):
        yield name, solution.replace(data=replace(data, **change))


def with_part(solution, place, part):
    solutions = list(solution.solutions)
    solutions[place] = part
    return solution.replace(solutions=tuple(solutions))


@grid("reduction, form, kernel", product(REDUCTIONS, FORMS, ["linear", RBF]))
def test_every_change_trips_the_verifier(reduction, form, kernel):
    problem, solution = base(reduction, form, kernel)
    assert qpsvm.verify(problem, solution, eps=EPS).passed
    passed = [
        name for name, mutant in mutants(solution) if qpsvm.verify(problem, mutant, eps=EPS).passed
    ]
    assert passed == []


@BOTH
def test_a_report_shows_every_part_and_the_worst_of_all(reduction):
    problem, solution = base(reduction, "dual")
    report = qpsvm.verify(problem, solution, eps=EPS)
    assert len(report.reports) == len(problem.problems)
    assert report.relative_gap == max(part.relative_gap for part in report.reports)
    assert report.worst == max(part.worst for part in report.reports) <= EPS
    text = str(report)
    assert text.startswith("PASS at eps=1e-08: ReducedProblem(")
    assert all(name in text for name in problem.names)
    assert "passed" in repr(report)
    assert [part["name"] for part in report.to_dict()["reports"]] == list(problem.names)
    last = solution.solutions[-1]
    broken = with_part(solution, -1, last.replace(intercept=last.intercept + 1.0))
    failed = qpsvm.verify(problem, broken, eps=EPS)
    assert not failed.passed
    *others, line = str(failed).splitlines()
    assert line.endswith("FAIL")
    assert not any(other.endswith("FAIL") for other in others)


def test_a_solution_of_another_problem_is_refused():
    problem, solution = base(OneVsRest, "dual")
    other = OneVsRest(SoftMargin(0.7)).dual(*clouds(seed=5))
    report = qpsvm.verify(other, solution)
    assert not report.passed
    assert report.relative_gap == report.worst == np.inf
    assert "another set of training data" in str(report)
    assert report.to_dict()["notes"]
    with pytest.raises(InvalidDataError, match="another set of training data"):
        qpsvm.certify(other, solution)
    with pytest.raises(InvalidParameterError, match="verify takes"):
        qpsvm.verify(problem, solution.solutions[0])


@BOTH
def test_the_certificate_is_as_good_as_the_worst_part(reduction):
    problem, solution = base(reduction, "dual")
    proof = qpsvm.certify(problem, solution)
    assert proof.passed(EPS)
    assert not proof.passed(1e-16)
    assert proof.relative_gap == max(p.relative_gap for p in proof.certificates)
    assert [part["name"] for part in proof.to_dict()["certificates"]] == list(problem.names)


# --- values, not objects that change --------------------------------------------------------------


@BOTH
@EITHER
def test_problem_and_solution_survive_pickling(reduction, form):
    problem, solution = base(reduction, form, RBF)
    again, copy = pickle.loads(pickle.dumps((problem, solution)))
    assert qpsvm.verify(again, copy).passed
    np.testing.assert_array_equal(copy.decision_function(NEW), solution.decision_function(NEW))


def test_nothing_can_be_assigned():
    problem, solution = base(OneVsRest, "dual")
    for instance, name in (
        (problem, "problems"),
        (solution, "data"),
        (problem.reduction, "formulation"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(instance, name, None)


# --- what is refused ------------------------------------------------------------------------------


@BOTH
def test_what_is_no_two_class_formulation_is_refused(reduction):
    """When the reduction is built, before any samples."""
    others = [
        kind() if kind not in (OneVsRest, OneVsOne) else kind(SoftMargin())
        for kind in map(functools.partial(getattr, formulations), formulations.__all__)
        if not issubclass(kind, Classifier)
    ]
    assert {type(other) for other in others} > {EpsilonRegression, CrammerSinger, OneVsRest}
    for other in (SoftMargin, "svc", None, *others):
        with pytest.raises(
            InvalidParameterError, match=r"takes a two-class formulation .*such as SoftMargin\("
        ):
            reduction(other)
    with pytest.raises(MissingArgumentError, match="without formulation"):
        reduction()


@BOTH
@EITHER
@pytest.mark.parametrize(
    ("labels", "weights", "message"),
    [
        (["a"] * 3, None, "only one class"),
        (["a", "b"], None, "X has 3 rows and y has 2 labels"),
        (["a", "b", "b"], [0, 1, 1], "Every sample of class 'a' has weight 0"),
    ],
)
def test_data_it_cannot_learn_from_are_refused(reduction, form, labels, weights, message):
    X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    with pytest.raises(InvalidDataError, match=message):
        getattr(reduction(SoftMargin()), form)(X, labels, sample_weight=weights)


# --- data from the world --------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("load", [load_wine, load_digits], ids=["wine", "digits"])
def test_real_data_are_solved_and_verified(reduction, load):
    X, y = load(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:200], y[:200]
    held = np.arange(len(y)) % 4 == 0  # on samples of the training ties are decided by rounding
    problem = reduction(SoftMargin(1.0)).dual(X[~held], y[~held], kernel="rbf")
    solution = solved(problem)
    reference = {OneVsRest: OneVsRestClassifier, OneVsOne: OneVsOneClassifier}[reduction]
    gamma = problem.problems[0].kernel.gamma
    theirs = reference(SVC(C=1.0, gamma=gamma, tol=1e-9)).fit(X[~held], y[~held])
    np.testing.assert_array_equal(solution.predict(X[held]), theirs.predict(X[held]))
    assert solution.score(X[held], y[held]) > 0.9


# --- classes without samples, and weights by class --------------------------------------------


@BOTH
@EITHER
def test_a_class_of_weight_zero_is_a_class_without_samples(reduction, form):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.repeat(["a", "b", "c", "d"], 10)
    weights = np.where(y == "b", 0.0, 1.0)
    kept = y != "b"
    whole = getattr(reduction(SoftMargin()), form)(X, y, sample_weight=weights)
    part = getattr(reduction(SoftMargin()), form)(X[kept], y[kept])
    assert whole.names == part.names
    found, expected = qpsvm.solve(whole), qpsvm.solve(part)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-6)
    assert list(found.predict(X)) == list(expected.predict(X))


@EITHER
def test_two_classes_are_left_of_three(form):
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 2]
    problem = getattr(SoftMargin(), form)(X, y, sample_weight=[1.0, 1.0, 1.0, 0.0])
    assert problem.data.classes.tolist() == [0, 1]


@pytest.mark.parametrize("average", [SoftMargin(average_loss=True), NuClassification(nu=0.1)])
def test_a_pair_of_many_classes_is_the_problem_of_the_two_alone(average):
    X, y = np.arange(7.0)[:, None], np.array([0, 0, 1, 1, 0, 2, 2])
    weights = {0: 5.0, 1: 1.0, 2: 3.0}
    pairs = OneVsOne(dataclasses.replace(average, class_weight=weights)).dual(X, y)
    for problem, (i, j) in zip(pairs.problems, [(0, 1), (0, 2), (1, 2)], strict=True):
        own = {label: weights[label] for label in (i, j)}
        two = np.isin(y, (i, j))
        alone = dataclasses.replace(average, class_weight=own).dual(X[two], y[two])
        np.testing.assert_array_equal(problem.qp.ub, alone.qp.ub)
