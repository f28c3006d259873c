"""Kernel machines on samples in chunks are judged as in memory, and nothing wrong passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client

import qpsvm
from qpsvm.chunked import ChunkedKernelProblem, Expansion, chunked
from qpsvm.exceptions import InvalidDataError, InvalidParameterError, QPSVMError
from qpsvm.kernels import RBF, Linear, Polynomial, Sigmoid
from qpsvm.kernels.errors import entry_errors
from tests.chunked.cases import BY_NAME, arguments, settings
from tests.chunked.faults import shuffled
from tests.families import KERNELS
from tests.strategies import PARTS, grid, in_parts, numbered

EPS = 1e-8
RELATIVE = 1e-9
"""Of objectives: sums over kernel values in another order."""

SETTINGS = [(*setting, kernel) for setting in settings() for kernel in ("rbf", "polynomial")]


@cache
def solved(name: str, intercept: str = "free", kernel: str = "rbf") -> tuple[Any, Any, Any]:
    """The problem in chunks and in memory, and the solution in memory."""
    case = BY_NAME[name]
    X, y = arguments(case)
    family, function = case.with_intercept(intercept), KERNELS[kernel]
    whole = family.dual(X, y, kernel=function)
    problem = family.dual(chunked(X, y, rows=5), kernel=function)
    return problem, whole, qpsvm.solve(whole, eps=1e-11)


@pytest.fixture(autouse=True)
def _here() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


# --- as in memory --------------------------------------------------------------------------------


@grid("name,intercept,kernel", SETTINGS)
def test_bounds_are_those_in_memory(name: str, intercept: str, kernel: str) -> None:
    problem, whole, solution = solved(name, intercept, kernel)
    assert isinstance(problem, ChunkedKernelProblem)
    machine = Expansion.of(solution)
    found, expected = qpsvm.certify(problem, machine), qpsvm.certify(whole, solution)
    for ours, theirs in (
        (found.primal_objective, expected.primal_objective),
        (found.dual_objective, expected.dual_objective),
    ):
        assert ours == pytest.approx(theirs, rel=RELATIVE)
    # where it depends on how the samples are spread in feature space, it is zero: stricter
    assert found.floor in (0.0, pytest.approx(expected.floor, rel=1e-12))
    report = qpsvm.verify(problem, machine, eps=EPS)
    assert report.passed
    assert report.passed == qpsvm.verify(whole, solution, eps=EPS).passed
    assert "PASS" in str(report)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_source_gives_the_same_figures(tmp_path: Any, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    X = np.round(4.0 * rng.normal(size=(60, 3))) / 4.0
    y, u = X[:, 0] * X[:, 1] > 0.0, rng.integers(0, 3, 60)
    weights = u if weighted else None
    family, kernel = qpsvm.SoftMargin(C=2.0), RBF(0.5)
    solution = qpsvm.solve(family.dual(X, y, kernel=kernel, sample_weight=weights), eps=1e-11)
    machine = Expansion.of(solution)
    for k, start in enumerate(range(0, 60, 16)):
        rows = slice(start, start + 16)
        sparse = sp.csr_array(X[rows])
        np.savez(
            tmp_path / f"part-{k}.npz",
            data=sparse.data,
            indices=sparse.indices,
            indptr=sparse.indptr,
            shape=sparse.shape,
            y=y[rows],
            u=u[rows],
        )
    lazy = [da.from_array(v, chunks=(16, *v.shape[1:])) for v in (X, y, u)]
    sources = {
        "array": (X, y, weights),
        "single precision": (chunked(X.astype(np.float32), y, weights, rows=16), None, None),
        "dask": (lazy[0], lazy[1], lazy[2] if weighted else None),
        "npz": (tmp_path, "y", "u" if weighted else None),
    }
    sources["array"] = (chunked(*sources["array"], rows=16), None, None)
    found = dict[str, Any]()
    for name, (samples, labels, own) in sources.items():
        problem = family.dual(samples, labels, sample_weight=own, kernel=kernel)
        assert qpsvm.verify(problem, machine, eps=EPS).passed, name
        found[name] = qpsvm.certify(problem, machine).to_dict()
    assert found["dask"] == found["single precision"] == found["array"]
    for figure in ("primal_objective", "dual_objective"):
        assert found["npz"][figure] == pytest.approx(found["array"][figure], rel=RELATIVE)
    stored = replace(machine, vectors=sp.csr_array(machine.vectors))
    assert qpsvm.verify(problem, stored, eps=EPS).passed
    moved = replace(machine, vectors=sp.csr_array(_moved(machine.vectors)))
    with pytest.raises(InvalidDataError, match="differs from the support vector"):
        qpsvm.verify(problem, moved, eps=EPS)


def test_rounding_is_that_of_kernel_values_beside_all_vectors() -> None:
    """Vectors without a coefficient move the centre from which distances are evaluated."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(0.0, 0.1, (41, 1)), np.array([1.0, *[-1.0] * 40])
    X[-1] = 9.0
    vectors, beta = X[[0, 40]], np.array([1.0, 0.0])
    machine = Expansion(RBF(1.0), vectors, np.array([0, 40]), beta, intercept=0.0)
    problem = qpsvm.SoftMargin(C=1.0).dual(chunked(X, y, rows=41), kernel=machine.kernel)
    values, errors = machine.kernel(X, vectors), entry_errors(machine.kernel, X, vectors)
    relative = (1.0 + errors.rows[:, None]) * (1.0 + errors.columns) - 1.0
    bounds = (relative * values + np.outer(errors.left, errors.right)) @ beta
    assert qpsvm.certify(problem, machine).rounding >= np.sum(bounds[1:])  # all are missed


