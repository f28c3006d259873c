"""Small training problems on which kernel values lose their digits.

Common offsets, outliers, samples that are nearly the same, extreme widths and degrees; dense and
sparse samples, and float32.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.soundness.exact_specs import Given
from benchmarks.soundness.kernel_machines import KernelMachines
from benchmarks.soundness.rational import ONE, Program, Row, exact, gram
from qpsvm import kernels
from qpsvm.exceptions import QPSVMError
from tests.certificates.textbook import FAMILIES

SHARES = {
    "soft margin": 0.48,
    "tube": 0.15,
    "one class": 0.12,
    "ball": 0.06,
    "nu classification": 0.05,
    "hard margin": 0.05,
    "nu regression": 0.03,
    "quantile": 0.02,
    "least squares": 0.02,
    "ranking": 0.02,
}
"""Families, and how many of the problems are theirs."""
SAMPLES = {"tube": 5, "nu regression": 5, "ranking": 5}
"""Samples at most of families with more dual variables than samples; 9 of the others."""
CONTAINERS = {"dense": 0.45, "csr": 0.35, "float32": 0.12, "csr, float32": 0.08}
"""How samples are given, and how many of the problems have them so."""
TRAITS = {
    "plain": 0.2,
    "clusters": 0.1,
    "cancelling": 0.1,
    "scaled": 0.15,
    "columns": 0.1,
    "ends of the range": 0.05,
    "outlier": 0.1,
    "long sample": 0.05,
    "repeated": 0.15,
}
"""What makes samples hard beside a common offset, and how many of the extreme ones have it."""
MANY = 0.1
"""Share of problems with 10 to 14 samples, or with 30; and with up to 40 features."""
OFFSETS = (0.0, 1.0, 1e3, 1e6, 1e9)
"""Common offsets of the samples, in units of their spread."""
TINY = 1e-290
LARGEST = 1e290
"""Kernel values beyond that are not looked at; squares below ``TINY`` set no width."""
N_NEW = 4
"""Samples that predictions are compared on."""


@dataclass(frozen=True)
class Problem:
    """A training problem with its judge.

    Attributes
    ----------
    machines : KernelMachines
    family : Family
        The formulation.
    X, y, kernel, weights
        What else the library is given, as it is given.
    eps : float
        The accuracy that is asked for.
    traits : dict
        What the problem is counted under.
    at : function
        The judge of the same data with another C or kernel.
    """

    machines: KernelMachines
    family: Any
    X: Any
    y: Any
    kernel: Any
    weights: Any
    eps: float
    traits: dict[str, str]
    at: Callable[..., KernelMachines]

    @property
    def C(self) -> float:
        return float(getattr(self.family, "C", 1.0))

    def __repr__(self) -> str:
        size = "x".join(map(str, self.X.shape))
        return f"{self.family!r}, {self.kernel!r}, {size}, eps {self.eps:g}, {self.traits}"


@dataclass(frozen=True)
class Sampled(Given):
    """Samples whose labels and targets may follow from their first feature."""

    Z: Any = None

    def signs(self) -> list[int]:
        if self.flag():
            return super().signs()
        y = np.where(self.Z + 0.5 * self.rng.normal(size=self.n) > 0, 1, -1)
        y[:2] = 1, -1
        return list(map(int, y))

    def targets(self) -> list[float]:
        if self.flag():
            return super().targets()
        scale = 10.0 ** self.rng.uniform(-2, 2)
        return list(scale * (self.Z + 0.1 * self.rng.normal(size=self.n)))


def draw(rng: Any, rejected: Counter[str]) -> Problem:
    """A training problem that has an optimum; ``rejected`` counts those that have none."""
    while True:
        try:
            problem = _drawn(rng)
        except QPSVMError as error:
            rejected[f"kernel values: {type(error).__name__}"] += 1
            continue
        if problem is None:
            rejected["kernel values: beyond the range"] += 1
        elif problem.machines.best is None:
            rejected[f"kernel values: {problem.machines.unknown}"] += 1
        else:
            return problem


def _drawn(rng: Any) -> Problem | None:
    name = str(rng.choice(list(SHARES), p=list(SHARES.values())))
    n = int(rng.integers(4, SAMPLES.get(name, 9) + 1))
    if rng.random() < MANY and name not in SAMPLES:
        n = int(rng.integers(10, 15)) if rng.random() < 0.95 else 30
    found = draw_samples(rng, n)
    return None if found is None else _problem(rng, name, *found)


def draw_samples(rng: Any, n: int) -> tuple[Sampled, Any, float, dict[str, str]] | None:
    """Samples, the same in the container they are given in, eps and traits; None: too large."""
    ordinary, d = bool(rng.random() < 0.5), int(rng.integers(1, 5))
    if rng.random() < MANY:
        d = int(rng.integers(5, 40))
    Z = rng.normal(size=(n, d))
    if rng.random() < 0.5:
        Z = np.round(64 * Z) / 64
    container = str(rng.choice(list(CONTAINERS), p=list(CONTAINERS.values())))
    traits = {"profile": "ordinary" if ordinary else "extreme", "samples": container}
    X = _ordinary(rng, Z, traits) if ordinary else _extreme(rng, Z, traits)
    if container.endswith("float32"):
        X = X.astype(np.float32)
    dense = X.astype(np.float64)
    if not np.all(np.isfinite(dense)):
        return None
    given = sp.csr_array(X) if container.startswith("csr") else X
    kernel = _kernel(rng, ordinary, float(traits["offset"]), dense).resolve(given)
    traits["kernel"] = type(kernel).__name__
    K = _gram(kernel, exact(dense))
    if max(abs(v) for row in K for v in row) > LARGEST:
        return None
    C = float(10.0 ** (rng.uniform(-1, 4) if ordinary else rng.uniform(-3, 6)))
    eps = 1e-8 if ordinary else float(rng.choice([1e-6, 1e-7, 1e-8, 1e-8, 1e-9, 1e-10]))
    traits["eps"] = f"{eps:g}"
    weights = None if ordinary or rng.random() < 0.7 else rng.uniform(0.2, 5.0, n)
    u = [ONE] * n if weights is None else exact(weights)
    return Sampled(rng, dense, kernel, weights, u, K, C, Z[:, 0]), given, eps, traits


def _problem(
    rng: Any, name: str, data: Sampled, X: Any, eps: float, traits: dict[str, str]
) -> Problem:
    """The training problem of a family on these samples, as the library has it and exactly."""
    rows = exact(data.X)
    form = "primal" if rng.random() < 0.2 else "dual"
    intercept = str(rng.choice(["free", "free", "free", "penalized", "none"]))
    new, seed = _new(rng, data.X, X), int(rng.integers(2**31))

    def drawn(C: float = data.C, kernel: Any = data.kernel) -> tuple[Any, Any, KernelMachines]:
        own_K = data.K if kernel == data.kernel else _gram(kernel, rows)
        own_data = replace(data, K=own_K, C=C, rng=np.random.default_rng(seed))
        family, y, conditions, cost, more = FAMILIES[name][0](own_data)
        own = more.pop("intercept", "free")
        if hasattr(family, "intercept"):
            own = intercept
            family = replace(family, intercept=own)

        def whole(m: Any) -> Any:
            found = cost(m)
            return found + m.b**2 / 2 if own == "penalized" and found != math.inf else found

        program = Program(data.n, own_K, conditions, whole, own, **more)
        problem = getattr(family, form)(X, y, kernel=kernel, sample_weight=data.weights)
        signs = y if y is not None and set(y) <= {-1, 1} and name != "ranking" else None
        return (
            family,
            y,
            KernelMachines(name, "", problem, program, rows, signs, parameters_of(kernel), new),
        )

    family, y, machines = drawn()
    traits |= {
        "family": name, "form": form, "intercept": machines.program.intercept,
        "C": f"1e{math.floor(math.log10(getattr(family, 'C', 1.0)))}",
    }  # fmt: skip

    def at(**changes: Any) -> KernelMachines:
        return drawn(**changes)[2]

    return Problem(machines, family, X, y, data.kernel, data.weights, eps, traits, at)


def _gram(kernel: Any, rows: list[Row]) -> list[Row]:
    name, parameters = parameters_of(kernel)
    return list(gram(name, rows, rows, **parameters))


# --- samples -------------------------------------------------------------------------------------


def _ordinary(rng: Any, Z: Any, traits: dict[str, str]) -> Any:
    offset = float(rng.choice(OFFSETS))
    traits |= {"offset": f"{offset:g}", "trait": "plain"}
    return Z + offset


def _extreme(rng: Any, Z: Any, traits: dict[str, str]) -> Any:
    n, d = Z.shape
    offset = float(rng.choice(OFFSETS))
    trait = str(rng.choice(list(TRAITS), p=list(TRAITS.values())))
    traits |= {"offset": f"{offset:g}", "trait": trait}
    X = Z + offset * rng.choice([1.0, 1.0, -1.0, 0.7, 0.0], d)
    if trait == "clusters":
        X = Z + offset * rng.choice([-1.0, 1.0], (n, 1))
    elif trait == "cancelling":  # far away on both sides, on a grid: sums of all columns cancel
        steps = np.round(8.0 * Z) * 2.0 ** rng.integers(-10, 3)
        X = steps + 2.0 ** rng.integers(20, 48) * rng.choice([-1.0, 1.0], (n, 1))
    elif trait == "scaled":
        X = X * 10.0 ** rng.uniform(-8, 8)
    elif trait == "columns":
        X = X * 10.0 ** rng.uniform(-8, 8, d)
    elif trait == "ends of the range":
        X = X * 10.0 ** rng.uniform(-165, 150)
    elif trait == "outlier":
        X[rng.integers(n), rng.integers(d)] = rng.choice([-1, 1]) * 10.0 ** rng.uniform(6, 15)
    elif trait == "long sample":  # one huge value in its row of the kernel matrix
        X[rng.integers(n)] *= 10.0 ** rng.uniform(1, 8)
    elif trait == "repeated":
        i, j = rng.choice(n, 2, replace=False)
        X[i] = X[j]
        if rng.random() < 0.6:
            X[i] = np.nextafter(X[i], rng.choice([-np.inf, np.inf], d))
    if traits["samples"].startswith("csr") and rng.random() < 0.3:
        X = X * (rng.random(X.shape) < 0.7)
    return X


def _new(rng: Any, dense: Any, X: Any) -> Any:
    """Samples to predict: some of the data, some beside them; in the same container."""
    i = rng.integers(len(dense), size=N_NEW)
    new = dense[i] + (rng.random((N_NEW, 1)) < 0.7) * np.std(dense, axis=0) * rng.normal(
        size=(N_NEW, dense.shape[1])
    )
    new = new.astype(X.dtype)
    return sp.csr_array(new) if sp.issparse(X) else new


def _kernel(rng: Any, ordinary: bool, offset: float, X: Any) -> Any:
    choice = rng.random()
    if choice < 0.2:
        return kernels.Linear()
    gamma: Any = str(rng.choice(["scale", "scale", "auto"]))
    wide = X.astype(np.longdouble)
    if choice < 0.7 or (ordinary and offset > 1e3):
        if rng.random() < 0.5:
            gamma = float(10.0 ** (rng.uniform(-1, 1) if ordinary else rng.uniform(-6, 6)))
        if not ordinary and rng.random() < 0.5:  # of the distance of two samples
            i, j = rng.choice(len(X), 2, replace=False)
            square = np.sum((wide[i] - wide[j]) ** 2)
            gamma = float(10.0 ** rng.uniform(-4, 2) / max(square, TINY))
        return kernels.RBF(gamma)
    degree = int(rng.integers(1, 4 if ordinary else 10))
    coef0 = float(rng.choice([0.0, 1.0, rng.uniform(0, 2)]))
    products = wide @ wide.T
    if not ordinary and rng.random() < 0.7:
        gamma = float(10.0 ** rng.uniform(-6, 6))
        if rng.random() < 0.6:
            gamma = float(rng.uniform(0.2, 2) / max(np.max(np.abs(products)), TINY))
        lowest = gamma * float(np.min(products))
        if lowest < 0 and rng.random() < 0.3:
            coef0 = -lowest  # terms that cancel
    return kernels.Polynomial(gamma, degree, coef0)


def parameters_of(kernel: Any) -> tuple[str, dict[str, Any]]:
    """Name and parameters of a kernel, as ``rational.gram`` takes them."""
    if isinstance(kernel, kernels.RBF):
        return "rbf", {"gamma": kernel.gamma}
    if isinstance(kernel, kernels.Polynomial):
        return "polynomial", {"gamma": kernel.gamma, "p": int(kernel.degree), "c": kernel.coef0}
    return "linear", {}
