"""``qpsvm.audit``: verify a model that another library fitted against its exact program.

Models that contain fitted machines are audited machine by machine, each with the data that it was
fitted to:

=====================================  ===========================================================
``CalibratedClassifierCV``             one machine per fold, fitted to the rest of the samples; a
                                       single one with ``ensemble=False``
``OneVsRestClassifier``                one per class, fitted to "is it this class?"
``OneVsOneClassifier``                 one per pair of classes, fitted to their samples
``GridSearchCV`` and other searches    ``best_estimator_``, fitted to all samples
``FrozenEstimator``                    the estimator inside
a ``Pipeline`` that ends in one        the same, on the transformed samples
=====================================  ===========================================================

How a wrapper combines the answers of its machines is not audited.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qpsvm.audits import own_predictions
from qpsvm.audits.claims import Claim, Problem, Reading, Solution
from qpsvm.audits.comparison import of_machine, of_votes, with_optimum
from qpsvm.audits.in_chunks import audit_in_chunks
from qpsvm.audits.inputs import Estimator, Inputs
from qpsvm.audits.own_predictions import OwnPredictions
from qpsvm.audits.readers import is_own, translate_model
from qpsvm.audits.rebuilt import decisions
from qpsvm.audits.result import Audit, AuditedMachine
from qpsvm.audits.rounding import RoundedKernel, kernel_rounding
from qpsvm.certificates import PredictionComparison, certify
from qpsvm.chunked import is_chunked
from qpsvm.exceptions import AuditRefusedError, QPSVMError
from qpsvm.numerics.arguments import Samples, Targets, Weights, explains_calls, require_flag
from qpsvm.numerics.arrays import Mask
from qpsvm.numerics.precision import EPS
from qpsvm.qp.kkt_residuals import Tolerances
from qpsvm.solving import solve
from qpsvm.solving.polishing import polish
from qpsvm.verification import verify, verify_evaluated

if TYPE_CHECKING:
    from qpsvm.backends import Callback

Solve: TypeAlias = Callable[[Problem, Solution | None], Solution]
"""Computes the exact optimum of a program, from a solution of it if there is one."""

Part: TypeAlias = tuple[str, Estimator, Inputs]
"""A fitted machine inside a model: its name, the machine, and the inputs of its own fit."""

WITHOUT_MULTIPLIERS = (
    "the model has no multipliers: alpha and the residuals of the program are those of the exact "
    "optimum; objective, gap, samples and weights are the model's"
)


@explains_calls
def audit(
    model: Estimator,
    X: Samples,
    y: Targets | None = None,
    *,
    sample_weight: Weights | None = None,
    C: float | None = None,
    nu: float | None = None,
    epsilon: float | None = None,
    eps: float = 1e-8,
    optimum: bool = True,
    callback: Callback | None = None,
) -> Audit:
    """Verify a fitted model against the exact program it claims to solve.

    ``P(w, b) - D(alpha) <= eps max(|P|, floor)``, the KKT conditions sample by sample, and how far
    the exact optimum is.

    Parameters
    ----------
    model : estimator, path, Arrays or SavedModel
        A fitted ``SVC``, ``NuSVC``, ``SVR``, ``NuSVR``, ``OneClassSVM``, ``LinearSVC``,
        ``LinearSVR``, ``SGDClassifier`` (hinge losses), ``SGDOneClassSVM`` of scikit-learn, or an
        estimator of this package; a ``Pipeline`` that ends in one; a ``CalibratedClassifierCV``,
        ``OneVsRestClassifier``, ``OneVsOneClassifier`` or parameter search of them, whose machines
        are audited on the samples that each was fitted to; the path of a LIBSVM, LIBLINEAR or
        qpsvm model file; plain numbers as ``qpsvm.audits.Arrays``.
    X, y : training samples and labels or targets
        As they were handed to ``fit``, in the same order. y is not used by one-class models.
    sample_weight : array of shape (n,), optional
        As handed to ``fit``.
    C, nu, epsilon : float, optional
        Parameters of the training that a model file does not hold.
    eps : float
        Relative accuracy: of the certified gap and of the scaled residuals.
    optimum : bool
        Also solve the program exactly, to say how far above it the objective is and which
        predictions differ. Without it the cost is one pass over the kernel matrix. Models without
        multipliers (LIBLINEAR, SGD) have no other lower bound.
    callback : callable, optional
        Receives ``qpsvm.backends.Progress`` events of the exact solve; returning False stops it.

    Returns
    -------
    Audit
        With ``passed``, ``verdict`` and, per program, the verifier's report. For samples in chunks
        (``qpsvm.chunked``) a ``ChunkedAudit``, of an ``SVC`` of two classes or an ``SVR``.

    Raises
    ------
    AuditRefusedError
        A model that is not fitted, of a kind or with parameters that no program here has, or that
        does not match the data; the message says which.
    ModelFileError
        A model file that cannot be read.
    InvalidDataError, InvalidParameterError, KernelError
        As the formulation raises them for these data; a sigmoid kernel is often indefinite.

    Warns
    -----
    ToleranceNotReachedWarning
        The exact optimum was not reached to the accuracy asked for.

    Notes
    -----
    The model's own ``predict`` and ``decision_function`` are called on X and have to say what its
    stored numbers say: the check ``own_predictions`` of every machine.

    A model is refused rather than audited against another program. LIBSVM's scaled nu programs and
    LIBLINEAR's penalised intercept are translated exactly, one program for every machine of a model
    of several classes.

    Examples
    --------
    >>> import qpsvm
    >>> from sklearn.svm import SVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> found = qpsvm.audit(SVC(C=10.0, kernel="rbf").fit(X, y), X, y)
    >>> found.passed, found.machines[0].optimum.predictions_differ
    (False, 0)
    """
    Tolerances(eps)  # complains before the work
    require_flag(optimum, "optimum")
    inputs = Inputs(X, y, sample_weight, C, nu, epsilon)
    if is_chunked(X):
        inputs.require_only((), type(model).__name__)
        found: Any = audit_in_chunks(model, X, y, sample_weight, eps=eps)
        return found  # type: ignore[no-any-return] # a ChunkedAudit
    exactly = partial(_exactly, 0.1 * eps, callback) if optimum else None
    return _audit(model, inputs, eps, exactly)


def _audit(model: Estimator, inputs: Inputs, eps: float, exactly: Solve | None) -> Audit:
    parts = _parts_of(model, inputs)
    if parts:
        audits = [_of_part(model, part, eps, exactly) for part in parts]
        return _joined(model, inputs, parts, audits)
    reading = translate_model(model, inputs)
    # the reader of own models has compared their predictions
    answers = None if is_own(model) else own_predictions.asked(model, inputs.X)
    unit = EPS if answers is None else answers.unit
    machines = [_machine(claim, reading, unit, eps, exactly) for claim in reading.claims]
    own, sure = None, None
    if answers is not None:
        values = [machine.decisions for machine in machines]
        own, sure = own_predictions.compare(model, answers, reading, values)
        machines = [machine.with_check(own.check) for machine in machines]
    return Audit(
        model=reading.model,
        library=reading.library,
        eps=eps,
        machines=tuple(machines),
        combined=_combined(reading, machines, sure),
        remarks=reading.remarks,
        own_predictions=own,
    )


# --- one machine --------------------------------------------------------------------------------


def _machine(
    claim: Claim, reading: Reading, unit: float, eps: float, exactly: Solve | None
) -> AuditedMachine:
    """Audit one program; ``unit`` is the rounding unit of the model's own arithmetic."""
    problem, library, best, remarks = claim.problem, reading.library, None, list[str]()
    if not claim.has_multipliers:
        if exactly is None:
            raise AuditRefusedError(
                f"{library.name} stores no multipliers, so that only the exact optimum gives a "
                "lower bound; leave optimum=False out."
            )
        remarks.append(WITHOUT_MULTIPLIERS)
        best = exactly(problem, None)
    rounding = None
    if claim.stated is not None:
        solution: Solution = claim.stated
        report = verify(problem, solution, eps=eps)
    else:
        is_float32 = library.float32_kernel and claim.alpha is not None
        rounded = RoundedKernel(problem.model) if is_float32 else None
        multiply = None if rounded is None else rounded.multiply
        evaluation = claim.completed(claim.draft(best), library, multiply)
        solution = evaluation.solution
        report = verify_evaluated(problem, evaluation, eps=eps)
        if rounded is not None:
            rounding = kernel_rounding(claim, library, evaluation, rounded)
    if best is None and exactly is not None:
        try:
            best = exactly(problem, solution)
        except QPSVMError as error:  # the bounds stand without it
            remarks.append(f"the exact optimum was not found: {error}")
    own = decisions(claim, reading, solution, report.certificate, unit)
    optimum = None if best is None else with_optimum(claim, own, best, report, reading.samples)
    if best is not None and optimum is None:
        remarks.append(f"the exact optimum was not found: {best.status.value}")
    return AuditedMachine(
        name=claim.name,
        problem=problem,
        solution=solution,
        factor=claim.factor,
        report=report,
        decisions=own,
        optimum=optimum,
        rounding=rounding,
        has_multipliers=claim.has_multipliers,
        remarks=tuple(remarks),
    )


