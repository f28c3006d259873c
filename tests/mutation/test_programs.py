"""The verifier passes the truth and rejects every single mutation of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpsvm.qp import QPSolution, QuadraticProgram, residuals
from tests.strategies import examples, manufactured_program
from tests.tolerances import EXACT, VISIBLE_CHANGE

VECTORS = ("x", "z", "y", "z_lower", "z_upper")


@given(manufactured_program(definite=True), st.data())
@settings(max_examples=examples(400))
def test_one_changed_number_is_noticed(
    made: tuple[QuadraticProgram, QPSolution], data: st.DataObject
) -> None:
    program, exact = made
    name, index = data.draw(st.sampled_from(_entries(exact)))
    change = data.draw(st.sampled_from([1.0, -1.0])) * 10.0 ** data.draw(st.integers(-4, 6))
    mutant = _changed(exact, name, index, lambda value: value + change)
    assert residuals(program, exact).worst < EXACT
    assert residuals(program, mutant).worst > VISIBLE_CHANGE * min(1.0, abs(change))


@given(manufactured_program(definite=True), st.data())
@settings(max_examples=examples(200))
def test_one_changed_sign_is_noticed(
    made: tuple[QuadraticProgram, QPSolution], data: st.DataObject
) -> None:
    program, exact = made
    name, index = data.draw(st.sampled_from(_entries(exact)))
    value = float(getattr(exact, name)[index])
    if abs(value) > 1e-3:
        mutant = _changed(exact, name, index, lambda v: -v)
        assert residuals(program, mutant).worst > VISIBLE_CHANGE * min(1.0, abs(value))


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf, 1e308])
@given(made=manufactured_program(definite=True), data=st.data())
@settings(max_examples=examples(50))
def test_one_poisoned_number_is_noticed(
    poison: float, made: tuple[QuadraticProgram, QPSolution], data: st.DataObject
) -> None:
    program, exact = made
    name, index = data.draw(st.sampled_from(_entries(exact)))
    mutant = _changed(exact, name, index, lambda _: poison)
    assert not residuals(program, mutant).passed(0.999)


@given(manufactured_program(definite=True), st.sampled_from(VECTORS))
@settings(max_examples=examples(100))
def test_a_missing_or_shortened_vector_is_noticed(
    made: tuple[QuadraticProgram, QPSolution], name: str
) -> None:
    program, exact = made
    vector = getattr(exact, name)
    for broken in (None, np.append(vector, 0.0), vector[:-1] if vector.size else None):
        assert not residuals(program, exact.replace(**{name: broken})).passed(0.999)


@given(manufactured_program(definite=True), manufactured_program(definite=True))
@settings(max_examples=examples(100))
def test_the_solution_of_another_program_is_noticed(
    made: tuple[QuadraticProgram, QPSolution], other: tuple[QuadraticProgram, QPSolution]
) -> None:
    program, exact = made
    if program.fingerprint() != other[0].fingerprint() and exact.x is not None:
        measured = residuals(program, other[1])
        same_point = (
            other[1].x is not None
            and other[1].x.shape == exact.x.shape
            and np.allclose(other[1].x, exact.x)
        )
        assert same_point or not measured.passed(1e-6)


def _entries(solution: QPSolution) -> list[tuple[str, int]]:
    return [(name, i) for name in VECTORS for i in range(len(getattr(solution, name)))]


def _changed(solution: QPSolution, name: str, index: int, change: Any) -> QPSolution:
    vector = np.array(getattr(solution, name))
    vector[index] = change(vector[index])
    return solution.replace(**{name: vector})
