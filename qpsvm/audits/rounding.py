"""Effect of LIBSVM's kernel values on the duality gap of a solution.

**Single precision.** LIBSVM stores the rows of its kernel matrix as float32, so it solves the
program of a rounded kernel ``K'``. The same alpha, ``beta = R'alpha / kappa``, b and t also have
two objectives there::

    P' = kappa/2 beta'K'beta + price_b b + price_t t + sum_k loss_k(p - R(K'beta + b) - e t)
    D' = p'a - 1/2 (kappa beta_a'K'beta_a + d'a^2),     beta_a = R'a / kappa for a feasible a

(``machines.conditions`` has the program). The gap that remains there is due to early stopping;
the rest of the gap is due to rounding.

**Lost digits.** LIBSVM evaluates ``exp(-gamma (|x|^2 + |z|^2 - 2 x'z))``, or a function of
``x'z``, in double precision and rounds the value to float32. Far from the origin the norms cancel,
and digits are lost: with d features and the rounding unit u ::

    |k'(x, z) - k(x, z)|  <=  k(x, z) (exp(E(x) + E(z)) - 1),     E(x) = 2 (d + 4) u gamma |x|^2

for the RBF kernel, ``(d + 4) u p a(x) a(z)`` for the others, ``a(x)^2 = (gamma |x|^2 + |c|)^p``.
With the errors of our own values (``certificates.rigorous``) those that it trained with are known
to intervals ``[K-, K+]`` of float32 numbers.

Where it stops, with decision values f' of its own kernel values, no condition is missed by more
than its tolerance (with an intercept between m and M), and a condition's share of the gap is at
most that times its upper bound u_k. f' differs from ``K_rounded beta + b`` by no more than
``(K+ - K-) |beta|`` and the rounding of a gradient that is updated in every iteration. That gives
two parts of the largest possible gap::

    sum_k u_k (tolerance + accumulated rounding),      sum_k u_k (R (K+ - K-) |beta|)_k

Sources: Fan, Chen and Lin, *JMLR* 6 (2005), equation 6; Higham, *Accuracy and Stability of
Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.audits.claims import Claim, Library, best_width
from qpsvm.audits.rebuilt import FORMULAS, kernel_sizes
from qpsvm.display import short_repr
from qpsvm.kernels import RBF, Kernel, Precomputed
from qpsvm.kernels.errors import gram_errors
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.primal_dual import DualWeights
from qpsvm.machines.setup import DecisionValues
from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import IN_CACHE, Dense, Vector, row_blocks
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram

NEARLY = 0.995
"""What explains this share of the gap explains the gap."""


@short_repr
@dataclass(frozen=True)
class KernelRounding:
    """The duality gap of one solution with the exact kernel and with the rounded one.

    Attributes
    ----------
    gap : float
        ``P - D`` with the kernel in double precision, as certified.
    rounded_gap : float
        :math:`P' - D'` with every kernel value rounded to single precision.
    stopping_gap : float
        The largest gap that the library's stopping tolerance leaves with such a kernel; infinite
        where that is not known.
    kernel_error : float or None
        No kernel value of the library was off by more than this times the largest, float32
        excepted; infinite where nothing is left of the digits. None where the gap is explained
        without it.
    lost_gap : float
        No larger gap follows from these errors and those of their sums.
    """

    gap: float
    rounded_gap: float
    stopping_gap: float = math.inf
    kernel_error: float | None = None
    lost_gap: float = 0.0

    @property
    def share(self) -> float:
        """Share of the gap that rounding explains, ``(gap - rounded_gap) / gap`` in [0, 1]."""
        if not self.gap > 0.0 or not math.isfinite(self.rounded_gap):
            return 0.0
        return min(1.0, max(0.0, (self.gap - self.rounded_gap) / self.gap))

    def to_dict(self) -> dict[str, object]:
        """The figures by name, for JSON."""
        names = ("gap", "rounded_gap", "share", "kernel_error")
        return {name: getattr(self, name) for name in names}


class RoundedKernel:
    """Products with the kernel matrix in single precision, from the pass that gives exact ones.

    Parameters
    ----------
    model : SupportVectorModel
    """

    def __init__(self, model: SupportVectorModel) -> None:
        self.model, own = model, model.gram
        of_linear = SampleGram(model.kernel, model.data.X)
        self.gram = own.gram if isinstance(own, KernelQuadratic) else of_linear
        self.vectors: Dense = np.zeros((model.data.n_samples, 0))
        self.products: Dense = self.vectors

    def multiply(self, V: Dense, W: Dense) -> tuple[Dense, Dense]:
        """Multiply two sets of vectors by the kernel matrix; return ``K V`` and ``K W``.

        ``K'V`` with the rounded matrix is kept for ``product``.
        """
        used = np.flatnonzero(V.any(axis=1) | W.any(axis=1))
        weights, positive = V[used], W[used]
        exact, rounded, sizes = np.zeros(V.shape), np.zeros(V.shape), np.zeros(W.shape)
        for rows, block in self.gram.blocks(used) if used.size else ():
            to_exact, to_rounded = exact[rows], rounded[rows]
            sizes[rows] = block @ positive
            for part in row_blocks(block.shape[0], block.shape[1], IN_CACHE):
                piece = block[part]
                to_exact[part] = compensated.product(piece, weights)
                piece[...] = piece.astype(np.float32)
                to_rounded[part] = piece @ weights
        self.vectors, self.products = V, rounded
        return exact, sizes

    def product(self, v: Vector) -> Vector:
        """``K'v`` with every kernel value rounded to single precision."""
        known = [k for k, column in enumerate(self.vectors.T) if np.array_equal(column, v)]
        if not known:
            self.multiply(v[:, None], np.zeros((len(v), 0)))
        return np.asarray(self.products[:, known[0] if known else 0])


