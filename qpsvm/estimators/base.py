"""Base class of all estimators: scikit-learn's conventions around ``qpsvm.solve``."""

from __future__ import annotations

import html
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from qpsvm.backends.base import Backend, Settings
from qpsvm.certificates import Certificate
from qpsvm.certificates.predictions import CertifiedPredictions
from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.chunked import ChunkedSolution
from qpsvm.constraints import Constraints
from qpsvm.direct.together import solved_together
from qpsvm.display import one_line
from qpsvm.estimators import inputs, onnx_converter
from qpsvm.estimators.inputs import DEFAULT_EPS, ExplainsParameters, accuracy, parameters
from qpsvm.estimators.persistent import (
    LEARNED,
    PersistentEstimator,
    Proof,
    replaced,
    unfitted,
)
from qpsvm.formulations.family import Formulation
from qpsvm.kernels import Kernel
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.warm_start import NothingKnownError
from qpsvm.numerics.arguments import Samples, Targets, Weights, is_real_number, require_flag
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.interrupts import without_solution
from qpsvm.numerics.threads import in_parallel
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram
from qpsvm.qp.solution import Status
from qpsvm.solving import Answer, put_together, solve_with
from qpsvm.solving.calls import on_device, solving_on

if TYPE_CHECKING:
    from qpsvm.reports import Report


QUICK_SAMPLES = 2_000
"""Up to so many samples a certificate takes a moment; of more it is shown once it is there."""