def test_a_machine_without_support_vectors_is_judged() -> None:
    """All targets fit into the tube: zero weights are optimal, and no others."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 2)), rng.uniform(-1.0, 1.0, 20)
    family, kernel = qpsvm.EpsilonRegression(C=1.0, epsilon=2.0), KERNELS["polynomial"]
    problem = family.dual(chunked(X, y, rows=6), kernel=kernel)
    nothing = np.zeros(0)
    machine = Expansion(kernel, np.zeros((0, 2)), nothing.astype(int), nothing, 0.0)
    assert qpsvm.verify(problem, machine, eps=EPS).passed
    whole = family.dual(X, y, kernel=kernel)
    floor = qpsvm.certify(whole, qpsvm.solve(whole)).floor
    assert qpsvm.certify(problem, machine).floor == pytest.approx(floor, rel=1e-12)
    wrong = replace(machine, vectors=X[:1], rows=np.array([0]), beta=np.array([0.1]))
    assert not qpsvm.verify(problem, wrong, eps=EPS).passed


def test_no_scheduler_changes_a_bit() -> None:
    problem, _, solution = solved("tube")
    machine, found = Expansion.of(solution), list[Any]()
    for scheduler in ("synchronous", "threads", shuffled):
        with dask.config.set(scheduler=scheduler):
            found.append(qpsvm.certify(problem, machine))
    cluster = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    for workers in (1, 2):
        with Client(n_workers=workers, **cluster):
            found.append(qpsvm.certify(problem, machine))
    assert found == [found[0]] * len(found)


@dataclass(frozen=True)
class Watched(RBF):
    """A kernel that remembers the largest block that it was asked for."""

    def __call__(self, X: Any, Z: Any) -> Any:
        BLOCKS.append((X.shape[0], Z.shape[0]))
        return super().__call__(X, Z)

    def diagonal(self, X: Any) -> Any:
        return np.ones(X.shape[0])


BLOCKS = list[tuple[int, int]]()


def test_a_chunk_evaluates_its_tile_and_no_more() -> None:
    problem, _, solution = solved("hinge")
    kernel, machine = Watched(0.4), Expansion.of(solution)
    X, y = arguments(BY_NAME["hinge"])
    own = problem.formulation.dual(chunked(X, y, rows=5), kernel=kernel)
    BLOCKS.clear()
    assert qpsvm.verify(own, replace(machine, kernel=kernel), eps=EPS).passed
    assert sum(rows for rows, _ in BLOCKS) == len(X)
    assert max(rows for rows, _ in BLOCKS) <= 5
    assert {columns for _, columns in BLOCKS} == {len(machine.beta)}


# --- what is no machine of the problem -----------------------------------------------------------


class OwnExpansion(Expansion):
    """A subclass could compute anything."""


class OwnKernel(RBF):
    """A subclass could compute anything."""


def changed(m: Any, **values: Any) -> Any:
    return replace(m, **values)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "NaN in beta": lambda m: changed(m, beta=m.beta * np.nan),
    "one NaN in beta": lambda m: changed(m, beta=np.append(np.nan, m.beta[1:])),
    "infinite beta": lambda m: changed(m, beta=m.beta * np.inf),
    "complex beta": lambda m: changed(m, beta=m.beta + 0j),
    "masked beta": lambda m: changed(m, beta=np.ma.masked_less(m.beta, 0.0)),
    "text for beta": lambda m: changed(m, beta=["a"] * len(m.beta)),
    "no beta": lambda m: changed(m, beta=None),
    "short beta": lambda m: changed(m, beta=m.beta[1:]),
    "beta of two dimensions": lambda m: changed(m, beta=m.beta[None]),
    "other signs": lambda m: changed(m, beta=-m.beta),
    "zeros for beta": lambda m: changed(m, beta=0.0 * m.beta),
    "no intercept": lambda m: changed(m, intercept=None),
    "NaN intercept": lambda m: changed(m, intercept=np.nan),
    "infinite intercept": lambda m: changed(m, intercept=np.inf),
    "text for an intercept": lambda m: changed(m, intercept="1"),
    "NaN width": lambda m: changed(m, width=np.nan),
    "negative width": lambda m: changed(m, width=-1e-9),
    "infinite width": lambda m: changed(m, width=np.inf),
    "no width": lambda m: changed(m, width=None),
    "no vectors": lambda m: changed(m, vectors=None),
    "NaN in a vector": lambda m: changed(m, vectors=m.vectors * np.nan),
    "a vector that is no sample": lambda m: changed(m, vectors=_moved(m.vectors)),
    "vectors in another order": lambda m: changed(m, vectors=m.vectors[::-1]),
    "a vector is missing": lambda m: changed(m, vectors=m.vectors[1:]),
    "a feature is missing": lambda m: changed(m, vectors=m.vectors[:, 1:]),
    "rows in another order": lambda m: changed(m, rows=m.rows[::-1]),
    "a row twice": lambda m: changed(m, rows=np.append(m.rows[1], m.rows[1:])),
    "a negative row": lambda m: changed(m, rows=np.append(-1, m.rows[1:])),
    "a row beyond the end": lambda m: changed(m, rows=np.append(m.rows[:-1], 10**6)),
    "rows of numbers": lambda m: changed(m, rows=m.rows + 0.0),
    "no rows": lambda m: changed(m, rows=None),
    "another kernel": lambda m: changed(m, kernel=RBF(0.41)),
    "a kernel of a subclass": lambda m: changed(m, kernel=OwnKernel(0.4)),
    "a kernel with values of its own": lambda m: changed(m, kernel=_with_own_values(m.kernel)),
    "every row twice": lambda m: changed(
        m,
        vectors=np.vstack([m.vectors, m.vectors]),
        rows=np.concatenate([m.rows, m.rows]),
        beta=0.5 * np.concatenate([m.beta, m.beta]),
    ),
    "no kernel": lambda m: changed(m, kernel=None),
    "half of the machine": lambda m: changed(
        m, vectors=m.vectors[::2], rows=m.rows[::2], beta=m.beta[::2]
    ),
    "a machine of a subclass": lambda m: OwnExpansion(**vars(m)),
    "another object": vars,
    "nothing": lambda _: None,
}


def _moved(vectors: Any) -> Any:
    own = vectors.copy()
    own[-1, -1] = np.nextafter(own[-1, -1], np.inf)
    return own


def _with_own_values(kernel: Any) -> Any:
    own = replace(kernel)
    object.__setattr__(own, "resolve", lambda _: RBF(100.0))
    return own


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_machine_fails_closed(what: str) -> None:
    problem, _, solution = solved("nu classification")
    machine = Expansion.of(solution)
    assert qpsvm.verify(problem, machine, eps=EPS).passed
    try:
        report = qpsvm.verify(problem, REFUSED[what](machine), eps=EPS)
    except QPSVMError:
        return
    assert not report.passed
    assert report.certificate.gap_upper > 0.0
    assert isinstance(str(report), str)


def test_samples_that_changed_are_refused() -> None:
    X, y = arguments(BY_NAME["hinge"])
    own = X.copy()
    problem = qpsvm.SoftMargin(C=1.0).dual(chunked(own, y, rows=5), kernel=RBF(0.4))
    whole = qpsvm.SoftMargin(C=1.0).dual(X, y, kernel=RBF(0.4))
    machine = Expansion.of(qpsvm.solve(whole))
    own += 1.0
    with pytest.raises(InvalidDataError, match="differs from the support vector"):
        qpsvm.verify(problem, machine)


def test_rows_that_are_added_to_a_file_are_refused(tmp_path: Any) -> None:
    X, y = arguments(BY_NAME["hinge"])

    def write(n: int) -> None:
        np.savez(tmp_path / "part-1.npz", X=np.vstack([X, X[:n]]), y=np.append(y, y[:n]))

    write(0)
    problem = qpsvm.SoftMargin(C=1.0).dual(tmp_path, "y", kernel=RBF(0.4))
    whole = qpsvm.SoftMargin(C=1.0).dual(X, y, kernel=RBF(0.4))
    machine = Expansion.of(qpsvm.solve(whole))
    assert qpsvm.verify(problem, machine, eps=EPS).passed
    write(2)
    with pytest.raises(InvalidDataError, match="have changed"):
        qpsvm.verify(problem, machine)


def test_a_support_vector_that_no_chunk_has_is_refused() -> None:
    """Its part of the objectives would be missing."""
    problem, _, solution = solved("hinge")
    machine = Expansion.of(solution)
    for rows in (machine.rows - machine.rows.min() - 1, machine.rows + 10**6):
        with pytest.raises(InvalidDataError, match=r"from 0 on|have 18 samples"):
            qpsvm.verify(problem, replace(machine, rows=rows))


def test_an_offset_that_the_family_does_not_have_is_refused() -> None:
    problem, _, solution = solved("hinge", "none")
    machine = Expansion.of(solution)
    assert qpsvm.verify(problem, machine, eps=EPS).passed
    assert not qpsvm.verify(problem, replace(machine, intercept=1e-12), eps=EPS).passed
    assert not qpsvm.verify(problem, replace(machine, width=1e-12), eps=EPS).passed


# --- wrong answers -------------------------------------------------------------------------------


@numbered("part", 3 * PARTS, quick=1)
def test_what_passes_is_optimal_in_memory(part: int) -> None:
    """Whatever is changed: the objective of an answer that passes is the optimum's, in memory."""
    rng = np.random.default_rng([11, part])
    passed = failed = 0
    for name, intercept, kernel in SETTINGS:
        problem, whole, solution = solved(name, intercept, kernel)
        machine, optimum = Expansion.of(solution), qpsvm.certify(whole, solution)
        for _ in range(1):
            size, kind = 10.0 ** rng.uniform(-12, 1), rng.integers(5)
            beta, b = machine.beta.copy(), machine.intercept
            if kind == 0:  # a variable beyond its bound, or sums that do not balance
                beta[rng.integers(len(beta))] *= 1.0 + size * rng.normal()
            elif kind == 1:
                beta = beta * (1.0 + size * rng.normal(size=len(beta)))
            elif kind == 2:
                beta = beta * (1.0 + size)
            elif kind == 3:
                beta[rng.integers(len(beta))] = 0.0
            elif problem.template.intercept != "none":
                b += size * rng.normal()
            report = qpsvm.verify(problem, replace(machine, beta=beta, intercept=b), eps=EPS)
            expansion = np.zeros(whole.data.n_samples)
            expansion[machine.rows] = beta
            wrong = solution.replace(expansion=expansion, intercept=b)
            primal = qpsvm.certify(whole, wrong).primal_objective
            found = report.certificate
            assert found.primal_objective == pytest.approx(primal, rel=RELATIVE, abs=found.rounding)
            least = optimum.dual_objective - 1e-12 * abs(optimum.dual_objective)
            assert found.dual_objective - found.rounding <= optimum.primal_objective
            if report.passed:
                passed += 1
                assert primal - least <= 1.01 * EPS * found.scale, (name, intercept, kernel)
            else:
                failed += 1
    assert passed > 6
    assert failed > 6


