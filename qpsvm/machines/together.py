"""The two-class machines of a multi-class one, solved on one kernel matrix that all of them share.

The two-class problems and solutions of a reduction are objects for whoever reads them. They follow
from the arrays here, and are built when they are first read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qpsvm.display import short_repr
from qpsvm.kernels import Kernel
from qpsvm.machines.intercept import InterceptKind
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.qp.sample_gram import SampleGram


@short_repr
@dataclass(frozen=True, eq=False)
class Side:
    """One two-class problem among several: its samples, their labels, and what violations cost.

    Attributes
    ----------
    places : tuple of slice
        Where they are in the order of ``SharedMatrix``, in one or two pieces.
    signs, prices : arrays of shape (m,)
        Labels -1 and 1, and C_i, or the share of every sample in a nu machine.
    """

    places: tuple[slice, ...]
    signs: Vector
    prices: Vector


@short_repr
@dataclass(frozen=True, eq=False)
class SharedMatrix:
    """The kernel matrix and the order of samples that all machines of a reduction share.

    Attributes
    ----------
    kernel : Kernel
    gram : SampleGram or None
        Of X; None for the linear kernel.
    X : array of shape (n, d)
        The samples in ``order``.
    order : array of int of shape (n,)
        The rows of the data, sorted by class.
    sides : tuple of Side
        The two-class programs.
    is_squared : bool
        Whether a violation costs its square.
    intercept : "free", "penalized" or "none"
    total : float
        nu, which the dual variables of a nu machine add up to; 0 for soft margins.
    """

    kernel: Kernel
    gram: SampleGram | None
    X: Dense
    order: Index
    sides: tuple[Side, ...]
    is_squared: bool
    intercept: InterceptKind
    total: float = 0.0


@short_repr
@dataclass(frozen=True, eq=False)
class Together:
    """Several solved machines with proven gaps, in arrays, from which their solutions are built.

    Attributes
    ----------
    kernel : Kernel
    beta : array of shape (n, p)
        Coefficients of all samples in every machine.
    coef : array of shape (p, d) or None
        Weights of the features, for the linear kernel.
    intercepts : array of shape (p,)
    widths : tuple of float
        The width of every machine's margin; 0 for soft margins.
    build : callable
        Returns the tuple of solutions.
    """

    kernel: Kernel
    beta: Dense
    coef: Dense | None
    intercepts: Vector
    widths: tuple[float, ...]
    build: Callable[[], tuple[SVMSolution, ...]]
