"""Conversion of what any solver returned, at least x, to a solution with all multipliers.

A solver that returns no multipliers has those that make its point as stationary as it can be.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics.arguments import VectorLike, explains_calls
from qpsvm.numerics.arrays import Vector, as_dense, require_memory, stored
from qpsvm.numerics.rows import largest_in_rows, take_rows
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.qp.transforms import drop_infinite_rows, fold_bounds

ACTIVE = 1e-7
"""A row or bound is active when its slack is at most this many times its own size."""


def multipliers_at(program: QuadraticProgram, x: Vector, tol: float = ACTIVE) -> QPSolution:
    r"""Compute the multipliers that minimise the stationarity residual at x.

    Minimises :math:`\lVert P x + q + G^\top z + A^\top y - z_\mathrm{lower} + z_\mathrm{upper}
    \rVert` over :math:`z, z_\mathrm{lower}, z_\mathrm{upper} \ge 0` that vanish on rows and bounds
    which are not active at x: non-negative least squares (Lawson and Hanson, *Solving Least Squares
    Problems*, chapter 23). At an optimum the minimum is zero; at any other point it is not, so
    nothing is hidden from a verifier.

    Parameters
    ----------
    program : QuadraticProgram
        The program that x is a point of.
    x : array of shape (n,)
        The point; where it is not finite there are no multipliers.
    tol : float
        See ``ACTIVE``.

    Returns
    -------
    QPSolution
        Status UNKNOWN, x and its multipliers; without multipliers where x is not finite or the
        least squares did not converge.

    Examples
    --------
    >>> program = QuadraticProgram([[1.0]], [-3.0], ub=[2.0])
    >>> multipliers_at(program, np.array([2.0])).z_upper
    array([1.])
    """
    from scipy.optimize import nnls

    point = QPSolution(Status.UNKNOWN, x=x)
    if x.shape != (program.n_variables,) or not np.isfinite(x).all():
        return point
    binding, restore_rows = drop_infinite_rows(program)
    folded, unfold = fold_bounds(binding)
    G, h, n, p = folded.G, folded.h, program.n_variables, program.n_equalities
    active = np.flatnonzero(h - G @ x <= tol * np.maximum(largest_in_rows(G), np.abs(h)))
    k = len(active)
    fitted = np.zeros(k + 2 * p)
    if len(fitted):  # SciPy's nnls corrupts memory without columns
        require_memory(n, len(fitted), "The optimality system", "use a backend that returns duals.")
        A = as_dense(folded.A).T  # y = (its positive part) - (its negative part)
        normals = np.hstack([as_dense(take_rows(G, active)).T, A, -A])
        try:
            fitted, _ = nnls(normals, -(program.P.matvec(x) + program.q))
        except RuntimeError:  # "maximum number of iterations reached"
            return point
    z, none = np.zeros(len(h)), np.zeros(n)
    z[active] = fitted[:k]
    y = fitted[k : k + p] - fitted[k + p :]
    return restore_rows(unfold(point.replace(z=z, y=y, z_lower=none, z_upper=none)))


# --- solutions of the canonical form ------------------------------------------------------------

SOURCE = "solution of the canonical form"
"""What ``native_status`` says where the solver said nothing."""


@explains_calls
def from_canonical(
    program: QuadraticProgram,
    x: VectorLike | Mapping[str, VectorLike] | None,
    z: VectorLike | None = None,
    y: VectorLike | None = None,
) -> QPSolution:
    r"""Convert a solver's x and multipliers of ``P, q, G, h, A, b`` to a solution of a program.

    Parameters
    ----------
    program : QuadraticProgram
        The program whose canonical form was solved.
    x : array of shape (n,), or mapping
        The point; or everything by name, as ``cvxopt.solvers.qp`` returns it: ``x``, and ``z``,
        ``y`` and ``status`` if they are there.
    z : array of shape (rows of the canonical G,), optional
        Multipliers of :math:`G x \le h`, those of bounds among them.
    y : array of shape (p,), optional
        Multipliers of :math:`A x = b`.

    Returns
    -------
    QPSolution
        Its status is UNKNOWN: nothing was verified. Without z or y its multipliers are those that
        make x as stationary as it can be (``multipliers_at``).

    Raises
    ------
    InvalidProgramError
        A vector of another length, or multipliers that were given twice.

    Examples
    --------
    >>> import qpsvm
    >>> program = qpsvm.qp.QuadraticProgram([[1.0]], [-3.0], lb=[0.0], ub=[2.0])
    >>> solution = from_canonical(program, x=[2.0], z=[0.0, 1.0])  # -x <= 0 and x <= 2
    >>> solution.z_upper
    array([1.])
    >>> qpsvm.verify(program, solution).passed
    True
    >>> qpsvm.verify(program, from_canonical(program, [2.0])).passed
    True
    """
    said = SOURCE
    if isinstance(x, Mapping):
        if z is not None or y is not None:
            raise InvalidProgramError(
                "from_canonical got multipliers in x, which is a mapping, and others beside it; "
                "pass one of them."
            )
        answer, said = x, str(x.get("status", SOURCE))
        x, z, y = answer.get("x"), answer.get("z"), answer.get("y")
    binding, restore_rows = drop_infinite_rows(program)
    folded, unfold = fold_bounds(binding)
    p = program.n_equalities
    point = QPSolution(
        Status.UNKNOWN,
        x=_vector(x, "x", program.n_variables, "one for each variable"),
        z=_vector(z, "z", folded.n_inequalities, "one for each row of the canonical G"),
        y=_vector(y, "y", p, "one for each row of A"),
        native_status=said,
    )
    if point.z is not None and point.y is None and p == 0:
        point = point.replace(y=np.zeros(0))
    if point.y is not None and point.z is None and folded.n_inequalities == 0:
        point = point.replace(z=np.zeros(0))
    if point.z is not None and point.y is not None:
        none = np.zeros(program.n_variables)
        return restore_rows(unfold(point.replace(z_lower=none, z_upper=none)))
    if point.x is None:
        return point.replace(z=None, y=None)
    return multipliers_at(program, point.x).replace(native_status=said)


def _vector(values: VectorLike | None, name: str, size: int, what: str) -> Vector | None:
    if values is None:
        return None
    vector = stored(values, f"{name} of from_canonical", InvalidProgramError).ravel()
    if vector.shape != (size,):
        raise InvalidProgramError(
            f"{name} has {vector.size} entries, the canonical form has {size}, {what}; pass what "
            "the solver of program.canonical() returned."
        )
    return vector
