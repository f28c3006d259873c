"""Parameters of NumPy's types are numbers like others; extreme ones end without a bare error."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.backends import Settings, get
from qpsvm.exceptions import (
    InvalidDataError,
    InvalidParameterError,
    ToleranceNotReachedWarning,
    UnsupportedProgramError,
)
from tests.strategies import grid

Build = Callable[[Any], Any]
FAMILIES: dict[str, tuple[Build, str]] = {
    "soft margin": (lambda C: qpsvm.SoftMargin(C=C), "labels"),
    "squared hinge": (lambda C: qpsvm.SoftMargin(C=C, loss="squared_hinge"), "labels"),
    "least squares": (lambda C: qpsvm.LeastSquares(C=C), "labels"),
    "1-norm": (lambda C: qpsvm.L1Norm(C=C), "labels"),
    "Crammer-Singer": (lambda C: qpsvm.CrammerSinger(C=C), "classes"),
    "epsilon": (lambda C: qpsvm.EpsilonRegression(C=C), "targets"),
    "nu regression": (lambda C: qpsvm.NuRegression(C=C), "targets"),
    "quantile": (lambda C: qpsvm.QuantileRegression(C=C), "targets"),
    "ranking": (lambda C: qpsvm.Ranking(C=C), "targets"),
    "data description": (lambda C: qpsvm.DataDescription(C=C), "nothing"),
}
BACKENDS = ("ipm", "active-set", "cvxopt", "osqp")


def program(name: str, C: Any, form: str = "dual") -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2))
    y = {
        "labels": np.where(X[:, 0] + 0.5 * rng.standard_normal(12) > 0.0, 1, -1),
        "classes": np.arange(12) % 3,
        "targets": X[:, 0] + 0.1 * rng.standard_normal(12),
    }
    build, wants = FAMILIES[name]
    formulation = build(C)
    given = () if wants == "nothing" else (y[wants],)
    return getattr(formulation, form)(X, *given)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, np.int64])
def test_a_number_of_numpy_is_the_number_it_is(name: str, kind: Any) -> None:
    build = FAMILIES[name][0]
    formulation = build(kind(2))
    assert formulation == build(2.0)
    assert type(formulation.C) in (int, float)
    assert program(name, kind(2)).qp.fingerprint() == program(name, 2.0).qp.fingerprint()


@pytest.mark.filterwarnings("error")
def test_other_parameters_are_not_computed_with_in_single_precision() -> None:
    """0.1 of float32 is another number than 0.1, and all that follows is float64."""
    tau = np.float32(0.1)
    assert qpsvm.QuantileRegression(tau=tau) == qpsvm.QuantileRegression(tau=float(tau))
    assert qpsvm.NuClassification(nu=tau) == qpsvm.NuClassification(nu=float(tau))
    assert qpsvm.OneClass(nu=tau) == qpsvm.OneClass(nu=float(tau))
    found = qpsvm.EpsilonRegression(C=1.0, epsilon=tau)
    assert type(found.epsilon) is float


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("C", [10**400, np.longdouble("1e400"), np.float32("inf"), np.float32(0)])
def test_numbers_out_of_range_are_refused(C: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"C is .*finite number above 0"):
        qpsvm.SoftMargin(C=C)


@grid(
    "name, C, backend, form",
    product(FAMILIES, [1e-300, 1e150, 1e300], BACKENDS, ["dual", "primal"]),
)
def test_no_backend_raises_an_error_of_arithmetic(
    name: str, C: float, backend: str, form: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an overflow that nobody expected
        # SolverFailedError, what a solver raised by itself, is no answer
        with contextlib.suppress(InvalidDataError, InvalidParameterError, UnsupportedProgramError):
            get(backend).solve(program(name, C, form).qp, Settings(time_limit=0.2))


@pytest.mark.parametrize(
    ("name", "C", "form"),
    [
        ("soft margin", 1e300, "dual"),
        ("soft margin", 1e300, "primal"),
        ("nu regression", 1e300, "dual"),
    ],
)
def test_extreme_prices_end_in_an_answer(name: str, C: float, form: str) -> None:
    problem = program(name, C, form)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ToleranceNotReachedWarning)
        solution = qpsvm.solve(problem, time_limit=1.0)
        assert (solution.status.value == "optimal") == qpsvm.verify(problem, solution).passed
