"""The hunt among small programs, machines and models whose optimum is known exactly."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import qpsvm
from benchmarks.soundness import bare_points, bare_specs, exact_audits, exact_mutants, exact_specs
from benchmarks.soundness.bare import EPS
from benchmarks.soundness.tally import KIND, Tally
from qpsvm.exceptions import NoOptimumError, QPSVMError
from qpsvm.qp import QPSolution, QuadraticProgram, Status

BARE, MACHINES, AUDITS = "bare programs", "exact machines", "audits"
PER_PROBLEM = {BARE: 50, MACHINES: 50, AUDITS: 10}
"""Mutants of one problem."""
SOLVED = 0.25
"""Share of problems that a backend is asked for as well; its answer is one of the mutants."""
BACKENDS = ("auto", "auto", "cvxopt", "osqp", "cvxpy:CLARABEL", "slsqp")
ANSWERS = "answer"
"""The axis of what backends return: backend and trait of the problem."""
FAR = 1e12
"""An optimum whose numbers are larger is not told from none by tolerances."""
SECONDS = 2.0
"""A backend's time for a problem of ten samples."""
CHECKED = 0.3
"""Share of mutants whose certificates are held against the optimum."""
RIGOROUS = 0.3
"""Share of these that are rigorous ones."""


@dataclass
class Result:
    """What became of one mutant.

    ``axes`` says what it is counted under; ``harm`` why it may not pass; ``false`` what was said
    of it that is not so; ``checked`` whether there was a certificate to be held to.
    """

    axes: dict[str, str]
    outcome: str
    harm: list[str]
    false: list[str]
    excess: float | None = None
    checked: bool = False


def outcome_of(passed: bool, harm: list[str]) -> str:
    """What became of a mutant, by whether it passed and whether it may."""
    if passed:
        return "FALSE PASS" if harm else "passed, harmless"
    return "refused" if harm else "refused, harmless"


def hunt_block(part: str, seed: int, numbers: range, tally: Tally) -> None:
    """Draws of one part of the hunt, some of them of the same problem."""
    per = PER_PROBLEM[part]
    for first in range(numbers.start, numbers.stop, per):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = PARTS[part](seed, first, tally.rejected)
            tally.problems[part] += 1
            tally.traits[f"{part}: {problem.trait}"] += 1
            for number in range(first, min(first + per, numbers.stop)):
                result = problem.examine(number)
                tally.count(part, result.axes, result.outcome, result.excess)
                tally.certificates += result.checked
                if result.outcome == "FALSE PASS" or result.false:
                    tally.suspicious.append(
                        {
                            "draw": number, "seed": seed, "problem": repr(problem),
                            "kind": result.axes[KIND], "outcome": result.outcome,
                            "harm": result.harm, "contradictions": result.false,
                        }
                    )  # fmt: skip


def show(part: str, seed: int, number: int, start: int) -> None:
    """One draw again, with everything there is to know about it."""
    per = PER_PROBLEM[part]
    first = start + (number - start) // per * per
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = PARTS[part](seed, first, Counter())
        result = problem.examine(number)
        print(f"draw {number} of seed {seed}: {part}\n{problem!r}\n{result}")
        for line in problem.details(number):
            print(line)


class _Problem(ABC):
    """A problem and its mutants: those of a number are the same whatever came before."""

    def __init__(self, seed: int, first: int, rejected: Counter[str]) -> None:
        self.seed, self.first = seed, first
        self.draw(np.random.default_rng([seed, 0, first]), rejected)

    def rng(self, number: int) -> Any:
        return np.random.default_rng([self.seed, 1, number])

    def is_solved(self, number: int) -> bool:
        """Whether this mutant is what a backend returns."""
        solved = np.random.default_rng([self.seed, 2, self.first]).random() < SOLVED
        return number == self.first and bool(solved)

    def backend(self, rng: Any) -> str:
        return str(rng.choice(BACKENDS))

    def axes(self, kind: str, number: int, own: dict[str, str]) -> dict[str, str]:
        """What a mutant is counted under; the answer of a backend also with the trait."""
        if not self.is_solved(number):
            return {KIND: kind} | own
        return {KIND: "what a backend returns", ANSWERS: f"{kind} | {self.trait}"} | own

    @property
    @abstractmethod
    def trait(self) -> str:
        """What makes the problem hard."""

    @abstractmethod
    def draw(self, rng: Any, rejected: Counter[str]) -> None:
        """Draw the problem."""

    @abstractmethod
    def examine(self, number: int) -> Result:
        """Verify and judge one mutant."""

    @abstractmethod
    def details(self, number: int) -> Iterator[str]:
        """Everything there is to know about one mutant."""


