"""Plain numbers of any library as a model: given as arrays, or in a file as JSON or NPZ.

A file holds (``docs/model_files.md`` describes both formats)::

    {"formulation": {"name": "SoftMargin", "C": 1.0, "intercept": "free"},
     "kernel": {"name": "rbf", "gamma": 0.5},
     "alpha": [0.5, 0.5], "intercept": 0.1}
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from qpsvm import formulations
from qpsvm.audits.claims import Claim, Library, Problem, Reading, Solution, multipliers
from qpsvm.audits.inputs import Inputs
from qpsvm.data.targets import as_classes
from qpsvm.display import short_repr
from qpsvm.exceptions import AuditRefusedError, InvalidDataError, ModelFileError, QPSVMError
from qpsvm.formulations import CrammerSinger
from qpsvm.formulations.crammer_singer import JointProblem
from qpsvm.formulations.family import Family, Formulation
from qpsvm.io import json_text, npz
from qpsvm.kernels import KernelArgument, Linear
from qpsvm.kernels.gram import KERNELS
from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.machines.setup import stated_solution
from qpsvm.numerics.arguments import (
    MatrixLike,
    VectorLike,
    an,
    is_finite_number,
    is_real_number,
    with_article,
)
from qpsvm.numerics.arrays import Dense, freeze, stored
from qpsvm.numerics.conversion import first_rounded

Built = TypeVar("Built")

KEYS = ("formulation", "kernel", "classes", "alpha", "coef", "intercept", "width")
"""Names of the entries of a model file."""

FORMULATIONS: Mapping[str, type[Formulation[Any]]] = {
    name: kind
    for name, kind in vars(formulations).items()
    if name in formulations.__all__ and issubclass(kind, Family | CrammerSinger)
}
"""Formulations with a single decision function, or all of them in one program."""

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
    formulation : object, or None in a file without one
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
    classes : tuple, optional
        Labels in the order of the numbers: (negative, positive), or one per row of ``coef``; by
        default they are sorted.
    source : str
        The path of the file, as given; empty for numbers of no file.

    Examples
    --------
    >>> import qpsvm
    >>> from qpsvm.audits import Arrays
    >>> X, y = [[0.0], [2.0]], [-1, 1]
    >>> model = Arrays(qpsvm.SoftMargin(C=1.0), alpha=[0.5, 0.5], intercept=-1.0)
    >>> qpsvm.audit(model, X, y).passed
    True
    """

    formulation: Formulation[Any] | None
    intercept: VectorLike = 0.0
    alpha: VectorLike | None = None
    coef: MatrixLike | None = None
    kernel: KernelArgument = "linear"
    width: float | None = None
    library: Library = UNKNOWN
    classes: tuple[object, ...] | None = None
    source: str = ""


def read_arrays(model: Arrays, inputs: Inputs) -> Reading:
    """Read the machine that plain numbers describe.

    Raises
    ------
    AuditRefusedError
        Numbers that are missing, not finite, or of another shape than the program needs; a file
        that does not name the program.
    """
    inputs.require_only((), "plain arrays" if model.source else "Arrays")
    formulation = model.formulation
    if formulation is None:
        raise AuditRefusedError(
            f"{model.source!r} does not name the program it solves; add a formulation to it."
        )
    model = _with_sorted_classes(model, inputs)
    samples = inputs.samples()
    build = formulation.primal if model.alpha is None else formulation.dual
    problem = build(samples, inputs.y, kernel=model.kernel, sample_weight=inputs.sample_weight)
    claim = _claim(_require_enough(model, problem), model, AuditRefusedError)
    name = f"model {os.path.basename(model.source)!r}" if model.source else "Arrays"
    return Reading(model=name, library=model.library, claims=(claim,), samples=samples)


def _with_sorted_classes(model: Arrays, inputs: Inputs) -> Arrays:
    """Reorder a model's numbers to the order of classes in qpsvm's programs."""
    if model.classes is None:
        return model
    inputs.codes(np.asarray(model.classes), inputs.weights(inputs.samples().shape[0]))
    order = [model.classes.index(label) for label in as_classes(inputs.y)[1].tolist()]
    coef = None if model.coef is None else stored(model.coef, "coef", AuditRefusedError)
    intercept = stored(model.intercept, "intercept", AuditRefusedError)
    if coef is not None and coef.ndim == 2:
        return replace(model, coef=coef[order], intercept=intercept[order])
    if order[0] < order[1]:
        return model
    # alpha belongs to samples, not to a side
    return replace(model, coef=None if coef is None else -coef, intercept=-intercept)


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


# --- files --------------------------------------------------------------------------------------


def from_json(source: str, content: bytes) -> Arrays:
    """Read a model from JSON.

    Raises
    ------
    ModelFileError
        Not UTF-8 or not JSON; nested; names given twice; unknown, missing or contradicting entries;
        numbers that are not finite, or texts in their place.
    """
    brackets = content.count(b"[") + content.count(b"{")
    most = 10_000  # lists and objects; more than one per class are nested for nesting's sake
    try:
        if brackets > most:
            raise ValueError(f"it has {brackets:,} lists and objects; a model has only a few")
        data = json_text.loads(content.decode("utf-8"))
        if not isinstance(data, dict):
            raise ValueError(f"it is {an(data)}; a model must be an object")
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{source!r} is not a model in JSON ({error}); write one as docs/model_files.md "
            "describes."
        ) from error
    return _of_file(source, data)


