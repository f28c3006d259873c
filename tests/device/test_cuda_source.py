"""The CUDA source compiled for the processor, with blocks of one thread, against NumPy."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qpsvm.device import ProductForm
from qpsvm.device.on_cuda import GROUP, KINDS, MOST_SUMS, SOURCE, THREADS
from tests.devices import OnNumPy

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
SHIM = r"""
#include <cmath>
using std::exp; using std::fma; using std::tanh;
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __shared__ static
#define __syncthreads()
struct place { int x, y; };
static place blockIdx = {0, 0};
static const place threadIdx = {0, 0};
static inline int __clz(int n) { return __builtin_clz((unsigned)n); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
extern "C" void set_block(int x, int y) { blockIdx.x = x; blockIdx.y = y; }
"""
FORMS = [
    ProductForm("product"),
    ProductForm("power", 0.4, 0.7, 1),
    ProductForm("power", 0.4, 0.7, 6),
    ProductForm("power", 0.4, -0.7, 13),
    ProductForm("tanh", 0.4, -0.1),
    ProductForm("exponential", 0.3),
]
FEATURES = 64
RNG = np.random.default_rng(0)
ROUNDING = 1e-13


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The compiled source as a library."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("cuda")
    source, library = folder / "source.cpp", folder / "source.so"
    source.write_text(SHIM + SOURCE.read_text(encoding="utf-8"), encoding="utf-8")
    flags = ["-O1", "-std=c++14", "-ffp-contract=off", "-DTHREADS=1", "-w", "-shared", "-fPIC"]
    subprocess.run([COMPILER, *flags, "-o", str(library), str(source)], check=True, timeout=300)
    return ctypes.CDLL(str(library))


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def launched(core: Any, name: str, grid: tuple[int, int], *arguments: Any) -> None:
    """Run a kernel for every block, one after the other."""
    kernel: Callable[..., None] = getattr(core, name)
    for y in range(grid[1]):
        for x in range(grid[0]):
            core.set_block(x, y)
            kernel(*arguments)


def numbers(form: ProductForm, n: int, k: int, d: int) -> tuple[Any, ...]:
    """Sizes and parameters, as the kernels take them."""
    sizes = (ctypes.c_int64(size) for size in (n, k, d))
    kind, gamma = ctypes.c_int(KINDS.index(form.kind)), ctypes.c_double(form.gamma)
    return (*sizes, kind, gamma, ctypes.c_double(form.coef0), ctypes.c_int(form.degree))


@pytest.mark.parametrize("d", [1, FEATURES - 1, FEATURES, 2 * FEATURES + 3])
@pytest.mark.parametrize("k", [0, 1, GROUP, 2 * GROUP + 5])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.kind}{form.degree}")
def test_values_and_sums(core: Any, form: ProductForm, k: int, d: int) -> None:
    n = 9
    X, Z = (RNG.standard_normal((m, d)) / np.sqrt(d) for m in (n, k))
    XT = np.ascontiguousarray(X.T)
    known, out = OnNumPy().values(form, X, Z), np.full((k, n), np.nan)
    given = pointer(XT), pointer(Z)
    grid = n, -(-k // GROUP)
    launched(core, "kernel_rows", grid, *given, *numbers(form, n, k, d), pointer(out))
    np.testing.assert_allclose(out, known, rtol=ROUNDING, atol=ROUNDING)
    for p in range(1, MOST_SUMS + 1):
        V, sums = RNG.standard_normal((k, p)), np.full((n, p), np.nan)
        own = *given, pointer(V), *numbers(form, n, k, d), pointer(sums)
        launched(core, f"kernel_sums_{p}", (n, 1), *own)
        np.testing.assert_allclose(sums, known.T @ V, rtol=ROUNDING, atol=100 * ROUNDING)


def test_sums_lose_digits_of_second_order_alone(core: Any) -> None:
    n, k = 3, 50
    X, Z = np.ones((n, 1)), RNG.standard_normal((k, 1))
    Z, V = np.vstack([Z, Z, [[1.0]]]), 1e9 * RNG.standard_normal((k, 1))
    V, sums = np.vstack([V, -V, [[1e-9]]]), np.full((n, 1), np.nan)
    given = pointer(np.ascontiguousarray(X.T)), pointer(Z), pointer(V)
    launched(core, "kernel_sums_1", (n, 1), *given, *numbers(FORMS[0], n, 2 * k + 1, 1),
             pointer(sums))  # fmt: skip
    second_order = len(V) * np.finfo(float).eps ** 2 * np.sum(np.abs(Z * V))
    np.testing.assert_allclose(sums, 1e-9, rtol=0.0, atol=second_order)
    assert second_order < 1e-16


def test_combinations(core: Any) -> None:
    rows, weights = RNG.standard_normal((7, 11)), RNG.standard_normal(3)
    places, out = np.array([6, 0, 6]), np.full(11, np.nan)
    sizes = ctypes.c_int64(3), ctypes.c_int64(11)
    launched(core, "combination", (11, 1), *map(pointer, (rows, places, weights)), *sizes,
             pointer(out))  # fmt: skip
    np.testing.assert_allclose(out, weights @ rows[places], rtol=ROUNDING)


def test_the_numbers_of_the_launches_are_those_of_the_source() -> None:
    source = SOURCE.read_text(encoding="utf-8")
    for name, value in (("THREADS", THREADS), ("GROUP", GROUP), ("FEATURES", FEATURES)):
        assert re.search(rf"#define {name} {value}\b", source)
    assert len(re.findall(r"^SUMS\(\d\)$", source, re.MULTILINE)) == MOST_SUMS
