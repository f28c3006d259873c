"""Sequences of machines along a parameter or the width of a kernel, and their arguments."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.exceptions import InvalidParameterError, ToleranceNotReachedWarning
from qpsvm.kernels import RBF
from qpsvm.kernels.functions import SharedDistances
from qpsvm.paths import PathSettings, certified_path, svm_path, width_path
from tests import tolerances
from tests.paths.cases import RANGES, T, X, Y

GAMMAS = [0.01, 0.1, 1.0, 10.0]


@pytest.mark.parametrize("case", RANGES)
def test_sequence_and_exact_path_agree(case) -> None:
    over, formulation, y, low, high = RANGES[case]
    values = np.linspace(low, high, 4)
    exact, sequence = (
        svm_path(X, y, over=over, values=values, formulation=formulation, exact=exact)
        for exact in (True, False)
    )
    assert exact.is_exact
    assert sequence.trace is None
    for left, right in zip(exact.certificates, sequence.certificates, strict=True):
        size = max(abs(left.primal_objective), left.floor)
        difference = abs(left.primal_objective - right.primal_objective)
        assert difference <= tolerances.SAME_OBJECTIVE * size


def test_a_table_has_a_row_for_every_value() -> None:
    path = svm_path(X, Y, values=[10.0, 0.1, 1.0])
    columns = path.columns()
    assert list(columns["C"]) == [0.1, 1.0, 10.0]
    assert set(columns["status"]) == {"optimal"}
    assert max(columns["relative_gap"]) < tolerances.ASKED
    assert len(path.to_frame()) == 3
    assert len(repr(path)) < 100


def test_a_callback_ends_a_path(capsys) -> None:
    seen = []

    def callback(value, solution):
        seen.append((value, solution.status.value))
        return len(seen) < 2

    path = svm_path(X, Y, values=[0.1, 1.0, 10.0], callback=callback, verbose=True, exact=False)
    assert seen == [(0.1, "optimal"), (1.0, "optimal")]
    assert list(path.values) == [0.1, 1.0]
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_default_values_are_prices() -> None:
    path = svm_path(X[:10], Y[:10], kernel="linear")
    assert len(path.solutions) == 50
    with pytest.raises(InvalidParameterError, match="epsilon has no range that suits all data"):
        svm_path(X, T, over="epsilon")


def test_a_machine_outside_the_range_is_refused() -> None:
    path = svm_path(X, Y, values=[0.1, 1.0])
    with pytest.raises(InvalidParameterError, match=r"C is 2.0, and this path covers \[0.1, 1\]"):
        path.solution_at(2.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"over": "gamma"}, "over is 'gamma'; choose 'C', 'epsilon' or 'nu'"),
        ({"over": "nu", "formulation": qpsvm.SoftMargin()}, "which has no parameter 'nu'"),
        ({"formulation": qpsvm.OneVsRest(qpsvm.SoftMargin())}, "one decision function"),
        ({"values": []}, "pass at least one number"),
        ({"values": [1.0, np.nan]}, "pass finite ones"),
        ({"values": [0.0, 1.0]}, "C is 0.0"),
        ({"exact": "perhaps"}, "exact is 'perhaps'"),
        ({"eps": 2.0}, "eps"),
        ({"verbose": 1.5}, "verbose is 1.5"),
    ],
)
def test_refused_arguments(arguments, message) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        svm_path(X, Y, **({"values": [0.1, 1.0]} | arguments))


def test_machines_that_miss_eps_are_counted() -> None:
    with pytest.warns(ToleranceNotReachedWarning, match="did not reach eps=1e-18"):
        svm_path(X[:8], Y[:8], kernel="linear", values=[1.0], eps=1e-18)


# --- widths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("samples", [X, sp.csr_array(np.where(X > 0.5, X, 0.0)), 1e3 + X])
def test_shared_distances_give_the_kernel(samples) -> None:
    shared = SharedDistances(samples, max(GAMMAS))
    for gamma in GAMMAS:
        expected = RBF(gamma)(samples, samples)
        found = shared.gram(gamma).to_dense()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=tolerances.KERNEL)
        np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("limit", [0, 2**27])
def test_every_width_is_optimal(limit) -> None:
    settings = PathSettings(distance_bytes=limit)
    path = width_path(X, Y, gamma=GAMMAS, settings=settings)
    assert max(path.relative_gaps) < tolerances.ASKED
    for gamma, solution in zip(path.values, path.solutions, strict=True):
        assert solution.kernel == RBF(gamma)
        assert qpsvm.verify(path.problem_at(gamma), solution).passed
    assert list(path.columns()["gamma"]) == GAMMAS
    assert len(path.to_frame()) == len(GAMMAS)


def test_widths_of_a_regression_until_a_callback_ends_them() -> None:
    path = width_path(
        X,
        T,
        gamma=GAMMAS,
        formulation=qpsvm.EpsilonRegression(C=2.0),
        callback=lambda gamma, _: gamma < 0.05,
    )
    assert list(path.values) == GAMMAS[:2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gamma": [0.0, 1.0]}, "gamma is 0.0"),
        ({"gamma": []}, "values of gamma are"),
        ({"formulation": 3}, "formulation is 3"),
    ],
)
def test_refused_widths(arguments, message) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        width_path(X, Y, **({"gamma": GAMMAS} | arguments))


# --- one name for one thing -----------------------------------------------------------------------


def test_a_parameter_is_named_as_in_searches_and_formulations() -> None:
    by_name = svm_path(X, Y, kernel="linear", C=[1.0, 0.1])
    by_word = svm_path(X, Y, kernel="linear", over="C", values=[0.1, 1.0])
    np.testing.assert_array_equal(by_name.values, by_word.values)
    for mine, theirs in zip(by_name.solutions, by_word.solutions, strict=True):
        np.testing.assert_array_equal(mine.alpha, theirs.alpha)
    assert svm_path(X, Y, kernel="linear", C=1.0).values.tolist() == [1.0]
    assert svm_path(X, Y, kernel="linear", nu=[0.1, 0.2]).over == "nu"
    assert svm_path(X, X[:, 0], kernel="linear", epsilon=[0.1, 0.2]).over == "epsilon"
    for wrong in ({"C": 1.0, "nu": 0.1}, {"C": 1.0, "over": "C"}, {"nu": 0.1, "values": [0.1]}):
        with pytest.raises(InvalidParameterError, match="one parameter moves along a path"):
            svm_path(X, Y, **wrong)


def test_all_results_have_the_same_names() -> None:
    paths = (
        svm_path(X, Y, kernel="linear", C=[0.1, 1.0]),
        certified_path(X, Y, kernel="linear", C=(0.1, 1.0), eps=0.1),
        width_path(X, Y, gamma=[0.1, 1.0]),
    )
    for path, over in zip(paths, ("C", "C", "gamma"), strict=True):
        assert path.over == over
        assert len(path.values) == len(path.solutions)
        assert list(path.columns()[over]) == list(path.values)
        for value, solution in zip(path.values, path.solutions, strict=True):
            assert qpsvm.verify(path.problem_at(float(value)), solution).relative_gap <= 1e-3