@parameters
class QPEstimator(ExplainsParameters, PersistentEstimator, ABC):
    """Base class of estimators whose model is the optimum of a quadratic program.

    A subclass names its formulation (``_formulation``) and its kernel (``_kernel``).

    Attributes
    ----------
    problem_ : SVMProblem, JointProblem or ReducedProblem
        The program that was solved.
    solution_ : SVMSolution, JointSolution or ReducedSolution
        Its solution, verified.
    certificate_ : Certificate or ReducedCertificate
        What is proven about it; computed when it is first asked for.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names of columns that are all strings.
    """

    eps: float = DEFAULT_EPS
    backend: str = "auto"
    constraints: Constraints | None = None
    warm_start: bool = False
    max_iter: int = -1
    verbose: bool = False
    tol: float | None = None
    cache_size: object = None
    shrinking: object = None
    random_state: object = None

    _is_supervised: ClassVar[bool] = True
    _fewest_samples: ClassVar[int] = 1

    # --- for subclasses ---------------------------------------------------------------------------
    @abstractmethod
    def _formulation(self, weights: Vector) -> Formulation[Any]:
        """Build the formulation from the parameters of the estimator."""

    @abstractmethod
    def _kernel(self, X: Samples, weights: Vector | None) -> Kernel:
        """Build the kernel from the parameters; ``weights`` where samples have any."""

    def _targets(self, y: Any, weights: Vector) -> Any:
        """Check the targets y, and store the classes of samples with weight where there are any."""
        del weights
        return y

    # --- fitting ----------------------------------------------------------------------------------
    def _fit(
        self,
        X: Samples,
        y: Any,
        sample_weight: Weights | None,
        sensitive: Targets | None = None,
        **data: object,
    ) -> Self:
        """Fit the estimator; an error or Ctrl-C leaves it as its last successful fit made it."""
        require_flag(self.warm_start, "warm_start")
        start = getattr(self, "solution_", None) if self.warm_start else None
        fresh = unfitted(self, LEARNED)
        with without_solution():
            fresh._learn(X, y, sample_weight, start, sensitive=sensitive, **data)
        return replaced(self, fresh)

    def _learn(
        self,
        X: Samples,
        y: Any,
        sample_weight: Weights | None,
        start: object,
        *,
        sensitive: Targets | None = None,
        **data: object,
    ) -> None:
        """Build the training problem, solve it, and store problem and solution."""
        samples, y = inputs.training_data(self, X, y)
        weights = inputs.weights(sample_weight, samples)
        targets = self._targets(y, weights)
        kernel = self._kernel(samples, None if sample_weight is None else weights)
        formulation: Any = self._formulation(weights)
        problem = formulation.dual(
            X if self._needs_names(X) else samples,
            targets,
            kernel=kernel,
            sample_weight=None if sample_weight is None else weights,
            constraints=inputs.constraints_of(self, formulation, sensitive),
            indefinite=getattr(self, "indefinite", "error"),
            **data,
        )
        self._solve(problem, start)
        self._fitted(weights)
        self._arrange()

    def _solve(self, problem: Any, start: Any) -> None:
        backend, options = self._backend(problem)
        eps, most = accuracy(self), self.max_iter
        settings = Settings(
            eps=eps,
            max_iterations=None if is_real_number(most) and most == -1 else most,
            verbose=self.verbose,
            options=options,
        ).started()
        if start is not None and type(start) is not problem.solution_type:
            start = None
        n_jobs = getattr(self, "n_jobs", None)
        with solving_on(self._device, backend) as chosen:
            if chosen is not backend:  # there is one device
                n_jobs = 1
            try:
                answer = solve_in_parallel(problem, chosen, settings, start, n_jobs)
            except NothingKnownError:  # other samples: the start is of no use
                answer = solve_in_parallel(problem, chosen, settings, None, n_jobs)
        self._predictor, self._proof = answer.solution, Proof(problem, answer.solution)
        if answer.shortfalls:
            more = len(answer.shortfalls) - 1
            others = f" The same of {more} more of its programs." if more else ""
            warnings.warn(
                f"{type(self).__name__} is not certified to eps={eps:g}. "
                f"{answer.shortfalls[0]}{others}",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _backend(self, problem: Any) -> tuple[str, Mapping[str, object]]:
        """Choose the backend and its options from ``backend`` and ``memory_limit``."""
        del problem
        limit = getattr(self, "memory_limit", None)
        if limit is None:
            return self.backend, {}
        # a second backend would take the whole matrix
        backend = "active-set" if self.backend == "auto" else self.backend
        return backend, {"memory_limit": limit}

    # --- what is proven ---------------------------------------------------------------------------
    @property
    def certificate_(self) -> Certificate | ReducedCertificate:
        """Certificate of the solution, or one for each of its programs."""
        with on_device(self._device):
            return self._proven.certificate

    def predict_certified(
        self, X: Samples, *, squares: ArrayLike | None = None
    ) -> CertifiedPredictions:
        """Predict, and mark the predictions that are proven to be the exact optimum's.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (m, d)
        squares : array of shape (m,), optional
            ``k(x, x)`` of every row, which a precomputed kernel matrix does not hold.

        Returns
        -------
        CertifiedPredictions
            ``labels`` (those of ``predict``) and ``decided``, shape (m,) each.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ValueError
            Another number of features than in ``fit``; a precomputed kernel without ``squares``.
        """
        check_is_fitted(self)
        with on_device(self._device):
            certificate: Any = self.certificate_
            samples = inputs.samples(self, X)
            proof: CertifiedPredictions = certificate.predict_certified(samples, squares=squares)
        return proof

    def report(self) -> Report:
        """The report on the solution: residuals, consequences of the gap, a table of all samples.

        Returns
        -------
        Report
            See ``qpsvm.reports.build``.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        check_is_fitted(self)
        from qpsvm.reports import build

        return build(self.problem_, self.solution_, eps=accuracy(self))

    def to_onnx(self, *, version: int | None = None) -> Any:
        """Convert the fitted estimator to an ONNX model that computes in double precision.

        Parameters
        ----------
        version : int, optional
            Of the set of operators; the newest one that ``skl2onnx`` supports by default.

        Returns
        -------
        onnx.ModelProto
            With input ``X`` (doubles of shape (n, d)). Classifiers have the outputs label and
            decision values, novelty detectors the same in columns, the others one column of
            predictions. ``model.SerializeToString()`` is the content of a file.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        MissingPackageError
            ``skl2onnx`` is not installed: ``pip install 'qpsvm[onnx]'``.
        ModelFileError
            A kernel function of the caller's; labels that ONNX has no type for.

        Notes
        -----
        For a pipeline call ``qpsvm.estimators.onnx_converter.register(SVC)`` and then
        ``skl2onnx.to_onnx(pipeline, X)``.
        """
        check_is_fitted(self)
        return onnx_converter.to_onnx(self, version)

    # --- scikit-learn -----------------------------------------------------------------------------
    @property
    def n_iter_(self) -> Any:
        """Number of iterations of the backend, or an array with one for every program."""
        check_is_fitted(self)
        parts = getattr(self._predictor, "solutions", None)
        if parts is None:
            return _iterations(self._predictor)
        return np.array([_iterations(part) for part in parts], dtype=np.int32)

    @property
    def fit_status_(self) -> int:
        """0 if the solution is certified to ``eps``, else 1."""
        return int(self.solution_.status is not Status.OPTIMAL)

    def _values(self, X: Samples) -> Any:
        """Decision values of the solution."""
        check_is_fitted(self)
        samples = inputs.samples(self, X)
        if isinstance(self._predictor, ChunkedSolution):
            return self._predictor.decision_function(samples)
        with on_device(self._device):
            return self._predictor.checked_values(samples)

    @property
    def _device(self) -> Any:
        """The parameter ``device``, of the estimators that have it."""
        return getattr(self, "device", "auto")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = inputs.is_precomputed(self)
        tags.target_tags.required = self._is_supervised
        return tags

    def _html_repr(self) -> str:
        shown: str = super()._html_repr()
        return shown + _certificate_line(self)

    def _get_fitted_attr_html(self, doc_link: str = "") -> object:
        """Describe fitted attributes, all of which are read, hence not a certificate to compute."""
        shown: Self = self
        if hasattr(self, "solution_") and not _has_quick_certificate(self):
            proof = SimpleNamespace(
                problem=self.problem_,
                solution=self.solution_,
                certificate="not yet",  # what fits into scikit-learn's table
            )
            shown = object.__new__(type(self))
            shown.__dict__ = {**vars(self), "_proof": proof}
        return super(QPEstimator, shown)._get_fitted_attr_html(doc_link)


def _iterations(solution: Any) -> int:
    if isinstance(solution, ChunkedSolution):
        return solution.statistics.passes
    iterations = solution.qp.statistics.iterations
    return 1 if iterations is None else max(1, int(iterations))


def _has_quick_certificate(estimator: Any) -> bool:
    """Return whether the certificate is known or takes little time to compute."""
    is_there = "certificate" in vars(estimator._proof)
    return is_there or bool(estimator.solution_.data.n_given <= QUICK_SAMPLES)


def _certificate_line(estimator: Any) -> str:
    """A paragraph with the certified gap of a fitted estimator; empty before ``fit``.

    A certificate of many samples is not computed for this: the paragraph has what the solve has
    verified, and says where the gap is.
    """
    if not hasattr(estimator, "solution_"):
        return ""
    verdict = "Certified optimal" if estimator.fit_status_ == 0 else "Not certified"
    if _has_quick_certificate(estimator):
        gap = estimator.certificate_.relative_gap
        detail = f"the objective is within {gap:.1e} (relative) of the optimum."
    else:
        detail = "<code>certificate_</code> has the gap."
    return (
        f'<p class="qpsvm-certificate">{verdict} to eps = {accuracy(estimator):g}: {detail} '
        f"{html.escape(one_line(estimator.problem_))}</p>"
    )


def solve_in_parallel(
    problem: Any, backend: str | Backend, settings: Settings, start: Any, n_jobs: int | None
) -> Answer[Any]:
    """Solve a problem; the parts of a reduction by ``n_jobs`` workers.

    Parameters
    ----------
    problem : SVMProblem, JointProblem or ReducedProblem
    backend : str or Backend
    settings : Settings
    start : solution or None
        The warm start.
    n_jobs : int or None
        As joblib has it: None is 1, unless a ``joblib.parallel_config`` says otherwise. Threads by
        default: they share the kernel values.

    Returns
    -------
    Answer

    Raises
    ------
    InvalidParameterError
        ``n_jobs`` is not a whole number, or 0.
    KeyboardInterrupt
        Ctrl-C, with the attribute ``solution``: None for a reduction.
    """
    inputs.require_workers(n_jobs)
    if not isinstance(problem, ReducedProblem) or len(problem.names) == 1:
        return solve_with(problem, backend, settings, start)
    if start is None and backend == "auto":
        whole = solved_together(problem, settings)
        if whole is not None:
            return Answer(whole)
    n_parts = len(problem.names)
    starts = start.solutions if isinstance(start, ReducedSolution) else (None,) * n_parts
    if len(starts) != n_parts:
        starts = (None,) * n_parts
    calls = (
        partial(_solve_part, part, _whole_gram(part), backend, settings, own)
        for part, own in zip(problem.problems, starts, strict=True)
    )
    try:
        answers = in_parallel(calls, n_jobs)
    except KeyboardInterrupt as error:
        vars(error)["solution"] = None  # that of a part is no machine for all classes
        raise
    return put_together(problem, answers)


def _whole_gram(part: SVMProblem) -> tuple[Dense, Index] | None:
    """Shared kernel matrix of a part, and the rows of it that the part uses.

    Processes get them as an argument, which joblib stores once for all: without them they would
    evaluate their own, which differ by rounding.
    """
    gram = part.model.gram
    if not isinstance(gram, KernelQuadratic) or gram.gram.whole is None:
        return None
    whole, members = gram.gram.whole
    return whole.dense, members


def _solve_part(
    part: SVMProblem,
    shared: tuple[Dense, Index] | None,
    backend: str | Backend,
    settings: Settings,
    start: Any,
) -> Answer[Any]:
    gram = part.model.gram
    if shared is not None and isinstance(gram, KernelQuadratic):
        known = gram.gram.whole
        if known is None or not known[0].is_kept:
            gram.gram.whole = SampleGram.of_matrix(shared[0]), shared[1]
    try:
        return solve_with(part, backend, settings, start)
    except NothingKnownError:
        return solve_with(part, backend, settings, None)
