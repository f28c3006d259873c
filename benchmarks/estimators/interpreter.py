"""How much of a fit is the interpreter's: a bound on what compiling the kernel solver could gain.

The solver's call on 24 samples is nothing but interpreted code; its seconds over its number of
function calls are what one call costs. That times the calls of the solver in a larger fit is about
the time that compiled code would not need. The products, exponentials and factorisations are
compiled as it is. Processor time, one thread, medians of five fits up to 1,000 samples.

Usage: ``QPSVM_DATA=folder python -m benchmarks.estimators.interpreter > interpreter.txt``
"""

from __future__ import annotations

import cProfile
import pstats
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.estimators.measure import SETS, samples
from qpsvm.backends import own_solvers
from qpsvm.estimators import SVC

SIZES = (100, 300, 1000, 3000)
PRICES = (1.0, 100.0)


class Watched:
    """The solver's function, with its seconds and, on demand, its calls counted."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.seconds = 0.0
        self.profile: cProfile.Profile | None = None

    def __call__(self, *args: Any, **options: Any) -> Any:
        began = time.process_time()
        if self.profile is not None:
            self.profile.enable()
        try:
            return self.function(*args, **options)
        finally:
            if self.profile is not None:
                self.profile.disable()
            self.seconds += time.process_time() - began


def measured(engine: Watched, X: Any, y: Any, price: float) -> tuple[float, float, int]:
    """Seconds of a fit, seconds in the solver, and function calls in it."""
    times = []
    SVC(C=price, backend="active-set").fit(X, y)
    for _ in range(5 if len(X) <= 1000 else 1):
        engine.seconds, began = 0.0, time.process_time()
        SVC(C=price, backend="active-set").fit(X, y)
        times.append((time.process_time() - began, engine.seconds))
    engine.profile = cProfile.Profile()
    SVC(C=price, backend="active-set").fit(X, y)
    calls = pstats.Stats(engine.profile).total_calls  # type: ignore[attr-defined]
    engine.profile = None
    fit, own = np.median(times, axis=0)
    return float(fit), float(own), int(calls)


def main() -> None:
    """Print a line for every fit, and the bound for every size."""
    engine = Watched(own_solvers.minimise)
    own_solvers.minimise = engine  # type: ignore[assignment]
    found: dict[int, list[float]] = {}
    with threadpool_limits(1):
        few = samples("fourclass", 24)
        assert few is not None
        _, seconds, calls = measured(engine, *few, 1.0)
        each = seconds / calls
        print(f"{each * 1e6:.2f} microseconds a call")
        for name in SETS:
            for size in SIZES:
                given = samples(name, size)
                if given is None:
                    continue
                for price in PRICES:
                    fit, own, calls = measured(engine, *given, price)
                    gain = fit / (fit - min(each * calls, own))
                    found.setdefault(size, []).append(gain)
                    print(
                        f"{name}, {len(given[0])} samples, C = {price:g}: fit {fit * 1e3:.1f} ms, "
                        f"engine {own * 1e3:.1f} ms, {calls} calls, at most {gain:.2f} times faster"
                    )
    for size, gains in found.items():
        print(f"{size} samples: {np.exp(np.mean(np.log(gains))):.2f}, {len(gains)} programs")
    every = np.log([gain for gains in found.values() for gain in gains])
    print(f"all: {np.exp(np.mean(every)):.2f}, {len(every)} programs")


if __name__ == "__main__":
    main()