def kernel_rounding(
    claim: Claim, library: Library, evaluation: Evaluation, rounded: RoundedKernel
) -> KernelRounding:
    """Compute how much of the gap float32 and the library's own kernel values explain."""
    model, tolerance, iterations = claim.problem.model, library.tolerance, library.iterations
    gap = model.primal_objective(evaluation) - model.dual_objective(evaluation)
    found = KernelRounding(gap, _rounded_gap(rounded, evaluation, claim.width))
    known = np.isfinite(model.conditions.upper).all()
    known = known and type(model.kernel) in (*FORMULAS, Precomputed)
    if tolerance is None or iterations is None or not known:
        return found
    left = tolerance / claim.solver_scale * float(np.sum(model.conditions.upper))
    found = replace(found, stopping_gap=left)
    if found.share >= NEARLY or found.rounded_gap <= left:
        return found
    error, lost = _lost_digits(rounded, evaluation, iterations)
    return replace(found, kernel_error=error, lost_gap=lost)


def _rounded_gap(rounded: RoundedKernel, evaluation: Evaluation, width: float | None) -> float:
    """``P' - D'`` of an evaluated machine; without constraints on (w, b).

    With ``width`` None, t is the best one for these weights and the rounded kernel.
    """
    model, solution = rounded.model, evaluation.solution
    beta, own = np.asarray(solution.expansion), evaluation.dual.expansion
    of_beta, of_feasible = rounded.product(beta), rounded.product(own)
    t = best_width(model, of_beta, solution.intercept) if width is None else width
    with np.errstate(all="ignore"):
        square, weights = float(beta @ of_beta), DualWeights(own, None, float(own @ of_feasible))
        primal = model.primal_objective(DecisionValues(solution.replace(width=t), of_beta, square))
        # a rounded kernel may be indefinite: below zero the square belongs to both objectives
        primal += 0.5 * model.conditions.norm_weight * min(square, 0.0)
        return primal - model.dual_value(evaluation.point, weights)


def _lost_digits(
    rounded: RoundedKernel, evaluation: Evaluation, iterations: int
) -> tuple[float, float]:
    """Bound the errors of LIBSVM's kernel values and sums, and the gap that they can leave.

    Each iteration adds two rows of the kernel matrix to a gradient. So does the start from
    multipliers above zero, and a gradient that is added up again after shrinking.
    """
    model = rounded.model
    beta = np.abs(np.asarray(evaluation.solution.expansion))
    used = np.flatnonzero(beta)
    sizes, exponents = _errors(model.kernel, model.data.X)
    ours = gram_errors(model.kernel, rounded.gram).of_part(np.arange(len(beta)), used)
    missed = np.zeros(len(beta))
    with np.errstate(all="ignore"):
        for rows, block in rounded.gram.blocks(used) if used.size else ():
            errors = np.multiply.outer(sizes[rows], sizes[used])
            errors += np.multiply.outer(ours.left[rows], ours.right)
            of_rows = exponents[rows] + 2.0 * ours.rows[rows]
            growth = np.expm1(np.add.outer(of_rows, exponents[used] + 2.0 * ours.columns))
            errors += growth * (np.abs(block) + TINY)
            width = np.float32(block + errors) - np.float32(block - errors)
            missed[rows] = width.astype(np.float64) @ beta[used]
        missed += _sums(model, evaluation, iterations)
        gap = float(model.conditions.upper @ model.conditions.row_sizes(missed))
        # |k(x, z)| <= sqrt(k(x, x) k(z, z))
        largest = max(float(np.max(np.abs(model.gram.diagonal()), initial=0.0)), TINY)
        error = float(np.max(sizes)) ** 2 / largest + float(np.expm1(2.0 * np.max(exponents)))
    known = math.isfinite(gap) and math.isfinite(error)
    return (error, gap) if known else (math.inf, math.inf)


def _sums(model: SupportVectorModel, evaluation: Evaluation, iterations: int) -> float:
    """Rounding of LIBSVM's gradient, and of our products with the rounded kernel matrix."""
    c, terms = model.conditions, float(np.sum(np.abs(evaluation.dual.expansion)))
    largest = float(np.max(np.abs(model.gram.diagonal()), initial=0.0))
    gradient = float(np.max(np.abs(c.required), initial=0.0)) + largest * float(np.sum(c.upper))
    rows = iterations + 2 * len(c)
    steps = 4.0 * EPS * rows * (gradient + 4.0 * largest * float(np.max(c.upper)))
    return steps + 2.0 * EPS * (model.data.n_samples + 16) * largest * terms


def _errors(kernel: Kernel, X: Stored) -> tuple[Vector, Vector]:
    """(a, E) of the errors ``a_i a_j + k_ij (exp(E_i + E_j) - 1)`` of LIBSVM's values."""
    nothing = np.zeros(X.shape[0])
    if isinstance(kernel, Precomputed):  # data
        return nothing, nothing
    _, scales = kernel_sizes(kernel, X)
    relative = (X.shape[1] + 4) * EPS  # EPS is twice the rounding unit
    if isinstance(kernel, RBF):
        return nothing, relative * scales**2 + 4.0 * EPS
    return np.sqrt(relative) * scales, nothing
