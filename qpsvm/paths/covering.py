"""``certified_path``: the fewest machines that cover a range of C, each within a relative gap.

Greedy: the machine is the largest C that is within ``eps`` at the left end of what is not covered
yet, and its interval ends at the largest C where it still is. Both are found by solving: an
optimum at the end of the interval bounds the optimum there from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qpsvm.certificates import certify
from qpsvm.exceptions import InvalidParameterError, ToleranceNotReachedError
from qpsvm.formulations.family import Family
from qpsvm.formulations.parameters import require_price
from qpsvm.kernels import KernelArgument
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.numerics.arguments import Samples, Targets, Weights, explains_calls, is_real_number
from qpsvm.numerics.interrupts import without_solution
from qpsvm.paths.cover import CertifiedPath, Part, Witness, relative_gaps
from qpsvm.paths.settings import DEFAULTS, PathSettings, require_arguments
from qpsvm.paths.training import Training

Gap = Callable[[Witness], float]
"""The relative gap that a machine at some C would leave."""


@explains_calls
def certified_path(
    X: Samples,
    y: Targets | None = None,
    *,
    C: tuple[float, float],
    kernel: KernelArgument = "rbf",
    formulation: Family | None = None,
    sample_weight: Weights | None = None,
    indefinite: Indefinite = "error",
    eps: float = 1e-3,
    callback: Callable[[Part], object] | None = None,
    settings: PathSettings = DEFAULTS,
) -> CertifiedPath:
    r"""Few machines such that for every C in a range one of them is within ``eps``, proven.

    .. math::

        P_k(C) - V(C) \le \mathrm{eps} \cdot \max(P_k(C), \mathrm{floor}) \quad \text{for every } C
        \text{ in the interval of machine } k

    P_k is the objective of machine k, affine in C; V is the optimum, concave in C. Lower bounds on
    V at both ends of an interval bound it between, so that finitely many numbers prove the
    statement for every C; ``CertifiedPath.is_proven`` evaluates them again.

    Parameters
    ----------
    X, y, kernel, sample_weight, indefinite
        As for ``SoftMargin.primal``.
    C : (float, float)
        The range, :math:`0 < \mathrm{low} \le \mathrm{high}`.
    formulation : Family, optional
        Any with one decision function and a parameter C. None: ``SoftMargin``.
    eps : float
        Relative gap to prove, in (0, 1).
    callback : callable, optional
        Receives every ``Part`` as it is found.
    settings : PathSettings
        Numbers that tune the search, none of which weakens a proof.

    Returns
    -------
    CertifiedPath
        The machines, each with its certificate.

    Raises
    ------
    InvalidParameterError
        A range that is none, eps outside (0, 1), or a formulation without C.
    ToleranceNotReachedError
        A machine at some C could not be solved to a fraction of eps; or more machines than
        ``settings.max_machines`` would be needed.
    InvalidDataError, KernelError, IndefiniteKernelError, MemoryLimitError
        As ``SoftMargin.dual``.

    Notes
    -----
    How many machines: every interval but the last is used up to 0.8 eps at both ends
    (``settings.narrowest_gap``), as far as searches end within ``settings.reach_solves`` solves. A
    greedy cover with exact machines has the fewest intervals, so no cover of the range by exact
    optima within 0.8 eps has fewer. Source: Giesen, Jaggi and Laue, *ACM Transactions on
    Algorithms* 9 (2012).

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1]
    >>> path = qpsvm.paths.certified_path(X, y, C=(0.01, 100.0), kernel="linear", eps=0.1)
    >>> path.is_proven, bool(path.gap_at(0.3) <= 0.1)
    (True, True)
    """
    low, high = _range(C)
    require_arguments(eps, callback, settings)
    training = Training.of(
        X,
        y,
        kernel=kernel,
        formulation=formulation,
        sample_weight=sample_weight,
        indefinite=indefinite,
    )
    search = _Search(training, eps, settings)
    with without_solution():
        parts = _covered(search, low, high, callback)
    bounds = np.array(sorted((w.C, w.lower) for w in search.known.values()))
    return CertifiedPath(training, low, high, eps, tuple(parts), bounds)


def _covered(
    search: _Search, low: float, high: float, callback: Callable[[Part], object] | None
) -> list[Part]:
    """Cover a range of C from below, part by part."""
    settings, eps = search.settings, search.eps
    parts, begin = list[Part](), search.witness(low)
    while not parts or high > parts[-1].end.C:
        if len(parts) == settings.max_machines:
            raise ToleranceNotReachedError(
                f"{len(parts)} machines cover C from {low:g} to {begin.C:g} only, and "
                f"settings.max_machines allows no more to {high:g}; choose a larger eps (it is "
                f"{eps:g}) or a smaller range."
            )
        parts.append(search.part(begin, high))
        begin = parts[-1].end
        if callback is not None:
            callback(parts[-1])
    return parts


def _range(C: object) -> tuple[float, float]:
    if not isinstance(C, tuple | list | np.ndarray) or len(C) != 2:
        raise InvalidParameterError(f"C is {C!r}; pass a range (low, high).")
    low, high = C
    for end in (low, high):
        require_price(end)
    if not (is_real_number(low) and is_real_number(high) and low <= high):
        raise InvalidParameterError(f"C is {C!r}; pass (low, high) with low <= high.")
    return float(low), float(high)


class _Search:
    """State of the search for a cover: machines solved so far, and the next C.

    Parameters
    ----------
    training : Training
    eps : float
    settings : PathSettings
    """

    def __init__(self, training: Training, eps: float, settings: PathSettings) -> None:
        self.training, self.eps, self.settings = training, eps, settings
        self.known: dict[float, Witness] = {}
        self._last_step = math.sqrt(eps)

    def witness(self, C: float) -> Witness:
        """Solve for the machine at C, from the nearest one known, with its bounds."""
        if C in self.known:
            return self.known[C]
        nearest = min(self.known, key=lambda other: abs(math.log(other / C)), default=None)
        start = None if nearest is None else self.known[nearest].solution
        accuracy = max(self.settings.solve_share * self.eps, self.settings.smallest_eps)
        solution = self.training.solved(C, eps=accuracy, start=start)
        proof = certify(self.training.problem(C), solution)
        size = max(abs(proof.primal_objective), proof.floor)
        lower = proof.dual_objective - proof.objective_rounding * size
        found = Witness(C, solution, proof.evaluation, lower, proof.floor)
        own = relative_gaps(self.training, found, found, [found])[0]
        if not own <= 0.5 * self.eps:
            raise ToleranceNotReachedError(
                f"The machine at C={C:g} has a certified relative gap of {own:.2e}, and a path "
                f"within eps={self.eps:g} needs less than half of that; choose a larger eps, or "
                "scale the features."
            )
        self.known[C] = found
        return found

    def part(self, begin: Witness, high: float) -> Part:
        """Find the next machine and the interval of C that it covers."""
        training = self.training
        machine = self.farthest(
            begin, high, lambda w: relative_gaps(training, w, begin, [begin])[0]
        )
        end = self.farthest(
            machine, high, lambda w: relative_gaps(training, machine, begin, [w])[0]
        )
        first, own, last = relative_gaps(training, machine, begin, (begin, machine, end))
        part = Part(machine, begin, end, (first, own, last))
        stands_still = begin.C >= end.C and high > end.C
        if stands_still or not max(part.gaps) <= self.eps:
            raise ToleranceNotReachedError(
                f"No machine was found to be within eps={self.eps:g} beyond C={begin.C:g}; choose "
                "a larger eps."
            )
        return part

    def farthest(self, begin: Witness, high: float, gap: Gap) -> Witness:
        """Find the machine with the largest C whose gap is at most ``eps``.

        The root of the gap grows about linearly with log C, near ``begin``; a guess outside what
        is known of the end is replaced by the middle of it.
        """
        s, best, least, most = self.settings, begin, 0.0, math.inf
        whole = math.log(high / begin.C)
        step = min(self._last_step, whole)
        for _ in range(s.reach_solves):
            if step <= 0.0:
                break
            C = high if step >= whole else begin.C * math.exp(step)
            found = self.witness(C)
            share = gap(found) / self.eps
            if share <= s.widest_gap:
                best, least = found, step
                if step >= whole or share >= s.narrowest_gap:
                    break
            else:
                most = step
            guess = step * math.sqrt(s.aim / max(share, s.aim / s.largest_growth**2))
            if not least < guess < most:
                guess = 0.5 * (least + most)
            step = min(guess, whole)
        self._last_step = least or self._last_step
        return best