class BarePrograms(_Problem):
    """Points of a bare program."""

    @property
    def trait(self) -> str:
        return self.exact.trait

    def draw(self, rng: Any, rejected: Counter[str]) -> None:
        self.exact = bare_specs.draw(rng, rejected)
        self.program = QuadraticProgram(**self.exact.arguments())
        self.start = bare_points.starting_point(self.exact)

    def mutant(self, number: int) -> tuple[str, Any]:
        """(kind, solution)."""
        rng = self.rng(number)
        if self.is_solved(number):
            backend = self.backend(rng)
            try:
                return backend, qpsvm.solve(self.program, backend, time_limit=SECONDS)
            except QPSVMError as error:
                return f"{backend}: {type(error).__name__}", QPSolution(Status.FAILED)
        make = bare_points.KINDS[int(rng.integers(len(bare_points.KINDS)))]
        kind, point = make(self.exact, self.start, rng)
        return kind, QPSolution(Status.UNKNOWN, **point)

    def examine(self, number: int) -> Result:
        kind, solution = self.mutant(number)
        axes = self.axes(kind, number, {"program": self.trait})
        try:
            passed = bool(qpsvm.verify(self.program, solution, eps=EPS).passed)
        except Exception as error:  # noqa: BLE001 - whatever it is, a verifier must not raise it
            return Result(axes, "refused", [], [f"verify raised {error!r}"])
        passed = passed or solution.status is Status.OPTIMAL
        harm = list(self.exact.harm(solution.x))
        excess = None
        if passed and self.exact.answer.x is not None:
            excess = self.exact.excess(solution.x)
        false = list(self._false_statuses(solution))
        return Result(axes, outcome_of(passed, harm), harm, false, excess)

    def _false_statuses(self, solution: Any) -> Iterator[str]:
        """That there is no optimum, said of a program that has one."""
        answer = self.exact.answer
        if answer.x is None or max(map(abs, answer.x)) > FAR:
            return
        if solution.status in (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE):
            yield f"{solution.status.value}, where there is an optimum"

    def details(self, number: int) -> Iterator[str]:
        _, solution = self.mutant(number)
        yield str(qpsvm.verify(self.program, solution, eps=EPS))
        yield repr({name: np.asarray(v).tolist() for name, v in self.exact.arguments().items()})
        vectors = {name: getattr(solution, name) for name in bare_points.VECTORS}
        yield repr({k: None if v is None else v.tolist() for k, v in vectors.items()})
        answer = self.exact.answer
        x = None if answer.x is None else [float(v) for v in answer.x]
        yield f"exact: {answer.status}, {float(answer.value)!r} at {x}"

    def __repr__(self) -> str:
        return f"{self.exact.trait}: {self.program!r}"