def test_variables_beyond_their_bounds_do_not_pass() -> None:
    """The optimal machine of ten times the price has no proof of optimality at this one."""
    case = BY_NAME["hinge"]
    X, y = arguments(case)
    problem, whole, solution = solved("hinge")
    optimum = qpsvm.certify(whole, solution).primal_objective
    other = replace(case.family, C=10.0 * case.family.C).dual(X, y, kernel=KERNELS["rbf"])
    machine = Expansion.of(qpsvm.solve(other))
    assert np.abs(machine.beta).max() > np.max(whole.model.conditions.upper)
    report = qpsvm.verify(problem, machine, eps=EPS)
    assert not report.passed
    assert report.certificate.dual_objective - report.certificate.rounding <= optimum
    assert report.certificate.primal_objective >= optimum


@in_parts
def test_rounding_is_covered_in_exact_arithmetic(part: int) -> None:
    """Primal objectives, and weak duality, of kernels that are rational numbers.

    Where every sample has one opposite, terms cancel and leave little but their rounding.
    """
    rng = np.random.default_rng([5, part])
    for k in range(12):
        X, y = rng.normal(size=(14, 2)), np.where(np.arange(14) % 2 == 0, 1, -1)
        if k % 2:
            X[7:], y[7:] = -X[:7] * (1.0 + 1e-9 * rng.normal(size=(7, 1))), y[:7]
        own = X * 10.0 ** rng.uniform(-3, 6)
        kernel = Polynomial(1.0, 1, 0.0) if k % 2 else Polynomial(1.0, 2, 1.0)
        C = 10.0 ** rng.uniform(-2, 2)
        # without an intercept the dual variables are feasible as they are
        family = qpsvm.SoftMargin(C=C, intercept="none" if k % 3 else "free")
        problem = family.dual(chunked(own, y, rows=4), kernel=kernel)
        beta = y * C * 10.0 ** rng.uniform(-4, 0) * np.tile(rng.random(7), 2)
        machine = Expansion(kernel, own, np.arange(14), beta, 0.0 if k % 3 else rng.normal())
        found = qpsvm.certify(problem, machine)
        exact = _exact_primal(own, y, C, machine)
        assert abs(exact - Fraction(found.primal_objective)) <= Fraction(found.rounding)
        if k % 3:
            total = sum((abs(Fraction(float(v))) for v in beta), Fraction(0))
            dual = total - _exact_primal(own, y, 0.0, machine)  # without losses: 1/2 |w|^2
            gap = exact - dual - Fraction(found.primal_objective) + Fraction(found.dual_objective)
            assert abs(gap) <= Fraction(found.rounding)
        others = [replace(machine, beta=t * beta) for t in (0.0, 1e-6, 1e-3, 0.1, 0.5)]
        best = min(_exact_primal(own, y, C, other) for other in others)
        assert best >= Fraction(found.dual_objective) - Fraction(found.rounding)