def _combined(
    reading: Reading, machines: Sequence[AuditedMachine], sure: Mask | None
) -> PredictionComparison | None:
    """Compare the predictions of all machines together; None if an optimum is missing.

    ``sure`` marks the samples whose label was compared with the model's own prediction.
    """
    known = [machine.optimum for machine in machines if machine.optimum is not None]
    if reading.reduction is None or len(known) < len(machines):
        return None
    taking_part = np.unique(np.concatenate([m.problem.data.kept for m in machines]))
    values = [optimum.ranges[taking_part] for optimum in known]
    some = None if sure is None else sure[taking_part]
    together = of_votes(values, reading.combine_bounds, some)
    # votes are counted, and what moves are the decision values of the machines
    changes = [
        of_machine(machine.problem, each).largest_change
        for machine, each in zip(machines, values, strict=True)
    ]
    gap = max(optimum.proof.relative_gap for optimum in known)
    return replace(together, largest_change=float(np.max(changes)), computed_gap=gap)


def _exactly(
    eps: float, callback: Callback | None, problem: Problem, start: Solution | None
) -> Solution:
    """Compute the optimum: polish a given solution; solve from scratch where that falls short."""
    if start is not None:
        found: Solution = polish(problem, start, eps=eps, callback=callback)
        if certify(problem, found).relative_gap <= eps:
            return found
    solved: Solution = solve(problem, eps=eps, callback=callback)
    return solved


