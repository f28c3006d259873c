"""``qpsvm.audit``: verify a model that another library fitted against its exact program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.audits import own_predictions
from qpsvm.audits.claims import Claim, Problem, Reading, Solution
from qpsvm.audits.comparison import DecisionRanges, Optimum, of_machine, of_votes, with_optimum
from qpsvm.audits.in_chunks import audit_in_chunks
from qpsvm.audits.machine import AuditedMachine
from qpsvm.audits.parts import Part, joined, parts_of
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.audits.readers.own import is_own
from qpsvm.audits.readers.registry import read
from qpsvm.audits.rebuilt import decisions
from qpsvm.audits.result import Audit
from qpsvm.audits.rounding import RoundedKernel, kernel_rounding
from qpsvm.certificates import PredictionComparison, certify
from qpsvm.chunked import is_chunked
from qpsvm.exceptions import AuditRefusedError, QPSVMError
from qpsvm.machines import SVMProblem
from qpsvm.machines.evaluation import Evaluation
from qpsvm.numerics.arguments import Samples, Targets, Weights, explains_calls, require_flag
from qpsvm.numerics.arrays import Mask
from qpsvm.numerics.precision import EPS
from qpsvm.qp.kkt_residuals import Tolerances
from qpsvm.solving import solve
from qpsvm.solving.polishing import polish
from qpsvm.verification import verify, verify_evaluated

if TYPE_CHECKING:
    from qpsvm.backends import Callback

SHARPER = 0.1
"""The exact optimum is solved to this share of eps."""

SOLVABLE = 5000
"""Variables of a program that is solved from scratch if a polish does not get there."""

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
    if is_chunked(X):
        if not all(value is None for value in (C, nu, epsilon)):
            raise AuditRefusedError(
                "C, nu and epsilon of an estimator are its own; leave them out."
            )
        found: Any = audit_in_chunks(model, X, y, sample_weight, eps=eps)
        return found  # type: ignore[no-any-return] # a ChunkedAudit
    inputs = Inputs(X, y, sample_weight, C, nu, epsilon)
    return _audit(model, inputs, Options(eps, optimum, callback))


# --- small pieces -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """Accuracy of an audit, whether the exact optimum is solved for, and who listens."""

    eps: float
    optimum: bool
    callback: Callback | None


def _audit(model: Estimator, inputs: Inputs, options: Options) -> Audit:
    parts = parts_of(model, inputs)
    if parts:
        audits = [_of_part(model, part, options) for part in parts]
        return joined(model, [name for name, _, _ in parts], audits)
    reading = read(model, inputs)
    # the reader of own models has compared their predictions
    answers = None if is_own(model) else own_predictions.asked(model, inputs.X)
    unit = EPS if answers is None else answers.unit
    audited = [_machine(claim, reading, unit, options) for claim in reading.claims]
    machines = [machine for machine, _ in audited]
    own, sure = None, None
    if answers is not None:
        own, sure = own_predictions.compare(model, answers, reading, machines)
        machines = [machine.with_check(own.check) for machine in machines]
    return Audit(
        model=reading.model,
        library=reading.library,
        eps=options.eps,
        machines=tuple(machines),
        combined=_combined(reading, [compared for _, compared in audited], sure),
        remarks=reading.remarks,
        own_predictions=own,
    )


def _of_part(model: Estimator, part: Part, options: Options) -> Audit:
    """Audit a machine inside a model, and name it where it is refused."""
    name, inside, inputs = part
    try:
        return _audit(inside, inputs, options)
    except AuditRefusedError as error:
        where = f"{name} of the" if name else "The model in this"
        cv, hint = getattr(model, "cv", None), ""
        if getattr(cv, "shuffle", False) and getattr(cv, "random_state", None) is None:
            hint = f" cv={cv!r} does not split the same way again; give it a random_state."
        raise AuditRefusedError(f"{where} {type(model).__name__}: {error}{hint}") from error


def _machine(
    claim: Claim, reading: Reading, unit: float, options: Options
) -> tuple[AuditedMachine, tuple[Optimum, DecisionRanges] | None]:
    """Audit one program; return also what is known of its optimum for all samples.

    ``unit`` is the rounding unit of the model's own arithmetic.
    """
    problem, library, best, remarks = claim.problem, reading.library, None, list[str]()
    if not claim.has_multipliers:
        if not options.optimum:
            raise AuditRefusedError(
                f"{library.name} stores no multipliers, so that only the exact optimum gives a "
                "lower bound; leave optimum=False out."
            )
        remarks.append(WITHOUT_MULTIPLIERS)
        best = _exact(problem, None, options)
    rounded, rounding = None, None
    if claim.stated is not None:
        solution: Solution = claim.stated
        report = verify(problem, solution, eps=options.eps)
    else:
        if library.float32_kernel and isinstance(problem, SVMProblem) and claim.has_multipliers:
            rounded = RoundedKernel(problem.model)
        multiply = None if rounded is None else rounded.multiply
        evaluation = claim.completed(claim.draft(best), library, multiply)
        solution = evaluation.solution
        report = verify_evaluated(problem, evaluation, eps=options.eps)
        if rounded is not None and isinstance(evaluation, Evaluation):
            rounding = kernel_rounding(claim, library, evaluation, rounded)
    if best is None and options.optimum:
        try:
            best = _exact(problem, solution, options)
        except QPSVMError as error:  # the bounds stand without it
            remarks.append(f"the exact optimum was not found: {error}")
    own = decisions(claim, reading, solution, report.certificate, unit)
    compared = None
    if best is not None:
        compared = with_optimum(claim, own, best, report, reading.samples)
        if compared is None:
            remarks.append(f"the exact optimum was not found: {best.status.value}")
    machine = AuditedMachine(
        name=claim.name,
        problem=problem,
        solution=solution,
        factor=claim.factor,
        report=report,
        decisions=own,
        optimum=None if compared is None else compared[0],
        rounding=rounding,
        has_multipliers=claim.has_multipliers,
        remarks=tuple(remarks),
    )
    return machine, compared


def _combined(
    reading: Reading, found: Sequence[tuple[Optimum, DecisionRanges] | None], sure: Mask | None
) -> PredictionComparison | None:
    """Compare the predictions of all machines together; None if an optimum is missing.

    ``sure`` marks the samples whose label was compared with the model's own prediction.
    """
    claims, known = reading.claims, [each for each in found if each is not None]
    if reading.reduction is None or len(known) < len(claims):
        return None
    taking_part = np.unique(np.concatenate([claim.problem.data.kept for claim in claims]))
    values = [each[taking_part] for _, each in known]
    factors = [claim.factor for claim in claims]
    some = None if sure is None else sure[taking_part]
    together = of_votes(values, factors, reading.combine_bounds, some)
    # votes are counted, and what moves are the decision values of the machines
    changes = [
        of_machine(claim.problem, each, claim.factor).largest_change
        for claim, each in zip(claims, values, strict=True)
    ]
    gap = max(optimum.proof.relative_gap for optimum, _ in known)
    return replace(together, largest_change=max(changes), computed_gap=gap)


def _exact(problem: Problem, start: Solution | None, options: Options) -> Solution:
    """Compute the optimum: polish a given solution, or solve from scratch."""
    eps, callback = SHARPER * options.eps, options.callback
    if start is not None:
        found: Solution = polish(problem, start, eps=eps, callback=callback)
        reached = certify(problem, found).relative_gap <= eps
        if reached or problem.qp.n_variables > SOLVABLE:
            return found
    solved: Solution = solve(problem, eps=eps, callback=callback)
    return solved
