"""Objects that are more than the numbers they store never pass, and wrong ones get an error.

A verdict is about stored numbers. Whatever could make an object predict something else (a subclass,
an attribute set on an instance, a mask, a complex part) is refused, and what is no solution at all
gets an error that says so.
"""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import qpsvm
from qpsvm import models, reports
from qpsvm.exceptions import InvalidDataError, InvalidParameterError, QPSVMError
from qpsvm.kernels import RBF, Kernel, Linear
from qpsvm.machines import Interval
from qpsvm.qp import QPSolution, Status
from tests.strategies import PARTS as SHARES
from tests.strategies import in_parts

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 2))
Y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0.0, 1, -1)
THREE = np.arange(16) % 3
PROBLEMS = {
    "linear": qpsvm.SoftMargin(1.0).dual(X, Y),
    "primal": qpsvm.SoftMargin(1.0).primal(X, Y),
    "rbf": qpsvm.SoftMargin(1.0).dual(X, Y, kernel=RBF(0.5)),
    "regression": qpsvm.EpsilonRegression(1.0).dual(X, X[:, 0], kernel=RBF(0.5)),
    "one class": qpsvm.OneClass(0.3).dual(X, kernel=RBF(0.5)),
    "joint": qpsvm.CrammerSinger(1.0).dual(X, THREE),
}
SOLUTIONS = {name: qpsvm.solve(problem) for name, problem in PROBLEMS.items()}
REDUCED = qpsvm.OneVsRest(qpsvm.SoftMargin(1.0)).dual(X, THREE)
PARTS = qpsvm.solve(REDUCED)
EVERY = pytest.mark.parametrize("name", list(PROBLEMS))


def lies(self: Any, samples: Any) -> Any:
    """A decision function that has nothing to do with any number."""
    del self
    return np.full(np.shape(samples)[0], 7.0)


def passes(problem: Any, solution: Any) -> bool:
    """Whether anything says that this solution is right."""
    try:
        proof = qpsvm.certify(problem, solution)
    except QPSVMError:
        certified = False
    else:
        certified = proof.passed(1e-6)
    try:
        return qpsvm.verify(problem, solution, eps=1e-6).passed or certified
    except QPSVMError:
        return certified


def with_class(thing: Any, kind: type) -> Any:
    """The same fields in an object of another class."""
    other = object.__new__(kind)
    other.__dict__.update(vars(thing))
    return other


def with_attribute(thing: Any, name: str, value: Any) -> Any:
    """A copy with an attribute set behind the back of its class."""
    changed = copy.copy(thing)
    object.__setattr__(changed, name, value)
    return changed


@EVERY
def test_the_solutions_themselves_pass(name: str) -> None:
    solution = SOLUTIONS[name]
    for same in (solution, solution.replace(), pickle.loads(pickle.dumps(solution))):
        assert same.support is not None  # kept by the instance
        assert passes(PROBLEMS[name], same)


# --- what predicts something else -----------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("method", ["predict", "decision_function", "_values", "checked_samples"])
def test_a_solution_that_predicts_something_else(name: str, method: str) -> None:
    problem, solution = PROBLEMS[name], SOLUTIONS[name]
    liar = type("Liar", (type(solution),), {method: lies})
    assert not passes(problem, with_class(solution, liar))
    assert not passes(problem, with_attribute(solution, method, lambda samples: lies(0, samples)))


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_machines_of_several_classes_that_predict_something_else(method: str) -> None:
    liar = type("Liar", (type(PARTS),), {method: lies})
    own = (liar(PARTS.solutions, PARTS.data, PARTS.reduction),)
    own += (with_attribute(PARTS, method, lambda samples: lies(0, samples)),)
    first, *others = PARTS.solutions
    part = with_class(first, type("Part", (type(first),), {"_values": lies}))
    own += (replace(PARTS, solutions=(part, *others)),)
    reduction = type("R", (type(PARTS.reduction),), {"combine": lies, "__eq__": lambda *_: True})
    own += (replace(PARTS, reduction=with_class(PARTS.reduction, reduction)),)
    own += (replace(PARTS, reduction=with_attribute(PARTS.reduction, "combine", lies)),)
    for solution in own:
        with pytest.raises(QPSVMError):
            qpsvm.certify(REDUCED, solution)
        with contextlib.suppress(InvalidParameterError):
            assert not qpsvm.verify(REDUCED, solution).passed
    assert qpsvm.verify(REDUCED, PARTS).passed