# --- machines inside a model --------------------------------------------------------------------


def _parts_of(model: Estimator, inputs: Inputs) -> tuple[Part, ...]:
    """The fitted machines inside a model; none if the model is one machine itself.

    Raises
    ------
    AuditRefusedError
        The model is not fitted, or was fitted to other data.
    """
    name = _name(model)
    if name == "Pipeline" and model.steps:
        last = model.steps[-1][1]
        if not (is_own(last) or _name(last) in WRAPPERS or hasattr(last, "best_estimator_")):
            return ()  # the reader of pipelines also asks the pipeline for its predictions
        inside = inputs.in_pipeline(model)
        return _parts_of(last, inside) or (("", last, inside),)
    if name in WRAPPERS:
        try:
            return WRAPPERS[name](model, inputs)
        except (AttributeError, ValueError, TypeError, IndexError) as error:
            raise AuditRefusedError(
                f"The machines of this {name} cannot be told ({error}); pass a fitted one, "
                "with X and y as they were handed to its fit."
            ) from error
    is_from_sklearn = any(kind.__module__.startswith("sklearn.") for kind in type(model).__mro__)
    if is_from_sklearn and hasattr(model, "best_estimator_"):
        return (("", model.best_estimator_, inputs),)
    return ()


def _of_part(model: Estimator, part: Part, eps: float, exactly: Solve | None) -> Audit:
    """Audit a machine inside a model, and name it where it is refused."""
    name, inside, inputs = part
    try:
        return _audit(inside, inputs, eps, exactly)
    except AuditRefusedError as error:
        where = f"{name} of the" if name else "The model in this"
        cv, hint = getattr(model, "cv", None), ""
        if getattr(cv, "shuffle", False) and getattr(cv, "random_state", None) is None:
            hint = f" cv={cv!r} does not split the same way again; give it a random_state."
        raise AuditRefusedError(f"{where} {type(model).__name__}: {error}{hint}") from error


def _joined(
    model: Estimator, inputs: Inputs, parts: Sequence[Part], audits: Sequence[Audit]
) -> Audit:
    """One audit of all machines of a model."""
    kind, first = type(model).__name__, audits[0]
    if len(audits) == 1:
        found = replace(first, model=f"{first.model} in a {kind}")
        remark = _beside(model, inputs, parts[0])
        if not remark:
            return found
        return replace(found, remarks=(*first.remarks, remark), predicts_otherwise=True)
    machines = tuple(
        replace(machine, name=f"{name}: {machine.name}" if machine.name else name)
        for (name, _, _), audit in zip(parts, audits, strict=True)
        for machine in audit.machines
    )
    remark = (
        f"each machine of the {kind} was audited on the samples that it was fitted to; how the "
        "model combines their answers was not"
    )
    asked = [audit.own_predictions for audit in audits if audit.own_predictions is not None]
    return replace(
        first,
        model=f"{kind} of {len(audits)} models ({first.model})",
        machines=machines,
        combined=None,
        remarks=tuple(dict.fromkeys([remark, *(r for audit in audits for r in audit.remarks)])),
        own_predictions=OwnPredictions.together(asked) if asked else None,
    )


