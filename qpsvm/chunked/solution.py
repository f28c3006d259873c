"""Solutions of problems on samples in chunks: the machine with its certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, Self, TypeVar

import numpy as np

from qpsvm.chunked.certificate import ChunkedCertificate
from qpsvm.chunked.machine import ChunkedDual, Machine
from qpsvm.chunked.sources import is_dask
from qpsvm.data.samples import as_samples
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.solution import Status

Method = TypeVar("Method", bound=Callable[..., object])


def block_by_block(method: Method) -> Method:
    """Let a method of one argument take Dask collections, and return a lazy Dask array then.

    Parameters
    ----------
    method : method
        Of a fitted estimator, or of a solution: it has ``n_features_in_`` or ``coef``.

    Returns
    -------
    method
        Applied to a collection block by block, when the result is needed.
    """

    @wraps(method)
    def either(self: Any, X: Any) -> Any:
        if not is_dask(X):
            return method(self, X)
        if X.ndim != 2:
            raise InvalidDataError(
                f"X must have two dimensions (samples, features), got {X.shape}."
            )
        names = getattr(self, "feature_names_in_", None)
        width = self.n_features_in_ if hasattr(self, "n_features_in_") else len(self.coef)
        example = np.zeros((1, width))
        if names is not None:
            import pandas as pd

            example = pd.DataFrame(example, columns=names)
        result = np.asarray(method(self, example))[:0]
        own = partial(method, self)
        if hasattr(X, "columns"):
            return X.map_partitions(own, meta=result)
        X = X.rechunk({1: -1})
        if result.ndim == 1:
            return X.map_blocks(own, drop_axis=1, meta=result)
        return X.map_blocks(own, chunks=(X.chunks[0], result.shape[1:]), meta=result)

    return either  # type: ignore[return-value]


@short_repr
@dataclass(frozen=True)
class PassStatistics:
    """Costs of a solve on samples in chunks: passes, bytes, undecided conditions, seconds.

    Attributes
    ----------
    passes : int
        Passes over all chunks, the one that built the problem included.
    n_bytes : int
        Bytes of samples that were read in them, as they are in memory.
    n_open : int
        Largest number of undecided conditions that were solved for at a time.
    seconds : mapping
        Wall clock, by what took it: "passes" and "open problems".
    trace : tuple of tuples
        After every pass its kind, the relative gap and the band.
    note : str
    """

    passes: int = 0
    n_bytes: int = 0
    n_open: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    trace: tuple[tuple[str, float, float], ...] = ()
    note: str = ""

    @property
    def total_seconds(self) -> float:
        """Wall clock of the solve."""
        return float(sum(self.seconds.values()))


@dataclass(frozen=True, eq=False)
class ChunkedSolution:
    r"""A linear machine ``f(x) = coef'x + intercept`` with a certificate and a dual point.

    Attributes
    ----------
    status : Status
        OPTIMAL exactly when the certificate passes at the ``eps`` asked for.
    coef : array of shape (d,)
    intercept, width : float
    dual : ChunkedDual
        The dual variables of all samples, as a rule and a list (``qpsvm.chunked.machine``).
    certificate : ChunkedCertificate
        Of the last pass.
    classes : array of shape (2,) or None
        The labels, (negative, positive).
    is_novelty : bool
        Predictions are +1 (inside) and -1.
    is_ball : bool
        :math:`\lVert x \rVert^2` is subtracted from decision values.
    statistics : PassStatistics
    """

    status: Status
    coef: Vector
    intercept: float
    width: float
    dual: ChunkedDual
    certificate: ChunkedCertificate
    classes: Labels | None
    is_novelty: bool
    is_ball: bool
    statistics: PassStatistics

    @property
    def machine(self) -> Machine:
        """The machine itself: weights, intercept and width."""
        return Machine(self.coef, self.intercept, self.width)

    @property
    def relative_gap(self) -> float:
        """The certified relative gap."""
        return self.certificate.relative_gap

    def replace(self, **changes: Any) -> Self:
        """Copy with some fields changed."""
        return replace(self, **changes)

    @block_by_block
    def decision_function(self, X: Any) -> Any:
        """Decision values of samples: an array, or a lazy Dask array for a Dask collection.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (m, d), or Dask collection

        Raises
        ------
        InvalidDataError
            As ``qpsvm.data.samples.as_samples``; another number of features.
        """
        samples = as_samples(X, borrow=True)
        if samples.shape[1] != len(self.coef):
            raise InvalidDataError(
                f"X has {samples.shape[1]} features and the machine {len(self.coef)}; pass the "
                "same columns."
            )
        values = np.asarray(samples @ self.coef) + self.intercept
        if self.is_ball:
            values = values - np.asarray((samples * samples).sum(axis=1)).ravel()
        return values

    @block_by_block
    def predict(self, X: Any) -> Any:
        """Labels (or values, for a regression) of samples; lazy for a Dask collection."""
        return self.predictions(self.decision_function(X))

    @property
    def zero_below(self) -> float:
        """Size up to which a decision value counts as zero, as for machines in memory."""
        if not self.is_novelty:
            return 0.0
        offset = self.intercept + 0.25 * float(self.coef @ self.coef) * self.is_ball
        return MACHINES.on_boundary * abs(offset)

    def predictions(self, values: Vector) -> Labels:
        """Convert decision values to labels, or to +1 (inside) and -1; numbers stay as they are."""
        if self.is_novelty:
            return np.where(values + self.zero_below >= 0.0, 1, -1)
        if self.classes is None:
            return values
        return self.classes[(values > 0.0).astype(np.intp)]

    def __repr__(self) -> str:
        return (
            f"ChunkedSolution({self.status.value}, {len(self.coef)} features, relative gap "
            f"{self.relative_gap:.1e}, {self.statistics.passes} passes)"
        )