@pytest.mark.parametrize("name", ["linear", "rbf", "joint"])
def test_a_kernel_that_is_another_one(name: str) -> None:
    problem, solution = PROBLEMS[name], SOLUTIONS[name]
    body = {"__call__": lambda _, A, B: -np.ones((len(A), len(B))), "__eq__": lambda *_: True}
    body["__hash__"] = lambda _: 0
    liar = type("Liar", (type(solution.kernel),), body)
    assert not passes(problem, solution.replace(kernel=with_class(solution.kernel, liar)))
    changed = with_attribute(solution.kernel, "diagonal", lambda samples: 0.0 * samples[:, 0])
    assert not passes(problem, solution.replace(kernel=changed))


def test_a_number_that_is_another_one() -> None:
    problem, solution = PROBLEMS["rbf"], SOLUTIONS["rbf"]
    body = {"__float__": lambda _: 9.0, "__eq__": lambda *_: True, "__hash__": lambda _: 0}
    gamma = type("Gamma", (float,), body)(0.5)
    assert not passes(problem, solution.replace(kernel=RBF(gamma)))


@EVERY
def test_training_data_that_predict_something_else(name: str) -> None:
    problem, solution = PROBLEMS[name], SOLUTIONS[name]
    answers = {"predictions": lambda *_: np.zeros(16), "equals": lambda *_: True}
    liar = type("Liar", (type(solution.data),), answers)
    assert not passes(problem, solution.replace(data=with_class(solution.data, liar)))
    changed = with_attribute(solution.data, "predictions", lambda _: np.zeros(16))
    assert not passes(problem, solution.replace(data=changed))
    for hidden in (np.ma.masked_array(X, mask=X > 0.0), X.view(np.recarray)):
        changed = with_attribute(solution.data, "X", hidden)
        assert not passes(problem, solution.replace(data=changed))


def test_labels_whose_equality_says_anything() -> None:
    body = {"__eq__": lambda *_: True, "__hash__": lambda _: 0}
    label = type("Label", (str,), body)
    names = np.where(Y > 0, "up", "down").astype(object)
    problem = qpsvm.SoftMargin(1.0).dual(X, names)
    solution = qpsvm.solve(problem)
    assert passes(problem, solution)
    classes = np.array([label("left"), label("right")], dtype=object)
    changed = with_attribute(solution.data, "classes", classes)
    assert not passes(problem, solution.replace(data=changed))


@EVERY
def test_arrays_that_are_more_than_numbers(name: str) -> None:
    problem, solution = PROBLEMS[name], SOLUTIONS[name]

    class Liar(np.ndarray):
        def __matmul__(self, other: Any) -> Any:
            return np.zeros(1)

        __rmatmul__ = __matmul__

    for field in fields(solution):
        own = getattr(solution, field.name)
        if not isinstance(own, np.ndarray) or not own.size:
            continue
        masked = np.ma.masked_array(own, mask=np.zeros(own.shape, dtype=bool))
        masked.mask[(0,) * own.ndim] = True
        for wrong in (own.view(Liar), masked, own.astype(object), own + 0j, own.astype(np.float32)):
            assert not passes(problem, with_attribute(solution, field.name, wrong)), field.name
        for wrong in (masked, own + 1e-30j):  # a certificate looks at weights and alphas alone
            changed = solution.replace(**{field.name: wrong})
            assert np.isnan(getattr(changed, field.name)).any()
            assert not qpsvm.verify(problem, changed).passed
        assert passes(
            problem, solution.replace(**{field.name: own.view(Liar)})
        )  # stored as float64


@EVERY
def test_a_solution_of_the_program_that_is_more_than_numbers(name: str) -> None:
    problem, solution = PROBLEMS[name], SOLUTIONS[name]
    program, own = problem.qp, solution.qp

    class Liar(QPSolution):
        reads = 0

        @property
        def x(self) -> Any:
            return vars(self)["x"]

        @x.setter
        def x(self, value: Any) -> None:
            vars(self)["x"] = value

    liar = with_class(own, Liar)
    hidden = np.ma.masked_array(own.x, mask=np.arange(len(own.x)) == 0)
    for wrong in (liar, with_attribute(own, "x", hidden), with_attribute(own, "note", "more")):
        assert not passes(problem, solution.replace(qp=wrong))
        with pytest.raises(InvalidParameterError, match="QPSolution"):
            qpsvm.verify(program, wrong)
        with pytest.raises(InvalidParameterError):
            qpsvm.verify(problem, wrong)
        with pytest.raises(InvalidParameterError):
            qpsvm.certify_infeasible(problem, wrong)
    assert not qpsvm.verify(program, own.replace(x=hidden)).passed
    assert np.isnan(own.replace(x=hidden).x[0])
    assert np.isnan(own.replace(x=own.x + 1e-30j).x).all()


