"""Bounds in exact arithmetic are refused where the processor does not round as they assume."""

from __future__ import annotations

import ctypes
import importlib.util
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import qpsvm
from qpsvm.certificates.rigorous.kernels import is_ieee
from qpsvm.exceptions import ArithmeticModeError
from tests.processes import run

TO_NEAREST, DOWN, UP, TO_ZERO = 0x000, 0x400, 0x800, 0xC00  # fenv.h on x86

on_x86 = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="the numbers of rounding modes are those of Linux on x86-64",
)


@contextmanager
def rounding(mode: int) -> Iterator[None]:
    library = ctypes.CDLL(None)
    library.fesetround(mode)
    try:
        yield
    finally:
        library.fesetround(TO_NEAREST)


def test_usually_it_does() -> None:
    assert is_ieee()


@on_x86
@pytest.mark.parametrize("mode", [DOWN, UP, TO_ZERO])
def test_another_direction_of_rounding_is_noticed(mode: int) -> None:
    problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    solution = qpsvm.solve(problem)
    with rounding(mode):
        noticed = not is_ieee()
        with pytest.raises(ArithmeticModeError, match="not IEEE 754"):
            qpsvm.certify(problem, solution, rigorous=True)
    assert noticed
    assert is_ieee()
    assert qpsvm.certify(problem, solution, rigorous=True).rigorous


@pytest.mark.exhaustive
@pytest.mark.skipif(importlib.util.find_spec("snapml") is None, reason="snapml is not installed")
def test_subnormal_numbers_that_are_zero_are_noticed() -> None:
    # in a process of its own: the library changes the whole process
    code = (
        "from qpsvm.certificates.rigorous.kernels import is_ieee\n"
        "from benchmarks.contestants.peers import restore_arithmetic\n"
        "before = is_ieee()\n"
        "import snapml\n"
        "after = is_ieee()\n"
        "restore_arithmetic()\n"
        "print(before, after, is_ieee())\n"
    )
    done = run([sys.executable, "-W", "ignore", "-c", code], check=True)
    assert done.stdout.split()[-3:] == ["True", "False", "True"]
