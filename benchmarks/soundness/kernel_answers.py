"""Who is asked for the machine of a problem, and what is said of the answer.

Backends, estimators, paths along C and along the width of the kernel, covers of a range of C,
polished answers, audits of scikit-learn's models, machines on samples that are read in chunks, and
machines of two classes among three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm

import qpsvm
from benchmarks.soundness.kernel_machines import KernelMachines
from benchmarks.soundness.kernel_specs import Problem, parameters_of
from qpsvm import estimators, kernels, paths
from qpsvm.chunked import Expansion, chunked
from qpsvm.exceptions import QPSVMError
from qpsvm.qp import Status

BACKENDS = ("auto", "auto", "auto", "cvxopt", "active-set", "ipm", "osqp", "slsqp")
SECONDS = 3.0
"""Time limit of a backend: many times what a few samples take."""
PATH_SAMPLES = 8
"""Samples of a path's problem at most: each of its machines needs an optimum of its own."""


@dataclass(frozen=True)
class Answer:
    """A machine, and what is said of it.

    Attributes
    ----------
    kind : str
        Who was asked.
    machines : KernelMachines
        The judge.
    solution : solution or exception
    eps : float
        The accuracy that was asked for.
    passed : bool
        Whether it is called optimal to eps.
    certificates : tuple
        What came with it.
    is_complete : bool
        Whether it is a solution that ``qpsvm.verify`` takes as well.
    """

    kind: str
    machines: KernelMachines
    solution: Any
    eps: float
    passed: bool = False
    certificates: tuple[Any, ...] = ()
    is_complete: bool = True


def answers(problem: Problem, rng: Any) -> Iterator[Answer]:
    """What somebody says of a problem: one answer, or those at several values of a parameter."""
    fitting = [ask for ask in OTHERS if OTHERS[ask][1](problem)]
    shares = [OTHERS[ask][0] for ask in fitting]
    choice = rng.choice(len(fitting) + 1, p=[*shares, 1.0 - sum(shares)])
    ask = fitting[choice] if choice < len(fitting) else _solved
    kind = ask.__name__.removeprefix("_")
    try:
        yield from ask(problem, rng)
    except QPSVMError as error:
        yield Answer(kind, problem.machines, error, problem.eps)


def _solved(problem: Problem, rng: Any) -> Iterator[Answer]:
    backend = str(rng.choice(BACKENDS))
    try:
        found = qpsvm.solve(problem.machines.problem, backend, eps=problem.eps, time_limit=SECONDS)
    except QPSVMError as error:
        yield Answer(f"solve, {backend}", problem.machines, error, problem.eps)
        return
    yield _called(f"solve, {backend}", problem.machines, found, problem.eps)


def _called(kind: str, machines: KernelMachines, solution: Any, eps: float) -> Answer:
    return Answer(kind, machines, solution, eps, solution.status is Status.OPTIMAL)


def _polish(problem: Problem, _: Any) -> Iterator[Answer]:
    """A rough answer of a general solver, polished."""
    program = problem.machines.problem
    rough = qpsvm.solve(program, "slsqp", eps=1e-3, time_limit=SECONDS)
    found = qpsvm.polish(program, rough, eps=problem.eps, time_limit=SECONDS)
    yield _called("polish", problem.machines, found, problem.eps)


# --- estimators and audits -----------------------------------------------------------------------


def _fit(problem: Problem, _: Any) -> Iterator[Answer]:
    model = _estimator(problem)
    model.fit(problem.X, problem.y, sample_weight=problem.weights)
    machines = replace(problem.machines, problem=model.problem_)
    yield _called(type(model).__name__, machines, model.solution_, problem.eps)


def _estimator(problem: Problem) -> Any:
    """The estimator of a family; None where it does not have the problem's options."""
    family, more = problem.family, {"kernel": problem.kernel, "eps": problem.eps}
    name = problem.traits["family"]
    if name == "one class":
        return estimators.OneClassSVM(nu=family.nu, **more)
    if name == "soft margin" and _is_plain(family, "hinge"):
        return estimators.SVC(C=family.C, class_weight=family.class_weight, **more)
    if name == "tube" and _is_plain(family, "epsilon_insensitive"):
        return estimators.SVR(C=family.C, epsilon=family.epsilon, **more)
    return None


def _is_plain(family: Any, loss: str) -> bool:
    return (family.loss, family.intercept, family.average_loss) == (loss, "free", False)


def _audit(problem: Problem, rng: Any) -> Iterator[Answer]:
    """A model of scikit-learn: what the audit says is judged, not the model."""
    model = _estimator(problem)
    numbers = {
        name: getattr(model, name) for name in ("C", "nu", "epsilon") if hasattr(model, name)
    }
    name, parameters = parameters_of(problem.kernel)
    if name == "polynomial":
        name, rename = "poly", {"gamma": "gamma", "p": "degree", "c": "coef0"}
        parameters = {rename[key]: value for key, value in parameters.items()}
    tolerance = float(10.0 ** rng.uniform(-13, -2))
    foreign = getattr(sklearn.svm, type(model).__name__)(
        kernel=name, tol=tolerance, max_iter=100_000, **numbers, **parameters
    )
    X = sp.csr_matrix(problem.X) if sp.issparse(problem.X) else problem.X
    try:
        foreign.fit(X, problem.y)
    except ValueError:  # LIBSVM ends with numbers that are not finite
        return
    audit = qpsvm.audit(foreign, X, problem.y, eps=problem.eps, optimum=False)
    (one,) = audit.machines
    machines = replace(problem.machines, problem=one.problem)
    certificates = (one.report.certificate,)
    yield Answer("audit", machines, one.solution, problem.eps, audit.passed, certificates, False)