def test_what_else_a_solution_holds_has_exact_types() -> None:
    solution = SOLUTIONS["linear"]
    for name in ("conditions", "intercept_interval"):
        own = getattr(solution, name)
        if name == "conditions":
            other = with_class(own, type("Liar", (type(own),), {"equals": lambda *_: True}))
        else:
            other = type("Liar", (Interval,), {"midpoint": 7.0})(*own)
        assert not passes(PROBLEMS["linear"], with_attribute(solution, name, other))
    body = {"__add__": lambda *_: 7.0, "__radd__": lambda *_: 7.0}
    b = type("Number", (float,), body)(solution.intercept)
    assert not passes(PROBLEMS["linear"], with_attribute(solution, "intercept", b))
    assert not passes(PROBLEMS["linear"], with_attribute(solution, "support", np.arange(3)))


# --- kernels of one's own -------------------------------------------------------------------------


@dataclass(frozen=True)
class Laplace(Kernel):
    """``exp(-|x - z|_1 / width)``."""

    width: float = 1.0
    name = "laplace"

    def __call__(self, A: Any, B: Any) -> Any:
        return np.exp(-np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2) / self.width)

    @property
    def is_positive_semidefinite(self) -> bool:
        return True


class Twice(RBF):
    """A subclass with values of its own."""

    def __call__(self, A: Any, B: Any) -> Any:
        return 2.0 * super().__call__(A, B)


def cubed(A: Any, B: Any) -> Any:
    return (1.0 + A @ B.T) ** 3


@pytest.mark.parametrize("kernel", [Laplace(2.0), Twice(0.5), cubed], ids=["own", "sub", "call"])
def test_kernels_of_ones_own_work(kernel: Any) -> None:
    problem = qpsvm.SoftMargin(1.0).dual(X, Y, kernel=kernel)
    solution = qpsvm.solve(problem)
    assert passes(problem, solution)
    assert passes(problem, pickle.loads(pickle.dumps(solution)))
    again = qpsvm.SoftMargin(1.0).dual(X, Y, kernel=copy.deepcopy(kernel))
    assert passes(again, solution)


def test_kernels_of_ones_own_are_told_apart() -> None:
    problem = qpsvm.SoftMargin(1.0).dual(X, Y, kernel=Twice(0.5))
    solution = qpsvm.solve(problem)
    for other in (RBF(0.5), Twice(0.6), Linear()):
        assert not passes(problem, solution.replace(kernel=other))
    assert not passes(PROBLEMS["rbf"], SOLUTIONS["rbf"].replace(kernel=Twice(0.5)))


# --- what is no solution --------------------------------------------------------------------------

WRONG = {
    "none": None,
    "text": "x",
    "numerals": ["1", "2"],
    "number": 3.5,
    "list": [1.0, 2.0],
    "ragged": [[1.0], [2.0, 3.0]],
    "object": object(),
    "objects": np.array([None, "a"], dtype=object),
    "fractions": np.array([1, 2.5, 1 + 2j], dtype=object),
    "dictionary": {},
    "empty": np.zeros(0),
    "scalar": np.float64(2.0),
    "deep": np.zeros((2, 2, 2)),
    "sparse": sp.csr_array(np.eye(3)),
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "masked": np.ma.masked,
    "too large": [10**400],
    "class": QPSolution,
    "nan": float("nan"),
    "complex": 1.0 + 2.0j,
}


def replaced(thing: Any, field: str, value: Any) -> Any:
    """A copy with that field changed; None where that is refused, with the field's name."""
    message = ""
    try:
        return thing.replace(**{field: value})
    except QPSVMError as error:
        message = str(error)
    assert message.startswith(field)
    return None


def changed_fields() -> Iterator[tuple[str, str, str, Any]]:
    """(problem, field, what, changed solution) for every field and wrong value."""
    for name, solution in SOLUTIONS.items():
        for field in (field.name for field in fields(solution)):
            own = getattr(solution, field)
            for what, value in WRONG.items():
                if own is None and value is None:
                    continue
                if field == "coef" and value is None and solution.expansion is not None:
                    continue  # the expansion predicts the same
                if isinstance(own, np.ndarray) and own.size == 0 and what == "empty":
                    continue
                changed = replaced(solution, field, value)
                if changed is not None:
                    yield name, field, what, changed
                yield name, field, what, with_attribute(solution, field, value)


