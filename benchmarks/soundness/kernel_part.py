"""The hunt among problems whose kernel values may be nothing but rounding.

A number is a problem. What a backend, an estimator or a path returns for it is judged at the
problem's own eps; mutants of the optimum and of that answer, and the answer for the same samples
in another container, at ``EPS``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import qpsvm
from benchmarks.soundness import exact_mutants
from benchmarks.soundness.bare import BAND, EPS
from benchmarks.soundness.exact_part import ANSWERS, Result, _outcome
from benchmarks.soundness.kernel_machines import KernelMachines
from benchmarks.soundness.kernel_specs import Problem, draw
from benchmarks.soundness.tally import KIND, Tally
from qpsvm import estimators, paths
from qpsvm.exceptions import QPSVMError
from qpsvm.qp import Status

KERNELS = "kernel values"
BACKENDS = ("auto", "auto", "auto", "cvxopt", "active-set", "ipm", "osqp", "slsqp")
SECONDS = 0.5
"""A backend's time for a problem of a few samples."""
MUTANTS = 2
"""Mutants of every problem."""
TWINS = 0.1
"""Share of mutants that are the answer for the same samples in another container."""
RIGOROUS = 0.3
"""Share of answers whose certificate is a rigorous one as well."""
MUTATIONS = {
    exact_mutants.as_it_is: 1.0,
    exact_mutants.best_offset: 1.0,
    exact_mutants.moved: 3.0,
    exact_mutants.scaled: 1.0,
    exact_mutants.sharp: 2.0,
}
ESTIMATORS, PATHS = 0.25, 0.08
"""Shares of problems that estimators fit and that paths follow, where they can."""
PATH_SAMPLES = 8
"""Samples of a path's problem at most: each of its machines needs an optimum of its own."""
CLAIM = "claim"
"""The axis of what certificates state, by kind of statement; only false ones are counted."""
REFUSALS = "ordinary samples, C up to 1e4, eps 1e-8"
"""The axis of answers where hardly any true one may be refused."""


def hunt_block(seed: int, numbers: range, tally: Tally) -> None:
    """Problems of these numbers."""
    for number in numbers:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rng = np.random.default_rng([seed, 7, number])
            problem = draw(rng, tally.rejected)
            tally.problems[KERNELS] += 1
            for result in examine(problem, rng):
                _count(result, tally)
                if result.outcome == "FALSE PASS" or result.false:
                    tally.suspicious.append(
                        {
                            "draw": number, "seed": seed, "problem": repr(problem),
                            "kind": result.axes[KIND], "outcome": result.outcome,
                            "harm": result.harm, "contradictions": result.false,
                        }
                    )  # fmt: skip


def _count(result: Result, tally: Tally) -> None:
    tally.count(KERNELS, result.axes, result.outcome, result.excess)
    tally.certificates += result.checked
    for kind in {claim.split(":")[0] for claim in result.false}:
        tally.cells[KERNELS, CLAIM, kind, "FALSE"] += 1