def _beside(model: Estimator, inputs: Inputs, part: Part) -> str:
    """Remark that a wrapper predicts otherwise than the only model inside it; else empty."""
    if _name(own_predictions.last(model)) == "CalibratedClassifierCV":
        return (
            "the machine inside was audited; what the CalibratedClassifierCV predicts by its "
            "probabilities was not"
        )
    name, inside, own = part
    said, known = own_predictions.asked(model, inputs.X), own_predictions.asked(inside, own.X)
    if said is None or known is None:
        return ""
    labels = known.labels
    if name:  # one of two classes against the other, as 1 and 0
        labels = np.asarray(model.classes_)[labels.astype(np.intp)]
    differ = own_predictions.n_different(said.labels, labels)
    if not differ:
        return ""
    return (
        f"the machine inside was audited; the {type(model).__name__} predicts something else for "
        f"{differ} of {len(labels)} training samples, and its predictions are not counted"
    )


def _name(model: Estimator) -> str:
    """Class name of a model of scikit-learn, or of a class derived from one; else empty."""
    for kind in type(model).__mro__:
        known = kind.__name__ == "Pipeline" or kind.__name__ in WRAPPERS
        if known and kind.__module__.startswith("sklearn."):
            return kind.__name__
    return ""


def _calibrated(model: Estimator, inputs: Inputs) -> tuple[Part, ...]:
    """The machines of ``CalibratedClassifierCV``: its folds are split again."""
    from sklearn.model_selection import check_cv

    fitted = [calibrated.estimator for calibrated in model.calibrated_classifiers_]
    frozen = _name(model.estimator) == "FrozenEstimator"
    if model.ensemble is False or (model.ensemble == "auto" and frozen):
        return (("", fitted[0], inputs),)
    splits = check_cv(model.cv, inputs.y, classifier=True).split(inputs.X, inputs.y)
    folds = [train for train, _ in splits]
    if len(folds) != len(fitted):
        raise ValueError(f"it has {len(fitted)} machines, and cv splits into {len(folds)} folds")
    return tuple(
        (f"without fold {i}", machine, inputs.rows(train))
        for i, (machine, train) in enumerate(zip(fitted, folds, strict=True))
    )


def _one_vs_rest(model: Estimator, inputs: Inputs) -> tuple[Part, ...]:
    """The machines of ``OneVsRestClassifier``, without those of classes that all samples have."""
    columns = model.label_binarizer_.transform(inputs.y)
    columns = columns.toarray() if hasattr(columns, "toarray") else np.asarray(columns)
    classes = np.asarray(model.classes_).tolist()
    names = [f"{label!r} against the rest" for label in classes]
    if columns.shape[1] == 1:
        names = [f"{classes[-1]!r} against {classes[0]!r}"]
    return tuple(
        (name, machine, replace(inputs, y=column))
        for name, machine, column in zip(names, model.estimators_, columns.T, strict=True)
        if type(machine).__name__ != "_ConstantPredictor"
    )


def _one_vs_one(model: Estimator, inputs: Inputs) -> tuple[Part, ...]:
    """The machines of ``OneVsOneClassifier``, in its order of pairs."""
    from sklearn.utils.metaestimators import _safe_split

    labels, parts = np.asarray(inputs.y), list[Part]()
    pairs = itertools.combinations(np.asarray(model.classes_).tolist(), 2)
    for (a, b), machine in zip(pairs, model.estimators_, strict=True):
        rows = np.flatnonzero((labels == a) | (labels == b))
        samples = _safe_split(model.estimator, inputs.X, None, indices=rows)[0]
        own = replace(inputs.rows(rows), X=samples, y=(labels[rows] == b).astype(int))
        parts.append((f"{a!r} against {b!r}", machine, own))
    return tuple(parts)


WRAPPERS: Mapping[str, Callable[[Estimator, Inputs], tuple[Part, ...]]] = {
    "CalibratedClassifierCV": _calibrated,
    "OneVsRestClassifier": _one_vs_rest,
    "OneVsOneClassifier": _one_vs_one,
    "FrozenEstimator": lambda model, inputs: (("", model.estimator, inputs),),
}
"""Models of scikit-learn that contain fitted machines."""
