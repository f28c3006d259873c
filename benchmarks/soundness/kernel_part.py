"""The hunt among problems whose kernel values may be nothing but rounding.

A number is a problem. What a backend, an estimator or a path returns for it is judged at the
problem's own eps; mutants of the optimum and of that answer, and the answer for the same samples
in another container, at ``EPS``.
"""

from __future__ import annotations

import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import qpsvm
from benchmarks.soundness import exact_mutants, kernel_joint, kernel_report
from benchmarks.soundness.bare import EPS
from benchmarks.soundness.exact_part import ANSWERS, Result, outcome_of
from benchmarks.soundness.kernel_answers import SECONDS, Answer, answers
from benchmarks.soundness.kernel_machines import KernelMachines
from benchmarks.soundness.kernel_specs import Problem, draw
from benchmarks.soundness.tally import KIND, Tally
from qpsvm.exceptions import QPSVMError
from qpsvm.machines import SVMSolution

KERNELS = "kernel values"
JOINT = 0.06
"""Share of problems with one decision function per class, or with a 1-norm."""
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
OFF = 1e-8
"""Error of a decision value, per unit of the sum of its terms, that is more than rounding."""
CLAIM = kernel_report.CLAIM
"""The axis of what certificates state, by kind of statement; only false ones are counted."""
REFUSALS = kernel_report.REFUSALS
"""The axis of answers where hardly any true one may be refused."""


def hunt_block(seed: int, numbers: range, tally: Tally) -> None:
    """Problems of these numbers; the error of one ends no others."""
    for number in numbers:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tally.problems[KERNELS] += 1
            row: dict[str, Any] = {"draw": number, "seed": seed}
            try:
                for result in _results(seed, number, tally, row):
                    _count(result, tally)
                    if result.outcome == "FALSE PASS" or result.false:
                        more: dict[str, Any] = {
                            "kind": result.axes[KIND],
                            "outcome": result.outcome,
                        }
                        more |= {"harm": result.harm, "contradictions": result.false}
                        tally.suspicious.append(row | more)
            except Exception:  # noqa: BLE001 - only errors of the library's own are expected
                tally.suspicious.append(row | {"error": traceback.format_exc()})


def _results(seed: int, number: int, tally: Tally, row: dict[str, Any]) -> Iterator[Result]:
    """All that is found about the problem of a number; ``row`` gets its description."""
    rng = np.random.default_rng([seed, 7, number])
    if rng.random() < JOINT:
        result = kernel_joint.judged(rng, tally.rejected)
        row["problem"] = repr(result.axes)
        yield result
        return
    problem = draw(rng, tally.rejected)
    row["problem"] = repr(problem)
    yield from examine(problem, rng, tally.traits)


def _count(result: Result, tally: Tally) -> None:
    tally.count(KERNELS, result.axes, result.outcome, result.excess)
    tally.certificates += result.checked
    for kind in {claim.split(":")[0] for claim in result.false}:
        tally.cells[KERNELS, CLAIM, kind, "FALSE"] += 1


def show(seed: int, number: int) -> None:
    """One problem again, with everything there is to know about it."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row: dict[str, Any] = {}
        results = list(_results(seed, number, Tally(), row))
        print(f"problem {number} of seed {seed}: {row['problem']}", *results, sep="\n")
        rng = np.random.default_rng([seed, 7, number])
        if rng.random() >= JOINT:
            problem = draw(rng, Counter())
            X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
            best = problem.machines.best
            assert best is not None
            print(f"X = {X.tolist()!r}\ny = {problem.y!r}\nweights = {problem.weights!r}")
            print(f"optimum: {float(best.value)!r}, b {float(best.b)!r}, t {float(best.t)!r}")
            print(f"alpha = {[float(a) for a in best.alpha]}")


def examine(problem: Problem, rng: Any, traits: Counter[str]) -> Iterator[Result]:
    """Everything that is asked about a problem; predictions that are all rounding are counted."""
    known = None
    for answer in answers(problem, rng):
        if answer.machines.best is None:
            continue
        result = _judged(problem, answer, rng, is_answer=True)
        if result.outcome == "passed, harmless" and answer.is_complete:
            off = answer.machines.prediction_error(answer.solution)
            traits[f"predictions of optimal machines, {'off' if off > OFF else 'right'}"] += 1
        yield result
        if answer.machines is problem.machines and isinstance(answer.solution, SVMSolution):
            known = answer.solution
    try:
        start = exact_mutants.Start(problem.machines)
    except (QPSVMError, ValueError):  # numbers that no program can be built from
        return
    for _ in range(MUTANTS):
        kind, mutant = _mutant(problem, start, known, rng)
        if mutant is not None:
            yield _judged(problem, Answer(kind, problem.machines, mutant, EPS), rng)


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


def _judged(problem: Problem, answer: Answer, rng: Any, *, is_answer: bool = False) -> Result:
    """What the verifier and the certificates say of a machine, held against the judge."""
    machines, solution, eps = answer.machines, answer.solution, answer.eps
    axes = {KIND: answer.kind} | problem.traits
    if is_answer:
        axes[ANSWERS] = answer.kind
        is_ordinary = problem.traits["profile"] == "ordinary" and answer.is_complete
        if is_ordinary and eps == EPS and problem.C <= 1e4:
            free = "" if machines.program.intercept == "free" else ", no free intercept"
            offset = problem.traits["offset"]
            axes[REFUSALS] = f"{problem.traits['kernel']}, offset {offset}{free}"
    if isinstance(solution, Exception):
        return Result(axes, "refused", [repr(solution)], [])
    passed, certificates = answer.passed, list(answer.certificates)
    if answer.is_complete:
        try:
            report = qpsvm.verify(machines.problem, solution, eps=eps)
            passed = passed or bool(report.passed)
            certificates.append(report.certificate)
            if rng.random() < RIGOROUS:
                certificates.append(qpsvm.certify(machines.problem, solution, rigorous=True))
        except QPSVMError as error:
            return Result(axes, outcome_of(passed, [repr(error)]), [repr(error)], [])
        except Exception as error:  # noqa: BLE001 - whatever it is, a verifier must not raise it
            return Result(axes, "refused", [], [f"error: verify raised {error!r}"])
    harm = list(machines.harm_at(solution, eps))
    false = [
        why
        for certificate in certificates
        if certificate is not None
        for why in machines.contradictions(solution, certificate)
    ]
    excess = _in_eps(machines, solution, eps) if passed else None
    return Result(axes, outcome_of(passed, harm), harm, false, excess, checked=True)


def _in_eps(machines: KernelMachines, solution: Any, eps: float) -> float:
    """How far a machine is from the optimum, in units of eps."""
    excess = machines.relative_excess(solution)
    return float("inf") if excess is None else float(excess / Fraction(eps))