def show(seed: int, number: int) -> None:
    """One problem again, with everything there is to know about it."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rng = np.random.default_rng([seed, 7, number])
        problem = draw(rng, Tally().rejected)
        X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
        print(f"problem {number} of seed {seed}: {problem!r}\nX = {X.tolist()!r}\ny = {problem.y!r}")
        best = problem.machines.best
        assert best is not None
        print(f"weights = {problem.weights!r}\noptimum: {float(best.value)!r}, b {float(best.b)!r}")
        for result in examine(problem, rng):
            print(result)


def examine(problem: Problem, rng: Any) -> Iterator[Result]:
    """Everything that is asked about a problem."""
    answer = None
    choice = rng.random()
    if choice < PATHS and _has_a_path(problem):
        yield _followed(problem, rng) if rng.random() < 0.6 else _covered(problem, rng)
    else:
        kind, machines, answer = _answer(problem, rng, choice)
        yield _judged(problem, machines, kind, answer, problem.eps, rng, is_answer=True)
        if not hasattr(answer, "alpha"):
            answer = None
    try:
        start = exact_mutants.Start(problem.machines)
    except (QPSVMError, ValueError):  # numbers that no program can be built from
        return
    for _ in range(MUTANTS):
        kind, mutant = _mutant(problem, start, answer, rng)
        if mutant is not None:
            yield _judged(problem, problem.machines, kind, mutant, EPS, rng)


# --- answers -------------------------------------------------------------------------------------


def _answer(problem: Problem, rng: Any, choice: float) -> tuple[str, KernelMachines, Any]:
    """(who was asked, the judge, its solution or error)."""
    fits = ESTIMATOR.get(problem.traits["family"])
    if choice < PATHS + ESTIMATORS and fits is not None and (model := fits(problem)) is not None:
        kind = type(model).__name__
        try:
            model.fit(problem.X, problem.y, sample_weight=problem.weights)
        except QPSVMError as error:
            return kind, problem.machines, error
        return kind, replace(problem.machines, problem=model.problem_), model.solution_
    backend = str(rng.choice(BACKENDS))
    try:
        answer = qpsvm.solve(
            problem.machines.problem, backend, eps=problem.eps, time_limit=SECONDS
        )
    except QPSVMError as error:
        return f"solve, {backend}", problem.machines, error
    return f"solve, {backend}", problem.machines, answer


def _svc(problem: Problem) -> Any:
    family = problem.family
    if (family.loss, family.intercept, family.average_loss) != ("hinge", "free", False):
        return None
    return estimators.SVC(
        C=family.C, kernel=problem.kernel, class_weight=family.class_weight, eps=problem.eps
    )


def _svr(problem: Problem) -> Any:
    family = problem.family
    plain = ("epsilon_insensitive", "free", False)
    if (family.loss, family.intercept, family.average_loss) != plain:
        return None
    return estimators.SVR(
        C=family.C, epsilon=family.epsilon, kernel=problem.kernel, eps=problem.eps
    )


ESTIMATOR: dict[str, Callable[[Problem], Any]] = {
    "soft margin": _svc,
    "tube": _svr,
    "one class": lambda p: estimators.OneClassSVM(nu=p.family.nu, kernel=p.kernel, eps=p.eps),
}
"""The estimator of a family; None where it does not have the problem's options."""


def _has_a_path(problem: Problem) -> bool:
    return problem.traits["family"] == "soft margin" and problem.X.shape[0] <= PATH_SAMPLES


def _followed(problem: Problem, rng: Any) -> Result:
    """The machines of a path at three values of C."""
    values = problem.C * 10.0 ** np.sort(rng.uniform(-1, 1, 3))
    axes = {KIND: "svm_path"} | problem.traits
    try:
        path = paths.svm_path(
            problem.X, problem.y, kernel=problem.kernel, values=values, eps=problem.eps,
            formulation=problem.family, sample_weight=problem.weights,
        )  # fmt: skip
    except QPSVMError as error:
        return Result(axes, "refused", [repr(error)], [])
    harm, excesses, passes = list[str](), list[float](), list[bool]()
    for C, solution in zip(path.values, path.solutions, strict=True):
        machines = problem.at_price(float(C))
        if machines.best is None:
            continue
        passes.append(solution.status is Status.OPTIMAL)
        found = [f"at C = {C!r}: {why}" for why in machines.harm_at(solution, problem.eps)]
        if passes[-1]:
            harm += found
            excesses.append(_in_eps(machines, solution, problem.eps))
    passed = any(passes)
    return Result(axes, _outcome(passed, harm), harm, [], max(excesses, default=None), passed)