def from_npz(source: str, arrays: npz.Arrays) -> Arrays:
    """Build a model from the arrays of an NPZ file; formulation and kernel are JSON texts.

    Raises
    ------
    ModelFileError
        As ``from_json``.
    """
    data = dict[str, object](arrays)
    for key in {"formulation", "kernel"} & set(data):
        array = arrays[key]
        try:
            if array.dtype.kind != "U" or array.ndim != 0:
                raise ValueError(f"it has dtype {array.dtype} and shape {array.shape}")
            data[key] = json_text.loads(str(array))
        except (ValueError, RecursionError) as error:
            raise ModelFileError(
                f"{source!r}: array {key!r} is not a single JSON text ({error}); store "
                "numpy.array(json.dumps(...))."
            ) from error
    if "classes" in data:
        data["classes"] = arrays["classes"].tolist()
    return _of_file(source, data)


def _of_file(source: str, data: Mapping[str, object]) -> Arrays:
    try:
        unknown = [key for key in data if key not in KEYS]
        if unknown:
            known = ", ".join(KEYS)
            raise ModelFileError(f"{unknown[0][:40]!r} is not one of {known}; leave it out")
        if "alpha" not in data and "coef" not in data:
            raise ModelFileError("it has neither alpha nor coef; add one of them, or both")
        intercept = _numbers(data, "intercept", (0, 1))
        if intercept is None:
            raise ModelFileError("it has no intercept; add one, 0 if there is none")
        coef, width = _numbers(data, "coef", (1, 2)), _numbers(data, "width", (0,))
        rows = () if coef is None or coef.ndim == 1 else (len(coef),)
        if intercept.shape != rows:
            raise ModelFileError(
                f"intercept has shape {intercept.shape}, but this coef needs {rows}; a single "
                "machine has a list of weights and one number as intercept"
            )
        return Arrays(
            formulation=_built(data, "formulation", FORMULATIONS),
            intercept=intercept if rows else float(intercept),
            alpha=_numbers(data, "alpha", (1,)),
            coef=coef,
            kernel=_built(data, "kernel", KERNELS) or "linear",
            width=None if width is None else float(width),
            classes=_classes(data, *(rows or (2,))),
            source=source,
        )
    except ModelFileError as problem:
        raise ModelFileError(f"{source!r} is not a usable model: {problem}.") from problem


def _numbers(data: Mapping[str, object], key: str, dimensions: tuple[int, ...]) -> Dense | None:
    """Read one entry of a model file, such as alpha, as an array; None if the file lacks it."""
    if key not in data:
        return None
    value = data[key]
    entries = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    is_numeric = entries.dtype.kind in "iuf" or all(map(is_real_number, entries.flat))
    if not is_numeric or entries.ndim not in dimensions:
        words = ("a number", "a list of numbers", "a table of numbers")
        raise ModelFileError(f"{key} is not {' or '.join(words[n] for n in dimensions)}")
    array = entries.astype(np.float64)
    if array.ndim and 0 in array.shape:
        raise ModelFileError(f"{key} is empty; write one number per sample, or per feature")
    rounded = first_rounded(value, array)
    if rounded is not None:
        where = list(rounded.place) or ""
        raise ModelFileError(f"{key}{where} is {rounded.value}, {rounded.problem.rstrip('.')}")
    if not np.isfinite(array).all():
        at = np.argwhere(~np.isfinite(array))[0].tolist()
        what = f"{key}{at or ''} is {array[tuple(at)]}"
        raise ModelFileError(f"{what}; every number must be finite")
    return freeze(array)


def _classes(data: Mapping[str, object], count: int) -> tuple[object, ...] | None:
    """Read the class labels of a model file; None if the file has none."""
    if "classes" not in data:
        return None
    values = data["classes"]
    if not isinstance(values, list) or len(values) != count:
        raise ModelFileError(f"classes must be the {count} labels")
    kinds = {"number" if is_real_number(value) else type(value).__name__ for value in values}
    good = len(kinds) == 1 and kinds < {"number", "str", "bool"} and len(set(values)) == count
    if not good or any(value != value for value in values):  # noqa: PLR0124 - NaN
        raise ModelFileError(f"classes are {repr(values)[:80]}; write different labels of one kind")
    return tuple(values)


def _built(data: Mapping[str, object], key: str, known: Mapping[str, type[Built]]) -> Built | None:
    """Build a kernel or formulation from its name and parameters in a model file."""
    if key not in data:
        return None
    spec = data[key]
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
        raise ModelFileError(f"{key} is not an object with a name; write {{'name': ..., ...}}")
    parameters = dict(spec)
    name, pairs = parameters.pop("name"), parameters.get("class_weight")
    if name not in known:
        raise ModelFileError(f"the {key} {name[:40]!r} is unknown; known are {', '.join(known)}")
    if not all(k == "class_weight" or v is None or _is_plain(v) for k, v in parameters.items()):
        raise ModelFileError(f"the parameters of {name} are not plain numbers and texts")
    if pairs is not None and not isinstance(pairs, str):
        good = isinstance(pairs, list) and all(map(_is_pair, pairs))
        if not good or len(dict(pairs)) < len(pairs):
            raise ModelFileError(
                "class_weight is not a list of pairs [label, weight], one per label"
            )
        parameters["class_weight"] = dict(pairs)
    try:
        return known[name](**parameters)
    except (QPSVMError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{name} does not accept these parameters ({error})") from error


def _is_plain(value: object) -> bool:
    """Return whether a model parameter is a boolean, a string, or a finite number."""
    return isinstance(value, bool | str) or is_finite_number(value)


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_plain, value))


# --- checks against a program -----------------------------------------------------------------


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
