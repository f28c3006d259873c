"""Settings of passes over samples in chunks: options of solves, and numbers that are none."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import explains_constructor
from qpsvm.numerics.arrays import Dense


@explains_constructor
@dataclass(frozen=True)
class PassSettings:
    """Settings of a solve in passes, by the names that ``options`` takes.

    Attributes
    ----------
    memory_limit : int
        Bytes that this process may use for open problems, about. Workers use a few chunks each.
    max_passes : int
        Passes over the samples, at most; where they do not reach ``eps``, one more verifies.
    checkpoint : path or None
        A file to which the state is written after every pass.
    resume : path or None
        A checkpoint to continue from.
    largest_checkpoint : int
        Bytes of such a file above which it is refused: no checkpoint of a machine that fits into
        memory has as many.
    bytes_per_entry : float
        Memory that an open problem takes for every entry of its samples, in bytes: the samples in
        double precision and the working copies of the engine.
    guess_eps : float
        Relative accuracy of machines on samples of the rows. Their sampling error is far larger.
    open_eps : float
        Relative accuracy of an open problem, as a share of ``eps``.
    loosest_eps : float
        Largest relative accuracy that an open problem is solved to, whatever ``eps`` is.
    ridge : float
        Added to the diagonal of a Hessian that is scaled to ones: it may be singular in (b, t).
    wide : float
        The band, in units of the estimated error of decision values: few samples beyond it are
        decided wrongly.
    narrow : float
        The band that memory has to allow, in the same units; otherwise a step of Newton's method
        reduces the error first.
    smoothing : float
        Where such a step rounds off the kink, in the same units.
    leverage_features : int
        Features up to which each sample has a leverage of its own: it costs as many operations as
        features for each stored entry.
    leverage_rounds : int
        Rounds of estimating error and leverages from the sample of rows.
    leverage_ridge : float
        Added to the diagonal of the Hessian that leverages are computed from, which is scaled to
        ones.
    contraction : float
        Share of the length of a step that is taken for the error after it.
    least_band : float
        Smallest band, as a share of the median violation.
    one_sided : float
        Share of the rows allowed that violated conditions may take, so that all of them are open.
    fill : float
        Share of the rows allowed that the band is meant to fill, because their number is estimated.
    beyond_band : float
        A band ends beyond the last condition in it by half this share of its width, at most: where
        violations are rounded another way, the same conditions are in it.
    search_points : int
        Machines on the way of a step, each half as far as the one before, whose objective is
        measured with that of its end.
    least_open : int
        Open conditions that every chunk may have, whatever the estimate says.
    """

    memory_limit: int = 2**29
    max_passes: int = 40
    checkpoint: str | os.PathLike[str] | None = None
    resume: str | os.PathLike[str] | None = None
    largest_checkpoint: int = 2**31
    bytes_per_entry: float = 64.0
    guess_eps: float = 1e-6
    open_eps: float = 0.1
    loosest_eps: float = 1e-2
    ridge: float = 1e-13
    wide: float = 6.0
    narrow: float = 3.0
    smoothing: float = 2.0
    leverage_features: int = 512
    leverage_rounds: int = 4
    leverage_ridge: float = 1e-10
    contraction: float = 0.25
    least_band: float = 1e-4
    one_sided: float = 0.5
    fill: float = 0.7
    beyond_band: float = 1e-3
    search_points: int = 6
    least_open: int = 100

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> PassSettings:
        """Make settings from options, a mapping by name.

        Raises
        ------
        InvalidParameterError
            An unknown name, a number that is not above zero, a checkpoint that is no file in a
            folder.
        """
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(options) - known)
        if unknown:
            raise InvalidParameterError(
                f"Samples in chunks have no option {unknown[0]!r}; there are "
                f"{', '.join(sorted(known))}."
            )
        values = dict(options)
        for field in fields(cls):
            name, value = field.name, values.get(field.name, field.default)
            if name in ("checkpoint", "resume"):
                if value is not None and not isinstance(value, str | os.PathLike):
                    raise InvalidParameterError(f"{name} is {value!r}; pass the path of a file.")
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InvalidParameterError(f"{name} is {value!r}; pass a number above 0.")
            if field.type == "int":
                if not (math.isfinite(value) and value == int(value)):
                    raise InvalidParameterError(
                        f"{name} is {value!r}; pass a whole number above 0."
                    )
                values[name] = int(value)
        settings = cls(**values)
        if settings.checkpoint is not None:
            path = Path(settings.checkpoint)
            if path.is_dir() or not path.parent.is_dir():
                reason = "is a folder" if path.is_dir() else "is in a folder that does not exist"
                raise InvalidParameterError(
                    f"The checkpoint {str(path)!r} {reason}; pass another path."
                )
        return settings

    def has_leverages(self, is_curved: bool, n_features: int) -> bool:
        """Return whether samples have leverages of their own."""
        return not is_curved and n_features <= self.leverage_features

    def least(self, violations: Dense) -> float:
        """The smallest band, from violations on a sample of rows."""
        return self.least_band * float(np.median(np.abs(violations)))

    def most_open(self, n_features: float) -> int:
        """Open conditions for which there is memory."""
        return max(1000, int(self.memory_limit / (self.bytes_per_entry * (n_features + 4))))


@dataclass(frozen=True)
class ChunkSettings:
    """Settings of the blocks of a chunk, and of the rows that the first guess is trained on.

    Attributes
    ----------
    block_bytes : int
        Size of the blocks of rows in which a chunk is evaluated, in double precision. The passes
        over 3,000,000 rows of 28 features take 3.0 s with 1 MiB, and 2.6 s with 2 or 4 MiB (two
        threads).
    sample_rows : int
        Rows that are chosen at random, about: the guess is off by 1 / sqrt(sample_rows) of the
        margin, and training it takes about a second.
    rare_share : float
        Share of the rows chosen in a chunk that each class has, if the chunk has as many of it;
        with 4 of 4,000 samples in one class, half of 15 solves did not end without it.
    seed : int
        Of the choice, together with the number of the chunk.
    """

    block_bytes: int = 2**21
    sample_rows: int = 100_000
    rare_share: float = 0.1
    seed: int = 20_020_607


CHUNKS = ChunkSettings()
"""Settings of every pass."""