@in_parts
def test_a_field_of_the_wrong_kind_never_passes(part: int) -> None:
    n = 0
    for name, field, what, changed in islice(changed_fields(), part, None, SHARES):
        problem, n = PROBLEMS[name], n + 1
        assert not qpsvm.verify(problem, changed).passed, (name, field, what)
        try:
            proof = qpsvm.certify(problem, changed)
        except QPSVMError:
            continue
        # a certificate is about weights and multipliers alone
        beside = field in ("slack", "intercept_interval", "qp", "upper")
        beside |= field == "expansion" and changed.coef is not None
        assert beside or not proof.passed(1e-6), (name, field, what)
    assert n > 2000 // SHARES


@given(
    name=st.sampled_from(sorted(PROBLEMS)),
    picks=st.lists(st.tuples(st.integers(0, 12), st.sampled_from(sorted(WRONG))), min_size=1),
)
def test_several_wrong_fields_raise_nothing_but_our_errors(name: str, picks: Any) -> None:
    problem, solution = PROBLEMS[name], SOLUTIONS[name]
    names = [field.name for field in fields(solution)]
    changes = {names[i % len(names)]: WRONG[wrong] for i, wrong in picks}
    changed = copy.copy(solution)
    for field, value in changes.items():
        object.__setattr__(changed, field, value)
    for ask in (qpsvm.verify, qpsvm.certify, qpsvm.polish, reports.build):
        with contextlib.suppress(QPSVMError):
            ask(problem, changed)
    with contextlib.suppress(QPSVMError):
        qpsvm.solve(problem, warm_start=changed)


@pytest.mark.parametrize("field", ["x", "z", "y", "z_lower", "z_upper"])
def test_a_vector_of_a_program_of_the_wrong_kind(field: str) -> None:
    problem, own = PROBLEMS["linear"], SOLUTIONS["linear"].qp
    for wrong, value in WRONG.items():
        changed = replaced(own, field, value)
        no_rows = field == "z" and wrong in ("none", "empty")
        if changed is None or no_rows:
            continue
        assert not qpsvm.verify(problem.qp, changed).passed
        assert not qpsvm.verify(problem, SOLUTIONS["linear"].replace(qp=changed)).passed


PROGRAM, POINT = PROBLEMS["linear"].qp, SOLUTIONS["linear"].qp
THINGS = {
    "nothing": None,
    "text": "x",
    "array": X,
    "program": PROGRAM,
    "point": POINT,
    "problem": PROBLEMS["linear"],
    "joint problem": PROBLEMS["joint"],
    "reduced problem": REDUCED,
    "solution": SOLUTIONS["linear"],
    "joint solution": SOLUTIONS["joint"],
    "reduced solution": PARTS,
    "report": qpsvm.verify(PROBLEMS["linear"], SOLUTIONS["linear"]),
    "class": type(SOLUTIONS["linear"]),
}
MACHINES = {
    ("problem", "solution"),
    ("joint problem", "joint solution"),
    ("reduced problem", "reduced solution"),
}
BARE = {("program", "point")}
RECOVERED = {("problem", "point"), ("joint problem", "point")}


@pytest.mark.parametrize("one", list(THINGS))
def test_arguments_of_the_wrong_kind(one: str, tmp_path: Any) -> None:
    for other in THINGS:
        ask_everybody(one, other, tmp_path)
    with pytest.raises(InvalidParameterError, match="takes a KKTReport"):
        models.save(tmp_path / "m.npz", THINGS["problem"], THINGS["solution"], THINGS["point"])
    assert not list(tmp_path.iterdir())


def ask_everybody(one: str, other: str, folder: Any) -> None:
    pair = THINGS[one], THINGS[other]
    for ask, right in (
        (qpsvm.certify, MACHINES),
        (qpsvm.verify, MACHINES | BARE | RECOVERED),
        (qpsvm.polish, MACHINES | BARE),
        (reports.build, MACHINES | BARE | RECOVERED),
    ):
        if (one, other) in right:
            with np.errstate(all="ignore"):
                ask(*pair)
        else:
            with pytest.raises(InvalidParameterError, match=f"{ask.__name__} takes.*got.*; "):
                ask(*pair)
    if (one, other) != ("problem", "solution"):
        with pytest.raises(QPSVMError, match=r".{40}"):
            models.save(folder / "m.npz", *pair, THINGS["report"])