def _covered(problem: Problem, rng: Any) -> Result:
    """The machines of a certified path, at the ends of their intervals and at their own C."""
    eps, high = float(10.0 ** rng.uniform(-6, -2)), problem.C * float(10.0 ** rng.uniform(0, 1))
    axes = {KIND: "certified_path"} | problem.traits
    try:
        path = paths.certified_path(
            problem.X, problem.y, kernel=problem.kernel, C=(problem.C, high), eps=eps,
            formulation=problem.family, sample_weight=problem.weights,
        )  # fmt: skip
    except QPSVMError as error:
        return Result(axes, "refused", [repr(error)], [])
    harm, excesses = list[str](), list[float]()
    part = path.parts[int(rng.integers(len(path.parts)))]
    for C in (part.begin.C, part.machine.C, part.end.C):
        machines = problem.at_price(C)
        if machines.best is not None:
            found = machines.harm_at(part.machine.solution, eps)
            harm += [f"cover at C = {C!r}: {why}" for why in found]
            excesses.append(_in_eps(machines, part.machine.solution, eps))
    passed = path.is_proven
    return Result(axes, _outcome(passed, harm), harm, [], max(excesses, default=None), passed)


# --- mutants -------------------------------------------------------------------------------------


def _mutant(problem: Problem, start: Any, answer: Any, rng: Any) -> tuple[str, Any]:
    """(kind of mutation, the mutant; None if there is none)."""
    try:
        if rng.random() < TWINS:
            twin = _twin(problem)
            solution = qpsvm.solve(twin, eps=problem.eps, time_limit=SECONDS)
            return "the answer for another container", start.dressed(solution)
        kind = "the optimum, "
        own = start.solution
        if answer is not None and rng.random() < 0.5:
            kind, own = "the answer, ", start.dressed(answer)
        origin = exact_mutants.Start.__new__(exact_mutants.Start)
        origin.__dict__ = start.__dict__ | {"solution": own}
        makers = list(MUTATIONS)
        weights = np.array(list(MUTATIONS.values()))
        make = makers[int(rng.choice(len(makers), p=weights / np.sum(weights)))]
        name, mutant = make(origin, rng)
        return kind + name.removeprefix("the optimum, "), mutant
    except (QPSVMError, ValueError, ZeroDivisionError):
        return "none", None


def _twin(problem: Problem) -> Any:
    """The problem with dense samples instead of sparse ones, and the other way round."""
    X = problem.X.toarray() if sp.issparse(problem.X) else sp.csr_array(problem.X)
    form = getattr(problem.family, problem.machines.problem.form)
    return form(
        X.astype(np.float64), problem.y, kernel=problem.kernel, sample_weight=problem.weights
    )


# --- the judgement -------------------------------------------------------------------------------


def _judged(
    problem: Problem,
    machines: KernelMachines,
    kind: str,
    solution: Any,
    eps: float,
    rng: Any,
    *,
    is_answer: bool = False,
) -> Result:
    """What the verifier and the certificates say of a solution, held against the judge."""
    axes = {KIND: kind} | problem.traits
    if is_answer:
        axes[ANSWERS] = kind
        if problem.traits["profile"] == "ordinary" and eps == EPS and problem.C <= 1e4:
            axes[REFUSALS] = f"{problem.traits['kernel']}, offset {problem.traits['offset']}"
    rigorous = bool(rng.random() < RIGOROUS)
    if isinstance(solution, Exception):
        return Result(axes, "refused", [repr(solution)], [])
    try:
        report = qpsvm.verify(machines.problem, solution, eps=eps)
        certificates = [report.certificate]
        if rigorous:
            certificates.append(qpsvm.certify(machines.problem, solution, rigorous=True))
    except QPSVMError as error:
        return Result(axes, "refused", [repr(error)], [])
    except Exception as error:  # noqa: BLE001 - whatever it is, a verifier must not raise it
        return Result(axes, "refused", [], [f"error: verify raised {error!r}"])
    passed = bool(report.passed) or (is_answer and solution.status is Status.OPTIMAL)
    harm = list(machines.harm_at(solution, eps))
    false = [
        why
        for certificate in certificates
        if certificate is not None
        for why in machines.contradictions(solution, certificate)
    ]
    excess = _in_eps(machines, solution, eps) if passed else None
    return Result(axes, _outcome(passed, harm), harm, false, excess, checked=True)


def _in_eps(machines: KernelMachines, solution: Any, eps: float) -> float:
    """How far a machine is from the optimum, in units of eps."""
    excess = machines.relative_excess(solution)
    return float("inf") if excess is None else float(excess / Fraction(eps))
