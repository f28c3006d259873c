"""Reader of models given as plain arrays: ``Arrays``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from qpsvm.audits.claims import Claim, Library, Reading, multipliers
from qpsvm.audits.readers.inputs import Inputs, require_finite
from qpsvm.display import short_repr
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import CrammerSinger
from qpsvm.formulations.crammer_singer import JointProblem
from qpsvm.formulations.family import Family
from qpsvm.kernels import KernelArgument, Linear
from qpsvm.machines import SVMProblem
from qpsvm.numerics.arguments import MatrixLike, VectorLike, with_article
from qpsvm.numerics.arrays import Dense, Vector, stored

UNKNOWN = Library("the library")
"""Of numbers nobody says the origin of."""


@short_repr
@dataclass(frozen=True, eq=False)
class Arrays:
    r"""A model as plain arrays, in the scale of qpsvm's programs.

    :math:`f(x) = \sum_i s_i \alpha_i k(x_i, x) + \mathrm{intercept}`, or :math:`f(x) =
    \mathrm{coef}^\top x + \mathrm{intercept}`

    Attributes
    ----------
    formulation : object
        The program it claims to solve: ``SoftMargin(C=10.0)``, ``EpsilonRegression(...)``, ...
    intercept : float, or array of shape (k,) for ``CrammerSinger``
    alpha : array of shape (N,), optional
        Dual variables. For the two sides of a tube also ``alpha - alpha*`` of shape (n,).
    coef : array of shape (d,), or (k, d) for ``CrammerSinger``, optional
        Weights, with the linear kernel. alpha, coef or both must be given.
    kernel : Kernel, str or callable
    width : float, optional
        rho of ``NuClassification``, epsilon of ``NuRegression``; by default the best one for these
        weights.
    library : Library, optional
        Who computed them.

    Examples
    --------
    >>> import qpsvm
    >>> from qpsvm.audits import Arrays
    >>> X, y = [[0.0], [2.0]], [-1, 1]
    >>> model = Arrays(qpsvm.SoftMargin(C=1.0), alpha=[0.5, 0.5], intercept=-1.0)
    >>> qpsvm.audit(model, X, y).passed
    True
    """

    formulation: Family | CrammerSinger
    intercept: VectorLike = 0.0
    alpha: VectorLike | None = None
    coef: MatrixLike | None = None
    kernel: KernelArgument = "linear"
    width: float | None = None
    library: Library = UNKNOWN


def arrays(model: Arrays, inputs: Inputs) -> Reading:
    """Read the machine that an ``Arrays`` object describes.

    Raises
    ------
    AuditRefusedError
        Numbers that are missing, not finite, or of another shape than the program needs.
    """
    inputs.require_only((), "Arrays")
    samples = inputs.samples()
    build = model.formulation.primal if model.alpha is None else model.formulation.dual
    problem = build(samples, inputs.y, kernel=model.kernel, sample_weight=inputs.sample_weight)
    _require_enough(model, problem)
    intercept = stored(model.intercept, "intercept", AuditRefusedError)
    coef = None if model.coef is None else stored(model.coef, "coef", AuditRefusedError)
    rows = (problem.model.n_classes,) if isinstance(problem, JointProblem) else ()
    _require_shape("intercept", intercept, rows)
    if coef is not None:
        _require_shape("coef", coef, (*rows, samples.shape[1]))
    return Reading(
        model="Arrays",
        library=model.library,
        claims=(
            Claim(
                name="",
                problem=problem,
                intercept=intercept if rows else float(intercept),
                alpha=None
                if model.alpha is None
                else _alpha(model.alpha, cast("SVMProblem", problem)),
                coef=coef,
                width=model.width,
            ),
        ),
        samples=samples,
    )


# --- small pieces -----------------------------------------------------------------------------


def _require_enough(model: Arrays, problem: object) -> None:
    if not isinstance(problem, SVMProblem | JointProblem):
        raise AuditRefusedError(
            f"Arrays describes one machine, and {model.formulation!r} has several; audit each."
        )
    if model.alpha is None and model.coef is None:
        raise AuditRefusedError("Arrays holds neither alpha nor coef; pass one of them.")
    if model.coef is not None and not isinstance(problem.kernel, Linear):
        raise AuditRefusedError(
            f"Arrays holds coef, and {with_article(f'{problem.kernel} kernel')} has no explicit "
            "weights; pass alpha."
        )
    follows = isinstance(problem, SVMProblem) and problem.model.norm.weights_follow
    if model.coef is None and not follows:
        raise AuditRefusedError(
            f"The weights of {model.formulation!r} do not follow from alpha alone; pass coef."
        )
    if model.alpha is not None and isinstance(problem, JointProblem):
        raise AuditRefusedError(f"For {model.formulation!r} pass coef and intercept, and no alpha.")


def _alpha(given: VectorLike, problem: SVMProblem) -> Vector:
    """Dual variables, shape (N,); given as ``alpha - alpha*`` where each sample has two sides."""
    alpha = stored(given, "alpha", AuditRefusedError)
    n, N = problem.data.n_given, len(problem.model.conditions)
    if 2 * problem.data.n_samples == N and alpha.shape == (n,):
        _require_shape("alpha", alpha, (n,))
        return multipliers(problem, alpha)
    _require_shape("alpha", alpha, (N,))
    return alpha


def _require_shape(name: str, numbers: Dense, shape: tuple[int, ...]) -> None:
    require_finite("Arrays", **{name: numbers})
    if numbers.shape != shape:
        raise AuditRefusedError(
            f"{name} has shape {numbers.shape}, the program of these data needs {shape}; pass the "
            "training data, and numbers for all of them."
        )