@pytest.mark.parametrize("thing", list(THINGS))
def test_what_is_no_problem_is_not_solved_and_no_model_audited(thing: str) -> None:
    if "prob" not in thing and thing != "program":
        with pytest.raises(InvalidParameterError):
            qpsvm.solve(THINGS[thing])
    with pytest.raises(QPSVMError):
        qpsvm.audit(THINGS[thing], X, Y)
    if thing != "point":
        with pytest.raises(InvalidParameterError, match="takes a QPSolution"):
            qpsvm.certify_infeasible(PROBLEMS["linear"], THINGS[thing])
    if thing not in ("nothing", "point", "solution"):
        with pytest.raises(InvalidParameterError):
            qpsvm.solve(PROBLEMS["linear"], warm_start=THINGS[thing])


def test_a_saved_model_is_that_of_its_problem(tmp_path: Any) -> None:
    problem, report = PROBLEMS["rbf"], qpsvm.verify(PROBLEMS["rbf"], SOLUTIONS["rbf"])
    for wrong in (SOLUTIONS["linear"], SOLUTIONS["rbf"].replace(kernel=RBF(0.6))):
        with pytest.raises(InvalidDataError, match="belongs to another problem"):
            models.save(tmp_path / "m.npz", problem, wrong, report)
    assert not list(tmp_path.iterdir())


def test_a_report_is_about_its_own_problem() -> None:
    problem, solution = PROBLEMS["rbf"], SOLUTIONS["rbf"]
    other = qpsvm.SoftMargin(9.0).dual(X, Y, kernel=RBF(0.5))
    report = qpsvm.verify(problem, solution)
    assert reports.build(problem, solution, report).passed
    with pytest.raises(InvalidParameterError, match=r"verified is about .*C=1\.0.*C=9\.0"):
        reports.build(other, solution, report)


def test_the_ways_between_program_and_machine_take_their_own_kind() -> None:
    problem, solution = PROBLEMS["rbf"], SOLUTIONS["rbf"]
    assert passes(problem, problem.recover(problem.to_qp(solution)))
    for wrong in (None, solution, "x", problem):
        with pytest.raises(InvalidParameterError, match="recover takes a QPSolution, got"):
            problem.recover(wrong)
    for wrong in (None, solution.qp, SOLUTIONS["joint"]):
        with pytest.raises(InvalidParameterError, match="to_qp takes an SVMSolution, got"):
            problem.to_qp(wrong)


@pytest.mark.parametrize(
    "setting", [{"time_limit": "x"}, {"time_limit": 1j}, {"callback": 3}, {"memory_limit": "x"}]
)
def test_settings_of_a_polish_of_the_wrong_kind(setting: Any) -> None:
    with pytest.raises(InvalidParameterError, match=f"{next(iter(setting))} is "):
        qpsvm.polish(PROBLEMS["rbf"], SOLUTIONS["rbf"], **setting)


def test_a_mask_of_a_program_is_not_dropped() -> None:
    P = np.ma.masked_array(np.eye(2), mask=[[0, 1], [1, 0]])
    for arguments in ((P, np.zeros(2)), (np.eye(2), np.ma.masked_array([1.0, 2.0], mask=[0, 1]))):
        with pytest.raises(QPSVMError, match=r"masked array with [12] hidden"):
            qpsvm.qp.QuadraticProgram(*arguments)


def test_a_refused_solution_says_why_and_what_to_do() -> None:
    problem, solution = PROBLEMS["rbf"], SOLUTIONS["rbf"]
    liar = with_class(solution, type("Liar", (type(solution),), {"_values": lies}))
    with pytest.raises(InvalidParameterError, match=r"Liar is a subclass.*pass SVMSolution"):
        qpsvm.verify(problem, liar)
    hidden = with_attribute(solution, "predict", lambda samples: samples)
    with pytest.raises(InvalidDataError, match=r"'predict'.*solution\.replace\(\)"):
        qpsvm.certify(problem, hidden)
    assert "'predict'" in qpsvm.verify(problem, hidden).notes[-1]
    assert passes(problem, hidden.replace())  # the stored numbers alone
    with pytest.raises(InvalidDataError, match=r"alpha of a solution.*text such as 'x'|got str"):
        solution.replace(alpha="x")
    with pytest.raises(InvalidDataError, match="intercept of a solution is 'x'"):
        solution.replace(intercept="x")
    assert solution.qp.status is Status.OPTIMAL
