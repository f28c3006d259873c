"""Saving and loading of fitted estimators, and certificates of loaded ones.

A fit succeeds completely, or leaves an estimator as it was: it works on an unfitted copy of the
estimator, whose attributes take the place of all others in a single step, when nothing can fail any
more. An error, a warning that is raised as one or Ctrl-C before that has no effect: after it, the
estimator is what its last successful fit made it.
"""

from __future__ import annotations

import copyreg
import os
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from qpsvm.certificates import Certificate, certify
from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.data.training_sets import TrainingSet
from qpsvm.estimators import inputs, saving
from qpsvm.estimators.parameters import accuracy
from qpsvm.exceptions import ModelFileError
from qpsvm.models import files
from qpsvm.numerics.arguments import Samples, Targets
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import Stored
from qpsvm.tables import Preparation

_Estimator = TypeVar("_Estimator")

LEARNED = (
    "_codes",
    "_contents",
    "_numbers",
    "_predictor",
    "_proof",
    "_radius",
    "_scales",
    "_vectors",
)
"""Private attributes that ``fit`` sets; the public ones end with an underscore."""


def unfitted(estimator: _Estimator) -> _Estimator:
    """Copy an estimator with its parameters and settings, without what an earlier fit set."""
    copy = object.__new__(type(estimator))
    kept = {
        name: value
        for name, value in vars(estimator).items()
        if not name.endswith("_") and name not in LEARNED
    }
    vars(copy).update(kept)
    return copy


def replaced(estimator: _Estimator, complete: _Estimator) -> _Estimator:
    """Give an estimator all attributes of a complete copy, in one step, and return it."""
    estimator.__dict__ = vars(complete)
    return estimator


@dataclass(frozen=True, eq=False)
class Proof:
    """The certificate of a solution, computed when it is first asked for."""

    problem: Any
    solution: Any

    @cached_property
    def certificate(self) -> Certificate | ReducedCertificate:
        """Certificate, or ReducedCertificate with one for every program."""
        proof: Certificate | ReducedCertificate = certify(self.problem, self.solution)
        return proof


class PersistentEstimator(BaseEstimator):
    """Base class of estimators that can be written to a file.

    A fitted estimator has a machine that predicts (``_predictor``): the solution, or as much of it
    as a file has. What is proven of it (``_proof``) needs the training data.
    """

    _predictor: Any
    _proof: Proof | None

    def _arrange(self) -> None:
        """Arrange support vectors and coefficients of the solution as scikit-learn does."""

    def _fitted(self, weights: Vector) -> None:
        """Set the fitted attributes that are computed from the sample weights, such as a scale."""

    def _needs_names(self, X: Stored) -> bool:
        """Return whether constraints may refer to columns by name."""
        return getattr(self, "constraints", None) is not None and hasattr(X, "columns")

    # --- the fit ----------------------------------------------------------------------------------
    def __sklearn_is_fitted__(self) -> bool:
        return "_predictor" in vars(self)

    @property
    def _proven(self) -> Proof:
        check_is_fitted(self)
        if self._proof is None:
            raise AttributeError(
                f"This {type(self).__name__} was loaded from a file, which does not have the "
                "training data: it predicts, but has no problem_, solution_, certificate_, "
                "fit_status_ and report(). Pass the data: estimator.restore(X, y)."
            )
        return self._proof

    @property
    def problem_(self) -> Any:
        """The program that was solved."""
        return self._proven.problem

    @property
    def solution_(self) -> Any:
        """The verified solution of ``problem_``."""
        return self._proven.solution

    # --- files ------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str], *, preparation: Preparation | None = None) -> None:
        """Write the fitted estimator to a file, completely or not at all; ``qpsvm.load`` reads it.

        Parameters
        ----------
        path : path
            By custom ``something.npz``; an existing file is replaced. It holds numbers and JSON
            text, and of the training data the samples that predictions need.
        preparation : Preparation, optional
            The way from the columns of a table to X, ``DataFile.preparation``; the estimator that
            ``qpsvm.load`` returns has it as ``preparation_``.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ModelFileError
            A parameter that is code, such as a kernel function; a path that cannot be written.
        InvalidParameterError
            A preparation with another number of features.
        """
        check_is_fitted(self)
        files.write(path, saving.contents(self, preparation))

    def restore(self, X: Samples, y: Targets | None = None, **groups: object) -> Self:
        """Give an estimator that was loaded from a file its training data again.

        After that it has ``problem_``, ``solution_`` with the status of its verification,
        ``certificate_``, ``fit_status_`` and ``report()``.

        Parameters
        ----------
        X, y
            As in ``fit``. Sample weights are in the file.
        **groups
            ``groups=...`` of an ``SVMRanker``.

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ModelFileError
            Other data than those of ``fit``; or the file predicts with other numbers than those of
            its solution.
        """
        check_is_fitted(self)
        if self._proof is None:
            samples = X if self._needs_names(X) else inputs.samples(self, X)
            problem, solution = saving.proven(self, samples, y, **groups)
            complete = copy(self)
            complete._require_figures(problem.data, solution)
            complete._predictor, complete._proof = solution, Proof(problem, solution)
            complete._arrange()
            del complete._contents
            replaced(self, complete)
        return self

    def _require_figures(self, data: TrainingSet, solution: Any) -> None:
        """Refuse figures in a file that do not follow from the solution and the parameters."""
        weights = np.zeros(data.n_given)
        weights[data.kept] = data.weights
        fresh = copy(self)
        fresh._predictor = solution
        try:
            fresh._fitted(weights)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"The parameters of {self} are not those of a fit.") from error
        for name in ("_scales", "_radius"):
            stated, found = (np.asarray(vars(e).get(name), dtype=np.float64) for e in (self, fresh))
            if stated.shape != found.shape or not np.allclose(
                stated, found, rtol=accuracy(self), atol=0.0, equal_nan=True
            ):
                raise ModelFileError(
                    f"The file states the figures {stated} ({name}), and solution and parameters "
                    f"give {found}: it was changed, or the parameters were, after the fit; fit "
                    "again."
                )

    def __getstate__(self) -> dict[str, object]:
        """The state that skops stores: arrays and plain values, without objects of qpsvm."""
        if not self.__sklearn_is_fitted__():
            return dict(vars(self))
        return {"contents": saving.contents(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if set(state) == {"contents"}:
            saving.restore(self, state["contents"])
        else:
            self.__dict__.update(state)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """State for pickle and copy: all attributes, with problem and certificate."""
        del protocol
        return copyreg.__newobj__, (type(self),), dict(vars(self))  # type: ignore[attr-defined]