class Machines(_Problem):
    """Machines near the optimum of a training problem."""

    @property
    def trait(self) -> str:
        return self.exact.trait

    def draw(self, rng: Any, rejected: Counter[str]) -> None:
        while True:
            self.exact = exact_specs.draw(rng, rejected)
            try:
                self.start = exact_mutants.Start(self.exact)
                return
            except (QPSVMError, ValueError) as error:
                rejected[f"exact machine: {type(error).__name__} of its optimum"] += 1

    def mutant(self, number: int) -> tuple[str, Any]:
        """(kind, solution, or the error of a backend)."""
        rng, problem = self.rng(number), self.exact.problem
        if self.is_solved(number):
            backend = self.backend(rng)
            try:
                return backend, qpsvm.solve(problem, backend, time_limit=SECONDS)
            except QPSVMError as error:
                return f"{backend}: {type(error).__name__}", error
        try:
            return exact_mutants.mutate(self.start, rng)
        except (QPSVMError, ValueError):  # numbers that no program can be built from
            return "the optimum, rounded", self.start.solution

    def examine(self, number: int) -> Result:
        kind, mutant = self.mutant(number)
        m = self.exact
        own = {"family": m.name, "form": m.problem.form, "trait": self.trait}
        axes = self.axes(kind, number, own)
        if isinstance(mutant, QPSVMError):
            false = [f"{kind}, where there is an optimum"] * isinstance(mutant, NoOptimumError)
            return Result(axes, "refused", [str(mutant)], false)
        try:
            report = qpsvm.verify(m.problem, mutant, eps=EPS)
        except QPSVMError as error:
            return Result(axes, "refused", [str(error)], [])
        except Exception as error:  # noqa: BLE001 - whatever it is, a verifier must not raise it
            return Result(axes, "refused", [], [f"verify raised {error!r}"])
        certificate = report.certificate
        claims = self.is_solved(number) and mutant.status is Status.OPTIMAL
        passed = bool(report.passed) or claims
        if certificate is None:
            return Result(
                axes, outcome_of(passed, ["cannot be measured"]), ["cannot be measured"], []
            )
        is_disguised = kind == exact_mutants.DISGUISED
        try:
            harm = list(m.harm(mutant, certificate))
        except Exception as error:  # noqa: BLE001 - an object of any kind was asked to predict
            harm = [f"cannot be judged: {error!r}"]
        result = Result(axes, outcome_of(passed, harm), harm, [], None)
        if passed and not is_disguised:
            result.excess = m.excess(mutant, certificate)
        rng = np.random.default_rng([self.seed, 3, number])
        if not is_disguised and rng.random() < CHECKED:
            rigorous = bool(rng.random() < RIGOROUS)
            try:
                if rigorous:
                    certificate = qpsvm.certify(m.problem, mutant, rigorous=True)
                result.false = list(m.contradictions(mutant, certificate))
            except QPSVMError:  # what is refused claims nothing
                return result
            result.checked = True
        return result

    def details(self, number: int) -> Iterator[str]:
        _, mutant = self.mutant(number)
        m, model = self.exact, self.exact.problem.model
        yield str(qpsvm.verify(m.problem, mutant, eps=EPS))
        names = ("coef", "expansion", "intercept", "width", "alpha", "constraint_multipliers")
        for name in names:
            yield f"{name} = {np.asarray(getattr(mutant, name)).tolist()!r}"
        yield f"X = {np.asarray(m.problem.data.X).tolist()!r}"
        yield f"prices: {model.conditions.upper.tolist()!r}"
        if model.constraints is not None:
            rows = model.constraints.rows
            rows = rows.toarray() if hasattr(rows, "toarray") else rows
            yield f"constraints: {rows.tolist()!r}, {model.constraints.right.tolist()!r}"
        assert m.best is not None
        yield f"optimum: {float(m.best.value)!r}, w or beta {[float(v) for v in m.best_weights]}"
        yield f"b = {float(m.best.b)!r}, alpha = {[float(v) for v in m.best.alpha]}"

    def __repr__(self) -> str:
        return f"{self.exact.trait}: {self.exact.problem!r}"


class Audits(_Problem):
    """Models of scikit-learn, tampered with or not."""

    @property
    def trait(self) -> str:
        return self.exact.name

    def draw(self, rng: Any, rejected: Counter[str]) -> None:
        while True:
            self.exact = exact_audits.draw(rng)
            if self.exact.best is not None:
                return
            rejected["audit: no optimum"] += 1

    def examine(self, number: int) -> Result:
        kind, model = exact_audits.mutate(self.exact, self.rng(number))
        outcome, harm, false = exact_audits.examine(self.exact, model)
        return Result({KIND: kind, "model": self.exact.name}, outcome, harm, false, checked=True)

    def details(self, number: int) -> Iterator[str]:
        _, model = exact_audits.mutate(self.exact, self.rng(number))
        yield f"X = {self.exact.X.tolist()!r}"
        yield f"y = {None if self.exact.y is None else self.exact.y.tolist()!r}"
        yield f"exact decision values: {[float(f) for f in self.exact.truth]}"
        yield str(qpsvm.audit(model, self.exact.X, self.exact.y, eps=EPS).to_dict())

    def __repr__(self) -> str:
        return f"{self.exact.name}, {self.exact.parameters}, {len(self.exact.X)} samples"


PARTS: dict[str, Callable[[int, int, Counter[str]], _Problem]] = {
    BARE: BarePrograms,
    MACHINES: Machines,
    AUDITS: Audits,
}