@in_parts
def test_the_square_of_weights_that_cancel_is_covered(part: int) -> None:
    """All targets are inside the tube, so that the objective is the square of the weights alone."""
    rng = np.random.default_rng([6, part])
    kernel = Polynomial(1.0, 1, 0.0)
    for _ in range(6):
        X, y = 1e6 * rng.normal(size=(14, 2)), rng.normal(size=14)
        X[7:] = -X[:7] * (1.0 + 1e-9 * rng.normal(size=(7, 1)))
        beta = np.tile(rng.normal(size=7), 2)
        family = qpsvm.EpsilonRegression(C=10.0, epsilon=1e6, intercept="none")
        problem = family.dual(chunked(X, y, rows=4), kernel=kernel)
        found = qpsvm.certify(problem, Expansion(kernel, X, np.arange(14), beta, 0.0))
        square = _exact_primal(X, y, 0.0, Expansion(kernel, X, np.arange(14), beta, 0.0))
        assert square < 1e9  # of terms of 1e12
        assert abs(square - Fraction(found.primal_objective)) <= Fraction(found.rounding)


def _exact_primal(X: Any, y: Any, C: float, machine: Expansion) -> Fraction:
    kernel: Any = machine.kernel
    samples = [[Fraction(float(v)) for v in x] for x in X]
    beta = [Fraction(float(v)) for v in machine.beta]
    vectors = [samples[k] for k in machine.rows]
    b, one = Fraction(machine.intercept), Fraction(kernel.coef0)

    def value(x: Any) -> Fraction:
        products = (sum(p * q for p, q in zip(x, z, strict=True)) + one for z in vectors)
        terms = (a * p**kernel.degree for a, p in zip(beta, products, strict=True))
        return sum(terms, Fraction(0))

    square = sum((a * value(z) for a, z in zip(beta, vectors, strict=True)), Fraction(0))
    missed = (1 - int(s) * (value(x) + b) for x, s in zip(samples, y, strict=True))
    return square / 2 + Fraction(C) * sum((max(Fraction(0), v) for v in missed), Fraction(0))