def _is_auditable(problem: Problem) -> bool:
    is_weighted = problem.weights is not None or getattr(problem.family, "class_weight", None)
    return not is_weighted and _estimator(problem) is not None


# --- paths ---------------------------------------------------------------------------------------


def _is_short(problem: Problem) -> bool:
    return problem.traits["family"] == "soft margin" and problem.X.shape[0] <= PATH_SAMPLES


def _svm_path(problem: Problem, rng: Any) -> Iterator[Answer]:
    values = problem.C * 10.0 ** np.sort(rng.uniform(-1, 1, 3))
    path = paths.svm_path(
        problem.X, problem.y, kernel=problem.kernel, values=values, eps=problem.eps,
        formulation=problem.family, sample_weight=problem.weights,
    )  # fmt: skip
    for C, solution, proof in zip(path.values, path.solutions, path.certificates, strict=True):
        machines = replace(problem.at(C=float(C)), problem=path.problem_at(float(C)))
        yield replace(_called("svm_path", machines, solution, problem.eps), certificates=(proof,))


def _width_path(problem: Problem, rng: Any) -> Iterator[Answer]:
    gammas = problem.kernel.gamma * 10.0 ** np.sort(rng.uniform(-1, 1, 2))
    path = paths.width_path(
        problem.X, problem.y, gamma=gammas, eps=problem.eps, formulation=problem.family,
        sample_weight=problem.weights,
    )  # fmt: skip
    for gamma, solution, proof in zip(path.values, path.solutions, path.certificates, strict=True):
        machines = problem.at(kernel=kernels.RBF(float(gamma)))
        machines = replace(machines, problem=path.problem_at(float(gamma)))
        yield replace(_called("width_path", machines, solution, problem.eps), certificates=(proof,))


def _has_widths(problem: Problem) -> bool:
    return _is_short(problem) and isinstance(problem.kernel, kernels.RBF)


def _certified_path(problem: Problem, rng: Any) -> Iterator[Answer]:
    """One machine of a cover, at the ends of its interval and at its own C."""
    eps, high = float(10.0 ** rng.uniform(-6, -2)), problem.C * float(10.0 ** rng.uniform(0, 1))
    path = paths.certified_path(
        problem.X, problem.y, kernel=problem.kernel, C=(problem.C, high), eps=eps,
        formulation=problem.family, sample_weight=problem.weights,
    )  # fmt: skip
    part = path.parts[int(rng.integers(len(path.parts)))]
    for C in (part.begin.C, part.machine.C, part.end.C):
        solution, machines = part.machine.solution, problem.at(C=C)
        yield Answer("certified_path", machines, solution, eps, path.is_proven, is_complete=False)


# --- samples in chunks ---------------------------------------------------------------------------


def _chunks(problem: Problem, _: Any) -> Iterator[Answer]:
    """A machine of another kernel than the linear one is trained elsewhere, and verified."""
    machines = problem.machines
    solution = qpsvm.solve(machines.problem, eps=problem.eps, time_limit=SECONDS)
    samples = chunked(problem.X, problem.y, problem.weights, rows=3)
    given = problem.family.dual(samples, kernel=problem.kernel)
    report = qpsvm.verify(given, Expansion.of(solution), eps=problem.eps)
    certificates = (report.certificate, qpsvm.certify(given, Expansion.of(solution)))
    yield Answer(
        "chunks", machines, solution, problem.eps, bool(report.passed), certificates, False
    )


def _has_chunks(problem: Problem) -> bool:
    return problem.traits["family"] in ("soft margin", "tube") and not isinstance(
        problem.kernel, kernels.Linear
    )


# --- two classes of three ------------------------------------------------------------------------


def _pair(problem: Problem, rng: Any) -> Iterator[Answer]:
    """The machine of two classes beside a third one, which moves the centre of all samples."""
    n, m = problem.X.shape[0], int(rng.integers(1, 60))
    dense = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    far = np.max(np.abs(dense)) * 10.0 ** rng.uniform(-2, 3)
    others = dense[rng.integers(n, size=m)] + far * rng.choice([-1.0, 0.0, 1.0], dense.shape[1])
    X = np.vstack([dense, others.astype(dense.dtype)])
    if sp.issparse(problem.X):
        X = sp.csr_array(X)
    for sign in (1, -1):  # the first class of a pair is the positive one
        y = np.concatenate([sign * np.asarray(problem.y), np.full(m, 2)])
        whole = qpsvm.OneVsOne(problem.family).dual(X, y, kernel=problem.kernel)
        part = next(p for p in whole.problems if set(p.data.classes) == {-1, 1})
        if np.array_equal(part.model.conditions.signs, problem.y):
            break
    else:
        raise AssertionError("neither order of the classes gives the signs of the problem")
    machines = replace(problem.machines, problem=part)
    found = qpsvm.solve(part, eps=problem.eps, time_limit=SECONDS)
    yield _called("pair of classes", machines, found, problem.eps)


def _has_two_classes(problem: Problem) -> bool:
    return (
        problem.traits["family"] in ("soft margin", "hard margin")
        and problem.weights is None
        and getattr(problem.family, "class_weight", None) is None
    )


OTHERS: dict[Callable[[Problem, Any], Iterator[Answer]], tuple[float, Callable[..., bool]]] = {
    _fit: (0.2, lambda problem: _estimator(problem) is not None),
    _audit: (0.08, _is_auditable),
    _svm_path: (0.05, _is_short),
    _width_path: (0.04, _has_widths),
    _certified_path: (0.04, _is_short),
    _chunks: (0.08, _has_chunks),
    _polish: (0.05, lambda _: True),
    _pair: (0.1, _has_two_classes),
}
"""Who else is asked than a backend: the share of problems, and whether the problem allows it."""
