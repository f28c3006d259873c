"""Plain numbers as models and as solutions: ``Arrays``, the content of files, ``solution_of``."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.audits.array_model import ArrayModel, Formulation
from qpsvm.audits.claims import Claim, Library, Problem, Reading, Solution, multipliers
from qpsvm.audits.inputs import Inputs
from qpsvm.data.targets import as_classes
from qpsvm.display import short_repr
from qpsvm.exceptions import AuditRefusedError, InvalidDataError
from qpsvm.formulations.crammer_singer import JointProblem
from qpsvm.kernels import KernelArgument, Linear
from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.machines.setup import stated_solution
from qpsvm.numerics.arguments import MatrixLike, VectorLike, with_article
from qpsvm.numerics.arrays import Dense, stored

UNKNOWN = Library("the library")
"""Of numbers nobody says the origin of."""


@short_repr
@dataclass(frozen=True, eq=False)
class Arrays:
    r"""A model of any library as plain arrays of alpha, weights and intercepts, for an audit.

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

    formulation: Formulation
    intercept: VectorLike = 0.0
    alpha: VectorLike | None = None
    coef: MatrixLike | None = None
    kernel: KernelArgument = "linear"
    width: float | None = None
    library: Library = UNKNOWN


def read_arrays(model: Arrays, inputs: Inputs) -> Reading:
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
    claim = _claim(_require_enough(model, problem), model, AuditRefusedError)
    return Reading(model="Arrays", library=model.library, claims=(claim,), samples=samples)


def read_file(model: ArrayModel, inputs: Inputs) -> Reading:
    """Read the plain numbers of a JSON or NPZ file, whose classes may be in another order.

    Raises
    ------
    AuditRefusedError
        As ``read_arrays``; no formulation.
    """
    inputs.require_only((), "plain arrays")
    if model.formulation is None:
        raise AuditRefusedError(
            f"{model.source!r} does not name the program it solves; add a formulation to it."
        )
    coef, intercept = model.coef, model.intercept
    if model.classes is not None:
        inputs.codes(np.asarray(model.classes), inputs.weights(inputs.samples().shape[0]))
        order = [model.classes.index(label) for label in as_classes(inputs.y)[1].tolist()]
        if coef is not None and coef.ndim == 2:
            coef, intercept = coef[order], np.asarray(intercept)[order]
        elif order[0] > order[1]:  # alpha belongs to samples, not to a side
            coef, intercept = None if coef is None else -coef, -intercept
    kernel = "linear" if model.kernel is None else model.kernel
    numbers = Arrays(model.formulation, intercept, model.alpha, coef, kernel, model.width)
    return replace(read_arrays(numbers, inputs), model=f"model {os.path.basename(model.source)!r}")


def solution_of(
    problem: Problem,
    *,
    alpha: ArrayLike | None = None,
    coef: ArrayLike | None = None,
    intercept: float = 0.0,
    width: float | None = None,
) -> SVMSolution:
    """Make a solution of a program, for ``qpsvm.verify``, of plain numbers from any source.

    Nothing is improved and nothing is claimed of it. Weights without alpha get multipliers of zero,
    which prove nothing: only the primal objective of such a solution says something.

    Parameters
    ----------
    problem : SVMProblem
        In either form. Problems of several decision functions are refused.
    alpha : array of shape (N,), optional
        Dual variables. For the two sides of a tube also ``alpha - alpha*`` of shape (n,).
    coef : array of shape (d,), optional
        Weights, of a linear kernel; by default those that follow from alpha.
    intercept : float
        b, zero where the problem has none.
    width : float, optional
        rho of ``NuClassification``, epsilon of ``NuRegression``; by default the best one for these
        weights.

    Returns
    -------
    SVMSolution
        The numbers as they are, with status UNKNOWN.

    Raises
    ------
    InvalidDataError
        Neither alpha nor coef; numbers that are missing, not finite or of another shape; a problem
        of several decision functions; constraints on (w, b) and no alpha.
    AuditRefusedError
        A sample of weight zero has a coefficient.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> solution = qpsvm.audits.solution_of(problem, alpha=[0.5, 0.5], intercept=-1.0)
    >>> qpsvm.verify(problem, solution).passed
    True
    """
    if not isinstance(problem, SVMProblem):
        raise InvalidDataError(
            f"alpha or coef alone are no solution of {problem.family}; pass a complete one."
        )
    model, numbers = problem.model, Arrays(problem.formulation, intercept, alpha, coef, width=width)
    given = _claim(problem, numbers, InvalidDataError)
    if given.alpha is not None:
        draft: Solution = given.draft()
        if problem.form == "primal" and model.is_linear:
            draft = draft.replace(expansion=None)  # such a program has w, and no coefficients
    elif not model.is_linear or given.coef is None:
        raise InvalidDataError("There is neither alpha nor coef of a linear kernel; pass one.")
    elif model.constraints is not None:
        raise InvalidDataError(
            f"Weights alone, which may violate the constraints, bound no optimum of "
            f"{problem.family}; pass alpha, too."
        )
    else:
        none = np.zeros(len(model.conditions))
        draft = stated_solution(model, none, float(given.intercept), coef=given.coef)
    solution = given.completed(draft, Library("")).solution
    assert isinstance(solution, SVMSolution)  # as the draft is
    return solution


# --- small pieces -----------------------------------------------------------------------------


def _require_enough(model: Arrays, problem: object) -> SVMProblem | JointProblem:
    """Return the problem if the arrays are those of one machine that solves it."""
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
    return problem


def _claim(problem: SVMProblem | JointProblem, given: Arrays, error: type[Exception]) -> Claim:
    """Check numbers of the shapes that a program needs."""
    alpha, coef, width = None, None, None
    rows = (problem.model.n_classes,) if isinstance(problem, JointProblem) else ()
    intercept = _program_numbers("intercept", given.intercept, rows, error)
    if given.alpha is not None and isinstance(problem, SVMProblem):
        n, N = problem.data.n_given, len(problem.model.conditions)
        of_sides = 2 * problem.data.n_samples == N and np.shape(given.alpha) == (n,)
        alpha = _program_numbers("alpha", given.alpha, (n if of_sides else N,), error)
        alpha = multipliers(problem, alpha) if of_sides else alpha
    if given.coef is not None:
        coef = _program_numbers("coef", given.coef, (*rows, problem.data.n_features), error)
    if given.width is not None:
        width = float(_program_numbers("width", given.width, (), error))
    b = intercept if rows else float(intercept)
    return Claim("", problem, b, alpha=alpha, coef=coef, width=width)


def _program_numbers(
    name: str, given: ArrayLike, shape: tuple[int, ...], error: type[Exception]
) -> Dense:
    numbers = stored(given, name, error)
    if not shape and not (numbers.shape == shape and np.isfinite(numbers)):
        what = f"has shape {numbers.shape}" if numbers.shape else f"is {given!r}"
        raise error(f"{name} {what}; it must be a finite number.")
    if numbers.shape != shape:
        raise error(
            f"{name} has shape {numbers.shape}, the program needs {shape}; pass the training data, "
            "and numbers for all of them."
        )
    if not np.isfinite(numbers).all():
        n = int(np.sum(~np.isfinite(numbers)))
        raise error(f"{name} has {n} NaN or infinities; pass finite numbers.")
    return numbers
