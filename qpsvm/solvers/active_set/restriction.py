"""The program of some of the samples, and what its solution says about the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.solvers.active_set.columns import KernelColumns
from qpsvm.solvers.box.program import BoxProgram


@dataclass(frozen=True, eq=False)
class InitialGuess:
    """An initial point, with an estimate of how many variables will be free.

    Attributes
    ----------
    x : array of shape (n,)
        Of the whole program; zero where no sample was looked at.
    n_free : int
        Variables between their bounds at the optimum, about.
    """

    x: Vector
    n_free: int


@dataclass(frozen=True, eq=False)
class Restriction:
    """The program restricted to some of the samples.

    Attributes
    ----------
    program : BoxProgram
    columns : KernelColumns
        Its P.
    variables : array of int of shape (m,)
        Of the whole program.
    """

    program: BoxProgram
    columns: KernelColumns
    variables: Index

    @classmethod
    def of(
        cls,
        program: BoxProgram,
        columns: KernelColumns,
        samples: Index,
        for_columns: int,
        share: float = 1.0,
    ) -> Restriction:
        """Restrict a program to some samples, with bounds ``1 / share`` times as far apart.

        Parameters
        ----------
        program : BoxProgram
        columns : KernelColumns
            Its P.
        samples : array of int
        for_columns : int
            Bytes for the columns of the restricted program.
        share : float
            Share of the samples that these are, where they stand for all.
        """
        P, n_slack = columns.P, columns.n_slack
        is_own = np.zeros(P.gram.size, dtype=bool)
        is_own[samples] = True
        own = np.flatnonzero(is_own[P.selection.samples(np.arange(P.size))])
        variables = np.concatenate([own, np.arange(P.size, program.size)])
        scale = np.ones(len(variables))
        scale[: len(own)] = 1.0 / share
        part = P.restricted(own, share * P.diag[own])
        own_columns = KernelColumns(part, n_slack, for_columns, columns.memory)
        bounds = program.lower[variables] * scale, program.upper[variables] * scale
        of_part = program.of_variables(variables, own_columns, bounds, part.diag - P.diag[own])
        return cls(of_part, own_columns, variables)