# --- what is not done in chunks ------------------------------------------------------------------


def test_what_needs_all_samples_is_refused() -> None:
    problem, _, solution = solved("hinge")
    samples, family = chunked(*arguments(BY_NAME["hinge"]), rows=5), problem.formulation
    with pytest.raises(InvalidParameterError, match="Nystroem"):
        qpsvm.solve(problem)
    with pytest.raises(InvalidParameterError, match="indefinite"):
        family.dual(samples, kernel=Sigmoid(0.1))
    with pytest.raises(InvalidParameterError, match="indefinite"):
        family.dual(samples, kernel=lambda X, Z: X @ Z.T)
    with pytest.raises(InvalidParameterError, match=r"solution\.kernel"):
        family.dual(samples, kernel="rbf")
    with pytest.raises(InvalidParameterError, match="constraints"):
        family.dual(samples, kernel=RBF(0.4), constraints=qpsvm.constraints.nonnegative([0]))
    with pytest.raises(InvalidParameterError, match="rigorous"):
        qpsvm.certify(problem, Expansion.of(solution), rigorous=True)
    with pytest.raises(InvalidParameterError, match=r"Expansion\.of"):
        qpsvm.verify(problem, solution)
    linear = qpsvm.solve(family.primal(*arguments(BY_NAME["hinge"]), kernel=Linear()))
    with pytest.raises(InvalidParameterError, match="with an expansion"):
        Expansion.of(linear)
